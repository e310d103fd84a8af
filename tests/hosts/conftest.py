"""The real coding agents, each with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_model import serving
from host_running import Host


@pytest.fixture(params=["claude", "codex"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    with serving() as model:
        yield Host(request.param, tmp_path, model)
