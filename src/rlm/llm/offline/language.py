"""Whether a question is in a language that `offline` cannot read: it reads English only.

The evidence is the writing system, and the small words that a language cannot do without. A name
says nothing of the language: quoted names and IRIs are not looked at, and neither are single words
in capitals. A word of asking outweighs a foreign name, so "What is Tätigkeit?" and "subclasses of
活動" are English. Where there is doubt, it is English.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from rlm.llm.offline.asked import understand
from rlm.llm.offline.asked.marks import hidden
from rlm.llm.offline.language_words import ALIKE, ENGLISH, FOREIGN, OF_THE_TRADE

READ_CHARS = 4_000
"""So much of a question is looked at."""
BLOCK_CHARS = 1 << 20
BLOCKS = 64
"""So much of a text is searched for the words of a question: in a longer one they may well be."""

_ENGLISH, _OF_THE_TRADE, _ALIKE = (
    frozenset(listed.split()) for listed in (ENGLISH, OF_THE_TRADE, ALIKE)
)
_OF_LANGUAGE = {language: frozenset(listed.split()) for language, listed in FOREIGN.items()}

_SCRIPTS = {
    "CJK": "Chinese or Japanese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean",
    "CYRILLIC": "a language in Cyrillic letters", "GREEK": "Greek", "ARABIC": "a language in Arabic letters",
    "HEBREW": "Hebrew", "DEVANAGARI": "a language in Devanagari", "BENGALI": "Bengali", "TAMIL": "Tamil",
    "THAI": "Thai", "GEORGIAN": "Georgian", "ARMENIAN": "Armenian", "ETHIOPIC": "a language in Ethiopic letters",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NAMED = re.compile(r"(?<!\S)\S*(?:[:#/_@]\S|[a-z][A-Z])\S*|\ue000\d+\ue001")


def foreign_language(question: str) -> str:
    """The language that a question is in, when it is surely not English; else ''.

    >>> foreign_language("Welche Unterklassen hat Activity?"), foreign_language("Which subclasses has Tätigkeit?")
    ('German', '')
    """
    text = unicodedata.normalize("NFC", hidden(question[:READ_CHARS])[0])
    words = _WORD.findall(_NAMED.sub(" ", text))
    if not text.isupper():
        words = [word for word in words if len(word) == 1 or not word.isupper()]
    low = [part for word in words for part in _parts(word.lower())]
    asks = bool(re.search("[?？؟;]", text))
    return _by_letters(words, low, asks=asks) or _by_words(low, asks=asks)


def unreadable(question: str, texts: Iterable[str] | None = None, *, ontology: bool = False) -> str:
    """The language of a question that `offline` can do nothing with; '' for one that it can read or
    look up.

    Over a text, `offline` looks for what is quoted and for the words of a question in any language:
    such a question is readable where one of them is in the text.
    """
    language = foreign_language(question)
    if not language or (ontology and understand(question) is not None):
        return ""
    return language if texts is None or not _searchable(question, language, texts) else ""


# -- evidence
# --------------------------------------------------------------------------------------------------


def _parts(word: str) -> list[str]:
    """A word, taken apart at its apostrophe where it is none of English: qu'est, cos'è,
    l'ontologie."""
    word = word.replace("’", "'")
    return (
        [word]
        if word in _ENGLISH or word.endswith(("'s", "n't", "'re", "'d", "'ve"))
        else word.split("'")
    )


def _by_letters(words: list[str], low: list[str], *, asks: bool) -> str:
    """By the writing system. A single name in it, or one beside English words, is no question in
    that language."""
    from rlm.llm.offline.text.terms import is_unspaced

    found = Counter(kind for word in words for letter in word if (kind := _script(letter)))
    count = sum(found.values())
    if count < 2 or any(word in _ENGLISH or word in _OF_THE_TRADE for word in low):
        return ""
    there = [word for word in words if any(map(_script, word))]
    long_run = any(is_unspaced(word) and len(word) >= 5 for word in there)
    sentence = len(there) > 1 or (len(words) > 1 and asks) or long_run or (asks and count > 2)
    if not sentence or (found.keys() == {"GREEK"} and count < 6):
        return ""
    if found.keys() & {"HIRAGANA", "KATAKANA"}:
        return _SCRIPTS["HIRAGANA"]
    best = found.most_common(1)[0][0]
    return _SCRIPTS.get(best, f"a language in {best.capitalize()} letters")


def _script(letter: str) -> str:
    """The writing system of a letter; '' for the Latin one and for signs."""
    if letter < "\u0370" or not letter.isalpha():
        return ""
    name = unicodedata.name(letter, "LATIN").split()[0]
    return (
        ""
        if name
        in (
            "LATIN",
            "MODIFIER",
            "MATHEMATICAL",
            "FULLWIDTH",
            "SUPERSCRIPT",
            "DOUBLE-STRUCK",
        )
        else name
    )


def _by_words(low: list[str], *, asks: bool) -> str:
    """By the small words: two of one language, one of which only it has, and hardly any that only
    English has."""
    most, language = (0, 0), ""
    for name, listed in _OF_LANGUAGE.items():
        hits = [word for word in low if word in listed]
        sure = sum(word not in _ALIKE and word not in _ENGLISH for word in hits)
        if sure and (sure, len(hits)) > most:
            most, language = (sure, len(hits)), name
    if not language:
        return ""
    sure, hits_in_all = most
    own = sum(word in _ENGLISH and word not in _OF_LANGUAGE[language] for word in low)
    short = len(low) <= 4 and (asks or (len(low[0]) > 4 and low[0] in _OF_LANGUAGE[language]))
    return language if (hits_in_all >= 2 or short) and (not own or sure >= max(3, 3 * own)) else ""


# -- a text
# ----------------------------------------------------------------------------------------------------


def _searchable(question: str, language: str, texts: Iterable[str]) -> bool:
    """Whether offline's plan for a text is more than to look for words, or one of the words is
    there."""
    from rlm.llm.offline.text.question import plan_for
    from rlm.llm.offline.text.reading import fold

    plan = plan_for(question)
    if plan.kind != "passages":
        return plan.kind != "none"
    small = _OF_LANGUAGE.get(language, frozenset())
    terms = [term for term in plan.args["terms"] if fold(term[0]) not in small] or plan.args[
        "terms"
    ]
    wanted = re.compile("|".join(_piece(stem, mode) for _, stem, mode in terms))
    blocks = islice(_blocks(texts), BLOCKS + 1)
    return any(place == BLOCKS or wanted.search(block) for place, block in enumerate(blocks))


def _piece(stem: str, mode: str) -> str:
    """What of a term must be in a text; of a run without spaces, any two neighbours."""
    if mode == "longest":
        return "|".join(re.escape(stem[at : at + 2]) for at in range(max(1, len(stem) - 1)))
    return rf"(?<!\w){re.escape(stem)}" + (r"(?!\w)" if mode == "whole" else "")


def _blocks(texts: Iterable[str]) -> Iterator[str]:
    from rlm.llm.offline.text.reading import fold

    for text in texts:
        for start in range(0, len(text), BLOCK_CHARS):
            yield fold(text[start : start + BLOCK_CHARS + 100])
