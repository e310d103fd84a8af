"""What an answer claims, and whether anything that the run has seen shows it.

The values of a query's rows as an answer would name them: IRIs, and literals by their text. And the
numbers and quotations of an answer beside all that was seen: this is no verdict, for a number may
follow from others. What is not found is told to the model once, which may check it, and then to the
judge, by name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from rlm.learning.words import plain_words
from rlm.loop.trace import numbers_in
from rlm.ontology.engine.protocol import Answer
from rlm.ontology.labels import plainly

TEXT_CHARS = 80
_ITEM = re.compile(r"^[ \t]*(?:[-*+•–—]|\(?\d{1,4}[.)])[ \t]+(.*\S)", re.MULTILINE)
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s<>\"{}|^`\\]+")
_LONE = re.compile(r"(?<![\w.,:/#-])\d+(?:\.\d+)?(?![\w%:/-]|[.,]\d)")


@dataclass(slots=True)
class Values:
    """What rows hold. `texts` are literals; a literal that is an IRI counts as one."""

    iris: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)
    blank: bool = False

    def compare(self, answer: str, question: str, *, exactly: bool) -> tuple[list[str], list[str]]:
        """The texts that the answer does not have and, when it should have no others, the others.
        Others are items of a list that hold none of the texts and, where all texts are numbers,
        other numbers."""
        if not self.texts:
            return [], []
        said = _fold(answer)
        missing = [_clip(text) for text in self.texts if not _stands_in(_fold(text), said)]
        if not exactly or self.iris:
            return missing, []
        if all(_DIGITS.fullmatch(text) for text in self.texts):
            known = {*self.texts, str(len(self.texts)), *_DIGITS.findall(question)}
            return missing, sorted(
                {
                    number
                    for number in _LONE.findall(_strip_list_marks(answer))
                    if number not in known
                }
            )
        items = [_fold(match[1]) for match in _ITEM.finditer(answer)]
        wanted = [_fold(text) for text in self.texts]
        return missing, [
            _clip(item) for item in items if not any(_stands_in(text, item) for text in wanted)
        ]


def values_in(found: Answer) -> Values:
    """Every value of every row, each once."""
    values = Values()
    for row in found.rows:
        for term in row.values():
            if term["t"] == "iri" or (term["t"] == "lit" and _IRI.fullmatch(str(term["v"]))):
                values.iris.add(str(term["v"]))
            elif term["t"] == "lit":
                values.texts.append(" ".join(str(term["v"]).split()))
            else:
                values.blank = True
    values.texts = [text for text in dict.fromkeys(values.texts) if text]
    return values


def _fold(text: str) -> str:
    """For comparing: NFKC, no case, one space, thousands without their commas."""
    text = " ".join(plainly(unicodedata.normalize("NFKC", text)).casefold().split())
    return re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)


def _stands_in(text: str, within: str) -> bool:
    """Whether a text stands in another by itself, not inside of a word or a larger number."""
    before = r"(?<![\w.])" if text[:1].isalnum() else ""
    after = r"(?!\w|\.\d)" if text[-1:].isalnum() else ""
    return re.search(before + re.escape(text) + after, within) is not None


def _strip_list_marks(answer: str) -> str:
    return _fold(
        plain_words(re.sub(r"^[ \t]*\(?\d{1,4}[.)][ \t]+(?=\S)", "", answer, flags=re.MULTILINE))
    )


def _clip(text: str) -> str:
    return text if len(text) <= TEXT_CHARS else text[: TEXT_CHARS - 1] + "…"


# -- numbers and quotations

READ_CHARS = 20_000
QUOTE_WORDS = 5
"""Shorter ones are names, titles and words that are meant."""
MOST = 10
COUNTED_BY_EYE = 30
TELLING_DIGITS, MANY = 3, 100
"""So many digits of a number in another unit are no chance; one more where many are known."""
_UNIT = r"(?!(?:st|nd|rd|th|am|pm|[DGK])\b|(?<=0)s\b)[^\W\d_]{1,3}[²³23]?(?:/[^\W\d_]{1,3})?"
"""Letters behind a number that are no ordinal, hour, decade or name (3D, 5G, 4K)."""
_NUMBER = re.compile(
    r"(?<![\w.,:/#])(?<!\w[-+–−])\d+(?:[-–−/,.]\d+)*"
    rf"(?:(?=T\d\d:)|(?:{_UNIT})?(?![\w:]|[-–/]\w|[.,]\d))"
)
"""Also a range, a fraction and a date. Not the digits of a name (OX-12), nor a time of day."""
_VERSION = re.compile(r"\d+(?:\.\d+){2,}")
_DATE = re.compile(r"\d{4}([-/])\d\d?\1\d\d?|\d\d?([-/])\d\d?\2\d{4}")
_LIST_MARK = re.compile(
    r"^[ \t]*(?:[-*+•–—]|(?:[#*(]+[ \t]*)?\d{1,4}[.)]\**)[ \t]+|(?<=[:;,.] )\(\d{1,2}\)",
    re.MULTILINE,
)
_QUOTED = re.compile(
    r"\"([^\"\n]*)\"|“([^”\n]*)”|«([^»\n]*)»|„([^“”\n]*)[“”]"
    r"|(?<!\w)['‘]((?:[^'‘’\n]|(?<=\w)['’](?=\w))*)['’](?!\w)"
)
"""Every pair, so that none begins at the end of another."""
_DOTS = re.compile(r"\s*(?:\[?(?:…|\.\.\.)\]?)\s*")
_WORDS = re.compile(r"\w+")


def find_unseen_numbers(answer: str, seen: set[str], question: str = "") -> list[str]:
    """The numbers of an answer that are neither in `seen` nor in the question. A rounded number is
    seen where a longer one rounds to it, or one that is 100 or 1,000 times as large or small, or
    10 times with the same digits; the length of a list where the list stands; and the sum or
    difference of two that were seen where the answer gives these too."""
    text = plain_words(_LIST_MARK.sub("", answer[:READ_CHARS]))
    known = _add_sums({Decimal(number) for number in seen | numbers_in(question)}, text)
    counted = {len(_LIST_MARK.findall(answer))}.union(*map(_count_listed, text.splitlines()))
    written = dict.fromkeys(match[0] for match in _NUMBER.finditer(_VERSION.sub(" ", text)))
    return [number for number in written if _is_unseen(number, known, counted)][:MOST]


def _add_sums(known: set[Decimal], text: str) -> set[Decimal]:
    """With the sums and differences of those that a text gives."""
    stated = known.intersection(map(Decimal, numbers_in(text)))
    if len(stated) > COUNTED_BY_EYE:
        return known
    return known.union(*({a + b, a - b} for a in stated for b in stated if a > b))


def _is_unseen(written: str, known: set[Decimal], counted: set[int]) -> bool:
    """Whether a part of a number as it is written was not seen; a month may have been a word."""
    left = [
        said
        for said in map(Decimal, numbers_in(written))
        if said not in known
        and not (said < COUNTED_BY_EYE and said in counted)
        and not any(_rounds_to(other, said) for other in known)
        and not _restates(said, known)
    ]
    is_month = len(left) == 1 and left[0] <= 12 and _DATE.match(written)
    return bool(left) and not is_month


def _count_listed(line: str) -> tuple[int, ...]:
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


def _restates(said: Decimal, known: Collection[Decimal]) -> bool:
    """Whether a number is one that is known, in a unit of another size, rounded (kilos as tonnes)
    or with all of its digits (millimetres as centimetres), and has enough of them to be no chance.
    """
    digits, exponent = said.as_tuple()[1:]
    if not isinstance(exponent, int):
        return False
    telling = len(digits if exponent else said.normalize().as_tuple().digits)
    half = Decimal(1).scaleb(exponent) / 2
    return telling >= TELLING_DIGITS + (len(known) > MANY) and any(
        abs(other.scaleb(shift) - said) <= (half if abs(shift) > 1 else 0)
        for other in known
        for shift in (-3, -2, -1, 1, 2, 3)
    )


def find_unseen_quotes(answer: str, texts: Iterable[str]) -> list[str]:
    """The quotations of an answer, of five words or more, that stand in none of the texts. Case,
    white space, punctuation and marks of omission do not count."""
    parts = {
        quote: [part for part in map(_fold_words, _DOTS.split(quote)) if part.count(" ") >= 2]
        for match in _QUOTED.finditer(answer[:READ_CHARS])
        if len(_WORDS.findall(quote := next(filter(None, match.groups()), ""))) >= QUOTE_WORDS
    }
    left = {quote: set(found) for quote, found in parts.items() if found}
    for text in texts if left else ():
        folded = _fold_words(text)
        for found in left.values():
            found.difference_update([part for part in found if part in folded])
        if not any(left.values()):
            break
    return [quote for quote, found in left.items() if found][:MOST]


def _fold_words(text: str) -> str:
    """Words one space apart, with a space at both ends so that none is found in the middle."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return f" {' '.join(_WORDS.findall(plain))} "
