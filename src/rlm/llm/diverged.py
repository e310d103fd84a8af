"""Where two requests part: shown when a replay asks for what was not recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os.path import commonprefix
from typing import Any

AROUND_CHARS = 30


def likeness(one: Mapping[str, Any], two: Mapping[str, Any]) -> tuple[int, int]:
    """How far two requests agree: whole messages from the first, then characters of the next."""
    equal = 0
    for left, right in zip(one["messages"], two["messages"], strict=False):
        if left != right:
            if left["role"] != right["role"]:
                return equal, 0
            texts = [left["content"], right["content"]]
            return equal, len(commonprefix(texts))  # noqa: RUF071 - characters are meant
        equal += 1
    return equal, 0


def explain(
    request: Mapping[str, Any], recorded: Sequence[tuple[int, Mapping[str, Any]]], call: int
) -> str:
    """Where `request` parts from the nearest of the recorded ones (call, request)."""
    if not recorded:
        return "nothing is recorded on it"
    nearest, other = max(
        recorded, key=lambda line: (*likeness(request, line[1]), -abs(line[0] - call), -line[0])
    )
    return f"the nearest is recorded call {nearest}, and {_difference(request, other)}"


def _difference(asked: Mapping[str, Any], recorded: Mapping[str, Any]) -> str:
    ours, theirs = asked["messages"], recorded["messages"]
    place, chars = likeness(asked, recorded)
    if place < min(len(ours), len(theirs)):
        one, two = theirs[place], ours[place]
        if one["role"] != two["role"]:
            return f"message {place + 1} is by {one['role']} there and by {two['role']} here"
        return (
            f"message {place + 1} ({two['role']}) differs at character {chars + 1}:\n"
            f"  recorded: {_around(one['content'], chars)}\n"
            f"  asked:    {_around(two['content'], chars)}"
        )
    if len(ours) != len(theirs):
        here = len(ours) > len(theirs)
        extra, where = (ours[place], "here") if here else (theirs[place], "there")
        return (
            f"it has {len(theirs)} messages there and {len(ours)} here; message {place + 1} is only"
            f" {where} ({extra['role']}: {_around(extra['content'], 0)})"
        )
    names = sorted({*asked["params"], *recorded["params"]})
    parts = []
    for name in names:
        there, here = recorded["params"].get(name), asked["params"].get(name)
        if there != here:
            parts.append(f"{name} is {_value(there)} there and {_value(here)} here")
    return "its messages are the same, but " + ", ".join(parts)


def _around(text: str, place: int) -> str:
    """The text around a place, as one line, with a mark where it was cut."""
    if place >= len(text):
        return f"{_cut(text, max(0, place - AROUND_CHARS), place)} and there it ends"
    return _cut(text, max(0, place - AROUND_CHARS), place + AROUND_CHARS)


def _cut(text: str, start: int, stop: int) -> str:
    return f"{'…' * (start > 0)}{text[start:stop]!r}{'…' * (stop < len(text))}"


def _value(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:79] + "…"
