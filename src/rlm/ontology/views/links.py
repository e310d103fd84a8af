"""What a node points to and what points to it, a bounded part of it, ready to be shown.

A blank node has no name that means anything, so it is shown by what it says: `[ a prov:Association
; prov:agent ex:bob ]`. Values go into a query through `term_source`, which lets no value end its
token; so the same query serves the local engine and any endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from rlm.ontology import vocabulary as v
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import Label, cut, is_opaque, pick, squeeze
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.terms import Term, is_machinery, literal, local_name, term_source, term_text
from rlm.ontology.terms import iri as iri_term

_CURIE = re.compile(r"(?<![\w:<])([\w.-]+):([\w-]+)")
VALUE_CHARS = 160
BLANKS = 200
ROWS, TEXTS, TEXT_CHARS = 10_000, 1_000, 10_000
BATCH_CHARS = 15_000
"""So much of a query may be a list of IRIs."""
FETCHED = 300
PREDICATES = 1000

SHORTENED = (
    "BIND(IF(isLiteral(?o) && STRLEN(STR(?o)) > 2000, SUBSTR(STR(?o), 1, 2000), ?o) AS ?short)"
)
"""A text of megabytes would fill an answer: its beginning stands for it."""
Link = tuple[str, Term | str]  # predicate, and the other end (a blank node as text)


def source(iri: str) -> str:
    """An IRI as a query writes it. Raises QueryRefused for an invalid IRI."""
    return term_source(iri_term(iri))


def counts(engine: Engine, node: str, way: str, predicate: str | None = None) -> dict[str, int]:
    """Predicate → number of links, all of them, the most frequent first."""
    inner = f"SELECT DISTINCT ?p ?o WHERE {{ {pattern_of(node, way, predicate)} }}"
    query = f"SELECT ?p (COUNT(*) AS ?n) WHERE {{ {{ {inner} }} }} GROUP BY ?p ORDER BY DESC(?n) ?p"
    rows = engine.query(query, limit=PREDICATES).rows
    return {row["p"]["v"]: int(row["n"]["v"]) for row in rows if "p" in row}


def links(
    engine: Engine,
    meta: GraphMeta,
    node: str,
    way: str,
    *,
    most: int,
    predicate: str | None = None,
    without: Collection[str] = (),
    lang: str | None = None,
) -> list[dict[str, Any]]:
    """Some links, taken in turn from every predicate, so that no single one fills the list."""
    pattern = pattern_of(node, way, predicate)
    if without:
        pattern += f" FILTER(?p NOT IN ({', '.join(f'<{iri}>' for iri in sorted(without))}))"
    where = f"{pattern} FILTER(!isBlank(?o)) {SHORTENED}"
    query = f"SELECT DISTINCT ?p ?short WHERE {{ {where} }} ORDER BY ?p ?short"
    rows = engine.query(query, limit=max(FETCHED, most)).rows
    found: list[Link] = [(row["p"]["v"], row["short"]) for row in rows]
    found += blank_links(engine, meta, pattern)
    shown = list(_in_turn(found))[:most]
    ends = (end for _, end in shown if isinstance(end, dict))
    names = labels_of(engine, meta, (end["v"] for end in ends if end["t"] == "iri"))
    key = "object" if way == "out" else "subject"
    return [
        {"predicate": meta.curie(p), **show_end(meta, key, end, names, lang)} for p, end in shown
    ]


def labels_of(engine: Engine, meta: GraphMeta, iris: Iterable[str]) -> dict[str, list[Label]]:
    """Labels of a few IRIs; the engine is asked for individuals that GraphMeta did not keep."""
    wanted = list(dict.fromkeys(iris))
    found = {iri: meta.labels[iri] for iri in wanted if iri in meta.labels}
    if meta.has_all_names:
        return found
    unknown = (iri for iri in wanted if iri not in found and not is_machinery(iri))
    if missing := [iri for iri in unknown if len(iri) < 300]:
        ends, predicates = " ".join(map(source, missing)), " ".join(map(source, v.LABELS))
        where = f"VALUES ?s {{ {ends} }} VALUES ?p {{ {predicates} }} ?s ?p ?l"
        query = f"SELECT DISTINCT ?s ?l WHERE {{ {where} FILTER(isLiteral(?l)) }} ORDER BY ?s ?l"
        for row in engine.query(query, limit=PREDICATES).rows:
            found.setdefault(row["s"]["v"], []).append((row["l"]["v"], row["l"].get("lang", "")))
    return found


def shown_name(meta: GraphMeta, iri: str, lang: str | None = None) -> str:
    """`ex:a`, and `ex:X_12 (widget)` where the name does not say what the label says."""
    label = _telling_label(iri, meta.labels.get(iri, []), lang)
    return f"{meta.curie(iri)} ({cut(label, 60)})" if label else meta.curie(iri)


def opaque_labels(meta: GraphMeta, text: str, lang: str | None = None) -> dict[str, str]:
    """Name → label, of the names in a text that are numbers (`obo:OBI_0000070`)."""
    found = {}
    for prefix, name in _CURIE.findall(text):
        if is_opaque(name) and prefix in meta.prefixes:
            labels = meta.labels.get(meta.prefixes[prefix] + name, ())
            found[f"{prefix}:{name}"] = cut(pick(labels, lang) or "", 60)
    return {name: label for name, label in found.items() if label}


def add_labels(text: str, labels: Mapping[str, str]) -> str:
    """The text with labels behind names, as `opaque_labels` gives them."""
    return _CURIE.sub(lambda at: f"{at[0]} ({labels[at[0]]})" if at[0] in labels else at[0], text)


def _telling_label(iri: str, labels: list[Label], lang: str | None) -> str | None:
    label = pick(labels, lang)
    return None if label is None or squeeze(label) == squeeze(local_name(iri)) else label


def pattern_of(node: str, way: str, predicate: str | None) -> str:
    """The links of a node one way, as ?p and ?o."""
    bound = "" if predicate is None else f"VALUES ?p {{ {source(predicate)} }} "
    return bound + (f"{source(node)} ?p ?o ." if way == "out" else f"?o ?p {source(node)} .")


def show_end(
    meta: GraphMeta, key: str, end: Term | str, names: dict[str, list[Label]], lang: str | None
) -> dict[str, str]:
    """The other end of a link, with its label where that says more than its name."""
    if isinstance(end, str):
        return {key: end}
    if end["t"] == "iri":
        label = _telling_label(end["v"], names.get(end["v"], []), lang)
        return {key: meta.curie(end["v"])} | ({"label": cut(label, 80)} if label else {})
    if end["t"] == "lit":
        return {key: term_text({**end, "v": cut(end["v"], VALUE_CHARS)}, meta.prefixes)}
    return {key: cut(term_text(end, meta.prefixes), VALUE_CHARS)}


def blank_links(engine: Engine, meta: GraphMeta, pattern: str) -> list[Link]:
    """The links of a pattern (?p, ?o) that lead to blank nodes, each with what it says."""
    where = f"{pattern} FILTER(isBlank(?o)) OPTIONAL {{ ?o ?k ?v }}"
    query = f"SELECT DISTINCT ?p ?o ?k ?v WHERE {{ {where} }}"
    found: dict[tuple[str, str], list[tuple[bool, str]]] = {}
    for row in engine.query(query, limit=BLANKS).rows:
        said = found.setdefault((row["p"]["v"], row["o"]["v"]), [])
        if "k" in row:
            said.append((row["k"]["v"] != v.TYPE, _statement_text(meta, row["k"]["v"], row["v"])))
    sorted_texts = ((iri, [text for _, text in sorted(said)]) for (iri, _), said in found.items())
    texts = [(iri, " ; ".join(parts)) for iri, parts in sorted_texts]
    return [(iri, f"[ {cut(text, VALUE_CHARS)} ]" if text else "[]") for iri, text in sorted(texts)]


def _statement_text(meta: GraphMeta, predicate: str, term: Term) -> str:
    name = "a" if predicate == v.TYPE else meta.curie(predicate)
    shown = "[…]" if term["t"] == "bnode" else cut(term_text(term, meta.prefixes), 60)
    return f"{name} {shown}"


def _in_turn(found: list[Link]) -> Iterator[Link]:
    """The first of every predicate, then the second of every predicate, …"""
    rows: dict[str, list[Link]] = {}
    for each in found:
        rows.setdefault(each[0], []).append(each)
    for place in range(max(map(len, rows.values()), default=0)):
        yield from (rows[iri][place] for iri in sorted(rows) if place < len(rows[iri]))


# -- texts, types, and many IRIs in a query


def types_of(engine: Engine, meta: GraphMeta, iri: str) -> list[str]:
    """The named types of a thing: those that are stated, and the classes that are defined to have
    it among their instances (`meta.enumerated_in`)."""
    where = f"{source(iri)} <{v.TYPE}> ?t . FILTER(isIRI(?t))"
    found = engine.query(f"SELECT DISTINCT ?t WHERE {{ {where} }} ORDER BY ?t", limit=ROWS)
    return [*(row["t"]["v"] for row in found.rows), *meta.enumerated_in.get(iri, ())]


def read_texts(
    engine: Engine, meta: GraphMeta, iri: str, most: int = 1000
) -> dict[str, list[Label]]:
    """Predicate → the texts by it, with their languages: labels, synonyms, definitions, …"""
    found: dict[str, list[Label]] = {}
    for row in engine.query(text_query(meta, iri), limit=most).rows:
        if row["t"]["v"].strip():
            found.setdefault(row["p"]["v"], []).append((row["t"]["v"], row["l"]["v"]))
    return found


def text_query(meta: GraphMeta, iri: str, lang: str | None = None, rest: str = "") -> str:
    """Rows of predicate, text and language, in the order of the roles."""
    roles = (*(each for iris in meta.text_roles.values() for each in iris), *v.SYNONYMS.values())
    ranked = " ".join(f"({source(p)} {rank})" for rank, p in enumerate(dict.fromkeys(roles)))
    where = f"VALUES (?p ?r) {{ {ranked} }} {source(iri)} ?p ?o . FILTER(isLiteral(?o))"
    if lang is not None:
        where += f" FILTER(LANGMATCHES(LANG(?o), {term_source(literal(lang))}))"
    where += f" BIND(SUBSTR(STR(?o), 1, {TEXT_CHARS}) AS ?t) BIND(LCASE(LANG(?o)) AS ?l)"
    return f"SELECT DISTINCT ?r ?p ?t ?l WHERE {{ {where} }} ORDER BY ?r ?l ?t {rest}"


def batch_iris(iris: Iterable[str], most_chars: int = BATCH_CHARS) -> Iterator[str]:
    """The IRIs as queries write them, as many together as a query may have."""
    held, chars = list[str](), 0
    for iri in iris:
        text = source(iri)
        if held and chars + len(text) > most_chars:
            yield " ".join(held)
            held, chars = [], 0
        held.append(text)
        chars += len(text) + 1
    if held:
        yield " ".join(held)
