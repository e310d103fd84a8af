"""How models are asked: the budget of a run, and the functions by which code in the REPL asks:
`llm_query`, `llm_query_batched` and `rlm_query`.

They run on the host. A prompt may hold marks of handles; the passages are put in their place here,
so that a sub-model reads what neither the sandbox nor the main model's prompt ever holds. Every
call goes through the run's budget, and an equal `llm_query` is asked once in a run.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from hashlib import sha256
from typing import Any

from rlm.errors import LimitExceeded, RLMError
from rlm.handles import Meter, Ref, Store, View, expand, mark
from rlm.llm import Client, Message, Reply, Usage
from rlm.loop.parse import clean
from rlm.loop.types import Limits, SubCall
from rlm.loop.values import Context, as_text

PROMPT_CHARS = 1_000_000
"""What a sub-call may read of passages, in characters."""
ERROR = "[error] "
LEAST_TIMEOUT_S = 0.001

Recurse = Callable[[str, Context], str]
"""Runs a question over a context one level deeper and gives its answer."""


NOTED_CHARS = 20_000
"""What the trajectory keeps of a prompt and of its answer."""
NOTED_CALLS = 1_000
"""Calls of one block that the trajectory keeps."""


class Budget:
    """Every model call of a run goes through `ask`. Safe to share between threads.

    Calls are counted when they begin, so that a batch cannot start more than are left. Tokens and
    cost are known when a call ends: those that were under way then may exceed the limit by what
    they cost.
    """

    def __init__(self, limits: Limits, *, cache_queries: bool = True) -> None:
        self.limits = limits
        self.answers = AnswerCache() if cache_queries else None
        """What sub-models answered in this run, its recursive runs included."""
        self.usage = Usage()
        self.deadline = None if limits.wall_s is None else time.monotonic() + limits.wall_s
        self._begun = 0
        self._lock = threading.Lock()

    def spent(self) -> str | None:
        """Which limit is reached, in words; None when there is something left."""
        limits, cost = self.limits, self.usage.cost_usd
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return f"ran out of time: the limit is {limits.wall_s:g} s (wall_s)"
        if limits.max_tokens is not None and self.usage.total_tokens >= limits.max_tokens:
            return (
                f"ran out of tokens: {self.usage.total_tokens:,} used, the limit is"
                f" {limits.max_tokens:,} (max_tokens)"
            )
        if limits.max_cost_usd is not None and cost is not None and cost >= limits.max_cost_usd:
            return (
                f"ran out of money: ${cost:.4f} spent, the limit is ${limits.max_cost_usd:g}"
                " (max_cost_usd)"
            )
        if self._begun >= limits.max_llm_calls:
            return f"ran out of model calls: the limit is {limits.max_llm_calls} (max_llm_calls)"
        return None

    def ask(self, client: Client, messages: Sequence[Message]) -> Reply:
        """One model call. Raises LimitExceeded before it, or what the client raises."""
        with self._lock:
            if reason := self.spent():
                raise LimitExceeded(reason)
            self._begun += 1
        reply = client.complete(messages, timeout_s=self.left_s())
        self.usage.add(reply)
        return reply

    def left_s(self) -> float | None:
        """The seconds that are left, never 0; None without a limit."""
        return (
            None
            if self.deadline is None
            else max(LEAST_TIMEOUT_S, self.deadline - time.monotonic())
        )


class AnswerCache:
    """The answer of every prompt that a sub-model was sent, for as long as the run lasts. Threads
    that ask the same at the same time share one call, and its error too; but no error is kept, so
    that whoever asks again later is served. Prompts are kept as hashes: a passage may be long."""

    def __init__(self) -> None:
        self._answers: dict[bytes, Future[Reply]] = {}
        self._lock = threading.Lock()

    def get(self, model: str, prompt: str, ask: Callable[[], Reply]) -> tuple[Reply, bool]:
        """The reply, and whether it was there already. Raises what `ask` raises."""
        key = sha256(f"{model}\0{prompt}".encode()).digest()
        with self._lock:
            known = self._answers.get(key)
            if known is None:
                mine = self._answers[key] = Future()
        if known is not None:
            return known.result(), True
        try:
            reply = ask()
        except BaseException as exc:
            with self._lock:
                del self._answers[key]
            mine.set_exception(exc)
            raise
        mine.set_result(reply)
        return reply, False


class Queries:
    """What one run's REPL is given to ask models with."""

    def __init__(
        self,
        store: Store,
        budget: Budget,
        client: Client,
        *,
        meter: Meter,
        recurse: Recurse | None,
        context: Any,
    ) -> None:
        """`recurse` is None at the deepest level; `context` is the default of `rlm_query`."""
        self._store, self._budget, self._client = store, budget, client
        self.meter, self._recurse = meter, recurse
        self._context = context
        self._lock = threading.Lock()
        self._calls: list[SubCall] = []

    def take_calls(self) -> list[SubCall]:
        """The calls since the last time, in the order in which they ended."""
        with self._lock:
            calls, self._calls = self._calls, []
        return calls

    def llm_query(self, prompt: str, model: str | None = None) -> str:
        """Ask a language model; it sees this prompt and nothing else."""
        return self._ask(self._prompt(prompt, "llm_query"), model)

    def llm_query_batched(self, prompts: Sequence[str], model: str | None = None) -> list[str]:
        """Ask many prompts at once; answers come in order, a failed one as `[error] …`."""
        if isinstance(prompts, str | Ref | View) or not isinstance(prompts, list | tuple):
            raise TypeError(
                f"llm_query_batched takes a list of prompts, not {type(prompts).__name__}"
            )
        self._check_model(model)
        return _in_parallel(
            lambda prompt: self._ask(self._prompt(prompt, "the prompt"), model),
            prompts,
            self._budget.limits.batch_workers,
        )

    def rlm_query(self, question: str, context: Any = None) -> str:
        """A helper with its own REPL answers a question over a part of the text, or all of it."""
        asked = self._prompt(question, "rlm_query")
        about = self._context if context is None else context
        if self._recurse is None:
            return self._without_recursion(asked, about)
        if reason := self._budget.spent():
            raise LimitExceeded(reason)
        begun = time.monotonic()
        answer = self._recurse(self._expand(asked), about)
        self._note(
            SubCall(
                "rlm_query",
                self._client.model,
                asked[:NOTED_CHARS],
                answer[:NOTED_CHARS],
                seconds=time.monotonic() - begun,
            )
        )
        return answer

    def _without_recursion(self, question: str, context: Any) -> str:
        """At the deepest level: one plain call, over as much of the context as a prompt holds."""
        text = as_text(self._store, context, limit=PROMPT_CHARS // 2)
        answer = self._ask(f"{self._expand(question)}\n\nText:\n{text}", None, shown=question)
        return (
            f"[note] rlm_query is at its deepest level here; a single llm_query answered.\n{answer}"
        )

    def _ask(self, prompt: str, model: str | None, *, shown: str | None = None) -> str:
        self._check_model(model)
        reply: Reply | None = None
        error: str | None = None
        cached = False
        begun = time.monotonic()
        try:
            text = clean(self._expand(prompt)) if shown is None else clean(prompt)
            reply, cached = self._complete(text)
            return clean(reply.text)
        except RLMError as exc:
            error = str(exc)
            raise
        finally:
            spent = reply if reply and not cached else None
            self._note(
                SubCall(
                    "llm_query",
                    reply.model if reply else self._client.model,
                    (shown or prompt)[:NOTED_CHARS],
                    clean(reply.text)[:NOTED_CHARS] if reply else "",
                    spent.input_tokens if spent else 0,
                    spent.output_tokens if spent else 0,
                    spent.seconds if spent else time.monotonic() - begun,
                    error,
                    remembered=cached,
                )
            )

    def _complete(self, text: str) -> tuple[Reply, bool]:
        """The reply, and whether it had been given before."""

        def ask() -> Reply:
            return self._budget.ask(self._client, [{"role": "user", "content": text}])

        answers = self._budget.answers
        return (ask(), False) if answers is None else answers.get(self._client.model, text, ask)

    def _expand(self, prompt: str) -> str:
        return expand(self._store, prompt, max_chars=PROMPT_CHARS)

    def _prompt(self, prompt: object, what: str) -> str:
        """A prompt as text; a bare handle is the passage that it names, still as a mark."""
        if isinstance(prompt, Ref):
            prompt = View(prompt.key, 0, self._store.size(prompt))
        if isinstance(prompt, View):
            return mark(self._store, prompt)
        if not isinstance(prompt, str):
            raise TypeError(
                f"{what} must be text, not {type(prompt).__name__}: make an f-string of it"
            )
        if not prompt.strip():
            raise ValueError(f"{what} is empty: write what the model should do")
        return prompt

    def _check_model(self, model: str | None) -> None:
        if model is not None and (not isinstance(model, str) or len(model.split()) > 1):
            raise ValueError(
                "llm_query takes one prompt, and the passage belongs into it:"
                ' llm_query(f"{question}\\n{passage}")'
            )
        if model is not None and model != self._client.model:
            raise ValueError(
                f"there is no model {model!r:.60} here, only {self._client.model!r}: leave `model`"
                " out"
            )

    def _note(self, call: SubCall) -> None:
        self.meter.note(call.kind, len(call.response), to_prompt=False, text=call.response)
        with self._lock:
            if len(self._calls) < NOTED_CALLS:
                self._calls.append(call)


def _in_parallel(
    ask: Callable[[object], str], prompts: Sequence[object], workers: int
) -> list[str]:
    """Every prompt's answer, in order. Ctrl-C leaves at once: daemon threads end with the process.
    concurrent.futures would be shorter, but it joins its threads at exit, and a server that hangs
    would then hold the terminal of someone who wanted out."""
    answers: list[str] = [""] * len(prompts)
    faults: list[BaseException] = []
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(prompts)):
        todo.put(number)

    def work() -> None:
        while not faults:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                answers[number] = ask(prompts[number])
            except (RLMError, TypeError, ValueError) as exc:  # the last two: an invalid prompt
                answers[number] = f"{ERROR}{exc}"
            except BaseException as exc:  # ours or a client's: raised in the caller's thread
                faults.append(exc)

    threads = [
        threading.Thread(target=work, daemon=True) for _ in range(min(workers, len(prompts)))
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as exc:
        faults.append(exc)  # the workers take nothing more up
        raise
    if faults:
        raise faults[0]
    return answers
