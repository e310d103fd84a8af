"""Values of model-written code, encoded as plain data for the host.

A class of the code's own can say anything of itself: that it is a string, that it has a million
parts, that it never ends. So only methods of the built-in types are called here, and a budget
of characters bounds the whole.
"""

from __future__ import annotations

from typing import Any

from rlm.frames import plain_text
from rlm.sandbox.child.rows import HostRows, Rows
from rlm.sandbox.child.texts import HostText, TextParts, TextWords

_DICT_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_VIEWS: tuple[type, ...] = (*_DICT_VIEWS, range, TextParts, TextWords, Rows)
_SEQUENCES: tuple[type, ...] = (list, tuple, set, frozenset)
_DEEPEST = 50


class ValueEncoder:
    """Turns values into plain data for the host, within a budget of characters."""

    def __init__(self, budget: int) -> None:
        self._budget = budget

    def _take(self, size: int) -> None:
        self._budget -= size
        if self._budget < 0:
            raise ValueError("this is too much for one message: give less, or a handle")

    def encode(self, value: Any, depth: int = 0) -> Any:
        self._take(1)
        kind = type(value)
        if value is None or kind is bool:
            return value
        if isinstance(value, str):
            text = str.__str__(value)
            self._take(len(text))
            return plain_text(text)
        if isinstance(value, int | float):
            return _encode_number(value)
        if kind is HostText:
            return self._text(value)
        if kind is HostRows:
            return {"$ref": {"key": value.key, "start": 0, "stop": value.sz}}
        if depth > _DEEPEST:
            raise ValueError("a value for a tool is nested too deep")
        if isinstance(value, dict):
            return self._dict(value, depth)
        if kind in _VIEWS:
            return [self.encode(part, depth + 1) for part in value]
        if (
            base := next((each for each in _SEQUENCES if isinstance(value, each)), None)
        ) is not None:
            parts = vars(base)["__iter__"](value)  # the type's own, whatever its subclass says
            return [self.encode(part, depth + 1) for part in parts]
        if isinstance(value, bytes):
            self._take(bytes.__len__(value))
            return bytes.decode(value, "utf-8", "replace")
        raise TypeError(
            f"a {kind.__name__} cannot be given to a tool: use text, numbers, lists or dictionaries"
        )

    def _dict(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        named = {self._name(key): self.encode(part, depth + 1) for key, part in dict.items(value)}
        if len(named) == 1 and isinstance(named.get("$ref"), dict):
            raise ValueError(
                "a dictionary that looks like a handle cannot be given: give the handle itself"
            )
        return named

    def _name(self, key: Any) -> str:
        if isinstance(key, str):
            name = str.__str__(key)
        else:
            plain = type(key) in (int, float, bool, type(None))
            name = str(key) if plain else type(key).__name__
        self._take(len(name))
        return plain_text(name)

    def _text(self, value: HostText) -> Any:
        if value._fold:
            return plain_text(str(value))
        return {"$ref": {"key": value.key, "start": value._start, "stop": value._stop}}


def _encode_number(value: float) -> Any:
    """A number as JSON has it: no integer beyond 64 bits, neither nan nor inf."""
    if isinstance(value, int):
        plain = int.__add__(value, 0)
        return plain if plain.bit_length() < 64 else int.__repr__(plain)
    number = float.__add__(value, 0.0)
    return number if number - number == 0 else float.__repr__(number)
