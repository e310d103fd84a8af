"""The calls of a run's tools: evidence for the judge, steps for the extractor.

Kept on the host's side, whatever the code printed. Of a value only the names in it are kept (IRIs,
`prefix:name`) and how many rows it returned; of arguments but queries their first characters.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rlm.handles import Ref, Store, View, to_wire

MOST_CALLS = 500
"""Calls that are kept, the first and the last of them; a loop can make thousands."""
FIRST_CALLS = 250
ARGUMENT_CHARS = 2_000
QUERY_CHARS = 20_000
"""A query is kept whole: as long as any may be."""
NAMES_PER_CALL = 2_000
MOST_NAMES = 200_000
READ_CHARS = 20_000
"""What is read of a value to find the names in it."""

_NAME = re.compile(
    r"<[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]+>|https?://[^\s<>\"{}|^`\\]+"
    r"|(?:[^\W\d][\w.-]*|(?<![\w:#@%\\.])):[\w.%~-]+"
)
_NUMBER = re.compile(r"(?:(?<![\w.])|(?<=\\[nrt]))\d+(?:\.\d+)?")
"""Also with a unit (388m), and after a line end that was printed as an escape."""
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of one tool."""

    tool: str
    args: Mapping[str, Any]
    """By the name of the parameter, as plain values; texts are cut."""
    ok: bool = True
    error: str = ""
    iris: frozenset[str] = frozenset()
    """The names in what came back, as they stand there: full IRIs and `prefix:name`."""
    rows: int | None = None
    key: str = ""
    """The handle that was returned, or that was read."""
    chars: int = 0
    value: Any = None
    """A number or a truth value that came back, as an ASK's answer."""
    numbers: frozenset[str] = frozenset()
    """The numbers in what came back."""
    is_cut: bool = False
    """There were more rows than were asked for."""
    hints: tuple[str, ...] = ()
    """Why it may have found nothing, as its names, texts and classes are in the graph."""
    block: int = 0
    """Which block of code of the run called it, from 1; 0 when that is not known."""


@dataclass
class Trace:
    """The calls of one run, in order. Thread-safe."""

    calls: list[ToolCall] = field(default_factory=list)
    dropped: int = 0
    block: int = 0
    """The block of code that runs; the loop counts it up."""
    _lost: dict[str, set[str]] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def note(self, call: ToolCall) -> None:
        with self._lock:
            call = replace(call, block=self.block)
            if len(self.calls) >= MOST_CALLS:
                lost = self.calls.pop(FIRST_CALLS)
                self.dropped += 1
                if sum(map(len, self._lost.values())) < MOST_NAMES:
                    self._lost.setdefault(lost.tool, set()).update(lost.iris)
            self.calls.append(call)

    def all_calls(self) -> list[ToolCall]:
        """The calls; of dropped ones, what each tool returned is in one call without arguments."""
        with self._lock:
            return [
                *self.calls,
                *(ToolCall(tool, {}, iris=frozenset(names)) for tool, names in self._lost.items()),
            ]

    def watch(self, tools: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
        """The same tools, each noted here when it is called."""
        return {name: self._watch_tool(name, tool) for name, tool in tools.items()}

    def _watch_tool(self, name: str, tool: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(tool)

        @functools.wraps(tool)
        def call_and_note(*args: Any, **kwargs: Any) -> Any:
            try:
                bound: Mapping[str, Any] = signature.bind(*args, **kwargs).arguments
            except TypeError:  # the tool itself says what is wrong
                bound = kwargs
            given = {
                key: value[:QUERY_CHARS]
                if key == "query" and isinstance(value, str)
                else _plain(value)
                for key, value in _flat(signature, bound)
            }
            try:
                value = tool(*args, **kwargs)
            except Exception as exc:
                self.note(
                    ToolCall(
                        name, given, ok=False, error=f"{type(exc).__name__}: {exc}"[:ARGUMENT_CHARS]
                    )
                )
                raise
            self.note(_summarize(name, given, value))
            return value

        return call_and_note


def _flat(signature: inspect.Signature, bound: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Arguments by name; those that a tool takes as `**options` by their own."""
    for name, value in bound.items():
        parameter = signature.parameters.get(name)
        if parameter is not None and parameter.kind is inspect.Parameter.VAR_KEYWORD:
            yield from value.items()
        else:
            yield name, value


def render_value(value: Any) -> str:
    """A value as the model would read it: text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(to_wire(value), ensure_ascii=False, default=str)


def names_in(text: str) -> frozenset[str]:
    """IRIs and what looks like `prefix:name` in a text."""
    found: set[str] = set()
    for match in _NAME.finditer(text[:READ_CHARS]):
        found.add(match[0].strip("<>").rstrip(".,;:)"))
        if len(found) >= NAMES_PER_CALL:
            break
    return frozenset(found)


def numbers_in(text: str) -> frozenset[str]:
    """The numbers in a text, thousands without their commas."""
    return frozenset(_NUMBER.findall(_THOUSANDS.sub("", text)))


def _summarize(name: str, given: Mapping[str, Any], value: Any) -> ToolCall:
    if isinstance(value, Ref):  # what it stands for is not seen yet
        return ToolCall(name, given, key=value.key)
    key = _key_in(given)
    rows = short = None
    hints, is_cut = list[str](), False
    if isinstance(value, Mapping):
        listed, is_cut = value.get("hints"), value.get("more") is True
        if isinstance(listed, list):  # the names in it are none that the graph has
            hints, value = listed, {name: value[name] for name in value if name != "hints"}
        rows = next(
            (
                value[part]
                for part in ("total", "rows", "count_with_subclasses", "count")
                if isinstance(value.get(part), int)
            ),
            None,
        )
        short = value.get("boolean", rows)
        if isinstance(value.get("ref"), Ref):  # what it stands for is not seen yet
            key, rows, short = value["ref"].key, None, None
    elif isinstance(value, list):
        rows = len(value)
    elif isinstance(value, bool | int | float):
        short = value
    text = render_value(value)
    return ToolCall(
        name,
        given,
        iris=names_in(text),
        rows=rows,
        key=key,
        chars=len(text),
        value=short,
        numbers=numbers_in(text[:READ_CHARS]),
        is_cut=is_cut,
        hints=tuple(map(str, hints)),
    )


def with_rows(call: ToolCall, handles: Store) -> ToolCall:
    """A call that returned a handle, with what is behind it: how many rows, the names and the
    numbers in them, and the value if there is only one, such as a count."""
    if call.rows is not None or call.key not in handles:
        return call
    rows = handles.get(call.key)
    if not isinstance(rows, list):
        return call
    text = render_value(rows)[:READ_CHARS]
    single = [*rows[0].values()] if len(rows) == 1 and isinstance(rows[0], dict) else []
    is_number = len(single) == 1 and isinstance(single[0], int | float)
    about = handles.about(call.key)
    return replace(
        call,
        rows=len(rows),
        is_cut=bool(about.get("more")),
        hints=tuple(about["hints"]()) if "hints" in about else (),
        value=single[0] if is_number else call.value,
        iris=call.iris | names_in(text),
        numbers=call.numbers | numbers_in(text),
    )


def _key_in(given: Mapping[str, Any]) -> str:
    handle = given.get("ref_or_key")
    return handle if isinstance(handle, str) else ""


def _plain(value: Any) -> Any:
    """An argument as it may be kept: no payload, no long text."""
    if isinstance(value, Ref | View):
        return value.key
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        return value[:ARGUMENT_CHARS]
    if isinstance(value, Mapping) and isinstance(value.get("key"), str):
        return value["key"][:200]
    return render_value(value)[:ARGUMENT_CHARS]
