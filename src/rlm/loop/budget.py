"""What a run has used of what it may use: one count for its turns, its sub-calls and its recursive
runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from rlm.errors import LimitExceeded
from rlm.llm import Client, Message, Reply, Usage
from rlm.loop.types import Limits

LEAST_TIMEOUT_S = 0.001


class Budget:
    """Every model call of a run goes through `ask`. Safe to share between threads.

    Calls are counted when they begin, so that a batch cannot start more than are left. Tokens and
    cost are known when a call ends: those that were under way then may exceed the limit by what
    they cost.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
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
        """One model call within what is left. Raises LimitExceeded before it, or what the client
        raises."""
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
