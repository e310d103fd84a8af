"""The real coding agents, each with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_model import serving
from host_running import Host


@pytest.fixture
def codex(tmp_path: Path) -> Iterator[Host]:
    with serving() as model:
        yield Host("codex", "user", tmp_path, model)


@pytest.fixture(
    params=[("claude", "user"), ("claude", "project"), ("codex", "user"), ("codex", "project")],
    ids="-".join,
)
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    name, scope = request.param
    with serving() as model:
        yield Host(name, scope, tmp_path, model)
