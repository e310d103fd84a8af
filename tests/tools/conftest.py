"""Fixtures for the tools' tests: real stores of both kinds, a meter, and payloads."""

from __future__ import annotations

import pytest

from rlm.handles import Meter, Store
from rlm.store.open import open_store
from rlm.store.types import MemoryItem, Scope


@pytest.fixture
def meter():
    return Meter()


@pytest.fixture
def payloads():
    with Store() as store:
        yield store


@pytest.fixture(params=["sqlite", "json"])
def backend(request, tmp_path):
    name = (
        tmp_path / "memory.db" if request.param == "sqlite" else f"json:{tmp_path / 'memory.json'}"
    )
    with open_store(name, embedder="none") as store:
        yield store


@pytest.fixture
def db(tmp_path):
    with open_store(tmp_path / "graph.db", embedder="none") as store:
        yield store


@pytest.fixture
def remember(backend):
    """Store a memory as a person would; its id."""

    def add(title, content="1. search\n2. describe", *, domain=None, **values):
        values.setdefault("description", f"About {title}")
        return backend.add(
            MemoryItem(title=title, content=content, scope=Scope(ontology=domain), **values)
        )

    return add
