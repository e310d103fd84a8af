"""What the graph itself says, asked of the engine: values, texts, instances, the file's own header.

A text may have megabytes and a term twenty thousand languages, so texts are cut inside the engine
and counted there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rlm.errors import OntologyError
from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut, is_language_tag
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import Term, is_machinery, namespace
from rlm.ontology.views.expressions import ASKED, restrictions
from rlm.ontology.views.links import (
    BATCH_CHARS,
    SHORTENED,
    Link,
    batch_iris,
    blank_links,
    labels_of,
    pattern_of,
    show_end,
    source,
    text_query,
    types_of,
)
from rlm.ontology.views.listing import MOST_ROWS, Window

ROWS = 10_000
TEXT_CHARS = 10_000
SCHEMES = 100
VERSIONS = (
    *(v.OWL + "versionInfo", v.OWL + "versionIRI", v.DCTERMS + "hasVersion"),
    *(base + "version" for base in v.SCHEMA),
)
_SAME, _EQUAL, _NOT = (f"<{v.OWL}{name}>" for name in ("sameAs", "equivalentClass", "complementOf"))
_RELATIONS = {
    "same as": f"({_SAME}|^{_SAME})+",
    "complement": f"(({_EQUAL}|^{_EQUAL})?/{_NOT})|(^{_NOT}/({_EQUAL}|^{_EQUAL})?)",
}

# -- values


def values(
    engine: Engine,
    meta: GraphMeta,
    iri: str,
    window: Window,
    *,
    predicate: str | None = None,
    lang: str | None = None,
) -> dict[str, Any]:
    """Every statement of a thing as property and value: what it has, then remarks, then types."""
    found = sorted(links_of(engine, meta, iri, predicate), key=lambda link: _rank(meta, link))
    shown = window.page(found, lambda link: link)
    ends = [end for _, end in shown["rows"] if isinstance(end, dict) and end["t"] == "iri"]
    names = labels_of(engine, meta, (end["v"] for end in ends))
    shown["rows"] = shown["rows"].map(
        lambda link: {
            "property": meta.curie(link[0]),
            **show_end(meta, "value", link[1], names, lang),
        }
    )
    head = {"name": (name := meta.curie(iri)), "kind": meta.kind(iri, types_of(engine, meta, iri))}
    if predicate is None and iri in meta.pred_freq:
        own = f"SELECT ?v (COUNT(*) AS ?n) {{ ?x {name} ?v }} GROUP BY ?v ORDER BY DESC(?n)"
        head["note"] = f"what is stated of it; its own values: {own}"
    return head | shown


def links_of(engine: Engine, meta: GraphMeta, iri: str, predicate: str | None = None) -> list[Link]:
    """All statements of a thing."""
    pattern = pattern_of(iri, "out", predicate)
    where = f"{pattern} FILTER(!isBlank(?o)) {SHORTENED}"
    query = f"SELECT DISTINCT ?p ?short WHERE {{ {where} }} ORDER BY ?p ?short"
    found: list[Link] = [
        (row["p"]["v"], row["short"]) for row in engine.query(query, limit=ROWS).rows
    ]
    return found + blank_links(engine, meta, pattern)


def facts_of(engine: Engine, meta: GraphMeta, iri: str) -> set[str]:
    """What is stated of a thing, but for its texts and what GraphMeta holds, as short texts; its
    expressions in Manchester notation."""
    texts = {each for iris in meta.text_roles.values() for each in iris}
    held = {v.SUB_CLASS, v.SUB_PROPERTY, v.DOMAIN, v.RANGE, *v.INVERSE_OF}
    held |= {v.OWL + "equivalentClass", v.OWL + "equivalentProperty"}
    found = {
        f"{meta.curie(predicate)} {show_end(meta, 'value', end, {}, None)['value']}"
        for predicate, end in links_of(engine, meta, iri)
        if predicate not in texts
        and predicate not in held
        and not (predicate in ASKED and isinstance(end, str))
    }
    said = restrictions(engine, meta, iri, Window(MOST_ROWS))["rows"]
    return found.union(f"{row['by']} {row['text']}" for row in said)


def relation_of(engine: Engine, one: str, other: str) -> str:
    """Whether two are stated to be one thing, or a class and its complement; '' for neither."""
    for relation, path in _RELATIONS.items():
        if engine.query(f"ASK {{ {source(one)} {path} {source(other)} }}").boolean:
            return relation
    return ""


def _rank(meta: GraphMeta, link: Link) -> tuple[int, str, str]:
    predicate, end = link
    remark = meta.kinds.get(predicate) == "annotation" or is_machinery(predicate)
    remark = remark or any(predicate in iris for iris in meta.text_roles.values())
    rank = 2 if predicate == v.TYPE else int(remark)
    return rank, predicate, end if isinstance(end, str) else str(end["v"])


# -- texts


def texts(
    engine: Engine, meta: GraphMeta, iri: str, window: Window, *, lang: str | None
) -> dict[str, Any]:
    """Labels, synonyms, definitions, comments and examples of a term, by language."""
    if lang and not is_language_tag(lang):
        raise OntologyError(f"lang is {lang!r:.40}; write a language tag, as en, or pt-BR")
    inner = text_query(meta, iri, lang)
    counting = f"SELECT ?l (COUNT(*) AS ?n) WHERE {{ {{ {inner} }} }} GROUP BY ?l"
    counted = {
        row["l"]["v"]: int(row["n"]["v"])
        for row in engine.query(f"{counting} ORDER BY DESC(?n) ?l", limit=ROWS).rows
        if "l" in row
    }
    everything = f"SELECT (COUNT(*) AS ?n) WHERE {{ {{ {inner} }} }}"
    total = int(engine.query(everything).rows[0]["n"]["v"])
    rest = f"OFFSET {window.offset}"
    rows = engine.query(text_query(meta, iri, lang, rest), limit=min(window.limit, ROWS)).rows
    roles = {p: role for role, iris in meta.text_roles.items() for p in iris}
    shown = [
        {
            "kind": roles.get(row["p"]["v"], "synonym"),
            "text": row["t"]["v"],
            **({"lang": row["l"]["v"]} if row["l"]["v"] else {}),
            "property": meta.curie(row["p"]["v"]),
        }
        for row in rows
    ]
    head = {"name": meta.curie(iri), "languages": counted}
    return window.page_of(shown, total, **head)


# -- instances


def instances(
    engine: Engine,
    meta: GraphMeta,
    iri: str,
    window: Window,
    *,
    all: bool,
    lang: str | None = None,
) -> dict[str, Any]:
    """The things of a class; `all`: and of the classes below it."""
    if iri not in meta.classes:
        raise OntologyError(f"{meta.curie(iri)} is {meta.kind(iri)}, no class: it has no instances")
    kinds = [iri, *meta.equivalents.get(iri, ()), *meta.below(iri)] if all else [iri]
    kinds = [each for each in kinds if meta.classes.get(each) or meta.sampled]
    defined = {one for kind in kinds for one in meta.enumerated.get(kind, ())}
    found = _members(engine, kinds, defined, window)
    direct, total = meta.classes[iri], meta.instances(iri)
    names = [term["v"] for term in found if term["t"] == "iri"]
    types = types_of_each(engine, names)
    labels = labels_of(engine, meta, names)

    def show(term: Term) -> dict[str, Any]:
        if term["t"] != "iri":
            return {"name": f"_:{term['v']}"}
        stated, more = types.get(term["v"], []), meta.enumerated_in.get(term["v"], ())
        end: dict[str, Any] = show_end(meta, "name", term, labels, lang)
        end["types"] = [meta.curie(each) for each in (*stated, *more)]
        by = term["v"] in defined and not {*kinds}.intersection(stated)
        return end | ({"by": "definition"} if by else {})

    head = {"name": meta.curie(iri), "direct": direct, "all": total}
    page = window.page_of(list(map(show, found)), total if all else direct, **head)
    return page | ({"sampled": True} if meta.sampled else {})


def _members(
    engine: Engine, kinds: Sequence[str], defined: Iterable[str], window: Window
) -> list[Term]:
    """One page of the things of some classes, and of those that are `defined` to be of one, in the
    order of their IRIs."""
    query = "SELECT DISTINCT ?s WHERE {{ {} }} ORDER BY ?s"
    patterns = [f"VALUES ?t {{ {each} }} ?s <{v.TYPE}> ?t" for each in batch_iris(kinds)]
    listed = [f"VALUES ?s {{ {each} }}" for each in batch_iris(sorted(defined), BATCH_CHARS // 4)]
    if len(patterns) == 1 and len(listed) <= 1:
        both = " UNION ".join(f"{{ {each} }}" for each in (*patterns, *listed))
        text = f"{query.format(both)} OFFSET {window.offset}"
        return [row["s"] for row in engine.query(text, limit=min(window.limit, ROWS)).rows]
    found: dict[tuple[str, str], Term] = {}
    for pattern in (*patterns, *listed):
        for row in engine.query(query.format(pattern), limit=ROWS).rows:
            found[(row["s"]["t"], row["s"]["v"])] = row["s"]
    ordered = [found[key] for key in sorted(found)]
    return ordered[window.offset : window.offset + window.limit]


def types_of_each(engine: Engine, iris: Iterable[str]) -> dict[str, list[str]]:
    """Thing → its named types, owl:NamedIndividual aside."""
    found: dict[str, list[str]] = {}
    for batch in batch_iris(iris):
        where = f"VALUES ?s {{ {batch} }} ?s <{v.TYPE}> ?t FILTER(isIRI(?t))"
        query = f"SELECT DISTINCT ?s ?t WHERE {{ {where} }} ORDER BY ?s ?t"
        for row in engine.query(query, limit=ROWS).rows:
            if row["t"]["v"] != v.NAMED_INDIVIDUAL:
                found.setdefault(row["s"]["v"], []).append(row["t"]["v"])
    return found


# -- the file


def metadata(engine: Engine, meta: GraphMeta, window: Window) -> dict[str, Any]:
    """What the file says of itself: the statements of its owl:Ontology, or of its namespace; of a
    thesaurus without either those of its concept schemes."""
    schemes = [] if meta.ontology_iris else _concept_schemes(engine)
    said = [
        (iri, *link)
        for iri in (*meta.ontology_iris, *schemes)
        for link in sorted(links_of(engine, meta, iri), key=lambda link: _rank(meta, link))
    ]
    own = [(p, end) for iri, p, end in said if iri == meta.main_ontology and isinstance(end, dict)]
    version = next((end["v"] for known in VERSIONS for p, end in own if p == known), "")
    head = {
        "ontologies": list(meta.ontology_iris),
        "title": meta.title,
        "version": cut(version, 200),
        "imports": list(meta.imports),
        "triples": meta.triple_count,
    }
    if schemes:
        head |= {"schemes": schemes, "note": "this is what is said of its concept schemes"}
    elif not meta.ontology_declared:
        head["note"] = "no owl:Ontology is declared: this is what is said of the namespace"

    def show(row: tuple[str, str, Term | str]) -> dict[str, Any]:
        iri, predicate, end = row
        several = {"of": meta.curie(iri)} if len(schemes) > 1 else {}
        several |= {"ontology": meta.curie(iri)} if len(meta.ontology_iris) > 1 else {}
        return {
            **several,
            "property": meta.curie(predicate),
            **show_end(meta, "value", end, {}, None),
        }

    return window.page(said, show, **head)


def _concept_schemes(engine: Engine) -> list[str]:
    where = f"?s a <{v.SCHEME}> FILTER(isIRI(?s))"
    found = engine.query(f"SELECT DISTINCT ?s WHERE {{ {where} }} ORDER BY ?s", limit=SCHEMES)
    return [row["s"]["v"] for row in found.rows]


def prefixes(meta: GraphMeta, window: Window) -> dict[str, Any]:
    """Prefix, namespace, and how many classes and properties it has; the most used first."""
    terms = Counter(namespace(iri) for iri in (*meta.classes, *meta.properties))
    ordered = sorted(meta.namespaces.items(), key=lambda each: (-terms[each[1]], each[0]))
    return window.page(
        ordered,
        lambda each: {"prefix": f"{each[0]}:", "namespace": each[1], "terms": terms[each[1]]},
    )
