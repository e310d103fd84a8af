"""Reading a pyoxigraph store for a GraphMeta: counts of everything, statements by predicate.

A worker imports this before it parses, and whoever opens a file waits for that: no `dataclasses`
here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store

from rlm.ontology import vocabulary as v

Text = tuple[str, str, str]
Members = Iterator[tuple[str, list[str], int]]
LOOKUP_WORTH = 3
"""Looking up the texts of one IRI costs as much as reading so many statements."""
MAX_MEMBERS = 10_000
EXPRESSION_DEPTH = 8
_MEMBERS = """
SELECT ?t (COUNT(*) AS ?n) (GROUP_CONCAT(IF(isIRI(?s), STR(?s), ""); separator="\\n") AS ?names)
WHERE { PATTERN FILTER(isIRI(?t)) } GROUP BY ?t
"""


def solutions(store: Store, query: str) -> QuerySolutions:
    found = store.query(query, use_default_graph_as_union=True)
    assert isinstance(found, QuerySolutions)
    return found


class StoreReader:
    """Statements of all graphs together, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._named_graphs = next(iter(store.named_graphs()), None) is not None

    @cached_property
    def pred_freq(self) -> dict[str, int]:
        """Every predicate with its number of statements, the most used first."""
        triples = "?s ?p ?o"
        if self._named_graphs:
            triples = "{ SELECT DISTINCT ?s ?p ?o WHERE { ?s ?p ?o } }"
        counting = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {triples} }} GROUP BY ?p"
        found = solutions(self._store, counting)
        counted = {row["p"].value: int(row["n"].value) for row in found}
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def subject_count(self) -> int:
        counting = "SELECT (COUNT(DISTINCT ?s) AS ?n) WHERE { ?s ?p ?o }"
        return int(next(solutions(self._store, counting))["n"].value)

    def pairs(self, predicate: str) -> Iterator[tuple[object, object]]:
        """Subject and object of every statement with this predicate."""
        found = self._store.quads_for_pattern(None, NamedNode(predicate), None, None)
        if not self._named_graphs:
            return ((quad.subject, quad.object) for quad in found)
        return iter(dict.fromkeys((quad.subject, quad.object) for quad in found))

    def named_pairs(self, predicate: str) -> Iterator[tuple[str, str]]:
        """The pairs whose both ends are IRIs."""
        for subject, value in self.pairs(predicate):
            if isinstance(subject, NamedNode) and isinstance(value, NamedNode):
                yield subject.value, value.value

    def texts(self, predicate: str) -> list[Text]:
        """Subject, text and language of every literal that an IRI has."""
        return [
            (subject.value, value.value, (value.language or "").lower())
            for subject, value in self.pairs(predicate)
            if type(value) is Literal and type(subject) is NamedNode
        ]

    def texts_of(self, wanted: Collection[str], predicate: str) -> list[Text]:
        """The same of these IRIs only; few are looked up one by one."""
        count = self.pred_freq.get(predicate, 0)
        nodes = _nodes(wanted) if count > LOOKUP_WORTH * len(wanted) else None
        if nodes is None:
            return [text for text in self.texts(predicate) if text[0] in wanted] if count else []
        look_up, node = self._store.quads_for_pattern, NamedNode(predicate)
        values = (
            (iri, quad.object)
            for iri, subject in nodes
            for quad in look_up(subject, node, None, None)
        )
        return [
            (iri, value.value, (value.language or "").lower())
            for iri, value in (dict.fromkeys(values) if self._named_graphs else values)
            if type(value) is Literal
        ]

    def languages(self, predicates: Collection[str]) -> dict[str, int]:
        """Language → how many texts of named things by these predicates are in it, all counted."""
        found: dict[str, int] = {}
        for predicate in predicates:
            each = f"?s <{predicate}> ?l"
            if self._named_graphs:
                each = f"{{ SELECT DISTINCT ?s ?l WHERE {{ {each} }} }}"
            where = f"{each} FILTER(isIRI(?s)) BIND(LANG(?l) AS ?t)"
            counting = f"SELECT ?t (COUNT(*) AS ?n) WHERE {{ {where} }} GROUP BY ?t"
            for row in solutions(self._store, counting):
                if row["t"] is not None:  # what is no literal has none
                    tag = row["t"].value.lower()
                    found[tag] = found.get(tag, 0) + int(row["n"].value)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))

    def members(self) -> Members:
        """Every type that is an IRI, the IRIs among its subjects, and how many others it has. The
        subjects come from the store as one text: a tenth of the time that one by one takes."""
        pattern = f"?s <{v.TYPE}> ?t"
        if self._named_graphs:
            pattern = f"{{ SELECT DISTINCT ?s ?t WHERE {{ {pattern} }} }}"
        for row in solutions(self._store, _MEMBERS.replace("PATTERN", pattern)):
            kind, count = row["t"].value, int(row["n"].value)
            names = row["names"].value.split("\n")
            if len(names) != count:  # an IRI with a line end, from a file that was read leniently
                typed = self.pairs(v.TYPE)
                subjects = {s for s, t in typed if type(t) is NamedNode and t.value == kind}
                names = [s.value if type(s) is NamedNode else "" for s in subjects]
            nameless = names.count("")
            yield kind, [name for name in names if name] if nameless else names, nameless

    def blank_types(self, kinds: Collection[str]) -> dict[object, set[str]]:
        """Blank node → which of these types it has."""
        found: dict[object, set[str]] = {}
        for subject, kind in self.pairs(v.TYPE):
            if type(subject) is BlankNode and type(kind) is NamedNode and kind.value in kinds:
                found.setdefault(subject, set()).add(kind.value)
        return found

    def named_subjects(self) -> set[str]:
        """Every IRI that something is said of."""
        found = solutions(self._store, "SELECT DISTINCT ?s WHERE { ?s ?p ?o }")
        return {row[0].value for row in found if isinstance(row[0], NamedNode)}

    def named_values(self, pattern: str) -> set[str]:
        """Every IRI that ?x stands for in a pattern of SPARQL."""
        found = solutions(
            self._store, f"SELECT DISTINCT ?x WHERE {{ {pattern} FILTER(isIRI(?x)) }}"
        )
        return {row[0].value for row in found}

    def named_subjects_of(self, predicate: str, value: str) -> list[str]:
        """The IRIs that have a predicate with this IRI."""
        found = self._store.quads_for_pattern(None, NamedNode(predicate), NamedNode(value), None)
        return [quad.subject.value for quad in found if isinstance(quad.subject, NamedNode)]

    def objects(self, node: object, predicate: str) -> list[object]:
        if not isinstance(node, NamedNode | BlankNode):
            return []
        found = self._store.quads_for_pattern(node, NamedNode(predicate), None, None)
        return [quad.object for quad in found]

    def objects_of(self, iri: str, predicate: str) -> list[object]:
        nodes = _nodes([iri]) or []
        return [value for _, node in nodes for value in self.objects(node, predicate)]

    def some_object(self, predicate: str) -> object:
        """One object that the predicate is used with, or None."""
        found = self._store.quads_for_pattern(None, NamedNode(predicate), None, None)
        return next((quad.object for quad in found), None)

    # -- class expressions

    def collection(self, node: object) -> list[object]:
        """The members of an RDF list; a broken or circular one as far as it goes."""
        found: list[object] = []
        seen: set[object] = set()
        while isinstance(node, NamedNode | BlankNode) and node not in seen:
            if len(found) >= MAX_MEMBERS:
                break
            seen.add(node)
            found += self.objects(node, v.RDF + "first")[:1]
            node = next(iter(self.objects(node, v.RDF + "rest")), None)
        return found

    def groups(self, node: object, depth: int = 0) -> list[list[str]]:
        """A class expression as named classes: every group must hold, and of a group one member. A
        restriction, a complement or an enumeration names no class and gives nothing."""
        if isinstance(node, NamedNode):
            return [[node.value]]
        if not isinstance(node, BlankNode) or depth > EXPRESSION_DEPTH:
            return []
        for union in self.objects(node, v.OWL + "unionOf"):
            members = [self.groups(member, depth + 1) for member in self.collection(union)]
            named = sorted({iri for member in members for group in member for iri in group})
            return [named] if members else []
        for parts in self.objects(node, v.OWL + "intersectionOf"):
            members = [self.groups(member, depth + 1) for member in self.collection(parts)]
            return [group for member in members for group in member]
        for base in self.objects(node, v.OWL + "onDatatype"):
            return self.groups(base, depth + 1)
        return []

    def parts_of(self, node: object, depth: int = 0) -> set[str]:
        """The named classes that whatever a node defines is surely below: all that an intersection
        names, and of a union what all of its members have in common."""
        found: set[str] = set()
        if depth > EXPRESSION_DEPTH:
            return found
        for head in self.objects(node, v.OWL + "intersectionOf"):
            found.update(*(self._parts_or_name(one, depth) for one in self.collection(head)))
        for head in self.objects(node, v.OWL + "unionOf"):
            parts = [self._parts_or_name(one, depth) for one in self.collection(head)]
            found.update(set.intersection(*parts) if parts else ())
        return found

    def _parts_or_name(self, node: object, depth: int) -> set[str]:
        return {node.value} if isinstance(node, NamedNode) else self.parts_of(node, depth + 1)


def _nodes(iris: Collection[str]) -> list[tuple[str, NamedNode]] | None:
    """Each with its node; None where one is no IRI, as in a file that was read leniently."""
    try:
        return [(iri, NamedNode(iri)) for iri in iris]
    except ValueError:
        return None
