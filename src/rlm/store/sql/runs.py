"""The part of the backend that keeps runs: trajectories, judgments, usage, confidence."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from rlm import clock
from rlm.errors import ValidationError
from rlm.store.identity import canonical_json
from rlm.store.learning import FIELDS, LearningRow, apply_lessons, learning_row
from rlm.store.records import Use, admit_artifacts, admit_usage
from rlm.store.sql import items
from rlm.store.sql.database import read_json
from rlm.store.sql.dialect import Connection, Value, fetch
from rlm.store.sql.spaces import Part, in_spaces
from rlm.store.types import Judgment, Lessons, MemoryItem, Run, Trajectory
from rlm.store.values import admit_id, check_count

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

PAGE = 1_000
_RUN = ("run_id", "created_at", "model", "ontology_name", "ontology_path", "notes")
_TRAJECTORY = (
    "task_query", "run_id", "trajectory_id", "final_answer", "iteration_count", "converged",
    "artifact_json", "rlm_log_path", "created_at",
)  # fmt: skip
_SIGNAL = ("at", "kind", "delta", "confidence_before", "confidence_after", "reason")
_LEARNING = (
    "trajectory_id", "run_id", "created_at", "task_query", "iteration_count", "converged",
    "is_success", "confidence", "model", "ontology_name",
)  # fmt: skip


def save_signal(
    connection: Connection,
    space: int,
    memory_id: str,
    kind: str,
    before: float,
    after: float,
    reason: str | None,
) -> None:
    """Log one change of a memory's confidence. Inside `write()`."""
    connection.execute(
        f"INSERT INTO confidence_signals(space_id, memory_id, {', '.join(_SIGNAL)})"
        " VALUES (?,?,?,?,?,?,?,?)",
        (space, memory_id, clock.now_iso(), kind, after - before, before, after, reason),
    )


class Runs(Part):
    """Runs, and which memories they were given."""

    def record_usage(
        self, trajectory_id: str, retrieved: Sequence[tuple[MemoryItem, float]]
    ) -> None:
        given_to, uses = admit_usage(trajectory_id, retrieved)
        with self.db.write() as connection:
            self._save_usage(connection, self.spaces.ensure("project"), given_to, uses)

    def save_artifacts(
        self,
        run: Run,
        trajectory: Trajectory,
        judgment: Judgment | None = None,
        *,
        memories: Sequence[MemoryItem] = (),
        retrieved: Sequence[tuple[MemoryItem, float]] = (),
        lessons: Lessons | None = None,
    ) -> list[str]:
        run, trajectory, judgment = admit_artifacts(run, trajectory, judgment)
        given_to, uses = admit_usage(trajectory.trajectory_id, retrieved)
        with self.together():
            connection, space = self.db.connection, self.spaces.ensure("project")
            self._save_trajectory(connection, space, run, trajectory)
            if judgment is not None:
                missing = canonical_json(judgment.missing)
                connection.execute(
                    "INSERT INTO judgments(space_id, trajectory_id, is_success, reason, confidence,"
                    " missing_json) VALUES (?,?,?,?,?,?)",
                    (space, given_to, int(bool(judgment.is_success)), judgment.reason,
                     judgment.confidence, missing),
                )  # fmt: skip
            ids = self.add_many(memories)
            touch = lessons is None or lessons.touches
            self._save_usage(connection, space, given_to, uses, touch=touch)
            if lessons is not None:
                if judgment is not None:
                    self._count_outcomes(lessons.followed, success=bool(judgment.is_success))
                apply_lessons(cast("MemoryBackend", self), lessons)
        return ids

    def _save_trajectory(
        self, connection: Connection, space: int, run: Run, made: Trajectory
    ) -> None:
        """A run that is there already, from an earlier trajectory of it, stays as it is."""
        connection.execute(
            f"INSERT INTO runs(space_id, {', '.join(_RUN)}) VALUES (?,?,?,?,?,?,?)"
            " ON CONFLICT(space_id, run_id) DO NOTHING",
            (space, *(getattr(run, name) for name in _RUN)),
        )
        there = "SELECT 1 FROM trajectories WHERE space_id = ? AND trajectory_id = ?"
        if next(iter(connection.execute(there, (space, made.trajectory_id))), None) is not None:
            why = f"trajectory {made.trajectory_id!r} is saved already: leave its id empty"
            raise ValidationError(why, field="trajectory_id")
        connection.execute(
            f"INSERT INTO trajectories(space_id, {', '.join(_TRAJECTORY)})"
            " VALUES (?,?,?,?,?,?,?,?,?,?)",
            (space, made.task_query, made.run_id, made.trajectory_id, made.final_answer,
             made.iteration_count, int(made.converged), canonical_json(made.artifact),
             made.rlm_log_path, made.created_at),
        )  # fmt: skip

    def _save_usage(
        self,
        connection: Connection,
        space: int,
        trajectory_id: str,
        uses: Sequence[Use],
        *,
        touch: bool = True,
    ) -> None:
        """Rank from 1, the score, and, with `touch`, that each memory was used now."""
        now, mine = clock.now_iso(), in_spaces(self.spaces.visible())
        for use in uses:
            connection.execute(
                "INSERT INTO memory_usage(trajectory_id, memory_id, space_id, rank, score)"
                " VALUES (?,?,?,?,?) ON CONFLICT(space_id, trajectory_id, memory_id)"
                " DO UPDATE SET rank = excluded.rank, score = excluded.score",
                (trajectory_id, use.memory_id, space, use.rank, use.score),
            )
            sql = f"UPDATE memory_items SET last_used = ? WHERE memory_id = ? AND space_id {mine}"
            if touch:
                connection.execute(sql, (now, use.memory_id))

    def _count_outcomes(self, followed: Sequence[str], *, success: bool) -> None:
        """One more success or failure for each memory that a judged run followed."""
        column = "success_count" if success else "failure_count"
        sql = (
            f"UPDATE memory_items SET {column} = {column} + 1 WHERE memory_id = ? AND space_id"
            f" {in_spaces(self.spaces.visible())}"
        )
        self.db.run_many(sql, [(admit_id(each, "memory_id"),) for each in followed])

    def signals(self, memory_id: str) -> list[dict[str, Any]]:
        spaces = self.spaces.visible()
        sql = (
            f"SELECT {', '.join(_SIGNAL)} FROM confidence_signals WHERE memory_id = ? AND space_id"
            f" {in_spaces(spaces)} ORDER BY signal_no"
        )
        with self.db.read() as connection:
            found = items.locate(connection, spaces, memory_id)
            rows = fetch(connection, sql, (found[2] if found else memory_id,))
        names = [name.removeprefix("confidence_") for name in _SIGNAL]
        return [dict(zip(names, row, strict=True)) for row in rows]

    def recent_runs(
        self, limit: int = 20, *, trajectory_id: str | None = None
    ) -> list[tuple[Run, Trajectory]]:
        which = "" if trajectory_id is None else "AND t.trajectory_id = ?"
        columns = [f"r.{name}" for name in _RUN] + [f"t.{name}" for name in _TRAJECTORY]
        rows = self.db.rows(
            f"SELECT {', '.join(columns)} FROM trajectories t JOIN runs r"
            " ON r.space_id = t.space_id AND r.run_id = t.run_id WHERE t.space_id"
            f" {in_spaces(self.spaces.visible())} {which}"
            " ORDER BY t.created_at DESC, t.trajectory_id LIMIT ?",
            (*filter(None, (trajectory_id,)), check_count(limit, "limit")),
        )
        return [(Run(*row[: len(_RUN)]), _trajectory(row[len(_RUN) :])) for row in rows]

    def learning_rows(
        self, limit: int = 10_000, *, curriculum_id: str | None = None
    ) -> Iterator[LearningRow]:
        """A summary of every trajectory of this project, the last first, page by page."""
        left, before = check_count(limit, "limit"), None
        while left:
            rows, before = self._learning_page(before, min(left, PAGE), curriculum_id)
            yield from rows
            left = 0 if before is None else left - len(rows)

    def _learning_page(
        self, before: int | None, limit: int, curriculum_id: str | None
    ) -> tuple[list[LearningRow], int | None]:
        """Rows that were stored before the one of this number, and where to go on; None at the end.

        The numbers grow as rows are added.
        """
        # without the index: read backwards, do not sort
        words = self.db.dialect
        where = [f"{words.unindexed}t.space_id {in_spaces(self.spaces.visible())}"]
        values: list[Value] = []
        if before is not None:
            where.append(f"t.{words.arrival} < ?")
            values.append(before)
        if curriculum_id is not None:
            where.append("t.artifact_json ->> 'curriculum_id' = ?")
            values.append(curriculum_id)
        noted = ", ".join(f"t.artifact_json -> '{name}'" for name in FIELDS)
        rows = self.db.rows(
            "SELECT t.trajectory_id, t.run_id, t.created_at, t.task_query, t.iteration_count,"
            f" t.converged, j.is_success, j.confidence, r.model, r.ontology_name, {noted},"
            f" t.{words.arrival} FROM trajectories t"
            " JOIN runs r ON r.space_id = t.space_id AND r.run_id = t.run_id"
            " LEFT JOIN judgments j ON j.space_id = t.space_id AND"
            " j.trajectory_id = t.trajectory_id"
            f" WHERE {' AND '.join(where)} ORDER BY t.{words.arrival} DESC LIMIT ?",
            (*values, limit),
        )
        uses = self._uses([row[0] for row in rows])
        found = []
        for *columns, _ in rows:
            made = dict(zip(_LEARNING, columns, strict=False))
            for name in ("converged", "is_success"):
                made[name] = None if made[name] is None else bool(made[name])
            texts = zip(FIELDS, columns[len(_LEARNING) :], strict=True)
            artifact = {name: json.loads(text) for name, text in texts if text is not None}
            found.append(learning_row(made, artifact, uses[made["trajectory_id"]]))
        return found, rows[-1][-1] if len(found) == limit else None

    def _uses(self, trajectory_ids: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
        """Which memories these trajectories of this project were given: id, rank, score."""
        words, found = self.db.dialect, defaultdict[str, list[tuple[Any, ...]]](list)
        rows = self.db.rows(
            "SELECT trajectory_id, memory_id, rank, score FROM memory_usage WHERE space_id = ?"
            f" AND trajectory_id {words.among}",
            (self.spaces.find("project"), words.pack_list(trajectory_ids)),
        )
        for trajectory_id, *use in rows:
            found[trajectory_id].append(tuple(use))
        return found

    def judged_high(self, trajectory_ids: Sequence[str]) -> set[str]:
        rows = self.db.rows(
            "SELECT trajectory_id FROM trajectories JOIN judgments USING (space_id, trajectory_id)"
            f" WHERE space_id {in_spaces(self.spaces.visible())} AND confidence = 'high'"
            f" AND trajectory_id {self.db.dialect.among}",
            (self.db.dialect.pack_list(trajectory_ids),),
        )
        return {row[0] for row in rows}


def _trajectory(row: Sequence[Any]) -> Trajectory:
    fields = dict(zip(_TRAJECTORY, row, strict=True))
    name, text = f"trajectory {fields['trajectory_id']}", fields.pop("artifact_json")
    noted = read_json("trajectories", name, "artifact_json", text, dict)
    return Trajectory(**{**fields, "converged": bool(fields["converged"]), "artifact": noted})
