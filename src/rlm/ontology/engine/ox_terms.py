"""Terms of pyoxigraph as JSON (`rlm.ontology.terms`), and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox

_STRING = "http://www.w3.org/2001/XMLSchema#string"


def to_term(value: Any) -> dict[str, Any]:
    """Blank nodes keep the store's own names."""
    if isinstance(value, ox.NamedNode):
        return {"t": "iri", "v": value.value}
    if isinstance(value, ox.BlankNode):
        return {"t": "bnode", "v": value.value}
    if isinstance(value, ox.Literal):
        term: dict[str, Any] = {"t": "lit", "v": value.value}
        if value.language is not None:
            term["lang"] = value.language
            if value.direction is not None:
                term["dir"] = value.direction.value
        elif value.datatype.value != _STRING:
            term["dt"] = value.datatype.value
        return term
    parts = (value.subject, value.predicate, value.object)
    return {"t": "triple", "v": [to_term(part) for part in parts]}


def from_term(term: Mapping[str, Any]) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    """ValueError or TypeError for an invalid term."""
    kind, value = term.get("t"), term.get("v")
    if not isinstance(value, str):
        raise ValueError("a term has its text at 'v'")
    if kind == "iri":
        return ox.NamedNode(value)
    if kind == "bnode":
        return ox.BlankNode(value.removeprefix("_:"))
    if kind != "lit":
        raise ValueError("a term has 'iri', 'bnode' or 'lit' at 't'")
    if term.get("lang"):
        direction = ox.BaseDirection(term["dir"]) if term.get("dir") else None
        return ox.Literal(value, language=term["lang"], direction=direction)
    return ox.Literal(value, datatype=ox.NamedNode(term["dt"]) if term.get("dt") else None)
