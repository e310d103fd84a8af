"""What a run may use, and what it has used: turns, sub-calls and recursive runs share one count."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rlm.errors import ConfigError, LimitExceeded
from rlm.llm import Client, Message, Reply, Usage

LEAST_TIMEOUT_S = 0.001


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use, sub-calls and recursion included. None means no limit."""

    max_iters: int = 30
    wall_s: float | None = None
    max_tokens: int | None = None
    """Input and output tokens of every model call together."""
    max_cost_usd: float | None = None
    """Holds only where the model's price is known."""
    max_errors: int = 5
    """Turns in a row in which nothing worked."""
    max_output_chars: int = 20_000
    """What the model is shown of one block's output."""
    max_depth: int = 1
    """How deep `rlm_query` may recurse; the run itself is at depth 0."""
    max_blocks: int = 50
    """Code blocks of one reply that are run."""
    batch_workers: int = 8
    max_llm_calls: int = 500
    """Every model call: turns, sub-calls and the turns of recursive runs."""

    def __post_init__(self) -> None:
        for name in (
            "max_iters",
            "max_errors",
            "max_output_chars",
            "max_blocks",
            "batch_workers",
            "max_llm_calls",
        ):
            _check(name, getattr(self, name), least=1)
        _check("max_depth", self.max_depth, least=0)
        for name in ("wall_s", "max_tokens", "max_cost_usd"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(
                    f"{name} is {value!r}: give a number above 0, or None for no limit"
                )


def _check(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} is {value!r}: give a whole number of at least {least}")


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
