"""What `rlm memory search` finds for a question, a run recalls: no question is parsed for it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_running import Run

QUESTION = "Who was responsible for generating the report?"
PROV = Path(__file__).parent.parent.parent / "ontology" / "prov.ttl"


@pytest.mark.req("RB-07")
def test_a_memory_with_a_task_type_of_its_own_is_found_and_recalled(
    rlm: Run, db: str, tmp_path: Path
) -> None:
    added = rlm(
        "memory", "add", "--db", db, "--title", "Find who is responsible for a thing",
        "--content", "- follow the attribution of the report to its agent",
        "--task-type", "responsibility",
    )  # fmt: skip
    memory_id = added.out.strip()
    [hit] = rlm("memory", "search", QUESTION, "--db", db, "--json").json
    assert hit["memory_id"] == memory_id
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["```repl\nprint(graph_stats())\n```", "FINAL(nobody)"]))
    for model in (f"scripted:{script}", "offline"):
        ran = rlm("run", QUESTION, "--ontology", str(PROV), "--db", db, "--model", model, "--json")
        used = {memory["memory_id"]: memory["injected"] for memory in ran.json["memories_used"]}
        assert used.get(memory_id) is True, (model, ran.json["memories_used"])
