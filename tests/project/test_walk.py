"""How long the walk of `rlm run` is: a newcomer reads what a run enters, and every start loads it."""

from __future__ import annotations

import json

import pytest

MOST_FILES = 120
MOST_MODULES = 206


@pytest.fixture
def walk(root, run_python, tmp_path):
    ontology = root / "ontology" / "prov.ttl"
    done = run_python(root / "tools" / "walk.py", "--json", ontology, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_enters_few_files_and_loads_few_modules(walk):
    entered, loaded = walk["entered"], walk["loaded"]
    assert len(entered) <= MOST_FILES, f"{len(entered)} files: {entered}"
    assert len(loaded) <= MOST_MODULES, f"{len(loaded)} modules: {loaded}"
    assert {"agent/loop.py", "loop/run.py", "cli/run.py"} <= {*entered}, "this is no run"
    rooms = ("packs", "evaluate", "train", "llm.chat", "llm.cassette", "llm.scripted")
    rooms += ("agent.memory", "llm.offline.texts", "ontology.datasets")
    unused = tuple(f"rlm.{room}" for room in rooms)
    assert [name for name in loaded if name.startswith(unused)] == [], "none of these is used"
