"""Whether words only repeat what memory said: then they are nothing new.

Texts are compared by runs of words, so that a quotation is found whatever stands around it. A
sentence that repeats a memory and negates it, or says something else of its own, is no echo.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

RUN = 4
"""So many words in a row that a memory has too are quoted."""
SHARE = 0.6
"""The part of a sentence that is one quotation, where it says nothing else."""

_WORD = re.compile(r"\w+(?:['’]\w+)?")
_OTHERWISE = re.compile(
    r"\b(?:no|not|never|instead|rather|longer|wrong|anymore|except|only|but|without|outdated|actually"
    r"|before|after|than|until|unless|\w+n['’]t)\b|\d",
    re.IGNORECASE,
)


class Echoes:
    """Texts that memory gave, as the runs of words that they hold."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._runs: set[tuple[str, ...]] = set()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """One more text that is known."""
        words = _words(text)
        self._runs.update(zip(*(words[place:] for place in range(RUN)), strict=False))

    def holds(self, text: str) -> bool:
        """Whether a text says nothing but what these texts say."""
        words = _words(text)
        if len(words) < RUN or not self._runs:
            return False
        start, end = self._longest(words)
        own = " ".join((*words[:start], *words[end:]))
        return end - start >= SHARE * len(words) and not _OTHERWISE.search(own)

    def _longest(self, words: list[str]) -> tuple[int, int]:
        """Where the longest quotation begins and ends."""
        best, start = (0, 0), -1
        for place in range(len(words) - RUN + 1):
            if tuple(words[place : place + RUN]) not in self._runs:
                start = -1
                continue
            start = place if start < 0 else start
            best = max(best, (start, place + RUN), key=lambda span: span[1] - span[0])
        return best


def _words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
