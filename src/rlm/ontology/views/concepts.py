"""Where the concepts of a thesaurus stand: what is broader and narrower, by SKOS.

Concepts are individuals, and there may be many, so the engine is asked. A statement of either
direction counts for both; what is stated of SKOS's sub-properties alone does not.
"""

from __future__ import annotations

from typing import Any

from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.meta.graph_meta import NONE, GraphMeta, IRISet, Map
from rlm.ontology.terms import iri as iri_term
from rlm.ontology.views.hierarchy import TreeRow, check_depth, walk
from rlm.ontology.views.links import labels_of, show_end, source, types_of
from rlm.ontology.views.listing import Window, one_of

ROWS = 10_000
_WAYS = {
    "broader": f"(<{v.SKOS}broader>|^<{v.SKOS}narrower>)",
    "narrower": f"(<{v.SKOS}narrower>|^<{v.SKOS}broader>)",
}
RELATIONS = tuple(_WAYS)
_DOWN = f"({_WAYS['narrower']}|<{v.SKOS}hasTopConcept>|^<{v.SKOS}topConceptOf>)"
_UP = f"({_WAYS['broader']}|<{v.SKOS}topConceptOf>|^<{v.SKOS}hasTopConcept>)"


def related(
    engine: Engine,
    meta: GraphMeta,
    iri: str,
    window: Window,
    relation: str,
    *,
    all: bool,
    lang: str | None,
) -> dict[str, Any]:
    """The concepts that are broader or narrower; `all`: at any depth."""
    where = f"{source(iri)} {_WAYS[relation]}{'+' * all} ?x FILTER(isIRI(?x))"
    answer = engine.query(f"SELECT DISTINCT ?x WHERE {{ {where} }} ORDER BY ?x", limit=ROWS)
    names = [row["x"]["v"] for row in answer.rows]
    head = {"name": meta.curie(iri), "relation": relation} | ({"all": True} if all else {})
    page = window.page(names, lambda name: name, **head)
    labels = labels_of(engine, meta, page["rows"])
    page["rows"] = page["rows"].map(lambda name: _row(meta, name, labels, lang))
    return page | _note(answer.truncated)


def tree(
    engine: Engine,
    meta: GraphMeta,
    iri: str,
    window: Window,
    *,
    depth: int,
    direction: str,
    lang: str | None,
) -> dict[str, Any] | None:
    """The concepts below (or above) a concept or a scheme, as `hierarchy.tree` has classes; None
    where it is neither."""
    check_depth(depth)
    down = one_of(direction, ("down", "up"), "direction") == "down"
    way = _DOWN if down else _UP
    where = f"{source(iri)} {way}* ?a . ?a {way} ?b FILTER(isIRI(?a) && isIRI(?b))"
    answer = engine.query(f"SELECT DISTINCT ?a ?b WHERE {{ {where} }} ORDER BY ?a ?b", limit=ROWS)
    kinds = {v.SCHEME, v.SKOS + "Concept"}
    if not answer.rows and kinds.isdisjoint(types_of(engine, meta, iri)):
        return None
    ends: dict[str, set[str]] = {}
    for row in answer.rows:
        ends.setdefault(row["a"]["v"], set()).add(row["b"]["v"])
    edges = {name: IRISet(others) for name, others in ends.items()}
    below = "below" if down else "above"
    rows = list(walk(meta, iri, edges, depth, [*edges.get(iri, NONE)], lang))
    page = window.page(rows, lambda row: row)
    labels = labels_of(engine, meta, [iri, *(row.iri for row in page["rows"])])

    def show(row: TreeRow) -> dict[str, Any]:
        said = {"depth": row.depth, below: len(_reach(edges, row.iri)), "repeated": row.repeated}
        return _row(meta, row.iri, labels, lang) | {k: each for k, each in said.items() if each}

    every = _reach(edges, iri)
    head = {**_row(meta, iri, labels, lang), "kind": "concept", below: len(every)}
    if more := len(every.difference(row.iri for row in rows)):
        head[f"more_{below}"] = more
    return {**head, **page, "rows": page["rows"].map(show)} | _note(answer.truncated)


def _row(meta: GraphMeta, iri: str, labels: Any, lang: str | None) -> dict[str, Any]:
    old = {"deprecated": True} if iri in meta.deprecated else {}
    return show_end(meta, "name", iri_term(iri), labels, lang) | old


def _reach(edges: Map, iri: str) -> set[str]:
    """All that edges lead to, without the start."""
    found, todo = set[str](), [iri]
    while todo:
        fresh = edges.get(todo.pop(), NONE) - found
        found |= fresh
        todo += fresh
    return found - {iri}


def _note(cut: bool) -> dict[str, str]:
    return {"note": f"only the first {ROWS:,} links were read"} if cut else {}
