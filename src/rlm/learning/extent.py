"""How far the calls of a procedure go, read from the calls: its words must not say more than they
do.

"Which vessels are there?" may be answered by the instances of subclasses alone, and "all
subclasses" by a query for one level where there is only one. What is stored is the query, so the
title, the kind and the description are its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rlm.llm.offline.asked import generalised
from rlm.llm.offline.asked.kinds import Asked

ITSELF, BELOW, ABOVE = (
    "stated of the class itself",
    "of its subclasses alone",
    "of its superclasses alone",
)
EXTENT = {
    "subclasses": "one level",
    "superclasses": "one level",
    "all_subclasses": "every level",
    "all_superclasses": "every level",
    "instances": ITSELF,
    "properties_by_domain": ITSELF,
    "properties_by_range": ITSELF,
}
"""How far the answers to a kind of question go, where it is asked plainly."""
_ELSEWHERE = {
    "instances": (BELOW, "{} the instances of subclasses of a class"),
    "properties_by_domain": (ABOVE, "{} properties by domain, inherited alone"),
    "properties_by_range": (ABOVE, "{} properties by range, inherited alone"),
}
"""Without the class itself: how far that goes, and the title of it."""
FLAT = "-"
_ONE = r"(?:rdfs:subClassOf|<[^<>\s]*#subClassOf>)"
_TWICE = re.compile(rf"{_ONE}\s*/\s*{_ONE}\s*\*")
_PATH = re.compile(rf"{_ONE}\s*([+*]?)")
_AGAINST = re.compile(r"\b(?:NOT\s+EXISTS|MINUS)\s*\{[^{}]*\}", re.IGNORECASE)


class Extent:
    """What some calls answer: the question that they are for, how far they go, and what that is
    called."""

    def __init__(self, asked: Asked, calls: Sequence[str]) -> None:
        counts = asked.kind == "count"
        kind = asked.of if counts else asked.kind
        marks = set(_marks(calls)) if kind in EXTENT else set[str]()
        self._title = ""
        self.words = "" if asked.inherited else EXTENT.get(kind, "")
        self.asked = asked
        if kind in _ELSEWHERE:
            self._beyond(marks, kind, "Count" if counts else "List")
        elif marks - {FLAT}:
            base = kind.removeprefix("all_")
            kind = base if marks <= {"", FLAT} else f"all_{base}"
            self.words = EXTENT[kind]
            self.asked = replace(asked, of=kind) if counts else replace(asked, kind=kind)

    def _beyond(self, marks: set[str], kind: str, verb: str) -> None:
        if marks and marks <= {"", "+"}:
            self.words, title = _ELSEWHERE[kind]
            self._title = title.format(verb)
        elif marks:
            inherited = marks != {FLAT}
            self.words = "" if inherited else ITSELF
            self.asked = replace(self.asked, inherited=inherited)

    def title(self, question: str) -> str:
        return self._title or generalised(question, self.asked)


def _marks(calls: Iterable[str]) -> Iterable[str]:
    """For every call how far it goes: FLAT without the hierarchy, "" one level of it, "+" every
    level, "*" and itself.

    A call that is neither a query nor one predicate of a term says nothing.
    """
    for call in calls:
        if call.startswith("sparql_query(") or (
            call.startswith("probe_relationships(") and "predicate=" in call
        ):
            text = _TWICE.sub("rdfs:subClassOf+", _AGAINST.sub(" ", call))
            yield max(_PATH.findall(text), key=("", "+", "*").index, default=FLAT)
