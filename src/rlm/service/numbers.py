"""Numbers as people say them: in digits or in words, with what is counted."""

from __future__ import annotations

import re

from rlm.retrieval.tokens import tokens, words

_NUMBER = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)?)\s*([%$€£]|[A-Za-z]+)?")
_ONES = words(
    "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = words("twenty thirty forty fifty sixty seventy eighty ninety")
_SCALES = {"hundred": 100, "thousand": 1000}
_WORDED = {name: number for number, name in enumerate(_ONES, 1)}
_WORDED |= {name: 10 * number for number, name in enumerate(_TENS, 2)}
_SMALL = rf"(?:{'|'.join(_TENS)})[ -](?:{'|'.join(_ONES[:9])})\b|{'|'.join(_WORDED)}"
_SCALE = "|".join(_SCALES)
_WORD = re.compile(rf"\b(?:({_SMALL})(?: ({_SCALE}))?|({_SCALE}))\b", re.IGNORECASE)
_GROUP = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def read_numbers(text: str) -> list[tuple[str, str]]:
    """The numbers of a text, also in words, each with what is counted."""
    found = _NUMBER.findall(write_digits(text))
    return [(number, " ".join(tokens(unit)) or unit) for number, unit in found]


def write_digits(text: str) -> str:
    """A text with its numbers in digits."""
    return _WORD.sub(_in_digits, join_thousands(text))


def join_thousands(text: str) -> str:
    """A text without the commas between thousands."""
    return _GROUP.sub("", text)


def _in_digits(match: re.Match[str]) -> str:
    small, scale = match[1] or "one", match[2] or match[3] or ""
    value = sum(_WORDED[part] for part in re.split("[ -]", small.casefold()))
    return str(value * _SCALES.get(scale.casefold(), 1))
