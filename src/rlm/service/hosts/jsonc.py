"""JSON files that people edit: read with where each thing stands, changed byte by byte.

Comments, trailing commas, a byte order mark and any line ends are welcome and stay. A change is one
item put in or cut out; every other byte is as it was. Cutting out what was put in gives the text
back, byte for byte:

- an item goes behind the last one and behind its comments, on a line of its own where the others
  are, with the comma that the last one lacked;
- where the list ended in a comma the new item has one too: so it is known which comma was ours.

An object that has a name twice is refused: programs differ in which of the two counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.S)
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.S)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
INDENT = "  "

Path = tuple[str | int, ...]


class NotJSON(ValueError):
    """A text that is no JSON, comments and trailing commas allowed, or that has a name twice in one
    object; says the line."""


@dataclass(slots=True)
class Item:
    """One element of an array, or one member of an object from its key on."""

    key: str | int
    start: int
    end: int
    node: JsonNode
    comma: int | None = None
    """Where the comma behind it stands."""


@dataclass(slots=True)
class JsonNode:
    """A value and where it stands. `scalar` is the text of one that holds nothing."""

    start: int
    end: int
    kind: str
    items: list[Item] = field(default_factory=list)
    scalar: str = ""

    def get(self, key: str | int) -> Item | None:
        """The item of this key, or at this place."""
        return next((item for item in self.items if item.key == key), None)

    @property
    def value(self) -> Any:
        if self.kind == "object":
            return {item.key: item.node.value for item in self.items}
        if self.kind == "array":
            return [item.node.value for item in self.items]
        return json.loads(self.scalar)


@lru_cache(maxsize=2)
def parse(text: str) -> JsonNode:
    """The one value of a text, to be read only. NotJSON for anything else."""
    try:
        node, end = _value(text, _skip(text, 0))
    except RecursionError:
        raise NotJSON("it is nested too deeply") from None
    if _skip(text, end) != len(text):
        raise _wrong(text, _skip(text, end), "something stands behind the end")
    return node


def find(root: JsonNode, path: Sequence[str | int]) -> JsonNode | None:
    """The value at a path; None where there is none."""
    node: JsonNode | None = root
    for key in path:
        item = node.get(key) if node else None
        node = item.node if item else None
    return node


def insert(text: str, path: Path, value: Any, key: str | None = None) -> str:
    """Put a value at the end of the array or object at `path`, which is made where it is missing.

    NotJSON where something else stands there.
    """
    node = parse(text)
    for place, name in enumerate(path):
        item = node.get(name)
        if item is None:
            inner: Any = [value] if key is None else {key: value}
            for missing in reversed(path[place + 1 :]):
                inner = {missing: inner}
            return _append(text, node, inner, str(name))
        node = item.node
        wanted = "array" if key is None and place == len(path) - 1 else "object"
        if node.kind != wanted:
            raise NotJSON(f"{'.'.join(map(str, path[: place + 1]))} is no {wanted}")
    return _append(text, node, value, key)


def cut(text: str, path: Path, keep: Callable[[Path], bool]) -> str:
    """Take out what stands at `path`, and what is empty without it unless `keep` says otherwise."""
    parent = find(parse(text), path[:-1])
    item = parent.get(path[-1]) if parent else None
    if parent is None or item is None:
        return text
    text = _remove(text, parent, item)
    if len(path) > 1 and len(parent.items) == 1 and not keep(path[:-1]):
        return cut(text, path[:-1], keep)
    return text


# -- reading


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, what: str) -> NotJSON:
    return NotJSON(f"line {text.count(chr(10), 0, at) + 1}: {what}")


def _value(text: str, at: int) -> tuple[JsonNode, int]:
    opening = text[at : at + 1]
    if opening in ("{", "["):
        node = JsonNode(at, at, "object" if opening == "{" else "array")
        node.end = _items(text, node)
        return node, node.end
    found = (_STRING if opening == '"' else _SCALAR).match(text, at)
    if not found:
        raise _wrong(text, at, "a value is missing" if opening else "it ends too soon")
    return JsonNode(at, found.end(), "scalar", scalar=found[0]), found.end()


def _items(text: str, node: JsonNode) -> int:
    """Read what a container holds; where it ends."""
    closing = "}" if node.kind == "object" else "]"
    names: set[str] = set()
    at = _skip(text, node.start + 1)
    while text[at : at + 1] != closing:
        if node.items and node.items[-1].comma is None:
            raise _wrong(text, at, f"a comma or {closing} is missing")
        start = at
        name: str | int = len(node.items)
        if closing == "}":
            found = _STRING.match(text, at)
            colon = _skip(text, found.end()) if found else at
            if not found or text[colon : colon + 1] != ":":
                raise _wrong(text, at, "a name in quotes and a colon are missing")
            name = str(json.loads(found[0]))
            if name in names:
                raise _wrong(text, at, f"{found[0]} stands twice in one object")
            names.add(name)
            at = _skip(text, colon + 1)
        inner, end = _value(text, at)
        item = Item(name, start, end, inner)
        node.items.append(item)
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            item.comma, at = at, _skip(text, at + 1)
    return at + 1


# -- changing


def _append(text: str, node: JsonNode, value: Any, key: str | None) -> str:
    last = node.items[-1] if node.items else None
    trailing = last is not None and last.comma is not None
    after = node.start + 1 if last is None else last.end if last.comma is None else last.comma + 1
    comments = list(_COMMENT.finditer(text, after, node.end - 1))
    at = comments[-1].end() if comments else after
    newline = "\r\n" if "\r\n" in text else "\n"
    spread = "\n" in text[node.start : node.end]
    indent = _indent(text, node)
    rendered = render(value, newline, indent, unit_of(text))
    item = rendered if key is None else f"{json.dumps(key, ensure_ascii=False)}: {rendered}"
    lead = newline + indent if spread else " " if last or comments else ""
    text = f"{text[:at]}{lead}{item}{',' if trailing else ''}{text[at:]}"
    if last is not None and not trailing:
        text = f"{text[: last.end]},{text[last.end :]}"
    return text


def _remove(text: str, parent: JsonNode, item: Item) -> str:
    place = next(n for n, each in enumerate(parent.items) if each is item)
    before = parent.items[place - 1] if place else None
    start = len(text[: item.start].rstrip(" \t\r\n"))
    comma = item.comma if item.comma is not None else before.comma if before else None
    if comma is None:
        return text[:start] + text[item.end :]
    if comma >= item.end:
        return text[:start] + text[item.end : comma] + text[comma + 1 :]
    return text[:comma] + text[comma + 1 : max(start, comma + 1)] + text[item.end :]


def render(value: Any, newline: str, indent: str, unit: str) -> str:
    """A value as text that fits in at this indentation."""
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)


def unit_of(text: str) -> str:
    """What the file is indented with: the smallest indentation of any of its lines."""
    return min(re.findall(r'(?m)^([ \t]+)(?=["{}\[\]])', text), key=len, default=INDENT)


def _indent(text: str, node: JsonNode) -> str:
    """The indentation of a container's items."""
    own = _line_indent(text, node.start)
    for item in node.items:
        if not text[text.rfind("\n", 0, item.start) + 1 : item.start].strip(" \t"):
            return _line_indent(text, item.start)
    return own + unit_of(text)


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
