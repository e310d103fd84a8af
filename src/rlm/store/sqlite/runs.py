"""Runs, trajectories, judgments and usage as rows, of what the gate let in.

Every function runs inside the caller's transaction.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from rlm import clock
from rlm.store import gate
from rlm.store.identity import canonical_json
from rlm.store.records import Use
from rlm.store.sqlite.connection import damaged_row
from rlm.store.sqlite.spaces import in_spaces
from rlm.store.types import Judgment, Run, Trajectory


def save_run(connection: apsw.Connection, space: int, run: Run) -> None:
    """Add a run; a run that is there already, from an earlier trajectory of it, stays as it is."""
    connection.execute(
        "INSERT INTO runs(run_id, space_id, created_at, model, ontology_name, ontology_path, notes)"
        " VALUES (?,?,?,?,?,?,?) ON CONFLICT(space_id, run_id) DO NOTHING",
        (
            run.run_id,
            space,
            run.created_at,
            run.model,
            run.ontology_name,
            run.ontology_path,
            run.notes,
        ),
    )


def save_trajectory(connection: apsw.Connection, space: int, made: Trajectory) -> None:
    """Add a trajectory of a run."""
    there = "SELECT 1 FROM trajectories WHERE space_id = ? AND trajectory_id = ?"
    if next(iter(connection.execute(there, (space, made.trajectory_id))), None) is not None:
        raise gate.saved_already(made.trajectory_id)
    connection.execute(
        "INSERT INTO trajectories(trajectory_id, space_id, run_id, task_query, final_answer,"
        " iteration_count, converged, artifact_json, rlm_log_path, created_at) VALUES"
        " (?,?,?,?,?,?,?,?,?,?)",
        (
            made.trajectory_id,
            space,
            made.run_id,
            made.task_query,
            made.final_answer,
            made.iteration_count,
            int(made.converged),
            canonical_json(made.artifact),
            made.rlm_log_path,
            made.created_at,
        ),
    )


def save_judgment(
    connection: apsw.Connection, space: int, trajectory_id: str, judgment: Judgment
) -> None:
    """Add the verdict on a trajectory."""
    connection.execute(
        "INSERT INTO judgments(space_id, trajectory_id, is_success, reason, confidence,"
        " missing_json) VALUES (?,?,?,?,?,?)",
        (
            space,
            trajectory_id,
            int(judgment.is_success),
            judgment.reason,
            judgment.confidence,
            canonical_json(judgment.missing),
        ),
    )


def save_usage(
    connection: apsw.Connection,
    space: int,
    visible: tuple[int, ...],
    trajectory_id: str,
    uses: Sequence[Use],
) -> None:
    """Note what a trajectory was given: rank from 1, the score, and that each memory was used now."""
    now = clock.now_iso()
    for use in uses:
        connection.execute(
            "INSERT INTO memory_usage(trajectory_id, memory_id, space_id, rank, score) VALUES"
            " (?,?,?,?,?) ON CONFLICT(space_id, trajectory_id, memory_id) DO UPDATE SET rank ="
            " excluded.rank, score = excluded.score",
            (trajectory_id, use.memory_id, space, use.rank, use.score),
        )
        connection.execute(
            "UPDATE memory_items SET last_used = ? WHERE memory_id = ? AND space_id"
            f" {in_spaces(visible)}",
            (now, use.memory_id),
        )


def count_outcomes(
    connection: apsw.Connection, visible: tuple[int, ...], followed: Sequence[str], *, success: bool
) -> None:
    """One more success or failure for each memory that a judged run followed."""
    column = "success_count" if success else "failure_count"
    sql = (
        f"UPDATE memory_items SET {column} = {column} + 1 WHERE memory_id = ? AND space_id"
        f" {in_spaces(visible)}"
    )
    for memory_id in followed:
        connection.execute(sql, (gate.admit_id(memory_id, "memory_id"),))


def save_signal(
    connection: apsw.Connection,
    space: int,
    memory_id: str,
    kind: str,
    before: float,
    after: float,
    reason: str | None,
) -> None:
    """Log one change of a memory's confidence."""
    connection.execute(
        "INSERT INTO confidence_signals(space_id, memory_id, at, kind, delta, confidence_before, "
        "confidence_after, reason) VALUES (?,?,?,?,?,?,?,?)",
        (space, memory_id, clock.now_iso(), kind, after - before, before, after, reason),
    )


def signals(
    connection: apsw.Connection, visible: tuple[int, ...], memory_id: str
) -> list[dict[str, Any]]:
    """Every change of a memory's confidence, oldest first."""
    sql = (
        "SELECT at, kind, delta, confidence_before, confidence_after, reason FROM"
        f" confidence_signals WHERE memory_id = ? AND space_id {in_spaces(visible)} ORDER BY"
        " signal_no"
    )
    names = ("at", "kind", "delta", "before", "after", "reason")
    return [dict(zip(names, row, strict=True)) for row in connection.execute(sql, (memory_id,))]


def recent(
    connection: apsw.Connection,
    spaces: tuple[int, ...],
    limit: int,
    trajectory_id: str | None = None,
) -> list[tuple[Run, Trajectory]]:
    """The newest trajectories first, or the one of this id, each with its run."""
    which = "" if trajectory_id is None else "AND t.trajectory_id = ?"
    sql = (
        "SELECT r.run_id, r.created_at, r.model, r.ontology_name, r.ontology_path, r.notes,"
        " t.task_query, t.trajectory_id, t.final_answer, t.iteration_count, t.converged,"
        " t.artifact_json, t.rlm_log_path, t.created_at FROM trajectories t JOIN runs r ON"
        f" r.space_id = t.space_id AND r.run_id = t.run_id WHERE t.space_id {in_spaces(spaces)}"
        f" {which} ORDER BY t.created_at DESC, t.trajectory_id LIMIT ?"
    )
    values = (limit,) if trajectory_id is None else (trajectory_id, limit)
    found = []
    for row in connection.execute(sql, values):
        run = Run(*row[:6])
        query, name, answer, count, converged, artifact, log, created = row[6:]
        try:
            noted = json.loads(artifact)
        except (ValueError, TypeError, RecursionError) as exc:
            raise damaged_row(
                "trajectories", f"trajectory {name}", "artifact_json", str(exc)
            ) from exc
        made = Trajectory(
            query, run.run_id, name, answer, count, bool(converged), noted, log, created
        )
        found.append((run, made))
    return found
