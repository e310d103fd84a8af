"""INTERACT and JUDGE: one pass at a question, from its prompt to its verdict. Stores nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlm.agent.parts import Graph, Models
from rlm.agent.recall import Recalled
from rlm.agent.types import RunOptions
from rlm.handles import Meter
from rlm.handles import Store as Handles
from rlm.learning.artifact import extract_trajectory_artifact
from rlm.learning.confidence import Uses, uses_in
from rlm.learning.grounding import ungrounded
from rlm.learning.judge import judge_trajectory
from rlm.learning.verify import Verdict, check_answer
from rlm.llm import Client
from rlm.loop import Limits, RLMIteration, RLMLogger, RLMResult, rlm_run
from rlm.packs import list_packs
from rlm.store.backend import MemoryBackend
from rlm.store.secrets import scrub
from rlm.store.types import Judgment, Run, Trajectory
from rlm.tools import Recalled as Repeats
from rlm.tools import Toolbox, Trace, ctx_tools, graph_tools, memory_tools, sparql_tools, view_tools
from rlm.tools.learned import learned_tools

OnStep = Callable[[RLMIteration], None]
NO_OPINION = ("offline", "scripted")
"""Clients that are no language model: they are not asked to judge or to distil."""


@dataclass(frozen=True)
class Extra:
    """What a caller adds to the REPL."""

    tools: Toolbox = field(default_factory=Toolbox)
    ns: Mapping[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    """Further keywords of `rlm_run`."""


@dataclass(frozen=True)
class Setting:
    """What all attempts at a question share."""

    query: str
    models: Models
    store: MemoryBackend
    options: RunOptions
    graph: Graph | None
    extra: Extra = field(default_factory=Extra)


class Attempt:
    """One pass: what it is given, what the REPL gets, and what became of it."""

    def __init__(
        self,
        stack: ExitStack,
        given: Setting,
        run_id: str,
        recalled: Recalled,
        *,
        hint: str = "",
        number: int = 0,
    ) -> None:
        self.query, self.models, self.store = given.query, given.models, given.store
        self.options, self.graph, self.extra = given.options, given.graph, given.extra
        self.number = number
        """Which of several attempts, from 1; 0 for the only one."""
        self.recalled = recalled
        self.meter, self.handles, self.trace = Meter(), stack.enter_context(Handles()), Trace()
        self.trajectory = Trajectory(task_query=self.query, run_id=run_id)
        self.guidance = "\n\n".join(
            part for part in (recalled.built.text, self.options.guidance, hint) if part
        )
        self.meter.context_size = len(self.guidance)
        self.meter.memory_items_injected = len(recalled.injected)
        self.result = RLMResult("")
        self.judgment: Judgment | None = None
        self.verdict: Verdict | None = None
        self.uses = Uses()
        self.repeats = Repeats()
        self.bare = True
        """Whether there is no text beside the ontology."""
        for item in recalled.injected:
            self.repeats.note(item.content)

    # -- asking
    # ----------------------------------------------------------------------------------------------

    def toolbox(self) -> Toolbox:
        """Every tool that this run has something for."""
        repeats, session = self.repeats, self.trajectory.trajectory_id
        memory = self.store if self.options.memory_tools else None
        box = ctx_tools(self.handles, self.meter)
        if memory is not None:
            box = box | memory_tools(memory, self.meter, session=session, recalled=repeats)
            box = box | learned_tools(
                memory,
                self.handles,
                self.meter,
                session=session,
                recalled=repeats,
                ontology=None if self.graph is None else self.graph.name,
                trace=self.trace,
                prefixes=None if self.graph is None else self.graph.meta.prefixes,
            )
            if "graph" not in memory.lacks:
                box = box | graph_tools(memory, self.meter, recalled=repeats)
        if self.graph is not None:
            box = box | sparql_tools(
                self.graph.engine,
                self.handles,
                self.meter,
                memory=memory,
                recalled=repeats,
                session=session,
                ontology=self.graph.name,
            )
            box = box | view_tools(self.graph.views, self.meter)
        return self.trace.watch(box | self.extra.tools)

    def logger(
        self, stack: ExitStack, log_dir: str | Path | None, run: Run, memory_k: int
    ) -> RLMLogger | None:
        """The log of this attempt; its first line says what the run was given."""
        if log_dir is None:
            return None
        extra = {
            "run_id": run.run_id,
            "trajectory_id": self.trajectory.trajectory_id,
            "ontology_name": run.ontology_name,
            "ontology_path": run.ontology_path,
            "memory_k": memory_k,
            "memories": self.recalled.ids,
            "packs": sorted(
                {pack.name for pack in list_packs(self.store) if pack.rolled_back_at is None}
            ),
        }
        logger = RLMLogger(Path(log_dir).expanduser(), scrub=scrubbed, extra=extra)
        stack.callback(logger.close)
        self.trajectory.rlm_log_path = str(logger.path.resolve())
        return logger

    def drop_log(self) -> None:
        """Remove the log of a run that never began."""
        if self.trajectory.rlm_log_path:
            Path(self.trajectory.rlm_log_path).unlink(missing_ok=True)

    def ask(
        self, context: Any, limits: Limits, logger: RLMLogger | None, on_step: OnStep | None
    ) -> None:
        """Run the loop. What it raises is passed on; what there is by then is kept all the same."""
        box, options, seen = self.toolbox(), self.options, list[RLMIteration]()
        self.bare = context is self.recalled.built.text

        def step(turn: RLMIteration) -> None:
            turn.attempt = self.number
            seen.append(turn)
            if on_step is not None:
                on_step(turn)

        try:
            self.result = rlm_run(
                self.query,
                context,
                self.extra.ns,
                client=self.models.root,
                sub_client=self.models.sub,
                tools=box.functions,
                patient=box.patient,
                limits=limits,
                store=self.handles,
                meter=self.meter,
                logger=logger,
                on_step=step,
                guidance=self.guidance,
                sandbox=options.sandbox,
                engine=options.engine,
                unsafe=options.unsafe,
                **self.extra.run,
            )
        except BaseException as exc:
            reason = f"failed: {type(exc).__name__}: {exc}"[:500]
            self.result = RLMResult("", seen, reason=reason, leakage=self.meter.report())
            self.judgment = judge_trajectory(self.artifact())  # it did not converge
            raise
        finally:
            self.uses = uses_in(turn.response for turn in self.result.iterations)

    # -- judging
    # ---------------------------------------------------------------------------------------------

    def judge(self) -> None:
        """The verdict: what can be checked first, then the model where one is asked."""
        if self.options.verify is not None and self.graph is not None and self.result.converged:
            self.verdict = check_answer(
                self.result.answer,
                self.options.verify,
                self.graph.engine,
                self.graph.meta,
                self.query,
            )
        self.judgment = judge_trajectory(
            self.artifact(),
            client=self.judge_client(),
            grounding=self._ungrounded(),
            verdict=self.verdict,
            usage=self.result.usage,
        )

    def judge_client(self) -> Client | None:
        """Who is asked for an opinion: the run's own model, unless it has none or has spent what it
        may."""
        spent = (
            self.result.error is not None or self.result.interrupted or not self.result.converged
        )
        return None if spent or self.models.root.model in NO_OPINION else self.models.root

    def _ungrounded(self) -> list[str]:
        blocks = [block for turn in self.result.iterations for block in turn.code_blocks]
        return ungrounded(
            self.result.answer,
            [block.result.stdout for block in blocks],
            {} if self.graph is None else self.graph.meta.prefixes,
            self.trace if self.trace.calls else None,
            question=self.query,
            code=[block.code for block in blocks],
            engine=None if self.graph is None else self.graph.engine,
            bare=self.bare,
        )

    @property
    def succeeded(self) -> bool:
        return self.judgment is not None and self.judgment.is_success

    # -- what is kept
    # ----------------------------------------------------------------------------------------

    def artifact(self) -> dict[str, Any]:
        result = self.result
        return extract_trajectory_artifact(
            self.query,
            result.answer,
            result.iterations,
            result.ns,
            converged=result.converged,
            trace=self.trace,
            reason=result.reason,
        )

    def kept(self, others: Sequence[str] = ()) -> Trajectory:
        """The trajectory with everything that is stored of it. `others` are further attempts of the
        same run."""
        result, made, task = self.result, self.trajectory, self.options.task
        made.final_answer, made.iteration_count = result.answer, len(result.iterations)
        made.converged = result.converged
        made.artifact = {
            **self.artifact(),
            "kind": self.recalled.kind,
            "injected": self.recalled.ids,
            "preview": self.recalled.preview(),
            "uses": {
                "followed": list(self.uses.followed),
                "abandoned": list(self.uses.abandoned),
                "said": self.uses.said,
            },
            "leakage": result.leakage,
            "usage": result.usage.to_dict(),
            "submitted": result.submitted,
        }
        if task is not None:
            made.artifact |= {
                "curriculum_id": task.curriculum_id,
                "task_id": task.task_id,
                "task_hash": task.content,
            }
        if others:
            made.artifact["attempts"] = list(others)
        return made


def scrubbed(text: str) -> str:
    return scrub(text)[0]
