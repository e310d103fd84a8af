"""What the clients over HTTP share: send, adapt after a refusal, read, count tokens, price.

`openai` and `anthropic` say how a question is written and an answer read; everything else is here.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeVar

from rlm.errors import ModelError
from rlm.http import ExchangeFailed, Retry
from rlm.llm import schema
from rlm.llm.prices import PRICES, Price, cost_usd
from rlm.llm.server import MAX_REPLY_BYTES, TIMEOUT_S, ModelServer
from rlm.llm.types import Message, Reply, copy_messages, estimate_prompt, estimate_tokens
from rlm.urls import same_host


class RequestFormat(Protocol):
    """Which fields and options a server accepts; adapted to its refusals, kept by the client."""

    def adapt(self, status: int, said: str, body: Mapping[str, Any]) -> Self | None:
        """The form to try after a refusal; None when the refusal is about something else."""


F = TypeVar("F", bound=RequestFormat)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `schema` is always of an object."""

    messages: list[Message]
    max_tokens: int | None
    temperature: float | None
    schema: schema.Schema | None


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """What was read from one. Tokens and cost are None where the server did not say."""

    text: str
    stop_reason: str
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Wire:
    """How a client reaches its server."""

    timeout_s: float = TIMEOUT_S
    retry: Retry = field(default_factory=Retry)
    max_reply_bytes: int = MAX_REPLY_BYTES


class ChatClient(ABC, Generic[F]):
    """A model behind one HTTP address. Safe to share between threads. Prices are known for the
    provider's own server only (`home`); elsewhere the cost is what the server says it is, or what
    `prices` says, or None."""

    path: str
    home: str
    is_language_model = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str,
        headers: Mapping[str, str],
        key: str,
        key_name: str,
        wire: Wire | None,
        prices: Mapping[str, Price] | None,
        form: F,
    ) -> None:
        wire = wire or Wire()
        self.model = model
        self._server = ModelServer(
            base_url,
            model=model,
            headers=headers,
            key=key,
            key_name=key_name,
            retry=wire.retry,
            max_reply_bytes=wire.max_reply_bytes,
        )
        self._prices = prices if prices is not None else (PRICES if self.at_home() else {})
        self._form: F = form
        self._timeout_s = wire.timeout_s

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        json_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """One answer. `timeout_s` bounds all of it, retries included."""
        started = time.perf_counter()
        deadline = self._server.retry.deadline(self._timeout_s if timeout_s is None else timeout_s)
        wanted, wrapped = (None, False) if json_schema is None else schema.as_object(json_schema)
        ask = Question(copy_messages(messages), max_tokens, temperature, wanted)
        found, form = None, self._form
        while found is None:
            body, tried = self._body(ask, form), form

            def adapt(
                status: int, said: str, body: dict[str, Any] = body, tried: F = tried
            ) -> bool:
                nonlocal form
                form = tried.adapt(status, said, body) or tried
                return form is not tried

            found = self._server.post(self.path, body, deadline=deadline, adapt=adapt)
        self._form = form
        answer = self._read(found)
        text = schema.unwrap(clean(answer.text), wrapped=wrapped)
        return self._reply(found, ask, answer, text, time.perf_counter() - started)

    def at_home(self) -> bool:
        """Whether this is the provider's own server."""
        return same_host(self._server.url, self.home)

    def close(self) -> None:
        self._server.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model!r}, base_url={self._server.url!r})"

    @abstractmethod
    def _body(self, ask: Question, form: F) -> dict[str, Any]:
        """The question as this protocol writes it."""

    @abstractmethod
    def _read(self, found: Mapping[str, Any]) -> ChatAnswer:
        """The answer as this protocol writes it. Raises `self._bad(…)` for what it is not."""

    def _bad(self, problem: str) -> ModelError:
        return self._server.error(ExchangeFailed(problem))

    def _reply(
        self, found: Mapping[str, Any], ask: Question, answer: ChatAnswer, text: str, seconds: float
    ) -> Reply:
        tokens_in, tokens_out, cost = answer.input_tokens, answer.output_tokens, answer.cost_usd
        estimated = tokens_in is None or tokens_out is None
        tokens_in = estimate_prompt(ask.messages) if tokens_in is None else tokens_in
        tokens_out = estimate_tokens(text) if tokens_out is None else tokens_out
        if cost is None:
            cost = cost_usd(self.model, tokens_in, tokens_out, self._prices)
        named = found.get("model")
        return Reply(
            text=text,
            model=named if isinstance(named, str) and named else self.model,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_usd=cost,
            stop_reason=answer.stop_reason,
            seconds=seconds,
            estimated=estimated,
        )


def count_of(usage: Any, name: str) -> int | None:
    """A token count, or None when the server gave none that can be believed."""
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def clean(text: str) -> str:
    """JSON can smuggle in lone surrogates, which no file and no terminal takes."""
    return text.encode("utf-8", "replace").decode()


def sketch(found: Mapping[str, Any]) -> str:
    """The keys of an answer, for a message about one that cannot be read."""
    return f"an object with {', '.join(sorted(map(str, found)))[:200] or 'nothing in it'}"
