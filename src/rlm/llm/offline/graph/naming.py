"""How an answer calls what was asked about, and what it says of how the names of a question were
taken."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.kinds import PROBES, base_kind
from rlm.llm.offline.text.said import tidy

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
