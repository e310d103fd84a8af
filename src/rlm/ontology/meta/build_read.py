"""Reading a pyoxigraph store predicate by predicate, and the one reading of rdf:type.

Nothing here imports `dataclasses` or the like: a worker loads this before it parses, and whoever
opens a file waits for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any

from pyoxigraph import BlankNode, Literal, NamedNode, QuerySolutions, Store

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.counting import Counts, solutions
from rlm.ontology.meta.tally import Tally

Text = tuple[str, str, str]
EXAMPLES = 3
LOOKUP_WORTH = 3
"""Looking up the texts of one IRI costs as much as reading so many statements."""
MEMBERS = 10_000
EXPRESSION_DEPTH = 8


_SEPARATOR = "\n"
_MEMBERS = """
SELECT ?t (COUNT(*) AS ?n) (GROUP_CONCAT(IF(isIRI(?s), STR(?s), ""); separator="\\n") AS ?names)
WHERE { PATTERN FILTER(isIRI(?t)) } GROUP BY ?t
"""


class Reader:
    """Statements of all graphs together, each once."""

    def __init__(self, store: Store, tally: Tally | None = None) -> None:
        """`tally` is what was counted of this very store, where somebody did."""
        self._store, self._tally = store, tally
        self._named_graphs = next(iter(store.named_graphs()), None) is not None
        self.counts = Counts(store, named_graphs=self._named_graphs, tally=tally)

    @property
    def pred_freq(self) -> dict[str, int]:
        return self.counts.pred_freq

    def rows(self, query: str) -> QuerySolutions:
        return solutions(self._store, query)

    def pairs(self, predicate: str) -> Iterator[tuple[object, object]]:
        """Subject and object of every statement with this predicate."""
        found = self._store.quads_for_pattern(None, NamedNode(predicate), None, None)
        if not self._named_graphs:
            return ((quad.subject, quad.object) for quad in found)
        return iter(dict.fromkeys((quad.subject, quad.object) for quad in found))

    def named(self, predicate: str) -> Iterator[tuple[str, str]]:
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
        """The same of these IRIs only; few are looked up one by one instead of passing over
        everybody's."""
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

    def members(self) -> Iterator[tuple[str, list[str], int]]:
        """Every type that is an IRI, with the IRIs among its subjects, and how many others it has."""
        if self._tally is not None:
            yield from self._tally.members()
            return
        pattern = f"?s <{v.TYPE}> ?t"
        if self._named_graphs:
            pattern = f"{{ SELECT DISTINCT ?s ?t WHERE {{ {pattern} }} }}"
        for row in self.rows(_MEMBERS.replace("PATTERN", pattern)):
            type_, count, text = row["t"].value, int(row["n"].value), row["names"].value
            names = text.split(_SEPARATOR)
            if (
                len(names) != count
            ):  # an IRI that holds the separator: possible where a file was read leniently
                subjects = {
                    s for s, t in self.pairs(v.TYPE) if type(t) is NamedNode and t.value == type_
                }
                names = [s.value if type(s) is NamedNode else "" for s in subjects]
            nameless = names.count("")
            yield type_, [name for name in names if name] if nameless else names, nameless

    def named_subjects(self) -> set[str]:
        """Every IRI that something is said of."""
        found = (row[0] for row in self.rows("SELECT DISTINCT ?s WHERE { ?s ?p ?o }"))
        return {node.value for node in found if isinstance(node, NamedNode)}

    def objects(self, node: object, predicate: str) -> list[object]:
        if not isinstance(node, NamedNode | BlankNode):
            return []
        return [
            quad.object
            for quad in self._store.quads_for_pattern(node, NamedNode(predicate), None, None)
        ]

    def some_object(self, predicate: str) -> object:
        """One object that the predicate is used with, or None."""
        quad = next(
            iter(self._store.quads_for_pattern(None, NamedNode(predicate), None, None)), None
        )
        return None if quad is None else quad.object

    # -- class expressions

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
            return (
                [sorted({iri for member in members for group in member for iri in group})]
                if members
                else []
            )
        for parts in self.objects(node, v.OWL + "intersectionOf"):
            return [
                group
                for member in self.collection(parts)
                for group in self.groups(member, depth + 1)
            ]
        for base in self.objects(node, v.OWL + "onDatatype"):
            return self.groups(base, depth + 1)
        return []


def _nodes(iris: Collection[str]) -> list[tuple[str, NamedNode]] | None:
    """Each with its node; None where one is no IRI, as in a file that was read leniently."""
    try:
        return [(iri, NamedNode(iri)) for iri in iris]
    except ValueError:
        return None


class Types:
    """What rdf:type says, read once."""

    def __init__(self) -> None:
        self.declared: set[str] = set()
        self.properties: dict[str, set[str]] = {}  # → kinds and traits
        self.ontologies: set[str] = set()
        self.deprecated: set[str] = set()
        self.instances: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.individuals: set[str] = set()
        self.schema: set[str] = set()  # everything typed as part of a schema


def read_types(reader: Reader) -> Types:
    """The subjects of each type come from the store as one text: a tenth of the time that one by
    one takes."""
    found = Types()
    for type_, names, nameless in reader.members():
        if type_ in v.META_TYPES:
            _note_schema(found, names, type_)
            continue
        found.individuals.update(names)
        if type_ != v.NAMED_INDIVIDUAL:
            found.instances[type_] += len(names) + nameless
            if names:
                found.examples[type_] = sorted(names)[:EXAMPLES]
    return found


def _note_schema(found: Types, names: list[str], type_: str) -> None:
    found.schema.update(names)
    if type_ in v.CLASS_TYPES:
        found.declared.update(names)
    elif type_ in v.PROPERTY_KINDS:
        for name in names:
            found.properties.setdefault(name, set()).add(v.PROPERTY_KINDS[type_])
    elif type_ == v.OWL + "Ontology":
        found.ontologies.update(names)
    if type_.startswith(v.OWL + "Deprecated"):
        found.deprecated.update(names)


Edges = dict[str, list[str]]


class Draft:
    """The parts of a GraphMeta under their names, as JSON has them: lists where that has ordered
    sets."""

    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self.declared: list[str] = []
        self.properties: dict[str, int] = {}
        self.kinds: dict[str, str] = {}
        self.guessed: list[str] = []
        self.traits: Edges = {}
        self.labels: dict[str, list[tuple[str, str]]] = {}
        self.alternatives: dict[str, list[tuple[str, str]]] = {}
        self.comments: dict[str, str] = {}
        self.languages: dict[str, int] = {}
        self.supers: Edges = {}
        self.subs: Edges = {}
        self.equivalents: Edges = {}
        self.roots: list[str] = []
        self.super_properties: Edges = {}
        self.inverses: Edges = {}
        self.doms: Edges = {}
        self.rngs: Edges = {}
        self.dom_groups: dict[str, list[list[str]]] = {}
        self.rng_groups: dict[str, list[list[str]]] = {}
        self.disjoint_groups: list[list[str]] = []
        self.deprecated: list[str] = []
        self.replaced_by: Edges = {}
        self.plain_forms: dict[str, str] = {}
        self.more: dict[str, Any] = {}

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "more"} | self.more
