"""The gate's part for runs: what a run, its trajectory, its verdict and what it was given may hold.

Like the rest of the gate this knows no database: every store calls it first, and keeps what it
returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from rlm.errors import ValidationError
from rlm.store.types import (
    LEVELS,
    OUTCOMES,
    SOURCE_TYPES,
    TRUSTS,
    Judgment,
    MemoryItem,
    Run,
    Trajectory,
)
from rlm.store.values import (
    admit_id,
    admit_object,
    admit_text,
    admit_time,
    check_count,
    check_many,
    choice,
    finite,
    natural,
    show,
)

ANSWER_CHARS = 1_000_000
VERDICTS = ("high", "medium", "low")
PROVENANCE_KEYS = (
    "source", "curriculum_id", "task_id", "trajectory_id", "run_id", "exported_in_pack", "pack",
    "kind", "edited_from",
)  # fmt: skip
LISTED_BY = {"source_type": SOURCE_TYPES, "outcome": OUTCOMES, "trust": TRUSTS, "level": LEVELS}


class Use(NamedTuple):
    """One memory that a trajectory was given: rank from 1, and the score."""

    memory_id: str
    rank: int
    score: float


def admit_artifacts(
    run: Any, trajectory: Any, judgment: Any
) -> tuple[Run, Trajectory, Judgment | None]:
    """What `save_artifacts` takes besides memories, admitted; the trajectory names its run.
    Where nobody could judge, the trajectory says why, and there is no judgment."""
    expected: tuple[tuple[str, Any, type], ...] = (
        ("run", run, Run),
        ("trajectory", trajectory, Trajectory),
    )
    if judgment is not None:
        expected += (("judgment", judgment, Judgment),)
    for name, value, kind in expected:
        if not isinstance(value, kind):
            why = f"{name} is {type(value).__name__}, expected a {kind.__name__}"
            raise ValidationError(why, field=name)
    kept = _run(run)
    judged = None if judgment is None else _judgment(judgment)
    if judgment is not None and judgment.is_success is None:
        unjudged = {**trajectory.artifact, "unjudged": judgment.reason}
        trajectory, judged = replace(trajectory, artifact=unjudged), None
    return kept, _trajectory(trajectory, kept.run_id), judged


def _run(run: Run) -> Run:
    names = ("model", "ontology_name", "ontology_path", "notes")
    texts = (_optional(getattr(run, name), name) for name in names)
    return Run(admit_id(run.run_id, "run_id"), admit_time(run.created_at, "created_at"), *texts)


def _trajectory(trajectory: Trajectory, run_id: str) -> Trajectory:
    natural(trajectory.iteration_count, "iteration_count")
    return Trajectory(
        task_query=admit_text(trajectory.task_query, "task_query"),
        run_id=run_id,
        trajectory_id=admit_id(trajectory.trajectory_id, "trajectory_id"),
        final_answer=_optional(trajectory.final_answer, "final_answer"),
        iteration_count=trajectory.iteration_count,
        converged=bool(trajectory.converged),
        artifact=admit_object(trajectory.artifact, "artifact", ANSWER_CHARS),
        rlm_log_path=_optional(trajectory.rlm_log_path, "rlm_log_path"),
        created_at=admit_time(trajectory.created_at, "created_at"),
    )


def _judgment(judgment: Judgment) -> Judgment:
    return Judgment(
        is_success=bool(judgment.is_success),
        reason=admit_text(judgment.reason, "reason"),
        confidence=verdict(judgment.confidence),
        missing=[
            admit_text(each, "missing") for each in check_many(judgment.missing, "missing", "text")
        ],
    )


def verdict(value: Any, name: str = "judgment confidence") -> str:
    """How sure a judge is."""
    if not isinstance(value, str) or value not in VERDICTS:
        why = f"{name} is {show(value)}; use one of: {', '.join(VERDICTS)}"
        raise ValidationError(why, field="confidence")
    return value


def admit_usage(trajectory_id: Any, retrieved: Any) -> tuple[str, list[Use]]:
    """The id of a trajectory, and the memories that it was given, in order."""
    given_to = admit_id(trajectory_id, "trajectory_id")
    uses = []
    for rank, pair in enumerate(check_many(retrieved, "retrieved", "(MemoryItem, score)"), start=1):
        if (
            not isinstance(pair, tuple | list)
            or len(pair) != 2
            or not isinstance(pair[0], MemoryItem)
        ):
            why = f"retrieved holds {show(pair)}: use (MemoryItem, score)"
            raise ValidationError(why, field="retrieved")
        uses.append(Use(admit_id(pair[0].memory_id, "memory_id"), rank, finite(pair[1], "score")))
    return given_to, uses


def check_listing(
    names: Mapping[str, Any], provenance: Mapping[str, Any] | None, limit: Any, offset: Any
) -> None:
    """The filters of `list_items`: of fields that have few values, of provenance, and how many."""
    for name, value in names.items():
        if value is not None:
            choice(value, LISTED_BY[name], name)
    for key in provenance or {}:
        if key not in PROVENANCE_KEYS:
            known = ", ".join(PROVENANCE_KEYS)
            why = f"unknown provenance key {show(key)}; known: {known}"
            raise ValidationError(why, field="provenance")
    check_count(limit, "limit")
    check_count(offset, "offset")


def _optional(value: str | None, name: str) -> str | None:
    return None if value is None else admit_text(value, name, ANSWER_CHARS)
