"""`sparql_schema`: what a graph holds, from GraphMeta, which an engine caches by content."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from rlm.errors import ValidationError
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.terms import local_name, namespace
from rlm.ontology.views.listing import Page
from rlm.ontology.views.summary import key_classes, key_properties
from rlm.tools.toolbox import check_count, check_text, clip
from rlm.tools.views import fit, note_rest, take

SCHEMA_LIMIT = 50
SCHEMA_CHARS = 4000
OVERVIEW_CHARS = 1000
OVERVIEW_TOP = 6
PREFIXES = 8
CELL_CHARS = 160
"""The most of one name."""
LABEL_CHARS = 80
NAME_CHARS = 500
COMMON = 3
"""Properties, domains or ranges beside an entry of `sparql_schema`."""

SCHEMA_MODES = ("overview", "classes", "properties", "namespaces")

Schema = dict[str, Any]


def describe_schema(
    meta: GraphMeta, output_mode: str, filter_prefix: str | None, limit: int
) -> Schema:
    """One of the four modes. ValidationError for another, OntologyError for an unknown prefix."""
    check_mode(output_mode, SCHEMA_MODES)
    check_count(limit, "limit", SCHEMA_LIMIT)
    if filter_prefix is not None:
        check_text(filter_prefix, "filter_prefix", NAME_CHARS)
    chosen = _Chosen(meta, (filter_prefix or "").strip())
    make = {
        "overview": _overview,
        "classes": _classes,
        "properties": _properties,
        "namespaces": _namespaces,
    }
    return make[output_mode](chosen, limit)


def check_mode(value: Any, modes: tuple[str, ...]) -> None:
    if value not in modes:
        raise ValidationError(
            f"output_mode is {value!r:.40}: use {', '.join(modes)}", field="output_mode"
        )


class _Chosen:
    """The terms whose name begins as wanted: `prov`, `prov:Act`, or the beginning of an IRI."""

    def __init__(self, meta: GraphMeta, wanted: str) -> None:
        self.meta = meta
        self._short = wanted if ":" in wanted else f"{wanted}:"
        self._iri = wanted.strip("<>") if ":" in wanted else "\0"
        self._all = not wanted
        if wanted and not any(
            self.has(iri) for iri in (*meta.classes, *meta.properties, *meta.namespaces.values())
        ):
            meta.prefixes.expand(self._short)  # its error lists the prefixes that there are

    def has(self, iri: str) -> bool:
        return (
            self._all
            or iri.startswith(self._iri)
            or f"{self.meta.curie(iri)}:".startswith(self._short)
        )

    def classes(self) -> list[str]:
        return self._rank(key_classes(self.meta, len(self.meta.classes)), self.meta.classes)

    def properties(self) -> list[str]:
        return self._rank(
            key_properties(self.meta, len(self.meta.properties)), self.meta.properties
        )

    def _rank(self, first: list[str], every: dict[str, int]) -> list[str]:
        """Those that matter first, then what is deprecated or machinery, by use."""
        known = set(first)
        rest = sorted(
            (iri for iri in every if iri not in known), key=lambda iri: (-every[iri], iri)
        )
        return [iri for iri in (*first, *rest) if self.has(iri)]

    def short(self, iri: str) -> str:
        return clip(self.meta.curie(iri), CELL_CHARS)

    def describe(self, iri: str) -> dict[str, Any]:
        label = self.meta.label(iri)
        same = label.replace(" ", "").lower() == local_name(iri).lower()
        return {"uri": self.short(iri)} | ({} if same else {"label": clip(label, LABEL_CHARS)})

    def shorts(self, iris: Any) -> list[str]:
        return [self.short(iri) for iri in iris[:COMMON]]


def _overview(chosen: _Chosen, limit: int) -> Schema:
    meta, top = chosen.meta, min(limit, OVERVIEW_TOP)
    classes, properties = chosen.classes(), chosen.properties()
    made: Schema = {
        "title": clip(meta.title, LABEL_CHARS),
        "triple_count": meta.triple_count,
        "class_count": len(classes),
        "property_count": len(properties),
        "individual_count": meta.individuals.count,
        "top_classes": [
            {"uri": chosen.short(iri), "count": meta.classes[iri]} for iri in classes[:top]
        ],
        "top_properties": [
            {"uri": chosen.short(iri), "count": meta.properties[iri]} for iri in properties[:top]
        ],
        "prefixes": Page(list(meta.namespaces)[:PREFIXES], len(meta.namespaces)),
    }
    sampled = {"sampled": True} if meta.sampled else {}
    return fit(made | sampled, OVERVIEW_CHARS - LABEL_CHARS - 20)


def _classes(chosen: _Chosen, limit: int) -> Schema:
    meta = chosen.meta

    def entry(iri: str) -> dict[str, Any]:
        own = sorted(
            meta.domain_of.get(iri, NONE), key=lambda prop: (-meta.pred_freq.get(prop, 0), prop)
        )
        said = chosen.describe(iri) | {"count": meta.classes[iri]}
        return said | ({"common_properties": chosen.shorts(own)} if own else {})

    return _page("classes", chosen.classes(), entry, limit, meta)


def _properties(chosen: _Chosen, limit: int) -> Schema:
    meta = chosen.meta

    def entry(iri: str) -> dict[str, Any]:
        said = {"kind": meta.kinds.get(iri, "property"), "count": meta.properties[iri]}
        sides = (("domain", meta.doms.get(iri, NONE)), ("range", meta.rngs.get(iri, NONE)))
        ends = {side: chosen.shorts(iris) for side, iris in sides if iris}
        return chosen.describe(iri) | said | ends

    return _page("properties", chosen.properties(), entry, limit, meta)


def _namespaces(chosen: _Chosen, limit: int) -> Schema:
    meta = chosen.meta
    terms = Counter(namespace(iri) for iri in (*meta.classes, *meta.properties))
    spaces = {
        space: prefix for prefix, space in reversed(meta.namespaces.items()) if chosen.has(space)
    }

    def entry(iri: str) -> dict[str, Any]:
        prefix = clip(spaces[iri], LABEL_CHARS)
        return {"prefix": prefix, "iri": clip(iri, CELL_CHARS), "terms": terms[iri]}

    return _page(
        "namespaces", sorted(spaces, key=lambda iri: (-terms[iri], iri)), entry, limit, meta
    )


def _page(
    name: str,
    iris: list[str],
    entry: Callable[[str], dict[str, Any]],
    limit: int,
    meta: GraphMeta,
) -> Schema:
    """As many as were asked for and fit, the total, and whether that is all."""
    shown = take(map(entry, iris[:limit]), SCHEMA_CHARS - 300)
    has_more = len(shown) < len(iris)
    if has_more:
        shown = note_rest(shown, f"{len(shown)} of {len(iris):,}: narrow it by filter_prefix")
    made: Schema = {"total": len(iris), name: shown, "has_more": has_more}
    return made | ({"sampled": True} if meta.sampled else {})
