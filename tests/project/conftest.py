"""Fixtures for the project's tests: the tools as modules, and a way to run them as programs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))  # scripts, no part of the package


@pytest.fixture(scope="session")
def gendocs() -> ModuleType:
    """tools/gendocs.py."""
    return importlib.import_module("gendocs")


@pytest.fixture
def run_python(
    root: Path, clean_environment: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run Python with these arguments, the source on its path, and an empty HOME."""

    def run(
        *arguments: str | Path, cwd: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "PYTHONPATH": str(root / "src"),
            "PYTHONIOENCODING": "utf-8",
            **variables,
        }
        command = [sys.executable, *map(str, arguments)]
        return subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, timeout=60, check=False
        )

    return run
