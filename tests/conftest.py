"""What every test gets: a home of its own, no settings from outside, and a few shared things."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from rlm.retrieval.embed import Embedder
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("rlm", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "rlm")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty HOME, none of the caller's RLM_* variables, no key. Returns that home."""
    for name in [name for name in os.environ if name.startswith("RLM_") and not name.startswith("RLM_LIVE")]:
        monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    """The static embedder, loaded once for all tests of a process."""
    from rlm.retrieval.static import StaticEmbedder

    return StaticEmbedder()


@pytest.fixture
def store(tmp_path: Path, embedder: Embedder) -> Iterator[SQLiteMemoryBackend]:
    """A fresh SQLite store with the shared embedder."""
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    with SQLiteMemoryBackend(tmp_path / "memory.db", embedder=embedder) as opened:
        yield opened


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The data that lies beside the repository; the test is skipped where there is none."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("there is no ../shared here")
    return path
