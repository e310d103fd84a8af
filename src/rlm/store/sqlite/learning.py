"""What insights and evaluation read, straight from the rows; a page at a time, so that no run stays
in memory."""

from __future__ import annotations

import json

import apsw

from rlm.store.learning import FIELDS, LearningRow, learning_row
from rlm.store.sqlite.connection import Value
from rlm.store.sqlite.spaces import in_spaces

PAGE = 1_000
_COLUMNS = (
    "trajectory_id", "run_id", "created_at", "task_query", "iteration_count", "converged", "is_success", "confidence",
    "model", "ontology_name",
)  # fmt: skip


def page(
    connection: apsw.Connection,
    spaces: tuple[int, ...],
    before: int | None,
    limit: int,
    curriculum_id: str | None,
) -> tuple[list[LearningRow], int | None]:
    """At most `limit` rows that were stored before the one of this number, the last first, and
    where to go on.

    None to go on says that there is no more. The numbers are SQLite's own, which grow as rows are
    added.
    """
    where = [f"+t.space_id {in_spaces(spaces)}"]  # the plus: read backwards, do not sort
    values: list[Value] = []
    if before is not None:
        where.append("t.rowid < ?")
        values.append(before)
    if curriculum_id is not None:
        where.append("t.artifact_json ->> '$.curriculum_id' = ?")
        values.append(curriculum_id)
    fields = ", ".join(f"'{name}', t.artifact_json -> '$.{name}'" for name in FIELDS)
    rows = connection.execute(
        "SELECT t.trajectory_id, t.run_id, t.created_at, t.task_query, t.iteration_count,"
        " t.converged, j.is_success, j.confidence, r.model, r.ontology_name, t.rowid,"
        f" json_object({fields}), (SELECT json_group_array(json_array(u.memory_id, u.rank,"
        " u.score)) FROM memory_usage u WHERE u.space_id = t.space_id AND u.trajectory_id ="
        " t.trajectory_id) FROM trajectories t JOIN runs r ON r.space_id = t.space_id AND r.run_id"
        " = t.run_id LEFT JOIN judgments j ON j.space_id = t.space_id AND j.trajectory_id ="
        f" t.trajectory_id WHERE {' AND '.join(where)} ORDER BY t.rowid DESC LIMIT ?",
        (*values, limit),
    )
    found, last = [], None
    for *columns, number, artifact, used in rows:
        trajectory = dict(zip(_COLUMNS, columns, strict=True))
        trajectory["converged"] = bool(trajectory["converged"])
        trajectory["is_success"] = (
            None if trajectory["is_success"] is None else bool(trajectory["is_success"])
        )
        found.append(
            learning_row(
                trajectory, json.loads(artifact), [tuple(each) for each in json.loads(used)]
            )
        )
        last = number
    return found, last if len(found) == limit else None
