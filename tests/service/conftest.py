"""A store of every kind, and managers for an agent and for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from session_telling import LOCAL

from rlm import MemoryBackend, open_store
from rlm.service import MemoryManager

SERVERS = ("postgres", "sqlite with qdrant", "postgres with qdrant")
KINDS = ["sqlite", "json", *(pytest.param(kind, marks=pytest.mark.slow) for kind in SERVERS)]


@pytest.fixture(params=KINDS)
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty store of each kind is."""
    kind, _, index = request.param.partition(" with ")
    if index:
        request.getfixturevalue("qdrant")
    if kind == "postgres":
        return str(request.getfixturevalue("postgres_server").empty_store())
    return f"{kind}:{tmp_path / 'memory'}"


@pytest.fixture
def shared(store_url: str) -> Iterator[MemoryBackend]:
    """A store of each kind, by words only."""
    with open_store(store_url, tenant=LOCAL, embedder="none", origin="mcp") as store:
        yield store


@pytest.fixture
def agent(shared: MemoryBackend) -> MemoryManager:
    """Memory as an agent has it."""
    return MemoryManager(shared)


@pytest.fixture
def person(shared: MemoryBackend) -> MemoryManager:
    """Memory as a person has it."""
    return MemoryManager(shared, person=True)
