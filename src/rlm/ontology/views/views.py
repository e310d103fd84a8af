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
VIEWS = (
    *("search_entity", "search_by_label", "describe_entity", "probe_relationships"),
    *("find_path", "predicate_frequency", "graph_stats"),
)
"""The methods of `Views` that are mounted as tools and in notebooks."""


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
        """Terms and things by a piece of their name or label: [{uri, curie, label, kind,
        match_type}]; limit up to 25. match_type 'fuzzy': the spelling differs.

        search_in is 'all', 'label', 'localname' or 'iri'."""
        return search.search_entity(self.engine, self._index, query, limit, search_in, self.lang)

    def search_by_label(self, text: str, limit: int = 10) -> list[dict[str, Any]]:
        """As search_entity, in labels and alternative labels only, exact ones first."""
        return self.search_entity(text, limit, "label")

    def describe_entity(self, uri: str, limit: int = 20) -> dict[str, Any]:
        """What a class, property or thing is: label, types, comment, place in the schema, some
        statements. uri is prefix:name, an IRI, or a name that only one term has."""
        return describe.describe_entity(self.engine, self.meta, uri, limit=limit, lang=self.lang)

    def probe_relationships(
        self, uri: str, predicate: str | None = None, direction: str = "both", limit: int = 20
    ) -> dict[str, Any]:
        """What it points to and what points to it, up to 25 each, with counts by predicate.
        direction is 'both', 'out' or 'in'."""
        asked = describe.LinkOptions(predicate, direction, limit, self.lang)
        return describe.probe_relationships(self.engine, self.meta, uri, asked)

    def find_path(
        self, source: str, target: str, max_depth: int = 2, limit: int = 10
    ) -> dict[str, Any]:
        """Paths between two things, shortest first, links followed both ways; max_depth up to 4."""
        return paths.find_path(
            self.engine, self.meta, source, target, max_depth=max_depth, limit=limit
        )

    def predicate_frequency(self, limit: int = 20) -> list[dict[str, Any]]:
        """Predicates in use, most frequent first: [{predicate, count, label}]; limit up to 25."""
        meta = self.meta
        most = list(meta.pred_freq.items())[: search.check_limit(limit, MOST_PREDICATES)]
        # rdf:type and rdfs:label too: this is about statements, not the schema.
        rows = (
            {
                "predicate": meta.curie(iri),
                "count": count,
                "label": cut(meta.label(iri, self.lang), 80),
            }
            | ({"kind": meta.kinds[iri]} if iri in meta.kinds and iri not in meta.guessed else {})
            for iri, count in most
        )
        return search.Page(rows, len(meta.pred_freq))

    def graph_stats(self) -> dict[str, Any]:
        """Sizes, roots, key classes, languages and namespaces of the graph."""
        return _graph_stats(self.meta)


def _graph_stats(meta: GraphMeta) -> dict[str, Any]:
    """Numbers, then short lists; `more_roots` and `left_out` say what is not listed."""
    kinds = meta.declared_kinds()
    roots = sorted(meta.roots, key=lambda iri: iri in meta.deprecated)
    lists = {"ontologies": meta.ontology_iris, "imports_not_fetched": meta.imports}
    lists |= {"languages": list(meta.languages), "namespaces": list(meta.namespaces)}
    found: dict[str, Any] = {
        "title": cut(meta.title, 120),
        "ontologies": [cut(iri, 200) for iri in meta.ontology_iris[:LISTED]],
        "triples": meta.triple_count,
        "subjects": meta.subject_count,
        "classes": len(meta.classes),
        "declared_classes": len(meta.declared),
        "properties": len(meta.properties),
        "declared_properties": len(meta.declared_properties),
        "property_kinds": dict(sorted(kinds.items())),
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
    if left_out := {k: n for k, all_ in lists.items() if (n := len(all_) - len(found[k]))}:
        found["left_out"] = left_out
    if meta.sampled:
        found["sampled"] = True
    return found
