"""What the runs of an evaluation come to, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from rlm.evaluate.stats import (
    Interval,
    bootstrap_change,
    bootstrap_mean,
    change,
    mean,
    paired_difference,
    wilson,
)

SHOWN_FLAGS = 20
OFFLINE_SHOWS = (
    "The planner `offline` is no language model: it tries its tools in a fixed order that is ours,"
    " and a procedure in its prompt saves it the trying. So this shows that the loop works (recall,"
    " training, checking); it does not show that memory helps or harms a model. Name one to measure"
    " that."
)


@dataclass(frozen=True, slots=True)
class InPrompt:
    """A memory that stood in the prompt of a run; `followed`: the run said that it used it."""

    memory_id: str
    title: str
    followed: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of one task under one arm."""

    arm: str
    task_id: str
    kind: str
    query: str
    trial: int
    success: bool | None
    """None: the run could not be judged."""
    converged: bool
    steps: int
    tokens: int
    seconds: float
    reason: str
    injected: int = 0
    followed: int = 0
    max_single_return: int = 0
    context_size: int = 0
    flags: tuple[str, ...] = ()
    memories: tuple[InPrompt, ...] = ()


@dataclass(frozen=True, slots=True)
class Summary:
    """Some tasks under one arm. Intervals are at 95 %, over tasks."""

    tasks: int
    runs: int
    successes: int
    success: float
    success_interval: Interval
    steps: float
    steps_interval: Interval
    tokens: float
    seconds: float
    seconds_interval: Interval
    unjudged: int
    """Runs that count for steps, tokens and seconds, not for success."""
    followed: int
    max_single_return: int
    context_size: int
    flagged: int
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """An arm against the first, over shared tasks; steps, tokens and seconds are relative: −0.4."""

    arm: str
    base: str
    tasks: int
    success: float
    success_interval: Interval
    steps: float
    steps_interval: Interval
    tokens: float
    tokens_interval: Interval
    seconds: float
    seconds_interval: Interval


@dataclass(frozen=True, slots=True)
class MemoryEffect:
    """One memory: in how many runs it stood in the prompt, how many used it, and what the same
    tasks are without. Runs that used another one instead say nothing of it and are not compared.
    `helped` counts the tasks that were right only with it, or as right in fewer steps; `harmed` the
    other way round."""

    memory_id: str
    title: str
    given: int
    followed: int
    helped: int
    harmed: int
    against: ArmDifference


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A whole evaluation. `stopped` says why it ended early, if it did."""

    curriculum_id: str
    ontology_name: str
    model: str
    arms: tuple[str, ...]
    trials: int
    scaling: str | None
    held_out: bool
    runs: list[Measured] = field(default_factory=list)
    trained: dict[str, Any] | None = None
    stopped: str = ""
    made_at: str = ""
    is_language_model: bool = True
    """Whether the tasks were answered by one."""

    @property
    def shows(self) -> str:
        """What the result does not show; '' where a language model answered."""
        return "" if self.is_language_model else OFFLINE_SHOWS

    @property
    def kinds(self) -> list[str]:
        """In the order of the curriculum."""
        return list(dict.fromkeys(run.kind for run in self.runs))

    def of(self, arm: str, kind: str | None = None) -> list[Measured]:
        """The runs of an arm, of one kind or of all."""
        return [run for run in self.runs if run.arm == arm and kind in (None, run.kind)]

    def summary(self, arm: str, kind: str | None = None) -> Summary:
        return summarise(self.of(arm, kind))

    def differences(self) -> list[ArmDifference]:
        """Every other arm against the first."""
        base = self.arms[0]
        return [_difference(arm, base, self.of(arm), self.of(base)) for arm in self.arms[1:]]

    def memories(self) -> list[MemoryEffect]:
        """Every memory of every other arm against the first; what costs most steps comes first."""
        base = self.of(self.arms[0])
        found = []
        for arm in self.arms[1:]:
            runs = self.of(arm)
            titles = {each.memory_id: each.title for run in runs for each in run.memories}
            found += [
                _effect(memory_id, title, arm, runs, base) for memory_id, title in titles.items()
            ]
        return sorted(
            found, key=lambda each: (-each.against.steps, each.against.success, each.memory_id)
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types: summaries, differences, kinds, memories and single runs."""
        plain = [name for name in self.__slots__ if name not in ("runs", "arms")]
        return {
            **{name: getattr(self, name) for name in plain},
            "shows": self.shows,
            "arms": {arm: asdict(self.summary(arm)) for arm in self.arms},
            "differences": [asdict(each) for each in self.differences()],
            "kinds": {
                kind: {arm: asdict(self.summary(arm, kind)) for arm in self.arms}
                for kind in self.kinds
            },
            "memories": [asdict(each) for each in self.memories()],
            "runs": [asdict(run) for run in self.runs],
        }


def summarise(runs: Sequence[Measured]) -> Summary:
    """Runs of one arm. A task counts once, with the mean of its trials."""
    success = list(by_task(_only_judged(runs), _success).values())
    steps = list(by_task(runs, lambda run: float(run.steps)).values())
    seconds = list(by_task(runs, lambda run: run.seconds).values())
    return Summary(
        tasks=len(steps),
        runs=len(runs),
        successes=sum(bool(run.success) for run in runs),
        success=mean(success),
        success_interval=wilson(sum(success), len(success)),
        steps=mean(steps),
        steps_interval=bootstrap_mean(steps),
        tokens=mean([float(run.tokens) for run in runs]),
        seconds=mean(seconds),
        seconds_interval=bootstrap_mean(seconds),
        unjudged=len(runs) - len(_only_judged(runs)),
        followed=sum(run.followed > 0 for run in runs),
        max_single_return=max((run.max_single_return for run in runs), default=0),
        context_size=max((run.context_size for run in runs), default=0),
        flagged=sum(bool(run.flags) for run in runs),
        flags=tuple(dict.fromkeys(flag for run in runs for flag in run.flags))[:SHOWN_FLAGS],
    )


def _success(run: Measured) -> float:
    return float(run.success or 0)


def _only_judged(runs: Sequence[Measured]) -> list[Measured]:
    return [run for run in runs if run.success is not None]


def by_task(runs: Iterable[Measured], value: Callable[[Measured], float]) -> dict[str, float]:
    """The mean of a value over the trials of each task."""
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(run.task_id, []).append(value(run))
    return {task: mean(values) for task, values in found.items()}


def _difference(
    arm: str, base: str, ours: Sequence[Measured], theirs: Sequence[Measured]
) -> ArmDifference:
    success = _pair(_only_judged(ours), _only_judged(theirs), _success)
    steps = _pair(ours, theirs, lambda run: float(run.steps))
    tokens = _pair(ours, theirs, lambda run: float(run.tokens))
    seconds = _pair(ours, theirs, lambda run: run.seconds)
    return ArmDifference(
        arm=arm,
        base=base,
        tasks=len(steps[0]),
        success=mean(success[0]) - mean(success[1]),
        success_interval=paired_difference(*success),
        steps=change(*steps),
        steps_interval=bootstrap_change(*steps),
        tokens=change(*tokens),
        tokens_interval=bootstrap_change(*tokens),
        seconds=change(*seconds),
        seconds_interval=bootstrap_change(*seconds),
    )


def _pair(
    ours: Sequence[Measured], theirs: Sequence[Measured], value: Callable[[Measured], float]
) -> tuple[list[float], list[float]]:
    """A value of each task that both have, on either side."""
    mine, other = by_task(ours, value), by_task(theirs, value)
    shared = [task for task in mine if task in other]
    return [mine[task] for task in shared], [other[task] for task in shared]


def _effect(
    memory_id: str, title: str, arm: str, runs: Sequence[Measured], base: Sequence[Measured]
) -> MemoryEffect:
    given = [(run, each) for run in runs for each in run.memories if each.memory_id == memory_id]
    telling = [
        run
        for run, mine in given
        if mine.followed or not any(each.followed for each in run.memories)
    ]
    judged = _only_judged(telling), _only_judged(base)
    success, steps = _pair(*judged, _success), _pair(*judged, lambda run: float(run.steps))
    with_it, without = (
        zip(success[0], steps[0], strict=True),
        zip(success[1], steps[1], strict=True),
    )
    gains = [(a - c, d - b) for (a, b), (c, d) in zip(with_it, without, strict=True)]
    return MemoryEffect(
        memory_id=memory_id,
        title=title,
        given=len(given),
        followed=sum(mine.followed for _, mine in given),
        helped=sum(gain > (0, 0) for gain in gains),
        harmed=sum(gain < (0, 0) for gain in gains),
        against=_difference(arm, base[0].arm if base else "", telling, base),
    )
