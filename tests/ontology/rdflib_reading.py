"""The reading of an ontology that `rlm.ontology.meta.graph_meta` describes, written down a second
time over rdflib, as plainly as possible: the two must agree."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from rdflib import OWL, RDF, RDFS, Graph, Literal, URIRef
from rdflib.term import Node

from rlm.ontology import vocabulary as v
from rlm.ontology.terms import is_machinery

Edges = dict[str, set[str]]
TOPS = {str(each) for each in (OWL.Thing, OWL.Nothing, RDFS.Resource, RDFS.Literal)}


@dataclass
class Reading:
    supers: Edges = field(default_factory=lambda: defaultdict(set))
    stated: Edges = field(default_factory=lambda: defaultdict(set))
    same: Edges = field(default_factory=lambda: defaultdict(set))
    instances: dict[str, set[Node]] = field(default_factory=lambda: defaultdict(set))
    inverses: Edges = field(default_factory=lambda: defaultdict(set))
    disjoint: Edges = field(default_factory=lambda: defaultdict(set))
    traits: Edges = field(default_factory=lambda: defaultdict(set))
    super_properties: Edges = field(default_factory=lambda: defaultdict(set))
    deprecated: set[str] = field(default_factory=set)
    languages: Counter[str] = field(default_factory=Counter)

    def edge(self, sub: str, top: str, *, stated: bool = False) -> None:
        if sub != top and top not in TOPS:
            self.supers[sub].add(top)
            if stated:
                self.stated[sub].add(top)

    def above(self, iri: str) -> set[str]:
        return self._closure(iri, self.supers)

    @cached_property
    def subs(self) -> Edges:
        down: Edges = defaultdict(set)
        for sub, tops in self.supers.items():
            for top in tops:
                down[top].add(sub)
        return down

    def below(self, iri: str) -> set[str]:
        return self._closure(iri, self.subs)

    def _closure(self, iri: str, edges: Edges) -> set[str]:
        own = self._equal({iri})
        seen, todo = set(own), set(own)
        while todo:
            todo = self._equal({end for each in todo for end in edges.get(each, ())}) - seen
            seen |= todo
        return seen - own

    def _equal(self, iris: set[str]) -> set[str]:
        found = set(iris)
        while more := {end for each in found for end in self.same.get(each, ())} - found:
            found |= more
        return found

    def all_instances(self, iri: str) -> set[Node]:
        kinds = {iri, *self._equal({iri}), *self.below(iri)}
        return {thing for kind in kinds for thing in self.instances.get(kind, ())}


def members(graph: Graph, head: Node) -> list[Node]:
    found: list[Node] = []
    seen: set[Node] = set()
    while head is not None and head != RDF.nil and head not in seen:
        seen.add(head)
        first = graph.value(head, RDF.first, any=True)
        found += [first] if first is not None else []
        head = graph.value(head, RDF.rest, any=True)
    return found


def conjuncts(graph: Graph, node: Node, depth: int = 0, *, own: bool = False) -> set[str]:
    """The named classes that an expression is surely below."""
    if isinstance(node, URIRef) and not own:
        return {str(node)}
    found: set[str] = set()
    if depth > 8:
        return found
    for union in graph.objects(node, OWL.unionOf):
        sides = [conjuncts(graph, each, depth + 1) for each in members(graph, union)]
        found |= set.intersection(*sides) if sides else set()
    for parts in graph.objects(node, OWL.intersectionOf):
        for each in members(graph, parts):
            found |= conjuncts(graph, each, depth + 1)
    return found


def read(graph: Graph) -> Reading:
    found = Reading()
    datatypes = set(graph.subjects(RDF.type, RDFS.Datatype)) - {
        each for kind in (OWL.Class, RDFS.Class) for each in graph.subjects(RDF.type, kind)
    }
    for sub, top in graph.subject_objects(RDFS.subClassOf):
        if isinstance(sub, URIRef) and sub not in datatypes:
            if isinstance(top, URIRef):
                found.edge(str(sub), str(top), stated=True)
            else:
                for iri in conjuncts(graph, top):
                    found.edge(str(sub), iri)
    read_definitions(graph, found, datatypes)
    share_parents(found)
    read_rest(graph, found)
    read_enumerations(graph, found, datatypes)
    return found


def read_definitions(graph: Graph, found: Reading, datatypes: set[Node]) -> None:
    for one, two in graph.subject_objects(OWL.equivalentClass):
        if not isinstance(one, URIRef):
            one, two = two, one
        if not isinstance(one, URIRef) or one in datatypes:
            continue
        if isinstance(two, URIRef):
            if one != two:
                found.same[str(one)].add(str(two))
                found.same[str(two)].add(str(one))
        else:
            define(graph, found, one, two)
    for predicate in (OWL.intersectionOf, OWL.unionOf):
        for one in graph.subjects(predicate, None):
            if isinstance(one, URIRef) and one not in datatypes:
                define(graph, found, one, one)
    for whole, parts in graph.subject_objects(OWL.disjointUnionOf):
        group = named(members(graph, parts))
        apart(found.disjoint, group)
        if isinstance(whole, URIRef):
            for iri in group:
                found.edge(iri, str(whole))


def share_parents(found: Reading) -> None:
    """What has no class of the file above it, but for a circle that it is in, has what its
    equivalents have."""

    def up(iri: str, seen: set[str]) -> set[str]:
        for top in found.supers.get(iri, set()) - seen:
            seen.add(top)
            up(top, seen)
        return seen

    while True:
        fresh: Edges = {}
        for iri in found.same:
            circle = {top for top in up(iri, set()) if iri in up(top, set())}
            same = found._equal({iri})
            tops = {top for each in same for top in found.supers.get(each, ())} - same - circle
            own = found.supers.get(iri, set()) - circle
            if not is_machinery(iri):
                tops, own = ({i for i in some if not is_machinery(i)} for some in (tops, own))
            if tops and not own:
                fresh[iri] = tops
        for iri, tops in fresh.items():
            for top in tops:
                found.edge(iri, top)
        if not fresh:
            return


def define(graph: Graph, found: Reading, iri: URIRef, expression: Node) -> None:
    for top in conjuncts(graph, expression, own=True):
        found.edge(str(iri), top)
    for union in graph.objects(expression, OWL.unionOf):
        for sub in named(members(graph, union)):
            found.edge(sub, str(iri))


def named(nodes: list[Node]) -> list[str]:
    return sorted({str(node) for node in nodes if isinstance(node, URIRef)})


def apart(edges: Edges, group: list[str]) -> None:
    for one in group:
        for two in group:
            if one != two:
                edges[one].add(two)


def read_rest(graph: Graph, found: Reading) -> None:
    for predicate in (OWL.disjointWith, OWL.propertyDisjointWith):
        for one, two in graph.subject_objects(predicate):
            apart(found.disjoint, named([one, two]))
    for group, head in graph.subject_objects(OWL.members):
        if (group, RDF.type, OWL.AllDifferent) not in graph:
            apart(found.disjoint, named(members(graph, head)))
    for predicate in v.INVERSE_OF:
        for one, two in graph.subject_objects(URIRef(predicate)):
            if isinstance(one, URIRef) and isinstance(two, URIRef):
                found.inverses[str(one)].add(str(two))
                found.inverses[str(two)].add(str(one))
    for sub, top in graph.subject_objects(RDFS.subPropertyOf):
        if isinstance(sub, URIRef) and isinstance(top, URIRef) and sub != top:
            found.super_properties[str(sub)].add(str(top))
    read_types(graph, found)
    for thing, value in graph.subject_objects(OWL.deprecated):
        if isinstance(thing, URIRef) and str(value).strip().lower() in ("true", "1"):
            found.deprecated.add(str(thing))
    for predicate in v.SUPERSEDED_BY:
        for one, two in graph.subject_objects(URIRef(predicate)):
            if isinstance(one, URIRef) and isinstance(two, URIRef):
                found.deprecated.add(str(one))


def read_types(graph: Graph, found: Reading) -> None:
    for thing, kind in graph.subject_objects(RDF.type):
        name = str(kind)
        trait = v.PROPERTY_KINDS.get(name, "")
        if trait not in ("", "object", "datatype", "annotation") and isinstance(thing, URIRef):
            found.traits[str(thing)].add(trait)
        plain = isinstance(kind, URIRef) and name not in v.META_TYPES
        if plain and name != v.NAMED_INDIVIDUAL:
            found.instances[name].add(thing)
        if name.startswith(v.OWL + "Deprecated") and isinstance(thing, URIRef):
            found.deprecated.add(str(thing))


def read_enumerations(graph: Graph, found: Reading, datatypes: set[Node]) -> None:
    """What owl:oneOf lists is of the class that is defined so."""
    for node, head in graph.subject_objects(OWL.oneOf):
        same = {
            *graph.subjects(OWL.equivalentClass, node),
            *graph.objects(node, OWL.equivalentClass),
        }
        for kind in {node} if isinstance(node, URIRef) else same:
            things = [each for each in members(graph, head) if isinstance(each, URIRef)]
            if isinstance(kind, URIRef) and kind not in datatypes and things:
                found.instances[str(kind)].update(things)


def languages(graph: Graph, predicates: list[str]) -> dict[str, int]:
    counted: Counter[str] = Counter()
    for predicate in predicates:
        for thing, text in graph.subject_objects(URIRef(predicate)):
            if isinstance(thing, URIRef) and isinstance(text, Literal):
                counted[(text.language or "").lower()] += 1
    return dict(counted)
