"""Figures behind insights: runs counted by kind, model and memory, and compared as few runs allow.

Few runs prove little, so a mean is shrunk toward its prior, the less the more runs there are.
Success: a beta-binomial whose prior counts as `PRIOR_RUNS` runs of the expected rate. Steps: the
same for a mean, as a normal prior gives whose variance is that of one run divided by `PRIOR_RUNS`.
"""

from __future__ import annotations

import math
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


PRIOR_RUNS = 4.0
"""What the prior is worth: three successes in a row where half succeed are then 0.71, not 1."""
LEAST_RUNS = 4
"""With fewer runs there is no verdict, whatever they show."""
SURE = 1.645
"""Standard errors between two numbers that are called different: 95 % on one side."""
LEAST_SPREAD = 0.5
"""The least deviation of steps that is assumed."""


def own_end(row: LearningRow) -> bool:
    """Whether neither a person nor a dead model ended a run: those say nothing of memories."""
    reason = row.reason or ""
    return reason != INTERRUPTED and not reason.startswith(MODEL_FAILED)


def was_used(given: Given) -> bool:
    """Whether a run speaks for a memory of its prompt: it tried it, or did not say."""
    return given.followed is None or given.followed or given.left


@dataclass(slots=True)
class RunTally:
    """Some runs added up. Steps are of runs not judged a failure: giving up is no saving."""

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

    def merge(self, other: RunTally, sign: int = 1) -> None:
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
class MemoryRuns:
    """What was seen of one memory."""

    retrieved: int = 0
    injected: int = 0
    followed: int = 0
    said: int = 0
    helped: int = 0
    harmed: int = 0
    """Runs that followed it and were judged a success, or a failure."""
    strata: dict[Stratum, RunTally] = field(default_factory=dict)
    beside: dict[Stratum, RunTally] = field(default_factory=dict)
    """Runs that had it in their prompt and did not use it: they say nothing of it."""
    tasks: dict[TaskKey | None, RunTally] = field(default_factory=dict)


@dataclass(slots=True)
class RunCounts:
    """All runs: by stratum, by memory, by curriculum task."""

    trajectories: int = 0
    strata: dict[Stratum, RunTally] = field(default_factory=dict)
    memories: dict[str, MemoryRuns] = field(default_factory=dict)
    tasks: dict[TaskKey, RunTally] = field(default_factory=dict)


def count(rows: Iterable[LearningRow]) -> RunCounts:
    """Go once through the rows."""
    found = RunCounts()
    for row in filter(own_end, rows):
        stratum = (row.kind or OTHER, row.model or "")
        task = (row.curriculum_id, row.task_id) if row.curriculum_id and row.task_id else None
        found.trajectories += 1
        found.strata.setdefault(stratum, RunTally()).add(row)
        if task is not None:
            found.tasks.setdefault(task, RunTally()).add(row)
        for given in row.given:
            seen = found.memories.setdefault(given.memory_id, MemoryRuns())
            seen.retrieved += 1
            if given.injected:
                seen.injected += 1
                seen.followed += bool(given.followed)
                seen.said += given.followed is not None
                seen.helped += bool(given.followed) and row.is_success is True
                seen.harmed += bool(given.followed) and row.is_success is False
                share = seen.strata if was_used(given) else seen.beside
                share.setdefault(stratum, RunTally()).add(row)
                if share is seen.strata:
                    seen.tasks.setdefault(task, RunTally()).add(row)
    return found


def shrink(total: float, runs: float, prior: float, weight: float = PRIOR_RUNS) -> float:
    """The mean of `runs` values that add up to `total`, shrunk toward `prior`; between the two."""
    if runs <= 0:
        return prior
    observed = total / runs
    share = runs / (runs + weight)
    return min(
        max(observed * share + prior * (1 - share), min(prior, observed)), max(prior, observed)
    )


def rate_gap(rate: float, runs: float, base: float, base_runs: float) -> float:
    """How many standard errors a shrunk rate lies above its base; both are means of betas."""
    variance = rate * (1 - rate) / (runs + PRIOR_RUNS + 1) + base * (1 - base) / (base_runs + 2)
    return (rate - base) / math.sqrt(variance) if variance > 0 else 0.0


def mean_gap(mean: float, runs: float, base: float, base_runs: float, spread: float) -> float:
    """How many standard errors a shrunk mean lies above its base; `spread` is that of one run."""
    error = max(spread, LEAST_SPREAD) * math.sqrt(1 / (runs + PRIOR_RUNS) + 1 / max(base_runs, 1))
    return (mean - base) / error
