"""Contexts in, answers and variables out: between the host's store and the REPL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rlm.errors import ConfigError, HandleError, RLMError, SandboxError
from rlm.handles import Ref, Store, View, expand
from rlm.loop.parse import clean
from rlm.loop.prompts import ContextCard
from rlm.sandbox import Repl

Part = str | bytes | Ref | View
Context = Part | Sequence[Part] | Mapping[str, Part]

ANSWER_CHARS = 100_000
NAME_CHARS = 200
WORD_CHARS = 300
CUT = "[… cut …]"
NO_DATA = ("function", "type", "Facade")
"""Descriptions of variables whose value cannot be sent."""
NS_CHARS = 1_000_000
"""A larger variable comes back as its description; so does the rest, after four times that."""


def place_context(store: Store, context: Context) -> tuple[Any, ContextCard]:
    """Put a context behind handles: the REPL's `context`, and what a prompt may know of it."""
    if isinstance(context, str | bytes | Ref | View):
        handle = _handle(store, context)
        return handle, ContextCard(handle.key, store.size(handle), _lines(store, handle))
    if isinstance(context, Mapping):
        named = {str(name): _handle(store, part) for name, part in context.items()}
        return named, _several(
            store, "dict", [(repr(name), handle) for name, handle in named.items()]
        )
    if isinstance(context, Sequence):
        handles = [_handle(store, part) for part in context]
        return handles, _several(
            store, "list", [(str(n), handle) for n, handle in enumerate(handles)]
        )
    raise ConfigError(
        f"a context cannot be a {type(context).__name__}: give text, bytes, a handle, or a list or"
        " dict of them"
    )


def _handle(store: Store, part: object) -> Ref | View:
    if isinstance(part, Ref):
        return store.ref(part)
    if isinstance(part, View):
        store.size(part)  # refuses a key that it does not know
        return part
    if isinstance(part, str | bytes):
        return store.put(part, "context")
    raise ConfigError(
        f"a part of the context is a {type(part).__name__}: give text, bytes or a handle"
    )


def _several(store: Store, shape: str, parts: list[tuple[str, Ref | View]]) -> ContextCard:
    sized = tuple((index, handle.key, store.size(handle)) for index, handle in parts)
    lines = sum(_lines(store, handle) for _, handle in parts)
    return ContextCard("context", sum(size for *_, size in sized), lines, shape, sized)


def _lines(store: Store, handle: Ref | View) -> int:
    size = store.size(handle)
    return store.count(handle, "\n") + (size > 0 and store.read(handle, size - 1, size) != "\n")


def as_text(store: Store, value: Any, *, limit: int = ANSWER_CHARS) -> str:
    """A value from the REPL as an answer: handles become text, structures JSON; cut at `limit`."""
    if isinstance(value, Ref | View):
        return _bound(_passage(store, value, limit), store.size(value), limit)
    if isinstance(value, str):
        try:
            value = expand(store, clean(value))
        except HandleError:
            value = clean(value)  # more than fits: the marks say where it is
        return _bound(value, len(value), limit)
    if value is None or isinstance(value, bool | int | float):
        return str(value)
    try:
        text = json.dumps(resolve(store, value, limit=limit), ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = str(type(value).__name__)
    text = clean(text)
    return _bound(text, len(text), limit)


def resolve(store: Store, value: Any, *, limit: int = ANSWER_CHARS) -> Any:
    """JSON-like data with text in place of handles, about `limit` characters of it in all."""
    return _Room(store, limit).resolve(value)


class _Room:
    """One budget for all parts of a value: a thousand handles to one text are a thousand texts."""

    def __init__(self, store: Store, left: int) -> None:
        self._store, self._left = store, left

    def resolve(self, value: Any) -> Any:
        if self._left <= 0:
            return CUT
        self._left -= 2
        if isinstance(value, Ref | View | str):
            text = as_text(self._store, value, limit=max(self._left, 1))
            self._left -= len(text)
            return text
        if isinstance(value, Mapping):
            return {
                clean(str(name))[:NAME_CHARS]: self.resolve(part)
                for name, part in self._some(value.items())
            }
        if isinstance(value, list | tuple):
            return [self.resolve(part) for part in self._some(value)]
        return value

    def _some(self, parts: Iterable[Any]) -> Iterator[Any]:
        """The parts as long as there is room."""
        for part in parts:
            if self._left <= 0:
                return
            self._left -= 2
            yield part


def _passage(store: Store, handle: Ref | View, limit: int) -> str:
    start = handle.start if isinstance(handle, View) else 0
    return store.read(handle.key, start, start + min(limit, store.size(handle)))


def _bound(text: str, size: int, limit: int) -> str:
    """Cut behind a whole word where one ends near: half of a name is another name."""
    if size <= limit:
        return text
    space = max(text.rfind(mark, limit - WORD_CHARS, limit) for mark in " \n")
    end = space if space > 0 else limit
    return f"{text[:end]}\n[… {size - end} more characters …]"


def namespace(repl: Repl) -> dict[str, Any]:
    """The variables at the end: JSON-like values, and descriptions of everything else."""
    found: dict[str, Any] = {}
    try:
        described = repl.variables()
    except RLMError:
        return found
    left = 4 * NS_CHARS
    for name, description in described.items():
        if left <= 0 or description in NO_DATA:
            found[name] = description
            continue
        try:
            value = repl.get(name)
            plain = json.dumps(value, allow_nan=True)
        except (SandboxError, HandleError, TypeError, ValueError, RecursionError):
            found[name] = description
        else:
            left -= len(plain)
            found[name] = value if len(plain) <= NS_CHARS else description
    return found
