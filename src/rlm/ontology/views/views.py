"""The bounded views of a graph under the names that the procedures use.

`Views(engine)` holds an engine and its GraphMeta; the tools mount its methods. Every list is capped
(25 at most), every text cut, every count true. Names are given as CURIE, IRI, <IRI>, or a name that
only one term has; an unknown one raises OntologyError with the nearest. The docstrings of the
methods are read by models.
"""

from __future__ import annotations

import inspect
from collections import Counter
from functools import cached_property
from typing import Any

from rlm.errors import OntologyError
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.labels import cut
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views import (
    concepts,
    describe,
    expressions,
    hierarchy,
    paths,
    search,
    statements,
)
from rlm.ontology.views.links import opaque_labels, types_of
from rlm.ontology.views.listing import ROWS, Page, Window, check_limit, one_of
from rlm.ontology.views.resolve import resolve, resolve_property
from rlm.ontology.views.summary import key_classes
from rlm.ontology.vocabulary import EQUIVALENCES

MOST_PREDICATES = 25
LISTED = 10
VIEWS = (
    *("search_entity", "search_by_label", "describe_entity", "probe_relationships"),
    *("find_path", "predicate_frequency", "graph_stats"),
)
"""The methods of `Views` that are mounted as tools and in notebooks by their own names."""
MOUNTED = (*VIEWS, "ontology_view")
CATALOGUE = (
    *("tree", "related", "terms", "instances", "values", "restrictions", "compare", "labels"),
    *("metadata", "prefixes", "shapes", "lint"),
)
"""The methods of `Views` that `ontology_view` calls, in a REPL and over MCP, and that are commands
of `rlm ontology`. A view is defined by its method: the name, the arguments, the docstring."""


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
        self, uri: str, predicate: str | None = None, direction: str = "both", limit: int = 25
    ) -> dict[str, Any]:
        """What it points to and what points to it, up to 25 each, with counts by predicate.
        direction is 'both', 'out' or 'in'."""
        asked = describe.LinkOptions(predicate, direction, limit, self.lang)
        return describe.probe_relationships(self.engine, self.meta, uri, asked)

    def find_path(
        self, source: str, target: str, max_depth: int = 2, limit: int = 10
    ) -> dict[str, Any]:
        """Paths between two things, shortest first, both ways; max_depth up to 8."""
        return paths.find_path(
            self.engine, self.meta, source, target, max_depth=max_depth, limit=limit
        )

    def predicate_frequency(self, limit: int = 20) -> list[dict[str, Any]]:
        """Predicates in use, most frequent first: [{predicate, count, label}]; limit up to 25."""
        meta = self.meta
        most = list(meta.pred_freq.items())[: check_limit(limit, MOST_PREDICATES)]
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
        return Page(rows, len(meta.pred_freq))

    def graph_stats(self) -> dict[str, Any]:
        """Sizes, roots, key classes, languages and namespaces of the graph."""
        return _graph_stats(self.meta)

    # -- the catalogue

    def resolve(self, name: str) -> str:
        """The IRI behind a name. OntologyError with the nearest names where there is none."""
        return resolve(self.engine, self.meta, name)

    def tree(
        self,
        term: str = "",
        *,
        depth: int = 2,
        direction: str = "down",
        limit: int = ROWS,
        offset: int = 0,
    ) -> dict[str, Any]:
        """The classes or properties below TERM, with counts; without TERM, from the roots. Of a
        concept, those that are narrower.

        direction is 'down' or 'up'."""
        iri = self.resolve(term) if term else None
        window, meta = Window(limit, offset), self.meta
        asked: dict[str, Any] = {"depth": depth, "direction": direction, "lang": self.lang}
        if iri is not None and iri not in meta.classes and iri not in meta.properties:
            found = concepts.tree(self.engine, meta, iri, window, **asked)
            if found is not None:
                return found
        return hierarchy.tree(meta, iri, window, **asked)

    def related(
        self,
        term: str,
        *,
        relation: str = "subclasses",
        all: bool = False,
        limit: int = ROWS,
        offset: int = 0,
    ) -> dict[str, Any]:
        """The terms that stand in one relation to TERM.

        relation is subclasses, superclasses, subproperties, superproperties, equivalents, disjoint,
        inverses, domain, range, properties, range_of, types, replaced_by, replaces, or of concepts
        broader or narrower; all: at any depth, or inherited."""
        iri = self.resolve(term)
        if relation in concepts.RELATIONS:
            window = Window(limit, offset)
            return concepts.related(
                self.engine, self.meta, iri, window, relation, all=all, lang=self.lang
            )
        types = types_of(self.engine, self.meta, iri) if relation == "types" else ()
        asked = hierarchy.Related(relation, all, tuple(types), self.lang)
        found = hierarchy.related(self.meta, iri, Window(limit, offset), asked)
        if relation not in ("domain", "range"):
            return found
        text = expressions.side_text(self.engine, self.meta, iri, relation)
        return found | ({"text": text, "expression": True} if text else {})

    def terms(
        self,
        *,
        kind: str = "classes",
        prefix: str = "",
        only: str = "",
        limit: int = ROWS,
        offset: int = 0,
    ) -> dict[str, Any]:
        """All terms of one kind.

        kind is classes, properties, object, datatype, annotation, functional, inverse functional,
        transitive, symmetric, asymmetric, reflexive, irreflexive, individuals, roots, leaves,
        deprecated, defined, undeclared, imports or ontologies; prefix: only names that begin so;
        only: those that are declared, current (not deprecated) or of another kind too."""
        window = Window(limit, offset)
        return hierarchy.terms(
            self.meta, window, kind=kind, prefix=prefix, only=only, lang=self.lang
        )

    def instances(
        self,
        term: str,
        *,
        all: bool = True,
        limit: int = ROWS,
        offset: int = 0,
    ) -> dict[str, Any]:
        """The things of class TERM; all: also those of the classes below it."""
        iri, window = self.resolve(term), Window(limit, offset)
        return statements.instances(self.engine, self.meta, iri, window, all=all, lang=self.lang)

    def values(
        self, term: str, *, property: str = "", limit: int = ROWS, offset: int = 0
    ) -> dict[str, Any]:
        """What is stated of TERM: every property with its value, or one property's values."""
        iri, window = self.resolve(term), Window(limit, offset)
        by = resolve_property(self.engine, self.meta, property) if property else None
        return statements.values(self.engine, self.meta, iri, window, predicate=by, lang=self.lang)

    def restrictions(
        self, term: str, *, inherited: bool = False, limit: int = ROWS, offset: int = 0
    ) -> dict[str, Any]:
        """What TERM is defined by and must have, in Manchester notation.

        inherited: also what the classes above it state."""
        iri, window = self.resolve(term), Window(limit, offset)
        return expressions.restrictions(
            self.engine, self.meta, iri, window, inherited=inherited, lang=self.lang
        )

    def compare(self, term: str, other: str) -> dict[str, Any]:
        """How TERM and OTHER stand to each other, what they share, what only one of them has."""
        pair = [self.resolve(term), self.resolve(other)]
        facts = {iri: statements.facts_of(self.engine, self.meta, iri) for iri in pair}
        types = {iri: types_of(self.engine, self.meta, iri) for iri in pair}
        stated = statements.relation_of(self.engine, *pair)
        return hierarchy.compare(self.meta, (pair[0], pair[1]), facts, types, stated, self.lang)

    def labels(
        self, term: str, *, lang: str = "", limit: int = ROWS, offset: int = 0
    ) -> dict[str, Any]:
        """Labels, synonyms, definitions, comments and examples of TERM, in all languages or one."""
        iri, window = self.resolve(term), Window(limit, offset)
        return statements.texts(self.engine, self.meta, iri, window, lang=lang or None)

    def metadata(self, *, limit: int = ROWS, offset: int = 0) -> dict[str, Any]:
        """What the file says of itself: title, version, licence, imports."""
        return statements.metadata(self.engine, self.meta, Window(limit, offset))

    def prefixes(self, *, limit: int = ROWS, offset: int = 0) -> dict[str, Any]:
        """The prefixes, their namespaces, and how many terms these have."""
        return statements.prefixes(self.meta, Window(limit, offset))

    def shapes(self, term: str = "", *, limit: int = ROWS, offset: int = 0) -> dict[str, Any]:
        """The SHACL shapes, or those about TERM: what they target and what they ask."""
        from rlm.ontology.views import shapes  # most runs ask for none

        iri = self.resolve(term) if term else None
        return shapes.shapes(self.engine, self.meta, iri, Window(limit, offset))

    def lint(self, *, rule: str = "", limit: int = ROWS, offset: int = 0) -> dict[str, Any]:
        """What is wrong or missing in the file: terms without label or definition, cycles, …

        rule: only the findings of one rule."""
        from rlm.ontology.views import lint  # most runs do not judge the file

        return lint.lint(self.engine, self.meta, Window(limit, offset), rule=rule or None)

    def ontology_view(self, view: str, term: str = "", **options: Any) -> dict[str, Any]:
        """One view of the graph by its name; `term` is what it is about."""
        method = getattr(self, one_of(view, CATALOGUE, "view"))
        taken = inspect.signature(method).parameters
        if unknown := [name for name in options if name not in taken]:
            able = ", ".join(name for name in taken if name != "term") or "no options"
            raise OntologyError(
                f"the view {view} does not take {unknown[0]!r:.60}: it takes {able}"
            )
        found: dict[str, Any]
        if "term" not in taken:
            if term:
                raise OntologyError(
                    f"the view {view} is of the whole graph: leave {term!r:.60} out"
                )
            found = method(**options)
        else:
            required = taken["term"].default is inspect.Parameter.empty
            if required and not term:
                raise OntologyError(f"the view {view} needs a term: which one?")
            found = method(term, **options)
        for row in found.get("rows", ()):
            row.pop("iri", None)  # a name says as much in less room
        return found


def _graph_stats(meta: GraphMeta) -> dict[str, Any]:
    """Numbers, then short lists; `more_roots` and `left_out` say what is not listed, and
    `deprecated_roots` how many more roots there are that are deprecated and alone."""
    kinds = meta.declared_kinds()
    roots = [iri for iri in meta.roots if not hierarchy.is_out_of_use(meta, iri)]
    lists = {"ontologies": meta.ontology_iris, "imports_not_fetched": meta.missing_imports}
    lists |= {"languages": list(meta.languages), "namespaces": list(meta.namespaces)}
    found: dict[str, Any] = {
        "title": cut(meta.title, 120),
        "ontologies": [cut(iri, 200) for iri in meta.ontology_iris[:LISTED]],
        "triples": meta.triple_count,
        "subjects": meta.subject_count,
        "classes": len(meta.own_classes),
        "declared_classes": len(meta.declared.intersection(meta.own_classes)),
        "properties": len(meta.properties),
        "declared_properties": len(meta.declared_properties),
        "property_kinds": dict(sorted(kinds.items())),
        "individuals": meta.individuals.count,
        "predicates": len(meta.pred_freq),
        "deprecated": len(meta.deprecated),
        "traits": dict(Counter(trait for some in meta.traits.values() for trait in some)),
        "restrictions": meta.restriction_count,
        "equivalences": sum(meta.pred_freq.get(iri, 0) for iri in EQUIVALENCES),
        "disjoint_groups": len(meta.disjoint_groups),
        "languages": dict(list(meta.languages.items())[:LISTED]),
        "roots": [meta.curie(iri) for iri in roots[:LISTED]],
        "more_roots": max(0, len(roots) - LISTED),
        "key_classes": [meta.curie(iri) for iri in key_classes(meta, LISTED)],
        "namespaces": dict(list(meta.namespaces.items())[:15]),
        "imports_not_fetched": [cut(iri, 200) for iri in meta.missing_imports[:LISTED]],
    }
    if labels := opaque_labels(meta, " ".join((*found["roots"], *found["key_classes"]))):
        found["labels"] = labels
    if old := len(meta.roots) - len(roots):
        found["deprecated_roots"] = old
    if left_out := {k: n for k, all_ in lists.items() if (n := len(all_) - len(found[k]))}:
        found["left_out"] = left_out
    if meta.sampled:
        found["sampled"] = True
    if not meta.ontology_declared:
        found["ontology_declared"] = False
    return found
