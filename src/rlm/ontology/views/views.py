"""The bounded views of a graph under the names that the procedures use.

`Views(engine)` holds an engine and its GraphMeta; the tools mount its methods. Every list is capped
(25 at most), every text cut, every count true. Names are given as CURIE, IRI, <IRI>, or a name that
only one term has; an unknown one raises OntologyError with the nearest. The docstrings of the
methods are read by models.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views import describe, paths, search
from rlm.ontology.views.summary import key_classes

MOST_PREDICATES = 25
LISTED = 10


class Views:
    """What can be asked of one graph without writing SPARQL."""

    def __init__(
        self, engine: Engine, meta: GraphMeta | None = None, *, lang: str | None = None
    ) -> None:
        self.engine = engine
        self.meta = engine.meta() if meta is None else meta
        self.lang = lang

    @cached_property
    def _index(self) -> search.NameIndex:
        return search.NameIndex(self.meta)

    def search_entity(
        self, query: str, limit: int = 10, search_in: str = "all"
    ) -> list[dict[str, Any]]:
        """Terms by a piece of their name. search_in: label, iri, localname or all.

        Each hit says how it matched: match_type exact, prefix, word, substring or fuzzy, and
        match_in.
        """
        how = search.SearchOptions(limit, search_in, self.lang)
        return search.search_entity(self.engine, self._index, query, how)

    def search_by_label(self, text: str, limit: int = 10) -> list[dict[str, Any]]:
        """Terms by their labels and alternative labels, the exact ones first."""
        return self.search_entity(text, limit, "label")

    def describe_entity(self, uri: str, limit: int = 20) -> dict[str, Any]:
        """uri, label, types, comment, outgoing_sample, and the place of a term in the schema.

        For a class: superclasses, subclasses, properties, instances. For a property: domain, range,
        uses.
        """
        return describe.describe_entity(self.engine, self.meta, uri, limit=limit, lang=self.lang)

    def probe_relationships(
        self, uri: str, predicate: str | None = None, direction: str = "both", limit: int = 20
    ) -> dict[str, Any]:
        """What it points to and what points to it, with true counts. direction: both, out or in."""
        asked = describe.LinkOptions(predicate, direction, limit, self.lang)
        return describe.probe_relationships(self.engine, self.meta, uri, asked)

    def find_path(
        self, source: str, target: str, max_depth: int = 2, limit: int = 10
    ) -> dict[str, Any]:
        """Paths between two entities, the shortest first, links followed both ways; max_depth up to
        4."""
        return paths.find_path(
            self.engine, self.meta, source, target, max_depth=max_depth, limit=limit
        )

    def predicate_frequency(self, limit: int = 20) -> list[dict[str, Any]]:
        """The predicates in use, the most frequent first."""
        return predicate_frequency(self.meta, limit=limit, lang=self.lang)

    def graph_stats(self) -> dict[str, Any]:
        """Sizes, roots, key classes, languages and namespaces."""
        return graph_stats(self.meta)


def predicate_frequency(
    meta: GraphMeta, *, limit: int = 20, lang: str | None = None
) -> list[dict[str, Any]]:
    """Every predicate, rdf:type and rdfs:label too: this is about statements, not the schema."""
    most = list(meta.pred_freq.items())[: search.check_limit(limit, MOST_PREDICATES)]
    return [
        {"predicate": meta.curie(iri), "count": count, "label": cut(meta.label(iri, lang), 80)}
        | ({"kind": meta.kinds[iri]} if iri in meta.kinds and iri not in meta.guessed else {})
        for iri, count in most
    ]


def graph_stats(meta: GraphMeta) -> dict[str, Any]:
    """Numbers, then short lists; `more_roots` and `left_out` say what is not listed."""
    kinds = ["property" if iri in meta.guessed else kind for iri, kind in meta.kinds.items()]
    roots = sorted(meta.roots, key=lambda iri: iri in meta.deprecated)
    lists = {"ontologies": meta.ontology_iris, "imports_not_fetched": meta.imports}
    found: dict[str, Any] = {
        "title": cut(meta.title, 120),
        "ontologies": [cut(iri, 200) for iri in meta.ontology_iris[:LISTED]],
        "triples": meta.triple_count,
        "subjects": meta.subject_count,
        "classes": len(meta.classes),
        "declared_classes": len(meta.declared),
        "properties": len(meta.properties),
        "property_kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "individuals": meta.individuals.count,
        "predicates": len(meta.pred_freq),
        "deprecated": len(meta.deprecated),
        "languages": dict(list(meta.languages.items())[:LISTED]),
        "roots": [meta.curie(iri) for iri in roots[:LISTED]],
        "more_roots": max(0, len(meta.roots) - LISTED),
        "key_classes": [meta.curie(iri) for iri in key_classes(meta, LISTED)],
        "namespaces": dict(list(meta.namespaces.items())[:15]),
        "imports_not_fetched": [cut(iri, 200) for iri in meta.imports[:LISTED]],
    }
    if old := sum(iri in meta.deprecated for iri in roots):
        found["deprecated_roots"] = old
    if left_out := {key: len(iris) - LISTED for key, iris in lists.items() if len(iris) > LISTED}:
        found["left_out"] = left_out
    if meta.sampled:
        found["sampled"] = True
    return found
