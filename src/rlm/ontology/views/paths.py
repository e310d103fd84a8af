"""Paths between two nodes: the shortest first, every statement followed in both directions.

Of the same length, those along the schema and its properties come first, then those with a hop by
an annotation (a subset, a creator, rdfs:seeAlso), then those that say that two things have nothing
in common (owl:disjointWith and the like), else by their text.

Every combination of directions is one query to the engine, so that a path may pass through blank
nodes. Some ways are not taken, because they join everything with everything and say nothing:

- through a literal;
- through the machinery (owl:Class, owl:Thing, rdf:nil, …) or along rdfs:isDefinedBy;
- from one instance of a class to another by two rdf:type in a row.

An rdf:type that begins or ends at the class that was asked for is taken. A path never visits a node
twice.
"""

from __future__ import annotations

import time
from itertools import islice, product
from typing import Any

from rlm.errors import OntologyError, QueryTimeout
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import Term, term_text
from rlm.ontology.views.links import source
from rlm.ontology.views.listing import Page, check_limit
from rlm.ontology.views.resolve import resolve

MOST_PATHS = 25
DEEPEST = 4
SECONDS = 20.0
_HUBS = sorted(v.META_TYPES | v.TOPS | {v.NAMED_INDIVIDUAL, v.RDF + "nil"})
_AVOIDED = v.RDFS + "isDefinedBy"
_DIFFERENT = ("disjointWith", "propertyDisjointWith", "differentFrom", "complementOf")
_APART = frozenset(v.OWL + name for name in _DIFFERENT)
_REMARKS = (v.DCTERMS, v.DC, v.OIO, v.RDFS + "seeAlso", v.OWL + "versionInfo")
MOST_REMARKS = 60


def find_path(
    engine: Engine,
    meta: GraphMeta,
    source: str,
    target: str,
    *,
    max_depth: int = 2,
    limit: int = 10,
) -> dict[str, Any]:
    """The paths, `complete` (false when time ran out), and a `note` when there is none."""
    whole = isinstance(max_depth, int) and not isinstance(max_depth, bool)
    if not whole or not 1 <= max_depth <= DEEPEST:
        wanted = f"a whole number from 1 to {DEEPEST}"
        raise OntologyError(f"max_depth is {max_depth!r}; it must be {wanted}")
    limit = check_limit(limit, MOST_PATHS)
    start, end = resolve(engine, meta, source), resolve(engine, meta, target)
    found: dict[str, Any] = {"source": meta.curie(start), "target": meta.curie(end)}
    found["max_depth"] = max_depth
    if start == end:
        note = "source and target are the same"
        return found | {"paths": [], "complete": True, "more": False, "note": note}
    paths, searched, more = _search(engine, meta, start, end, max_depth, limit)
    page = Page(paths[:limit], len(paths), counted=not more)
    found |= {"paths": page, "complete": searched == max_depth, "more": more}
    if searched < max_depth:
        seen = f"all paths up to length {searched} were looked at"
        found["note"] = f"time ran out: {seen}; ask for a smaller max_depth"
    elif not paths:
        deeper = f"try max_depth={max_depth + 1}, or " if max_depth < DEEPEST else ""
        todo = f"{deeper}probe_relationships of both for what they share"
        found["note"] = f"no path of up to {max_depth} statements; {todo}"
    return found


def _search(
    engine: Engine, meta: GraphMeta, start: str, end: str, max_depth: int, limit: int
) -> tuple[list[dict[str, Any]], int, bool]:
    """Paths, the depth that was searched to the end, and whether more of a length exist."""
    deadline = time.monotonic() + SECONDS
    remarks = _remarks(meta)
    found: list[dict[str, Any]] = []
    for depth in range(1, max_depth + 1):
        level: dict[str, dict[str, Any]] = {}
        for ways in product(("out", "in"), repeat=depth):
            left = deadline - time.monotonic()
            query = _query(start, end, ways, remarks)
            try:
                answer = engine.query(query, limit=limit + 1, timeout_s=max(left, 0.1))
            except QueryTimeout:
                left = 0.0
            else:
                for row in answer.rows:
                    path = _path(meta, start, end, ways, row)
                    level.setdefault(path["text"], path)
            if left <= 0.1:
                return found + _order_paths(meta, level), depth - 1, True
        found += _order_paths(meta, level)
        if len(found) > limit:
            return found, max_depth, True
    return found, max_depth, False


def _order_paths(meta: GraphMeta, level: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    apart, remarks = ({meta.curie(iri) for iri in iris} for iris in (_APART, _remarks(meta)))

    def rank(text: str) -> tuple[int, int, str]:
        hops = [edge["predicate"] for edge in level[text]["edges"]]
        return sum(hop in apart for hop in hops), sum(hop in remarks for hop in hops), text

    return [level[text] for text in sorted(level, key=rank)]


def _remarks(meta: GraphMeta) -> list[str]:
    """The most used predicates that are remarks about a term: they join what is unrelated."""
    kinds, used = meta.kinds, meta.pred_freq
    found = (i for i in used if kinds.get(i) == "annotation" or i.startswith(_REMARKS))
    return list(islice(found, MOST_REMARKS))


def _query(start: str, end: str, ways: tuple[str, ...], remarks: list[str]) -> str:
    nodes = [source(start), *(f"?n{i}" for i in range(1, len(ways))), source(end)]
    inner = nodes[1:-1]
    triples, filters = [], []
    for i, way in enumerate(ways):
        one, two = (nodes[i], nodes[i + 1]) if way == "out" else (nodes[i + 1], nodes[i])
        triples.append(f"{one} ?p{i} {two} .")
        filters.append(f"?p{i} != <{_AVOIDED}>")
    hubs = ", ".join(f"<{iri}>" for iri in _HUBS)
    for i, node in enumerate(inner):
        filters += [f"!isLiteral({node})", f"{node} NOT IN ({hubs})"]
        filters += [f"{node} != {other}" for other in (nodes[0], nodes[-1], *inner[:i])]
        filters.append(f"!(?p{i} = <{v.TYPE}> && ?p{i + 1} = <{v.TYPE}>)")
    shown = [name for i in range(len(ways)) for name in (f"?p{i}", nodes[i + 1])][:-1]
    chosen = " ".join(shown)
    last = ", ".join(map(source, (*sorted(_APART), *remarks)))
    order = " + ".join(f"IF(?p{i} IN ({last}), 1, 0)" for i in range(len(ways)))
    where = f"{{ {' '.join(triples)} FILTER({' && '.join(filters)}) }}"
    return f"SELECT DISTINCT {chosen} WHERE {where} ORDER BY ({order}) {chosen}"


def _path(
    meta: GraphMeta, start: str, end: str, ways: tuple[str, ...], row: dict[str, Term]
) -> dict[str, Any]:
    edges, text, here = [], meta.curie(start), meta.curie(start)
    for i, way in enumerate(ways):
        last = i == len(ways) - 1
        node = meta.curie(end) if last else _node(meta, row[f"n{i + 1}"])
        predicate = meta.curie(row[f"p{i}"]["v"])
        edges.append({"from": here, "predicate": predicate, "direction": way, "to": node})
        text += f" -{predicate}-> {node}" if way == "out" else f" <-{predicate}- {node}"
        here = node
    return {"length": len(ways), "text": text, "edges": edges}


def _node(meta: GraphMeta, term: Term) -> str:
    return "[]" if term["t"] == "bnode" else term_text(term, meta.prefixes)
