"""Counting: what every kind of run came to, with each memory and in all. One pass, nothing of a run
is kept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rlm.loop.types import INTERRUPTED
from rlm.store.learning import Given, LearningRow

Stratum = tuple[str, str]
"""The kind of question and the model: runs are compared only within both."""
TaskKey = tuple[str, str]
"""Curriculum and task."""
OTHER = "other"
MODEL_FAILED = "the model failed"
"""How the loop begins the reason of a run that its model ended."""


def own_end(row: LearningRow) -> bool:
    """Whether a run came to an end of its own: one that a person or a dead model ended says nothing
    of its memories."""
    reason = row.reason or ""
    return reason != INTERRUPTED and not reason.startswith(MODEL_FAILED)


def was_used(given: Given) -> bool:
    """Whether a run may speak for a memory of its prompt: it followed it or tried to, or its model
    did not say."""
    return given.followed is None or given.followed or given.left


@dataclass(slots=True)
class Tally:
    """Some runs added up. Steps are those of runs that were not judged a failure: giving up early
    is no saving."""

    runs: int = 0
    judged: int = 0
    successes: int = 0
    timed: int = 0
    steps: float = 0.0
    squares: float = 0.0

    def add(self, row: LearningRow) -> None:
        self.runs += 1
        if row.is_success is not None:
            self.judged += 1
            self.successes += row.is_success
        if row.is_success is not False:
            self.timed += 1
            self.steps += row.iteration_count
            self.squares += row.iteration_count**2

    def merge(self, other: Tally, sign: int = 1) -> None:
        """Add another, or take it away."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + sign * getattr(other, name))

    @property
    def rate(self) -> float | None:
        """The share of judged runs that succeeded."""
        return self.successes / self.judged if self.judged else None

    @property
    def mean_steps(self) -> float | None:
        return self.steps / self.timed if self.timed else None


@dataclass(slots=True)
class Seen:
    """What was seen of one memory."""

    retrieved: int = 0
    injected: int = 0
    followed: int = 0
    said: int = 0
    strata: dict[Stratum, Tally] = field(default_factory=dict)
    beside: dict[Stratum, Tally] = field(default_factory=dict)
    """Runs that had it in their prompt and did not use it: they say nothing of it."""
    tasks: dict[TaskKey | None, Tally] = field(default_factory=dict)


@dataclass(slots=True)
class Counts:
    """All runs: by stratum, by memory, by curriculum task."""

    trajectories: int = 0
    strata: dict[Stratum, Tally] = field(default_factory=dict)
    memories: dict[str, Seen] = field(default_factory=dict)
    tasks: dict[TaskKey, Tally] = field(default_factory=dict)


def count(rows: Iterable[LearningRow]) -> Counts:
    """Go once through the rows."""
    found = Counts()
    for row in filter(own_end, rows):
        stratum = (row.kind or OTHER, row.model or "")
        task = (row.curriculum_id, row.task_id) if row.curriculum_id and row.task_id else None
        found.trajectories += 1
        found.strata.setdefault(stratum, Tally()).add(row)
        if task is not None:
            found.tasks.setdefault(task, Tally()).add(row)
        for given in row.given:
            seen = found.memories.setdefault(given.memory_id, Seen())
            seen.retrieved += 1
            if given.injected:
                seen.injected += 1
                seen.followed += bool(given.followed)
                seen.said += given.followed is not None
                share = seen.strata if was_used(given) else seen.beside
                share.setdefault(stratum, Tally()).add(row)
                if share is seen.strata:
                    seen.tasks.setdefault(task, Tally()).add(row)
    return found
