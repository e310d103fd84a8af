"""`sparql_schema`: what a graph holds, from GraphMeta, cached by content."""

from __future__ import annotations

import copy
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from rlm.errors import ValidationError
from rlm.ontology.engine.protocol import Engine
from rlm.ontology.meta.graph_meta import NONE, GraphMeta
from rlm.ontology.remote.sample import sample_meta
from rlm.ontology.terms import local_name, namespace
from rlm.ontology.views.summary import key_classes, key_properties
from rlm.tools.toolbox import check_count, check_text, clip
from rlm.tools.views import fit, take

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
CACHED = 256

SCHEMA_MODES = ("overview", "classes", "properties", "namespaces")

Schema = dict[str, Any]


class SchemaCache:
    """Answers of `sparql_schema` by the content that they are about. Thread-safe."""

    def __init__(self, most: int = CACHED) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Any, ...], Schema] = OrderedDict()
        self.hits = 0

    def get(
        self, key: tuple[Any, ...], make: Callable[[], Schema], *, fresh: bool = False
    ) -> Schema:
        """What is cached under a key, else what `make` gives; `fresh` forgets the content."""
        with self._lock:
            found = None if fresh else self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                self.hits += 1
        if found is None:
            found = make()
            with self._lock:
                if fresh:
                    for other in [other for other in self._kept if other[0] == key[0]]:
                        del self._kept[other]
                self._kept[key] = found
                while len(self._kept) > self._most:
                    self._kept.popitem(last=False)
        return copy.deepcopy(found)


SHARED = SchemaCache()
"""For files: their content has a hash, so every run of a process can use it."""


class SchemaReader:
    """The schema of one engine's graph."""

    def __init__(
        self, engine: Engine, cache: SchemaCache | None = None, name: str | None = None
    ) -> None:
        content = getattr(engine, "content_hash", None)
        self._engine = engine
        self._name = name or engine.name
        self._content = content or engine.source
        self._cache = cache or (SHARED if content else SchemaCache())
        self._fresh: GraphMeta | None = None

    @property
    def meta(self) -> GraphMeta:
        return self._fresh or self._engine.meta()

    def schema(
        self, output_mode: str, filter_prefix: str | None, limit: int, use_cache: bool
    ) -> Schema:
        """One of the four modes, from the cache where it may be."""
        check_mode(output_mode, SCHEMA_MODES)
        check_count(limit, "limit", SCHEMA_LIMIT)
        wanted = (
            ""
            if filter_prefix is None
            else check_text(filter_prefix, "filter_prefix", NAME_CHARS).strip()
        )
        make = {
            "overview": _overview,
            "classes": _classes,
            "properties": _properties,
            "namespaces": _namespaces,
        }
        if not use_cache and not hasattr(self._engine, "content_hash"):
            self._fresh = sample_meta(self._engine)  # an endpoint's data may be other data by now
        key = (self._content, output_mode, wanted, limit)
        found = self._cache.get(
            key, lambda: make[output_mode](_Chosen(self.meta, wanted), limit), fresh=not use_cache
        )
        return {"ontology": clip(self._name, LABEL_CHARS), **found}


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
        "prefixes": [clip(prefix, LABEL_CHARS) for prefix in meta.namespaces][:PREFIXES],
    }
    sampled = {"sampled": True} if meta.sampled else {}
    return fit(made | sampled, OVERVIEW_CHARS - LABEL_CHARS - 20)


def _classes(chosen: _Chosen, limit: int) -> Schema:
    meta = chosen.meta

    def entries(iris: list[str]) -> Iterator[dict[str, Any]]:
        for iri in iris:
            own = sorted(
                meta.domain_of.get(iri, NONE), key=lambda prop: (-meta.pred_freq.get(prop, 0), prop)
            )
            entry = chosen.describe(iri) | {"count": meta.classes[iri]}
            yield entry | ({"common_properties": chosen.shorts(own)} if own else {})

    return _page("classes", chosen.classes(), entries, limit, meta)


def _properties(chosen: _Chosen, limit: int) -> Schema:
    meta = chosen.meta

    def entries(iris: list[str]) -> Iterator[dict[str, Any]]:
        for iri in iris:
            entry = chosen.describe(iri) | {
                "kind": meta.kinds.get(iri, "property"),
                "count": meta.properties[iri],
            }
            sides = (("domain", meta.doms.get(iri, NONE)), ("range", meta.rngs.get(iri, NONE)))
            yield entry | {side: chosen.shorts(iris) for side, iris in sides if iris}

    return _page("properties", chosen.properties(), entries, limit, meta)


def _namespaces(chosen: _Chosen, limit: int) -> Schema:
    meta = chosen.meta
    terms = Counter(namespace(iri) for iri in (*meta.classes, *meta.properties))
    spaces = {
        space: prefix for prefix, space in reversed(meta.namespaces.items()) if chosen.has(space)
    }

    def entries(iris: list[str]) -> Iterator[dict[str, Any]]:
        for iri in iris:
            yield {
                "prefix": clip(spaces[iri], LABEL_CHARS),
                "iri": clip(iri, CELL_CHARS),
                "terms": terms[iri],
            }

    return _page(
        "namespaces", sorted(spaces, key=lambda iri: (-terms[iri], iri)), entries, limit, meta
    )


def _page(
    name: str,
    iris: list[str],
    entries: Callable[[list[str]], Iterator[dict[str, Any]]],
    limit: int,
    meta: GraphMeta,
) -> Schema:
    """As many as were asked for and fit, the total, and whether that is all."""
    shown = take(entries(iris[:limit]), SCHEMA_CHARS - 200)
    made: Schema = {"total": len(iris), name: shown, "has_more": len(shown) < len(iris)}
    return made | ({"sampled": True} if meta.sampled else {})
