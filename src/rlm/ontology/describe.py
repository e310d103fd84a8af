"""One entity: what it is, and how it is linked. Both bounded; the counts are true."""

from __future__ import annotations

from typing import Any

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.answer import Engine
from rlm.ontology.labels import Label, cut, name_of, pick
from rlm.ontology.links import counts, links, shown_name, source
from rlm.ontology.meta import NONE, GraphMeta
from rlm.ontology.resolve import resolve, resolve_property
from rlm.ontology.search import bounded
from rlm.ontology.terms import local_name

MOST_LINKS = 25
LISTED = 12
COMMENT_CHARS = 400
DIRECTIONS = {"both": ("out", "in"), "out": ("out",), "outgoing": ("out",), "in": ("in",), "incoming": ("in",)}
_SIDES = {"out": "outgoing", "in": "incoming"}


def describe_entity(
    engine: Engine, meta: GraphMeta, uri: str, *, limit: int = 20, lang: str | None = None
) -> dict[str, Any]:
    """Label, types, comment, a sample of what it points to, and its place in the schema when it is a term."""
    limit = bounded(limit, MOST_LINKS)
    iri = resolve(engine, meta, uri)
    label, comment = _texts(engine, meta, iri, lang)
    query = f"SELECT DISTINCT ?t WHERE {{ {source(iri)} <{v.TYPE}> ?t . FILTER(isIRI(?t)) }} ORDER BY ?t"
    types = engine.query(query, limit=LISTED)
    told = {v.TYPE, *v.LABELS, *_comment_predicates(meta)}
    found: dict[str, Any] = {
        "uri": iri,
        "curie": meta.curie(iri),
        "label": label,
        "kind": meta.kind(iri),
        "types": [meta.curie(row["t"]["v"]) for row in types.rows],
        "comment": comment,
    }
    if iri in meta.deprecated:
        found["deprecated"] = True
        found["use"] = _names(meta, meta.replaced_by.get(iri, NONE), lang)
    if iri in meta.alternatives:
        found["alternatives"] = [cut(text, 120) for text, _ in meta.alternatives[iri][:LISTED]]
    if iri in meta.classes:
        found |= _class(meta, iri, lang)
    if iri in meta.properties:
        found |= _property(meta, iri, lang)
    found["outgoing_sample"] = links(engine, meta, iri, "out", most=limit, without=told, lang=lang)
    found["outgoing_count"] = sum(counts(engine, iri, "out").values())
    found["incoming_count"] = sum(counts(engine, iri, "in").values())
    return {key: value for key, value in found.items() if value not in ([], {}) or key in ("types", "outgoing_sample")}


def probe_relationships(
    engine: Engine,
    meta: GraphMeta,
    uri: str,
    *,
    predicate: str | None = None,
    direction: str = "both",
    limit: int = 20,
    lang: str | None = None,
) -> dict[str, Any]:
    """Links in one or both directions: lists of at most `limit`, counts of all, in all and by predicate."""
    if direction not in DIRECTIONS:
        raise OntologyError(f"direction is {direction!r}; it can be both, out or in")
    limit = bounded(limit, MOST_LINKS)
    iri = resolve(engine, meta, uri)
    prop = None if predicate is None else resolve_property(engine, meta, predicate)
    found: dict[str, Any] = {"uri": iri, "curie": meta.curie(iri), "label": _texts(engine, meta, iri, lang)[0]}
    for way in DIRECTIONS[direction]:
        side, by_predicate = _SIDES[way], counts(engine, iri, way, prop)
        total = sum(by_predicate.values())
        found[side] = links(engine, meta, iri, way, most=limit, predicate=prop, lang=lang) if total else []
        found[f"{side}_count"] = total
        found[f"{side}_predicates"] = {meta.curie(p): n for p, n in list(by_predicate.items())[:MOST_LINKS]}
    return found


def _comment_predicates(meta: GraphMeta) -> list[str]:
    own = [p for p in sorted(meta.pred_freq) if local_name(p) == "definition" and p not in v.DEFINITIONS]
    return [*v.DEFINITIONS, *own, *v.COMMENTS]


def _texts(engine: Engine, meta: GraphMeta, iri: str, lang: str | None) -> tuple[str, str]:
    """Label and comment in the language asked for, from the graph itself."""
    comments = _comment_predicates(meta)
    wanted = " ".join(f"<{p}>" for p in (*v.LABELS, *comments))
    query = f"SELECT DISTINCT ?p ?o WHERE {{ VALUES ?p {{ {wanted} }} {source(iri)} ?p ?o . FILTER(isLiteral(?o)) }}"
    found: dict[str, list[Label]] = {}
    for row in engine.query(f"{query} ORDER BY ?p ?o", limit=200).rows:
        if row["o"]["v"].strip():
            found.setdefault(row["p"]["v"], []).append((row["o"]["v"], row["o"].get("lang", "")))
    label = pick([pair for p in v.LABELS for pair in found.get(p, ())], lang) or name_of(iri)
    comment = next((pick(found[p], lang) or "" for p in comments if p in found), "")
    return cut(label, 120), cut(comment, COMMENT_CHARS)


def _names(meta: GraphMeta, iris: Any, lang: str | None) -> list[str]:
    return [shown_name(meta, iri, lang) for iri in iris[:LISTED]]


def _class(meta: GraphMeta, iri: str, lang: str | None) -> dict[str, Any]:
    above = meta.closure(iri, meta.supers)
    inherited = {prop for parent in above for prop in meta.domain_of.get(parent, NONE)}
    subs = meta.subs.get(iri, NONE)
    return {
        "superclasses": _names(meta, meta.supers.get(iri, NONE), lang),
        "subclasses": _names(meta, subs, lang),
        "subclass_count": len(subs),
        "all_subclass_count": len(meta.closure(iri, meta.subs)),
        "instances": meta.classes[iri],
        "examples": [meta.curie(one) for one in meta.examples.get(iri, ())],
        "property_count": len(meta.domain_of.get(iri, NONE)),
        "properties": _names(meta, meta.domain_of.get(iri, NONE), lang),
        "inherited_property_count": len(inherited - meta.domain_of.get(iri, NONE)),
        "range_of": _names(meta, meta.range_of.get(iri, NONE), lang),
        "equivalent_to": _names(meta, meta.equivalents.get(iri, NONE), lang),
        "disjoint_with": _names(meta, meta.disjoint.get(iri, NONE), lang),
    }


def _property(meta: GraphMeta, iri: str, lang: str | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "uses": meta.properties[iri],
        "domain": _names(meta, meta.doms.get(iri, NONE), lang),
        "range": _names(meta, meta.rngs.get(iri, NONE), lang),
        "superproperties": _names(meta, meta.super_properties.get(iri, NONE), lang),
        "inverse_of": _names(meta, meta.inverses.get(iri, NONE), lang),
        "traits": meta.traits.get(iri, []),
    }
    for side in ("domain", "range"):
        if meta.is_union(iri, side):
            found[f"{side}_is_union"] = True
    return found
