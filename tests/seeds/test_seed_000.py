"""Seed 000, procedural memory in SQLite, curricula and packs: its files, commands and calls.

Where it contradicts itself or the design:
- The pack line of §5.3 has an id that is not the hash of its words. §5.2 wins: such a line is
  refused, and without the id it is imported.
- A pack that no trusted key signed is imported into quarantine (DESIGN §8); `--trust` vouches.
- `score` in the JSON of §6.1 is SQLite's bm25 there, where lower is better; here it is seed 003's
  formula, where higher is better.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rlm.agent
from rlm import (
    Judgment,
    MemoryItem,
    Run,
    Scope,
    Trajectory,
    bootstrap_general_strategies,
    export_pack,
    import_pack,
    open_store,
)
from rlm.errors import PackError

COLUMNS = {
    "runs": "run_id created_at model ontology_name ontology_path notes",
    "trajectories": "trajectory_id run_id task_query final_answer iteration_count converged "
    "artifact_json rlm_log_path created_at",
    "judgments": "trajectory_id is_success reason confidence missing_json",
    "memory_items": "memory_id title description content source_type task_query created_at tags_json "
    "scope_json provenance_json access_count success_count failure_count",
    "memory_usage": "trajectory_id memory_id rank score",
}
"""§3.2, the tables of the minimum viable schema."""

SCOPE = """{
  "ontology": null,
  "task_types": ["entity_description", "hierarchy"],
  "tools": ["search_entity", "describe_entity", "probe_relationships"],
  "transferable": true
}"""
PROVENANCE = """{
  "source": "extracted|pack|human",
  "curriculum_id": "prov_curriculum_v1",
  "trajectory_id": "t-...",
  "run_id": "r-...",
  "exported_in_pack": "prov_v1"
}"""
CURRICULUM = """id: prov_curriculum_v1
ontology:
  name: prov
  path: ontology/prov.ttl
tasks:
  - id: prov-orient-01
    query: "What namespaces are bound in this ontology?"
    tags: ["orientation"]
  - id: prov-entity-01
    query: "What is the Activity class?"
    tags: ["entity_description"]
  - id: prov-hierarchy-01
    query: "Find all subclasses of Activity."
    tags: ["hierarchy"]
"""
PACK_LINE = (
    '{"memory_id":"a1b2c3d4e5f6a7b8","title":"Describe Entity by Label","description":"...",'
    '"content":"...","tags":["entity","universal"],"scope":{"ontology":null,"task_types":'
    '["entity_description"],"transferable":true},"provenance":{"source":"pack","pack":"core_v1"}}'
)


@pytest.fixture
def db(workspace):
    with open_store("memory.db") as store:
        yield store


@pytest.fixture
def shell(workspace, clean_environment):
    """A line of the seed as a person types it; what it printed."""

    def run(line):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            line, shell=True, capture_output=True, text=True, env={**os.environ, "PATH": path}
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def rows(db, table):
    return db.db.value(f"SELECT count(*) FROM {table}")


# -- §3: the store -----------------------------------------------------------------------------------


@pytest.mark.req("RB-01")
@pytest.mark.parametrize("table", COLUMNS)
def test_the_tables_have_the_seeds_columns(db, table):
    found = {row[1]: row[2] for row in db.db.rows(f"PRAGMA table_info({table})")}
    assert set(COLUMNS[table].split()) <= set(found)


@pytest.mark.req("RB-02")
def test_scope_and_provenance(db):
    scope, provenance = json.loads(SCOPE), json.loads(PROVENANCE)
    item = MemoryItem(
        title="Describe Entity by Label",
        description="Find it by its label, then describe it.",
        content="1. search_entity\n2. describe_entity",
        scope=scope,
        provenance=provenance,
    )
    db.add(item)
    found = db.get(item.memory_id)
    assert found.scope.to_dict() == scope and found.provenance == provenance
    assert db.retrieve("describe an entity", scope=Scope(task_types=("hierarchy",)))
    assert not db.retrieve("describe an entity", scope=Scope(task_types=("orientation",)))
    assert db.list_items(provenance={"curriculum_id": "prov_curriculum_v1"}) == [found]


@pytest.mark.req("RB-03")
def test_fts_retrieval_returns_the_expected_item(db):
    db.add_many(
        [
            MemoryItem("SPARQL query pattern for entity search", "Search by label.", "1. FILTER"),
            MemoryItem("Property exploration", "Describe, then probe.", "1. describe"),
        ]
    )
    assert db.stats()["engine"]["lexical"] == "fts5"
    [(best, score), *_] = db.retrieve("SPARQL entity search", 2)
    assert best.title == "SPARQL query pattern for entity search" and score > 0


# -- §4: curricula -----------------------------------------------------------------------------------


@pytest.mark.req("RB-08", "RB-09", "RB-17")
def test_memory_train(shell, workspace, clean_environment):
    (workspace / "docs" / "curricula" / "prov_v1.yaml").write_text(CURRICULUM, "utf-8")
    shell(
        "rlm memory train --db ~/.rlm/memory.db --curriculum docs/curricula/prov_v1.yaml --log-dir ./logs"
    )
    assert len(list((workspace / "logs").glob("*.jsonl"))) == 3
    with open_store(clean_environment / ".rlm" / "memory.db") as store:
        learnt = store.list_items(provenance={"curriculum_id": "prov_curriculum_v1"})
        assert learnt
        ids = {item.provenance["task_id"] for item in learnt}
        assert ids <= {"prov-orient-01", "prov-entity-01", "prov-hierarchy-01"}
        kept = store.recent_runs()
        assert {run.ontology_name for run, _ in kept} == {"prov"} and len(kept) == 3
        assert all(Path(made.rlm_log_path).is_file() for _, made in kept)


# -- §5: packs ---------------------------------------------------------------------------------------


@pytest.mark.req("RB-06", "RB-12", "RB-14")
def test_a_pack_line(db, workspace):
    pack_path = workspace / "prov_v1.jsonl"
    pack_path.write_text(PACK_LINE + "\n", "utf-8")
    with pytest.raises(PackError, match="is not that of its title, content and scope"):
        import_pack(pack_path, db)

    record = json.loads(PACK_LINE)
    del record["memory_id"]
    pack_path.write_text(json.dumps(record) + "\n", "utf-8")
    assert import_pack(pack_path, db).added == 1
    assert import_pack(pack_path, db).added == 0
    (item,) = db.list_items()
    assert (item.title, item.tags) == ("Describe Entity by Label", ["entity", "universal"])
    assert item.source_type == "pack"
    assert (item.provenance["source"], item.provenance["pack"]) == ("pack", "prov_v1")
    assert item.trust == "quarantined"


@pytest.mark.req("RB-12", "RB-13", "RB-14")
def test_import_pack_and_export(db, workspace):
    assert import_pack("core_v1", db).added == 7
    titles = {item.title for item in bootstrap_general_strategies()}
    assert {item.title for item in db.list_items(source_type="pack")} == titles
    report = export_pack(db, workspace / "shipped.jsonl", packed=True)
    lines = (workspace / "shipped.jsonl").read_text("utf-8").splitlines()
    assert report.count == len(lines) == 7
    assert {json.loads(line)["title"] for line in lines} == titles


# -- §6: the interface for agents --------------------------------------------------------------------


@pytest.mark.req("RB-15")
def test_rlm_agent_run(shell):
    line = (
        "rlm-agent run --ontology ontology/prov.ttl --ontology-name prov"
        ' --query "What is the Activity class?" --db ~/.rlm/memory.db --json'
    )
    first = json.loads(shell(line))
    assert set(first) >= {
        "answer",
        "iterations",
        "run_id",
        "trajectory_id",
        "log_path",
        "memories_used",
    }
    assert "prov:Activity" in first["answer"] and first["memories_used"] == []
    assert first["run_id"].startswith("r-") and first["trajectory_id"].startswith("t-")
    assert Path(first["log_path"]).suffix == ".jsonl" and Path(first["log_path"]).is_file()
    second = json.loads(shell(line.replace("Activity", "Entity")))
    assert second["memories_used"][0]["rank"] == 1
    assert set(second["memories_used"][0]) >= {"memory_id", "rank", "score"}


@pytest.mark.req("RB-16")
def test_rlm_agent_run_in_python(workspace):
    query, ontology_path, db_path = "What is the Activity class?", "ontology/prov.ttl", "memory.db"
    result = rlm.agent.run(
        query, ontology_path, db_path, memory_k=3, enable_extraction=True, log_dir="logs"
    )
    assert "prov:Activity" in result.answer and result.new_memories
    assert Path(result.log_path).is_file()


# -- §8, §9.2: the backend and the closed loop -------------------------------------------------------


@pytest.mark.req("RB-20")
def test_the_backend_interface(db):
    memory = MemoryItem("Count rows", "All of them.", "1. count")
    db.add(memory)
    retrieved = db.retrieve("count the rows", 3)
    [(found, score)] = retrieved
    assert found.memory_id == memory.memory_id and score > 0
    (memory_id,) = db.save_artifacts(
        Run(model="m", ontology_name="prov"),
        Trajectory("How many rows?", trajectory_id="t-1", final_answer="3", iteration_count=1),
        Judgment(True, "seen", "high"),
        memories=[MemoryItem("Page rows", "In parts.", "1. slice", source_type="success")],
    )
    db.record_usage("t-1", retrieved)
    assert db.get(memory_id).title == "Page rows"
    assert all(rows(db, table) for table in COLUMNS)


@pytest.mark.req("RB-07", "RB-18")
def test_the_closed_loop_writes_all_tables(db, workspace):
    for query in ("What is the Activity class?", "What is the Entity class?"):
        rlm.agent.run(query, "ontology/prov.ttl", store=db)
    assert [rows(db, table) for table in ("runs", "trajectories", "judgments")] == [2, 2, 2]
    used = db.db.rows("SELECT rank, score FROM memory_usage")
    assert [rank for rank, _ in used] == list(range(1, len(used) + 1)) and used
    assert all(score > 0 for _, score in used)
    export_pack(db, workspace / "learnt.jsonl")
    lines = (workspace / "learnt.jsonl").read_text("utf-8").splitlines()
    exported = {json.loads(line)["memory_id"] for line in lines}
    assert exported and exported <= {item.memory_id for item in db.list_items()}
