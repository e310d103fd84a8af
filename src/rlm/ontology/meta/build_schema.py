"""The parts of GraphMeta that describe the schema: classes and their hierarchy, properties, what is
out of use."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pyoxigraph import Literal, NamedNode

from rlm.ontology import vocabulary as v
from rlm.ontology.meta.build_read import Draft, Reader, Types
from rlm.ontology.terms import local_name

Edges = defaultdict[str, set[str]]
Groups = list[list[str]]
_INCLUDES = {side: [f"{base}{side}Includes" for base in v.SCHEMA] for side in ("domain", "range")}
_DATATYPES = (
    v.XSD,
    v.RDFS + "Literal",
    v.RDF + "langString",
    v.RDF + "PlainLiteral",
    v.RDF + "XMLLiteral",
)


# -- classes


def add_classes(reader: Reader, types: Types, meta: Draft) -> None:
    """Classes, supers, subs, equivalents, disjoint groups, roots."""
    supers: Edges = defaultdict(set)
    equivalents: Edges = defaultdict(set)
    _read_subclasses(reader, supers, equivalents)
    groups = _read_disjoint(reader, supers)
    seen = types.declared | types.instances.keys() | supers.keys() | equivalents.keys()
    seen = seen.union(*supers.values(), *groups)
    meta.classes = {iri: types.instances.get(iri, 0) for iri in sorted(seen)}
    meta.declared = sorted(types.declared)
    meta.supers = _frozen({iri: others - v.TOPS - {iri} for iri, others in supers.items()})
    meta.subs = _frozen(_turned(meta.supers))
    meta.equivalents = _frozen({iri: others - {iri} for iri, others in equivalents.items()})
    meta.disjoint_groups = sorted(groups)
    meta.roots = find_roots(meta, types.declared)


def _read_subclasses(reader: Reader, supers: Edges, equivalents: Edges) -> None:
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


def _read_disjoint(reader: Reader, supers: Edges) -> Groups:
    found = {
        tuple(sorted(pair)) for pair in reader.named(v.OWL + "disjointWith") if pair[0] != pair[1]
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


def _named_members(reader: Reader, head: object) -> tuple[str, ...]:
    return tuple(
        sorted({node.value for node in reader.collection(head) if isinstance(node, NamedNode)})
    )


def find_roots(meta: Draft, declared: set[str]) -> list[str]:
    """Classes with no named superclass: declared ones, and tops that others stand under.

    In a circle nobody is on top: then its smallest IRI is a root, so that every class is below some
    root. Where nothing is declared, every class in use without a superclass is one.
    """
    known = [
        iri for iri in meta.classes if iri in declared or iri in meta.subs or iri in meta.supers
    ]
    roots = [iri for iri in known or meta.classes if not meta.supers.get(iri) and iri not in v.TOPS]
    reached: set[str] = set()
    for root in roots:
        _reach(root, meta.subs, reached)
    for iri in known:
        if iri not in reached and iri not in v.TOPS:
            root = _top_of_circle(iri, meta.supers)
            roots.append(root)
            _reach(root, meta.subs, reached)
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


def add_properties(reader: Reader, types: Types, meta: Draft) -> None:
    """Properties with use, kinds and traits, domains, ranges, hierarchy and inverses."""
    doms, rngs = (_read_sides(reader, side) for side in ("domain", "range"))
    supers = _edges(reader.named(v.SUB_PROPERTY))
    inverses = _edges(
        pair for one, two in reader.named(v.OWL + "inverseOf") for pair in ((one, two), (two, one))
    )
    in_use = {iri for iri in reader.pred_freq if not v.is_machinery(iri)}
    seen = in_use.union(types.properties, doms, rngs, supers, inverses, *supers.values())
    meta.properties = {iri: reader.pred_freq.get(iri, 0) for iri in sorted(seen)}
    meta.super_properties = _frozen({iri: others - {iri} for iri, others in supers.items()})
    meta.inverses = _frozen(inverses)
    for groups, flat, kept in (
        (doms, meta.doms, meta.dom_groups),
        (rngs, meta.rngs, meta.rng_groups),
    ):
        for iri in sorted(groups):
            flat[iri] = sorted({name for group in groups[iri] for name in group})
            if len(flat[iri]) > 1:
                kept[iri] = groups[iri]
    for iri in meta.properties:
        said = types.properties.get(iri, set())
        if iri in meta.inverses:
            said = {"object", *said}
        meta.kinds[iri] = _stated_kind(said) or _kind(reader, meta.rngs.get(iri, []), iri)
        if meta.kinds[iri] != (_stated_kind(said) or "property"):
            meta.guessed.append(iri)
        traits = sorted(said - {"object", "datatype", "annotation", ""})
        if traits:
            meta.traits[iri] = traits


def _read_sides(reader: Reader, side: str) -> dict[str, Groups]:
    found: dict[str, Groups] = {}
    for subject, value in reader.pairs(v.RDFS + side):
        if isinstance(subject, NamedNode):
            found.setdefault(subject.value, []).extend(
                group for group in reader.groups(value) if group
            )
    included = _edges(pair for predicate in _INCLUDES[side] for pair in reader.named(predicate))
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


def _kind(reader: Reader, ranges: list[str], iri: str) -> str:
    """The kind that a property seems to be, by its range or its use."""
    if any(name != v.RDFS + "Resource" for name in ranges):
        return "datatype" if all(name.startswith(_DATATYPES) for name in ranges) else "object"
    if v.is_machinery(iri):
        return "property"
    value = reader.some_object(iri)
    return "property" if value is None else "datatype" if isinstance(value, Literal) else "object"


# -- out of use


def add_deprecated(reader: Reader, types: Types, meta: Draft) -> None:
    """What is deprecated and what takes its place; the plain forms of qualified properties."""
    found = set(types.deprecated)
    for iri, text, _ in reader.texts(v.OWL + "deprecated"):
        if text.strip().lower() in ("true", "1"):
            found.add(iri)
    meta.deprecated = sorted(found)
    replaced = _edges(pair for predicate in v.REPLACED_BY for pair in reader.named(predicate))
    meta.replaced_by = _frozen({iri: others for iri, others in replaced.items() if iri in found})
    forms = [iri for iri in reader.pred_freq if local_name(iri) == "unqualifiedForm"]
    pairs = sorted((pair for predicate in forms for pair in reader.named(predicate)), reverse=True)
    objects = {iri for iri, kind in meta.kinds.items() if kind == "object"}
    meta.plain_forms = {iri: plain for iri, plain in pairs if {iri, plain} <= objects}


# -- maps


def _edges(pairs: Iterable[tuple[str, str]]) -> Edges:
    found: Edges = defaultdict(set)
    for start, end in pairs:
        found[start].add(end)
    return found


def _turned(edges: Mapping[str, Iterable[str]]) -> Edges:
    return _edges((end, start) for start, ends in edges.items() for end in ends)


def _frozen(edges: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {iri: sorted(set(others)) for iri, others in sorted(edges.items()) if others}
