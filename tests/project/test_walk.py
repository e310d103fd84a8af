"""How long the walk of `rlm run` is: a newcomer reads what a run enters, and every start loads it."""

from __future__ import annotations

import json

MOST_FILES = 162
MOST_MODULES = 244


def test_a_run_enters_few_files_and_loads_few_modules(root, run_python, tmp_path):
    ontology = root / "ontology" / "prov.ttl"
    done = run_python(root / "tools" / "walk.py", "--json", ontology, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    walk = json.loads(done.stdout)
    entered, loaded = walk["entered"], walk["loaded"]
    assert len(entered) <= MOST_FILES, f"{len(entered)} files: {entered}"
    assert len(loaded) <= MOST_MODULES, f"{len(loaded)} modules: {loaded}"
    assert {"agent/loop.py", "loop/run.py", "cli/run.py"} <= {*entered}, "this is no run"


def test_a_run_over_a_file_loads_no_server_and_no_page(root, run_python, tmp_path):
    ontology = root / "ontology" / "prov.ttl"
    done = run_python(root / "tools" / "walk.py", "--json", ontology, cwd=tmp_path)
    loaded = json.loads(done.stdout)["loaded"]
    for room in (
        "rlm.evaluate",
        "rlm.train",
        "rlm.llm.chat",
        "rlm.llm.cassette",
        "rlm.agent.memory",
    ):
        assert room not in loaded
