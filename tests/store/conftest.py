"""Fixtures for the store's tests: real files, both backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm.store.open import open_store
from rlm.store.types import LOCAL, MemoryItem, Tenant


def item(title="Find a class by its label", content="1. search\n2. describe", **kw):
    kw.setdefault("description", f"About: {title}")
    return MemoryItem(title=title, content=content, **kw)


@pytest.fixture
def make_item():
    return item


URLS = {"sqlite": "{folder}/memory.db", "json": "json:{folder}/memory.json"}
"""The backends that pass the contract suite; a further one is a further line."""


@pytest.fixture(params=list(URLS))
def opener(request, tmp_path: Path):
    """Open, and open again, the same store of each kind; `kind` tells which."""

    def opened(tenant: Tenant = LOCAL, **kw):
        store = open_store(URLS[request.param].format(folder=tmp_path), tenant=tenant, **kw)
        stores.append(store)
        return store

    stores: list = []
    opened.kind = request.param
    yield opened
    for store in stores:
        store.close()


@pytest.fixture
def backend(opener):
    return opener()


@pytest.fixture
def db(tmp_path: Path):
    """A fresh SQLite store."""
    with open_store(tmp_path / "memory.db") as store:
        yield store
