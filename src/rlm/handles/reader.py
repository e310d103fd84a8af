"""What the sandbox's own text objects ask of the host: parts of a payload, places in it, and a mark
for a prompt.

Model-written code cannot name these functions, but a worker that was taken over can, with any
arguments: every one is checked, and an answer is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlm.errors import HandleError
from rlm.handles.meter import Meter
from rlm.handles.ref import Ref, View
from rlm.handles.store import Store
from rlm.handles.wire import mark

READ_CHARS = 250_000
"""The most that one read gives: who wants more, reads on."""
NEEDLE_CHARS = 20_000

Handle = Ref | View | str


def reader(store: Store, meter: Meter) -> dict[str, Callable[..., Any]]:
    """The functions by the names that the worker knows them by."""

    def read(key: Handle, start: int, stop: int | None) -> str:
        begin, end, _ = slice(position(start, "start"), _end(stop)).indices(store.size(key))
        text = store.read(key, begin, max(begin, min(end, begin + READ_CHARS)))
        meter.note("text.read", len(text), to_prompt=False)
        return text

    def find(
        key: Handle, needle: str, start: int = 0, stop: int | None = None, ignore_case: bool = False
    ) -> int:
        _check_needle(needle)
        return store.find(
            key, needle, position(start, "start"), _end(stop), ignore_case=bool(ignore_case)
        )

    def count(key: Handle, needle: str, start: int = 0, stop: int | None = None) -> int:
        _check_needle(needle)
        return store.count(key, needle, position(start, "start"), _end(stop))

    def stand_in(key: str, start: int, stop: int) -> str:
        return mark(
            store, View(store.ref(key).key, position(start, "start"), position(stop, "stop"))
        )

    return {"text.read": read, "text.find": find, "text.count": count, "text.mark": stand_in}


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
