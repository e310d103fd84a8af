"""How handles cross the pipe to the sandbox, and how they stand in a prompt.

On the pipe a `Ref` is `{"$ref": {"key", "dtype", "sz", "prev"}}` and a `View` is `{"$ref": {"key",
"start", "stop"}}`. What only looks similar is data and stays as it is: JSON Schema has a `$ref`
too. A handle that was made up in the sandbox does no harm, because every use of it goes through the
store, which knows its own keys.

In a prompt a view is the mark `⟦key:start:stop:seal⟧`. The seal is a hash of the payload: a text
that holds something like a mark cannot have a passage put in its place. A passage that was put in
is not looked at for marks again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rlm.errors import HandleError
from rlm.handles.ref import DTYPE_CHARS, KEY_CHARS, PREVIEW_CHARS, Ref, View, is_key
from rlm.handles.store import Store

TAG = "$ref"
EXPAND_CHARS = 1_000_000

_MARK = re.compile(
    rf"\u27e6([^\u27e6\u27e7\n]{{1,{KEY_CHARS}}}):(\d{{1,15}}):(\d{{1,15}}):([0-9a-f]{{12}})\u27e7",
    re.ASCII,
)


def to_wire(value: Any) -> Any:
    """A value with every handle in it in its JSON form."""
    try:
        return _to_wire(value)
    except RecursionError:
        raise HandleError("the value is nested too deeply to be sent: flatten it") from None


def _to_wire(value: Any) -> Any:
    if isinstance(value, Ref):
        return {TAG: {"key": value.key, "dtype": value.dtype, "sz": value.sz, "prev": value.prev}}
    if isinstance(value, View):
        return {TAG: {"key": value.key, "start": value.start, "stop": value.stop}}
    if isinstance(value, Mapping):
        return {key: _to_wire(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
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
        inner.keys() == {"key", "dtype", "sz", "prev"}
        and _is_line(inner["dtype"], DTYPE_CHARS)
        and _is_count(inner["sz"])
        and _is_line(inner["prev"], PREVIEW_CHARS)
    ):
        return Ref(**inner)
    return None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _is_line(value: Any, limit: int) -> bool:
    return isinstance(value, str) and len(value) <= limit and value.isprintable()


def expand(store: Store, text: str, *, max_chars: int = EXPAND_CHARS) -> str:
    """A prompt with the passages in place of their marks. A mark of an unknown key, or a wrong one,
    is left as it is.

    HandleError when the passages together have more than `max_chars` characters; nothing is read
    then.
    """
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
