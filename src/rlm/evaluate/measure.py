"""Running a suite: the same tasks under several arms, each run from a store that is as it was at
the start.

A run changes its store (usage, confidence, the time of last use), and the next run would recall
otherwise for it. So every run gets a copy of its arm's store, which is thrown away. Tasks come one
after the other and the arms within a task: an evaluation that is cut short has compared what it
has.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any

from rlm import clock
from rlm.agent.parts import open_memory
from rlm.agent.spec import AgentResult, RunSpec
from rlm.errors import ConfigError, ModelError
from rlm.evaluate.report import Evaluation, InPrompt, Measured
from rlm.llm import is_language_model
from rlm.loop.types import INTERRUPTED
from rlm.packs.bootstrap import shipped_packs
from rlm.packs.curriculum import Curriculum, Task, read_curriculum
from rlm.packs.transfer import import_pack
from rlm.retrieval.embed import Embedder
from rlm.store.backend import MemoryBackend
from rlm.store.open import is_sqlite, open_store
from rlm.store.types import LOCAL
from rlm.train import (
    OnTask,
    TaskOutcome,
    Which,
    check_lesson,
    choose_tasks,
    run_task,
    summary,
    train,
    with_client,
)

ARMS = ("off", "packs", "trained", "on")
"""Memory off; the packs that ship; what training on the other half of the suite taught; the store
that the spec names, as it is."""
USUAL_ARMS = ARMS[:3]
MOST_TRIALS = 1_000

OnRun = Callable[[Measured, int, int], None]
"""Told each run, how many are done, and how many there are."""


def evaluate(
    curriculum: Curriculum | str | Path | Sequence[Curriculum | str | Path],
    *,
    trials: int = 1,
    arms: Sequence[str] = USUAL_ARMS,
    store_dir: str | Path | None = None,
    held_out_only: bool = True,
    on_task: OnTask | None = None,
    on_run: OnRun | None = None,
    spec: RunSpec | None = None,
    **choices: Any,
) -> Evaluation:
    """Run the held-out tasks, or all, under each of `arms`, and set the results side by side.
    Several curricula are one suite: each is trained by itself, and the results are taken together.

    `spec` holds for every run, training included, and so do `choices`, which are fields of
    `RunSpec`: `model`, `client`, `scaling`, `log_dir`, `limits`, … `store_dir` keeps the stores of
    the arms; a training that is in there already is not done again. `on_task` hears of training,
    `on_run` of measuring. Ctrl-C, or a model that fails, ends it with what there is. Raises
    RLMError before anything is asked when something is wrong.
    """
    lessons = _read_suite(curriculum)
    _check(lessons, arms, trials)
    which: Which = "held_out" if held_out_only else "all"
    planned = [(lesson, choose_tasks(lesson, which)) for lesson in lessons]
    spec = replace(spec or RunSpec(), **choices)
    with ExitStack() as stack:
        spec = with_client(stack, spec)
        client = spec.client
        assert client is not None
        for lesson in lessons:
            check_lesson(lesson, spec.log_dir)
        folder = _folder(stack, store_dir)
        made = Evaluation(
            curriculum_id=" + ".join(lesson.id for lesson in lessons),
            ontology_name=", ".join(dict.fromkeys(lesson.ontology_name for lesson in lessons)),
            model=client.model,
            arms=tuple(arms),
            trials=trials,
            scaling=spec.scaling,
            held_out=held_out_only,
            made_at=clock.now_iso(),
            is_language_model=is_language_model(client),
        )
        runs = sum(len(tasks) for _, tasks in planned) * len(arms) * trials
        outcomes: list[TaskOutcome] = []
        stopped = ""
        try:
            for lesson, tasks in planned:
                stores = _Stores(folder, lesson, arms, spec)
                outcomes += stores.train(spec, on_task)
                for trial, task, arm in product(range(1, trials + 1), tasks, arms):
                    made.runs.append(_run_one(lesson, task, arm, trial, stores, spec))
                    if on_run is not None:
                        on_run(made.runs[-1], len(made.runs), runs)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
        except ModelError as exc:
            if not made.runs:
                raise
            stopped = str(exc)
        return replace(made, stopped=stopped, trained=_summarize(outcomes))


def _read_suite(
    given: Curriculum | str | Path | Sequence[Curriculum | str | Path],
) -> list[Curriculum]:
    each = [given] if isinstance(given, Curriculum | str | Path) else given
    return [one if isinstance(one, Curriculum) else read_curriculum(one) for one in each]


def _check(lessons: Sequence[Curriculum], arms: Sequence[str], trials: int) -> None:
    unknown = [arm for arm in arms if arm not in ARMS]
    if unknown or not arms or len(set(arms)) != len(arms):
        given = ", ".join(map(repr, arms)) or "none"
        raise ConfigError(f"arms are {given}: name each once, of {', '.join(ARMS)}")
    if isinstance(trials, bool) or not isinstance(trials, int) or not 1 <= trials <= MOST_TRIALS:
        raise ConfigError(f"trials is {trials!r}: use a whole number from 1 to {MOST_TRIALS}")
    if not lessons:
        raise ConfigError("there is no curriculum: name at least one")
    known: dict[str, Curriculum] = {}
    for lesson in lessons:
        if "trained" in arms:
            choose_tasks(lesson, "train")
        for task in lesson.tasks:
            if (other := known.setdefault(task.id, lesson)) is not lesson:
                raise ConfigError(
                    f"{lesson.path}: the task {task.id} is in {other.path} too: rename"
                )


def _folder(stack: ExitStack, store_dir: str | Path | None) -> Path:
    if store_dir is None:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rlm-eval-")))
    folder = Path(store_dir).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(
            f"the stores cannot be kept in {folder} ({exc.strerror}): give another folder"
        ) from exc
    return folder


def _summarize(outcomes: Sequence[TaskOutcome]) -> dict[str, Any] | None:
    """The training that came before, as the report has it."""
    if not outcomes:
        return None
    whole = asdict(summary("all", outcomes))
    del whole["kind"]
    return whole


class _Stores:
    """One frozen store an arm, and copies of them to work on."""

    def __init__(
        self, folder: Path, lesson: Curriculum, arms: Sequence[str], spec: RunSpec
    ) -> None:
        self.folder, self.lesson, self.arms = folder, lesson, arms
        self.embedder: Embedder | None = None
        self.tenant = LOCAL
        """Whose memories the store of the arm `on` holds."""
        for arm in arms:
            if arm == "trained":
                continue
            if arm == "on":
                with ExitStack() as stack:
                    store = open_memory(stack, spec)
                    self.tenant = store.tenant
                    self._freeze(arm, store)
                continue
            with open_store(self._path(arm), origin="evaluation") as store:
                self.embedder = self.embedder or store.embedder
                for name in shipped_packs() if arm == "packs" else ():
                    import_pack(name, store)
                self._freeze(arm, store)

    def train(self, spec: RunSpec, on_task: OnTask | None) -> list[TaskOutcome]:
        """Fill the store of the arm `trained`. What ends a training early ends the evaluation."""
        if "trained" not in self.arms:
            return []
        with open_store(self._path("trained"), origin="evaluation") as store:
            self.embedder = self.embedder or store.embedder
            report = train(self.lesson, store, on_task=on_task, spec=spec)
            if report.interrupted:
                raise KeyboardInterrupt
            if report.stopped:
                raise ModelError(
                    f"{report.stopped} (in training, after {len(report.outcomes)} tasks)"
                )
            self._freeze("trained", store)
        return report.outcomes

    def _path(self, arm: str) -> Path:
        name = f"{self.lesson.id}-{arm}" if arm == "trained" else arm
        return self.folder / f"{name}.db"

    def _freeze(self, arm: str, store: Any) -> None:
        store.backup(self.folder / f"{arm}.frozen")

    def open_copy(self, arm: str, folder: Path) -> MemoryBackend:
        """A store as the arm's was when it was frozen."""
        copy = Path(shutil.copyfile(self.folder / f"{arm}.frozen", folder / "memory.db"))
        kind = "sqlite" if is_sqlite(copy) else "json"
        tenant = self.tenant if arm == "on" else LOCAL
        return open_store(
            f"{kind}:{copy}", embedder=self.embedder, tenant=tenant, origin="evaluation"
        )


def _run_one(
    lesson: Curriculum, task: Task, arm: str, trial: int, stores: _Stores, spec: RunSpec
) -> Measured:
    """One task under one arm, from a store as it was at the start."""
    with (
        tempfile.TemporaryDirectory(prefix="rlm-run-") as folder,
        stores.open_copy(arm, Path(folder)) as store,
    ):
        started = time.monotonic()
        spec = replace(spec, store=store, enable_extraction=False, task=None)
        if arm == "off":
            spec = replace(spec, recall=False, memory_tools=False)
        result = run_task(lesson, task, spec)
        return _measure(task, arm, trial, result, time.monotonic() - started)


def _measure(task: Task, arm: str, trial: int, result: AgentResult, seconds: float) -> Measured:
    leakage, usage = result.leakage, result.usage
    injected = [each for each in result.memories_used if each["injected"]]
    return Measured(
        arm=arm,
        task_id=task.id,
        kind=task.kind or task.tags[0],
        query=task.query,
        trial=trial,
        success=None if result.judgment is None else result.judgment["is_success"],
        converged=result.converged,
        steps=result.iterations,
        tokens=usage["input_tokens"] + usage["output_tokens"],
        seconds=seconds,
        reason=result.why,
        injected=len(injected),
        followed=sum(each["followed"] for each in result.memories_used),
        max_single_return=leakage["max_single_return"],
        context_size=leakage["context_size"],
        flags=tuple(leakage["flags"]),
        memories=tuple(
            InPrompt(each["memory_id"], each["title"], each["followed"]) for each in injected
        ),
    )
