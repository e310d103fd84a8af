"""Answers of two engines made comparable: as multisets, numbers by value, blank nodes by what is
said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

from rdflib import BNode, Literal, URIRef
from rdflib.query import Result

from rlm.ontology.engine.protocol import Answer

XSD = "http://www.w3.org/2001/XMLSchema#"
DERIVED = {
    XSD + name
    for name in (
        *(
            "int",
            "long",
            "short",
            "byte",
            "unsignedInt",
            "unsignedLong",
            "unsignedShort",
            "unsignedByte",
        ),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
    )
}
WHOLE = frozenset((XSD + "integer", XSD + "decimal"))
BROKEN = frozenset((XSD + "double", XSD + "float"))
BLANK = "_"

Term = tuple[Any, ...] | None
Row = tuple[Term, ...]


def literal(value: str, lang: str | None, datatype: str | None) -> Term:
    """Numbers and times count by value: `2.50` and `2.5` are one number, `Z` and `+00:00` one zone.

    Numbers are rounded, since the two engines do so at different digits.
    """
    if lang:
        return ("lit", value, lang.lower())
    if datatype in WHOLE:
        try:
            return ("num", datatype, str(round(Decimal(value), 9).normalize()))
        except InvalidOperation:
            return ("lit", value, datatype)
    if datatype in BROKEN:
        try:
            return ("num", datatype, f"{float(value):.6g}")
        except ValueError:
            return ("lit", value, datatype)
    if datatype == XSD + "dateTime":
        value = value.replace("+00:00", "Z")
    if datatype == XSD + "boolean":
        value = {"1": "true", "0": "false"}.get(value, value)
    return ("lit", value, "" if datatype in (None, XSD + "string") else datatype)


def ours(term: dict[str, Any] | None) -> Term:
    if term is None:
        return None
    if term["t"] == "lit":
        return literal(term["v"], term.get("lang"), term.get("dt"))
    return (term["t"], term["v"])


def theirs(term: Any) -> Term:
    if term is None:
        return None
    if isinstance(term, URIRef):
        return ("iri", str(term))
    if isinstance(term, BNode):
        return ("bnode", str(term))
    assert isinstance(term, Literal)
    return literal(str(term), term.language, None if term.datatype is None else str(term.datatype))


def our_rows(answer: Answer) -> list[Row]:
    """Columns by the names of their variables: the order that `*` stands for is an engine's own."""
    if answer.kind == "ask":
        return [(("ask", answer.boolean),)]
    if answer.kind == "graph":
        return [tuple(map(ours, triple)) for triple in answer.triples]
    return [tuple(ours(row.get(name)) for name in sorted(answer.variables)) for row in answer.rows]


def their_rows(result: Result) -> list[Row]:
    if result.type == "ASK":
        return [(("ask", result.askAnswer),)]
    if result.type in ("CONSTRUCT", "DESCRIBE"):
        assert result.graph is not None
        return [tuple(map(theirs, triple)) for triple in result.graph]
    return [
        tuple(theirs(row.get(name)) for name in sorted(result.vars or ()))
        for row in result.bindings
    ]


def multiset(rows: Iterable[Row]) -> Counter[Row]:
    """The rows with every blank node replaced by a number that says where it stands beside what.

    The number is refined along the rows that two blank nodes share, so that chains of them are told
    apart. Equal multisets are what isomorphic answers have.
    """
    rows = list(rows)
    colours: dict[str, int] = {
        term[1]: 0 for row in rows for term in row if term is not None and term[0] == "bnode"
    }
    for _ in range(4 if colours else 0):
        seen: dict[str, list[str]] = {name: [] for name in colours}
        for row in rows:
            shape = repr(_coloured(row, colours))
            for place, term in enumerate(row):
                if term is not None and term[0] == "bnode":
                    seen[term[1]].append(f"{place} {shape}")
        colours = {
            name: hash((colours[name], tuple(sorted(places)))) for name, places in seen.items()
        }
    return Counter(_coloured(row, colours) for row in rows)


def _coloured(row: Row, colours: dict[str, int]) -> Row:
    """The colour, and where in the row the node comes first: so a node beside itself is not one
    beside its twin."""
    return tuple(
        (BLANK, row.index(term), colours[term[1]])
        if term is not None and term[0] == "bnode"
        else term
        for term in row
    )
