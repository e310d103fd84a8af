"""`run`: one question, from what memory knows of it to what it teaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlm.agent.accept import check_lang, check_language, check_log_dir, check_question
from rlm.agent.attempt import Attempt, OnStep, Setting
from rlm.agent.learn import Learned, learn
from rlm.agent.parts import Graph, Models, loaded, opened
from rlm.agent.recall import recall
from rlm.agent.scaling import Scaling, best_of, hint_after
from rlm.agent.types import AgentResult, Context, RunOptions
from rlm.errors import ConfigError, ModelError
from rlm.learning.verify import check_verify
from rlm.llm import Client, Usage
from rlm.loop import Limits
from rlm.store.backend import MemoryBackend
from rlm.store.types import Run

AGENT_OUTPUT_CHARS = 2_000
"""What a model is shown of one block's output over an ontology: rows belong behind handles."""
MOST_RECALLED = 20

OpensStore = Callable[[], AbstractContextManager[MemoryBackend]]


def run(
    query: str,
    ontology_path: str | Path | None = None,
    db_path: str | Path | None = None,
    *,
    context: Context | None = None,
    memory_k: int = 3,
    enable_extraction: bool = True,
    log_dir: str | Path | None = None,
    model: str | None = None,
    limits: Limits | None = None,
    store: MemoryBackend | OpensStore | None = None,
    client: Client | None = None,
    on_start: Callable[[str], None] | None = None,
    on_step: OnStep | None = None,
    options: RunOptions | None = None,
) -> AgentResult:
    """Answer a question over a text of any length, or over an ontology; judge the run, learn from
    it, and keep it.

    `context` is text, bytes, a path, or several of them. The store is `store`, or the one at
    `db_path`, or the default one; a function that opens it is called once all else is accepted.
    `client` goes before `model`; `on_start` is told then which model is asked. The best `memory_k`
    memories are retrieved and the first of them injected; with `enable_extraction` the run leaves
    memories of its own. A run that did not converge is no error: `converged` is False and `reason`
    says why. Raises ConfigError, OntologyError and ModelAuthError before anything is asked,
    ModelError when the server refuses the very first call, SandboxError when code cannot be
    confined here: then nothing is kept.
    """
    options = options or RunOptions()
    _check(query, context, ontology_path, memory_k, options)
    scaling = Scaling.of(options.scaling)
    with ExitStack() as stack:
        models = stack.enter_context(Models(model, client, options))
        asked = "" if options.replay is not None else models.root.model
        if context is None:
            check_language(query, asked, ontology=True)
        graph = None if ontology_path is None else Graph.open(stack, ontology_path, options)
        if options.verify is not None:
            if graph is None:
                raise ConfigError(
                    "`verify` asks an ontology, and there is none: give ontology_path"
                )
            check_verify(options.verify, graph.engine)
        about = None if context is None else loaded(context)
        if about is not None:
            check_language(query, asked, ontology=graph is not None, context=about)
        if log_dir is not None and options.task is None:  # training has looked for all of its tasks
            check_log_dir(log_dir)
        kept = stack.enter_context(store()) if callable(store) else store or opened(stack, db_path)
        if on_start is not None:
            on_start(models.root.model)
        setting = Setting(query, models, kept, options, graph)
        return Job(
            stack, setting, about, memory_k, limits, log_dir, on_step, enable_extraction
        ).run(scaling)


def _check(
    query: str,
    context: Context | None,
    ontology_path: str | Path | None,
    memory_k: int,
    options: RunOptions,
) -> None:
    check_question(query)
    check_lang(options.lang)
    if context is None and ontology_path is None:
        raise ConfigError("there is nothing to ask about: give a text as `context`, or an ontology")
    if (
        isinstance(memory_k, bool)
        or not isinstance(memory_k, int)
        or not 0 <= memory_k <= MOST_RECALLED
    ):
        raise ConfigError(f"memory_k is {memory_k!r}: use a whole number from 0 to {MOST_RECALLED}")


@dataclass
class Job:
    """One run on its way: one attempt, or several at the same question."""

    stack: ExitStack
    given: Setting
    context: Any
    memory_k: int
    limits: Limits | None = None
    log_dir: str | Path | None = None
    on_step: OnStep | None = None
    extract: bool = True
    lineage: Callable[[], Mapping[str, Any]] = dict
    """What else the provenance of a new memory says."""

    def __post_init__(self) -> None:
        graph, options = self.given.graph, self.given.options
        self.record = Run(model=self.given.models.root.model, notes=options.notes)
        if graph is not None:
            self.record.ontology_name, self.record.ontology_path = graph.name, graph.engine.source

    def run(self, scaling: Scaling) -> AgentResult:
        attempts: list[Attempt] = []
        try:
            if scaling.parallel:
                made = [
                    self._attempt(skip=number, number=number + 1) for number in range(scaling.k)
                ]
                scaling.run_all(made, self._pass, self.on_step, attempts)
            else:
                for number in range(scaling.k):
                    hint = hint_after(attempts[-1]) if attempts else ""
                    place = number + 1 if scaling.k > 1 else 0
                    attempts.append(self._attempt(skip=number, hint=hint, number=place))
                    self._pass(attempts[-1], self.on_step)
                    last = attempts[-1].result
                    if (
                        last.interrupted
                        or last.error is not None
                        or scaling.is_settled(attempts[-1])
                    ):
                        break
            _raise_refused(attempts)
        except BaseException:
            self._keep(
                [attempt for attempt in attempts if attempt.result.iterations], extract=False
            )
            for attempt in attempts:
                if not attempt.result.iterations:
                    attempt.drop_log()
            raise
        return self._keep(attempts, extract=self.extract)

    def _attempt(self, *, skip: int = 0, hint: str = "", number: int = 0) -> Attempt:
        given = self.given
        remembered = recall(
            given.query,
            given.store,
            given.graph,
            self._wanted,
            lang=given.options.lang,
            skip=skip,
            text=self.context is not None,
        )
        return Attempt(self.stack, given, self.record.run_id, remembered, hint=hint, number=number)

    @property
    def _wanted(self) -> int:
        """How many memories are asked for."""
        return self.memory_k if self.given.options.recall else 0

    def _pass(self, attempt: Attempt, on_step: OnStep | None) -> None:
        about = attempt.recalled.built.text if self.context is None else self.context
        logger = attempt.logger(self.stack, self.log_dir, self.record, self._wanted)
        limits = self.limits
        if limits is None:
            limits = (
                Limits()
                if self.given.graph is None
                else Limits(max_output_chars=AGENT_OUTPUT_CHARS)
            )
        attempt.ask(about, limits, logger, on_step)
        attempt.judge()

    def _keep(self, attempts: list[Attempt], *, extract: bool) -> AgentResult:
        """Store all that there is, or nothing. The best attempt goes first; it carries what was
        learnt."""
        if not attempts:
            return _NOTHING
        ordered = best_of(attempts)
        store = self.given.store
        learned = learn(ordered, store, extract=extract, lineage=self.lineage())
        others = [attempt.trajectory.trajectory_id for attempt in ordered[1:]]
        with store.together():
            for place, attempt in enumerate(ordered):
                store.save_artifacts(
                    self.record,
                    attempt.kept(others if place == 0 else ()),
                    attempt.judgment,
                    memories=learned.memories if place == 0 else (),
                    retrieved=list(attempt.recalled.hits),
                    lessons=learned.lessons[place],
                )
        return self._result(ordered, learned)

    def _result(self, ordered: list[Attempt], learned: Learned) -> AgentResult:
        best = ordered[0]
        result, verdict = best.result, best.judgment
        spent = Usage()
        for attempt in ordered:
            spent.include(attempt.result.usage)
        tried = [
            {
                "trajectory_id": attempt.trajectory.trajectory_id,
                "iterations": len(attempt.result.iterations),
                "is_success": attempt.succeeded,
            }
            for attempt in ordered
        ]
        return AgentResult(
            answer=result.answer,
            iterations=len(result.iterations),
            run_id=self.record.run_id,
            trajectory_id=best.trajectory.trajectory_id,
            log_path=best.trajectory.rlm_log_path,
            memories_used=best.recalled.told(best.uses.followed),
            converged=result.converged,
            reason=result.reason,
            judgment=None if verdict is None else asdict(verdict),
            leakage=result.leakage,
            usage=spent.to_dict(),
            new_memories=learned.outcomes,
            submitted=result.submitted,
            model=self.given.models.root.model,
            attempts=tried if len(tried) > 1 else [],
            result=result,
        )


def _raise_refused(attempts: list[Attempt]) -> None:
    """A server that refuses the very first call has no such model: an error, not a run. One that is
    down may be."""
    if not any(attempt.result.iterations for attempt in attempts):
        for attempt in attempts:
            if type(attempt.result.error) is ModelError:
                raise attempt.result.error


_NOTHING = AgentResult(
    "", 0, "", "", None, [], False, "nothing was asked", None, {}, {}, [], None, ""
)
