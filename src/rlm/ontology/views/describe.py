"""One entity: what it is, and how it is linked. Both bounded; the counts are true."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import Label, cut, name_of, pick
from rlm.ontology.meta.graph_meta import NONE, GraphMeta, IRISet
from rlm.ontology.terms import local_name
from rlm.ontology.views.expressions import ASKED, restrictions, side_text
from rlm.ontology.views.links import add_labels, counts, links, read_texts, shown_name, types_of
from rlm.ontology.views.listing import Page, Window, check_limit
from rlm.ontology.views.resolve import resolve, resolve_property
from rlm.ontology.views.shapes import shapes_of

MOST_LINKS = 25
LISTED = 12
COMMENT_CHARS = 400
LABEL_CHARS = 120
SIDE_CHARS, MOST_SIDES = 200, 4
"""Of the comments of a property's domain and range: what counts as one is often told there."""
RESTRICTIONS = 5
DIRECTIONS = {"both": ("out", "in"), "out": ("out",), "in": ("in",)}
DIRECTIONS |= {"outgoing": DIRECTIONS["out"], "incoming": DIRECTIONS["in"]}
Texts = dict[str, list[Label]]
_LISTS = {v.OWL + name for name in ("disjointUnionOf", "hasKey", "propertyChainAxiom")}
_LISTS |= {v.OWL + name for name in ("intersectionOf", "unionOf", "oneOf")}
"""What leads to RDF lists, which `restrictions` reads."""
_SIDES = {"out": "outgoing", "in": "incoming"}


def describe_entity(
    engine: Engine,
    meta: GraphMeta,
    uri: str,
    *,
    limit: int = 20,
    lang: str | None = None,
    comment_chars: int = COMMENT_CHARS,
) -> dict[str, Any]:
    """Label, types, comment, a sample of what it points to, and the place of a term in the schema.
    `left_out` counts what lists leave out; what has no label is `unlabelled`."""
    limit = check_limit(limit, MOST_LINKS)
    iri = resolve(engine, meta, uri)
    texts = read_texts(engine, meta, iri)
    label, comment = _label(meta, texts, lang), _comment(meta, texts, lang)
    shown_elsewhere = {v.TYPE, *_text_predicates(meta), *_LISTS}
    listed = _Lists(meta, lang)
    incoming, types = counts(engine, iri, "in"), types_of(engine, meta, iri)
    found: dict[str, Any] = {
        "uri": iri,
        "curie": meta.curie(iri),
        "label": cut(label or name_of(iri), LABEL_CHARS),
        "kind": meta.kind(iri, types),
        **listed.cut_list("types", types, meta.curie),
        **listed.names("types_by_definition", meta.enumerated_in, iri),
        "comment": cut(comment, comment_chars),
        **listed.cut_list(
            "further_comments",
            [text for text in _comments(meta, texts, lang) if text != comment],
            lambda text: cut(text, comment_chars // 2),
        ),
    }
    if not label:
        found["unlabelled"] = True
    if iri in meta.deprecated:
        found["deprecated"] = True
        found |= listed.names("use", meta.replaced_by, iri)
    found |= listed.texts(texts)
    if iri in meta.classes:
        found |= _class(meta, iri, listed) | _not_plain(meta, iri, incoming)
        found["restrictions"] = _restrictions(engine, meta, iri, lang)
    if iri in meta.properties:
        found.setdefault("restrictions", _restrictions(engine, meta, iri, lang))
        found |= _property(meta, iri, listed)
        sides = {side: side_text(engine, meta, iri, side) for side in ("domain", "range")}
        found |= {f"{side}_expression": text for side, text in sides.items() if text}
    for key, names in zip(("shapes", "shape_paths"), shapes_of(engine, meta, iri), strict=True):
        found |= listed.cut_list(key, names, str)  # a class of the file's own kind may be no class
    outgoing = counts(engine, iri, "out")
    found["outgoing_sample"] = Page(
        links(engine, meta, iri, "out", most=limit, without=shown_elsewhere, lang=lang),
        sum(number for p, number in outgoing.items() if p not in shown_elsewhere),
    )
    found["outgoing_count"] = sum(outgoing.values())
    found["incoming_count"] = sum(incoming.values())
    found["left_out"] = listed.left_out
    always = ("types", "outgoing_sample")
    return {key: value for key, value in found.items() if value not in ([], {}) or key in always}


class LinkOptions(NamedTuple):
    predicate: str | None = None
    direction: str = "both"
    limit: int = MOST_LINKS
    lang: str | None = None


def probe_relationships(
    engine: Engine, meta: GraphMeta, uri: str, asked: LinkOptions
) -> dict[str, Any]:
    """Links in one or both directions: at most `limit` of each, and counts of all."""
    if asked.direction not in DIRECTIONS:
        raise OntologyError(f"direction is {asked.direction!r}; it can be both, out or in")
    limit, lang = check_limit(asked.limit, MOST_LINKS), asked.lang
    iri, prop = resolve(engine, meta, uri), None
    if asked.predicate is not None:
        prop = resolve_property(engine, meta, asked.predicate)
    label = cut(_label(meta, read_texts(engine, meta, iri), lang) or name_of(iri), LABEL_CHARS)
    found: dict[str, Any] = {"uri": iri, "curie": meta.curie(iri), "label": label}
    for way in DIRECTIONS[asked.direction]:
        side, by_predicate = _SIDES[way], counts(engine, iri, way, prop)
        total, some = sum(by_predicate.values()), []
        if total:
            some = links(engine, meta, iri, way, most=limit, predicate=prop, lang=lang)
        most = list(by_predicate.items())[:MOST_LINKS]
        found |= {side: Page(some, total), f"{side}_count": total}
        found[f"{side}_predicates"] = {meta.curie(p): n for p, n in most}
        if rest := len(by_predicate) - len(most):
            found.setdefault("left_out", {})[f"{side}_predicates"] = rest
    return found


def _text_predicates(meta: GraphMeta) -> list[str]:
    """Those that a description has a place of its own for."""
    return [iri for iris in meta.text_roles.values() for iri in iris] + [*v.SYNONYMS.values()]


def _label(meta: GraphMeta, texts: Texts, lang: str | None) -> str:
    """The label in the language asked for; '' where none is stated."""
    places = meta.text_roles.get("label", ())
    tidied = (
        sorted((cut(text, LABEL_CHARS), tag) for text, tag in texts.get(p, ())) for p in places
    )
    return pick([pair for some in tidied for pair in some], lang) or ""


def _comment(meta: GraphMeta, texts: Texts, lang: str | None) -> str:
    places = [*meta.text_roles.get("definition", ()), *meta.text_roles.get("comment", ())]
    return next((pick(texts[p], lang) or "" for p in places if p in texts), "")


def _comments(meta: GraphMeta, texts: Texts, lang: str | None) -> list[str]:
    """All comments in one language."""
    found = [pair for p in meta.text_roles.get("comment", ()) for pair in texts.get(p, ())]
    spoken = {tag for text, tag in found if text == pick(found, lang)}
    return list(dict.fromkeys(text for text, tag in found if tag in spoken))


def _restrictions(engine: Engine, meta: GraphMeta, iri: str, lang: str | None) -> Page:
    """What a term must have as text, what is more than that with how it is said."""
    if not meta.restriction_count and meta.pred_freq.keys().isdisjoint(
        ASKED.keys() - {v.SUB_CLASS}
    ):
        return Page(())
    asked = restrictions(engine, meta, iri, Window(RESTRICTIONS), lang=lang)

    def show(row: dict[str, Any]) -> str:
        how = "" if row["by"] == ASKED[v.SUB_CLASS] else f"{row['by']} "
        return how + add_labels(row["text"], row.get("labels", {}))

    return Page(map(show, asked["rows"]), asked["total"])


class _Lists:
    """Bounded lists for one description, and how many more there are of each."""

    def __init__(self, meta: GraphMeta, lang: str | None) -> None:
        self.meta, self.lang = meta, lang
        self.left_out: dict[str, int] = {}

    def names(self, key: str, edges: Mapping[str, IRISet], iri: str) -> dict[str, list[str]]:
        others = [*edges.get(iri, NONE)]
        return self.cut_list(key, others, lambda other: shown_name(self.meta, other, self.lang))

    def texts(self, texts: Texts) -> dict[str, list[str]]:
        """The other names of a term; those that are not quite its names by themselves."""
        roles = self.meta.text_roles
        own = [p for p in roles.get("synonym", ()) if p not in v.SYNONYMS.values()]
        found = {"alternatives": own} | {f"{how}_synonyms": [p] for how, p in v.SYNONYMS.items()}
        found["examples_of_use"] = roles.get("example", [])
        made: dict[str, list[str]] = {}
        for key, predicates in found.items():
            names = dict.fromkeys(text for p in predicates for text, _ in texts.get(p, ()))
            made |= self.cut_list(key, list(names), lambda text: cut(text, LABEL_CHARS))
        return made

    def cut_list(self, key: str, values: list[str], shown: Callable[[str], str]) -> dict[str, Any]:
        if len(values) > LISTED:
            self.left_out[key] = len(values) - LISTED
        return {key: [shown(value) for value in values[:LISTED]]}


def _class(meta: GraphMeta, iri: str, listed: _Lists) -> dict[str, Any]:
    own, subs = meta.domain_of.get(iri, NONE), meta.subs.get(iri, NONE)
    inherited = {prop for top in meta.above(iri) for prop in meta.domain_of.get(top, NONE)}
    defined = IRISet(sub for sub in subs if meta.follows_by_definition(sub, iri))
    return {
        **listed.names("superclasses", meta.supers, iri),
        **listed.names("superclasses_by_definition", meta.defined_supers, iri),
        **listed.names("subclasses", meta.subs, iri),
        **listed.names("subclasses_by_definition", {iri: defined}, iri),
        "subclass_count": len(subs),
        "all_subclass_count": len(meta.below(iri)),
        "instances": meta.classes[iri],
        "all_instances": meta.instances(iri),
        "examples": [meta.curie(one) for one in meta.examples.get(iri, ())],
        "property_count": len(own),
        **listed.names("properties", meta.domain_of, iri),
        "inherited_property_count": len(inherited - own),
        **listed.names("range_of", meta.range_of, iri),
        **listed.names("equivalent_to", meta.equivalents, iri),
        **listed.names("disjoint_with", {iri: meta.disjoint_with(iri)}, iri),
    }


def _not_plain(meta: GraphMeta, iri: str, incoming: Mapping[str, int]) -> dict[str, Any]:
    """How many properties have the class as one of several in their domain or range."""
    found: dict[str, Any] = {}
    sides = (("properties", v.DOMAIN, meta.domain_of), ("range_of", v.RANGE, meta.range_of))
    for key, side, edges in sides:
        others = {f"{base}{local_name(side)}Includes" for base in v.SCHEMA}
        ways = {meta.curie(p): incoming[p] for p in sorted(others) if p in incoming}
        named = edges.get(iri, NONE)
        rest = len(named) - incoming.get(side, 0) - sum(ways.values())
        unions = sum(meta.is_union(prop, local_name(side)) for prop in named)
        if rest > 0:
            ways["a union" if unions >= rest else "a class expression"] = rest
        if ways:
            found[f"{key}_by"] = ways
    return found


def _property(meta: GraphMeta, iri: str, listed: _Lists) -> dict[str, Any]:
    found: dict[str, Any] = {
        "uses": meta.properties[iri],
        **listed.names("domain", meta.doms, iri),
        **listed.names("range", meta.rngs, iri),
        **listed.names("superproperties", meta.super_properties, iri),
        **listed.names("subproperties", meta.sub_properties, iri),
        "subproperty_count": len(meta.sub_properties.get(iri, NONE)),
        **listed.names("equivalent_to", meta.equivalent_properties, iri),
        **listed.names("disjoint_with", {iri: meta.disjoint_with(iri)}, iri),
        **listed.names("inverse_of", meta.inverses, iri),
        "traits": meta.traits.get(iri, []),
    }
    for side in ("domain", "range"):
        if meta.is_union(iri, side):
            found[f"{side}_is_union"] = True
    joined = sorted({*meta.doms.get(iri, ()), *meta.rngs.get(iri, ())} & meta.comments.keys())
    said = [f"{meta.curie(one)}: {cut(meta.comments[one], SIDE_CHARS)}" for one in joined]
    return found | {"classes_say": said[:MOST_SIDES]}
