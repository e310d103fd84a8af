"""Reading a pyoxigraph store predicate by predicate, and the one reading of rdf:type."""

from __future__ import annotations

from bisect import insort
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store

from rlm.ontology import vocabulary as v

EXAMPLES = 3
MEMBERS = 10_000
EXPRESSION_DEPTH = 8


class Reader:
    """Statements of all graphs together, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._named_graphs = next(iter(store.named_graphs()), None) is not None
        body = "{ SELECT DISTINCT ?s ?p ?o WHERE { ?s ?p ?o } }" if self._named_graphs else "?s ?p ?o"
        rows = self.rows(f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {body} }} GROUP BY ?p")
        counted = {row["p"].value: int(row["n"].value) for row in rows}
        self.pred_freq: dict[str, int] = dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    def rows(self, query: str) -> QuerySolutions:
        found = self._store.query(query, use_default_graph_as_union=True)
        assert isinstance(found, QuerySolutions)
        return found

    def pairs(self, predicate: str) -> Iterator[tuple[object, object]]:
        """Subject and object of every statement with this predicate."""
        if predicate not in self.pred_freq:
            return
        seen: set[tuple[object, object]] = set()
        for quad in self._store.quads_for_pattern(None, NamedNode(predicate), None, None):
            pair = (quad.subject, quad.object)
            if self._named_graphs:
                if pair in seen:
                    continue
                seen.add(pair)
            yield pair

    def named(self, predicate: str) -> Iterator[tuple[str, str]]:
        """The pairs whose both ends are IRIs."""
        for subject, value in self.pairs(predicate):
            if isinstance(subject, NamedNode) and isinstance(value, NamedNode):
                yield subject.value, value.value

    def texts(self, predicate: str) -> Iterator[tuple[str, str, str]]:
        """Subject, text and language of every literal that an IRI has."""
        for subject, value in self.pairs(predicate):
            if isinstance(subject, NamedNode) and isinstance(value, Literal):
                yield subject.value, value.value, (value.language or "").lower()

    def objects(self, node: object, predicate: str) -> list[object]:
        if not isinstance(node, NamedNode | BlankNode):
            return []
        return [quad.object for quad in self._store.quads_for_pattern(node, NamedNode(predicate), None, None)]

    def some_object(self, predicate: str) -> object:
        """One object that the predicate is used with, or None."""
        quad = next(iter(self._store.quads_for_pattern(None, NamedNode(predicate), None, None)), None)
        return None if quad is None else quad.object

    # -- class expressions -----------------------------------------------------------------------------------

    def collection(self, node: object) -> list[object]:
        """The members of an RDF list; a broken or circular one as far as it goes."""
        found: list[object] = []
        seen: set[object] = set()
        while isinstance(node, NamedNode | BlankNode) and node not in seen and len(found) < MEMBERS:
            seen.add(node)
            found += self.objects(node, v.RDF + "first")[:1]
            node = next(iter(self.objects(node, v.RDF + "rest")), None)
        return found

    def groups(self, node: object, depth: int = 0) -> list[list[str]]:
        """A class expression as named classes: every group must hold, and of a group one member.

        A restriction, a complement or an enumeration names no class and gives nothing.
        """
        if isinstance(node, NamedNode):
            return [[node.value]]
        if not isinstance(node, BlankNode) or depth > EXPRESSION_DEPTH:
            return []
        for union in self.objects(node, v.OWL + "unionOf"):
            members = [self.groups(member, depth + 1) for member in self.collection(union)]
            return [sorted({iri for member in members for group in member for iri in group})] if members else []
        for parts in self.objects(node, v.OWL + "intersectionOf"):
            return [group for member in self.collection(parts) for group in self.groups(member, depth + 1)]
        for base in self.objects(node, v.OWL + "onDatatype"):
            return self.groups(base, depth + 1)
        return []


@dataclass
class Types:
    """What rdf:type says, read once."""

    declared: set[str] = field(default_factory=set)
    properties: dict[str, set[str]] = field(default_factory=dict)  # → kinds and traits
    ontologies: set[str] = field(default_factory=set)
    deprecated: set[str] = field(default_factory=set)
    instances: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)
    individuals: set[str] = field(default_factory=set)
    schema: set[str] = field(default_factory=set)  # everything typed as part of a schema


def read_types(reader: Reader) -> Types:
    found = Types()
    for subject, kind in reader.pairs(v.TYPE):
        if not isinstance(kind, NamedNode):
            continue
        type_ = kind.value
        name = subject.value if isinstance(subject, NamedNode) else None
        if type_ in v.META_TYPES:
            if name is not None:
                _note_schema(found, name, type_)
            continue
        if name is not None:
            found.individuals.add(name)
        if type_ != v.NAMED_INDIVIDUAL:
            found.instances[type_] += 1
            if name is not None:
                _keep_smallest(found.examples.setdefault(type_, []), name)
    return found


def _note_schema(found: Types, name: str, type_: str) -> None:
    found.schema.add(name)
    if type_ in v.CLASS_TYPES:
        found.declared.add(name)
    elif type_ in v.PROPERTY_KINDS:
        found.properties.setdefault(name, set()).add(v.PROPERTY_KINDS[type_])
    elif type_ == v.OWL + "Ontology":
        found.ontologies.add(name)
    if type_.startswith(v.OWL + "Deprecated"):
        found.deprecated.add(name)


def _keep_smallest(some: list[str], name: str) -> None:
    if len(some) < EXAMPLES or name < some[-1]:
        insort(some, name)
        del some[EXAMPLES:]
