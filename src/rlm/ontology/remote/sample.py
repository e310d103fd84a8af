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
from rlm.ontology.terms import Term, is_machinery

if TYPE_CHECKING:
    from pyoxigraph import Quad

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
PROPERTIES = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?s ?t ?o } GROUP BY ?t ORDER BY DESC(?n) ?t"
_SOME = "SELECT ?t (COUNT(*) AS ?n) WHERE { { SELECT ?t WHERE { %s } LIMIT 20000 } } GROUP BY ?t"
SOME_CLASSES, SOME_PROPERTIES = _SOME % "?s a ?t", _SOME % "?s ?t ?o"
_OF_PREDICATES = "SELECT ?s ?p ?o WHERE { VALUES ?p { %s } ?s ?p ?o FILTER(isIRI(?s) && %s) }"
INDIVIDUALS = _OF_PREDICATES % (f"<{v.TYPE}>", "isIRI(?o)")
_OWL_EDGES = ("inverseOf", "equivalentClass", "disjointWith", "imports", "deprecated")
EDGES = (v.SUB_CLASS, v.SUB_PROPERTY, v.DOMAIN, v.RANGE, *(v.OWL + name for name in _OWL_EDGES))
TEXTS = (
    *(v.RDFS + "label", v.SKOS + "prefLabel", v.DCTERMS + "title"),
    *(v.RDFS + "comment", v.SKOS + "definition"),
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
            wait_s = min(self._query_s, left_s)
            try:
                answer = self._engine.query(query, limit=limit, timeout_s=wait_s)
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
    """GraphMeta of an endpoint. OntologyError only when it does not answer at all."""
    from pyoxigraph import Store

    from rlm.ontology.meta.builder import build_meta

    engine.query("ASK { ?s ?p ?o }", timeout_s=query_s(engine))
    asked = _Sampler(engine)
    total = asked.rows("the number of triples", COUNT, limit=1)
    classes = asked.counts("the classes", CLASSES, SOME_CLASSES)
    properties = asked.counts("the properties", PROPERTIES, SOME_PROPERTIES)
    edges = _OF_PREDICATES % (_iri_list(EDGES), "!isBlank(?o)")
    schema = asked.rows("the hierarchy", edges, limit=MAX_STATEMENTS)
    schema += asked.rows("the declarations", _declarations(), limit=MAX_STATEMENTS)
    schema += asked.rows("the individuals", INDIVIDUALS, limit=SAMPLE)
    own = {iri: n for iri, n in classes.items() if not is_machinery(iri)}
    named = [row["s"]["v"] for row in schema if row.get("s", {}).get("t") == "iri"]
    schema += _texts(asked, [*own, *properties, *named])
    store = Store()
    store.extend(_quads(schema))
    meta = build_meta(store)
    meta.sampled = True
    meta.triple_count = _number(total[0].get("n")) if total else sum(properties.values())
    meta.classes = {**dict.fromkeys(meta.classes, 0), **own}
    meta.pred_freq = properties or meta.pred_freq
    known = meta.properties
    used = {i: n for i, n in properties.items() if not is_machinery(i) or i in known}
    meta.properties = {**dict.fromkeys(known, 0), **used}
    roles = meta.text_roles
    meta.text_roles = {
        role: [*dict.fromkeys((*iris, *roles.get(role, ())))] for role, iris in v.TEXT_ROLES.items()
    }
    meta.title = meta.title or engine.name
    meta.description = " ".join(part for part in (_note(engine, asked), meta.description) if part)
    return meta


def query_s(engine: Engine) -> float:
    """How long one of these queries may take: the endpoint's own limit at most."""
    endpoint = getattr(engine, "endpoint", None)
    return QUERY_S if endpoint is None else min(QUERY_S, endpoint.settings.timeout_s)


def _note(engine: Engine, asked: _Sampler) -> str:
    parts = [f"Sampled from {engine.source}"]
    if asked.cut:
        parts.append(f"not all of {', '.join(dict.fromkeys(asked.cut))}")
    if asked.missing:
        parts.append(f"without {', '.join(dict.fromkeys(asked.missing))}, which it did not answer")
    return "; ".join(parts) + "."


def _iri_list(iris: Iterable[str]) -> str:
    return " ".join(f"<{iri}>" for iri in iris)


def _declarations() -> str:
    kinds = sorted(v.CLASS_TYPES | v.PROPERTY_KINDS.keys() | {v.OWL + "Ontology"})
    values = f"VALUES ?p {{ <{v.TYPE}> }} VALUES ?o {{ {_iri_list(kinds)} }}"
    return f"SELECT ?s ?p ?o WHERE {{ {values} ?s ?p ?o FILTER(isIRI(?s)) }}"


def _texts(asked: _Sampler, iris: Iterable[str]) -> list[dict[str, Term]]:
    """Labels and comments of the first terms, asked for in batches."""
    wanted = [i for i in dict.fromkeys(iris) if i.isprintable() and not set(' <>"{}|^`\\') & set(i)]
    rows: list[dict[str, Term]] = []
    for start in range(0, min(len(wanted), LABELLED), BATCH):
        batch = wanted[start : min(start + BATCH, LABELLED)]
        names = _iri_list(iri for iri in batch if len(iri) <= 150)
        values = f"VALUES ?s {{ {names} }} VALUES ?p {{ {_iri_list(TEXTS)} }}"
        query = f"SELECT ?s ?p ?o WHERE {{ {values} ?s ?p ?o }}"
        rows += asked.rows("the labels", query, limit=MAX_STATEMENTS)
    return rows


def _quads(rows: Iterable[dict[str, Term]]) -> list[Quad]:
    """The statements that rows of ?s ?p ?o stand for, without those that no store would take."""
    from pyoxigraph import Quad

    from rlm.ontology.engine.ox_terms import from_term

    found = []
    for row in rows:
        try:
            subject, predicate, value = (from_term(row[name]) for name in "spo")
            found.append(Quad(subject, predicate, value))  # type: ignore[arg-type]
        except (KeyError, ValueError, TypeError):
            continue
    return found


def _number(term: Term | None) -> int:
    text = str(term["v"]) if term else ""
    return int(text) if text.isdecimal() and len(text) < 19 else 0
