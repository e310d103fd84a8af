"""The one table that we put into a TOML file, at its end, and take out again.

A change is only made when the parsed file then differs by exactly this table; anything else is
`NotTOML`, and the file stays as it is.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import Any


class NotTOML(ValueError):
    """A text that is no TOML, or in which the table cannot be changed."""


def parse(text: str) -> dict[str, Any]:
    """The file as Python values. NotTOML says the line."""
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as exc:
        raise NotTOML(str(exc)) from exc


def find(data: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The value at a path; None where there is none."""
    value: Any = data
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def insert(text: str, path: Sequence[str], values: Mapping[str, Any]) -> str:
    """Add a table at the end of the file, which ends as it did: with or without a line end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(path)}]"]
    lines += [f"{key} = {_write(value)}" for key, value in values.items()]
    ended = not text or text.endswith("\n")
    lead = "" if not text else newline if ended else newline * 2
    after = f"{text}{lead}{newline.join(lines)}{newline if ended else ''}"
    if parse(after) != _with(parse(text), path, dict(values)):
        raise NotTOML(f"{'.'.join(path)} cannot be added as a table at the end")
    return after


def _write(value: Any) -> str:
    """A value as TOML on one line; a key is a text."""
    if isinstance(value, Mapping):
        pairs = (f"{_write(key)} = {_write(each)}" for key, each in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_write, value))}]"
    if isinstance(value, date | time):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False)


def cut(text: str, path: Sequence[str]) -> str:
    """Take the table and those below it out, with the blank line above it."""
    wanted = _with(parse(text), path, None)
    for stop in (r"[ \t]*(?:\r?\n|#|\[)", r"[ \t]*\["):  # its own lines; else up to the next table
        after = _cut_lines(text, path, re.compile(stop))
        try:
            left = parse(after)
        except NotTOML:
            continue
        if find(left, path) is None and _with(left, path, None) == wanted:
            return after
    name = ".".join(path)
    raise NotTOML(f"{name} is not written as a table of its own: take it out by hand")


def _cut_lines(text: str, path: Sequence[str], stop: re.Pattern[str]) -> str:
    dotted = r"\s*\.\s*".join(rf'"?{re.escape(key)}"?' for key in path)
    header = re.compile(rf"[ \t]*\[[ \t]*{dotted}[ \t]*[.\]]")
    kept: list[str] = []
    inside = False
    lines = text.splitlines(keepends=True)
    for line in lines:
        if header.match(line):
            inside = True
            if kept and not kept[-1].strip():
                kept.pop()
        elif inside and stop.match(line):
            inside = False
        if not inside:
            kept.append(line)
    if inside and kept and lines and not lines[-1].endswith("\n"):
        kept[-1] = kept[-1].rstrip("\r\n")
    return "".join(kept)


def _with(data: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """The data with a value at a path; with None without it, and without what is then empty."""
    head, *rest = path
    if rest:
        inner = data.get(head, {})
        if not isinstance(inner, dict):
            raise NotTOML(f"{head} is no table")
        value = _with(inner, rest, value) or None
    changed = {key: old for key, old in data.items() if key != head}
    return changed if value is None else {**changed, head: value}
