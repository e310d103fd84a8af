"""Which memories help, which harm, and which tasks taught something (seed 000 §7.3).

The runs that used a memory are compared with runs of the same kind of question, by the same model,
that did not have it in their prompt; runs that had it there and left it alone say nothing of it.
What the others achieve is the prior of the memory. A verdict needs a
difference that is larger than chance makes; else it is `unclear`. One that takes a place in
prompts, and that no run has used, is `unused`: the place could have held something better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rlm.loop.types import INTERRUPTED
from rlm.retrieval.rank import RECALL_FLOOR
from rlm.store.backend import MemoryBackend
from rlm.store.learning import Given, LearningRow
from rlm.store.types import MemoryItem

Verdict = Literal["helps", "harms", "unused", "unclear"]
MOST_TRAJECTORIES = 100_000
MOST_MEMORIES = 10_000
"""The memories of one curriculum that are looked at."""
LEAST_SAVED = 0.05
LEAST_LOST = 0.01

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


@dataclass(frozen=True, slots=True)
class MemoryInsight:
    """What runs that used a memory came to, beside those of the same kind without it. Rates and
    steps are shrunk.

    `judged`, `failures`, `success_seen` and `steps_seen` (bare averages) are of the runs that used
    it, or did not say. `followed` of the `said` runs that announced what they use named it;
    `helped` of them succeeded and `harmed` failed. `injected`: prompts that it was shown in.
    `recalled`: it may still be recalled; `why_not` says why it may not.
    """

    memory_id: str
    title: str
    kinds: tuple[str, ...]
    retrieved: int
    injected: int
    said: int
    followed: int
    helped: int
    harmed: int
    judged: int
    failures: int
    success_seen: float | None
    success_with: float
    success_without: float
    steps_seen: float | None
    steps_with: float
    steps_without: float
    runs_without: int
    verdict: Verdict
    confidence: float | None
    recalled: bool
    why_not: str

    @property
    def saved(self) -> float:
        """Steps that a run with it takes less, as far as it shows."""
        return self.steps_without - self.steps_with

    @property
    def lost(self) -> float:
        """Runs that it has cost, as far as it shows."""
        return (self.success_without - self.success_with) * self.judged


@dataclass(frozen=True, slots=True)
class TaskInsight:
    """What one curriculum task taught. `reused`: how many runs of other tasks used its memories."""

    curriculum_id: str
    task_id: str
    runs: int
    memories: int
    recalled: int
    reused: int
    reused_success: float | None


@dataclass(frozen=True, slots=True)
class Insights:
    """The answers, each list best first."""

    trajectories: int
    judged: int
    success: float | None
    memories: tuple[MemoryInsight, ...]
    fewer_steps: tuple[MemoryInsight, ...]
    failing: tuple[MemoryInsight, ...]
    unused: tuple[MemoryInsight, ...]
    tasks: tuple[TaskInsight, ...]

    def of(self, verdict: Verdict) -> list[MemoryInsight]:
        """The memories with this verdict, what cost most runs or saved most steps first."""
        kept = [each for each in self.memories if each.verdict == verdict]
        return sorted(kept, key=lambda each: -each.lost if verdict == "harms" else -each.saved)

    def to_dict(self, limit: int | None = None) -> dict[str, Any]:
        """As JSON types, at most `limit` of each list."""
        lists = ("memories", "fewer_steps", "failing", "unused", "tasks")
        found = {name: [asdict(each) for each in getattr(self, name)[:limit]] for name in lists}
        whole = {"trajectories": self.trajectories, "judged": self.judged, "success": self.success}
        return whole | found


def insights(store: MemoryBackend, *, limit: int = MOST_TRAJECTORIES) -> Insights:
    """What the newest `limit` trajectories of this project say of their memories."""
    counts = count(store.learning_rows(limit))
    base = _Base(counts)
    items = {memory_id: store.get(memory_id) for memory_id in counts.memories}
    found = [base.memory(key, seen, items[key]) for key, seen in counts.memories.items()]
    found.sort(key=lambda each: (-each.injected, -each.retrieved, each.memory_id))
    whole = _merge(counts.strata.values())
    return Insights(
        trajectories=counts.trajectories,
        judged=whole.judged,
        success=whole.rate,
        memories=tuple(found),
        fewer_steps=_fewer(found),
        failing=_list_failing(found),
        unused=tuple(each for each in found if each.verdict == "unused"),
        tasks=_tasks(store, counts),
    )


def _fewer(found: Iterable[MemoryInsight]) -> tuple[MemoryInsight, ...]:
    """Memories whose runs are shorter than others of their kind; the most saved first."""
    useful = [m for m in found if m.verdict not in ("harms", "unused")]
    kept = [m for m in useful if m.saved >= LEAST_SAVED and m.runs_without]
    return tuple(sorted(kept, key=lambda m: (-m.saved, m.memory_id)))


def _list_failing(found: Iterable[MemoryInsight]) -> tuple[MemoryInsight, ...]:
    """Memories whose runs failed more than others: those that cost most runs first."""
    kept = [m for m in found if m.failures and m.lost >= LEAST_LOST]
    return tuple(sorted(kept, key=lambda m: (-m.lost, m.memory_id)))


def _merge(tallies: Iterable[RunTally]) -> RunTally:
    whole = RunTally()
    for tally in tallies:
        whole.merge(tally)
    return whole


class _Base:
    """What runs come to without a memory."""

    def __init__(self, counts: RunCounts) -> None:
        self.strata = counts.strata
        self.whole = _merge(counts.strata.values())
        self.spread = _spread(counts.strata.values())

    def memory(self, memory_id: str, seen: MemoryRuns, item: MemoryItem | None) -> MemoryInsight:
        """One memory beside what there is without it."""
        mine = _merge(seen.strata.values())
        rate, rate_runs, steps, step_runs = self._without(seen, mine)
        success_with = shrink(mine.successes, mine.judged, rate)
        steps_with = shrink(mine.steps, mine.timed, steps)
        better = longer = 0.0
        if mine.judged >= LEAST_RUNS:
            better = rate_gap(success_with, mine.judged, rate, rate_runs)
        if mine.timed >= LEAST_RUNS and step_runs:
            longer = mean_gap(steps_with, mine.timed, steps, step_runs, self.spread)
        unused = seen.said >= LEAST_RUNS and not seen.followed
        why_not = _why_not(item)
        return MemoryInsight(
            memory_id=memory_id,
            title=item.title if item is not None else "",
            kinds=tuple(sorted({kind for kind, _ in (*seen.strata, *seen.beside)})),
            retrieved=seen.retrieved,
            injected=seen.injected,
            said=seen.said,
            followed=seen.followed,
            helped=seen.helped,
            harmed=seen.harmed,
            judged=mine.judged,
            failures=mine.judged - mine.successes,
            success_seen=mine.rate,
            success_with=success_with,
            success_without=rate,
            steps_seen=mine.mean_steps,
            steps_with=steps_with,
            steps_without=steps,
            runs_without=step_runs,
            verdict=_verdict(better, longer, unused=unused),
            confidence=None if item is None else item.confidence,
            recalled=not why_not,
            why_not=why_not,
        )

    def _without(self, seen: MemoryRuns, mine: RunTally) -> tuple[float, int, float, int]:
        """Success and steps that runs of the same kinds have without it, and of how many runs.

        Every kind weighs as much as among the runs with the memory: one that is given to hard
        questions is not blamed for them. Where a kind has no run without it, success is held
        against all other runs, and steps against nothing.
        """
        others = _subtract(self.whole, mine)
        usual = (others.successes + 1) / (others.judged + 2)
        usual_steps = mine.mean_steps
        if usual_steps is None:
            usual_steps = self.whole.mean_steps or 0.0
        rate = steps = 0.0
        rate_runs = step_runs = weight = 0
        for stratum, tally in seen.strata.items():
            left = _subtract(self.strata[stratum], tally, seen.beside.get(stratum, RunTally()))
            own = tally.mean_steps if tally.mean_steps is not None else usual_steps
            rate += tally.runs * shrink(left.successes, left.judged, usual, weight=1)
            steps += tally.runs * (left.mean_steps if left.mean_steps is not None else own)
            rate_runs += left.judged
            step_runs += left.timed
            weight += tally.runs
        if not weight:
            return usual, 0, usual_steps, 0
        return rate / weight, rate_runs, steps / weight, step_runs


def _subtract(whole: RunTally, *taken: RunTally) -> RunTally:
    left = _merge([whole])
    for tally in taken:
        left.merge(tally, -1)
    return left


def _spread(tallies: Iterable[RunTally]) -> float:
    """The deviation of steps within a kind, over all kinds."""
    squares = runs = 0.0
    for tally in tallies:
        if tally.timed > 1:
            squares += max(0.0, tally.squares - tally.steps**2 / tally.timed)
            runs += tally.timed - 1
    return math.sqrt(squares / runs) if runs else 0.0


def _verdict(better: float, longer: float, *, unused: bool) -> Verdict:
    """From how many standard errors it succeeds more, and takes longer. Success goes first."""
    if better <= -SURE or (longer >= SURE and better < SURE):
        return "harms"
    if better >= SURE or longer <= -SURE:
        return "helps"
    return "unused" if unused else "unclear"


def _why_not(item: MemoryItem | None) -> str:
    """Why a memory is not recalled; empty when it is."""
    if item is None:
        return "gone"
    if item.archived_at is not None:
        return "archived"
    if item.trust == "quarantined":
        return "quarantined"
    return "low confidence" if (item.confidence or 0.0) < RECALL_FLOOR else ""


def _tasks(store: MemoryBackend, counts: RunCounts) -> tuple[TaskInsight, ...]:
    """Every curriculum task that was run, those whose memories were of use elsewhere first."""
    made: dict[TaskKey, list[MemoryItem]] = {}
    for curriculum_id in dict.fromkeys(key[0] for key in counts.tasks):
        named = {"curriculum_id": curriculum_id}
        for item in store.list_items(provenance=named, limit=MOST_MEMORIES):
            made.setdefault((curriculum_id, str(item.provenance.get("task_id"))), []).append(item)
    found = [_task(key, runs, made.get(key, []), counts) for key, runs in counts.tasks.items()]
    found.sort(key=lambda t: (-t.reused, -t.recalled, -t.memories, t.curriculum_id, t.task_id))
    return tuple(found)


def _task(
    key: TaskKey, runs: RunTally, made: Sequence[MemoryItem], counts: RunCounts
) -> TaskInsight:
    elsewhere = RunTally()
    for item in made:
        seen = counts.memories.get(item.memory_id)
        for task, tally in (seen.tasks if seen is not None else {}).items():
            if task != key:
                elsewhere.merge(tally)
    recalled = sum(not _why_not(item) for item in made)
    return TaskInsight(
        key[0], key[1], runs.runs, len(made), recalled, elsewhere.runs, elsewhere.rate
    )


# -- the figures
#
# Few runs prove little, so a mean is shrunk toward its prior, the less the more runs there are.
# Success: a beta-binomial whose prior counts as `PRIOR_RUNS` runs of the expected rate. Steps: the
# same for a mean, by a normal prior whose variance is that of one run divided by `PRIOR_RUNS`.


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
