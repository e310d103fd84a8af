"""Paths between two nodes: the shortest first, every statement followed in both directions.

They go along the schema and its properties. Of the same length, those that say that two things have
nothing in common (owl:disjointWith and the like) come last, those along the hierarchy first. Where
there is none, a path of up to REMARKED statements may have an annotation (rdfs:seeAlso) on it.

Up to EVERY statements all paths are found: every combination of directions is one query to the
engine, so that a path may pass through blank nodes; a restriction is shown with its property.
Where there is none, one shortest path of up to DEEPEST is looked for, from both ends, over names,
restrictions (`-ex:eats some->`) and the parts of definitions (`-owl:equivalentClass and->`,
`-owl:disjointUnionOf->`; what is in a list is many statements away), without annotations and types,
and not over the property of a restriction, which joins most classes. The note says so.

Some ways are not taken, because they join everything with everything and say nothing:

- through a literal;
- through the machinery (owl:Class, owl:Thing, rdf:nil, …), along rdfs:isDefinedBy, or through the
  annotation of an axiom;
- from one instance of a class to another by two rdf:type in a row, or from one thing to another by
  an annotation that both have.

An rdf:type that begins or ends at the class that was asked for is taken. A path never visits a node
twice.
"""

from __future__ import annotations

import time
from itertools import accumulate, product
from typing import Any, NamedTuple

from rlm.errors import OntologyError, QueryTimeout
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import Term, term_text
from rlm.ontology.views.links import batch_iris, source
from rlm.ontology.views.listing import Page, check_limit
from rlm.ontology.views.resolve import resolve

MOST_PATHS = 25
EVERY, DEEPEST, REMARKED = 4, 8, 2
SECONDS = 20.0
LATE, TOO_MANY = "time ran out", "too many nodes lie on the way"
_HUBS = sorted(v.META_TYPES | v.TOPS | {v.NAMED_INDIVIDUAL, v.RDF + "nil"})
_AXIOM = (v.OWL + f"annotated{end}" for end in ("Source", "Property", "Target"))
_AVOIDED = (v.RDFS + "isDefinedBy", *_AXIOM)
_DIFFERENT = ("disjointWith", "propertyDisjointWith", "differentFrom", "complementOf")
_APART = frozenset(v.OWL + name for name in _DIFFERENT)
_REMARKS = (v.DCTERMS, v.DC, v.OIO, v.RDFS + "seeAlso", v.OWL + "versionInfo")
REMARK_CHARS = 3_000
"""Every hop of a query lists them, and a query may have 20,000."""
FAR_ROWS, FAR_CHARS, MOST_FRONT = 10_000, 4_000, 20_000
_LEADS = "|".join(f"<{iri}>" for iri in (v.SUB_CLASS, v.OWL + "equivalentClass"))
_MEMBER = f"<{v.RDF}rest>*/<{v.RDF}first>"
_JOINS = f"(<{v.OWL}intersectionOf> 'and') (<{v.OWL}unionOf> 'or')"
_LISTS = " ".join(
    f"<{v.OWL}{name}>" for name in ("intersectionOf", "unionOf", "disjointUnionOf", "oneOf")
)
_PART = f"<{v.OWL}intersectionOf>/{_MEMBER}"
FILLERS = {"someValuesFrom": "some", "allValuesFrom": "only", "hasValue": "value", "onClass": "of"}


def find_path(
    engine: Engine,
    meta: GraphMeta,
    source: str,
    target: str,
    *,
    max_depth: int = 2,
    limit: int = 10,
) -> dict[str, Any]:
    """The paths, `complete` (false when time ran out or there was too much to follow), and a `note`
    when it is not or there is none."""
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
    paths, searched, more, why = _search(engine, meta, start, end, max_depth, limit)
    page = Page(paths[:limit], len(paths), counted=not more)
    found |= {"paths": page, "complete": searched == max_depth, "more": more}
    if searched < max_depth:
        found["note"] = f"{why}: all paths up to length {searched} were looked at"
    elif more and len(paths) <= limit:
        found["note"] = "one of the shortest; others were not looked for"
    elif not paths:
        deeper = f"try max_depth={max_depth + 1}, or " if max_depth < DEEPEST else ""
        todo = f"{deeper}probe_relationships of both for what they share"
        found["note"] = (
            f"no path of up to {max_depth} statements{_left_out(meta, max_depth)}; {todo}"
        )
    return found


def _left_out(meta: GraphMeta, max_depth: int) -> str:
    """Which paths of such a length were not looked for."""
    said = []
    if max_depth > REMARKED and _remarks(meta):
        said.append(f"of over {REMARKED} by annotations as rdfs:seeAlso")
    if max_depth > EVERY and meta.restriction_count:
        said.append(f"of over {EVERY} by the property of a restriction")
    return f" (not looked for: those {' and '.join(said)})" if said else ""


def _search(
    engine: Engine, meta: GraphMeta, start: str, end: str, max_depth: int, limit: int
) -> tuple[list[dict[str, Any]], int, bool, str]:
    """Paths, the depth that was searched to the end, whether more of a length exist, and why the
    search ended before `max_depth`."""
    deadline = time.monotonic() + SECONDS
    found: list[dict[str, Any]] = []
    searched, more, why = max_depth, False, ""
    remarks, every = tuple(_remarks(meta)), min(max_depth, EVERY)
    for remarked in (False, True) if remarks else (False,):
        plan = PathPlan(start, end, remarks, remarked, meta.restriction_count > 0)
        for depth in range(1, (min(every, REMARKED) if remarked else every) + 1):
            level, late = _search_level(engine, meta, plan, depth, limit, deadline)
            found += _order_paths(meta, level)
            if late:
                return found, min(searched, depth - 1), True, why or LATE
            if len(found) > limit:
                return found, searched, True, why
        if not found and not remarked and (every < max_depth or meta.definitions):
            found, searched, why = find_far(engine, meta, start, end, max_depth)
            more = bool(found)
        if found:
            break
    return found, searched, more, why


def _search_level(
    engine: Engine, meta: GraphMeta, plan: PathPlan, depth: int, limit: int, deadline: float
) -> tuple[dict[str, dict[str, Any]], bool]:
    """The paths of one length by their text, and whether time ran out."""
    level: dict[str, dict[str, Any]] = {}
    for ways in product(("out", "in"), repeat=depth):
        left = deadline - time.monotonic()
        try:
            answer = engine.query(plan.query(ways), limit=limit + 1, timeout_s=max(left, 0.1))
        except QueryTimeout:
            return level, True
        for row in answer.rows:
            path = _path(meta, plan.start, plan.end, ways, row)
            level.setdefault(path["text"], path)
        if left <= 0.1:
            return level, True
    return level, False


def _order_paths(meta: GraphMeta, level: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    apart = {meta.curie(iri) for iri in _APART}
    hierarchy = {meta.curie(iri) for iri in (v.SUB_CLASS, v.SUB_PROPERTY)}

    def rank(text: str) -> tuple[int, int, str]:
        hops = [edge["predicate"] for edge in level[text]["edges"]]
        return sum(hop in apart for hop in hops), -sum(hop in hierarchy for hop in hops), text

    return [level[text] for text in sorted(level, key=rank)]


def _remarks(meta: GraphMeta) -> list[str]:
    """The most used predicates that are remarks about a term: they join what is unrelated."""
    kinds, used = meta.kinds, meta.pred_freq
    found = [i for i in used if kinds.get(i) == "annotation" or i.startswith(_REMARKS)]
    lengths = accumulate(len(iri) + 4 for iri in found)
    return [iri for iri, length in zip(found, lengths, strict=True) if length <= REMARK_CHARS]


class PathPlan(NamedTuple):
    """What is looked for. `remarked`: only paths with an annotation on them, else only others."""

    start: str
    end: str
    remarks: tuple[str, ...]
    remarked: bool
    restrictions: bool

    def query(self, ways: tuple[str, ...]) -> str:
        nodes = [source(self.start), *(f"?n{i}" for i in range(1, len(ways))), source(self.end)]
        inner = nodes[1:-1]
        triples, filters = [], []
        avoided = ", ".join(map(source, _AVOIDED))
        for i, way in enumerate(ways):
            one, two = (nodes[i], nodes[i + 1]) if way == "out" else (nodes[i + 1], nodes[i])
            triples.append(f"{one} ?p{i} {two} .")
            filters.append(f"?p{i} NOT IN ({avoided})")
        hubs = ", ".join(f"<{iri}>" for iri in _HUBS)
        for i, node in enumerate(inner):
            filters += [f"!isLiteral({node})", f"{node} NOT IN ({hubs})"]
            filters += [f"{node} != {other}" for other in (nodes[0], nodes[-1], *inner[:i])]
            filters.append(f"!(?p{i} = <{v.TYPE}> && ?p{i + 1} = <{v.TYPE}>)")
        filters += self._remark_filters(ways)
        named = [f"?r{i}" for i in range(1, len(ways))] if self.restrictions else []
        optional = " ".join(
            f"OPTIONAL {{ ?n{i} <{v.OWL}onProperty> ?r{i} }}" for i in range(1, len(named) + 1)
        )
        shown = [name for i in range(len(ways)) for name in (f"?p{i}", nodes[i + 1])][:-1]
        chosen = " ".join(shown)
        last = ", ".join(map(source, sorted(_APART)))
        order = " + ".join(f"IF(?p{i} IN ({last}), 1, 0)" for i in range(len(ways)))
        where = f"{{ {' '.join(triples)} FILTER({' && '.join(filters)}) {optional} }}"
        variables = " ".join((*shown, *named))
        return f"SELECT DISTINCT {variables} WHERE {where} ORDER BY ({order}) {chosen}"

    def _remark_filters(self, ways: tuple[str, ...]) -> list[str]:
        if not self.remarks:
            return []
        some = ", ".join(map(source, self.remarks))
        without = [f"?p{i} NOT IN ({some})" for i in range(len(ways))]
        if not self.remarked:
            return without
        shared = ways == ("out", "in")  # then one of the two at most
        return [f"!({' && '.join(without)})", *([f"({' || '.join(without)})"] if shared else [])]


def _path(
    meta: GraphMeta, start: str, end: str, ways: tuple[str, ...], row: dict[str, Term]
) -> dict[str, Any]:
    edges, text, here = [], meta.curie(start), meta.curie(start)
    for i, way in enumerate(ways):
        last = i == len(ways) - 1
        node = meta.curie(end) if last else _node(meta, row, i + 1)
        predicate = meta.curie(row[f"p{i}"]["v"])
        edges.append({"from": here, "predicate": predicate, "direction": way, "to": node})
        text += f" -{predicate}-> {node}" if way == "out" else f" <-{predicate}- {node}"
        here = node
    return {"length": len(ways), "text": text, "edges": edges}


def _node(meta: GraphMeta, row: dict[str, Term], place: int) -> str:
    """A node on the way; a restriction by its property."""
    term, prop = row[f"n{place}"], row.get(f"r{place}")
    if term["t"] != "bnode":
        return term_text(term, meta.prefixes)
    return f"[on {term_text(prop, meta.prefixes)}]" if prop and prop["t"] == "iri" else "[]"


# -- far


class PathEdge(NamedTuple):
    """How a node was come by: the one before it, and the hop in between."""

    before: str
    predicate: str
    way: str
    how: str


def find_far(
    engine: Engine, meta: GraphMeta, start: str, end: str, max_depth: int
) -> tuple[list[dict[str, Any]], int, str]:
    """One path, or none; the length that was searched to the end; and why it is less than
    `max_depth`. Where it is not, the path is a shortest one."""
    searched, why = max_depth, ""
    sides: list[dict[str, PathEdge | None]] = [{start: None}, {end: None}]
    fronts, deadline = [[start], [end]], time.monotonic() + SECONDS
    for length in range(1, max_depth + 1):
        side = 0 if len(fronts[0]) <= len(fronts[1]) else 1
        try:
            steps, whole = _expand(engine, meta, fronts[side], deadline)
        except QueryTimeout:
            return [], min(searched, length - 1), why or LATE
        if not whole:  # a path may still be found
            searched, why = min(searched, length - 1), TOO_MANY
        fresh = {node: step for node, step in steps.items() if node not in sides[side]}
        sides[side] |= fresh
        fronts[side] = list(fresh)
        if met := sorted(node for node in fresh if node in sides[1 - side]):
            return [_far_path(meta, sides, met[0])], searched, why
        if len(fresh) > MOST_FRONT:
            return [], min(searched, length), TOO_MANY
        if not fresh:
            break
    return [], searched, why


def _expand(
    engine: Engine, meta: GraphMeta, front: list[str], deadline: float
) -> tuple[dict[str, PathEdge], bool]:
    """The neighbours of some nodes, each by its first hop, and whether these are all."""
    without = ", ".join(map(source, (v.TYPE, *_AVOIDED, *sorted(_APART), *_remarks(meta))))
    hubs = ", ".join(f"<{iri}>" for iri in _HUBS)
    fillers = " ".join(f"(<{v.OWL}{name}> '{word}')" for name, word in FILLERS.items())
    found: dict[str, PathEdge] = {}
    whole = True
    for batch in batch_iris(front, FAR_CHARS):
        asked = f"VALUES ?n {{ {batch} }}"
        held = f"?b <{v.OWL}onProperty> ?p ; ?f"
        ways = [f"{{ {asked} ?n ?p ?m BIND('out' AS ?way) FILTER(?p NOT IN ({without})) }}"]
        ways.append(f"{{ {asked} ?m ?p ?n BIND('in' AS ?way) FILTER(?p NOT IN ({without})) }}")
        if meta.restriction_count:
            filler = f"VALUES (?f ?how) {{ {fillers} }}"
            for leads in (_LEADS, f"({_LEADS})/{_PART}"):
                ways.append(f"{{ {asked} {filler} ?n {leads} ?b . {held} ?m BIND('out' AS ?way) }}")
                ways.append(f"{{ {asked} {filler} {held} ?n . ?m {leads} ?b BIND('in' AS ?way) }}")
        if meta.definitions:
            joins = f"VALUES ?p {{ {_LEADS.replace('|', ' ')} }} VALUES (?join ?how) {{ {_JOINS} }}"
            for way, one, two in (("out", "?n", "?m"), ("in", "?m", "?n")):
                part = f"{one} ?p ?b . ?b ?join ?list . ?list {_MEMBER} {two}"
                ways.append(f"{{ {asked} {joins} {part} BIND('{way}' AS ?way) }}")
                part = f"{one} ?p ?list . ?list {_MEMBER} {two}"
                lists = f"VALUES ?p {{ {_LISTS} }} {part} BIND('{way}' AS ?way)"
                ways.append(f"{{ {asked} {lists} }}")
        where = f"{' UNION '.join(ways)} FILTER(isIRI(?m) && ?m NOT IN ({hubs}))"
        query = f"SELECT DISTINCT ?n ?p ?m ?way ?how WHERE {{ {where} }}"
        left = max(deadline - time.monotonic(), 0.1)
        answer = engine.query(query, limit=FAR_ROWS, timeout_s=left)
        whole = whole and not answer.truncated
        for row in answer.rows:
            how = row["how"]["v"] if "how" in row else ""
            step = PathEdge(row["n"]["v"], row["p"]["v"], row["way"]["v"], how)
            found.setdefault(row["m"]["v"], step)
    return found, whole


def _far_path(
    meta: GraphMeta, sides: list[dict[str, PathEdge | None]], middle: str
) -> dict[str, Any]:
    edges: list[dict[str, str]] = []
    here = middle
    while step := sides[0][here]:
        edges.insert(0, _edge(meta, step.before, here, step, step.way))
        here = step.before
    here = middle
    while step := sides[1][here]:
        back = "in" if step.way == "out" else "out"
        edges.append(_edge(meta, here, step.before, step, back))
        here = step.before
    text = edges[0]["from"]
    for edge in edges:
        before, after = ("-", "->") if edge["direction"] == "out" else ("<-", "-")
        text += f" {before}{edge['predicate']}{after} {edge['to']}"
    return {"length": len(edges), "text": text, "edges": edges}


def _edge(meta: GraphMeta, one: str, two: str, step: PathEdge, way: str) -> dict[str, str]:
    hop = f"{meta.curie(step.predicate)} {step.how}".strip()
    return {"from": meta.curie(one), "predicate": hop, "direction": way, "to": meta.curie(two)}
