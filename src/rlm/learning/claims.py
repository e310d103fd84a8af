"""The numbers and quotations of an answer, and whether anything that the run has seen shows them.

This is no verdict: a number may follow from others. What is not found is told to the model once,
which may check it, and then to the judge, by name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal

from rlm.learning.words import plain_words
from rlm.loop.trace import numbers_in

READ_CHARS = 20_000
QUOTE_WORDS = 5
"""Shorter ones are names, titles and words that are meant."""
MOST = 10
COUNTED_BY_EYE = 30
_NUMBER = re.compile(r"(?<![\w.,:/#+-])\d[\d,]*(?:\.\d+)?(?![\w:/-]|[.,]\d)")
_LIST_MARK = re.compile(r"^[ \t]*(?:[-*+•–—]|\(?\d{1,4}[.)])[ \t]+", re.MULTILINE)
_QUOTED = re.compile(
    r"\"([^\"\n]{15,600})\"|“([^”\n]{15,600})”|«([^»\n]{15,600})»|„([^“”\n]{15,600})[“”]"
)
_DOTS = re.compile(r"\s*(?:\[?(?:…|\.\.\.)\]?)\s*")
_WORDS = re.compile(r"\w+")


def find_unseen_numbers(answer: str, seen: set[str], question: str = "") -> list[str]:
    """The numbers of an answer that are neither in `seen` nor in the question. A rounded number is
    seen where a longer one rounds to it, and the length of a list where the list stands."""
    marks = len(_LIST_MARK.findall(answer))
    text = plain_words(_LIST_MARK.sub("", answer[:READ_CHARS]))
    known = seen | numbers_in(question)
    exact = {Decimal(number) for number in known}
    counted = {marks, *(n for line in text.splitlines() for n in _listed(line))}
    found: dict[str, None] = {}
    for match in _NUMBER.finditer(text):
        said = Decimal(match[0].replace(",", ""))
        if said in exact or (said < COUNTED_BY_EYE and int(said) == said and int(said) in counted):
            continue
        if any(_rounds_to(other, said) for other in exact):
            continue
        found[match[0]] = None
    return list(found)[:MOST]


def _listed(line: str) -> tuple[int, ...]:
    """How many things a line may list: `a, b and c` has one comma and three."""
    commas = line.count(",") + line.count(";")
    return (commas + 1, commas + 2) if commas or " and " in line else ()


def _rounds_to(other: Decimal, said: Decimal) -> bool:
    """Whether a number is another one, rounded or cut, or as a percentage."""
    exponent = said.as_tuple().exponent
    if other == other.to_integral_value() or not isinstance(exponent, int):
        return False
    unit = Decimal(1).scaleb(exponent)
    return abs(other - said) < unit or abs(100 * other - said) < unit


def find_unseen_quotes(answer: str, texts: Iterable[str]) -> list[str]:
    """The quotations of an answer, of five words or more, that stand in none of the texts. Case,
    white space, punctuation and marks of omission do not count."""
    parts = {
        quote: [part for part in map(_fold, _DOTS.split(quote)) if part.count(" ") >= 2]
        for match in _QUOTED.finditer(answer[:READ_CHARS])
        if len(_WORDS.findall(quote := next(filter(None, match.groups())))) >= QUOTE_WORDS
    }
    left = {quote: set(found) for quote, found in parts.items() if found}
    for text in texts if left else ():
        folded = _fold(text)
        for found in left.values():
            found.difference_update([part for part in found if part in folded])
        if not any(left.values()):
            break
    return [quote for quote, found in left.items() if found][:MOST]


def _fold(text: str) -> str:
    """Words one space apart, with a space at both ends so that none is found in the middle."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return f" {' '.join(_WORDS.findall(plain))} "
