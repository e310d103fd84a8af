"""Where two requests part: what a person needs to see when a replay asks for what was not recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

AROUND_CHARS = 30


def common_prefix(one: str, two: str) -> int:
    """How many characters two texts share at their beginning. Halves its way there, for long texts."""
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == two[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def likeness(one: Mapping[str, Any], two: Mapping[str, Any]) -> tuple[int, int]:
    """How far two requests agree: whole messages from the first, then characters of the next."""
    equal = 0
    for left, right in zip(one["messages"], two["messages"], strict=False):
        if left != right:
            same_role = left["role"] == right["role"]
            return equal, common_prefix(left["content"], right["content"]) if same_role else 0
        equal += 1
    return equal, 0


def explain(
    request: Mapping[str, Any], recorded: Sequence[tuple[int, Mapping[str, Any]]], call: int
) -> str:
    """One sentence or two on where `request` parts from the nearest of the recorded ones (call,
    request)."""
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
        extra, where = (
            (ours[place], "here") if len(ours) > len(theirs) else (theirs[place], "there")
        )
        return (
            f"it has {len(theirs)} messages there and {len(ours)} here; message {place + 1} is only"
            f" {where} ({extra['role']}: {_around(extra['content'], 0)})"
        )
    names = sorted({*asked["params"], *recorded["params"]})
    pairs = [(name, recorded["params"].get(name), asked["params"].get(name)) for name in names]
    parts = [
        f"{name} is {_value(one)} there and {_value(two)} here"
        for name, one, two in pairs
        if one != two
    ]
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
