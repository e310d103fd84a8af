"""Which call of a run gave its answer."""

from __future__ import annotations

from collections.abc import Sequence

from rlm.learning.calls import LINKING, Step
from rlm.learning.words import number_in

SEARCHES = ("search", "exists", "absent")
"""Kinds of questions that a search may answer."""
DESCRIBES = ("", "describe")
"""Kinds whose answer may name nothing but what the question named."""
MOST = 2
LEAST_COVER = 0.5
"""A procedure that gives less of the answer than this is none."""
_COUNTING = ("sparql_query", "graph_stats", "sparql_schema", "sparql_peek")


def decisive_steps(
    steps: Sequence[Step],
    answer: str,
    named: frozenset[str],
    wanted: frozenset[str],
    kind: str,
    question: str,
) -> list[Step]:
    """The one step, or two, that the answer came from, in the order of the run; [] when there is
    none.

    `named` are the IRIs of the answer, `wanted` those of them that the question did not name
    itself.
    """
    if kind == "count":
        return _counting(steps, answer, question)
    if kind in ("is_subclass", "exists"):
        return _telling(steps, kind)
    if wanted or (named and kind in DESCRIBES):
        return _covering(steps, wanted or named, kind)
    asked = [step for step in steps if step.tool not in LINKING or kind in SEARCHES]
    empty = [step for step in asked if step.rows == 0]
    return (
        empty[:1] or asked[-1:]
    )  # what was asked first is the question itself; what comes after looks further


def _counting(steps: Sequence[Step], answer: str, question: str) -> list[Step]:
    """The last query that counts; else what found so many rows; else where counts stand."""
    counts = [
        step
        for step in steps
        if step.tool == "sparql_query" and "COUNT" in str(step.args.get("query")).upper()
    ]
    number = number_in(answer, question)
    as_many = [
        step
        for step in steps
        if number is not None and step.rows == number and step.tool in _COUNTING
    ]
    tables = [step for step in steps if step.tool in _COUNTING]
    return (counts or as_many or tables)[-1:]


def _telling(steps: Sequence[Step], kind: str) -> list[Step]:
    """The last ASK; else the last query or view; a search only when that is what was asked."""
    asks = [
        step for step in steps if str(step.args.get("query", "")).lstrip().upper().startswith("ASK")
    ]
    others = [step for step in steps if step.tool not in LINKING]
    searches = [step for step in steps if step.tool in LINKING]
    if kind == "exists":
        return (asks or searches or others)[-1:]
    return (asks or others)[-1:]


def _covering(steps: Sequence[Step], wanted: frozenset[str], kind: str) -> list[Step]:
    """The fewest steps whose names hold those of the answer, with the fewest others among them.

    What a query names itself, it did not find: who asks for the labels of terms has the terms
    already.
    """
    chosen: list[int] = []
    left = set(wanted)
    named = [
        wanted.intersection(step.names) if step.tool == "sparql_query" else frozenset[str]()
        for step in steps
    ]
    found = [
        step.iris - own if len(own) > 1 else step.iris
        for step, own in zip(steps, named, strict=True)
    ]
    while left and len(chosen) < MOST:
        ranked = sorted(
            (
                -len(left & found[place]),
                step.tool in LINKING and kind not in SEARCHES,
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
