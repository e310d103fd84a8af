"""Where payloads live, on the host, behind keys, and what stands for them elsewhere.

A `Ref` names a whole payload, a `View` a passage of one. Neither shows any of it when printed: what
is printed in the REPL is what the model reads next. `prev` is there for whoever asks for it by
name.

>>> Ref("results_0", "results", 3000, "?item ?label")
Ref('results_0', results, 3000 chars)
>>> View("context_0", 100, 5000)
View('context_0', 100:5000, 4900 chars)

Every payload is a text. Bytes are decoded at the door. Lists and objects are kept as JSON, one
element a line, and `get` gives them back as a fresh copy, with JSON's types: a tuple comes back as
a list, a key as text. A list that was put with its columns is a result: `rows` reads any of its
rows without the others, and `about` says where it came from.

Wherever a key is asked for, a `Ref` does too, and a `View`, whose positions then count from its own
start. Positions mean what they mean for `str`. Any number of threads may share a store.
"""

from __future__ import annotations

import difflib
import json
import re
import threading
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple, Self

from rlm.errors import HandleError
from rlm.handles.payload import Payload, fold, render

KEY_CHARS = 200
DTYPE_CHARS = 48
PREVIEW_CHARS = 80
PIECE_CHARS = 1 << 20
"""A search that ignores case folds so much of a text at a time: the next hit is often near."""
LOSSY = "-lossy"
"""The end of a dtype whose bytes were no UTF-8: U+FFFD stands for some of them."""

_DTYPE = re.compile(rf"[A-Za-z][A-Za-z0-9_.+-]{{0,{DTYPE_CHARS - len(LOSSY) - 1}}}")


@dataclass(frozen=True, slots=True, repr=False)
class Ref:
    """A handle: its key, its kind, its size in characters, its first 80 on one line; of a result
    also how many rows it has, and its columns."""

    key: str
    dtype: str
    sz: int
    prev: str
    rows: int | None = None
    columns: tuple[str, ...] = ()

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
    text: str
    structured: bool
    about: Mapping[str, Any]
    row_starts: array[int]
    """Where each row of a result begins, and where the last ends: a row is a line."""


class Store:
    """Payloads behind keys."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._entries: dict[str, _Entry] = {}
        self._counts: dict[str, int] = {}
        self._seals: dict[str, str] = {}
        self._closed = False

    # -- in and out --------------------------------------------------------------------------------

    def put(
        self,
        payload: Payload,
        dtype: str = "text",
        *,
        columns: Sequence[str] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Ref:
        """Keep a payload and return its handle, with the key `dtype_0`, `dtype_1`, … With `columns`
        it is a result, a list of rows; `about` is kept beside it. A function among its values is
        called when the sandbox asks. HandleError for a payload of another kind."""
        if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
            raise HandleError(f"dtype is {dtype!r:.80}: use a short name, such as text or results")
        text, lossy = render(payload)
        kind = dtype + LOSSY if lossy else dtype
        with self._lock:
            self._check_open()
            number = self._counts.get(dtype, 0)
            self._counts[dtype] = number + 1
            ref = Ref(f"{dtype}_{number}", kind, len(text), preview(text[: 4 * PREVIEW_CHARS]))
            starts = array("Q")
            if columns is not None:
                ref = replace(ref, rows=len(payload), columns=tuple(columns))
                starts.extend(found.end() for found in re.finditer("\n", text))
            structured = isinstance(payload, list | dict)
            self._entries[ref.key] = _Entry(ref, text, structured, dict(about or {}), starts)
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

    def rows(
        self,
        target: Target,
        start: int = 0,
        stop: int | None = None,
        *,
        most_chars: int | None = None,
    ) -> list[dict[str, Any]]:
        """`rows[start:stop]` of a result. With `most_chars` fewer may come, but at least one."""
        entry = self._entry(target)
        if entry.ref.rows is None:
            raise HandleError(
                f"{entry.ref} holds no rows: use ctx_slice for it, or the handle of a sparql_query"
            )
        first, end, _ = slice(start, stop).indices(entry.ref.rows)
        if first >= end:
            return []
        starts = entry.row_starts
        if most_chars is not None:
            fitting = bisect_right(starts, starts[first] + most_chars, first, end + 1) - 1
            end = max(first + 1, fitting)
        lines = entry.text[starts[first] : starts[end]].rstrip(",\n")
        found: list[dict[str, Any]] = json.loads(f"[{lines}]")
        return found

    def about(self, target: Target) -> dict[str, Any]:
        """What was said about a payload when it was put."""
        return dict(self._entry(target).about)

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
                made = sha256(f"{key}{entry.text}".encode("utf-8", "surrogatepass"))
                self._seals[key] = made.hexdigest()[:12]
            return self._seals[key]

    # -- looking at parts --------------------------------------------------------------------------

    def read(self, target: Target, start: int, stop: int | None) -> str:
        """`text[start:stop]`."""
        text, low, high = self._window(target)
        begin, end, _ = slice(start, stop).indices(high - low)
        return text[low + begin : low + max(begin, end)]

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
        text, low, high = self._window(target)
        begin, end, _ = slice(start, stop).indices(high - low)
        if begin > end or start > high - low:
            return -1
        search = _find_folded if ignore_case else str.find
        found = search(text, needle, low + begin, low + end)
        return found if found < 0 else found - low

    def count(self, target: Target, needle: str, start: int = 0, stop: int | None = None) -> int:
        """`text.count(needle, start, stop)`."""
        text, low, high = self._window(target)
        begin, end, _ = slice(start, stop).indices(high - low)
        if begin > end or start > high - low:
            return 0
        return text.count(needle, low + begin, low + end)

    # -- the whole ---------------------------------------------------------------------------------

    def keys(self) -> list[str]:
        """Every key, in the order in which they came."""
        with self._lock:
            return list(self._entries)

    def drop(self, target: Target) -> None:
        """Forget a payload."""
        with self._lock:
            key = self._entry(target).ref.key
            del self._entries[key]
            self._seals.pop(key, None)

    def close(self) -> None:
        """Forget everything. Safe to call twice."""
        with self._lock:
            self._closed = True
            self._entries.clear()

    def __contains__(self, target: object) -> bool:
        key = target.key if isinstance(target, Ref | View) else target
        with self._lock:
            return key in self._entries

    def __len__(self) -> int:
        with self._lock:
            return len(self._entries)

    def __repr__(self) -> str:
        return f"Store({len(self)} payloads)"

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

    def _entry(self, target: Target) -> _Entry:
        key = target.key if isinstance(target, Ref | View) else target
        with self._lock:
            self._check_open()
            entry = self._entries.get(key) if isinstance(key, str) else None
            if entry is None:
                raise self._unknown_handle(key)
            return entry

    def _window(self, target: Target) -> tuple[str, int, int]:
        """A text, and which of its characters are meant."""
        text = self._entry(target).text
        if not isinstance(target, View):
            return text, 0, len(text)
        begin, end, _ = slice(max(0, target.start), max(0, target.stop)).indices(len(text))
        return text, begin, max(begin, end)

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


def _find_folded(text: str, needle: str, start: int, stop: int) -> int:
    """As `fold(text).find(fold(needle), start, stop)`, without folding the whole text."""
    wanted = fold(needle)
    while start + len(wanted) <= stop:
        end = min(stop, start + PIECE_CHARS + len(wanted))
        found = fold(text[start:end]).find(wanted)
        if found >= 0:
            return start + found
        start += PIECE_CHARS
    return -1
