"""`make demo` on a fresh machine: one line beforehand, and only what the demo needs. Nothing is
installed here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")

LINE = "setting up .venv, about a minute the first time"


@pytest.fixture
def clone(root: Path, tmp_path: Path) -> Path:
    """As much of a clone as make looks at, without an environment."""
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(root / name, folder)
    return folder


def planned(clone: Path, *targets: str) -> str:
    """What make would do, without doing it."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MAKELEVEL", "VENV")
    }
    done = subprocess.run(
        ["make", "-n", *targets], cwd=clone, env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def stamp(clone: Path, name: str) -> None:
    (clone / ".venv").mkdir(exist_ok=True)
    (clone / ".venv" / name).touch()


def test_the_demo_says_what_it_waits_for_and_leaves_the_tools_out(clone: Path) -> None:
    plan = planned(clone, "demo")
    assert plan.count(LINE) == 1 and plan.index(LINE) < plan.index("-m venv")
    assert plan.count("pip install") == 1 and "[dev]" not in plan
    assert plan.rstrip().endswith("tools/demo.py")


def test_the_tests_get_the_tools(clone: Path) -> None:
    plan = planned(clone, "test")
    assert plan.count(LINE) == 1 and plan.count("-e '.[dev]'") == 1
    assert plan.index("-m venv") < plan.index("[dev]") < plan.index("pytest")


def test_the_tests_after_the_demo_only_add_the_tools(clone: Path) -> None:
    stamp(clone, ".ready")
    assert "pip install" not in planned(clone, "demo")
    plan = planned(clone, "test")
    assert plan.count("pip install") == 1 and "[dev]" in plan and "-m venv" not in plan


def test_an_environment_with_the_tools_is_enough_for_everything(clone: Path) -> None:
    stamp(clone, ".installed")
    assert "pip install" not in planned(clone, "demo", "test", "check")


def test_both_at_once_set_up_once(clone: Path) -> None:
    plan = planned(clone, "-j4", "test", "demo")
    assert plan.count("-m venv") == 1 and plan.count("[dev]") == 1
