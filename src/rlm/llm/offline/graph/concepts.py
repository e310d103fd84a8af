"""The step that asks a thesaurus: its program, and the answer that comes of it."""

from __future__ import annotations

import re
from typing import Any

from rlm.llm.offline.asked.concepts import Concepts
from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.each import MOST_NAMES
from rlm.llm.offline.graph.kinds import OTHER_NAMES, literal, query_for
from rlm.llm.offline.graph.naming import notes_on, shown
from rlm.llm.offline.graph.steps import said
from rlm.llm.offline.text.said import tidy

_HELPERS = (
    *(
        "link",
        "rows",
        "column",
        "matching",
        "number_of",
        "listed",
        "concepts_where",
        "concept_of",
        "linked_where",
    ),
    *("concepts_said", "tops_said", "named_concepts", "links_said", "concepts_told"),
)


def ask_thesaurus(asked: Concepts, several: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The helpers and lines of the program. It reports no answer where the question is about no
    concepts."""
    if asked.kind == "search":
        queries = [
            query_for(Asked("search", text=asked.text)),
            OTHER_NAMES.format(literal(asked.text.lower())),
        ]
        given = f"every, {queries!r}, {asked.text!r}, {asked.where!r}, {asked.counts}"
        lines = [
            "every, about = concepts_where(), []",
            f'reply = named_concepts({given}) if every else ""',
        ]
    else:
        parts = several or (
            re.split(r", (?:and |or )?| and | or ", asked.names[0]) if len(asked.names) == 1 else ()
        )
        lists = (asked.names, parts[:MOST_NAMES] if len(parts) > 1 else ())
        tries = [[(name, shown(name)) for name in names] for names in lists if names]
        lines = [
            f"reply, about = concepts_told({asked.kind!r}, {tries!r}, {asked.deep}, {asked.counts})"
        ]
    return list(_HELPERS), [*lines, said(done="bool(reply)", about="about[:2]")]


def exists_said(name: str, term: dict[str, Any]) -> str:
    """The answer that there is such a concept."""
    near = (
        f" (“{shown(name)}” as such is not there; this is the nearest name)"
        if term["how"] >= 3
        else ""
    )
    return f"Yes. {term['curie']} is a concept, labelled “{tidy(term['label'])}”{near}."


def notes_of(asked: Concepts, about: list[dict[str, Any]]) -> tuple[list[str], dict[str, str]]:
    """What is said of how the names were taken, and the names that the answer has for them."""
    named = list(zip(asked.names, about, strict=False)) if len(asked.names) == len(about) else []
    notes = [note for name, term in named if (note := notes_on("concept", name, term))]
    return notes, {shown(name): tidy(term["label"]) for name, term in named if term["how"] >= 3}
