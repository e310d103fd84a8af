"""The values of a query's rows as an answer would name them: IRIs, and literals by their text."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from rlm.learning.words import plain_words
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
