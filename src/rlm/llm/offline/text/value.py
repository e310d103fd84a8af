"""The value that a passage gives to what was asked for, where that is plain to see."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rlm.llm.offline.text.words import NUMBER, STOP_WORDS

REACH = 60
"""A number or a date further from the words of the question has nothing to do with them."""

_SAID = re.compile(
    r"(?:(?:\s(?:of|for|in|at|on|from|to)(?:\s[^\s.!?=:,;]+){1,4}?)?\s(?:is|are|was|were|equals|reads)\s*:?\s+|"
    r"[^.!?=:]{0,60}?\s?(?:=>|->|→|:=|=|:)\s?)"
    r"(?:\"([^\"]{1,120})\"|“([^”]{1,120})”|'([^']{1,120})'|`([^`]{1,120})`|([^\s;,]\S*(?:"
    r" [^;,]\S*){0,5}?))"
    r"(?=[.!?;,]*$|[.;,!?]\s|[;,])"
)
_NO_VALUE = re.compile(
    r"(?:not|no|never|also|only|as|in|on|at|by|to|from|there|[a-z]+(?:ed|en)|found|made|away|here|gone)\b",
    re.I,
)
"""What follows “is” and is no value: “is not recalled”, “is found”."""
_KEYED = (
    r"\w{0,4}[\"'`]?\s?(?:=>|:=|=|:)\s?(?:\"([^\"]{1,120})\"|'([^']{1,120})'|([^\s;,{}\[\]\"'][^;,{}\[\]\"'\n]{0,80}))"
    r"(?=\s*(?:[;,}\]]|$))"
)


_WORDS = (
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b"
)


def value_in(quote: str, terms: list[str], form: str) -> str:
    """The value; '' when it is not plain to see."""
    if re.search(r"[{}]", quote):  # a value belongs to the record in which all the words stand
        records = [
            piece
            for piece in re.split(r"[{}]", quote)
            if _ends(piece, terms) and -1 not in _ends(piece, terms)
        ]
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
        match
        for term in terms
        for match in re.finditer(r"(?<![^\W_])" + re.escape(_stem(term)) + _KEYED, quote, re.I)
    ]
    if len({match.start() for match in keyed}) == 1:
        return keyed[0][1] or keyed[0][2] or keyed[0][3].strip().rstrip(".")
    if keyed:
        return ""
    word = re.compile(r"\w*").match(quote, last)
    match = _SAID.match(quote, word.end() if word else last)
    if match is None:
        return ""
    if not match[5]:
        return next(group for group in match.groups() if group)
    first, comma, _ = (match[5] + quote[match.end() : match.end() + 1]).partition(",")
    more = quote[match.start(5) + len(first) + 1 :].split(". ")[0]
    listed = bool(comma) and (" " in first or ", " in more)  # the first of several: no value
    joined = re.search(
        r"\b(?:and|or)\s+\W?$", quote[:last]
    )  # "a and b are …" says nothing of b alone
    return "" if listed or joined or _NO_VALUE.match(match[5]) else first.rstrip(".!?;")


def number_before(quote: str, stem: str, terms: Sequence[str] = ()) -> str:
    """The number that counts a word: “300 soldiers”, “300 brave soldiers”; where more words are
    asked for, in a clause with most of them."""
    found = re.finditer(
        rf"(?<![:/-])({NUMBER}|{_WORDS})((?:\s[^\W\d]+){{0,2}})\s{re.escape(stem)}\w{{0,4}}(?!\w)",
        quote,
        re.I,
    )
    little = set(STOP_WORDS.split())
    for match in found:
        begin = max(quote.rfind(mark, 0, match.start()) for mark in (", ", "; ", " (", ". "))
        after = re.compile(r"[,;)] |\. |$").search(quote, match.end())
        clause = quote[begin + 1 : after.start() if after else len(quote)]
        near = [place for place in _ends(clause, list(terms)) if place >= 0]
        if (
            stem
            and not little.intersection(match[2].lower().split())
            and len(near) * 2 >= len(terms) + (len(terms) > 1)
        ):
            return match[1]
    return ""


def _stem(term: str) -> str:
    return term.lower()[: max(5, len(term) - 2)]


def _ends(quote: str, terms: list[str]) -> list[int]:
    low = quote.lower()
    return [low.rfind(term.lower()[:5]) for term in terms]
