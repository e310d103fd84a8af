"""What a GraphMeta holds, gathered from a pyoxigraph store. Runs in the engine's child, where the
store is.

Counting was done while the file was loaded (`tally`), or is left to the store (a GROUP BY over a
million triples takes half a second, a loop in Python four times that) and runs beside the rest; the
members of each type then come from it as one text. Only the statements that describe terms are
read, predicate by predicate, or looked up where everybody has such a statement. What grows with the
data is held as sets of strings: the typed individuals, and the untyped subjects where there are
any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from heapq import nsmallest
from typing import Any

from pyoxigraph import Store

from rlm.ontology import vocabulary as v
from rlm.ontology.labels import Label, cut, defining, pick, tidy
from rlm.ontology.meta.build_read import Draft, Reader, Types, read_types
from rlm.ontology.meta.build_schema import add_classes, add_deprecated, add_properties
from rlm.ontology.meta.tally import Tally

COMMENT_CHARS = 500
LABEL_CHARS = 200
LABELS_PER_TERM = 40


def gather(
    store: Store, individuals: int, tally: Tally | None = None
) -> tuple[dict[str, Any], dict[str, str]]:
    """A GraphMeta as JSON but for its version and namespaces, with so many individuals; and the
    prefixes (vann) that vocabularies in the store recommend for themselves. All graphs together.
    `tally` is what was counted of the store when it was loaded, if it still holds."""
    reader, meta = Reader(store, tally), Draft()
    types = read_types(reader)
    add_classes(reader, types, meta)
    ontologies = sorted(types.ontologies)
    imports = sorted({iri for _, iri in reader.named(v.OWL + "imports")})
    add_properties(reader, types, meta)
    add_deprecated(reader, types, meta)
    terms = meta.classes.keys() | meta.properties.keys() | types.ontologies
    named = types.individuals
    sample = _smallest(individuals, named)
    _add_labels(reader, meta, terms.union(sample))
    _add_comments(reader, meta, terms)
    if (
        untyped := _untyped(reader, types) - terms
    ):  # seldom in data; to know it takes longer than all of the above
        named = named | untyped
        sample = _smallest(individuals, named)
        _add_labels(reader, meta, terms.union(sample))
    titles = (meta.labels[iri] for iri in ontologies if iri in meta.labels)
    meta.more = {
        "triple_count": sum(reader.pred_freq.values()),
        "subject_count": reader.counts.subjects,
        "pred_freq": reader.pred_freq,
        "individuals": {"count": len(named), "sample": sample},
        "examples": dict(sorted((iri, some) for iri, some in types.examples.items() if some)),
        "ontology_iris": ontologies,
        "imports": imports,
        "title": next((pick(labels) or "" for labels in titles), ""),
        "description": next((meta.comments[iri] for iri in ontologies if iri in meta.comments), ""),
    }
    return meta.to_dict(), _preferred(reader)


def _untyped(reader: Reader, types: Types) -> set[str]:
    """The IRIs among the subjects that have no type. In data there are often none, which the counts
    tell."""
    typed = types.individuals | types.schema
    if reader.counts.subjects == len(typed):
        return set()
    return reader.named_subjects() - typed


def _smallest(count: int, names: set[str]) -> list[str]:
    """The same as sorting all and taking the first, in less time where most are not wanted."""
    return sorted(names)[:count] if len(names) < 10 * count else nsmallest(count, names)


def _add_labels(reader: Reader, meta: Draft, wanted: Collection[str]) -> None:
    languages: Counter[str] = Counter()
    meta.labels, meta.alternatives = {}, {}
    for predicates, target in ((v.LABELS, meta.labels), (v.ALTERNATIVES, meta.alternatives)):
        found: dict[str, list[tuple[int, str, str]]] = {}
        for rank, predicate in enumerate(predicates):
            texts = reader.texts_of(wanted, predicate)
            if predicates is v.LABELS:
                languages.update([text[2] for text in texts])
            for iri, text, lang in texts:
                found.setdefault(iri, []).append((rank, cut(text, LABEL_CHARS), lang))
        for iri in sorted(found):
            labels = found[iri]
            if len(labels) == 1:  # as it is with most, where there are many
                kept = [(labels[0][1], labels[0][2])] if labels[0][1] else []
            else:
                kept = tidy((text, lang) for _, text, lang in sorted(labels))[:LABELS_PER_TERM]
            if kept:
                target[iri] = kept
    meta.languages = dict(sorted(languages.items(), key=lambda item: (-item[1], item[0])))


def _add_comments(reader: Reader, meta: Draft, terms: Collection[str]) -> None:
    """The definition of each term, else its comment; anything called `definition` is a definition."""
    found: dict[str, tuple[int, list[Label]]] = {}
    for rank, predicate in enumerate(defining(reader.pred_freq, meta.labels)):
        for iri, text, lang in reader.texts_of(terms, predicate):
            if text.strip() and found.setdefault(iri, (rank, []))[0] == rank:
                found[iri][1].append((text, lang))
    for iri, (_, texts) in sorted(found.items()):
        meta.comments[iri] = cut(pick(sorted(texts)) or "", COMMENT_CHARS)


def _preferred(reader: Reader) -> dict[str, str]:
    """Prefixes that a vocabulary recommends for itself (vann)."""
    spaces = {iri: text for iri, text, _ in _values(reader, v.VANN + "preferredNamespaceUri")}
    names = sorted(
        (iri, text) for iri, text, _ in reader.texts(v.VANN + "preferredNamespacePrefix")
    )
    return {text: spaces[iri] for iri, text in names if iri in spaces}


def _values(reader: Reader, predicate: str) -> Iterable[tuple[str, str, str]]:
    """Literals and IRIs alike, as text."""
    yield from ((iri, text, "") for iri, text in sorted(reader.named(predicate)))
    yield from sorted(reader.texts(predicate))
