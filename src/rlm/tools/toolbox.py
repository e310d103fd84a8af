"""A set of tools for one REPL, each measured on its way out.

The sandbox gets `functions` by name, and the names in `untimed`, whose time does not count against
a block. The prompt gets a line for each tool, from its docstring, or one line for several that are
seldom used: their `summary` (`rlm.loop.prompts.describe_tools`). An empty one hides them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlm.errors import HandleError, ValidationError
from rlm.handles import Meter, from_wire
from rlm.loop.prompts import describe_tools
from rlm.loop.trace import render_value

Tool = Callable[..., Any]

MEMORY_TOOLS = ("mem_", "memory_")
"""What these return is memory already, and no text of the data."""


@dataclass
class Toolbox:
    """Tools by name. Boxes are joined with `|`; a name that is in both is a mistake and raises."""

    functions: dict[str, Tool] = field(default_factory=dict)
    untimed: set[str] = field(default_factory=set)

    @classmethod
    def of(
        cls, meter: Meter, *functions: Tool, untimed: bool = False, summary: str = ""
    ) -> Toolbox:
        box = cls()
        for function in functions:
            box.add(function, meter, untimed=untimed, summary=summary)
        return box

    def add(
        self, function: Tool, meter: Meter, *, untimed: bool = False, summary: str = ""
    ) -> None:
        """Show a function to the model under its own name; the meter counts what it returns.
        Functions with the same `summary` are described by it, together."""
        name = function.__name__
        self._check_new(name)
        self.functions[name] = metered = _meter_calls(function, name, meter)
        if summary:
            metered.summary = summary  # type: ignore[attr-defined]
        if untimed:
            self.untimed.add(name)

    def _check_new(self, name: str) -> None:
        if name in self.functions:
            raise ValidationError(
                f"there is a tool {name!r} already: give this one another name", field="name"
            )

    def __or__(self, other: Toolbox) -> Toolbox:
        for name in other.functions:
            self._check_new(name)
        return Toolbox(self.functions | other.functions, self.untimed | other.untimed)

    def hide(self) -> Toolbox:
        """The same tools; a prompt says nothing of them."""
        for function in self.functions.values():
            function.summary = ""  # type: ignore[attr-defined]
        return self

    def describe(self) -> str:
        """What the system prompt says about the tools."""
        return describe_tools(self.functions)


def _meter_calls(function: Tool, name: str, meter: Meter) -> Tool:
    @functools.wraps(function)
    def call_and_count(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        text = render_value(value)
        meter.note(name, len(text), text="" if name.startswith(MEMORY_TOOLS) else text)
        return value

    return call_and_count


def keep_results(function: Tool, meter: Meter) -> Tool:
    """A caller's own tool, whose results are text of others; they are not counted."""

    @functools.wraps(function)
    def call_and_keep(*args: Any, **kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        meter.keep(render_value(value))
        return value

    return call_and_keep


# -- how much a value says


def clip(text: str, room: int) -> str:
    """The beginning of a text, in at most `room` characters of JSON; `…` where it was cut."""
    if len(text) <= room and _width(text) <= room:
        return text
    kept = text[: max(0, room - 1)]
    while kept and (over := _width(kept) + 1 - room) > 0:
        kept = kept[: -max(1, over // 6)]  # no character takes more than six
    return kept + "…"


def _width(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False)) - 2


def one_line(text: str) -> str:
    """A text on one line, without what a terminal could obey."""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


# -- what a tool may be asked


def result_handle(value: Any) -> Any:
    """The handle of a result: itself, its key, its JSON form, or what explain=True returned."""
    if isinstance(value, Mapping):
        value = from_wire(dict(value))
        value = value.get("ref", value) if isinstance(value, dict) else value
    if isinstance(value, dict):
        raise HandleError(
            "this is no handle to results: give what sparql_query returned, or its key"
        )
    return value


def check_count(value: Any, name: str, most: int, *, least: int = 1) -> int:
    """A number from `least` to `most`; more is an error, so no part is taken for the whole."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(
            f"{name} is {_show(value)}: use a whole number from {least} to {most}", field=name
        )
    if not least <= value <= most:
        raise ValidationError(f"{name} is {_show(value)}: use {least} to {most}", field=name)
    return value


def check_text(value: Any, name: str, most: int, *, blank: bool = False) -> str:
    """A text of 1 to `most` characters. `blank`: white space alone will do."""
    if not isinstance(value, str):
        raise ValidationError(f"{name} is {type(value).__name__}: use text", field=name)
    if not (value if blank else value.strip()):
        raise ValidationError(f"{name} is empty: use text of 1 to {most:,} characters", field=name)
    if len(value) > most:
        raise ValidationError(
            f"{name} has {len(value):,} characters, at most {most:,}: shorten it", field=name
        )
    return value


def _show(value: Any) -> str:
    return repr(value)[:40] if not isinstance(value, int) or abs(value) < 10**15 else "too large"
