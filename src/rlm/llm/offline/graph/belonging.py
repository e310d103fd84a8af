"""What a thing is: whether it is an instance or a subclass of another, and its types. Run in the
REPL, as `repl` is."""

from __future__ import annotations

import re
from typing import Any

from rlm.llm.offline.graph.repl import column, rows
from rlm.llm.offline.graph.telling import listed


def types_of(uri: str) -> list[str]:
    """The types that are stated; that it has a name is none where there is another."""
    found, _ = rows(f"SELECT DISTINCT ?x WHERE {{ <{uri}> a ?x FILTER(isIRI(?x)) }}")
    names = column(found, "x")
    return [name for name in names if name != "owl:NamedIndividual"] or names


def is_told(one: dict[str, Any], two: dict[str, Any], of: str, yes: bool) -> str:
    """The answer whether one is a subclass of two, or an instance: `yes` is what the query for it
    said.

    A name alone does not say which of them is meant, so either will do unless the question says
    which.
    """
    name, other, above = one["curie"], two["curie"], f"<{two['uri']}>"
    direct = "direct " * (of == "direct")
    if yes and of != "instance":
        return f"Yes: {name} is a {direct}subclass of {other}."
    types = types_of(one["uri"])
    if other in types:
        return f"Yes: {name} is an instance of {other}."
    path = f"SELECT ?x (COUNT(DISTINCT ?y) AS ?n) WHERE {{ <{one['uri']}> a/rdfs:subClassOf* ?x . "
    path += (
        f"?x rdfs:subClassOf* ?y . ?y rdfs:subClassOf* {above} FILTER(isIRI(?x) && isIRI(?y)) }}"
        " GROUP BY ?x"
    )
    found = [] if direct else sorted(rows(path)[0], key=lambda row: -int(row["n"]))
    if found:
        steps = [row["x"] for row in found]
        in_row = [int(row["n"]) for row in found] == list(range(len(found), 0, -1)) and steps[
            -1
        ] == other
        first = [step for step in steps if step in types]
        chain = " → ".join(steps) if in_row else ", ".join(first or steps[-1:]) + ", and so on up"
        return f"Yes: {name} is an instance of {other} ({chain})."
    own = [each for each in types if not re.match(r"(?:owl|rdfs?):", each)]
    noun = "instance" if of == "instance" or "class" not in one["kind"] else "subclass"
    also = ""
    if of == "instance":
        below, _ = rows(
            f"SELECT ?x WHERE {{ <{one['uri']}> rdfs:subClassOf+ ?x FILTER(?x = {above}) }}"
        )
        also = "; it is a subclass of it" * bool(below)
    if noun == "instance" and own and not also:
        also = f"; it is {'a direct ' if direct else 'an '}instance of {', '.join(own[:8])}"
    return f"No: {name} is no {direct}{noun} of {other}{also}."


def types_told(about: dict[str, Any]) -> str:
    """The answer that lists the types of a thing, and what these are below."""
    types = types_of(about["uri"])
    found, _ = rows(
        f"SELECT DISTINCT ?x WHERE {{ <{about['uri']}> a/rdfs:subClassOf+ ?x FILTER(isIRI(?x)) }}"
    )
    more = [name for name in column(found, "x") if name not in types]
    told = listed(types, f"type of {about['curie']}", f"types of {about['curie']}")
    return told + ("\nBy their superclasses also: " + ", ".join(more) if more else "")
