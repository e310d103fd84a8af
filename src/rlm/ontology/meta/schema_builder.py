"""The schema in a GraphMeta: types, classes, properties, and what is out of use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from pyoxigraph import Literal, NamedNode

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.store_reader import StoreReader
from rlm.ontology.terms import is_machinery, local_name

EXAMPLES = 3
Edges = defaultdict[str, set[str]]
Groups = list[list[str]]
_INCLUDES = {side: [f"{base}{side}Includes" for base in v.SCHEMA] for side in ("domain", "range")}
_RDF_TYPES = tuple(v.RDF + name for name in ("langString", "PlainLiteral", "XMLLiteral"))
_DATATYPES = (v.XSD, v.RDFS + "Literal", *_RDF_TYPES)


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
        self.schema: set[str] = set()  # everything typed as part of a schema


def read_types(reader: StoreReader) -> DeclaredTypes:
    found = DeclaredTypes()
    for kind, names, nameless in reader.members():
        if kind in v.META_TYPES:
            _note_schema(found, names, kind)
            continue
        found.individuals.update(names)
        if kind != v.NAMED_INDIVIDUAL:
            found.instances[kind] += len(names) + nameless
            if names:
                found.examples[kind] = sorted(names)[:EXAMPLES]
    return found


def _note_schema(found: DeclaredTypes, names: list[str], kind: str) -> None:
    found.schema.update(names)
    if kind in v.CLASS_TYPES:
        found.declared.update(names)
    elif kind in v.PROPERTY_KINDS:
        for name in names:
            found.properties.setdefault(name, set()).add(v.PROPERTY_KINDS[kind])
    elif kind == v.OWL + "Ontology":
        found.ontologies.update(names)
    if kind.startswith(v.OWL + "Deprecated"):
        found.deprecated.update(names)


# -- classes


def read_classes(reader: StoreReader, types: DeclaredTypes) -> dict[str, Any]:
    """Classes, supers, subs, equivalents, disjoint groups, roots."""
    supers: Edges = defaultdict(set)
    equivalents: Edges = defaultdict(set)
    _read_subclasses(reader, supers, equivalents)
    groups = _read_disjoint(reader, supers)
    seen = types.declared | types.instances.keys() | supers.keys() | equivalents.keys()
    classes = {i: types.instances.get(i, 0) for i in sorted(seen.union(*supers.values(), *groups))}
    above = _sorted_edges({iri: others - v.TOPS - {iri} for iri, others in supers.items()})
    below = _sorted_edges(_edges((end, start) for start, ends in above.items() for end in ends))
    return {
        "classes": classes,
        "declared": sorted(types.declared),
        "supers": above,
        "subs": below,
        "equivalents": _sorted_edges({iri: two - {iri} for iri, two in equivalents.items()}),
        "disjoint_groups": sorted(groups),
        "roots": find_roots(classes, types.declared, above, below),
    }


def _read_subclasses(reader: StoreReader, supers: Edges, equivalents: Edges) -> None:
    for predicate in (v.SUB_CLASS, v.OWL + "equivalentClass"):
        for subject, value in reader.pairs(predicate):
            if not isinstance(subject, NamedNode):
                continue
            if predicate != v.SUB_CLASS and isinstance(value, NamedNode):
                equivalents[subject.value].add(value.value)
                equivalents[value.value].add(subject.value)
                continue
            # "A is a B with …" puts A below B, also when it is said as an equivalence.
            supers[subject.value].update(
                group[0] for group in reader.groups(value) if len(group) == 1
            )


def _read_disjoint(reader: StoreReader, supers: Edges) -> Groups:
    found = {
        tuple(sorted(pair))
        for pair in reader.named_pairs(v.OWL + "disjointWith")
        if pair[0] != pair[1]
    }
    for _, members in reader.pairs(v.OWL + "members"):
        found.add(_named_members(reader, members))
    for whole, parts in reader.pairs(v.OWL + "disjointUnionOf"):
        named = _named_members(reader, parts)
        found.add(named)
        if isinstance(whole, NamedNode):
            for part in named:
                supers[part].add(whole.value)
    return [list(group) for group in found if len(group) > 1]


def _named_members(reader: StoreReader, head: object) -> tuple[str, ...]:
    return tuple(
        sorted({node.value for node in reader.collection(head) if isinstance(node, NamedNode)})
    )


def find_roots(
    classes: Iterable[str],
    declared: set[str],
    supers: Mapping[str, list[str]],
    subs: Mapping[str, list[str]],
) -> list[str]:
    """Classes with no named superclass: declared ones, and tops that others stand under. In a
    circle its smallest IRI is a root, so that every class is below some root. Where nothing is
    declared, every class in use without a superclass is one."""
    known = [iri for iri in classes if iri in declared or iri in subs or iri in supers]
    roots = [iri for iri in known or classes if not supers.get(iri) and iri not in v.TOPS]
    reached: set[str] = set()
    for root in roots:
        _reach(root, subs, reached)
    for iri in known:
        if iri not in reached and iri not in v.TOPS:
            root = _top_of_circle(iri, supers)
            roots.append(root)
            _reach(root, subs, reached)
    return sorted(roots)


def _reach(start: str, subs: Mapping[str, list[str]], reached: set[str]) -> None:
    todo = [start]
    while todo:
        iri = todo.pop()
        if iri not in reached:
            reached.add(iri)
            todo += subs.get(iri, ())


def _top_of_circle(iri: str, supers: Mapping[str, list[str]]) -> str:
    trail: dict[str, int] = {}
    while iri not in trail:
        trail[iri] = len(trail)
        iri = supers[iri][0]
    return min(list(trail)[trail[iri] :])


# -- properties


def read_properties(reader: StoreReader, types: DeclaredTypes) -> dict[str, Any]:
    """Properties with use, kinds and traits, domains, ranges, hierarchy and inverses."""
    doms, rngs = _read_sides(reader, "domain"), _read_sides(reader, "range")
    supers, inverses = _edges(reader.named_pairs(v.SUB_PROPERTY)), _edges(())
    for one, two in reader.named_pairs(v.OWL + "inverseOf"):
        inverses[one].add(two)
        inverses[two].add(one)
    in_use = {iri for iri in reader.pred_freq if not is_machinery(iri)}
    seen = in_use.union(types.properties, doms, rngs, supers, inverses, *supers.values())
    found: dict[str, Any] = {
        "properties": {iri: reader.pred_freq.get(iri, 0) for iri in sorted(seen)},
        "super_properties": _sorted_edges({iri: up - {iri} for iri, up in supers.items()}),
        "inverses": _sorted_edges(inverses),
        "declared_properties": sorted(types.properties),
        "kinds": {},
        "guessed": [],
        "traits": {},
    }
    for key, groups in (("dom", doms), ("rng", rngs)):
        flat = {iri: sorted(set[str]().union(*groups[iri])) for iri in sorted(groups)}
        found[f"{key}s"] = flat
        found[f"{key}_groups"] = {i: groups[i] for i, names in flat.items() if len(names) > 1}
    for iri in found["properties"]:
        said = types.properties.get(iri, set()) | ({"object"} if iri in inverses else set())
        stated = _stated_kind(said)
        kind = stated or _guess_kind(reader, found["rngs"].get(iri, []), iri)
        found["kinds"][iri] = kind
        if kind != (stated or "property"):
            found["guessed"].append(iri)
        if traits := sorted(said - {"object", "datatype", "annotation", ""}):
            found["traits"][iri] = traits
    return found


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
    replaced = _edges(pair for predicate in v.REPLACED_BY for pair in reader.named_pairs(predicate))
    forms = [iri for iri in reader.pred_freq if local_name(iri) == "unqualifiedForm"]
    pairs = sorted(
        (pair for predicate in forms for pair in reader.named_pairs(predicate)), reverse=True
    )
    objects = {iri for iri, kind in kinds.items() if kind == "object"}
    return {
        "deprecated": sorted(found),
        "replaced_by": _sorted_edges({iri: to for iri, to in replaced.items() if iri in found}),
        "plain_forms": {iri: plain for iri, plain in pairs if {iri, plain} <= objects},
    }


# -- maps


def _edges(pairs: Iterable[tuple[str, str]]) -> Edges:
    found: Edges = defaultdict(set)
    for start, end in pairs:
        found[start].add(end)
    return found


def _sorted_edges(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {iri: sorted(set(others)) for iri, others in sorted(edges.items()) if others}
