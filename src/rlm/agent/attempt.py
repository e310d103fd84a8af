"""INTERACT and JUDGE: one pass at a question, from its prompt to its verdict. Stores nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from rlm.agent.parts import Graph, RunParts
from rlm.agent.recall import RecalledContext
from rlm.agent.remarks import Remarks, comments_of
from rlm.agent.spec import RunSpec
from rlm.errors import RLMError
from rlm.handles import Meter
from rlm.handles import Store as Handles
from rlm.learning.artifact import describe_refusal, extract_trajectory_artifact, is_refusal
from rlm.learning.calls import SHOWN_CALLS, CallRecorder, terms_of
from rlm.learning.claims import find_unseen_numbers, find_unseen_quotes
from rlm.learning.confidence import Uses, followed_of, uses_in
from rlm.learning.evidence import Evidence
from rlm.learning.extract_calls import CallReading
from rlm.learning.grounding import describe_doubt, find_ungrounded
from rlm.learning.judge import judge_trajectory
from rlm.learning.verify import Verdict, check_answer
from rlm.llm import Client, is_language_model, is_unanswered
from rlm.loop import LoopRun, RLMIteration, RLMLogger, RLMResult
from rlm.loop.trace import ToolCall, Trace, numbers_in, render_value, with_rows
from rlm.ontology.query.guard import enforce_limit
from rlm.ontology.views.resolve import resolve
from rlm.store.gate import RECALLED_HEADING
from rlm.store.secrets import scrub
from rlm.store.types import Judgment, MemoryItem, Run, Trajectory
from rlm.tools import (
    RecalledTexts,
    Toolbox,
    ctx_tools,
    graph_tools,
    memory_tools,
    sparql_tools,
    view_tools,
)
from rlm.tools.learned import learned_tools
from rlm.tools.sparql import Patterns
from rlm.tools.toolbox import keep_results
from rlm.tools.views import MODEL_VIEW_CHARS, VIEW_CHARS

LOG = logging.getLogger("rlm.agent")
RECALLING = frozenset(("mem_get", "mem_quote", "memory_query", "memory_get_context"))
"""Tools whose texts a run must not store again as something new."""
MOST_COMMENTS = 12
"""Of terms that were queried, for judge and extractor."""

OnStep = Callable[[RLMIteration], None]
WRITING = (
    *("mem_add", "mem_extract", "mem_learn_from_failure"),
    *("memory_add_fact", "memory_add_experience", "memory_relate"),
)
"""Tools that leave a memory or a note."""


class Attempt:
    """One pass: what it is given, what the REPL gets, and what became of it."""

    def __init__(
        self,
        stack: ExitStack,
        spec: RunSpec,
        parts: RunParts,
        run: Run,
        recalled: RecalledContext,
        *,
        hint: str = "",
        number: int = 0,
    ) -> None:
        self.spec, self.query, self.run = spec, spec.query, run
        self.models, self.store, self.graph = parts.models, parts.store, parts.graph
        self.context = recalled.built.text if parts.context is None else parts.context
        self.bare = parts.context is None
        """Whether there is no text beside the ontology."""
        self.text_hash = parts.text_hash
        self.number = number
        """Which of several attempts, from 1; 0 for the only one."""
        self.recalled = recalled
        self.meter, self.handles, self.trace = Meter(), stack.enter_context(Handles()), Trace()
        self.trajectory = Trajectory(task_query=self.query, run_id=run.run_id)
        guidance = (recalled.built.text, spec.guidance, hint)
        self.guidance = "\n\n".join(part for part in guidance if part)
        self.meter.context_size = len(self.guidance)
        self.meter.memory_items_injected = len(recalled.injected)
        self.result = RLMResult("")
        self.log: RLMLogger | None = None
        self.remarks = Remarks(self.graph, self.guidance, self.trace, self.meter)
        self._artifact: dict[str, Any] | None = None
        self._evidence: Evidence | None = None
        self._calls: list[dict[str, Any]] | None = None
        self.judgment: Judgment | None = None
        self.verdict: Verdict | None = None
        self.uses = Uses()
        self.patterns, self.held = Patterns(), list[MemoryItem]()
        """What may be kept once the run is judged: queries, and lessons that the model wants."""
        self.repeats = RecalledTexts()
        for item in recalled.injected:
            self.repeats.note(item.content)
        self.card = recalled.built.text.partition(RECALLED_HEADING)[0]
        """What the prompt says of the ontology: its labels and comments. What follows is memory, or
        a person's."""
        self.meter.seen.append(self.card)

    # -- asking

    def toolbox(self) -> Toolbox:
        """Every tool that this run has something for."""
        memory = self.store if self.spec.memory_tools else None
        box = ctx_tools(self.handles, self.meter)
        if memory is not None:
            box = box | self._memory_box()
        if self.graph is not None:
            box = box | sparql_tools(
                self.graph.engine,
                self.handles,
                self.meter,
                memory=memory,
                patterns=self.patterns,
                ontology=self.graph.name,
            )
            chars = MODEL_VIEW_CHARS if self.speaks else VIEW_CHARS
            box = box | view_tools(self.graph.views, self.meter, chars)
        theirs = {n: keep_results(tool, self.meter) for n, tool in self.spec.tools.items()}
        own = Toolbox(theirs, set(self.spec.untimed))
        taped = self.models.tape_tools(box, self.number, self._note_replayed)
        box = taped | own
        return Toolbox(self.trace.watch(box.functions), box.untimed)

    def _memory_box(self) -> Toolbox:
        """The memory tools. The prompt tells of them where memory had something for the question,
        and those that write are missing where the store is to stay as it is."""
        memory, repeats, session = self.store, self.repeats, self.trajectory.trajectory_id
        prefixes = None if self.graph is None else self.graph.meta.prefixes
        box = memory_tools(
            memory,
            self.meter,
            session=session,
            recalled=repeats,
            question=self.query,
            prefixes=prefixes,
            held=self.held,
        )
        box = box | learned_tools(
            memory,
            self.handles,
            self.meter,
            session=session,
            recalled=repeats,
            ontology=None if self.graph is None else self.graph.name,
            trace=self.trace,
            prefixes=prefixes,
            held=self.held,
        )
        box = box | graph_tools(memory, self.meter, recalled=repeats)
        if not self.spec.enable_extraction:
            kept = {name: each for name, each in box.functions.items() if name not in WRITING}
            box = Toolbox(kept, box.untimed)
        return box if self.recalled.hits else box.hide()

    def _note_replayed(self, name: str, value: Any) -> None:
        """Count what came from a cassette in place of a tool as if the tool had returned it."""
        self.meter.note(name, len(render_value(value)))
        if name in RECALLING:
            self.repeats.note(render_value(value))

    def _open_log(self) -> RLMLogger | None:
        """The log of this attempt; its first line says what the run was given."""
        if self.spec.log_dir is None:
            return None
        extra = {
            "run_id": self.run.run_id,
            "trajectory_id": self.trajectory.trajectory_id,
            "ontology_name": self.run.ontology_name,
            "ontology_path": self.run.ontology_path,
            "memory_k": self.spec.recall_k,
            "memories": self.recalled.ids,
            "packs": sorted({p.name for p in self.store.packs() if p.rolled_back_at is None}),
        }
        folder = Path(self.spec.log_dir).expanduser()
        logger = RLMLogger(folder, scrub=lambda text: scrub(text)[0], extra=extra)
        self.trajectory.rlm_log_path = str(logger.path.resolve())
        return logger

    def drop_log(self) -> None:
        """Remove the log of a run that never began."""
        if self.trajectory.rlm_log_path:
            Path(self.trajectory.rlm_log_path).unlink(missing_ok=True)

    def ask(self, on_step: OnStep | None) -> None:
        """Run the loop. What it raises is passed on; what there is by then is kept all the same."""
        seen = list[RLMIteration]()

        def step(turn: RLMIteration) -> None:
            turn.attempt = self.number
            seen.append(turn)
            if on_step is not None:
                on_step(turn)

        box = self.toolbox()
        spec = replace(
            self.spec,
            client=self.models.root,
            sub_client=self.models.sub,
            limits=self.spec.limits_over(ontology=self.graph is not None),
            tools=box.functions,
            untimed=box.untimed,
            guidance=self.guidance,
            on_step=step,
            check_answer=self._doubt if self.speaks else None,
            remark=self._remark if self.speaks else None,
            trace=self.trace,
        )
        self.log = self._open_log()
        try:
            self.result = LoopRun(
                self.query, self.context, spec, self.handles, self.meter, logger=self.log
            ).complete()
        except BaseException as exc:
            reason = f"failed: {type(exc).__name__}: {exc}"[:500]
            self.result = RLMResult("", seen, reason=reason, leakage=self.meter.report())
            self.judgment = judge_trajectory(self.artifact())  # it did not converge
            raise
        finally:
            self._read_handles()
            replies = (turn.response for turn in self.result.iterations)
            said = uses_in(replies, self.recalled.numbered_ids)
            self.recalled, self.uses = self.recalled.take_named(said)
            if self.uses.unknown:
                LOG.warning(
                    "its prompt has no memory %s that it cites", ", ".join(self.uses.unknown)
                )
            self._log_verdict()

    # -- judging

    def judge(self) -> None:
        """The verdict: what can be checked first, then the model where one is asked."""
        if self.spec.verify is not None and self.graph is not None and self.result.converged:
            self.verdict = check_answer(
                self.result.answer, self.spec.verify, self.graph.engine, self.graph.meta, self.query
            )
        self.judgment = judge_trajectory(
            self.artifact(),
            client=self.judge_client(),
            evidence=self.evidence(),
            grounding=self._find_ungrounded(self.result),
            verdict=self.verdict,
            usage=self.result.usage,
        )
        self._log_verdict()

    def _log_verdict(self) -> None:
        if self.log is not None and (verdict := self._describe_verdict()):
            self.log.log_judgment(**verdict)
            self.log.close()

    def _describe_verdict(self) -> dict[str, Any]:
        """What logs keep of the verdict; {} before there is one."""
        said = self.judgment
        if said is None:
            return {}
        verdict = {"is_success": said.is_success, "confidence": said.confidence}
        return {**verdict, "reason": said.reason, "unknown_uses": list(self.uses.unknown)}

    def evidence(self) -> Evidence:
        """What judge and extractor see; made once, after the loop has ended."""
        if self._evidence is None:
            rules = self.rules()
            comments = (said.partition(": ")[2] for said in rules.get("comments", ()))
            self._evidence = Evidence.of_run(
                self.query,
                self.result.answer,
                self.result.iterations,
                self.trace.calls,
                not_found=self._find_unseen(self.result),
                more=rules,
                known=[*self.repeats.texts, *comments],
            )
        return self._evidence

    def rules(self) -> dict[str, list[str]]:
        """What an answer may rest on beside its steps: what the graph says of the terms that were
        queried, of the classes at both ends of a property and of what stands above; and the lessons
        that the model says it used."""
        found: dict[str, list[str]] = {}
        used = followed_of(self.recalled.ids, self.uses)
        if lessons := [item for item in self.recalled.injected if item.memory_id in used]:
            found["recalled"] = [f"{each.description}\n{each.content}" for each in lessons[:3]]
        if self.graph is not None:
            said = comments_of(self.trace.calls, self.graph.meta)[:MOST_COMMENTS]
            found |= {"comments": [f"{name}: {text}" for name, text in said]} if said else {}
        return found

    def _doubt(self, result: RLMResult) -> str:
        """What the model is told before its answer is taken; '' when all of it was seen."""
        self._read_handles()
        return describe_doubt([*self._find_ungrounded(result), *self._find_unseen(result)])

    def _remark(self, turn: RLMIteration) -> list[str]:
        """What a turn's output leaves unsaid of its queries."""
        self._read_handles()
        return self.remarks.of_turn(turn)

    @property
    def speaks(self) -> bool:
        """Whether the run's model is a language model: only then it is asked for opinions."""
        return is_language_model(self.models.root)

    def judge_client(self) -> Client | None:
        """Who is asked for an opinion: the run's own model, unless it has none or ended early."""
        ended_early = self.result.error is not None or not self.result.converged
        return self.models.root if self.speaks and not ended_early else None

    def _find_ungrounded(self, result: RLMResult) -> list[str]:
        """The IRIs of the answer that nothing shows."""
        blocks = [block for turn in result.iterations for block in turn.code_blocks]
        return find_ungrounded(
            result.answer,
            [*(block.result.stdout for block in blocks), *self.meter.seen[1:]],  # but the card
            {} if self.graph is None else self.graph.meta.prefixes,
            self.trace if self.trace.calls else None,
            question=self.query,
            code=[block.code for block in blocks],
            engine=None if self.graph is None else self.graph.engine,
            bare=self.bare,
            results=self._result_texts(),
            looked=bool(self.meter.report()["by_tool"]),
        )

    def _find_unseen(self, result: RLMResult) -> list[str]:
        """The numbers and quotations of the answer that nothing shows."""
        blocks = [block for turn in result.iterations for block in turn.code_blocks]
        texts = [
            *(block.result.stdout for block in blocks),
            *(call.response for block in blocks for call in block.sub_calls),
            *self._result_texts(),
            *self.remarks.told,
        ]
        seen = set[str]().union(*map(numbers_in, texts))
        for block in blocks:  # rows that were printed may be counted by eye, without their heading
            lines = sum(bool(line.strip()) for line in block.result.stdout.splitlines())
            seen |= {str(lines), str(max(0, lines - 1))}
        for call in self.trace.calls:
            seen |= call.numbers | ({str(call.rows)} if call.rows is not None else set())
        keys = [
            key for key in list(self.handles.keys()) if self.handles.ref(key).dtype == "context"
        ]
        given = map(self.handles.text, keys)
        # A number that the model has not written itself came out of its code.
        written = set[str]().union(*(numbers_in(turn.response) for turn in result.iterations))
        seen |= numbers_in(result.answer) - written
        return [
            *find_unseen_numbers(result.answer, seen, self.query),
            *(f"“{quote}”" for quote in find_unseen_quotes(result.answer, chain(texts, given))),
        ]

    def _result_texts(self) -> list[str]:
        """The rows behind the handles of this run's queries."""
        keys = {call.key for call in self.trace.calls if call.tool == "sparql_query"} - {""}
        return [self.handles.text(key) for key in sorted(keys) if key in self.handles]

    def _read_handles(self) -> None:
        """Complete the trace: a call that returned a handle has the rows behind it."""
        self.trace.calls = [with_rows(call, self.handles) for call in self.trace.calls]

    @property
    def kind(self) -> str:
        """The kind of task: what the caller said, else what the decisive calls are for."""
        if self.spec.task_types:
            return self.spec.task_types[0]
        return self._reading().kind.name

    def _reading(self) -> CallReading:
        prefixes = None if self.graph is None else self.graph.meta.prefixes
        answer = self.result.answer
        query, certain = self.patterns.behind(answer)
        behind = query if certain and self.speaks else ""
        return CallReading(self.trace.calls, self.query, answer, prefixes=prefixes, behind=behind)

    def calls(self) -> list[dict[str, Any]]:
        """What was asked of the ontology, the decisive calls marked; the last ones of very many.
        Made once, after the loop has ended."""
        if self._calls is None:
            self._calls = [] if self.graph is None else self._record_calls(self.graph)
        return self._calls

    def _record_calls(self, graph: Graph) -> list[dict[str, Any]]:
        reading = self._reading()
        names = partial(resolve, graph.engine, graph.meta)
        recorder = CallRecorder(graph.engine, graph.meta.prefixes, names, answer=self.result.answer)
        unanswered = is_unanswered(self.result.answer) or not self.result.converged
        decisive = [] if unanswered else [step.call for step in reading.decisive_steps]
        chosen = [step.call for step in reading.steps]
        kept = {id(call) for call in (*chosen[-SHOWN_CALLS:], *decisive)}
        return [
            recorder.record(
                call, self._query_text(call), decisive=any(call is each for each in decisive)
            )
            for call in chosen
            if id(call) in kept
        ]

    def _query_text(self, call: ToolCall) -> str:
        """The whole text of a query; with its limit where that cut the rows."""
        if call.tool != "sparql_query":
            return ""
        about = self.handles.about(self.handles.ref(call.key)) if call.key in self.handles else {}
        text = str(about.get("query") or call.args.get("query") or "")
        if about.get("more") and call.rows:
            with suppress(RLMError):
                return enforce_limit(text, call.rows)
        return text

    @property
    def is_judged(self) -> bool:
        """Whether there is a verdict to learn from."""
        return self.judgment is not None and self.judgment.is_success is not None

    @property
    def succeeded(self) -> bool:
        return self.judgment is not None and bool(self.judgment.is_success)

    # -- what is kept

    def artifact(self) -> dict[str, Any]:
        """What happened, in short; made once, after the loop has ended."""
        result = self.result
        if self._artifact is None:
            self._artifact = extract_trajectory_artifact(
                self.query,
                result.answer,
                result.iterations,
                result.ns,
                converged=result.converged,
                trace=self.trace,
                reason=result.reason,
            )
        return self._artifact

    def record(self, others: Sequence[str] = ()) -> Trajectory:
        """The trajectory as it is stored. `others` are further attempts of the same run."""
        result, made, task = self.result, self.trajectory, self.spec.task
        made.final_answer, made.iteration_count = result.answer, len(result.iterations)
        made.converged = result.converged
        made.artifact = {
            **self.artifact(),
            "refused": [*map(describe_refusal, filter(is_refusal, result.iterations))],
            "kind": self.kind or None,
            "injected": self.recalled.ids,
            "preview": self.recalled.preview(),
            "uses": {
                "followed": list(self.uses.followed),
                "abandoned": list(self.uses.abandoned),
                "said": self.uses.said or not self.speaks,
            },
            "judgment": self._describe_verdict(),
            "calls": self.calls(),
            "leakage": result.leakage,
            "usage": result.usage.to_dict(),
            "submitted": result.submitted,
        }
        if self.graph is not None and self.spec.enable_extraction:
            made.artifact["terms"] = terms_of(self.trace.calls, self.graph.meta)
        if task is not None:
            made.artifact |= {
                "curriculum_id": task.curriculum_id,
                "task_id": task.task_id,
                "task_hash": task.content,
            }
        if others:
            made.artifact["attempts"] = list(others)
        return made
