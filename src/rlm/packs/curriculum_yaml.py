"""The YAML of a curriculum as a small tree in which everything knows its line and column.

Only what a curriculum needs: mappings, lists and texts. Nothing is constructed, so no tag can make
an object; anchors, aliases and tags are refused, and so are two documents, two keys of one name,
deep nesting and large files. A text is what is written: `12` is the text "12".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rlm.errors import ConfigError

FILE_BYTES = 1 << 20
DEPTH = 8
_SHOWN = 60


@dataclass(frozen=True, slots=True, order=True)
class Spot:
    """A place in a file, both from 1."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Text:
    """`plain`: written without quotes, so that `true` and `null` may mean something."""

    at: Spot
    value: str
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Listing:
    at: Spot
    items: list[Node] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Mapping:
    """`keys` tells where each key stands."""

    at: Spot
    values: dict[str, Node] = field(default_factory=dict)
    keys: dict[str, Spot] = field(default_factory=dict)


Node = Text | Listing | Mapping


class Fault(Exception):
    """What is wrong, and where."""

    def __init__(self, at: Spot, message: str) -> None:
        super().__init__(message)
        self.at = at

    def to_error(self, path: Path) -> ConfigError:
        """The same as the error that a caller gets."""
        return ConfigError(f"{path}:{self.at.line}:{self.at.column}: {self}")


def read_tree(path: Path) -> Node:
    """The one document of the file. Fault for its content, ConfigError for a missing file."""
    return parse_tree(_decode(_bytes(path)))


def parse_tree(text: str) -> Node:
    """The one document of the text."""
    root: Node | None = None
    try:
        events = iter(yaml.parse(text, Loader=yaml.SafeLoader))
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                hint = "keep one curriculum in a file"
                raise Fault(_at(event.start_mark), f"a second document begins: {hint}")
            if isinstance(event, yaml.NodeEvent):
                root = _read_node(events, event)
    except yaml.reader.ReaderError as exc:
        why = f"has the character {_code(exc.character)}: remove it"
        raise Fault(_spot(text, exc.position), why) from exc
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        why = f"is not valid YAML: {exc.problem or exc.context}; {_hint(text, mark)}"
        raise Fault(_at(mark), why) from exc
    if root is None:
        raise Fault(Spot(), "the file is empty: write id, ontology and tasks")
    return root


def quote(value: str) -> str:
    """A value as messages quote it."""
    return repr(value if len(value) <= _SHOWN else value[: _SHOWN - 1] + "…")


def _bytes(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise ConfigError(f"there is no curriculum {path}: name a YAML file")
        with path.open("rb") as file:
            data = file.read(FILE_BYTES + 1)
    except (OSError, ValueError) as exc:  # ValueError: a name with a zero in it
        raise ConfigError(f"the curriculum {str(path)!r} cannot be read: {exc}") from exc
    if len(data) > FILE_BYTES:
        raise ConfigError(f"the curriculum {path} has more than {FILE_BYTES:,} bytes: split it")
    return data


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        before = data[: exc.start].decode("utf-8-sig", "replace")
        raise Fault(_spot(before, len(before)), "is not UTF-8: save it as UTF-8") from exc


def _read_node(events: Iterator[Any], event: Any, depth: int = 0) -> Node:
    """The node that begins with an event, and all below it."""
    node = _node(event)
    if isinstance(node, Text):
        return node
    if depth >= DEPTH:
        raise Fault(node.at, f"nested deeper than {DEPTH} levels")
    for inner in events:
        if isinstance(inner, yaml.CollectionEndEvent):
            break
        if isinstance(node, Listing):
            node.items.append(_read_node(events, inner, depth + 1))
            continue
        key = _node(inner)
        if not isinstance(key, Text):
            raise Fault(key.at, "a key must be a word")
        if key.value in node.keys:
            first = f"first in line {node.keys[key.value].line}"
            raise Fault(key.at, f"the key {quote(key.value)} is here twice, {first}")
        node.keys[key.value] = key.at
        node.values[key.value] = _read_node(events, next(events), depth + 1)
    return node


def _node(event: Any) -> Node:
    at = _at(event.start_mark)
    if isinstance(event, yaml.AliasEvent):
        raise Fault(at, f"*{event.anchor} is an alias: write the value out")
    if event.anchor is not None:
        raise Fault(at, f"&{event.anchor} is an anchor: leave it out")
    if event.tag is not None:
        raise Fault(at, f"{quote(event.tag)} is a tag: leave it out")
    if isinstance(event, yaml.ScalarEvent):
        return Text(at, event.value, plain=event.style is None)
    return Listing(at) if isinstance(event, yaml.SequenceStartEvent) else Mapping(at)


def _at(mark: Any) -> Spot:
    return Spot() if mark is None else Spot(mark.line + 1, mark.column + 1)


def _spot(text: str, position: int) -> Spot:
    before = text[:position]
    return Spot(before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def _code(character: object) -> str:
    number = character if isinstance(character, int) else ord(str(character)[:1] or "\0")
    return f"U+{number:04X}"


def _hint(text: str, mark: Any) -> str:
    lines = text.splitlines()
    line = lines[mark.line] if mark is not None and mark.line < len(lines) else ""
    if "\t" in line[: len(line) - len(line.lstrip())]:
        return "indent with spaces, not with tabs"
    if line.count(":") > 1 or "#" in line:
        return "put quotes around a value that has a colon, a # or a bracket in it"
    return "check the indentation, the quotes and the brackets here and in the line before"
