"""What to look for, taken from the words of a question."""

from __future__ import annotations

import re

from rlm.llm.offline.text.reading import fold
from rlm.llm.offline.text.words import ASKING, EMAIL, NOUNS_TOO, NUMBER, STOP_WORDS, URL, WHEN

MAX_TERMS = 14

_BEFORE_NOUNS = re.compile(
    "the|an?|his|her|its|my|our|their|this|that|these|those|about|of|for|with"
)
_UNSPACED_ASKING = re.compile(
    "什么|为什么|怎么样?|怎样|如何|哪里|哪儿|哪些|哪个|哪一|多少|几个|是谁|是否|请问|告诉我|[吗呢谁哪几吧啊的是]|"
    "どこ|いつ|だれ|なに|何|ですか|でした|です|ますか|ました|ます"
)
_IRREGULAR = (
    ("man", "men"), ("woman", "women"), ("child", "children"), ("person", "people"), ("foot", "feet"),
    ("tooth", "teeth"), ("mouse", "mice"), ("index", "indices"),
)  # fmt: skip


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
    if re.search(
        r"\b(?:when|what (?:date|year|day|time)|which (?:date|year|day)|wann|quand|cu[aá]ndo)\b",
        asked,
        re.I,
    ):
        return WHEN
    if re.search(
        r"\bhow"
        r" (?:many|much|old|long|far|tall|big|high|large)\b|\b(?:number|price|amount|population)\b",
        asked,
        re.I,
    ):
        return NUMBER
    if re.search(
        r"\b(?:what|who|which) (?:is|are|was|were)\b|\b(?:define|definition|meaning|value)\b",
        asked,
        re.I,
    ):
        names = "|".join(
            re.escape(stem) + (r"\w{0,4}" if mode == "stem" else "") for _, stem, mode in terms[:6]
        )
        return (
            rf"(?i)\b(?:{names})[^.!?]{{0,40}}?(?:\s(?:is|are|was|were|means?|refers?"
            r" to)\s|\s?[=:]\s?)"
        )
    return ""


def terms_of(asked: str) -> list[list[str]]:
    """The words of a question that can be looked for: as asked, what to look for, and how."""
    stop, asking = set(STOP_WORDS.split()), set(ASKING.split())
    nouns, before = set(NOUNS_TOO.split()), ""
    found: dict[str, list[str]] = {}
    spare: dict[str, list[str]] = {}  # words that say little, but may be all that there is
    for word in re.findall(r"\w+(?:[-_./@'’]\w+)*", asked):
        low = fold(word)
        if is_unspaced(low):
            for run in _UNSPACED_ASKING.split(low):
                if len(run) > 1 or run == low:
                    found.setdefault(run, [run[:60], run[:60], "longest"])
            continue
        low, word = re.sub(r"['’]s$", "", low), re.sub(r"['’]s$", "", word)
        named = low in nouns and bool(
            (word[0].isupper() and before) or _BEFORE_NOUNS.fullmatch(before)
        )
        before = low
        letter = (
            len(low) < 2 and word.isupper() and word not in "AI" and bool(found or spare)
        )  # as in "Part D"
        if low in stop or low in asking or (len(low) < 2 and not low.isdigit() and not letter):
            if named:
                spare[low] = [word, *_stem(low)]
            if not (named and word[0].isupper() and not asked.isupper()):
                continue
        stem, mode = _stem(low)
        found.setdefault(stem, [word, stem, mode])
    return list(found.values())[:MAX_TERMS] or list(spare.values())[-1:]


def forms_of(needle: str) -> list[str]:
    """The last word of a needle in its other number, by the rules of English: errors, error."""
    *_, word = fold(needle).split() or [""]
    if not word.isalpha() or len(word) < 3 or is_unspaced(word) or word.endswith(("ed", "ing")):
        return []
    for one, many in _IRREGULAR:
        if word in (one, many):
            return [many if word == one else one]
    if word.endswith("ies") and len(word) > 4:
        return [word[:-3] + "y"]
    if re.search(r"(?:ss|sh|ch|x|z)es$", word):
        return [word[:-2]]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return [word[:-1]]
    if re.search(r"[^aeiou]y$", word):
        return [word[:-1] + "ies"]
    return [word + ("es" if re.search(r"(?:s|sh|ch|x|z)$", word) else "s")]


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
        "\u0e00" <= c <= "\u0eff"
        or "\u1000" <= c <= "\u109f"
        or "\u1780" <= c <= "\u17ff"
        or "\u3040" <= c <= "\u9fff"
        for c in text
    )
