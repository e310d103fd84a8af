"""Phrases in a query, and the part of a text that answers it.

A phrase is what stands in double quotes: its words must occur one after the other, whatever their
case, accents or what separates them; they are not stemmed. A snippet is a short part of a text,
cut between words, with the places of the query's words in it. Neither knows a database or a score.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from rlm.retrieval.tokens import grams, parse_query, tokens, words

SNIPPET_CHARS = 160
READ_CHARS = 50_000
"""So much of a text is looked at for a snippet."""
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
        """Every field as JSON types."""
        return {**asdict(self), "marks": [list(mark) for mark in self.marks]}

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
    read = [_words_of(text) for text in texts]
    return all(any(_places(each, phrase) for each in read) for phrase in phrases)


def excerpt(
    text: str, query: str, phrases: Sequence[Phrase] = (), limit: int = SNIPPET_CHARS
) -> Snippet:
    """The part of a text with a phrase, or with most of the query's words, of about `limit`
    characters; its beginning where it has none of them."""
    found = _words_of(text[:READ_CHARS])
    marked: dict[int, int] = {}
    for phrase in phrases:
        for place in _places(found, phrase):
            marked[found[place].start] = found[place + len(phrase) - 1].end
    exact = sorted(marked)
    terms = set(parse_query(query).terms)
    held: list[tuple[int, Collection[str]]] = []
    for word in found:
        if common := terms.intersection(_terms_of(text[word.start : word.end])):
            marked.setdefault(word.start, word.end)
            held.append((word.start, common))
    start = _window(text, exact[0] if exact else _densest(held, limit), limit)
    end = start + limit
    if end < len(text):
        space = text.rfind(" ", start + limit // 2, end)
        end = space if space > 0 else end
    marks = [(max(a, start) - start, min(b, end) - start) for a, b in sorted(marked.items())]
    return Snippet(
        text[start:end], start, _disjoint([mark for mark in marks if 0 <= mark[0] < mark[1]]),
        end < len(text),
    )  # fmt: skip


def _words_of(text: str) -> list[_Word]:
    return [
        _Word(word, match.start(), match.end())
        for match in _WORD.finditer(text)
        for word in words(match.group())
    ]


def _places(found: Sequence[_Word], phrase: Phrase) -> list[int]:
    """Where a phrase begins."""
    size = len(phrase)
    return [
        place
        for place in range(len(found) - size + 1)
        if all(_fits(phrase[i], found[place + i].text) for i in range(size))
    ]


def _fits(wanted: str, word: str) -> bool:
    """Scripts without spaces have several words in what looks like one."""
    return wanted == word or (unicodedata.category(wanted[0]) == "Lo" and wanted in word)


def _terms_of(word: str) -> set[str]:
    """The stems of a word and of its parts, as a query has them."""
    return {*tokens(word), *tokens(grams(word))}


def _densest(held: Sequence[tuple[int, Collection[str]]], limit: int) -> int:
    """Where a window with the most different terms begins."""
    best, best_count = 0, 0
    for index, (start, _) in enumerate(held):
        inside: set[str] = set()
        for place, terms in held[index:]:
            if place - start > limit * 3 // 4:
                break
            inside.update(terms)
        if len(inside) > best_count:
            best, best_count = start, len(inside)
    return best


def _window(text: str, match: int, limit: int) -> int:
    """Where a window around a match begins: a little before it, at a word, and not beyond need."""
    start = max(0, min(match - limit // 4, len(text) - limit))
    if start == 0:
        return 0
    space = text.find(" ", start, match)
    return space + 1 if space >= 0 else match


def _disjoint(marks: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Marks in order, those that overlap joined."""
    joined: list[tuple[int, int]] = []
    for start, end in marks:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple(joined)
