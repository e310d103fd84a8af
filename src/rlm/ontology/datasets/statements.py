"""Statements of a dataset: what callers give becomes the store's terms, and those lines of text.

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
from rlm.ontology.engine.ox_terms import from_term
from rlm.ontology.terms import WELL_KNOWN, Prefixes, Term
from rlm.ontology.vocabulary import XSD

MAX_TERM_CHARS = 64_000
BLANK = re.compile(r"n[1-9][0-9]{0,11}")
_NEEDS_LANGUAGE = frozenset(WELL_KNOWN["rdf"] + name for name in ("langString", "dirLangString"))

Value: TypeAlias = Term | str | int | float | bool
Node: TypeAlias = ox.NamedNode | ox.BlankNode
Object: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


def subject_of(value: str | Term, prefixes: Prefixes) -> Node:
    """An IRI, `prefix:name`, or the term of an IRI or blank node. Else OntologyError."""
    found = named_node(value, prefixes) if isinstance(value, str) else object_of(value)
    if isinstance(found, ox.Literal):
        what = f"not the text {found.value[:80]!r}"
        raise OntologyError(f"a subject is an IRI or a blank node, {what}")
    return found


def predicate_of(value: str | Term, prefixes: Prefixes) -> ox.NamedNode:
    found = named_node(value, prefixes) if isinstance(value, str) else object_of(value)
    if not isinstance(found, ox.NamedNode):
        raise OntologyError(f"a predicate is an IRI, not {str(found)[:80]}")
    return found


def object_of(value: Value) -> Object:
    """A term as it is, a str as a text, an int, float or bool as what it is. Else OntologyError."""
    try:
        if isinstance(value, Mapping):
            return check(from_term(value))
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


def named_node(value: str, prefixes: Prefixes) -> ox.NamedNode:
    """The node for an IRI or `prefix:name`."""
    if len(value) > MAX_TERM_CHARS:
        raise _too_long(len(value))
    try:
        return ox.NamedNode(prefixes.expand(value))
    except ValueError as exc:
        raise OntologyError(f"{value[:200]!a} is no IRI: {exc}") from exc


def check(term: Any) -> Object:
    """The term. OntologyError when it is too long, or of a kind that a dataset cannot hold."""
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
            what = f"the text {term.value[:80]!r} has the type of a text with a language"
            raise OntologyError(f"{what}, but no language")
        if len(term.datatype.value) > MAX_TERM_CHARS:
            raise _too_long(len(term.datatype.value))
    return term


def _too_long(chars: int) -> OntologyError:
    what = f"a term of {chars:,} characters is too long for a dataset"
    return OntologyError(f"{what}: at most {MAX_TERM_CHARS:,}")


# -- text


def line_of(quad: ox.Quad) -> str:
    """A statement without its graph, as N-Triples has it: one line, without its end."""
    return f"{quad.subject} {quad.predicate} {quad.object} ."


def size_of(quads: Iterable[ox.Quad]) -> int:
    """How many bytes of lines these are."""
    return sum(len(line_of(quad).encode()) + 1 for quad in quads)
