"""Statements of a dataset: what callers give becomes the store's terms, and those become lines of
text.

Every term is checked here on its way in: an IRI that is none, a text that cannot be written in
UTF-8, a term that is too long. So each statement is one line of TriG that can be read back, and
nothing in a value can end its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import pyoxigraph as ox

from rlm.errors import OntologyError
from rlm.ontology.terms import WELL_KNOWN, XSD, Prefixes, Term

MAX_TERM_CHARS = 64_000
BLANK = re.compile(r"n[1-9][0-9]{0,11}")
_NEEDS_LANGUAGE = frozenset(WELL_KNOWN["rdf"] + name for name in ("langString", "dirLangString"))

Value: TypeAlias = Term | str | int | float | bool
Node: TypeAlias = ox.NamedNode | ox.BlankNode
Object: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


def subject_of(value: str | Term, prefixes: Prefixes) -> Node:
    """An IRI, `prefix:name` or the term of an IRI or blank node. OntologyError for anything else."""
    found = named(value, prefixes) if isinstance(value, str) else object_of(value)
    if isinstance(found, ox.Literal):
        raise OntologyError(
            f"a subject is an IRI or a blank node, not the text {found.value[:80]!r}"
        )
    return found


def predicate_of(value: str | Term, prefixes: Prefixes) -> ox.NamedNode:
    found = named(value, prefixes) if isinstance(value, str) else object_of(value)
    if not isinstance(found, ox.NamedNode):
        raise OntologyError(f"a predicate is an IRI, not {str(found)[:80]}")
    return found


def object_of(value: Value) -> Object:
    """A term as it is, a str as a text, an int, float or bool as what it is. OntologyError for
    anything else."""
    try:
        if isinstance(value, Mapping):
            return check(_from_term(value))
        if isinstance(value, bool | float):
            return ox.Literal(value)
        if isinstance(value, int):
            return check(ox.Literal(str(value), datatype=ox.NamedNode(XSD + "integer")))
        if isinstance(value, str):
            return check(ox.Literal(value))
    except (ValueError, TypeError) as exc:  # UnicodeEncodeError is one
        # An int fails by having too many digits; then it cannot be shown either.
        shown = type(value).__name__ if isinstance(value, int) else f"{str(value)[:200]!a}"
        raise OntologyError(f"{shown} is no term: {exc}") from exc
    raise OntologyError(
        f"a value of a statement is a term, str, int, float or bool, not {type(value).__name__}"
    )


def named(value: str, prefixes: Prefixes) -> ox.NamedNode:
    """The node for an IRI or `prefix:name`."""
    if len(value) > MAX_TERM_CHARS:
        raise _too_long(len(value))
    try:
        return ox.NamedNode(prefixes.expand(value))
    except ValueError as exc:
        raise OntologyError(f"{value[:200]!a} is no IRI: {exc}") from exc


def check(term: Any) -> Object:
    """The term, when a dataset may hold it. OntologyError when it is of another kind, or too long."""
    if not isinstance(term, ox.NamedNode | ox.BlankNode | ox.Literal):
        raise OntologyError("statements about statements are not kept in a dataset")
    if len(term.value) > MAX_TERM_CHARS:
        raise _too_long(len(term.value))
    if isinstance(term, ox.BlankNode) and not BLANK.fullmatch(term.value):
        raise OntologyError(
            f"_:{term.value[:80]} is no blank node of this dataset: take one from blank() or"
            " quads(); the labels in the answer of a query hold for that answer only"
        )
    if isinstance(term, ox.Literal):
        if term.language is None and term.datatype.value in _NEEDS_LANGUAGE:
            raise OntologyError(
                f"the text {term.value[:80]!r} has the type of a text with a language, but no"
                " language"
            )
        if len(term.datatype.value) > MAX_TERM_CHARS:
            raise _too_long(len(term.datatype.value))
    return term


def _too_long(chars: int) -> OntologyError:
    return OntologyError(
        f"a term of {chars:,} characters is too long for a dataset: at most {MAX_TERM_CHARS:,}"
    )


def _from_term(term: Mapping[str, Any]) -> Any:
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


# -- text


def line_of(quad: ox.Quad) -> str:
    """A statement without its graph, as N-Triples has it: one line, without its end."""
    return f"{quad.subject} {quad.predicate} {quad.object} ."


def size_of(quads: Iterable[ox.Quad]) -> int:
    """How many bytes of lines these are."""
    return sum(len(line_of(quad).encode()) + 1 for quad in quads)
