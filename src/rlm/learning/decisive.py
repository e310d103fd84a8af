"""Which calls of a run gave its answer, by the form of the answer and the names in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rlm.learning.calls import LINKING, Step
from rlm.learning.kinds import NAMESPACES, NUMBER, YES_NO, is_of_a_thesaurus
from rlm.learning.words import number_in, says_absent, says_none

MOST = 2
LEAST_COVER = 0.5
"""A procedure that gives less of the answer than this is none."""
_COUNTING = ("sparql_query", "graph_stats", "sparql_schema", "sparql_peek")
_YES_NO = re.compile(r"\W*(?:yes|no)\b\s*(?:[.,;:!—–-]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """What an answer is like, as far as that says which call it came from."""

    answer: str
    question: str
    named: frozenset[str]
    """The IRIs of the answer."""
    asked: frozenset[str]
    """The terms that the question names."""

    @property
    def wanted(self) -> frozenset[str]:
        """The IRIs that the question did not name itself."""
        return self.named - self.asked

    @property
    def form(self) -> str:
        """YES_NO, NUMBER, NAMESPACES, or '' for anything else."""
        if _YES_NO.match(self.answer):
            return YES_NO
        if self.wanted:
            spaces = all(iri.endswith(("#", "/")) for iri in self.wanted)
            return NAMESPACES if spaces else ""
        known = number_in(self.answer, self.question) is not None and not says_none(self.answer)
        return NUMBER if known else ""


def decisive_steps(steps: Sequence[Step], answer: AnswerForm) -> list[Step]:
    """The one or two steps that an answer came from, in order; [] when it cannot be told."""
    steps = [step for step in steps if not _is_probe_for_a_thesaurus(step)]
    form = answer.form
    if form == YES_NO:
        return _yes_no_steps(steps, answer)
    if says_absent(answer.answer) and not (answer.named or answer.asked):
        return []
    if form == NUMBER:
        return _counting_steps(steps, answer)
    if answer.wanted or (answer.named and not says_none(answer.answer)):
        return _covering_steps(steps, answer.wanted or answer.named)
    others = [step for step in steps if step.tool not in LINKING]
    empty = [step for step in others if step.rows == 0]
    # What was asked first is the question itself; what comes after looks further.
    return empty[:1] or others[-1:]


def _is_probe_for_a_thesaurus(step: Step) -> bool:
    """Whether a step only asked if there are concepts of SKOS."""
    return _is_ask(step) and is_of_a_thesaurus(step.query)


def _is_ask(step: Step) -> bool:
    return step.query.lstrip().upper().startswith("ASK")


def _counting_steps(steps: Sequence[Step], answer: AnswerForm) -> list[Step]:
    """The last query that counts; else what found so many rows; else where counts stand."""
    number = number_in(answer.answer, answer.question)
    counts = [step for step in steps if "COUNT" in step.query.upper()]
    tables = [step for step in steps if step.tool in _COUNTING]
    as_many = [step for step in tables if step.rows == number]
    return (counts or as_many or tables)[-1:]


def _yes_no_steps(steps: Sequence[Step], answer: AnswerForm) -> list[Step]:
    """The last ASK; else the last look at a term of the question; else the last search for it."""
    asks = [step for step in steps if _is_ask(step)]
    others = [step for step in steps if step.tool not in LINKING]
    searches = [step for step in steps if step.tool in LINKING]
    if answer.asked:
        return (asks or others)[-1:]
    return (asks or searches or others)[-1:]


def _covering_steps(steps: Sequence[Step], wanted: frozenset[str]) -> list[Step]:
    """The fewest steps whose names hold those of the answer, with the fewest others among them.

    What a query names itself, it did not find: who asks for the labels of terms has the terms
    already.
    """
    chosen: list[int] = []
    left = set(wanted)
    named = [wanted.intersection(step.names) if step.query else frozenset() for step in steps]
    found = [
        step.iris - own if len(own) > 1 else step.iris
        for step, own in zip(steps, named, strict=True)
    ]
    while left and len(chosen) < MOST:
        ranked = sorted(
            (
                -len(left & found[place]),
                step.tool in LINKING,
                len(left & named[place]),
                len(step.iris - wanted),
                step.chars,
                place,
            )
            for place, step in enumerate(steps)
            if left & found[place] and place not in chosen
        )
        if not ranked:
            break
        place = ranked[0][-1]
        chosen.append(place)
        left -= found[place]
    if len(left) > LEAST_COVER * len(wanted):
        return []
    return [steps[place] for place in sorted(chosen)]
