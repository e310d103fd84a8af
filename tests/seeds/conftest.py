"""Where the seeds' examples run: a folder with the sample ontologies and curricula, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def workspace(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of an example: its relative paths mean what they mean in the seed."""
    shutil.copytree(root / "ontology", tmp_path / "ontology")
    shutil.copytree(root / "docs" / "curricula", tmp_path / "docs" / "curricula")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RLM_EMBEDDER", "none")
    return tmp_path
