"""Learning rows from SQLite: page by page, of one project, and never all at once."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from rlm.store.open import open_store
from rlm.store.sql import runs as learning
from rlm.store.types import Run, Tenant, Trajectory


def test_pages_meet_without_a_gap_or_a_repeat(db, monkeypatch):
    monkeypatch.setattr(learning, "PAGE", 3)
    for number in range(10):
        db.save_artifacts(
            Run(), Trajectory(f"q{number}", artifact={"curriculum_id": "c" if number % 3 else "d"})
        )
    for limit in range(12):
        assert [row.task_query for row in db.learning_rows(limit)] == [
            f"q{n}" for n in range(9, -1, -1)
        ][:limit]
    assert [row.task_query for row in db.learning_rows(curriculum_id="d")] == [
        "q9",
        "q6",
        "q3",
        "q0",
    ]


def test_another_project_is_not_seen(tmp_path):
    with open_store(tmp_path / "m.db", tenant=Tenant(project="theirs"), embedder="none") as store:
        store.save_artifacts(Run(), Trajectory("theirs"))
    with open_store(tmp_path / "m.db", tenant=Tenant(project="ours"), embedder="none") as store:
        assert list(store.learning_rows()) == []
        store.save_artifacts(Run(), Trajectory("ours"))
        assert [row.task_query for row in store.learning_rows()] == ["ours"]


@pytest.mark.slow
def test_100_000_trajectories_are_read_in_little_memory(db):
    artifact = {"kind": "subclasses", "steps": [{"action": "x" * 80, "outcome": "y" * 100}] * 10}
    db.save_artifacts(Run(run_id="r"), Trajectory("q", artifact=artifact))
    with db.db.write() as connection:
        connection.execute(
            "INSERT INTO trajectories SELECT 't' || value, space_id, run_id, task_query,"
            " final_answer, 1, converged, artifact_json, rlm_log_path, created_at FROM"
            " trajectories, json_each(?)",
            (json.dumps(list(range(99_999))),),
        )
    tracemalloc.start()
    count = sum(1 for _ in db.learning_rows(1_000_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 100_000 and peak < 20 << 20
