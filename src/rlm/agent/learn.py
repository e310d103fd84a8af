"""EXTRACT and what to STORE: from judged attempts to new memories, and to what they change in those
that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlm.agent.attempt import Attempt
from rlm.learning import dedup
from rlm.learning.confidence import confirm_signal, followed_of, signals_for
from rlm.learning.extract import extract_contrast
from rlm.store.backend import MemoryBackend
from rlm.store.types import Lessons, MemoryItem, Signal

FAIR_TURNS = 5
"""A run that was given fewer had no chance to find out."""


@dataclass(frozen=True)
class Learned:
    """What is to be stored. `lessons` has one entry for each attempt, in their order."""

    memories: Sequence[MemoryItem] = ()
    lessons: Sequence[Lessons] = ()
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    """For people: memory_id, title, action and why."""


def learn(
    attempts: Sequence[Attempt], store: MemoryBackend, *, extract: bool, lineage: Mapping[str, Any]
) -> Learned:
    """What the attempts at one question teach, the chosen attempt first. Writes nothing. A run that
    a person, a limit or a dead model ended says nothing of its memories, and teaches nothing.
    Without `extract` nothing in the store changes: no memory, no confidence."""
    if not extract:
        return Learned(lessons=[Lessons()] * len(attempts))
    lessons = [
        _credit(attempt) if attempt.is_judged and _own_end(attempt) else Lessons()
        for attempt in attempts
    ]
    judged = [attempt for attempt in attempts if attempt.is_judged and _own_end(attempt)]
    if not judged or not _own_end(attempts[0]):
        return Learned(lessons=lessons)
    used = {hit.item.memory_id for attempt in attempts for hit in attempt.recalled.hits}
    plan = dedup.apply(store, _extract(judged, lineage), used)
    first = lessons[0]
    found_again = tuple(_found_again(attempts[0], plan.outcomes))
    changes, archived = tuple(plan.update), tuple(plan.archive)
    lessons[0] = Lessons((*first.signals, *found_again), changes, archived, first.followed)
    return Learned(plan.add, lessons, plan.outcomes)


def _credit(attempt: Attempt) -> Lessons:
    """What an attempt says of the memories in its prompt. An offline one says what it follows."""
    recalled = attempt.recalled
    queries = [str(call.args.get("query", "")) for call in attempt.trace.calls if call.ok]
    signals = signals_for(
        recalled.injected,
        attempt.uses,
        attempt.judgment,
        reads=attempt.speaks,
        queries=queries,
    )
    return Lessons(tuple(signals), followed=tuple(followed_of(recalled.ids, attempt.uses)))


def _own_end(attempt: Attempt) -> bool:
    """Whether it ended by itself: with an answer, in circles, or after a fair number of turns."""
    result = attempt.result
    if result.converged:
        return True
    in_circles = "max_errors" in result.reason or "max_iters" in result.reason
    return in_circles and len(result.iterations) >= FAIR_TURNS


def _found_again(best: Attempt, outcomes: Sequence[Mapping[str, Any]]) -> Iterator[Signal]:
    """A success that leads to a stored memory which it did not follow speaks for that memory."""
    followed = followed_of(best.recalled.ids, best.uses)
    for outcome in outcomes:
        known = outcome["action"] == "skip" and outcome["why"] == dedup.THERE_ALREADY
        if best.succeeded and known and outcome["memory_id"] not in followed:
            yield confirm_signal(outcome["memory_id"])


def _extract(attempts: Sequence[Attempt], lineage: Mapping[str, Any]) -> list[MemoryItem]:
    best = attempts[0]
    graph, task = best.graph, best.spec.task
    provenance: dict[str, Any] = {
        "trajectory_id": best.trajectory.trajectory_id,
        "run_id": best.trajectory.run_id,
        **({} if graph is None else {"ontology_name": graph.name}),
        **({} if task is None else {"curriculum_id": task.curriculum_id, "task_id": task.task_id}),
        **lineage,
    }
    known: dict[str, Any] = {
        "client": best.judge_client(),
        "question": best.query,
        "task_type": next(iter(best.spec.task_types), ""),
        "ontology": None if graph is None else graph.name,
        "prefixes": {} if graph is None else graph.meta.prefixes,
        "provenance": provenance,
        "session": best.trajectory.trajectory_id,
        "recalled": best.repeats,
        "usage": best.result.usage,
    }
    verdicts = [attempt.judgment for attempt in attempts if attempt.judgment is not None]
    artifacts = [attempt.artifact() for attempt in attempts]
    return extract_contrast(
        artifacts,
        verdicts,
        traces=[attempt.trace for attempt in attempts],
        evidence=[attempt.evidence() for attempt in attempts],
        **known,
    )
