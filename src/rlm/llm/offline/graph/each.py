"""Questions about several names at once: which ones are meant, and the answer for each of them.

"Tug and Ferry" is one name where the ontology has such a one, else it is two. One program links
them, a second one answers for each, with the procedure of the prompt or without; the sections of
the answer stand in the order asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rlm.llm.offline.asked.kinds import Asked, Concepts
from rlm.llm.offline.graph.answers import (
    OTHER_NAMES,
    base_kind,
    literal,
    notes_on,
    query_for,
    shown,
)
from rlm.llm.offline.graph.follow import followed
from rlm.llm.offline.graph.prompt import ToolPlan
from rlm.llm.offline.graph.steps import link_call, links, said
from rlm.llm.offline.text.said import tidy

MOST_NAMES = 5
"""How many names one run answers for."""
_KEPT = '("curie", "label", "kind", "how", "odd")'


@dataclass(frozen=True, slots=True)
class Section:
    """What is answered for one name."""

    name: str
    place: int | None = None
    """Where its term stands among the parts; None for a name that is not there."""
    about: str = ""
    """What stands behind the noun of the answer."""
    said: str = ""
    """What is said before the answer, or in its place."""


def single(asked: Asked, name: str) -> Asked:
    """The same question about one of the names, or about the whole of them as one."""
    return replace(asked, mentions=(name,), several=())


def find_each(asked: Asked, several: Sequence[str], question: str) -> tuple[list[str], list[str]]:
    """Which term the whole name means; where there is none of that very name, which terms its parts
    mean."""
    parts = [link_call(single(asked, name), question) for name in several[:MOST_NAMES]]
    return ["link"], [
        links(asked, question),
        'is_whole = bool(terms[0]) and terms[0]["how"] < 3 and not terms[0]["odd"]',
        "parts = []",
        "if not is_whole:",
        f"    parts = [{', '.join(parts)}]",
        "    parts = parts if any(parts) else []",
        (
            f'short = [each and {{**{{key: each[key] for key in {_KEPT}}}, "same":'
            ' bool(each["same"])} for each in parts]'
        ),
        'print("offline-found", json.dumps({"parts": short} if parts else {"terms": terms}))',
    ]


def own_plan(asked: Asked) -> ToolPlan:
    """What is done for each name without a procedure: a description, or the query that settles it."""
    if base_kind(asked) == "describe":
        return ToolPlan(0, "describe_entity")
    form = "COUNT" if asked.kind == "count" else "SELECT"
    return ToolPlan(0, "sparql_query", query_for(asked, ["$ENTITY_1"]), ("x",), form)


def answer_each(
    asked: Asked, plan: ToolPlan, sections: Sequence[Section], before: str, question: str
) -> tuple[list[str], list[str]]:
    """The program that answers for each name; `before` goes before all of the answers."""
    helpers: dict[str, None] = {}
    lines = [f"made, got = {[before] if before else []!r}, []"]
    for each in sections:
        if each.place is None:
            lines.append(f"made.append({each.said!r})")
            continue
        needed, program, found = followed(single(asked, each.name), plan, each.about, question)
        helpers |= dict.fromkeys(needed)
        report = ", ".join(f'"{key}": {value}' for key, value in found.items())
        lines += [f"terms = [parts[{each.place}]]", *program, f"got.append({{{report}}})"]
        lines.append(f"made.append({each.said!r} + reply)" if each.said else "made.append(reply)")
    return list(helpers), [*lines, 'reply = "\\n\\n".join(made)', said(parts="got")]


def found_parts(found: dict[str, Any] | None) -> list[dict[str, Any] | None] | None:
    """The terms of the parts as `find_each` reports them; None where the whole is one name, or
    nothing is there."""
    parts = (found or {}).get("parts")
    return parts if isinstance(parts, list) and any(parts) else None


# -- The step that asks a thesaurus: its program, and the answer that comes of it.


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
