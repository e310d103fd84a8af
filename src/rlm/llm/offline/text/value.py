"""The value that a passage gives to what was asked for, where that is plain to see."""

from __future__ import annotations

import re

from rlm.llm.offline.text.words import NUMBER, STOP_WORDS

REACH = 60
"""A number or a date further from the words of the question has nothing to do with them."""

_SAID = re.compile(
    r"[^.!?=:]{0,60}?(?:\s(?:is|are|was|were|equals|reads)\s*:?\s+|\s?(?:=>|->|→|:=|=|:)\s?)"
    r"(?:\"([^\"]{1,120})\"|“([^”]{1,120})”|'([^']{1,120})'|`([^`]{1,120})`|([^\s;,]\S*(?: [^;,]\S*){0,5}?))"
    r"(?=[.!?;,]*$|[.;,!?]\s|[;,])"
)
_KEYED = (
    r"\w{0,4}[\"'`]?\s?(?:=>|:=|=|:)\s?(?:\"([^\"]{1,120})\"|'([^']{1,120})'|([^\s;,{}\[\]\"'][^;,{}\[\]\"'\n]{0,80}))"
    r"(?=\s*(?:[;,}\]]|$))"
)


def value_in(quote: str, terms: list[str], form: str) -> str:
    """The value; '' when it is not plain to see."""
    if re.search(r"[{}]", quote):  # a value belongs to the record in which all the words stand
        records = [piece for piece in re.split(r"[{}]", quote) if _ends(piece, terms) and -1 not in _ends(piece, terms)]
        return value_in(records[0].strip(" ,"), terms, form) if len(records) == 1 else ""
    last = max(_ends(quote, terms), default=-1)
    if last < 0 or not form:
        return ""
    if not form.startswith("(?i)"):  # a form of value: a date, a number, an address
        pattern = re.compile(form)
        match = pattern.search(quote, last) or pattern.search(quote)
        if match is None or max(match.start() - last, last - match.end()) > REACH:
            return ""
        return match.group()
    keyed = [
        match for term in terms for match in re.finditer(r"(?<![^\W_])" + re.escape(_stem(term)) + _KEYED, quote, re.I)
    ]
    if len({match.start() for match in keyed}) == 1:
        return keyed[0][1] or keyed[0][2] or keyed[0][3].strip().rstrip(".")
    if keyed:
        return ""
    word = re.compile(r"\w*").match(quote, last)
    match = _SAID.match(quote, word.end() if word else last)
    if match is None:
        return ""
    return match[5].rstrip(".!?") if match[5] else next(group for group in match.groups() if group)


def number_before(quote: str, stem: str) -> str:
    """The number that counts a word: “300 soldiers”, “300 brave soldiers”."""
    found = re.finditer(rf"(?<![:/-])({NUMBER})((?:\s[^\W\d]+){{0,2}})\s{re.escape(stem)}\w{{0,4}}(?!\w)", quote, re.I)
    little = set(STOP_WORDS.split())
    return next((match[1] for match in found if stem and not little.intersection(match[2].lower().split())), "")


def _stem(term: str) -> str:
    return term.lower()[: max(5, len(term) - 2)]


def _ends(quote: str, terms: list[str]) -> list[int]:
    low = quote.lower()
    return [low.rfind(term.lower()[:5]) for term in terms]
