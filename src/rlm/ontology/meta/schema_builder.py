"""The schema in a GraphMeta: types, classes, properties, and what is out of use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from heapq import nsmallest
from typing import Any, TypeGuard

from pyoxigraph import BlankNode, Literal, NamedNode

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.class_graph import find_roots, reach_all, share_parents
from rlm.ontology.meta.store_reader import StoreReader
from rlm.ontology.terms import is_machinery, local_name

EXAMPLES = 3
_WEB = ("http://", "https://")
Edges = defaultdict[str, set[str]]
Groups = list[list[str]]
_INCLUDES = {side: [f"{base}{side}Includes" for base in v.SCHEMA] for side in ("domain", "range")}
_RDF_TYPES = tuple(v.RDF + name for name in ("langString", "PlainLiteral", "XMLLiteral"))
_DATATYPES = (v.XSD, v.RDFS + "Literal", *_RDF_TYPES)


def _any_of(*names: str) -> str:
    return f"VALUES ?p {{ {' '.join(f'<{name}>' for name in names)} }}"


_EITHER = (v.SUB_CLASS, v.OWL + "equivalentClass", v.OWL + "disjointWith")
_NO_DATA = f"FILTER NOT EXISTS {{ ?y <{v.OWL}onProperty>? ?q . ?q a <{v.OWL}DatatypeProperty> }}"
_USED = (
    _any_of(*_EITHER, v.OWL + "disjointUnionOf", v.OWL + "hasKey") + " ?x ?p ?y",
    _any_of(
        *(*_EITHER, v.OWL + "complementOf", v.OWL + "onClass", v.DOMAIN, *_INCLUDES["domain"]),
        *(v.SH + "targetClass", v.SH + "class"),
    )
    + " ?y ?p ?x",
    _any_of(v.OWL + "someValuesFrom", v.OWL + "allValuesFrom", v.RANGE, *_INCLUDES["range"])
    + f" ?y ?p ?x {_NO_DATA}",
    _any_of(*(v.OWL + name for name in ("intersectionOf", "unionOf", "disjointUnionOf")))
    + f" ?y ?p ?list . ?list <{v.RDF}rest>*/<{v.RDF}first> ?x",
)
"""Where only a class can stand."""
_OF_PROPERTIES = (
    _any_of(*(v.OWL + name for name in ("propertyChainAxiom", "propertyDisjointWith")))
    + " ?x ?p ?y",
    _any_of(*(v.OWL + name for name in ("onProperty", "propertyDisjointWith"))) + " ?y ?p ?x",
    _any_of(*(v.OWL + name for name in ("propertyChainAxiom", "hasKey")))
    + f" ?y ?p ?list . ?list <{v.RDF}rest>*/<{v.RDF}first> ?x",
)
"""Where only a property can stand."""


class DeclaredTypes:
    """What rdf:type says, read once."""

    def __init__(self) -> None:
        self.declared: set[str] = set()
        self.properties: dict[str, set[str]] = {}  # → kinds and traits
        self.ontologies: set[str] = set()
        self.deprecated: set[str] = set()
        self.instances: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}
        self.individuals: set[str] = set()
        self.enumerated: Edges = defaultdict(set)  # class → members that nothing types as such
        self.only_listed: set[str] = set()  # individuals that no type says to be any
        self.shared: Counter[tuple[str, ...]] = Counter()  # classes → things that are of them all
        self.shapes: set[str] = set()  # individuals, unless they are terms
        self.datatypes: set[str] = set()
        self.schema: set[str] = set()  # everything typed as part of a schema


def read_types(reader: StoreReader) -> DeclaredTypes:
    found = DeclaredTypes()
    kinds: dict[str, list[str]] = {}
    blank, only_named = False, list[str]()
    metaclasses = _find_metaclasses(reader)
    for kind, names, nameless in reader.members():
        if kind in v.META_TYPES:
            _note_schema(found, names, kind)
            continue
        for meta_type in metaclasses.get(kind, ()):
            _note_schema(found, names, meta_type)
        if kind in v.SHAPE_TYPES:
            found.shapes.update(names)
        elif kind == v.NAMED_INDIVIDUAL:
            only_named = names
            continue
        elif not v.is_type_of_individuals(kind):
            found.schema.update(names)
        elif kind not in metaclasses:
            found.individuals.update(names)
        kinds[kind] = names
        blank = blank or bool(nameless)
        found.instances[kind] += len(names) + nameless
        if names:
            found.examples[kind] = nsmallest(EXAMPLES, names)
    for kind, members in _read_enumerations(reader, found.datatypes - found.declared).items():
        _note_members(found, kind, members, kinds, is_class_of_terms=kind in metaclasses)
    _note_shared(found, kinds, reader.blank_types(kinds.keys()) if blank else {})
    found.only_listed.difference_update(only_named, found.schema, found.shapes)
    found.individuals.update(only_named)
    return found


def _read_enumerations(reader: StoreReader, datatypes: set[str]) -> Edges:
    """Class → the IRIs that owl:oneOf defines it by."""
    lists: defaultdict[object, list[object]] = defaultdict(list)
    for node, head in reader.pairs(v.OWL + "oneOf"):
        lists[node].append(head)
    pairs = [(node, node) for node in lists]
    pairs += reader.pairs(v.OWL + "equivalentClass") if lists else ()
    found: Edges = defaultdict(set)
    for one, two in (*pairs, *((two, one) for one, two in pairs)):
        is_own = one == two or isinstance(two, BlankNode)
        if isinstance(one, NamedNode) and is_own and two in lists and one.value not in datatypes:
            found[one.value].update(*(named_members(reader, head) for head in lists[two]))
    return found


def _note_members(
    found: DeclaredTypes,
    kind: str,
    members: set[str],
    kinds: dict[str, list[str]],
    *,
    is_class_of_terms: bool,
) -> None:
    """By its definition they are instances of the class, as if that were stated."""
    names = kinds.get(kind, [])
    if fresh := members.difference(names):
        kinds[kind] = [*names, *fresh]
        found.enumerated[kind] = fresh
        found.instances[kind] += len(fresh)
        found.examples[kind] = nsmallest(EXAMPLES, kinds[kind])
        if not is_class_of_terms:
            found.only_listed |= fresh - found.individuals
            found.individuals |= fresh


def _find_metaclasses(reader: StoreReader) -> dict[str, set[str]]:
    """A class of classes or of properties → the types of RDF and OWL that it stands below: what is
    of it is declared as one of these."""
    found: dict[str, set[str]] = {}
    for top in v.CLASS_TYPES | v.PROPERTY_KINDS.keys():
        todo = [top]
        while todo:
            for sub in reader.named_subjects_of(v.SUB_CLASS, todo.pop()):
                if sub not in v.META_TYPES and top not in found.setdefault(sub, set()):
                    found[sub].add(top)
                    todo.append(sub)
    return found


def _note_shared(
    found: DeclaredTypes, kinds: Mapping[str, list[str]], blank: Mapping[object, set[str]]
) -> None:
    """Things of several classes, by which: few, or none, so most are never looked at twice. The
    individuals are those of these kinds here, no others, or numbers would hide what is twice."""
    once, again = set[str](), set[str]()
    if sum(map(len, kinds.values())) > len(found.individuals):
        for names in kinds.values():
            again |= once.intersection(names)
            once.update(names)
    of: dict[object, set[str]] = {thing: some for thing, some in blank.items() if len(some) > 1}
    for kind, names in kinds.items() if again else ():
        for name in again.intersection(names):
            of.setdefault(name, set()).add(kind)
    found.shared.update(tuple(sorted(some)) for some in of.values())


def _note_schema(found: DeclaredTypes, names: list[str], kind: str) -> None:
    found.schema.update(names)
    if kind in v.CLASS_TYPES:
        found.declared.update(names)
    elif kind in v.PROPERTY_KINDS:
        for name in names:
            found.properties.setdefault(name, set()).add(v.PROPERTY_KINDS[kind])
    elif kind == v.OWL + "Ontology":
        found.ontologies.update(names)
    elif kind == v.RDFS + "Datatype":
        found.datatypes.update(names)
    if kind.startswith(v.OWL + "Deprecated"):
        found.deprecated.update(names)


# -- classes


class Hierarchy:
    """What stands below what: `stated` by rdfs:subClassOf between names, `defined` by reading an
    expression. "A is a B with …" puts A below B, "A is a B or a C" puts B and C below A."""

    def __init__(self, reader: StoreReader, datatypes: set[str]) -> None:
        self._reader, self._datatypes = reader, datatypes
        self.stated: Edges = defaultdict(set)
        self.defined: Edges = defaultdict(set)
        self.equivalents: Edges = defaultdict(set)
        self.definitions: set[str] = set()
        for subject, value in reader.pairs(v.SUB_CLASS):
            if self._is_class(subject):
                if isinstance(value, NamedNode):
                    self.stated[subject.value].add(value.value)
                else:
                    self._put_below_parts(subject.value, value)
        for subject, value in reader.pairs(v.OWL + "equivalentClass"):
            self._read_equivalence(subject, value)
        for predicate in ("intersectionOf", "unionOf", "oneOf", "complementOf"):
            for subject, _ in reader.pairs(v.OWL + predicate):
                if self._is_class(subject):
                    self._define(subject.value, subject)
        for subject, parts in reader.pairs(v.OWL + "disjointUnionOf"):
            if isinstance(subject, NamedNode):
                self.definitions.add(subject.value)
                for part in named_members(reader, parts):
                    self.defined[part].add(subject.value)

    def _is_class(self, node: object) -> TypeGuard[NamedNode]:
        return isinstance(node, NamedNode) and node.value not in self._datatypes

    def _read_equivalence(self, one: object, two: object) -> None:
        if not isinstance(one, NamedNode):
            one, two = two, one
        if not self._is_class(one):
            return
        if isinstance(two, NamedNode):
            if one != two:
                self.equivalents[one.value].add(two.value)
                self.equivalents[two.value].add(one.value)
        else:
            self._define(one.value, two)

    def _define(self, iri: str, expression: object) -> None:
        self.definitions.add(iri)
        self._put_below_parts(iri, expression)
        for union in self._reader.objects(expression, v.OWL + "unionOf"):
            for part in named_members(self._reader, union):
                self.defined[part].add(iri)

    def _put_below_parts(self, iri: str, expression: object) -> None:
        self.defined[iri] |= self._reader.parts_of(expression)


def _find_used(reader: StoreReader, types: DeclaredTypes) -> set[str]:
    """What is used as a class; no datatype, and nothing of RDF and OWL."""
    found: set[str] = set()
    for pattern in _USED:
        found |= reader.named_values(pattern)
    datatypes = types.datatypes - types.declared
    return {
        iri
        for iri in found - datatypes
        if not (is_machinery(iri) or iri.startswith(_DATATYPES) or iri.endswith("Literal"))
    }


def read_classes(reader: StoreReader, types: DeclaredTypes) -> dict[str, Any]:
    """Classes, supers, subs, equivalents, disjoint groups, roots, instances."""
    found = Hierarchy(reader, types.datatypes - types.declared)
    groups, property_groups = _read_disjoint(reader)
    supers = _edges(
        (iri, above)
        for edges in (found.stated, found.defined)
        for iri, others in edges.items()
        for above in others
    )
    seen = types.declared | types.instances.keys() | supers.keys() | found.equivalents.keys()
    seen |= found.definitions | _find_used(reader, types)
    classes = {i: types.instances.get(i, 0) for i in sorted(seen.union(*supers.values(), *groups))}
    tops = {iri: others - v.TOPS - {iri} for iri, others in supers.items()}
    shared = share_parents(tops, found.equivalents)
    above = _sorted_edges(tops | shared)
    below = _sorted_edges(_edges((end, start) for start, ends in above.items() for end in ends))
    equivalents = _sorted_edges(found.equivalents)
    return {
        "classes": classes,
        "declared": sorted(types.declared),
        "supers": above,
        "subs": below,
        "defined_supers": _sorted_edges(
            {i: o - found.stated[i] - v.TOPS - {i} for i, o in found.defined.items()}
            | {iri: others - found.stated[iri] for iri, others in shared.items()}
        ),
        "definitions": sorted(found.definitions),
        "enumerated": _sorted_edges(types.enumerated),
        "equivalents": equivalents,
        "disjoint_groups": sorted(groups),
        "disjoint_property_groups": sorted(property_groups),
        "roots": find_roots(classes, types.declared, above, below, equivalents),
        "all_instances": count_instances(types, below, equivalents),
    }


def _read_disjoint(reader: StoreReader) -> tuple[Groups, Groups]:
    """Groups of classes, and of properties, that have nothing in common two by two."""
    classes: set[tuple[str, ...]] = set()
    properties: set[tuple[str, ...]] = set()
    for predicate, found in (("disjointWith", classes), ("propertyDisjointWith", properties)):
        for pair in reader.named_pairs(v.OWL + predicate):
            found.add(tuple(sorted(set(pair))))
    for group, members in reader.pairs(v.OWL + "members"):
        types = {node.value for node in reader.objects(group, v.TYPE) if type(node) is NamedNode}
        if v.OWL + "AllDisjointProperties" in types:
            properties.add(named_members(reader, members))
        elif v.OWL + "AllDifferent" not in types:
            classes.add(named_members(reader, members))
    for _, parts in reader.pairs(v.OWL + "disjointUnionOf"):
        classes.add(named_members(reader, parts))
    sides = (classes, properties)
    first, second = ([list(group) for group in side if len(group) > 1] for side in sides)
    return first, second


def named_members(reader: StoreReader, head: object) -> tuple[str, ...]:
    """The IRIs in an RDF list, each once."""
    return tuple(
        sorted({node.value for node in reader.collection(head) if isinstance(node, NamedNode)})
    )


def count_instances(
    types: DeclaredTypes, subs: Mapping[str, list[str]], equivalents: Mapping[str, list[str]]
) -> dict[str, int]:
    """Class → the things that are of it or of a class below it, each once, where those are more
    than its own. A thing of several classes is taken out again wherever two of them meet."""
    supers = _edges((end, start) for start, ends in subs.items() for end in ends)
    for iri, others in equivalents.items():
        supers[iri].update(others)
    above: dict[str, set[str]] = {}

    def reach(iri: str) -> set[str]:
        if iri not in above:
            above[iri] = set()
            reach_all(iri, supers, above[iri])
        return above[iri]

    total: Counter[str] = Counter()
    for iri, number in types.instances.items():
        for each in reach(iri):
            total[each] += number
    for kinds, number in types.shared.items():
        for each, met in Counter(up for kind in kinds for up in reach(kind)).items():
            total[each] -= (met - 1) * number
    return {iri: n for iri, n in sorted(total.items()) if n != types.instances[iri]}


# -- properties


def read_properties(reader: StoreReader, types: DeclaredTypes) -> dict[str, Any]:
    """Properties with use, kinds and traits, domains, ranges, hierarchy and inverses."""
    doms, rngs = _read_sides(reader, "domain"), _read_sides(reader, "range")
    supers = _edges(reader.named_pairs(v.SUB_PROPERTY))
    inverses = _both_ways(_read_inverses(reader, types))
    same = _both_ways(
        pair for pair in reader.named_pairs(v.OWL + "equivalentProperty") if pair[0] != pair[1]
    )
    used = set(reader.pred_freq).union(*map(reader.named_values, _OF_PROPERTIES))
    in_use = {iri for iri in used if not is_machinery(iri)}
    seen = in_use.union(types.properties, doms, rngs, supers, inverses, same, *supers.values())
    found: dict[str, Any] = {
        "properties": {iri: reader.pred_freq.get(iri, 0) for iri in sorted(seen)},
        "super_properties": _sorted_edges({iri: up - {iri} for iri, up in supers.items()}),
        "inverses": _sorted_edges(inverses),
        "equivalent_properties": _sorted_edges(same),
        "declared_properties": sorted(types.properties),
        "kinds": {},
        "guessed": [],
        "traits": {},
    }
    for key, groups in (("dom", doms), ("rng", rngs)):
        flat = {iri: sorted(set[str]().union(*groups[iri])) for iri in sorted(groups)}
        found[f"{key}s"] = flat
        found[f"{key}_groups"] = {i: groups[i] for i, names in flat.items() if len(names) > 1}
    _note_kinds(reader, types, found)
    return found


def _read_inverses(reader: StoreReader, types: DeclaredTypes) -> Iterator[tuple[str, str]]:
    """By OWL's and schema.org's predicates, and by one that the file calls so."""
    for name in v.INVERSE_OF:
        yield from reader.named_pairs(name)
    properties = types.properties.keys() | reader.pred_freq.keys()
    for name in reader.pred_freq:
        if local_name(name) == v.INVERSE_NAME and name not in v.INVERSE_OF:
            yield from (pair for pair in reader.named_pairs(name) if properties.issuperset(pair))


def _note_kinds(reader: StoreReader, types: DeclaredTypes, found: dict[str, Any]) -> None:
    """The kind of every property, stated or guessed, and its traits."""
    for iri in found["properties"]:
        said = types.properties.get(iri, set()) | (
            {"object"} if iri in found["inverses"] else set()
        )
        stated = _stated_kind(said)
        kind = stated or _guess_kind(reader, found["rngs"].get(iri, []), iri)
        found["kinds"][iri] = kind
        if kind != (stated or "property"):
            found["guessed"].append(iri)
        if traits := sorted(said - {"object", "datatype", "annotation", ""}):
            found["traits"][iri] = traits


def _read_sides(reader: StoreReader, side: str) -> dict[str, Groups]:
    found: dict[str, Groups] = {}
    for subject, value in reader.pairs(v.RDFS + side):
        if isinstance(subject, NamedNode):
            found.setdefault(subject.value, []).extend(
                group for group in reader.groups(value) if group
            )
    included = _edges(
        pair for predicate in _INCLUDES[side] for pair in reader.named_pairs(predicate)
    )
    for iri, members in included.items():
        found.setdefault(iri, []).append(sorted(members))
    return {
        iri: sorted(map(list, {tuple(group) for group in groups}))
        for iri, groups in found.items()
        if groups
    }


def _stated_kind(said: set[str]) -> str:
    """The kind that the file says, or that follows from what it says; '' for none."""
    stated = (kind for kind in ("object", "datatype", "annotation") if kind in said)
    return next(stated, "object" if said & v.OBJECT_ONLY else "")


def _guess_kind(reader: StoreReader, ranges: list[str], iri: str) -> str:
    """The kind that a property seems to be, by its range or its use."""
    if any(name != v.RDFS + "Resource" for name in ranges):
        return "datatype" if all(name.startswith(_DATATYPES) for name in ranges) else "object"
    if is_machinery(iri):
        return "property"
    value = reader.some_object(iri)
    return "property" if value is None else "datatype" if isinstance(value, Literal) else "object"


# -- out of use


def read_deprecated(
    reader: StoreReader, types: DeclaredTypes, kinds: Mapping[str, str]
) -> dict[str, Any]:
    """What is deprecated and what takes its place; the plain forms of qualified properties."""
    found = set(types.deprecated)
    for iri, text, _ in reader.texts(v.OWL + "deprecated"):
        if text.strip().lower() in ("true", "1"):
            found.add(iri)
    called = [iri for iri in reader.pred_freq if local_name(iri) in v.REPLACED_BY_NAMES]
    replacing = dict.fromkeys((*v.REPLACED_BY, *called))
    replaced = _edges(pair for predicate in replacing for pair in reader.named_pairs(predicate))
    typed = (types.schema, types.individuals)
    gone = set[str]()  # a newer release names them, but no longer says what they are
    for new, old in reader.named_pairs(v.REPLACES):
        replaced[old].add(new)
        gone.update({old}.difference(*typed))
    for predicate in v.SUPERSEDED_BY:
        found.update(iri for iri, _ in reader.named_pairs(predicate))
    for iri, text, _ in reader.texts(v.OBO + "IAO_0100001"):
        if text.startswith(_WEB):
            replaced[iri].add(text)
    return {
        "deprecated": sorted(found),
        "replaced_by": _sorted_edges({i: replaced[i] for i in replaced.keys() & (found | gone)}),
        "plain_forms": _read_plain_forms(reader, kinds),
    }


def _read_plain_forms(reader: StoreReader, kinds: Mapping[str, str]) -> dict[str, str]:
    forms = [iri for iri in reader.pred_freq if local_name(iri) == "unqualifiedForm"]
    pairs = sorted(
        (pair for predicate in forms for pair in reader.named_pairs(predicate)), reverse=True
    )
    return {one: two for one, two in pairs if kinds.get(one) == kinds.get(two) == "object"}


# -- maps


def _edges(pairs: Iterable[tuple[str, str]]) -> Edges:
    found: Edges = defaultdict(set)
    for start, end in pairs:
        found[start].add(end)
    return found


def _both_ways(pairs: Iterable[tuple[str, str]]) -> Edges:
    return _edges(edge for one, two in pairs for edge in ((one, two), (two, one)))


def _sorted_edges(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {iri: sorted(set(others)) for iri, others in sorted(edges.items()) if others}
