"""Patterns that are compiled when they are first used: most questions need few of them."""

from __future__ import annotations

import re
from collections.abc import Callable


class Lazy:
    """A pattern with the calls of `re.Pattern` that the rules use."""

    __slots__ = ("_compiled", "_flags", "_source")

    def __init__(self, source: str, flags: int = 0) -> None:
        self._source, self._flags = source, flags
        self._compiled: re.Pattern[str] | None = None

    def _pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._source, self._flags)
        return self._compiled

    def match(self, text: str) -> re.Match[str] | None:
        return self._pattern().match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self._pattern().fullmatch(text)

    def search(self, text: str) -> re.Match[str] | None:
        return self._pattern().search(text)

    def sub(self, new: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        return self._pattern().sub(new, text, count=count)
