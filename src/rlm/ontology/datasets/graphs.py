"""A bounded store in memory with the graphs `urn:rlm:{name}:mem`, `:prov`, `:work/…` and `:onto/…`.

A graph is called by its label, the part behind the last colon. Names are letters, digits, dots,
dashes and underscores, so that nothing in them can end an IRI or mean another graph. A change
happens whole or not at all, and never goes beyond the bounds. This is not safe between threads by
itself, and knows nothing of provenance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from rlm.errors import OntologyError
from rlm.ontology.engine.ox_terms import from_term, to_term
from rlm.ontology.terms import WELL_KNOWN, Prefixes, Term
from rlm.ontology.vocabulary import XSD

MAX_STATEMENTS = 100_000
MAX_BYTES = 16 << 20
"""Of all statements, written one to a line."""
MAX_GRAPHS = 256
MAX_NAME_CHARS = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_LABEL = re.compile(r"mem|prov|(?:work|onto)/(.*)", re.DOTALL)
MAX_TERM_CHARS = 64_000
BLANK = re.compile(r"n[1-9][0-9]{0,11}")
_NEEDS_LANGUAGE = frozenset(WELL_KNOWN["rdf"] + name for name in ("langString", "dirLangString"))
Value: TypeAlias = Term | str | int | float | bool
Node: TypeAlias = ox.NamedNode | ox.BlankNode
Object: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Literal


def check_name(name: str, of: str) -> str:
    """The name as it is. OntologyError when it cannot be part of an IRI as it stands."""
    if not isinstance(name, str) or len(name) > MAX_NAME_CHARS or not _NAME.fullmatch(name):
        raise OntologyError(
            f"{str(name)[:80]!a} cannot name a {of}: use at most {MAX_NAME_CHARS} letters, digits,"
            " '.', '_' and '-', beginning with a letter or digit"
        )
    return name


class Fact(NamedTuple):
    """A statement and the graph it is in: `mem`, `prov`, `work/<task>` or `onto/<name>`."""

    s: Term
    p: Term
    o: Term
    graph: str


def graph_of(quad: ox.Quad) -> str:
    """The IRI of the graph that a statement is in; empty for the default graph."""
    return "" if isinstance(quad.graph_name, ox.DefaultGraph) else quad.graph_name.value


class Graphs:
    """The graphs of one dataset. `version` grows with each change, `bytes` is their size."""

    def __init__(self, name: str) -> None:
        self.name = check_name(name, "dataset")
        self.version = self.count = self.bytes = 0  # the store itself counts by reading all of it
        self.store = ox.Store()
        for label in ("mem", "prov"):
            self.store.add_graph(self.node(label))

    # -- names

    def node(self, label: str) -> ox.NamedNode:
        """The IRI of a graph, whether it is there or not. OntologyError for what is no label."""
        found = _LABEL.fullmatch(label)
        if found is None:
            there = "mem, prov, work/<task> and onto/<name>"
            raise OntologyError(f"no graph {label[:80]!a}: there are {there}")
        if found[1] is not None:
            check_name(found[1], "graph")
        return ox.NamedNode(f"urn:rlm:{self.name}:{label}")

    def label(self, iri: str) -> str:
        """The label for the IRI of a graph. OntologyError for one that is not of this dataset."""
        start = f"urn:rlm:{self.name}:"
        if not iri.startswith(start):
            what = f"<{iri[:200]}> is no graph of the dataset {self.name}"
            raise OntologyError(f"{what}: those begin with {start}")
        label = iri[len(start) :]
        self.node(label)
        return label

    def labels(self) -> list[str]:
        return sorted(self.label(graph.value) for graph in self.store.named_graphs())

    def require(self, label: str) -> ox.NamedNode:
        """The IRI of a graph that is there. OntologyError, with those that are, when it is not."""
        node = self.node(label)
        if not self.store.contains_named_graph(node):
            there = ", ".join(islice(self.labels(), 12))
            raise OntologyError(f"the dataset {self.name} has no graph {label}: it has {there}")
        return node

    # -- content

    def statements(self, label: str) -> list[ox.Quad]:
        return list(self.store.quads_for_pattern(None, None, None, self.node(label)))

    def find(
        self,
        graph: ox.NamedNode | None,
        s: Node | None = None,
        p: ox.NamedNode | None = None,
        o: Object | None = None,
        *,
        limit: int,
    ) -> list[Fact]:
        """At most so many statements that match, in no order."""
        found = islice(self.store.quads_for_pattern(s, p, o, graph), max(0, limit))
        parts = ((one.subject, one.predicate, one.object, graph_of(one)) for one in found)
        return [Fact(to_term(s), to_term(p), to_term(o), self.label(g)) for s, p, o, g in parts]

    def check_room(self, label: str) -> None:
        """OntologyError when a graph is not there and no more graphs may be."""
        there = self.store.contains_named_graph(self.node(label))
        if not there and len(self.labels()) >= MAX_GRAPHS:
            todo = "clear those of tasks that are done"
            raise OntologyError(f"a dataset has at most {MAX_GRAPHS} graphs: {todo}")

    def make(self, label: str) -> None:
        """Have a graph, empty if it was not there."""
        self.check_room(label)
        if not self.store.contains_named_graph(self.node(label)):
            self.store.add_graph(self.node(label))
            self.version += 1

    def drop(self, label: str) -> int:
        """Remove a graph; how many statements it had."""
        gone = self.statements(label)
        self.apply([], gone)
        self.store.remove_graph(self.node(label))
        return len(gone)

    def apply(self, new: Iterable[ox.Quad], gone: Sequence[ox.Quad] = ()) -> None:
        """Remove and add statements. OntologyError, and no change, when that would be too much."""
        coming = ox.Store()  # what the store will make of them: it writes numbers in its own way
        coming.extend(new)
        leaving = set(gone) - set(coming)
        added = [quad for quad in coming if quad not in self.store]
        count = self.count - len(leaving) + len(added)
        size = self.bytes - size_of(leaving) + size_of(added)
        for would, most, what in (
            (count, MAX_STATEMENTS, "statements"),
            (size, MAX_BYTES, "bytes"),
        ):
            if would > most:
                allowed = f"a dataset holds at most {most:,} {what}"
                raise OntologyError(f"{allowed}, this would make {would:,}")
        for quad in leaving:
            self.store.remove(quad)
        self.store.extend(added)
        self.count, self.bytes = count, size
        self.version += 1

    def trig(self) -> str:
        """Every graph, also an empty one, as TriG: sorted, a statement to a line."""
        parts: list[str] = []
        for label in self.labels():
            lines = sorted(line_of(quad) for quad in self.statements(label))
            parts += [f"{self.node(label)} {{", *lines, "}"]
        return "".join(f"{part}\n" for part in parts)


# -- terms and statements


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
