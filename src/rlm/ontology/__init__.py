"""Ontologies and SPARQL, in six sub-rooms. Nothing is imported here, so that a cold start is quick.

    query     lexer, guard, LIMIT, the shape of a query
    meta      GraphMeta and its making
    engine    LocalEngine: pyoxigraph in a worker, the cache, loading
    views     search, describe, paths, the sense card, the schema
    remote    RemoteEngine: SPARQL endpoints over HTTP
    datasets  DatasetMeta: facts, named graphs, snapshots

Imports go down: terms, vocabulary, labels -> query, meta -> engine -> views, remote, datasets ->
open. An engine gives its GraphMeta, so meta lies below it. Sub-rooms of one level do not know each
other. tests/project/test_imports.py holds the line.
"""
