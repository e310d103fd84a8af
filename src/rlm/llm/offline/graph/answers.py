"""The words of an answer over an ontology."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rlm.llm.offline.asked.kinds import Asked, plural
from rlm.llm.offline.graph.kinds import (
    DECLARED,
    NOUNS,
    PROBES,
    SIDES,
    WIDER,
    base_kind,
    below_query,
    query_for,
    wider_query,
)
from rlm.llm.offline.text.said import tidy

# -- How an answer calls what was asked about, and what it says of how the names of a question were
# taken.


MENTION_CHARS = 80
_OF_QUESTIONS = re.compile(r"\b(?:each|every|not|per)\b", re.IGNORECASE)
"""Words of a question that are in no name unless the ontology has it so."""


def about_of(asked: Asked) -> str:
    """What stands behind the noun of an answer."""
    kind = base_kind(asked)
    if kind == "search":
        where = {"starts": "that begins with ", "ends": "that ends with "}.get(asked.where, "")
        return (
            f" with a name {where}“{shown(asked.text)}”"
            if where
            else f" with “{shown(asked.text)}” in the name"
        )
    if len(asked.mentions) == 1:
        name = shown(asked.mentions[0])
        return (
            f" “{name}”"
            if kind.startswith("properties_by")
            else f" of “{name}”"
            if kind in PROBES
            else ""
        )
    return ""


def shown(name: str) -> str:
    """A name from the question without what would make it an IRI."""
    name = tidy(name).strip("<> ")
    if re.search(r"\s", name):  # a label: what is no IRI in it stays
        local = re.sub(r"\S+://\S*[/#]|(?<!\w)[\w.-]*:(?=\w)", "", name)
    else:
        local = re.split(r"[/#:]", name.rstrip("/#:"))[-1] or "it"
    local = _unquoted(local)
    return local if len(local) <= MENTION_CHARS else local[: MENTION_CHARS - 1] + "…"


def label_of(term: Mapping[str, Any]) -> str:
    """A label to stand in quotes: nothing in it ends them, and nothing passes for another term."""
    return re.sub(r":(?=\S)", ": ", _unquoted(tidy(term["label"])))


def _unquoted(text: str) -> str:
    return re.sub('["`“”„«»]', "'", text)


def with_article(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def of_prefix(curie: str) -> str:
    """A name in words: no IRI that would count among those of the answer."""
    return f"“{shown(curie)}” of “{curie.partition(':')[0].strip('<')}”"


def notes_on(kind: str, name: str, term: Mapping[str, Any]) -> str:
    """What an answer says about how a name was taken; without a digit, which could pass for a
    count."""
    if term["how"] >= 3:
        return f"“{shown(name)}” is taken for “{label_of(term)}”, the nearest name"
    if term["same"] and kind != "describe":  # a description names the others itself
        others = (
            [of_prefix(curie) for curie in term["same"]] if isinstance(term["same"], list) else []
        )
        also = f"; there is also {' and '.join(others)}" if others else ""
        return f"of several called “{shown(name)}” this is {of_prefix(term['curie'])}{also}"
    if term["odd"] and kind in PROBES and not re.match("(?:rdfs?|owl):", term["curie"]):
        return f"“{shown(name)}” is {with_article(term['kind'])} here, not a class"
    return ""


def misread(asked: Asked, question: str, terms: Sequence[Any]) -> bool:
    """Whether a name that is not there is rather a piece of the question: nobody asked whether
    there is such a term.

    “length of each vessel”, “part of the nucleus”. What is quoted, and what looks like a name, is
    one.
    """
    for name, term in zip(asked.mentions, terms, strict=False):
        if (
            term is not None
            or asked.several
            or re.search(rf"[\"'`“‘„«<]{re.escape(name)}[\"'`”’“»>]", question)
        ):
            continue
        plain = name.islower() and len(name.split()) >= 3 and asked.kind != "exists"
        if " " in name and (plain or _OF_QUESTIONS.search(name)):
            return True
    return False


# -- The lines of a program that make its answer: a number, a list, and what is told beside them.


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
