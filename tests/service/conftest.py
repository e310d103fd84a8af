"""A store of every kind, and managers for an agent and for a person."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from session_telling import LOCAL

from rlm import MemoryBackend, open_store
from rlm.service import MemoryManager


@pytest.fixture(params=["sqlite", "json"])
def shared(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryBackend]:
    """A store of each kind, by words only."""
    path = f"{request.param}:{tmp_path / 'memory'}"
    with open_store(path, tenant=LOCAL, embedder="none", origin="mcp") as store:
        yield store


@pytest.fixture
def agent(shared: MemoryBackend) -> MemoryManager:
    """Memory as an agent has it."""
    return MemoryManager(shared)


@pytest.fixture
def person(shared: MemoryBackend) -> MemoryManager:
    """Memory as a person has it."""
    return MemoryManager(shared, person=True)
