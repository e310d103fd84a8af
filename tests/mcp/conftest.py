"""A folder with an ontology, and no model but `offline`."""

from __future__ import annotations

from pathlib import Path

import pytest
from boats import BOATS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder with `boats.ttl` in it."""
    (tmp_path / "boats.ttl").write_text(BOATS, "utf-8")
    return tmp_path
