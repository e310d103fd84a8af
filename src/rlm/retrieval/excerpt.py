"""Phrases in a query, and the part of a text that answers it.

A phrase is what stands in double quotes: its words must occur one after the other, whatever their
case, accents or what separates them; they are not stemmed. A snippet is a short part of a text,
cut between words, with the places of the query's words in it. Neither knows a database or a score.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from rlm.retrieval.tokens import grams, parse_query, tokens, words

SNIPPET_CHARS = 160
READ_CHARS, MARKS = 20_000, 200
"""So much of a text, and so many words of the query in it, are looked at for a snippet."""
_QUOTED = re.compile(r'"([^"]*)"|“([^”]*)”')
_WORD = re.compile(r"[^\W_]+")

Phrase = tuple[str, ...]


class _Word(NamedTuple):
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Snippet:
    """A part of a text from `start`, and where in it the query's words are: (from, to) pairs."""

    text: str
    start: int
    marks: tuple[tuple[int, int], ...] = ()
    is_cut: bool = False
    """Whether the text goes on behind it."""

    def to_dict(self) -> dict[str, Any]:
        """What is needed to mark the words oneself, as JSON types."""
        marks = [list(mark) for mark in self.marks]
        return {"text": self.text, "start": self.start, "marks": marks}

    def __str__(self) -> str:
        """On one line, the words that were looked for between « and »."""
        parts, last = ["…" if self.start else ""], 0
        for start, end in self.marks:
            parts += [self.text[last:start], "«", self.text[start:end], "»"]
            last = end
        parts += [self.text[last:], "…" if self.is_cut else ""]
        return " ".join("".join(parts).split())


def split_phrases(query: str) -> tuple[str, tuple[Phrase, ...]]:
    """The query without quotes, and its phrases. A quote that is not closed is no phrase.

    >>> split_phrases('why "green tea" cools')
    ('why  green tea  cools', (('green', 'tea'),))
    """
    found = (tuple(words(one or other)) for one, other in _QUOTED.findall(query))
    return _QUOTED.sub(r" \1\2 ", query), tuple(phrase for phrase in found if phrase)


def holds_phrases(texts: Sequence[str], phrases: Sequence[Phrase]) -> bool:
    """Whether each phrase occurs in one of the texts."""
    read = [words(text) for text in texts] if phrases else []
    return all(any(_places(each, phrase) for each in read) for phrase in phrases)


def excerpt(
    text: str, query: str, phrases: Sequence[Phrase] = (), limit: int = SNIPPET_CHARS
) -> Snippet:
    """The part of a text, up to `limit` characters, with a phrase or most query words."""
    found = _words_of(text[:READ_CHARS])
    folded = [word.text for word in found] if phrases else []
    exact = [found[place].start for phrase in phrases for place in _places(folded, phrase)]
    terms = set(parse_query(query).terms)
    known: dict[str, set[str]] = {}
    held: dict[tuple[int, int], set[str]] = {}
    for _, start, end in found:
        word = text[start:end]
        if word not in known:
            known[word] = terms & {*tokens(word), *tokens(grams(word))}
        if known[word]:
            held[start, end] = known[word]
    first = _start(text, min(exact) if exact else _densest(held, limit), limit)
    last = first + limit
    if last < len(text):
        space = text.rfind(" ", first + limit // 2, last)
        last = space if space > 0 else last
    marks = ((start - first, end - first) for start, end in held if first <= start and end <= last)
    return Snippet(text[first:last], first, tuple(marks), last < len(text))


def _words_of(text: str) -> list[_Word]:
    folded = lru_cache(words)
    return [
        _Word(word, match.start(), match.end())
        for match in _WORD.finditer(text)
        for word in folded(match.group())
    ]


def _places(found: Sequence[str], phrase: Phrase) -> list[int]:
    """Where a phrase begins."""
    size = len(phrase)
    return [
        place
        for place in range(len(found) - size + 1)
        if all(_fits(phrase[i], found[place + i]) for i in range(size))
    ]


def _fits(wanted: str, word: str) -> bool:
    """Scripts without spaces have several words in what looks like one."""
    return wanted == word or (unicodedata.category(wanted[0]) == "Lo" and wanted in word)


def _densest(held: dict[tuple[int, int], set[str]], limit: int) -> int:
    """Where the window with the most different terms begins."""
    starts = list(held)[:MARKS]

    def count_terms(place: tuple[int, int]) -> int:
        near = (held[each] for each in starts if 0 <= each[0] - place[0] < limit * 3 // 4)
        return len(set[str]().union(*near))

    return max(starts, key=count_terms, default=(0, 0))[0]


def _start(text: str, match: int, limit: int) -> int:
    """Where a window around a match begins: a little before it, at a word, and not beyond need."""
    start = max(0, min(match - limit // 4, len(text) - limit))
    space = text.find(" ", start, match)
    return 0 if start == 0 else space + 1 if space >= 0 else match
