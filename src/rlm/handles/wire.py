"""How handles cross the pipe to the sandbox, and how they stand in a prompt.

On the pipe a `Ref` is `{"$ref": {"key", "dtype", "sz", "prev"}}`, that of a result has its `rows`
and `columns` too, and a `View` is `{"$ref": {"key", "start", "stop"}}`. What only looks similar is
data and stays as it is: JSON Schema has a `$ref` too. A handle that was made up in the sandbox does
no harm, because every use of it goes through the store, which knows its own keys.

In a prompt a view is the mark `⟦key:start:stop:seal⟧`. The seal is a hash of the payload: a text
that holds something like a mark cannot have a passage put in its place. A passage that was put in
is not looked at for marks again.

`reader` is what the sandbox's own texts and results ask of the host. Model-written code cannot name
those functions, but a worker that was taken over can, with any arguments: every one is checked, and
an answer is bounded.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any

from rlm.errors import HandleError
from rlm.handles.store import DTYPE_CHARS, KEY_CHARS, PREVIEW_CHARS, Ref, Store, View, is_key

TAG = "$ref"
EXPAND_CHARS = 1_000_000
READ_CHARS = 250_000
"""The most that one read gives: who wants more, reads on."""
NEEDLE_CHARS = 20_000

Handle = Ref | View | str

_OF_A_RESULT = {"rows", "columns"}
_MARK = re.compile(
    rf"\u27e6([^\u27e6\u27e7\n]{{1,{KEY_CHARS}}}):(\d{{1,15}}):(\d{{1,15}}):([0-9a-f]{{12}})\u27e7",
    re.ASCII,
)
MAX_SINGLE_RETURN = 1000
SEEN_CHARS = 16_000_000
MAX_MEMORY_ITEMS = 3
MAX_CONTEXT_SIZE = 4000


def to_wire(value: Any) -> Any:
    """A value with every handle in it in its JSON form."""
    try:
        return _to_wire(value)
    except RecursionError:
        raise HandleError("the value is nested too deeply to be sent: flatten it") from None


def _to_wire(value: Any) -> Any:
    if isinstance(value, Ref):
        made = {"key": value.key, "dtype": value.dtype, "sz": value.sz, "prev": value.prev}
        if value.rows is not None:
            made |= {"rows": value.rows, "columns": list(value.columns)}
        return {TAG: made}
    if isinstance(value, View):
        return {TAG: {"key": value.key, "start": value.start, "stop": value.stop}}
    if isinstance(value, Mapping):
        return {key: _to_wire(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_to_wire(part) for part in value]
    return value


def from_wire(value: Any) -> Any:
    """A value that came over the pipe, with its handles made again."""
    try:
        return _from_wire(value)
    except RecursionError:
        raise HandleError("the value is nested too deeply to be read: flatten it") from None


def _from_wire(value: Any) -> Any:
    if isinstance(value, dict):
        if (
            len(value) == 1
            and isinstance(inner := value.get(TAG), dict)
            and (made := _handle(inner)) is not None
        ):
            return made
        return {key: _from_wire(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_from_wire(part) for part in value]
    return value


def _handle(inner: dict[str, Any]) -> Ref | View | None:
    if not is_key(inner.get("key")):
        return None
    if (
        inner.keys() == {"key", "start", "stop"}
        and _is_count(inner["start"])
        and _is_count(inner["stop"])
    ):
        return View(**inner)
    if (
        inner.keys() - _OF_A_RESULT != {"key", "dtype", "sz", "prev"}
        or not _is_line(inner["dtype"], DTYPE_CHARS)
        or not _is_count(inner["sz"])
        or not _is_line(inner["prev"], PREVIEW_CHARS)
    ):
        return None
    if not inner.keys() & _OF_A_RESULT:
        return Ref(**inner)
    columns = inner.get("columns")
    if not isinstance(columns, list) or not all(_is_line(name, NEEDLE_CHARS) for name in columns):
        return None
    return Ref(**{**inner, "columns": tuple(columns)}) if _is_count(inner.get("rows")) else None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_line(value: Any, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit and value.isprintable()


def expand(store: Store, text: str, *, max_chars: int = EXPAND_CHARS) -> str:
    """A prompt with passages in place of their marks; other marks stay. HandleError, and nothing
    read, when the passages have more than `max_chars` characters."""
    total = sum(
        store.size(_view(found)) for found in _MARK.finditer(text) if _is_ours(store, found)
    )
    if total > max_chars:
        raise HandleError(
            f"the passages in this prompt have {total:,} characters, at most {max_chars:,}: use"
            " shorter slices, or split the work over several calls"
        )
    return _MARK.sub(
        lambda found: store.text(_view(found)) if _is_ours(store, found) else found[0], text
    )


def mark(store: Store, view: View) -> str:
    """What stands for a passage in a prompt."""
    return f"\u27e6{view.key}:{view.start}:{view.stop}:{store.seal(view)}\u27e7"


def _is_ours(store: Store, found: re.Match[str]) -> bool:
    return found[1] in store and store.seal(found[1]) == found[4]


def _view(found: re.Match[str]) -> View:
    return View(found[1], int(found[2]), int(found[3]))


# -- what the worker may ask


def reader(store: Store, meter: Meter) -> dict[str, Callable[..., Any]]:
    """The functions by the names that the worker knows them by."""

    def read(key: Handle, start: int, stop: int | None) -> str:
        begin, end, _ = slice(position(start, "start"), _end(stop)).indices(store.size(key))
        text = store.read(key, begin, max(begin, min(end, begin + READ_CHARS)))
        meter.note("text.read", len(text), to_prompt=False, text=text)
        return text

    def find(
        key: Handle, needle: str, start: int = 0, stop: int | None = None, ignore_case: bool = False
    ) -> int:
        _check_needle(needle)
        meter.note("text.find", 0, to_prompt=False)
        return store.find(
            key, needle, position(start, "start"), _end(stop), ignore_case=bool(ignore_case)
        )

    def count(key: Handle, needle: str, start: int = 0, stop: int | None = None) -> int:
        _check_needle(needle)
        meter.note("text.count", 0, to_prompt=False)
        return store.count(key, needle, position(start, "start"), _end(stop))

    def stand_in(key: str, start: int, stop: int) -> str:
        return mark(
            store, View(store.ref(key).key, position(start, "start"), position(stop, "stop"))
        )

    def page(key: Handle, start: int, stop: int | None) -> list[dict[str, Any]]:
        rows = store.rows(key, position(start, "start"), _end(stop), most_chars=READ_CHARS)
        text = json.dumps(rows, ensure_ascii=False)
        meter.note("rows.page", len(text), to_prompt=False, text=text)
        return rows

    def about(key: Handle) -> dict[str, Any]:
        said = store.about(key)
        return {name: value() if callable(value) else value for name, value in said.items()}

    return {
        "text.read": read,
        "text.find": find,
        "text.count": count,
        "text.mark": stand_in,
        "rows.page": page,
        "rows.about": about,
    }


def position(value: Any, name: str) -> int:
    """A place in a text as it was given; HandleError when it is no whole number."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise HandleError(f"{name} is {type(value).__name__}: use a whole number")
    return value


def _end(value: Any) -> int | None:
    return None if value is None else position(value, "stop")


def _check_needle(needle: Any) -> None:
    if not isinstance(needle, str):
        raise HandleError(f"the text to look for is {type(needle).__name__}: use text")
    if len(needle) > NEEDLE_CHARS:
        raise HandleError(
            f"the text to look for has {len(needle):,} characters, at most {NEEDLE_CHARS:,}"
        )


# -- the leakage meter: how much got past the handles in one run (seed 002)


class Meter:
    """Counts for one run. Who builds the prompt sets `memory_items_injected`, `context_size`."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        """The texts that got past the handles, each once: what others wrote and the run has read,
        up to `SEEN_CHARS` characters. What was recalled from memory is not among them."""
        self._seen: set[str] = set()
        self._seen_chars = 0
        self.memory_items_injected = 0
        self.context_size: int | None = None
        """Characters of the context that a prompt is given beforehand; None: nobody counted."""
        self._lock = threading.Lock()
        self._tools: dict[str, tuple[int, int]] = {}
        self._largest = (0, "")

    def note(self, tool: str, chars: int, *, to_prompt: bool = True, text: str = "") -> None:
        """A tool returned so many characters. Not `to_prompt`: to the sandbox only, no leak."""
        self.keep(text)
        with self._lock:
            calls, total = self._tools.get(tool, (0, 0))
            self._tools[tool] = (calls + 1, total + chars)
            if to_prompt and chars > self._largest[0]:
                self._largest = (chars, tool)

    def keep(self, text: str) -> None:
        """This text was read, and is to be known again when somebody stores it."""
        with self._lock:
            if text and text not in self._seen and self._seen_chars < SEEN_CHARS:
                self.seen.append(text)
                self._seen.add(text)
                self._seen_chars += len(text)

    def report(self) -> dict[str, Any]:
        """The four metrics, the red flags, and calls and characters by tool; all JSON types."""
        with self._lock:
            largest, tool = self._largest
            by_tool = {
                name: {"calls": calls, "chars": chars}
                for name, (calls, chars) in sorted(self._tools.items())
            }
        flags = [
            f"{name}: {value:,} > {most:,}{where}"
            for name, value, most, where in (
                ("max_single_return", largest, MAX_SINGLE_RETURN, f" ({tool})"),
                ("memory_items_injected", self.memory_items_injected, MAX_MEMORY_ITEMS, ""),
                ("context_size", self.context_size or 0, MAX_CONTEXT_SIZE, ""),
            )
            if value > most
        ]
        return {
            "total_chars_returned": sum(entry["chars"] for entry in by_tool.values()),
            "max_single_return": largest,
            "memory_items_injected": self.memory_items_injected,
            "context_size": self.context_size or 0,
            "flags": flags,
            "by_tool": by_tool,
        }
