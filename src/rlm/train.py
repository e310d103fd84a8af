"""Teaching: every task of a curriculum that is not held out is run, judged and learnt from, one
after the other.

Everything that can be known to be wrong is known before the first question is asked: the file, the
ontology, every `verify` query, the name of the model, the folder for logs. What is done is in the
store, run by run, so a training that was killed goes on where it was: a task that this model was
judged on, and that has not changed since, is not run again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rlm import agent
from rlm.agent.parts import check_log_dir
from rlm.agent.spec import AgentResult, RunSpec, TaskRef
from rlm.errors import ConfigError, ModelError
from rlm.learning.insights import own_end
from rlm.llm import open_client
from rlm.loop.types import INTERRUPTED
from rlm.ontology.source import open_engine
from rlm.packs.curriculum import KINDS, Curriculum, Task, read_curriculum
from rlm.packs.curriculum_check import check_curriculum
from rlm.store.backend import MemoryBackend
from rlm.store.identity import canonical_json
from rlm.store.learning import LearningRow

MOST_ROWS = 1_000_000
Which = Literal["train", "held_out", "all"]


@dataclass(frozen=True, slots=True)
class TaskOutcome:
    """What one task came to. `earlier`: it was done before and not run again."""

    task_id: str
    kind: str
    success: bool | None
    """None: the run could not be judged, and is run again the next time."""
    steps: int
    reason: str
    trajectory_id: str
    new_memories: int = 0
    earlier: bool = False


@dataclass(frozen=True, slots=True)
class KindSummary:
    """The tasks of one kind together."""

    kind: str
    tasks: int
    earlier: int
    successes: int
    steps: float
    new_memories: int


@dataclass(frozen=True, slots=True)
class TrainReport:
    """What a training came to. `left` tasks were not reached: `stopped` says why."""

    curriculum_id: str
    ontology_name: str
    model: str
    outcomes: list[TaskOutcome] = field(default_factory=list)
    left: int = 0
    stopped: str = ""

    @property
    def interrupted(self) -> bool:
        return self.stopped == INTERRUPTED

    def kinds(self) -> list[KindSummary]:
        """One line a kind, in the order of the curriculum."""
        groups: dict[str, list[TaskOutcome]] = {}
        for outcome in self.outcomes:
            groups.setdefault(outcome.kind, []).append(outcome)
        return [summary(kind, group) for kind, group in groups.items()]

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        whole = asdict(summary("all", self.outcomes))
        kinds = [asdict(each) for each in self.kinds()]
        return {**asdict(self), "interrupted": self.interrupted, "kinds": kinds, "all": whole}


def summary(kind: str, outcomes: Iterable[TaskOutcome]) -> KindSummary:
    """Several outcomes in one line; steps are their mean."""
    group = list(outcomes)
    return KindSummary(
        kind=kind,
        tasks=len(group),
        earlier=sum(each.earlier for each in group),
        successes=sum(bool(each.success) for each in group),
        steps=sum(each.steps for each in group) / len(group) if group else 0.0,
        new_memories=sum(each.new_memories for each in group),
    )


OnTask = Callable[[TaskOutcome, int, int], None]
"""Told each outcome, how many tasks are done, and how many there are."""


def train(
    curriculum: Curriculum | str | Path,
    store: MemoryBackend,
    *,
    tasks: Literal["train", "all"] = "train",
    resume: bool = True,
    on_task: OnTask | None = None,
    spec: RunSpec | None = None,
    **choices: Any,
) -> TrainReport:
    """Run the tasks that may be trained on, or `all`, and keep what they teach in `store`.

    `spec` holds for every run, and so do `choices`, which are fields of `RunSpec`: `model`,
    `client`, `log_dir`, `limits`, … Without `resume` tasks that are done are run again. Ctrl-C, or
    a model that fails, ends it with a report of what is done. Raises RLMError before anything is
    asked when something is wrong, and when the first call to a model fails.
    """
    spec = replace(spec or RunSpec(), store=store, **choices)
    lesson = curriculum if isinstance(curriculum, Curriculum) else read_curriculum(curriculum)
    chosen = choose_tasks(lesson, tasks)
    outcomes: list[TaskOutcome] = []
    stopped = ""
    with ExitStack() as stack:
        spec = with_client(stack, spec)
        model = spec.client.model if spec.client is not None else ""
        content = check_lesson(lesson, spec.log_dir)
        done = _find_done(store, lesson, model) if resume else {}
        try:
            for place, task in enumerate(chosen, 1):
                ref = TaskRef(lesson.id, task.id, task_hash(lesson, task, content))
                earlier = done.get((task.id, ref.content))
                if earlier is not None:
                    outcomes.append(_outcome_before(task, earlier))
                else:
                    result = run_task(lesson, task, replace(spec, task=ref))
                    outcomes.append(_outcome(task, result))
                if on_task is not None:
                    on_task(outcomes[-1], place, len(chosen))
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        except ModelError as exc:
            if not outcomes:
                raise
            stopped = str(exc)
    return TrainReport(
        lesson.id, lesson.ontology_name, model, outcomes, len(chosen) - len(outcomes), stopped
    )


def with_client(stack: ExitStack, spec: RunSpec) -> RunSpec:
    """The spec with one client for all runs, closed with the stack where it was opened here."""
    if spec.client is not None:
        return spec
    client = open_client(spec.model, base_url=spec.base_url)
    stack.callback(client.close)
    return replace(spec, client=client)


def run_task(lesson: Curriculum, task: Task, spec: RunSpec) -> AgentResult:
    """Ask one task as `agent.run` does, with its own check. Raises KeyboardInterrupt and
    ModelError: then the run came to no end of its own, and says nothing of the task."""
    result = agent.run_spec(
        replace(
            spec,
            query=task.query,
            ontology_path=lesson.ontology_path,
            ontology_name=lesson.ontology_name,
            verify=task.verify,
            task_types=tuple(tag for tag in task.tags if tag in KINDS),
        )
    )
    if result.result.interrupted:
        raise KeyboardInterrupt
    if isinstance(result.result.error, ModelError):
        raise result.result.error
    return result


# -- before anything is spent


def choose_tasks(lesson: Curriculum, which: Which) -> tuple[Task, ...]:
    """The tasks that `which` names: train, held_out or all. ConfigError when there is none."""
    if which not in ("train", "held_out", "all"):
        raise ConfigError(f"tasks is {which!r}: use train, held_out or all")
    found = {"train": lesson.training, "held_out": lesson.held_out, "all": lesson.tasks}[which]
    if not found:
        instead = "is held out: measure all of them (`rlm eval --all-tasks`)"
        what = "may be trained on: all are held out" if which == "train" else instead
        raise ConfigError(f"{lesson.path}: no task {what}")
    return found


def check_lesson(lesson: Curriculum, log_dir: str | Path | None = None) -> str:
    """The hash of the ontology, after every check that can fail: `verify` and logs."""
    engine = open_engine(lesson.ontology_path)
    try:
        check_curriculum(lesson, engine)
        content = str(getattr(engine, "content_hash", ""))
    finally:
        engine.close()
    if log_dir is not None:
        check_log_dir(log_dir)
    return content


def task_hash(lesson: Curriculum, task: Task, content: str) -> str:
    """What a task asks, of which ontology, and how it is checked. Its tags do not matter."""
    verify = None if task.verify is None else [task.verify.sparql, task.verify.compare]
    fields = {"ontology": [lesson.ontology_name, content], "query": task.query, "verify": verify}
    return hashlib.sha256(canonical_json(fields).encode()).hexdigest()[:16]


# -- what was done before


def _find_done(
    store: MemoryBackend, lesson: Curriculum, model: str
) -> Mapping[tuple[str, str], LearningRow]:
    """The newest judged run of each task by this model, by task and hash."""
    found: dict[tuple[str, str], LearningRow] = {}
    for row in store.learning_rows(MOST_ROWS, curriculum_id=lesson.id):
        if row.model == model and row.task_id and row.task_hash and is_done(row):
            found.setdefault((row.task_id, row.task_hash), row)
    return found


def is_done(row: LearningRow) -> bool:
    """Whether a run was judged, and neither a person nor a dead model ended it."""
    return row.is_success is not None and own_end(row)


def _outcome_before(task: Task, row: LearningRow) -> TaskOutcome:
    return TaskOutcome(
        task_id=task.id,
        kind=task.kind or task.tags[0],
        success=bool(row.is_success),
        steps=row.iteration_count,
        reason=row.reason or "",
        trajectory_id=row.trajectory_id,
        earlier=True,
    )


def _outcome(task: Task, result: AgentResult) -> TaskOutcome:
    return TaskOutcome(
        task_id=task.id,
        kind=task.kind or task.tags[0],
        success=None if result.judgment is None else result.judgment["is_success"],
        steps=result.iterations,
        reason=result.why,
        trajectory_id=result.trajectory_id,
        new_memories=sum(each.get("action") in ("add", "added") for each in result.new_memories),
    )
