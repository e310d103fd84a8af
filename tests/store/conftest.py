"""Fixtures for the store's tests: real files, both backends."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest

from rlm.store.jsonfile import MemoryStore
from rlm.store.open import open_store
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.types import LOCAL, MemoryItem, Tenant


def item(title="Find a class by its label", content="1. search\n2. describe", **kw):
    kw.setdefault("description", f"About: {title}")
    return MemoryItem(title=title, content=content, **kw)


@pytest.fixture
def make_item():
    return item


BACKENDS = {
    "sqlite": (SQLiteMemoryBackend, "{folder}/memory.db"),
    "json": (MemoryStore, "json:{folder}/memory.json"),
}
"""The backends that pass the contract suite; a further one is a further line."""
WITH_GRAPH = [kind for kind, (made, _) in BACKENDS.items() if "graph" not in made.lacks]


@contextmanager
def opening(kind: str, folder: Path):
    def opened(tenant: Tenant = LOCAL, **kw):
        store = open_store(opened.url, tenant=tenant, **kw)
        stores.append(store)
        return store

    stores: list = []
    opened.kind, opened.url = kind, BACKENDS[kind][1].format(folder=folder)
    yield opened
    for store in stores:
        store.close()


@pytest.fixture(params=list(BACKENDS))
def opener(request, tmp_path: Path):
    """Open, and open again, the same store of each kind; `kind` tells which, `url` where."""
    with opening(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture(params=WITH_GRAPH)
def graph_opener(request, tmp_path: Path):
    """The same, of each kind that has a hypergraph."""
    with opening(request.param, tmp_path) as opened:
        yield opened


@pytest.fixture
def graph(graph_opener):
    """The hypergraph of a fresh store of each kind that has one."""
    return graph_opener().graph


@pytest.fixture
def backend(opener):
    return opener()


@pytest.fixture
def db(tmp_path: Path):
    """A fresh SQLite store."""
    with open_store(tmp_path / "memory.db") as store:
        yield store
