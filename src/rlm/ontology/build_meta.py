"""GraphMeta from a pyoxigraph store.

Counting is left to the store (a GROUP BY over a million triples takes half a second, a loop in Python four
times that); then only the statements that describe terms are read, predicate by predicate. What grows with
the data is held as sets of strings: the subjects and the typed individuals. Runs in the engine's child,
where the store is.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from pyoxigraph import NamedNode, Store

from rlm.ontology import vocabulary as v
from rlm.ontology.build_read import Reader, Types, read_types
from rlm.ontology.build_schema import add_classes, add_deprecated, add_properties
from rlm.ontology.labels import Label, cut, pick, tidy
from rlm.ontology.meta import INDIVIDUALS, GraphMeta, Individuals
from rlm.ontology.prefixing import name_namespaces
from rlm.ontology.terms import local_name

COMMENT_CHARS = 500
LABEL_CHARS = 200
LABELS_PER_TERM = 40


def build_meta(store: Store, prefixes: Mapping[str, str] | None = None) -> GraphMeta:
    """What is in the store, all graphs together. `prefixes` are those that the file binds, where they are known."""
    reader = Reader(store)
    types = read_types(reader)
    subject_count, untyped = _subjects(reader, types)
    meta = GraphMeta(sum(reader.pred_freq.values()), subject_count, pred_freq=reader.pred_freq)
    add_classes(reader, types, meta)
    add_properties(reader, types, meta)
    add_deprecated(reader, types, meta)
    meta.ontology_iris = sorted(types.ontologies)
    meta.imports = sorted({iri for _, iri in reader.named(v.OWL + "imports")})
    terms = meta.classes.keys() | meta.properties.keys() | types.ontologies
    individuals = types.individuals | (untyped - terms)
    sample = heapq.nsmallest(INDIVIDUALS, individuals)
    meta.individuals = Individuals(len(individuals), tuple(sample))
    meta.examples = dict(sorted((iri, some) for iri, some in types.examples.items() if some))
    _add_labels(reader, meta, terms | set(sample))
    _add_comments(reader, meta, terms)
    titles = (meta.labels[iri] for iri in meta.ontology_iris if iri in meta.labels)
    meta.title = next((pick(labels) or "" for labels in titles), "")
    meta.description = next((meta.comments[iri] for iri in meta.ontology_iris if iri in meta.comments), "")
    in_use = (*meta.classes, *meta.properties, *sample[:500], *reader.pred_freq)
    meta.namespaces = name_namespaces(prefixes or {}, _preferred(reader), in_use)
    return meta


def _subjects(reader: Reader, types: Types) -> tuple[int, set[str]]:
    """How many subjects there are, and the IRIs among them that have no type."""
    count, untyped = 0, set()
    for row in reader.rows("SELECT DISTINCT ?s WHERE { ?s ?p ?o }"):
        count += 1
        node = row[0]
        if isinstance(node, NamedNode) and node.value not in types.individuals and node.value not in types.schema:
            untyped.add(node.value)
    return count, untyped


def _add_labels(reader: Reader, meta: GraphMeta, wanted: Collection[str]) -> None:
    languages: Counter[str] = Counter()
    for predicates, target in ((v.LABELS, meta.labels), (v.ALTERNATIVES, meta.alternatives)):
        found: dict[str, list[tuple[int, str, str]]] = {}
        for rank, predicate in enumerate(predicates):
            for iri, text, lang in reader.texts(predicate):
                if predicates is v.LABELS:
                    languages[lang] += 1
                if iri in wanted:
                    found.setdefault(iri, []).append((rank, cut(text, LABEL_CHARS), lang))
        for iri, labels in sorted(found.items()):
            kept = tidy((text, lang) for _, text, lang in sorted(labels))[:LABELS_PER_TERM]
            if kept:
                target[iri] = kept
    meta.languages = dict(sorted(languages.items(), key=lambda item: (-item[1], item[0])))


def _add_comments(reader: Reader, meta: GraphMeta, terms: Collection[str]) -> None:
    """The definition of each term, else its comment; anything called `definition` is a definition."""
    own = [iri for iri in sorted(reader.pred_freq) if local_name(iri) == "definition" and iri not in v.DEFINITIONS]
    found: dict[str, tuple[int, list[Label]]] = {}
    for rank, predicate in enumerate((*v.DEFINITIONS, *own, *v.COMMENTS)):
        for iri, text, lang in reader.texts(predicate):
            if iri in terms and text.strip() and found.setdefault(iri, (rank, []))[0] == rank:
                found[iri][1].append((text, lang))
    for iri, (_, texts) in sorted(found.items()):
        meta.comments[iri] = cut(pick(sorted(texts)) or "", COMMENT_CHARS)


def _preferred(reader: Reader) -> dict[str, str]:
    """Prefixes that a vocabulary recommends for itself (vann)."""
    spaces = {iri: text for iri, text, _ in _values(reader, v.VANN + "preferredNamespaceUri")}
    names = sorted((iri, text) for iri, text, _ in reader.texts(v.VANN + "preferredNamespacePrefix"))
    return {text: spaces[iri] for iri, text in names if iri in spaces}


def _values(reader: Reader, predicate: str) -> Iterable[tuple[str, str, str]]:
    """Literals and IRIs alike, as text."""
    yield from ((iri, text, "") for iri, text in sorted(reader.named(predicate)))
    yield from sorted(reader.texts(predicate))
