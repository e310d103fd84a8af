"""GraphMeta of an endpoint: what a bounded number of bounded queries tells.

A remote graph cannot be read in one pass, so its schema statements, the labels of its terms and
some individuals are fetched, and GraphMeta is built from those; the counts are asked for. Each
query may fail or take too long. Then its part is missing, `sampled` is true as always here, and the
description says what is missing. Only an endpoint that answers nothing at all is an error.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.terms import Term

if TYPE_CHECKING:
    from pyoxigraph import BlankNode, Literal, NamedNode, Quad

    from rlm.ontology.meta.graph_meta import GraphMeta

TOTAL_S = 60.0
QUERY_S = 15.0
MAX_TERMS = 500
MAX_STATEMENTS = 10_000
SAMPLE = 2000
LABELLED = 300
BATCH = 100

COUNT = "SELECT (COUNT(*) AS ?n) WHERE { ?s ?p ?o }"
CLASSES = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?s a ?t } GROUP BY ?t ORDER BY DESC(?n) ?t"
SOME_CLASSES = (
    "SELECT ?t (COUNT(*) AS ?n) WHERE { { SELECT ?t WHERE { ?s a ?t } LIMIT 20000 } } GROUP BY ?t"
)
PROPERTIES = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?s ?t ?o } GROUP BY ?t ORDER BY DESC(?n) ?t"
SOME_PROPERTIES = (
    "SELECT ?t (COUNT(*) AS ?n) WHERE { { SELECT ?t WHERE { ?s ?t ?o } LIMIT 20000 } } GROUP BY ?t"
)
INDIVIDUALS = (
    f"SELECT ?s ?p ?o WHERE {{ VALUES ?p {{ <{v.TYPE}> }} ?s ?p ?o FILTER(isIRI(?s) &&"
    " isIRI(?o)) }"
)
EDGES = (
    *(v.SUB_CLASS, v.SUB_PROPERTY, v.DOMAIN, v.RANGE),
    *(
        v.OWL + name
        for name in ("inverseOf", "equivalentClass", "disjointWith", "imports", "deprecated")
    ),
)
TEXTS = (
    v.RDFS + "label",
    v.SKOS + "prefLabel",
    v.DCTERMS + "title",
    v.RDFS + "comment",
    v.SKOS + "definition",
)


class _Sampler:
    """Asks one query after the other, within one budget of time, and notes what did not work."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._query_s = query_s(engine)
        self._ends = time.monotonic() + TOTAL_S
        self.missing: list[str] = []
        self.cut: list[str] = []

    def rows(self, what: str, *queries: str, limit: int) -> list[dict[str, Term]]:
        """The rows of the first query that works; none when none does."""
        for place, query in enumerate(queries):
            left_s = self._ends - time.monotonic()
            if left_s <= 0:
                break
            try:
                answer = self._engine.query(
                    query, limit=limit, timeout_s=min(self._query_s, left_s)
                )
            except OntologyError:
                continue
            if answer.truncated or place:
                self.cut.append(what)
            return answer.rows
        self.missing.append(what)
        return []

    def counts(self, what: str, *queries: str) -> dict[str, int]:
        """IRI to number, the largest first."""
        found: dict[str, int] = {}
        for row in self.rows(what, *queries, limit=MAX_TERMS):
            if row.get("t", {}).get("t") == "iri":
                found[row["t"]["v"]] = _number(row.get("n"))
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def sample_meta(engine: Engine) -> GraphMeta:
    """What there is to know of an endpoint's graph. Raises OntologyError only when it does not
    answer at all."""
    from pyoxigraph import Store

    from rlm.ontology.meta.build_meta import build_meta

    engine.query("ASK { ?s ?p ?o }", timeout_s=query_s(engine))
    asked = _Sampler(engine)
    total = asked.rows("the number of triples", COUNT, limit=1)
    classes = asked.counts("the classes", CLASSES, SOME_CLASSES)
    properties = asked.counts("the properties", PROPERTIES, SOME_PROPERTIES)
    schema = asked.rows("the hierarchy", _statements(EDGES), limit=MAX_STATEMENTS)
    schema += asked.rows("the declarations", _declarations(), limit=MAX_STATEMENTS)
    schema += asked.rows("the individuals", INDIVIDUALS, limit=SAMPLE)
    named = [row["s"]["v"] for row in schema if row.get("s", {}).get("t") == "iri"]
    schema += _texts(
        asked, [*(iri for iri in classes if not v.is_machinery(iri)), *properties, *named]
    )
    store = Store()
    store.extend(_quads(schema))
    meta = build_meta(store)
    meta.sampled = True
    meta.triple_count = _number(total[0].get("n")) if total else sum(properties.values())
    own = {iri: n for iri, n in classes.items() if not v.is_machinery(iri)}
    meta.classes = {**dict.fromkeys(meta.classes, 0), **own}
    meta.pred_freq = properties or meta.pred_freq
    used = {
        iri: n for iri, n in properties.items() if not v.is_machinery(iri) or iri in meta.properties
    }
    meta.properties = {**dict.fromkeys(meta.properties, 0), **used}
    meta.title = meta.title or engine.name
    meta.description = " ".join(part for part in (_note(engine, asked), meta.description) if part)
    return meta


def query_s(engine: Engine) -> float:
    """How long one of these queries may take: no longer than the config allows for any query at
    this endpoint."""
    endpoint = getattr(engine, "endpoint", None)
    return QUERY_S if endpoint is None else min(QUERY_S, endpoint.timeout_s)


def _note(engine: Engine, asked: _Sampler) -> str:
    parts = [f"Sampled from {engine.source}"]
    if asked.cut:
        parts.append(f"not all of {', '.join(dict.fromkeys(asked.cut))}")
    if asked.missing:
        parts.append(f"without {', '.join(dict.fromkeys(asked.missing))}, which it did not answer")
    return "; ".join(parts) + "."


def _statements(predicates: Iterable[str]) -> str:
    names = " ".join(f"<{iri}>" for iri in predicates)
    return (
        f"SELECT ?s ?p ?o WHERE {{ VALUES ?p {{ {names} }} ?s ?p ?o FILTER(isIRI(?s) &&"
        " !isBlank(?o)) }"
    )


def _declarations() -> str:
    kinds = " ".join(
        f"<{iri}>" for iri in sorted(v.CLASS_TYPES | v.PROPERTY_KINDS.keys() | {v.OWL + "Ontology"})
    )
    return (
        f"SELECT ?s ?p ?o WHERE {{ VALUES ?p {{ <{v.TYPE}> }} VALUES ?o {{ {kinds} }} ?s ?p ?o"
        " FILTER(isIRI(?s)) }"
    )


def _texts(asked: _Sampler, iris: Iterable[str]) -> list[dict[str, Term]]:
    """Labels and comments of the first terms, asked for in batches."""
    wanted = [
        iri
        for iri in dict.fromkeys(iris)
        if not any(c in iri for c in ' <>"{}|^`\\') and iri.isprintable()
    ]
    predicates = " ".join(f"<{iri}>" for iri in TEXTS)
    rows: list[dict[str, Term]] = []
    for start in range(0, min(len(wanted), LABELLED), BATCH):
        names = " ".join(
            f"<{iri}>" for iri in wanted[start : min(start + BATCH, LABELLED)] if len(iri) <= 150
        )
        query = (
            f"SELECT ?s ?p ?o WHERE {{ VALUES ?s {{ {names} }} VALUES ?p {{ {predicates} }} ?s ?p"
            " ?o }"
        )
        rows += asked.rows("the labels", query, limit=MAX_STATEMENTS)
    return rows


def _quads(rows: Iterable[dict[str, Term]]) -> list[Quad]:
    """The statements that rows of ?s ?p ?o stand for, without those that no store would take."""
    from pyoxigraph import Quad

    found = []
    for row in rows:
        try:
            subject, predicate, value = (_node(row[name]) for name in "spo")
            found.append(Quad(subject, predicate, value))  # type: ignore[arg-type]
        except (KeyError, ValueError, TypeError):
            continue
    return found


def _node(term: Term) -> NamedNode | BlankNode | Literal:
    from pyoxigraph import BlankNode, Literal, NamedNode

    if term["t"] == "iri":
        return NamedNode(term["v"])
    if term["t"] == "bnode":
        return BlankNode(term["v"])
    if "lang" in term:
        return Literal(term["v"], language=term["lang"])
    return (
        Literal(term["v"], datatype=NamedNode(term["dt"])) if "dt" in term else Literal(term["v"])
    )


def _number(term: Term | None) -> int:
    text = str(term["v"]) if term else ""
    return int(text) if text.isdecimal() and len(text) < 19 else 0
