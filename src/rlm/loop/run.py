"""The loop: a model writes code, the sealed REPL runs it, the model reads what was printed, until
it answers.

A run is a generator of turns (`LoopRun.steps`); `rlm_run` runs it to its end. Ctrl-C ends it too,
and the result says so. The loop knows nothing of memory or stores: it is given guidance, tools and
callbacks. Of an ontology it knows whether its tools are there, which decides the prompt.

Blame decides what happens to a fault: what the model does wrong (no code, code that fails, a
variable that is not there) is reported to it, and the loop goes on; a limit or an unreachable model
ends the run with what there is; a fault of ours raises.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rlm.errors import ConfigError, LimitExceeded, ModelAuthError, ModelError, RLMError
from rlm.handles import Meter, Ref, Store, View
from rlm.llm import Client
from rlm.loop.parse import Final, Parsed, clean, parse_reply
from rlm.loop.prompts import (
    LAST_CALL,
    NO_CODE,
    QUESTION_CHARS,
    History,
    describe_tools,
    first_message,
    system_prompt,
    turn_message,
)
from rlm.loop.queries import Budget, Queries
from rlm.loop.session import ReplSession
from rlm.loop.types import INTERRUPTED, CodeBlock, Limits, LoopSpec, RLMIteration, RLMResult
from rlm.loop.values import Context, as_text, place_context

if TYPE_CHECKING:
    from rlm.loop.logger import RLMLogger


def rlm_run(
    query: str,
    context: Context,
    ns: Mapping[str, Any] | None = None,
    *,
    client: Client,
    max_iters: int | None = None,
    **choices: Any,
) -> RLMResult:
    """Answer a question over a context of any length.

    The context goes behind handles; no prompt holds it. `ns` are further variables of the REPL.
    `max_iters` (30) goes before the one in `limits`. `choices` are the other fields of `LoopSpec`,
    and `store`, `meter` and `logger` to use in place of new ones. A run that ends without an answer
    of the model's own has `converged=False` and a `reason`; that is no error. Raises ModelAuthError
    when the very first call is refused, and SandboxError when there is no REPL to be had. What
    `on_step` raises is passed on.
    """
    with _open_run(query, context, ns, client=client, max_iters=max_iters, **choices) as run:
        return run.complete()


@contextmanager
def _open_run(
    query: str,
    context: Context,
    ns: Mapping[str, Any] | None,
    *,
    store: Store | None = None,
    meter: Meter | None = None,
    logger: RLMLogger | None = None,
    **choices: Any,
) -> Iterator[LoopRun]:
    """A run; handles that were not given are closed with it."""
    spec = LoopSpec(ns=ns or {}, **choices)
    with ExitStack() as stack:
        handles = stack.enter_context(Store()) if store is None else store
        yield LoopRun(query, context, spec, handles, meter or Meter(), logger=logger)


class LoopRun:
    """One run and its state. `steps` may be gone through once."""

    def __init__(
        self,
        query: str,
        context: Context,
        spec: LoopSpec,
        handles: Store,
        meter: Meter,
        *,
        logger: RLMLogger | None = None,
        budget: Budget | None = None,
        depth: int = 0,
    ) -> None:
        root = spec.client
        if root is None or not callable(getattr(root, "complete", None)):
            raise ConfigError(f"client is a {type(root).__name__}: make one with open_client(NAME)")
        self.spec, self.handles, self.meter, self.depth = spec, handles, meter, depth
        limits = spec.limits or Limits()
        iters = limits.max_iters if spec.max_iters is None else spec.max_iters
        self.limits = replace(limits, max_iters=iters)
        self.query, self.logger = clean(query), logger
        self.helper = spec.sub_client or root
        self.client = self.helper if depth else root
        self.budget = budget or Budget(self.limits, cache_queries=spec.cache_queries)
        self.context, self.card = place_context(handles, context)
        has_text = "sparql_query" not in spec.tools or self._has_text()
        system = self._system(has_text=has_text)
        self.history = History(system, first_message(self.query, self.card, has_text=has_text))
        self.result = RLMResult("", usage=self.budget.usage)
        self.session: ReplSession | None = None
        self._current: RLMIteration | None = None
        self._partial = ""
        self._errors = 0
        self._checked = False
        self._finished = False
        if depth == 0 and meter.context_size is None:
            # What the run was told beforehand, where nobody has counted it. Our own instructions,
            # the same for every question, are no context.
            standing = 0 if spec.system_prompt is not None else len(system) - len(spec.guidance)
            meter.context_size = self.history.head_chars - standing

    def _has_text(self) -> bool:
        """Whether there is a text beside an ontology: its card, which the prompt has, is none."""
        if not isinstance(self.context, Ref | View):
            return True
        fits = self.handles.size(self.context) <= len(self.spec.guidance)
        return not fits or self.handles.text(self.context) not in self.spec.guidance

    def _system(self, *, has_text: bool) -> str:
        spec, guidance = self.spec, self.spec.guidance
        if spec.system_prompt is not None:
            return clean(spec.system_prompt)
        if spec.engine == "monty":
            from rlm.sandbox.monty_prelude import MONTY_NOTE

            guidance = "\n\n".join(part for part in (MONTY_NOTE, guidance) if part)
        return system_prompt(
            self.limits,
            tools_text=describe_tools(spec.tools) if spec.tools_text is None else spec.tools_text,
            guidance=guidance,
            has_ontology="sparql_query" in spec.tools,
            has_text=has_text,
        )

    # -- the turns

    def complete(self) -> RLMResult:
        """Run to the end. Ctrl-C ends it with what there is; what a callback raises is raised."""
        with closing(self.steps()) as steps:
            try:
                for iteration in steps:
                    if self.spec.on_step is not None:
                        self.spec.on_step(iteration)
            except KeyboardInterrupt:  # in the callback: the turns see to their own
                if self.session is None:  # it has not begun
                    raise
                self.stop(INTERRUPTED)
            except BaseException as exc:
                self.stop(f"failed: {type(exc).__name__}")
                self.finish()
                raise
        return self.finish()

    def steps(self) -> Generator[RLMIteration, None, None]:
        """Every turn as it is done. Afterwards the result is what `finish` gives."""
        try:
            with self._session() as session:
                self.session = session
                self._log_metadata(session.engine)
                yield from self._turns(session)
                self.result.ns = session.namespace()
        except KeyboardInterrupt:
            if self.depth or self.session is None:
                raise  # the run that asked ends; one whose REPL was not there yet has not begun
            self._keep_current()
            self.stop(INTERRUPTED)
            self.result.ns = dict(self.session.descriptions)
        except RLMError as exc:
            self.stop(f"failed: {exc}")
            self.finish()
            raise

    def _session(self) -> ReplSession:
        queries = Queries(
            self.handles,
            self.budget,
            self.helper,
            meter=self.meter,
            recurse=self.deeper if self.depth < self.limits.max_depth else None,
            context=self.context,
        )
        long = len(self.query) > QUESTION_CHARS
        question = self.handles.put(self.query, "question") if long else self.query
        return ReplSession(
            self.spec, self.handles, queries, {"context": self.context, "question": question}
        )

    def _turns(self, session: ReplSession) -> Generator[RLMIteration, None, None]:
        for number in range(1, self.limits.max_iters + 1):
            if reason := self.budget.spent():
                self.stop(reason)
                return
            iteration = self._turn(session, number)
            if iteration is None:
                return
            self._keep_current()
            yield iteration
            if self.result.reason:
                return
        self.stop(f"ran out of iterations: {self.limits.max_iters} without an answer (max_iters)")
        self._ask_for_the_answer(session)

    def _turn(self, session: ReplSession, number: int) -> RLMIteration | None:
        """Ask the model and run its code; None when the model could not be asked."""
        begun, prompt = time.monotonic(), self.history.messages()
        try:
            reply = self.budget.ask(self.client, prompt)
        except LimitExceeded as exc:
            self.stop(str(exc))
            return None
        except ModelError as exc:
            if isinstance(exc, ModelAuthError) and number == 1 and self.depth == 0:
                raise
            self.result.error = exc
            self.stop(self.budget.spent() or f"the model failed: {exc}")
            return None
        parsed = parse_reply(reply.text, max_blocks=self.limits.max_blocks)
        if reply.stop_reason == "length":
            parsed.notes.append(
                "The reply was cut off at the model's own limit. Write less in one turn."
            )
        iteration = self._current = RLMIteration(
            number, prompt, clean(reply.text), notes=parsed.notes
        )
        try:
            answer = self._run_blocks(session, parsed, iteration)
            if answer is None and parsed.final is not None:
                answer = self._from_text(session, parsed.final, iteration)
            if answer is not None and self._is_doubted(answer, iteration):
                session.reopen()
                answer = self.result.submitted = None
            if answer is not None:
                iteration.final_answer = answer
                self.result.answer, self.result.converged = answer, True
                self.stop(f"answered in turn {number}")
            else:
                self._go_on(session, parsed, iteration)
        finally:
            iteration.iteration_time = time.monotonic() - begun
        return iteration

    def _run_blocks(
        self, session: ReplSession, parsed: Parsed, iteration: RLMIteration
    ) -> str | None:
        """Run the code; the answer, if it gave one. What comes after that is not run."""
        for number, block in enumerate(parsed.blocks, 1):
            if self.spec.trace is not None and not self.depth:
                self.spec.trace.block += 1
            result = session.run(block.code, deadline=self.budget.deadline)
            iteration.code_blocks.append(
                CodeBlock(block.code, result, session.queries.take_calls())
            )
            answer = session.answer(block.code, iteration.notes)
            if answer is not None:
                self.result.submitted = session.submitted
                return answer
            if self.budget.spent() and number < len(parsed.blocks):
                iteration.notes.append(
                    f"A limit was reached: {len(parsed.blocks) - number} blocks were not run."
                )
                break
        return None

    def _from_text(self, session: ReplSession, final: Final, iteration: RLMIteration) -> str | None:
        if final.is_variable:
            return session.variable(final.value, iteration.notes)
        return as_text(self.handles, final.value)

    def _is_doubted(self, answer: str, iteration: RLMIteration) -> bool:
        """Whether the model is asked, once, to look at its answer again."""
        check = self.spec.check_answer
        last = iteration.number >= self.limits.max_iters or self.budget.spent() is not None
        if check is None or self.depth or self._checked or last:
            return False
        self._checked = True
        so_far = replace(
            self.result, answer=answer, iterations=[*self.result.iterations, iteration]
        )
        doubt = check(so_far)
        if doubt:
            iteration.notes.append(doubt)
            self._partial = answer
        return bool(doubt)

    def _go_on(self, session: ReplSession, parsed: Parsed, iteration: RLMIteration) -> None:
        """Tell the model what came of its reply, and count the turns in which nothing worked."""
        blocks = iteration.code_blocks
        if not blocks and parsed.final is None:
            iteration.notes.append(NO_CODE)
            self._partial = iteration.response.strip()
        if self.spec.remark is not None and not self.depth:
            iteration.notes += self.spec.remark(iteration)
        worked = any(block.result.error is None for block in blocks)
        self._errors = 0 if worked else self._errors + 1
        message = turn_message(
            blocks, iteration.notes, session.made, turn=iteration.number + 1, limits=self.limits
        )
        self.history.add(iteration.response, message)
        if self._errors >= self.limits.max_errors:
            self.stop(
                f"{self._errors} turns in a row had no code that worked and no answer (max_errors)"
            )

    def _ask_for_the_answer(self, session: ReplSession) -> None:
        """The last call, when the turns have run out. The run has not converged by it."""
        if self.budget.spent():
            return
        begun, prompt = time.monotonic(), self.history.messages(last=LAST_CALL)
        try:
            reply = self.budget.ask(self.client, prompt)
        except (LimitExceeded, ModelError) as exc:
            self.result.reason += f"; the last call failed: {exc}"
            return
        parsed = parse_reply(reply.text)
        last = RLMIteration(
            self.limits.max_iters + 1, prompt, clean(reply.text), notes=parsed.notes
        )
        answer = None if parsed.final is None else self._from_text(session, parsed.final, last)
        if answer is None and not parsed.blocks:  # words, no code: as good as an answer
            answer = last.response.strip()
        last.final_answer, self.result.answer = answer, answer or ""
        last.iteration_time = time.monotonic() - begun
        self.result.last_call = last
        if self.logger is not None:
            self.logger.log(last, last_call=True)

    # -- recursion

    def deeper(self, question: str, context: Context) -> str:
        """Answer a question over a context one level down, within the same budget."""
        spec, depth = replace(self.spec, ns={}), self.depth + 1
        child = LoopRun(
            question, context, spec, self.handles, self.meter, budget=self.budget, depth=depth
        )
        for _ in child.steps():  # not `complete`: Ctrl-C ends the whole run
            pass
        result = child.finish()
        if result.converged:
            return result.answer
        return f"[note] the helper did not finish: {result.reason}\n{result.answer}".strip()

    # -- the end

    def stop(self, reason: str) -> None:
        """Why the run ends; the first reason stays."""
        self.result.reason = self.result.reason or reason

    def finish(self) -> RLMResult:
        """The result. Calling it twice is fine."""
        result = self.result
        if not self._finished:
            self._finished = True
            if not result.converged and not result.answer.strip():
                content = self.session.partial() if self.session is not None else ""
                result.answer = content or self._partial
            result.leakage = self.meter.report()
            if self.logger is not None:
                self.logger.log_end(result)
        return result

    def _keep_current(self) -> None:
        """Put the turn into the trajectory, whole or as far as it came."""
        iteration, self._current = self._current, None
        if iteration is not None:
            self.result.iterations.append(iteration)
            if self.logger is not None:
                self.logger.log(iteration)

    def _log_metadata(self, engine: str) -> None:
        if self.logger is not None:
            self.logger.log_metadata(
                root_model=self.client.model,
                max_iterations=self.limits.max_iters,
                query=self.query,
                context_size=self.card.chars,
                max_depth=self.limits.max_depth,
                backend=None,
                backend_kwargs={},
                environment_type=engine,
                environment_kwargs={},
                other_backends=[self.helper.model] if self.spec.sub_client else None,
            )
