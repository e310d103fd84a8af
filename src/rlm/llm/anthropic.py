"""Anthropic's Messages API.

It differs from chat completions in what it accepts as a conversation: the system prompt stands
apart, turns alternate and begin and end with the user's, and no turn is empty. JSON is asked for by
making the model call a tool whose input is the answer; models that cannot be made to (those that
always think) get the schema as an output format instead, and where that is refused, in the prompt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rlm.llm import schema
from rlm.llm.chat import ChatAnswer, ChatClient, Question, Wire, count_of, sketch
from rlm.llm.prices import Price
from rlm.llm.types import Message
from rlm.urls import checked_key

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
MAX_TOKENS = 16_000
"""Anthropic wants a limit in every request; thinking counts against it."""

WAYS = ("a forced tool call", "an output format", "words")
"""How JSON is asked for, in this order."""

TOOL = "answer"
CONTINUE = "Continue."
STOPS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


@dataclass(frozen=True, slots=True)
class AnthropicFormat:
    """How this model wants to be asked. `way` is a place in `WAYS`."""

    temperature: bool = True
    way: int = 0

    def adapt(self, status: int, said: str, body: Mapping[str, Any]) -> AnthropicFormat | None:
        if status >= 500:
            return None
        if "temperature" in body and "temperature" in said:
            return replace(self, temperature=False)
        refused = ("tools" in body and re.search(r"tool", said, re.I)) or (
            "output_config" in body and re.search(r"output_config|output_format|schema", said, re.I)
        )
        return replace(self, way=self.way + 1) if refused else None


class AnthropicClient(ChatClient[AnthropicFormat]):
    """A model behind `POST {base_url}/v1/messages`. Safe to share between threads."""

    path = "/v1/messages"
    home = ANTHROPIC_URL

    def __init__(
        self,
        model: str,
        *,
        base_url: str = ANTHROPIC_URL,
        key: str | None = None,
        key_name: str = "ANTHROPIC_API_KEY",
        wire: Wire | None = None,
        prices: Mapping[str, Price] | None = None,
    ) -> None:
        """Raises ConfigError for a URL or key that cannot be sent."""
        secret = checked_key(key, key_name)
        super().__init__(
            model,
            base_url=base_url.rstrip("/").removesuffix("/v1"),
            headers={"anthropic-version": VERSION, **({"x-api-key": secret} if secret else {})},
            key=secret,
            key_name=key_name,
            wire=wire,
            prices=prices,
            form=AnthropicFormat(),
        )

    def _body(self, ask: Question, form: AnthropicFormat) -> dict[str, Any]:
        system, turns = conversation(ask.messages)
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": ask.max_tokens or MAX_TOKENS,
            "messages": turns,
        }
        if ask.temperature is not None and form.temperature:
            body["temperature"] = ask.temperature
        if ask.schema is not None and form.way == 0:
            tool = {"name": TOOL, "description": "Give the answer.", "input_schema": ask.schema}
            body["tools"] = [tool]
            body["tool_choice"] = {"type": "tool", "name": TOOL}
        elif ask.schema is not None and form.way == 1:
            wanted = schema.close_objects(schema.without_limits(ask.schema))
            body["output_config"] = {"format": {"type": "json_schema", "schema": wanted}}
        elif ask.schema is not None:
            system = f"{system}\n\n{schema.instruction(ask.schema)}".strip()
        if system:
            body["system"] = system
        return body

    def _read(self, found: Mapping[str, Any]) -> ChatAnswer:
        blocks, stop, usage = found.get("content"), found.get("stop_reason"), found.get("usage")
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise self._bad(f"answered without content: {sketch(found)}")
        calls = [block for block in blocks if block.get("type") == "tool_use"]
        called = next((block for block in calls if block.get("name") == TOOL), None)
        if called is not None:
            text = json.dumps(called.get("input"), ensure_ascii=False)
        else:
            texts = [block.get("text") for block in blocks if block.get("type") == "text"]
            text = "".join(str(part or "") for part in texts)
        tokens_in = count_of(usage, "input_tokens")
        if tokens_in is not None:  # what was read from or written to the prompt cache came in too
            cached = ("cache_creation_input_tokens", "cache_read_input_tokens")
            tokens_in += sum(count_of(usage, name) or 0 for name in cached)
        reason = STOPS.get(stop, stop) if isinstance(stop, str) else "stop"
        return ChatAnswer(text, reason, tokens_in, count_of(usage, "output_tokens"))


def conversation(sent: Sequence[Message]) -> tuple[str, list[Message]]:
    """The system prompt, and alternating turns, none empty, the user's first and last. A system
    message after the first turn joins the system prompt and loses its place."""
    systems = [message["content"] for message in sent if message["role"] == "system"]
    system = "\n\n".join(text for text in systems if text.strip())
    turns: list[Message] = []
    for message in sent:
        role, text = message["role"], message["content"]
        if role == "system" or not text.strip():
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1] = {"role": role, "content": f"{turns[-1]['content']}\n\n{text}"}
        else:
            turns.append({"role": role, "content": text})
    if not turns or turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": CONTINUE})
    if turns[-1]["role"] != "user":
        turns.append({"role": "user", "content": CONTINUE})
    return system, turns
