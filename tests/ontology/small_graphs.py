"""Graphs for tests of GraphMeta and the views, written as Turtle."""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox

from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.meta.builder import build_meta
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.views.views import Views

PREFIXES = {
    "ex": "http://example.org/zoo#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "owl": "http://www.w3.org/2002/07/owl#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "schema": "https://schema.org/",
    "obo": "http://purl.obolibrary.org/obo/",
}
EX = PREFIXES["ex"]
HEADER = "".join(f"@prefix {prefix}: <{space}> .\n" for prefix, space in PREFIXES.items())


def meta_of(turtle: str, prefixes: dict[str, str] | None = None) -> GraphMeta:
    store = ox.Store()
    store.load(HEADER + turtle, format=ox.RdfFormat.TURTLE)
    return build_meta(store, PREFIXES if prefixes is None else prefixes)


def meta_of_file(path: Path) -> GraphMeta:
    store = ox.Store()
    store.load(path=path, format=ox.RdfFormat.TURTLE, base_iri="urn:base/")
    return build_meta(store, {})


def views_of(turtle: str, folder: Path, lang: str | None = None) -> Views:
    """Over the real engine; the caller closes `views.engine`."""
    file = folder / "graph.ttl"
    file.write_text(HEADER + turtle, encoding="utf-8")
    return Views(LocalEngine(file, cache_dir=folder / "cache"), lang=lang)


def ex(*names: str) -> set[str]:
    return {EX + name for name in names}
