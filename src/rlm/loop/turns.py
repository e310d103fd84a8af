"""One run, turn by turn: ask the model, run its code, tell it what came of it.

Blame decides what happens to a fault: what the model does wrong (no code, code that fails, a
variable that is not there) it is told, and the loop goes on; a limit or a model that cannot be
reached ends the run with what there is; a fault of ours raises.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from typing import Any

from rlm.errors import LimitExceeded, ModelAuthError, ModelError, RLMError
from rlm.loop.budget import Budget
from rlm.loop.final import Final, clean
from rlm.loop.history import History
from rlm.loop.logger import RLMLogger
from rlm.loop.parse import Parsed, parse_reply
from rlm.loop.prompts import (
    LAST_CALL,
    NO_CODE,
    QUESTION_CHARS,
    describe_tools,
    first_message,
    system_prompt,
    turn_message,
)
from rlm.loop.queries import Queries
from rlm.loop.session import Session
from rlm.loop.setup import Setup
from rlm.loop.types import INTERRUPTED, CodeBlock, RLMIteration, RLMResult
from rlm.loop.values import Context, as_text, place_context


class Run:
    """One run and its state. `steps` may be gone through once."""

    def __init__(
        self,
        query: str,
        context: Context,
        ns: Mapping[str, Any],
        setup: Setup,
        *,
        logger: RLMLogger | None = None,
        budget: Budget | None = None,
        depth: int = 0,
    ) -> None:
        self.setup, self.limits, self.depth = setup, setup.limits, depth
        self.query, self.logger = clean(query), logger
        self.client = (setup.sub_client or setup.client) if depth else setup.client
        self.budget = budget or Budget(setup.limits)
        self.context, self.card = place_context(setup.store, context)
        self.ns = dict(ns)
        self.history = History(self._system(), first_message(self.query, self.card))
        self.result = RLMResult("", usage=self.budget.usage)
        self.session: Session | None = None
        self._current: RLMIteration | None = None
        self._partial = ""
        self._errors = 0
        self._finished = False
        if depth == 0 and not setup.meter.context_size:
            # What the run was told beforehand, where nobody has counted it: the list of tools is no
            # context.
            setup.meter.context_size = self.history.head_chars - len(self._tools_text())

    def _system(self) -> str:
        if self.setup.system_prompt is not None:
            return clean(self.setup.system_prompt)
        return system_prompt(
            self.limits,
            tools_text=self._tools_text(),
            guidance="\n\n".join(
                part for part in (self._engine_note(), self.setup.guidance) if part
            ),
        )

    def _tools_text(self) -> str:
        text = self.setup.tools_text
        return describe_tools(self.setup.tools) if text is None else text

    def _engine_note(self) -> str:
        """What a model should know of the engine that it was told to use."""
        if self.setup.engine != "monty":
            return ""
        from rlm.sandbox.monty_prelude import MONTY_NOTE

        return MONTY_NOTE

    # -- the turns
    # ---------------------------------------------------------------------------------------

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
            if self.session is not None:
                self.result.ns = self.session.described()
        except RLMError as exc:
            self.stop(f"failed: {exc}")
            self.finish()
            raise

    def _session(self) -> Session:
        setup = self.setup
        queries = Queries(
            setup.store,
            self.budget,
            setup.sub_client or setup.client,
            meter=setup.meter,
            recurse=self.deeper if self.depth < self.limits.max_depth else None,
            context=self.context,
        )
        return Session(
            setup, queries, {"context": self.context, "question": self._question()}, self.ns
        )

    def _question(self) -> Any:
        """The question as the REPL gets it: text, or a handle when it is long."""
        return (
            self.query
            if len(self.query) <= QUESTION_CHARS
            else self.setup.store.put(self.query, "question")
        )

    def _turns(self, session: Session) -> Generator[RLMIteration, None, None]:
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

    def _turn(self, session: Session, number: int) -> RLMIteration | None:
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
            if answer is not None:
                iteration.final_answer = answer
                self.result.answer, self.result.converged = answer, True
                self.stop(f"answered in turn {number}")
            else:
                self._go_on(session, parsed, iteration)
        finally:
            iteration.iteration_time = time.monotonic() - begun
        return iteration

    def _run_blocks(self, session: Session, parsed: Parsed, iteration: RLMIteration) -> str | None:
        """Run the code; the answer, if it gave one. What comes after that is not run."""
        for number, block in enumerate(parsed.blocks, 1):
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

    def _from_text(self, session: Session, final: Final, iteration: RLMIteration) -> str | None:
        if final.is_variable:
            return session.variable(final.value, iteration.notes)
        return as_text(self.setup.store, final.value)

    def _go_on(self, session: Session, parsed: Parsed, iteration: RLMIteration) -> None:
        """Tell the model what came of its reply, and count the turns in which nothing worked."""
        blocks = iteration.code_blocks
        if not blocks and parsed.final is None:
            iteration.notes.append(NO_CODE)
            self._partial = iteration.response.strip()
        worked = any(block.result.error is None for block in blocks)
        self._errors = 0 if worked else self._errors + 1
        told = turn_message(
            blocks, iteration.notes, session.names, turn=iteration.number + 1, limits=self.limits
        )
        self.history.add(iteration.response, told)
        if self._errors >= self.limits.max_errors:
            self.stop(
                f"{self._errors} turns in a row had no code that worked and no answer (max_errors)"
            )

    def _ask_for_the_answer(self, session: Session) -> None:
        """The last call, when the turns have run out. What it says is kept; the run has not
        converged by it."""
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
    # ---------------------------------------------------------------------------------------

    def deeper(self, question: str, context: Context) -> str:
        """Answer a question over a context one level down, within the same budget."""
        child = Run(question, context, {}, self.setup, budget=self.budget, depth=self.depth + 1)
        for _ in child.steps():
            pass
        result = child.finish()
        if result.converged:
            return result.answer
        return f"[note] the helper did not finish: {result.reason}\n{result.answer}".strip()

    # -- the end
    # -----------------------------------------------------------------------------------------

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
            result.leakage = self.setup.meter.report()
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
                other_backends=[self.setup.sub_client.model]
                if self.setup.sub_client is not None
                else None,
            )
