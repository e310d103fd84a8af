"""What a language model is to rlm: messages in, one reply out, and a count of what it cost.

A message is a plain dict of role and content, so that a prompt can be logged, hashed and compared
as it is. Nothing here knows a provider.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rlm.errors import ModelError

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": text}`."""

ROLES = ("system", "user", "assistant")
CHARS_PER_TOKEN = 4
COUNTED = ("calls", "input_tokens", "output_tokens", "unpriced_calls", "estimated_calls")

OFFLINE, SCRIPTED = "offline", "scripted"
"""The names of the clients that are not language models."""
OFFLINE_UNANSWERED = "Not answered:"
"""How `offline` begins what it says when it cannot answer, and nothing else that it says."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model answered. `cost_usd` is None for an unknown price. `stop_reason` is
    `stop`, `length` (cut at the token limit), `refusal`, or the server's own word. `estimated`: the
    server counted no tokens, so they were taken as one per four characters."""

    text: str
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    stop_reason: str
    seconds: float
    estimated: bool = False


class Client(Protocol):
    """A client of a model. `complete` may be called from several threads at once."""

    model: str
    is_language_model: bool
    """False for `offline` and for scripts: their words are not the judgement of a model."""

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        json_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """One answer. Raises ModelError or one of its children, and nothing foreign."""

    def close(self) -> None:
        """Let go of connections and files. Calling it twice is fine."""


def is_language_model(client: Client) -> bool:
    """Whether a client's words are those of a language model; one that does not say is one."""
    return bool(getattr(client, "is_language_model", True))


def is_unanswered(answer: str) -> bool:
    """Whether this is the text that a client gives when it could not answer."""
    return answer.lstrip().startswith(OFFLINE_UNANSWERED)


class Usage:
    """Calls, tokens and cost, added up. Safe to share between threads. `cost_usd` is the sum of
    what is known: None when calls were made and none had a price. `unpriced_calls` says how many
    are missing from it, `estimated_calls` how many were not counted by the server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.calls = self.input_tokens = self.output_tokens = 0
        self.unpriced_calls = self.estimated_calls = 0
        self._known_usd = 0.0

    def add(self, reply: Reply) -> None:
        with self._lock:
            self.calls += 1
            self.input_tokens += reply.input_tokens
            self.output_tokens += reply.output_tokens
            self.unpriced_calls += reply.cost_usd is None
            self.estimated_calls += reply.estimated
            self._known_usd += reply.cost_usd or 0.0

    def include(self, other: Usage) -> None:
        """Count what another run used as well."""
        used = other.to_dict()
        with self._lock:
            for name in COUNTED:
                setattr(self, name, getattr(self, name) + used[name])
            self._known_usd += used["cost_usd"] or 0.0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def cost_usd(self) -> float | None:
        unknown = self.calls and self.unpriced_calls == self.calls
        return None if unknown else self._known_usd

    def to_dict(self) -> dict[str, Any]:
        """All counts of one moment."""
        with self._lock:
            return {
                "calls": self.calls,
                "input_tokens": self.input_tokens,
                "output_tokens": self.output_tokens,
                "cost_usd": self.cost_usd,
                "unpriced_calls": self.unpriced_calls,
                "estimated_calls": self.estimated_calls,
            }

    def __repr__(self) -> str:
        return f"Usage({', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has: one per four characters, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def estimate_prompt(messages: Sequence[Message]) -> int:
    """The same for a whole prompt."""
    return sum(estimate_tokens(message["content"]) for message in messages)


def copy_messages(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """A copy of the messages with role and content only. ModelError for anything else."""
    if not messages:
        raise ModelError("a model was called without a message: give at least one")
    found = []
    for number, message in enumerate(messages, 1):
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            known = ", ".join(ROLES)
            raise ModelError(f"message {number} has the role {role!r}: use one of {known}")
        if not isinstance(content, str):
            raise ModelError(f"message {number} ({role}) holds {type(content).__name__}, not text")
        found.append({"role": role, "content": content})
    return found
