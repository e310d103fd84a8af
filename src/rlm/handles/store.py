"""Where payloads live, on the host, behind keys, and what stands for them elsewhere.

A `Ref` names a whole payload, a `View` a passage of one. Neither shows any of it when printed: what
is printed in the REPL is what the model reads next. `prev` is there for whoever asks for it by
name.

>>> Ref("results_0", "results", 3000, "?item ?label")
Ref('results_0', results, 3000 chars)
>>> View("context_0", 100, 5000)
View('context_0', 100:5000, 4900 chars)

Memory first: beyond `memory_bytes` in all, the least recently used go to files in a private folder
(0700), which `close` removes, and the interpreter at its end if nobody closed. A payload that
cannot be written stays in memory. Once in a file, a payload stays there; slices and searches read
what they need of it.

Every payload is a text. Bytes are decoded at the door. Lists and objects are kept as JSON, one
element a line, and `get` gives them back as a fresh copy, with JSON's types: a tuple comes back as
a list, a key as text.

Wherever a key is asked for, a `Ref` does too, and a `View`, whose positions then count from its own
start. Positions mean what they mean for `str`. Any number of threads may share a store.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Self

from rlm.errors import HandleError
from rlm.handles import payload as bodies
from rlm.handles.payload import Payload, render

KEY_CHARS = 200
DTYPE_CHARS = 48
PREVIEW_CHARS = 80
MEMORY_BYTES = 256 << 20
LOSSY = "-lossy"
"""The end of a dtype whose bytes were no UTF-8: U+FFFD stands for some of them."""

SEAL_CHARS = 1 << 20

_DTYPE = re.compile(rf"[A-Za-z][A-Za-z0-9_.+-]{{0,{DTYPE_CHARS - len(LOSSY) - 1}}}")


@dataclass(frozen=True, slots=True, repr=False)
class Ref:
    """A handle: its key, its kind, its size in characters, its first 80 on one line."""

    key: str
    dtype: str
    sz: int
    prev: str

    def __repr__(self) -> str:
        return f"Ref({self.key!r}, {self.dtype}, {self.sz} chars)"

    __str__ = __repr__


@dataclass(frozen=True, slots=True, repr=False)
class View:
    """The characters `start` to `stop` of a payload, as far as it has them."""

    key: str
    start: int
    stop: int

    def __repr__(self) -> str:
        return (
            f"View({self.key!r}, {self.start}:{self.stop}, {max(0, self.stop - self.start)} chars)"
        )

    __str__ = __repr__


def is_key(value: object) -> bool:
    """Whether this can be a key: short, printable, and free of the brackets of marks."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= KEY_CHARS
        and value.isprintable()
        and "\u27e6" not in value
        and "\u27e7" not in value
    )


def preview(head: str) -> str:
    """The first 80 characters of a text on one line, without what a terminal could obey."""
    shown = "".join(char if char.isprintable() else " " for char in head)
    return " ".join(shown.split())[:PREVIEW_CHARS]


Target = str | Ref | View


class _Entry(NamedTuple):
    ref: Ref
    body: bodies.Body
    structured: bool


class Store:
    """Payloads behind keys."""

    def __init__(self, *, memory_bytes: int = MEMORY_BYTES, folder: Path | None = None) -> None:
        self.memory_bytes = memory_bytes
        self._parent = folder
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._resident: OrderedDict[str, int] = OrderedDict()  # least recently used first
        self._held = 0
        self._counts: dict[str, int] = {}
        self._seals: dict[str, str] = {}
        self._files = 0
        self._folder: Path | None = None
        self._finalizer: Callable[[], object] | None = None
        self._closed = False

    # -- in and out --------------------------------------------------------------------------------

    def put(self, payload: Payload, dtype: str = "text", *, key: str | None = None) -> Ref:
        """Keep a payload and return its handle. Without a key it is `dtype_0`, `dtype_1`, …

        HandleError when the key is taken or the payload is of another kind. HandleError too when
        there is no space to spill to: then every payload, this one too, is still in memory, and
        `ref(key)` gives its handle.
        """
        if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
            raise HandleError(f"dtype is {dtype!r:.80}: use a short name, such as text or results")
        text, lossy = render(payload)
        kind = dtype + LOSSY if lossy else dtype
        with self._lock:
            self._check_open()
            name = self._new_key(dtype) if key is None else self._free_key(key)
            ref = Ref(name, kind, len(text), preview(text[: 4 * PREVIEW_CHARS]))
            resident = bodies.Resident(text)
            self._entries[name] = _Entry(ref, resident, isinstance(payload, list | dict))
            self._resident[name] = resident.memory_bytes
            self._held += resident.memory_bytes
            self._make_room()
        return ref

    def ref(self, target: Target) -> Ref:
        """The handle of a payload."""
        return self._entry(target).ref

    def get(self, target: Target) -> str | list[Any] | dict[str, Any]:
        """The payload: a text, or a fresh copy of a list or object. Of a view, its text."""
        entry = self._entry(target)
        text = self.text(target)
        if not entry.structured or isinstance(target, View):
            return text
        made: list[Any] | dict[str, Any] = json.loads(text)
        return made

    def text(self, target: Target) -> str:
        """The payload as text, all of it."""
        return self.read(target, 0, None)

    def size(self, target: Target) -> int:
        """How many characters there are."""
        _, low, high = self._window(target)
        return high - low

    def seal(self, target: Target) -> str:
        """A short hash of a payload and its key: nobody can have put it into the text itself."""
        entry = self._entry(target)
        key = entry.ref.key
        with self._lock:
            if key not in self._seals:
                made = sha256(key.encode("utf-8", "replace"))
                for start in range(0, entry.ref.sz, SEAL_CHARS):
                    made.update(
                        self.read(key, start, start + SEAL_CHARS).encode("utf-8", "surrogatepass")
                    )
                self._seals[key] = made.hexdigest()[:12]
            return self._seals[key]

    # -- looking at parts --------------------------------------------------------------------------

    def read(self, target: Target, start: int, stop: int | None) -> str:
        """`text[start:stop]`."""
        entry, low, high = self._window(target)
        begin, end, _ = slice(start, stop).indices(high - low)
        with _reads(entry.ref):
            return entry.body.read(low + begin, low + max(begin, end))

    def find(
        self,
        target: Target,
        needle: str,
        start: int = 0,
        stop: int | None = None,
        *,
        ignore_case: bool = False,
    ) -> int:
        """`text.find(needle, start, stop)`; -1 when there is none."""
        entry, low, high = self._window(target)
        begin, end, _ = slice(start, stop).indices(high - low)
        if begin > end or start > high - low:
            return -1
        with _reads(entry.ref):
            found = bodies.find(entry.body, needle, low + begin, low + end, folded=ignore_case)
        return found if found < 0 else found - low

    def count(self, target: Target, needle: str, start: int = 0, stop: int | None = None) -> int:
        """`text.count(needle, start, stop)`."""
        entry, low, high = self._window(target)
        begin, end, _ = slice(start, stop).indices(high - low)
        if begin > end or start > high - low:
            return 0
        with _reads(entry.ref):
            return bodies.count(entry.body, needle, low + begin, low + end)

    # -- the whole ---------------------------------------------------------------------------------

    def keys(self) -> list[str]:
        """Every key, in the order in which they came."""
        with self._lock:
            return list(self._entries)

    def drop(self, target: Target) -> None:
        """Forget a payload, and remove its file."""
        with self._lock:
            entry = self._entry(target)
            del self._entries[entry.ref.key]
            self._seals.pop(entry.ref.key, None)
            self._held -= self._resident.pop(entry.ref.key, 0)
            if isinstance(entry.body, bodies.Spilled):
                entry.body.remove()

    def close(self) -> None:
        """Forget everything, and remove the folder. Safe to call twice."""
        with self._lock:
            self._closed = True
            self._entries.clear()
            self._resident.clear()
            self._held = 0
            if self._finalizer is not None:
                self._finalizer()

    def __contains__(self, target: object) -> bool:
        key = target.key if isinstance(target, Ref | View) else target
        with self._lock:
            return key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def __repr__(self) -> str:
        with self._lock:
            spilled = len(self._entries) - len(self._resident)
            return (
                f"Store({len(self._entries)} payloads, {self._held:,} bytes in memory, {spilled} on"
                " disk)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- inside ------------------------------------------------------------------------------------

    def _check_open(self) -> None:
        if self._closed:
            raise HandleError(
                "this store of handles is closed: its payloads are gone; open another"
            )

    def _new_key(self, dtype: str) -> str:
        while True:
            number = self._counts.get(dtype, 0)
            self._counts[dtype] = number + 1
            if (name := f"{dtype}_{number}") not in self._entries:
                return name

    def _free_key(self, key: str) -> str:
        if not is_key(key):
            raise HandleError(
                f"key is {key!r:.80}: use 1 to {KEY_CHARS} printable characters, without \u27e6"
                " and \u27e7"
            )
        if key in self._entries:
            raise HandleError(f"key {key!r} is taken: drop it first, or use another")
        return key

    def _entry(self, target: Target) -> _Entry:
        key = target.key if isinstance(target, Ref | View) else target
        with self._lock:
            self._check_open()
            entry = self._entries.get(key) if isinstance(key, str) else None
            if entry is None:
                raise self._unknown_handle(key)
            if key in self._resident:
                self._resident.move_to_end(key)
            return entry

    def _window(self, target: Target) -> tuple[_Entry, int, int]:
        """An entry, and which of its characters are meant."""
        entry = self._entry(target)
        if not isinstance(target, View):
            return entry, 0, entry.body.chars
        begin, end, _ = slice(max(0, target.start), max(0, target.stop)).indices(entry.body.chars)
        return entry, begin, max(begin, end)

    def _unknown_handle(self, key: object) -> HandleError:
        if not isinstance(key, str):
            return HandleError(
                f"expected a handle or its key, got {type(key).__name__}: pass the variable itself"
            )
        if not is_key(key):
            return HandleError(
                f"expected a handle or its key, got a text of {len(key):,} characters: pass the"
                " handle, or work on the text with Python"
            )
        known = list(self._entries)
        if not known:
            return HandleError(f"no payload behind {key!r}: nothing is stored yet")
        near = difflib.get_close_matches(key, known, n=3, cutoff=0.5) or known[:3]
        return HandleError(
            f"no payload behind {key!r}: nearest are {', '.join(map(repr, near))}; use one of the"
            " keys"
        )

    def _make_room(self) -> None:
        while self._held > self.memory_bytes and self._resident:
            key = next(iter(self._resident))
            entry = self._entries[key]
            assert isinstance(entry.body, bodies.Resident)
            try:
                spilled = bodies.Spilled(entry.body.text, self._new_file())
            except OSError as exc:
                where = self._folder or self._parent or tempfile.gettempdir()
                raise HandleError(
                    f"{entry.ref} cannot be moved to disk ({exc.strerror or exc}): it stays in"
                    f" memory, with all the others; make space in {where}, drop payloads, or allow"
                    " more memory"
                ) from exc
            self._entries[key] = entry._replace(body=spilled)
            self._held -= self._resident.pop(key)

    def _new_file(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="rlm-handles-", dir=self._parent))
            self._finalizer = weakref.finalize(self, _remove, self._folder, os.getpid())
        self._files += 1
        return self._folder / f"{self._files}.txt"


@contextmanager
def _reads(ref: Ref) -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise HandleError(
            f"{ref} cannot be read back from disk ({exc.strerror or exc}): put the payload again"
        ) from exc


def _remove(folder: Path, pid: int) -> None:
    """Remove the folder, unless this is a forked child: the files are its parent's."""
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
