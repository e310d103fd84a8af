"""Patterns that are compiled when they are first used: most questions need few of them."""

from __future__ import annotations

import re
from collections.abc import Callable


class Lazy:
    """A pattern with the calls of `re.Pattern` that the rules use."""

    __slots__ = ("_compiled", "_first", "_flags", "_only", "_source")

    def __init__(self, source: str, flags: int = 0, only: str = "", first: str = "") -> None:
        """With `only`, a text without any of these pieces cannot match, and nothing is compiled for
        it.

        With `first`, nor can one that begins with another word.
        """
        self._first = frozenset(first.split())
        self._source, self._flags, self._only = (
            source,
            flags,
            tuple(only.replace("_", " ").split("|")) if only else (),
        )
        self._compiled: re.Pattern[str] | None = None

    def _pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def _cannot(self, text: str) -> bool:
        low = text.lower()
        if self._first and low.split(" ", 1)[0].strip(",.!:'") not in self._first:
            return True
        return bool(self._only) and not any(piece in low for piece in self._only)

    def match(self, text: str) -> re.Match[str] | None:
        return None if self._cannot(text) else self._pattern().match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._pattern().fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        return None if self._cannot(text) else self._pattern().search(text)

    def split(self, text: str) -> list[str]:
        return self._pattern().split(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return text if self._cannot(text) else self._pattern().sub(new, text, count=count)
