"""OpenAI's chat completions, as OpenAI, Ollama, vLLM, llama.cpp and many others serve them.

The servers agree on the shape and differ in the details: what the token limit is called, whether
they take a temperature, and how they are asked for JSON. A server that refuses one of these is
asked again in the next way, and what was learnt holds for the life of the client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rlm.llm import schema
from rlm.llm.chat import ChatAnswer, ChatClient, Question, Wire, count_of, sketch
from rlm.llm.prices import Price
from rlm.llm.types import Message
from rlm.urls import checked_key, same_host

OPENAI_URL = "https://api.openai.com/v1"

WAYS = ("json_schema", "json_object with a schema", "json_object", "words")
"""How JSON is asked for, best first. The second is llama-cpp-python's, the last the prompt."""

STOPS = {"length": "length", "content_filter": "refusal", "tool_calls": "stop", "": "stop"}

_UNSUPPORTED = re.compile(
    r"support|unrecognized|unknown|unexpected|deprecat|not (allowed|permitted)|extra", re.I
)


@dataclass(frozen=True, slots=True)
class OpenAIFormat:
    """How this server wants to be asked. `way` is a place in `WAYS`."""

    tokens_field: str = "max_tokens"
    swapped: bool = False
    temperature: bool = True
    way: int = 0
    limits: bool = True
    """Whether a schema may say how long a text or a list may be."""

    def adapt(self, status: int, said: str, body: Mapping[str, Any]) -> OpenAIFormat | None:
        # llama-cpp-python answers 500 where it means 400.
        if "response_format" in body and self.limits and re.search("|".join(schema.LIMITS), said):
            return replace(self, limits=False)
        if "response_format" in body and re.search(
            r"response_format|json_schema|json_object|schema", said
        ):
            return replace(self, way=self.way + 1)
        if status >= 500 or not _UNSUPPORTED.search(said):
            return None
        if "temperature" in body and "temperature" in said:
            return replace(self, temperature=False)
        if self.tokens_field in body and self.tokens_field in said and not self.swapped:
            names = {"max_tokens", "max_completion_tokens"}
            (other,) = names - {self.tokens_field}
            return replace(self, tokens_field=other, swapped=True)
        return None


class OpenAIClient(ChatClient[OpenAIFormat]):
    """A model behind `POST {base_url}/chat/completions`. Safe to share between threads."""

    path = "/chat/completions"
    home = OPENAI_URL

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI_URL,
        key: str | None = None,
        key_name: str = "RLM_API_KEY",
        wire: Wire | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        """Raises ConfigError for a URL or key that cannot be sent."""
        secret = checked_key(key, key_name)
        own = same_host(base_url, OPENAI_URL)
        super().__init__(
            model,
            base_url=base_url,
            headers={"Authorization": f"Bearer {secret}"} if secret else {},
            key=secret,
            key_name=key_name,
            wire=wire,
            prices=prices,
            # OpenAI's newer models refuse the old name, all of them know the new one; its strict
            # mode refuses limits.
            form=OpenAIFormat("max_completion_tokens" if own else "max_tokens", limits=not own),
        )

    def _body(self, ask: Question, form: OpenAIFormat) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "messages": ask.messages}
        if ask.max_tokens is not None:
            body[form.tokens_field] = ask.max_tokens
        if ask.temperature is not None and form.temperature:
            body["temperature"] = ask.temperature
        if ask.schema is None:
            return body
        if form.way == 0:
            wanted = ask.schema if form.limits else schema.without_limits(ask.schema)
            named = {"name": "answer", "schema": wanted, "strict": schema.is_strict(wanted)}
            return {**body, "response_format": {"type": "json_schema", "json_schema": named}}
        if form.way == 1:
            body["response_format"] = {"type": "json_object", "schema": ask.schema}
        elif form.way == 2:
            body["response_format"] = {"type": "json_object"}
        instruction = schema.instruction(ask.schema)
        return {**body, "messages": add_instruction(ask.messages, instruction)}

    def _read(self, found: Mapping[str, Any]) -> ChatAnswer:
        try:
            choice = found["choices"][0]
            message, stop = choice["message"], choice.get("finish_reason")
            content, refusal = message.get("content"), message.get("refusal")
        except (LookupError, TypeError, AttributeError) as exc:
            raise self._bad(f"answered without a message: {sketch(found)}") from exc
        stop = STOPS.get(stop, stop) if isinstance(stop, str) else "stop"
        if isinstance(content, list):
            content = "".join(_part(part) for part in content)
        if content is not None and not isinstance(content, str):
            kind = type(content).__name__
            raise self._bad(f"answered a message whose content is {kind}, not text")
        if not content and isinstance(refusal, str) and refusal:
            content, stop = refusal, "refusal"
        usage = found.get("usage")
        tokens_in, tokens_out = (
            count_of(usage, f"{name}_tokens") for name in ("prompt", "completion")
        )
        # A reasoning model that ran out of tokens while it thought gives null: an empty answer.
        return ChatAnswer(content or "", stop, tokens_in, tokens_out, _cost(usage))


def _cost(usage: Any) -> float | None:
    """What the server says that it charged, as OpenRouter does."""
    cost = usage.get("cost") if isinstance(usage, dict) else None
    known = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < 1e9
    return float(cost) if known else None  # type: ignore[arg-type]


def _part(part: Any) -> str:
    """The text in a part of a content list; thoughts, images and calls have none."""
    if isinstance(part, str):
        return part
    if isinstance(part, dict) and part.get("type", "text") in ("text", "output_text"):
        text = part.get("text")
        return text if isinstance(text, str) else ""
    return ""


def add_instruction(sent: list[Message], words: str) -> list[Message]:
    """The messages with an instruction added to the system prompt."""
    if sent[0]["role"] == "system":
        return [{"role": "system", "content": f"{sent[0]['content']}\n\n{words}"}, *sent[1:]]
    return [{"role": "system", "content": words}, *sent]
