"""Where terms stand: trees, what is related to a term, lists of terms, two terms side by side.

All of it is read from GraphMeta, so that no view can disagree with another. `by: definition` marks
an edge that no statement gives but a definition (`rlm.ontology.meta.graph_meta` says how).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from rlm.errors import OntologyError
from rlm.ontology.labels import cut, squeeze
from rlm.ontology.meta.graph_meta import NONE, GraphMeta, IRISet, Map
from rlm.ontology.terms import is_machinery, local_name
from rlm.ontology.views.links import opaque_labels
from rlm.ontology.views.listing import Window, one_of
from rlm.ontology.vocabulary import TOPS

DEEPEST = 100
LABEL_CHARS = 80
CLASS_RELATIONS = (
    *("subclasses", "superclasses", "equivalents", "disjoint", "properties", "range_of"),
)
PROPERTY_RELATIONS = (
    *("subproperties", "superproperties", "equivalents", "disjoint", "inverses", "domain", "range"),
)
OTHER_RELATIONS = ("types", "replaced_by", "replaces", "broader", "narrower")
RELATIONS = tuple(dict.fromkeys((*CLASS_RELATIONS, *PROPERTY_RELATIONS, *OTHER_RELATIONS)))
PROPERTY_KINDS = ("object", "datatype", "annotation")
TRAITS = (
    *("functional", "inverse functional", "transitive", "symmetric", "asymmetric", "reflexive"),
    "irreflexive",
)
TERM_KINDS = (
    *("classes", "properties", *PROPERTY_KINDS, *TRAITS, "individuals", "roots", "leaves"),
    *("deprecated", "defined", "undeclared", "imports", "ontologies"),
)


def name_row(meta: GraphMeta, iri: str, lang: str | None = None, **more: Any) -> dict[str, Any]:
    """A term in a list: its name, its label where that says more, and what else is not empty."""
    label = meta.label(iri, lang)
    said = {"label": cut(label, LABEL_CHARS)} if squeeze(label) != squeeze(local_name(iri)) else {}
    old = {"deprecated": True} if iri in meta.deprecated else {}
    return {"name": meta.curie(iri), **said, **{k: v for k, v in more.items() if v}, **old}


def by_label(meta: GraphMeta, iris: Iterable[str], lang: str | None = None) -> list[str]:
    """In the order in which people look for them."""
    return sorted(iris, key=lambda iri: (meta.label(iri, lang).casefold(), iri))


def is_out_of_use(meta: GraphMeta, root: str) -> bool:
    """Whether a root is deprecated and nothing stands below it: such are counted apart."""
    return root in meta.deprecated and root not in meta.subs


# -- trees


class TreeRow(NamedTuple):
    iri: str
    depth: int
    parent: str | None
    repeated: bool


def tree(
    meta: GraphMeta,
    iri: str | None,
    window: Window,
    *,
    depth: int,
    direction: str,
    lang: str | None = None,
) -> dict[str, Any]:
    """The classes or properties below (or above) a term, one row each, depth first. What stands
    below an equivalent (`by: equivalence`) stands below the term too. What stands in several
    places is opened in the first and `repeated` in the others. Deprecated roots with nothing below
    them are counted only, and so is what stands beyond the depth."""
    check_depth(depth)
    down = one_of(direction, ("down", "up"), "direction") == "down"
    own, same = _edges_of(meta, iri, down)
    edges = _share_ends(own, same)
    lone = {iri for iri in meta.roots if is_out_of_use(meta, iri)}
    tops = set(meta.roots) - lone if iri is None else edges.get(iri, NONE)
    rows = list(walk(meta, iri, edges, depth, by_label(meta, tops, lang), lang))

    def show(row: TreeRow) -> dict[str, Any]:
        said: dict[str, Any] = {"depth": row.depth, "by": ""}
        if row.parent is not None and row.iri not in own.get(row.parent, NONE):
            said["by"] = "equivalence"
        elif row.parent is not None:
            ends = (row.iri, row.parent) if down else (row.parent, row.iri)
            said["by"] = "definition" if meta.follows_by_definition(*ends) else ""
        said |= {"below": len(meta.below(row.iri)), "instances": meta.instances(row.iri)}
        return name_row(meta, row.iri, lang, **said, repeated=row.repeated)

    head = _tree_head(meta, iri, len(lone), lang)
    if depth == DEEPEST and (levels := _count_levels(edges, tops)) is not None:
        head["levels"] = levels
    if more := len(_reached(edges, tops).difference(row.iri for row in rows)):
        head["more_below" if down else "more_above"] = more
    return window.page(rows, show, **head)


def check_depth(depth: object) -> None:
    """Raises OntologyError for what is no depth of a tree."""
    if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= DEEPEST:
        raise OntologyError(f"depth is {depth!r}; it must be a whole number from 1 to {DEEPEST}")


def _tree_head(meta: GraphMeta, iri: str | None, lone: int, lang: str | None) -> dict[str, Any]:
    if iri is not None:
        counts = {"below": len(meta.below(iri)), "instances": meta.instances(iri)}
        return name_row(meta, iri, lang) | {"kind": meta.kind(iri)} | counts
    below = len(_reached(meta.subs, meta.roots)) - len(meta.roots)
    head = {"kind": "roots", "below": below, "instances": meta.individuals.count}
    return head | ({"deprecated_roots": lone} if lone else {})


def _reached(edges: Map, tops: Iterable[str]) -> set[str]:
    """All that these lead to, and these."""
    found, todo = set(tops), list(tops)
    while todo:
        fresh = edges.get(todo.pop(), NONE) - found
        found |= fresh
        todo += fresh
    return found


def _count_levels(edges: Map, tops: Iterable[str]) -> int | None:
    """The terms on the longest way from one of these; None where a cycle makes it endless."""
    level, number = set(tops), 0
    while level and number < DEEPEST:
        level = {end for iri in level for end in edges.get(iri, NONE)}
        number += 1
    return None if level else number


def _edges_of(meta: GraphMeta, iri: str | None, down: bool) -> tuple[Map, Map]:
    """The edges of a tree, and what is equivalent in it."""
    if iri is None or iri in meta.classes:
        return (meta.subs if down else meta.supers), meta.equivalents
    if iri in meta.properties:
        edges = meta.sub_properties if down else meta.super_properties
        return edges, meta.equivalent_properties
    raise OntologyError(f"{meta.curie(iri)} is no class and no property: it has no tree")


def _share_ends(edges: Map, same: Map) -> Map:
    """The edges with those of a term's equivalents as its own, but for these themselves."""
    found, done = dict(edges), set[str]()
    for iri in same:
        if iri not in done:
            done |= (group := _reached(same, [iri]))
            ends = set[str]().union(*(edges.get(each, NONE) for each in group)) - group
            found |= {each: IRISet(ends | edges.get(each, NONE)) for each in group if ends}
    return found


def walk(
    meta: GraphMeta,
    iri: str | None,
    edges: Mapping[str, IRISet],
    depth: int,
    tops: list[str],
    lang: str | None,
) -> Iterator[TreeRow]:
    opened = set() if iri is None else {iri}
    todo = [(each, 1, iri) for each in reversed(tops)]
    while todo:
        here, level, parent = todo.pop()
        under = by_label(meta, edges.get(here, NONE), lang) if level < depth else []
        repeated = here in opened and bool(edges.get(here))
        yield TreeRow(here, level, parent, repeated)
        if here not in opened:
            opened.add(here)
            todo += [(each, level + 1, here) for each in reversed(under)]


# -- what is related to a term


class Related(NamedTuple):
    """What is asked of a term. `types`: what the graph says it is."""

    relation: str
    all: bool = False
    types: tuple[str, ...] = ()
    lang: str | None = None


def related(meta: GraphMeta, iri: str, window: Window, asked: Related) -> dict[str, Any]:
    """The terms that stand in one relation to this one."""
    relation, lang = asked.relation, asked.lang
    one_of(relation, RELATIONS, "relation")
    _check_relation(meta, iri, relation)
    direct = relations_of(meta, asked.types)[relation].get(iri, NONE)
    found = _widen(meta, iri, relation, direct) if asked.all else by_label(meta, direct, lang)

    def show(other: str) -> dict[str, Any]:
        pair = (other, iri) if relation == "subclasses" else (iri, other)
        defined = relation in ("subclasses", "superclasses") and meta.follows_by_definition(*pair)
        defined |= relation == "types" and other in meta.enumerated_in.get(iri, NONE)
        kind = meta.kind(other) if relation in ("types", "replaced_by", "replaces") else ""
        return name_row(meta, other, lang, by="definition" if defined else "", kind=kind)

    head: dict[str, Any] = {"name": meta.curie(iri), "relation": relation}
    if asked.all:
        head["all"] = True
    if relation in ("domain", "range"):
        head |= {"union": True} if meta.is_union(iri, relation) else {}
        groups = (meta.dom_groups if relation == "domain" else meta.rng_groups).get(iri)
        head["text"] = group_text(meta, groups or [[each] for each in direct])
    return window.page(found, show, **head)


def relations_of(meta: GraphMeta, types: Iterable[str] = ()) -> dict[str, Mapping[str, IRISet]]:
    """Relation → the terms that stand in it, by the term. `types`: of any one term."""
    return {
        "subclasses": meta.subs,
        "superclasses": meta.supers,
        "subproperties": meta.sub_properties,
        "superproperties": meta.super_properties,
        "equivalents": {**meta.equivalent_properties, **meta.equivalents},
        "disjoint": _Lookup(meta.disjoint_with),
        "inverses": meta.inverses,
        "domain": meta.doms,
        "range": meta.rngs,
        "properties": meta.domain_of,
        "range_of": meta.range_of,
        "replaced_by": meta.replaced_by,
        "replaces": meta.replaces,
        "types": _Lookup(lambda _: IRISet(types)),
    }


class _Lookup(dict[str, IRISet]):
    """A map whose values are found when they are asked for."""

    def __init__(self, find: Callable[[str], IRISet]) -> None:
        super().__init__()
        self._find = find

    def get(self, iri: str, default: Any = NONE) -> Any:
        return self._find(iri)


def _check_relation(meta: GraphMeta, iri: str, relation: str) -> None:
    fitting: list[str] = []
    if iri in meta.classes:
        fitting += CLASS_RELATIONS
    if iri in meta.properties:
        fitting += PROPERTY_RELATIONS
    fitting = list(dict.fromkeys((*fitting, *OTHER_RELATIONS)))
    if relation not in fitting:
        what = f"{meta.curie(iri)} is {meta.kind(iri)}, which has no {relation}"
        raise OntologyError(f"{what}; it can be asked for {', '.join(fitting)}")


def _widen(meta: GraphMeta, iri: str, relation: str, direct: IRISet) -> list[str]:
    """At any depth, or what is inherited, nearest first."""
    if relation in ("subclasses", "subproperties"):
        return meta.below(iri)
    if relation in ("superclasses", "superproperties"):
        return meta.above(iri)
    if relation == "disjoint":
        return meta.all_disjoint_with(iri)
    found = list(direct)
    if relation in ("replaced_by", "replaces"):
        edges = relations_of(meta)[relation]
        for each in found:  # which grows
            found += edges.get(each, NONE) - {*found, iri}
        return found
    if relation not in ("properties", "range_of"):
        return found
    for top in (*meta.equivalents.get(iri, NONE), *meta.above(iri)):
        found += relations_of(meta)[relation].get(top, NONE)
    return [each for each in dict.fromkeys(found) if each != iri]


def group_text(meta: GraphMeta, groups: list[list[str]]) -> str:
    """`A`, `A or B`, `A and (B or C)`; '' for nothing."""
    parts = [" or ".join(map(meta.curie, group)) for group in groups]
    if len(parts) > 1:
        parts = [f"({part})" if " or " in part else part for part in parts]
    return " and ".join(parts)


# -- lists of terms


def terms(
    meta: GraphMeta,
    window: Window,
    *,
    kind: str,
    prefix: str | None,
    only: str = "",
    lang: str | None = None,
) -> dict[str, Any]:
    """The terms of one kind, all of them but for individuals, of which GraphMeta holds some.
    `only`: those that are of these kinds too, with a blank between. OntologyError where some
    individuals would have to stand for all."""
    one_of(kind, TERM_KINDS, "kind")
    found = list(_terms_of_kind(meta, kind))
    if kind == "individuals" and (prefix or only) and not meta.individuals.complete:
        held = f"{len(found):,} of {meta.individuals.count:,} individuals are held here"
        raise OntologyError(f"{held}: ask a query which of them are meant")
    found = by_label(meta, _filter_terms(meta, found, kind, only, prefix or ""), lang)
    if kind == "roots":
        found.sort(key=lambda iri: is_out_of_use(meta, iri))

    def show(iri: str) -> dict[str, Any]:
        count = meta.classes.get(iri, 0) or meta.properties.get(iri, 0)
        use = [meta.curie(each) for each in meta.replaced_by.get(iri, NONE)]
        use = use if iri in meta.deprecated else []
        return {"iri": iri, **name_row(meta, iri, lang, count=count, use=use)}

    page = window.page(found, show, kind=kind)
    if kind == "individuals" and not meta.individuals.complete:
        page["total"] = meta.individuals.count
        page["note"] = f"{len(meta.individuals.sample):,} are listed: ask for instances of a class"
    return page


def _filter_terms(
    meta: GraphMeta, found: list[str], kind: str, only: str, prefix: str
) -> list[str]:
    declared = {"classes": meta.declared, "properties": meta.declared_properties}
    for other in only.split():
        one_of(other, ("declared", "current", *TERM_KINDS), "only")
        if other == "current":
            found = [iri for iri in found if iri not in meta.deprecated]
            continue
        is_kind = other != "declared"
        named = _terms_of_kind(meta, other) if is_kind else declared.get(kind, meta.all_declared)
        known = set(named)
        found = [iri for iri in found if iri in known]
    if prefix:
        start = prefix if ":" in prefix else f"{prefix}:"
        whole = prefix.strip("<>") if ":" in prefix else "\0"
        found = [i for i in found if meta.curie(i).startswith(start) or i.startswith(whole)]
    return found


def _terms_of_kind(meta: GraphMeta, kind: str) -> Iterable[str]:
    if kind in PROPERTY_KINDS:
        return (i for i in meta.declared_properties - meta.guessed if meta.kinds[i] == kind)
    if kind in TRAITS:
        return (iri for iri, traits in meta.traits.items() if kind in traits)
    every = (*meta.classes, *meta.properties)
    declared = meta.all_declared
    lists: dict[str, Callable[[], Iterable[str]]] = {
        "classes": lambda: meta.own_classes,
        "properties": lambda: meta.properties,
        "individuals": lambda: meta.individuals.sample,
        "roots": lambda: meta.roots,
        "leaves": lambda: (i for i in meta.own_classes if i not in meta.subs and i not in TOPS),
        "deprecated": lambda: meta.deprecated,
        "defined": lambda: meta.definitions | meta.equivalents.keys(),
        "undeclared": lambda: (
            iri for iri in dict.fromkeys(every) if iri not in declared and not is_machinery(iri)
        ),
        "imports": lambda: meta.imports,
        "ontologies": lambda: meta.ontology_iris,
    }
    return lists[kind]()


# -- two terms


def compare(
    meta: GraphMeta,
    pair: tuple[str, str],
    facts: Mapping[str, set[str]],
    types: Mapping[str, Iterable[str]],
    stated: str = "",
    lang: str | None = None,
) -> dict[str, Any]:
    """How two terms stand to each other, and what they have in common. `facts`: what the graph
    says of each, as texts. `stated`: what it says of the two that is not in GraphMeta. `labels`: of
    the names that are numbers."""
    one, two = pair
    above_one, above_two = ([iri, *meta.above(iri)] for iri in (one, two))
    shared_above = [iri for iri in above_one if iri in set(above_two)]
    nearest = [
        iri
        for iri in shared_above
        if not any(other != iri and iri in meta.above(other) for other in shared_above[:50])
    ]
    own = [facts[iri] | schema_facts(meta, iri) for iri in pair]
    relation = _relation(meta, one, two, above_one, above_two)
    if stated and relation not in ("same", "equivalent"):
        relation = stated
    if relation == "unrelated":
        relation = _relation_of_things(meta, pair, types)
    found: dict[str, Any] = {
        "x": meta.curie(one),
        "y": meta.curie(two),
        "kinds": [meta.kind(iri, types[iri]) for iri in pair],
        "relation": relation,
        "nearest_common": [meta.curie(iri) for iri in nearest],
        "shared": sorted(own[0] & own[1]),
        "only_x": sorted(own[0] - own[1]),
        "only_y": sorted(own[1] - own[0]),
    }
    labels = opaque_labels(meta, str(found), lang)
    return found | ({"labels": labels} if labels else {})


def _relation_of_things(
    meta: GraphMeta, pair: tuple[str, str], types: Mapping[str, Iterable[str]]
) -> str:
    """Of a thing and a class, or of two things; siblings are stated to be of one class."""
    stated = [{kind for kind in types[iri] if not is_machinery(kind)} for iri in pair]
    for kinds, other, name in zip(
        stated, reversed(pair), ("instance of", "has instance"), strict=True
    ):
        same = {each for kind in kinds for each in meta.equivalents.get(kind, NONE)}
        if other in kinds | same or any(other in meta.above(kind) for kind in kinds):
            return name
    return "siblings" if stated[0] & stated[1] else "unrelated"


def _relation(
    meta: GraphMeta, one: str, two: str, above_one: list[str], above_two: list[str]
) -> str:
    if one == two:
        return "same"
    if two in {**meta.equivalent_properties, **meta.equivalents}.get(one, NONE):
        return "equivalent"
    if two in above_one:
        return "below"
    if one in above_two:
        return "above"
    if two in meta.inverses.get(one, NONE):
        return "inverse"
    if two in meta.all_disjoint_with(one):
        return "disjoint"
    if two in meta.replaced_by.get(one, NONE):
        return "replaced by"
    if one in meta.replaced_by.get(two, NONE):
        return "replaces"
    direct = {**meta.super_properties, **meta.supers}
    return "siblings" if direct.get(one, NONE) & direct.get(two, NONE) else "unrelated"


def schema_facts(meta: GraphMeta, iri: str) -> set[str]:
    """What GraphMeta holds of a term, each as a short text."""
    names = {
        "rdfs:subClassOf": meta.supers,
        "rdfs:subPropertyOf": meta.super_properties,
        "rdfs:domain": meta.doms,
        "rdfs:range": meta.rngs,
        "owl:inverseOf": meta.inverses,
        "owl:equivalentClass": meta.equivalents,
        "owl:equivalentProperty": meta.equivalent_properties,
    }
    ends = [(name, end) for name, edges in names.items() for end in edges.get(iri, NONE)]
    for same in (iri, *meta.equivalents.get(iri, NONE)):
        ends += [("has property", end) for end in meta.domain_of.get(same, NONE)]
        ends += [("is range of", end) for end in meta.range_of.get(same, NONE)]
    found = {f"{name} {meta.curie(end)}" for name, end in ends}
    return found | {f"is {trait}" for trait in meta.traits.get(iri, ())}
