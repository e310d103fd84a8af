"""Ontologies and SPARQL, in six sub-rooms. `rlm.ontology.open(path)` is the door for Python.

    query     lexer, guard, LIMIT, the shape of a query
    meta      GraphMeta and its making
    engine    LocalEngine: pyoxigraph in a worker, the cache, loading
    views     search, describe, paths, the sense card, the schema
    remote    RemoteEngine: SPARQL endpoints over HTTP
    datasets  DatasetMeta: facts, named graphs, snapshots

Imports go down: terms, vocabulary, labels -> query, meta -> engine -> views, remote, datasets ->
source. An engine gives its GraphMeta, so meta lies below it. Sub-rooms of one level do not know
each other. tests/project/test_imports.py holds the line.
"""

from __future__ import annotations

from rlm.lazy import lazy_names

TYPE_CHECKING = False  # a cold start is quick: nothing is imported before it is used
if TYPE_CHECKING:
    from rlm.ontology.source import Ontology, open

__getattr__ = lazy_names(__name__, {"source": ("Ontology", "open")})[0]
__all__ = ["Ontology", "open"]
