"""What distilling may cost in a day: calls, tokens and money, counted in the store before and after
each call, so that a worker that is killed again and again cannot spend without end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rlm.config import Settings
from rlm.errors import LimitExceeded
from rlm.llm import Client, Message, Reply
from rlm.llm.types import is_language_model
from rlm.store.backend import MemoryBackend
from rlm.store.types import Job


@dataclass(frozen=True, slots=True)
class Caps:
    """The most of a day (UTC)."""

    calls: float = 100
    tokens: float = 1_000_000
    cost_usd: float = 1.0

    @classmethod
    def of(cls, settings: Settings) -> Caps:
        """The caps that are set."""
        return cls(settings.distill_calls, settings.distill_tokens, settings.distill_cost_usd)


class CappedClient:
    """A client that counts every call for a job, and refuses one above a cap."""

    def __init__(self, client: Client, store: MemoryBackend, job: Job, caps: Caps) -> None:
        self._client, self._store, self._job, self._caps = client, store, job, caps
        self.model, self.is_language_model = client.model, is_language_model(client)

    def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        """One answer. LimitExceeded when a cap of today is reached; then nothing was asked."""
        spent = self._store.spent_today()
        for name in ("calls", "tokens", "cost_usd"):
            most = getattr(self._caps, name)
            if spent[name] >= most:
                raise LimitExceeded(
                    f"distilling has used {spent[name]:,g} of {most:,g} {name} today: raise"
                    f" RLM_DISTILL_{name.upper()}, or wait until tomorrow (UTC)"
                )
        self._store.spend_job(self._job, calls=1)
        reply = self._client.complete(messages, **options)
        tokens = reply.input_tokens + reply.output_tokens
        self._store.spend_job(self._job, tokens=tokens, cost_usd=reply.cost_usd or 0.0)
        return reply

    def close(self) -> None:
        """The client belongs to who made it."""
