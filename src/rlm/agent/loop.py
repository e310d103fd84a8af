"""`run`: one question, from what memory knows of it to what it teaches.

There may be several attempts at it (MaTTS, memory-aware test-time scaling, RB-24). In parallel,
each is given other memories, and a model's own variety does the rest. In sequence, each is told
what the last one answered and what the judge said. What the attempts have in common and where they
differ is what `learn` distils.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rlm.agent.attempt import Attempt, OnStep
from rlm.agent.learn import Learned, learn
from rlm.agent.parts import RunParts, check_lang, check_question
from rlm.agent.recall import recall
from rlm.agent.spec import AgentResult, Context, RunSpec, Scaling
from rlm.context import MEMORY_CHARS, MODEL_MEMORY_CHARS
from rlm.errors import ConfigError, ModelError, RLMError
from rlm.llm import Usage, is_language_model
from rlm.loop import RLMIteration
from rlm.store.identity import normalize
from rlm.store.types import Run

WORKERS = 4
HINT_ANSWER_CHARS = 200
HINT_REASON_CHARS = 120


def run(
    query: str,
    ontology_path: str | Path | Sequence[str | Path] | None = None,
    db_path: str | Path | None = None,
    *,
    context: Context | None = None,
    memory_k: int = 3,
    enable_extraction: bool = True,
    log_dir: str | Path | None = None,
    model: str | None = None,
    **choices: Any,
) -> AgentResult:
    """Answer a question over a text of any length, or over an ontology; judge the run, learn from
    it, and keep it.

    `context` is text, bytes, a path, or several of them. The store is the one at `db_path`, or the
    default one. The best `memory_k` memories are retrieved and the first of them injected; with
    `enable_extraction` the run leaves memories of its own. `choices` are the other fields of
    `RunSpec`: `limits`, `client`, `store`, `on_step`, `lang`, `scaling`, … A run that did not
    converge is no error: `converged` is False and `reason` says why. Raises ConfigError,
    OntologyError and ModelAuthError before anything is asked, ModelError when the server refuses
    the very first call, SandboxError when code cannot be confined here: then nothing is kept.
    """
    known = [each.name for each in fields(RunSpec)]
    for name in choices.keys() - set(known):
        near = "".join(f"; did you mean {one}?" for one in get_close_matches(name, known, 1))
        raise TypeError(f"run() has no choice {name!r}{near or ': they are the fields of RunSpec'}")
    return run_spec(
        RunSpec(
            query=query,
            ontology_path=ontology_path,
            db_path=db_path,
            context=context,
            memory_k=memory_k,
            enable_extraction=enable_extraction,
            log_dir=log_dir,
            model=model,
            **choices,
        )
    )


def run_spec(spec: RunSpec) -> AgentResult:
    """As `run`, with everything that a caller chose in one object."""
    check_question(spec.query)
    check_lang(spec.lang)
    if spec.context is None and spec.ontology_path is None:
        raise ConfigError("there is nothing to ask about: give a text as `context`, or an ontology")
    with ExitStack() as stack:
        parts = RunParts.open(stack, spec)
        if spec.on_start is not None:
            spec.on_start(parts.models.root.model)
        return AgentRun(stack, spec, parts).run()


@dataclass
class AgentRun:
    """One run on its way: one attempt, or several at the same question."""

    stack: ExitStack
    spec: RunSpec
    parts: RunParts
    lineage: Callable[[], Mapping[str, Any]] = dict
    """What else the provenance of a new memory says."""
    record: Run = field(init=False)

    def __post_init__(self) -> None:
        self.record = Run(model=self.parts.models.root.model, notes=self.spec.notes)
        if (graph := self.parts.graph) is not None:
            self.record.ontology_name, self.record.ontology_path = graph.name, graph.engine.source

    def run(self) -> AgentResult:
        attempts: list[Attempt] = []
        try:
            self._make_attempts(Scaling.of(self.spec.scaling), attempts)
            _raise_refused(attempts)
        except BaseException:
            begun = [attempt for attempt in attempts if attempt.result.iterations]
            if begun:
                self._keep(begun, extract=False)
            for attempt in attempts:
                if attempt not in begun:
                    attempt.drop_log()
            raise
        return self._keep(attempts, extract=self.spec.enable_extraction)

    def _make_attempts(self, scaling: Scaling, attempts: list[Attempt]) -> None:
        """Into `attempts`, so that what there is stays when one of them raises."""
        if scaling.parallel:
            made = [self._attempt(skip=number, number=number + 1) for number in range(scaling.k)]
            _run_all(made, self.spec.on_step, attempts)
            return
        for number in range(scaling.k):
            hint = hint_after(attempts[-1]) if attempts else ""
            place = number + 1 if scaling.k > 1 else 0
            last = self._attempt(skip=number, hint=hint, number=place)
            attempts.append(last)
            _ask_and_judge(last, self.spec.on_step)
            ended = last.result.interrupted or last.result.error is not None
            if ended or (last.verdict is not None and last.succeeded):
                return  # another attempt can gain nothing

    def _attempt(self, *, skip: int = 0, hint: str = "", number: int = 0) -> Attempt:
        spec, parts = self.spec, self.parts
        remembered = parts.models.recall(
            number,
            spec.recall_k,
            lambda: recall(
                spec.query,
                parts.store,
                parts.graph,
                spec.recall_k,
                lang=spec.lang,
                skip=skip,
                text=parts.context is not None,
                text_hash=parts.text_hash,
                task_types=spec.task_types,
                memory_chars=self._memory_chars(),
                can_get=spec.memory_tools,
                count_access=spec.enable_extraction,
            ),
        )
        return Attempt(self.stack, spec, parts, self.record, remembered, hint=hint, number=number)

    def _memory_chars(self) -> int:
        if self.spec.memory_chars is not None:
            return self.spec.memory_chars
        return MODEL_MEMORY_CHARS if is_language_model(self.parts.models.root) else MEMORY_CHARS

    def _keep(self, attempts: list[Attempt], *, extract: bool) -> AgentResult:
        """Store all that there is, or nothing. The best attempt carries what was learnt."""
        ordered = best_of(attempts)
        store = self.parts.store
        learned = learn(ordered, store, extract=extract, lineage=self.lineage())
        others = [attempt.trajectory.trajectory_id for attempt in ordered[1:]]
        with store.together():
            for place, attempt in enumerate(ordered):
                store.save_artifacts(
                    self.record,
                    attempt.record(others if place == 0 else ()),
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
            memories_used=best.recalled.to_dicts(best.uses.followed),
            converged=result.converged,
            reason=result.reason,
            judgment=None if verdict is None else asdict(verdict),
            leakage=result.leakage,
            usage=spent.to_dict(),
            new_memories=learned.outcomes,
            submitted=result.submitted,
            model=self.parts.models.root.model,
            calls=best.calls(),
            attempts=tried if len(tried) > 1 else [],
            result=result,
        )


def _ask_and_judge(attempt: Attempt, on_step: OnStep | None) -> None:
    attempt.ask(on_step)
    attempt.judge()


def _raise_refused(attempts: list[Attempt]) -> None:
    """A server that refuses the very first call has no such model: an error, not a run."""
    if not any(attempt.result.iterations for attempt in attempts):
        for attempt in attempts:
            if type(attempt.result.error) is ModelError:
                raise attempt.result.error


# -- several attempts


def _run_all(made: list[Attempt], on_step: OnStep | None, done: list[Attempt]) -> None:
    """All attempts at once, into `done` in order. Raises when all failed, or a callback did."""
    stop, lock = threading.Event(), threading.Lock()

    def step(turn: RLMIteration) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        if on_step is not None:
            with lock:
                on_step(turn)

    failed: list[Exception] = []
    raised: Exception | None = None
    with ThreadPoolExecutor(min(WORKERS, len(made))) as pool:
        waiting = [pool.submit(_ask_and_judge, attempt, step) for attempt in made]
        while waiting:
            try:
                waiting[0].result()
            except KeyboardInterrupt:  # ours, or an attempt's own: all of them end, and are kept
                stop.set()
                if not waiting[0].done():
                    continue
            except RLMError as exc:  # one that fails takes none of the others with it
                failed.append(exc)
            except Exception as exc:  # a caller's own
                raised = raised or exc
                stop.set()
            waiting.pop(0)
    done.extend(made)
    if raised is not None or len(failed) == len(made):
        raise raised or failed[0]


def best_of(attempts: list[Attempt]) -> list[Attempt]:
    """The best first: judged right, answered as most others did, in the fewest turns."""
    answers = {id(attempt): normalize(attempt.result.answer) for attempt in attempts}
    votes = Counter(answers[id(each)] for each in attempts if each.result.converged)

    def rank(attempt: Attempt) -> tuple[bool, int, int, int]:
        sure = attempt.judgment.confidence if attempt.judgment else ""
        doubt = {"high": 0, "medium": 1, "low": 2}.get(sure, 3)
        same = votes[answers[id(attempt)]]
        return not attempt.succeeded, doubt, -same, len(attempt.result.iterations)

    return sorted(attempts, key=rank)


def hint_after(attempt: Attempt) -> str:
    """What the next attempt is told of the last one. Data, not orders: both are quoted and cut."""
    answer = " ".join(attempt.result.answer.split())[:HINT_ANSWER_CHARS] or "(none)"
    judged = attempt.judgment.reason if attempt.judgment else "not judged"
    reason = " ".join(judged.split())[:HINT_REASON_CHARS]
    return (
        f"An earlier attempt at this question answered {answer!r}; the check said {reason!r}. "
        "Look again by yourself, correct what is wrong, and answer."
    )
