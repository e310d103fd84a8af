"""GraphMeta: what is worth knowing of a graph before anybody queries it.

Built once per graph by `build_meta`, kept as JSON, read by the views, the sense card and the REPL.
It holds named terms only. A blank-node class is not a class; where one stands as a domain or range,
the members of its union are taken instead and the property is marked. Terms of the schema are held
in full, individuals are counted and sampled: at most INDIVIDUALS of them, the smallest IRIs, and
`individuals.complete` says whether that is all. This module knows no RDF library and asks no
engine.

A class is what is declared as one, by a type of RDF or OWL or by a class below these (`declared`),
and whatever stands where only a class can. An individual is what has a class for a type, or
owl:NamedIndividual. A class that is a SHACL shape too, or of a class of classes, is none for that;
nor is an ontology, nor what something is said of but not what it is: that is `untyped`, and held
for its name.

How a hierarchy is read, here and nowhere else: A is below B where the file states rdfs:subClassOf
between the two, or where the definition of A is an intersection with B in it, or the definition of
B a union with A in it, or B the disjoint union of A and others. What has nothing above it, but for
a circle that it is in, is below what its equivalents are below. `supers` and `subs` have all of
these; `defined_supers` has those that no statement gives. Equivalent classes share what is above
and below them (`above`, `below`). An instance of a class is one of every class above it, and what
owl:oneOf defines a class by is of this class (`enumerated`, where nothing states it).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, SupportsIndex, overload
from urllib.parse import urlsplit

from rlm.errors import OntologyError
from rlm.ontology.labels import Label, cut, name_of, pick, telling_sentence
from rlm.ontology.terms import WELL_KNOWN, Prefixes, is_machinery, namespace
from rlm.ontology.vocabulary import RDFS, TOPS, is_type_of_individuals

NO_KIND = "of no known kind"
INDIVIDUALS = 2_000
NAMED_INDIVIDUALS = 500
"""So many individuals have a say in which namespaces are named."""
VERSION = 9
_SETS = ("declared", "declared_properties", "definitions", "deprecated", "guessed")
_MAPS = (
    *("supers", "subs", "defined_supers", "equivalents", "super_properties"),
    "equivalent_properties",
    *("inverses", "doms", "rngs", "replaced_by", "enumerated"),
)
_LABELS = ("labels", "alternatives")
NAMED = 24
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,15}")
_VERSION = re.compile(
    r"(?:v?\d[\d.]*|ns|core|terms|vocab|vocabulary|ontology|onto|owl|data|resource|id|schema)$"
)


class IRISet(frozenset[str]):
    """A set of IRIs that is read in alphabetical order and can be sliced."""

    __slots__ = ()

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(super().__iter__()))

    @overload
    def __getitem__(self, index: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> str | list[str]:
        return list(self)[index]

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self)) + "}"


NONE = IRISet()
Map = dict[str, IRISet]


@dataclass(frozen=True)
class Individuals:
    """Named things that are no terms of the schema alone: how many, and some of them."""

    count: int = 0
    sample: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return len(self.sample) == self.count

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        return iter(self.sample)


@dataclass(frozen=True, slots=True)
class ClassUse:
    """What the instances of a class have; numbers are of the `seen` ones of `instances`."""

    instances: int
    seen: int
    properties: dict[str, tuple[int, str]]
    """Property → how many have it, and what the values are: the nearest class that holds all of
    them, or their datatypes with blanks between; rdfs:Resource for nodes that have no class in
    common, or a stated range."""

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ClassUse:
        have = {prop: (int(n), str(kind)) for prop, (n, kind) in data["properties"].items()}
        return cls(int(data["instances"]), int(data["seen"]), have)


@dataclass
class GraphMeta:
    """Counts, terms, labels, hierarchy, domains and ranges of one graph."""

    triple_count: int = 0
    subject_count: int = 0
    namespaces: dict[str, str] = field(default_factory=dict)
    classes: dict[str, int] = field(default_factory=dict)  # → direct instances
    # → its instances and those of the classes below it, where they are more
    all_instances: dict[str, int] = field(default_factory=dict)
    declared: IRISet = NONE  # the classes that the file says are classes
    properties: dict[str, int] = field(default_factory=dict)  # → statements
    declared_properties: IRISet = NONE
    kinds: dict[str, str] = field(default_factory=dict)  # property → object, datatype, …
    guessed: IRISet = NONE  # the properties whose kind is a guess, by their range or use
    traits: dict[str, list[str]] = field(default_factory=dict)  # → functional, transitive, …
    pred_freq: dict[str, int] = field(default_factory=dict)  # the machinery included
    individuals: Individuals = field(default_factory=Individuals)
    untyped: Individuals = field(default_factory=Individuals)  # of no known kind
    examples: dict[str, list[str]] = field(default_factory=dict)  # class → a few instances
    # Main class → what its instances have, by use. All below it count (`class_use.py`).
    class_use: dict[str, ClassUse] = field(default_factory=dict)
    labels: dict[str, list[Label]] = field(default_factory=dict)
    alternatives: dict[str, list[Label]] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)  # definition or comment, cut
    languages: dict[str, int] = field(default_factory=dict)  # of all labels of named things
    text_roles: dict[str, list[str]] = field(default_factory=dict)  # label, synonym, … → predicates
    supers: Map = field(default_factory=dict)
    subs: Map = field(default_factory=dict)
    defined_supers: Map = field(default_factory=dict)  # those of `supers` that no statement gives
    definitions: IRISet = NONE  # the classes that an expression defines
    enumerated: Map = field(default_factory=dict)  # class → instances that only owl:oneOf gives
    restriction_count: int = 0
    equivalents: Map = field(default_factory=dict)
    roots: list[str] = field(default_factory=list)
    super_properties: Map = field(default_factory=dict)
    equivalent_properties: Map = field(default_factory=dict)
    inverses: Map = field(default_factory=dict)
    doms: Map = field(default_factory=dict)
    rngs: Map = field(default_factory=dict)
    # Where there are several classes: [[A], [B, C]] is A and (B or C).
    dom_groups: dict[str, list[list[str]]] = field(default_factory=dict)
    rng_groups: dict[str, list[list[str]]] = field(default_factory=dict)
    disjoint_groups: list[list[str]] = field(default_factory=list)
    disjoint_property_groups: list[list[str]] = field(default_factory=list)
    deprecated: IRISet = NONE
    replaced_by: Map = field(default_factory=dict)
    plain_forms: dict[str, str] = field(default_factory=dict)  # qualified property → the plain one
    ontology_iris: list[str] = field(default_factory=list)  # the main one first
    ontology_declared: bool = True  # or only what is said of the namespace tells it
    main_ontology: str = ""  # what title and description are of; '' where it cannot be told
    imports: list[str] = field(default_factory=list)
    missing_imports: list[str] = field(default_factory=list)  # listed, never fetched
    title: str = ""
    description: str = ""
    sampled: bool = False  # counts are of a part (a remote endpoint)

    # -- names

    @cached_property
    def prefixes(self) -> Prefixes:
        return Prefixes(self.namespaces)

    def curie(self, iri: str) -> str:
        """The short form, or <iri> when no prefix fits."""
        return self.prefixes.shrink(iri)

    def label(self, iri: str, lang: str | None = None) -> str:
        """The label in the language asked for (or English), without one, any; or the local name."""
        return pick(self.labels.get(iri, ()), lang) or name_of(iri)

    @cached_property
    def by_label(self) -> dict[str, list[str]]:
        """Lower-case label or alternative → IRIs; terms without labels by their local names."""
        found: dict[str, set[str]] = {}
        for source in (self.labels, self.alternatives):
            for iri, labels in source.items():
                for text, _ in labels:
                    found.setdefault(" ".join(text.lower().split()), set()).add(iri)
        for iri in (*self.classes, *self.properties):
            if iri not in self.labels:
                found.setdefault(name_of(iri).lower(), set()).add(iri)
        return {text: sorted(iris, key=self._by_standing) for text, iris in sorted(found.items())}

    def _by_standing(self, iri: str) -> tuple[bool, int, str]:
        rank = 0 if iri in self.classes else 1 if iri in self.properties else 2
        return iri in self.deprecated, rank, iri

    # -- terms

    @cached_property
    def all_declared(self) -> frozenset[str]:
        """The classes and properties that the file says are such."""
        return self.declared | self.declared_properties

    def kind(self, iri: str, types: Iterable[str] | None = None) -> str:
        """class, object property, …, ontology or individual, both where a name is used as both, or
        that it is of no known kind. A property whose kind is only guessed is a property. `types`:
        what the graph says it is, where somebody asked; not all individuals are held here."""
        found = []
        if iri in self.classes:
            found.append("class")
        if iri in self.properties:
            kind = "property" if iri in self.guessed else self.kinds.get(iri, "property")
            found.append(kind if kind == "property" else f"{kind} property")
        if iri in self.ontology_iris:
            found.append("ontology")
        if RDFS + "Datatype" in (types or ()):
            found.append("datatype")
        if iri in self._named_individuals or (not found and self._may_be_individual(iri, types)):
            found.append("individual")
        return ", ".join(found) or NO_KIND

    def _may_be_individual(self, iri: str, types: Iterable[str] | None) -> bool:
        if types is not None:
            return any(map(is_type_of_individuals, types))
        return self.sampled or not (self.individuals.complete or iri in self.untyped.sample)

    @cached_property
    def _named_individuals(self) -> frozenset[str]:
        return frozenset(self.individuals.sample)

    @cached_property
    def named_things(self) -> frozenset[str]:
        """The names of individuals, and of what nothing types."""
        return self._named_individuals.union(self.untyped.sample)

    @property
    def has_all_names(self) -> bool:
        """Whether every name in the graph is held; else the engine knows more."""
        return self.individuals.complete and self.untyped.complete and not self.sampled

    @cached_property
    def _disjoint_groups_of(self) -> dict[str, list[list[str]]]:
        found: dict[str, list[list[str]]] = {}
        for group in (*self.disjoint_groups, *self.disjoint_property_groups):
            for iri in group:
                found.setdefault(iri, []).append(group)
        return found

    def disjoint_with(self, iri: str) -> IRISet:
        """The classes, or properties, that are stated to have nothing in common with this one."""
        groups = self._disjoint_groups_of.get(iri, ())
        others = {other for group in groups for other in group if other != iri}
        return IRISet(others if is_machinery(iri) else (i for i in others if not is_machinery(i)))

    def all_disjoint_with(self, iri: str) -> list[str]:
        """What has nothing in common with this one: what is stated of it, of what is above it or
        equivalent; and of all these what is below or equivalent."""
        same = self.equivalents if iri in self.classes else self.equivalent_properties
        tops = [iri, *sorted(_reach_same({iri}, same) - {iri}), *self.above(iri)]
        found = list(dict.fromkeys(each for top in tops for each in self.disjoint_with(top)))
        found += [each for other in list(found) for each in sorted(_reach_same({other}, same))]
        found += [sub for other in dict.fromkeys(found) for sub in self.below(other)]
        return [each for each in dict.fromkeys(found) if each != iri]

    @cached_property
    def sub_properties(self) -> Map:
        return _invert(self.super_properties)

    @cached_property
    def replaces(self) -> Map:
        return _invert(self.replaced_by)

    def follows_by_definition(self, sub: str, top: str) -> bool:
        """Whether an edge of the hierarchy comes from reading a definition."""
        return top in self.defined_supers.get(sub, NONE)

    @cached_property
    def enumerated_in(self) -> Map:
        """Thing → the classes that it is of by their definition, and by no statement."""
        return _invert(self.enumerated)

    def instances(self, iri: str) -> int:
        """How many things are of this class or of one below it."""
        return self.all_instances.get(iri, self.classes.get(iri, 0))

    def is_reached_by_statements(self, iri: str) -> bool:
        """Whether `a/rdfs:subClassOf*` finds every instance of a class: those that stand below it
        by a definition or an equivalence alone, or are enumerated, are not."""
        reached, todo = {iri}, [iri]
        while todo:
            top = todo.pop()
            fresh = {sub for sub in self.subs.get(top, NONE) - reached
                     if not self.follows_by_definition(sub, top)}  # fmt: skip
            reached |= fresh
            todo += fresh
        kinds = {*self.below(iri), *_reach_same({iri}, self.equivalents)}
        held = {kind for kind in kinds if self.classes.get(kind)}
        return held <= reached and not any(map(self.enumerated.get, kinds))

    def below(self, iri: str) -> list[str]:
        """All classes, or properties, below this one, nearest first."""
        return self._closure_of(iri, self.subs, self.sub_properties)

    def above(self, iri: str) -> list[str]:
        """All classes, or properties, above this one, nearest first."""
        return self._closure_of(iri, self.supers, self.super_properties)

    def _closure_of(self, iri: str, of_class: Map, of_property: Map) -> list[str]:
        if iri in self.classes:
            return self._closure(iri, of_class, self.equivalents)
        return self._closure(iri, of_property, self.equivalent_properties)

    def _closure(
        self, iri: str, edges: Mapping[str, IRISet], same: Mapping[str, IRISet]
    ) -> list[str]:
        """All that `edges` lead to, nearest first, without the start. What is above or below one
        of several equivalents is so for all of them; they themselves are neither."""
        start = _reach_same({iri}, same)
        seen, found, level = set(start), list[str](), start
        while level:
            next_ = {end for node in level for end in frozenset.__iter__(edges.get(node, NONE))}
            level = _reach_same(next_, same) - seen
            seen |= level
            found += sorted(level)
        return found

    @cached_property
    def domain_of(self) -> Map:
        """Class → the properties that name it in their domain."""
        return _invert(self.doms)

    @cached_property
    def range_of(self) -> Map:
        """Class → the properties that name it in their range."""
        return _invert(self.rngs)

    def is_union(self, prop: str, side: str = "domain") -> bool:
        """Whether the property's domain (or range) is, or contains, a union."""
        groups = self.dom_groups if side == "domain" else self.rng_groups
        return any(len(group) > 1 for group in groups.get(prop, ()))

    @cached_property
    def own_classes(self) -> list[str]:
        """The classes without those of RDF, RDFS, OWL and SWRL, which a file may name or declare,
        and which are its own in the files of these vocabularies alone."""
        if any(is_machinery(f"{iri.rstrip('#')}#") for iri in self.ontology_iris):
            return list(self.classes)
        return [iri for iri in self.classes if not is_machinery(iri)]

    def subject_terms(self) -> list[str]:
        """The classes that the graph is about: no machinery of RDF and OWL, nothing deprecated."""
        left_out = TOPS | self.deprecated
        return [iri for iri in self.classes if not is_machinery(iri) and iri not in left_out]

    # -- as text and as JSON

    def about(self) -> str:
        """The ontology's title and first sentence, or its IRI, in one line; '' when it has none."""
        name = " ".join(self.title.split()) or "".join(self.ontology_iris[:1])
        if len(self.ontology_iris) > 1 and not self.main_ontology:
            names = ", ".join(self.label(iri) for iri in self.ontology_iris)
            return f"{len(self.ontology_iris)} ontologies in one file: {names}"
        said = telling_sentence(self.description)
        return f"{name}: {said}" if name and said else name or said

    def declared_kinds(self) -> Counter[str]:
        """How many declared properties are of each kind; `property` where none is stated."""
        return Counter(
            "property" if iri in self.guessed else self.kinds[iri]
            for iri in self.declared_properties
        )

    def counts(self, *, by_kind: bool = True) -> str:
        """How many triples, classes, properties and individuals, in one line; how many terms are
        declared, where others are only used or named, and of which kinds the properties are."""
        kinds, own = self.declared_kinds() if by_kind else Counter[str](), self.own_classes
        named = [kind for kind in ("object", "datatype", "annotation") if kinds[kind]]
        split = ", ".join(f"{kinds[kind]:,} {kind}" for kind in named)
        return (
            f"{self.triple_count:,} triples{' (sampled)' if self.sampled else ''},"
            f" {_count_terms('classes', own, self.declared.intersection(own))},"
            f" {_count_terms('properties', self.properties, self.declared_properties, split)},"
            f" {self.individuals.count:,} individuals"
        )

    def summary(self) -> str:
        """A few lines for people and prompts: what it is, how large, the roots."""
        lines = [cut(self.about() or "Graph", 240), self.counts()]
        if roots := sorted(self.roots, key=self.deprecated.__contains__):
            more = f" and {len(roots) - 8} more" if len(roots) > 8 else ""
            lines.append(f"Roots: {', '.join(map(self.curie, roots[:8]))}{more}")
        if self.missing_imports:
            lines.append(f"Imports that were not fetched: {len(self.missing_imports)}")
        return "\n".join(cut(line, 400) for line in lines)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GraphMeta:
        """Reads what `complete_scan` gave. OntologyError for another version or another kind."""
        if data.get("version") != VERSION:
            found = f"this GraphMeta is of version {data.get('version')!r}, not {VERSION}"
            raise OntologyError(f"{found}: build it again")
        values = {each.name: data[each.name] for each in fields(cls) if each.name in data}
        try:
            for name, value in values.items():
                if name in _MAPS:
                    values[name] = {iri: IRISet(others) for iri, others in value.items()}
                elif name in _SETS:
                    values[name] = IRISet(value)
                elif name in _LABELS:
                    pairs = ((iri, [(text, lang) for text, lang in v]) for iri, v in value.items())
                    values[name] = dict(pairs)
                elif name == "class_use":
                    values[name] = {iri: ClassUse.from_dict(use) for iri, use in value.items()}
                elif name in ("individuals", "untyped"):
                    values[name] = Individuals(value["count"], tuple(value["sample"]))
        except (AttributeError, KeyError, TypeError, ValueError) as exc:
            raise OntologyError("this is no stored GraphMeta: build it again") from exc
        return cls(**values)


def _reach_same(iris: set[str], same: Mapping[str, IRISet]) -> set[str]:
    """These, and all that are equivalent to one of them."""
    if not same:
        return iris
    found, todo = set(iris), list(iris)
    while todo:
        fresh = same.get(todo.pop(), NONE) - found
        found |= fresh
        todo += fresh
    return found


def _invert(edges: Mapping[str, Iterable[str]]) -> Map:
    found: dict[str, set[str]] = {}
    for start, ends in edges.items():
        for end in ends:
            found.setdefault(end, set()).add(start)
    return {iri: IRISet(others) for iri, others in sorted(found.items())}


def _count_terms(noun: str, terms: Sized, declared: Sized, split: str = "") -> str:
    some = "" if len(declared) == len(terms) else f"{len(declared):,} declared"
    said = ": ".join(part for part in (some, split) if part)
    return f"{len(terms):,} {noun}{f' ({said})' if said else ''}"


def complete_scan(
    found: dict[str, Any], prefixes: Mapping[str, str], preferred: Mapping[str, str]
) -> dict[str, Any]:
    """What `builder.scan_store` found, with all that `GraphMeta.from_dict` needs."""
    sample = (*found["individuals"]["sample"], *found["untyped"]["sample"])[:NAMED_INDIVIDUALS]
    in_use = (*found["classes"], *found["properties"], *sample, *found["pred_freq"])
    return {**found, "version": VERSION, "namespaces": name_namespaces(prefixes, preferred, in_use)}


# -- prefixes: the file's own, a vocabulary's, the well-known, else made up


def name_namespaces(
    own: Mapping[str, str], preferred: Mapping[str, str], iris: Iterable[str]
) -> dict[str, str]:
    """Prefix → namespace: all of the file's own, then the most used of the others, each once."""
    found = {prefix: space for prefix, space in own.items() if space}
    known = {space: prefix for prefix, space in reversed(WELL_KNOWN.items())}
    known |= {space: prefix for prefix, space in preferred.items() if _PREFIX.fullmatch(prefix)}
    counted = Counter(space for iri in iris if (space := namespace(iri)))
    for space, uses in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:NAMED]:
        if any(prefix and bound == space for prefix, bound in found.items()):
            continue
        if space in known:
            found[_free(known[space], found)] = space
        elif uses > 1:  # no prefix that queries take for something else, as rdf
            found[_free(_made_up(space), {**WELL_KNOWN, **found})] = space
    # ":" comes last: a real name is preferred
    return dict(sorted(found.items(), key=lambda item: (not item[0], item)))


def _made_up(space: str) -> str:
    """The last telling part of the path, else of the host: http://example.org/shop# → shop."""
    parts = urlsplit(space)
    for piece in [piece for piece in reversed(parts.path.split("/")) if piece]:
        name = re.sub(r"\.\w+$", "", piece).lower()
        if _PREFIX.fullmatch(name) and not _VERSION.match(name):
            return name
    hosts = [piece for piece in parts.netloc.split(":")[0].split(".")[:-1] if piece != "www"]
    return hosts[-1].lower() if hosts and _PREFIX.fullmatch(hosts[-1]) else "ns"


def _free(prefix: str, taken: Mapping[str, str]) -> str:
    names = (prefix, *(f"{prefix}{number}" for number in range(1, len(taken) + 2)))
    return next(name for name in names if name not in taken)
