"""Values of model-written code, encoded as plain data for the host.

A class of the code's own can say anything of itself: that it is a string, that it has a million
parts, that it never ends. So only methods of the built-in types are called here, and a budget
of characters bounds the whole.
"""

from __future__ import annotations

from typing import Any

from rlm.frames import plain_text
from rlm.sandbox.child.texts import HostText, TextParts, TextWords

_DICT_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_VIEWS: tuple[type, ...] = (*_DICT_VIEWS, range, TextParts, TextWords)
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
        if isinstance(value, int):
            plain = int.__add__(value, 0)
            fits = plain.bit_length() < 64  # JSON's integers end there
            return plain if fits else int.__repr__(plain)
        if isinstance(value, float):
            number = float.__add__(value, 0.0)
            finite = number - number == 0  # JSON has neither nan nor inf
            return number if finite else float.__repr__(number)
        if kind is HostText:
            return self._text(value)
        if depth > _DEEPEST:
            raise ValueError("a value for a tool is nested too deep")
        if isinstance(value, dict):
            named = {
                self._name(key): self.encode(part, depth + 1) for key, part in dict.items(value)
            }
            if len(named) == 1 and isinstance(named.get("$ref"), dict):
                raise ValueError(
                    "a dictionary that looks like a handle cannot be given: give the handle itself"
                )
            return named
        for base in _SEQUENCES:
            if isinstance(value, base):
                each = vars(base)["__iter__"]  # the type's own, whatever its subclass says
                return [self.encode(part, depth + 1) for part in each(value)]
        if kind in _VIEWS:
            return [self.encode(part, depth + 1) for part in value]
        if isinstance(value, bytes):
            self._take(bytes.__len__(value))
            return bytes.decode(value, "utf-8", "replace")
        raise TypeError(
            f"a {kind.__name__} cannot be given to a tool: use text, numbers, lists or dictionaries"
        )

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
        return {"$ref": {"key": value._key, "start": value._start, "stop": value._stop}}
