"""What to look for, taken from the words of a question."""

from __future__ import annotations

import re

from rlm.llm.offline_reading import fold
from rlm.llm.offline_words import ASKING, EMAIL, NUMBER, STOP_WORDS, URL, WHEN

MAX_TERMS = 14


def unit_of(asked: str) -> str:
    """What kind of passage a question wants."""
    return (
        "paragraph"
        if re.search(r"\bparagraphs?\b", asked, re.I)
        else "line"
        if re.search(r"\blines?\b", asked, re.I)
        else "sentence"
    )


def form_wanted(asked: str, terms: list[list[str]]) -> str:
    """The form of what the question asks for, where its first words tell."""
    if re.search(r"\be-?mail\b", asked, re.I):
        return EMAIL
    if re.search(r"\b(?:url|link|web ?site)\b", asked, re.I):
        return URL
    if re.search(r"\b(?:when|what (?:date|year|day|time)|which (?:date|year|day)|wann|quand|cu[aá]ndo)\b", asked, re.I):
        return WHEN
    if re.search(
        r"\bhow (?:many|much|old|long|far|tall|big|high|large)\b|\b(?:number|price|amount|population)\b", asked, re.I
    ):
        return NUMBER
    if re.search(r"\b(?:what|who|which) (?:is|are|was|were)\b|\b(?:define|definition|meaning|value)\b", asked, re.I):
        names = "|".join(re.escape(stem) + (r"\w{0,4}" if mode == "stem" else "") for _, stem, mode in terms[:6])
        return rf"(?i)\b(?:{names})[^.!?\n]{{0,40}}?(?:\s(?:is|are|was|were|means?|refers? to)\s|\s?[=:]\s?)"
    return ""


def terms_of(asked: str) -> list[list[str]]:
    """The words of a question that can be looked for: as asked, what to look for, and how."""
    stop, asking = set(STOP_WORDS.split()), set(ASKING.split())
    found: dict[str, list[str]] = {}
    for word in re.findall(r"\w+(?:[-_./@'’]\w+)*", asked):
        low = fold(word)
        if is_unspaced(low):
            for pair in [low[n : n + 2] for n in range(len(low) - 1)] or [low]:
                found.setdefault(pair, [pair, pair, "any"])
            continue
        low = re.sub(r"['’]s$", "", low)
        if low in stop or low in asking or (len(low) < 2 and not low.isdigit()):
            continue
        stem, mode = _stem(low)
        found.setdefault(stem, [word, stem, mode])
    return list(found.values())[:MAX_TERMS]


def _stem(low: str) -> tuple[str, str]:
    """A word without its English ending, where enough of it is left."""
    if not low.isalpha() or len(low) < 4:
        return low, "whole"
    for ending in ("ies", "ing", "ed", "es", "s", "e", "y"):
        if low.endswith(ending) and len(low) - len(ending) >= 4 and not low.endswith("ss"):
            return low[: -len(ending)], "stem"
    return low, "stem"


def is_unspaced(text: str) -> bool:
    """Scripts that put no spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese."""
    return any(
        "\u0e00" <= c <= "\u0eff" or "\u1000" <= c <= "\u109f" or "\u1780" <= c <= "\u17ff" or "\u3040" <= c <= "\u9fff"
        for c in text
    )
