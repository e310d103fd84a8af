"""The YAML of a curriculum, as a tree of PyYAML's nodes, each of which knows its line and column.

Only what a curriculum needs: mappings, lists and texts. Nothing is constructed, so no tag can make
an object; anchors, aliases and tags are refused, and so are two documents, deep nesting and large
files. A text is what is written: `12` is the text "12".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import yaml
from yaml.composer import ComposerError

from rlm.errors import ConfigError

FILE_BYTES = 1 << 20
DEPTH = 8
_SHOWN = 60


class Spot(NamedTuple):
    """A place in a file, both from 1."""

    line: int = 1
    column: int = 1

    @classmethod
    def of(cls, mark: Any) -> Spot:
        """Where a mark of PyYAML is, or a node or an event begins."""
        mark = getattr(mark, "start_mark", mark)
        return cls() if mark is None else cls(mark.line + 1, mark.column + 1)


class Fault(Exception):
    """What is wrong, and where: at a place or where a node begins."""

    def __init__(self, at: Spot | yaml.Node, message: str) -> None:
        super().__init__(message)
        self.at = at if isinstance(at, Spot) else Spot.of(at)

    def to_error(self, path: Path) -> ConfigError:
        """The same as the error that a caller gets."""
        return ConfigError(f"{path}:{self.at.line}:{self.at.column}: {self}")


class _Loader(yaml.SafeLoader):
    """Composes nodes, and refuses what a curriculum has no use for."""

    _depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            raise Fault(Spot.of(event), f"*{event.anchor} is an alias: write the value out")
        if event.anchor is not None:
            raise Fault(Spot.of(event), f"&{event.anchor} is an anchor: leave it out")
        if event.tag is not None:
            raise Fault(Spot.of(event), f"{quote(event.tag)} is a tag: leave it out")
        if self._depth >= DEPTH and not isinstance(event, yaml.ScalarEvent):
            raise Fault(Spot.of(event), f"nested deeper than {DEPTH} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def read_tree(path: Path) -> yaml.Node:
    """The one document of the file. Fault for its content, ConfigError for a missing file."""
    return parse_tree(_decode(_bytes(path)))


def parse_tree(text: str) -> yaml.Node:
    """The one document of the text."""
    try:
        root: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    except yaml.reader.ReaderError as exc:
        why = f"has the character {_code(exc.character)}: remove it"
        raise Fault(_spot(text, exc.position), why) from exc
    except ComposerError as exc:
        why = "a second document begins: keep one curriculum in a file"
        raise Fault(Spot.of(exc.problem_mark), why) from exc
    except yaml.MarkedYAMLError as exc:
        mark = exc.problem_mark or exc.context_mark
        why = f"is not valid YAML: {exc.problem or exc.context}; {_hint(text, mark)}"
        raise Fault(Spot.of(mark), why) from exc
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
