"""The lines of a program that make its answer: a number, a list, and what is told beside them."""

from __future__ import annotations

import re
from dataclasses import replace

from rlm.llm.offline.asked.kinds import Asked, plural
from rlm.llm.offline.graph.kinds import (
    DECLARED,
    NOUNS,
    SIDES,
    WIDER,
    base_kind,
    below_query,
    query_for,
    wider_query,
)

_PARTS = {
    "domain": r"\bdomains?\b",
    "range": r"\branges?\b",
    "inverse_of": r"\binverses?\b",
    "comment": r"\b(?:definition|defin(?:e|ed)|meaning|means?|meant|comment|rdfs:comment)\b",
    "label": r"(?<!with )(?<!the )\b(?:rdfs:)?label\b|\bthe label (?:of|for)\b",
    "alternatives": r"\b(?:synonyms?|alternative (?:labels?|names?)|other (?:labels|names))\b",
    "uri": r"(?<!with )(?<!with the )\b[iu]ri\b",
    "superproperties": r"\bsuper-?propert(?:y|ies)\b",
}
"""Part of a description → the words by which it is asked for."""
SEARCHED = {
    "class": ("class", "classes"),
    "property": ("property", "properties"),
    "individual": ("individual", "individuals"),
}
BELOW = ("instance of a subclass", "instances of subclasses")


def listing(asked: Asked, about: str = "") -> str:
    """The line that makes the answer out of `names` and `whole`, and `wider` where the kind has it."""
    given = ", ".join((_said(asked, about), *([] if asked.kind == "count" else ["whole"])))
    made = f"counted(len(names), {given}" if asked.kind == "count" else f"listed(names, {given}"
    return f"reply = {made}{_beside(asked)})"


def _nouns(asked: Asked, about: str = "") -> tuple[str, str]:
    kind = base_kind(asked)
    one, many = SEARCHED.get(asked.what, NOUNS[kind]) if kind == "search" else NOUNS[kind]
    if asked.only and kind not in DECLARED:
        one, many = (
            one.replace("property", asked.only),
            many.replace("properties", plural(asked.only)),
        )
    return one + about, many + about


def _said(asked: Asked, about: str) -> str:
    """The nouns as arguments; `by` says that they are so by another property than the usual one."""
    more = " + by" if base_kind(asked) in SIDES else ""
    return ", ".join(f"{noun!r}{more}" for noun in _nouns(asked, about))


def included(asked: Asked, term: str) -> list[str]:
    """The lines that add what `domainIncludes` and `rangeIncludes` say to `names`, or to `number`.

    `term` is an expression.
    """
    side = SIDES.get(base_kind(asked))
    if side is None:
        return []
    if asked.kind != "count":
        return [f"names, by = included({side!r}, {term}, names, {asked.inherited})"]
    query = query_for(replace(asked, kind=base_kind(asked)), ["$ENTITY_1"])
    return [
        f"names, by = included({side!r}, {term}, [], {asked.inherited})",
        "if names:",
        f'    found, whole = rows({query!r}.replace("$ENTITY_1", {term}))',
        f'    names, by = included({side!r}, {term}, column(found, "x"), {asked.inherited})',
        "    number = len(names)",
    ]


def _below_nouns(about: str) -> str:
    """For a class whose subclasses alone have instances: the nouns, as arguments."""
    return ", ".join(repr(f"{noun}{about} (it has none of its own)") for noun in BELOW)


def counting(asked: Asked, about: str = "") -> list[str]:
    """The lines that make the answer out of `number`, and `wider` where the kind has it."""
    lines = [f"reply = counted(number, {_said(asked, about)}{_beside(asked)})"]
    if base_kind(asked) == "instances" and not asked.inherited:
        lines += ["if wider and not number:", f"    reply = counted(wider, {_below_nouns(about)})"]
    return lines


def widened(asked: Asked, term: str) -> list[str]:
    """The line that counts what is told beside the answer. It goes before the others: the last
    query is the answer's.

    `term` is an expression.
    """
    query = wider_query(asked, "$ENTITY_1")
    return [f'wider = number_of({query!r}.replace("$ENTITY_1", {term}))'] if query else []


def _beside(asked: Asked) -> str:
    return (
        f", wider=wider, how={WIDER[base_kind(asked)]!r}" if wider_query(asked, "$ENTITY_1") else ""
    )


def below(asked: Asked, about: str, term: str) -> list[str]:
    """The lines that answer with the instances of subclasses where a class has none. `term` is an
    expression."""
    made = "counted(len(names)" if asked.kind == "count" else "listed(names"
    return [
        listing(asked, about),
        "if not names:",
        f'    found, whole = rows({below_query("$ENTITY_1")!r}.replace("$ENTITY_1", {term}))',
        '    names = column(found, "x")',
        "    if names:",
        f"        reply = {made}, {_below_nouns(about)})",
    ]


def parts_asked(question: str, asked: Asked) -> tuple[str, ...]:
    """Which parts of a description a question is about, besides its names; () when it is about the
    whole."""
    for name in asked.mentions:
        question = question.replace(name, " ")
    return tuple(part for part, form in _PARTS.items() if re.search(form, question, re.IGNORECASE))
