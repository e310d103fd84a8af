"""A request for JSON about a run: by schema, once more when the reply cannot be read.

A model's window holds the prompt and the reply. Some servers refuse a request for more tokens than
are left, others cut the reply. What is refused as too long is asked again with an extract of the
data and room for a short reply.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rlm.errors import ModelError
from rlm.llm import Client, Message, Usage
from rlm.store.sanitize import clean_text

REPLY_TOKENS = 4_000
"""Room for models that think before they answer; what they answer is bounded by its schema."""
EXTRACT, FEW_TOKENS = 0.3, 600
"""The share of the data and the length of the reply where all is too much for a model."""
REPLY_CHARS = 1_000
CUT = "it was cut off before its end: write less"

_TOO_LONG = re.compile(
    r"context.{0,20}(?:length|window|size)|max(?:_completion)?_tokens|prompt is too long",
    re.IGNORECASE,
)

_OBJECT = re.compile(r"\{\s*[\"}]")
_DECODER = json.JSONDecoder(strict=False)  # line ends inside of a text are no fault

T = TypeVar("T")
Build = Callable[[float], list[Message]]


def object_schema(**properties: Any) -> dict[str, Any]:
    """The JSON schema of an object that has just these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def ask_json(
    client: Client,
    build: Build,
    read: Callable[[str], T],
    *,
    schema: dict[str, Any],
    temperature: float,
    repair: str,
    usage: Usage | None = None,
) -> T:
    """What `read` makes of a reply to the prompt that `build` makes with a share of the data.
    `read` raises ValueError; `repair` tells the model, with `{problem}` in it. Raises RLMError when
    the model cannot be asked, ValueError when two replies could not be read."""

    def twice(share: float, tokens: int) -> T:
        messages = build(share)
        for is_last in (False, True):
            reply = client.complete(
                messages, max_tokens=tokens, temperature=temperature, json_schema=schema
            )
            if usage is not None:
                usage.add(reply)
            try:
                return read(reply.text)
            except ValueError as exc:
                problem = CUT if reply.stop_reason == "length" else str(exc)
                if is_last:
                    raise ValueError(problem) from None
                messages = _repair(messages, reply.text, repair.format(problem=problem))
        raise AssertionError("unreachable")

    try:
        return twice(1.0, REPLY_TOKENS)
    except ModelError as exc:
        if not _is_too_long(exc):
            raise
    return twice(EXTRACT, FEW_TOKENS)


def parse_json(text: str) -> Any:
    """The JSON object of a reply, whatever words or fence are around it. Raises ValueError with
    what is wrong, also where there are two: one of them may be a quotation."""
    start = _OBJECT.search(text)
    try:
        found, end = _DECODER.raw_decode(text[start.start() if start else 0 :].strip())
    except (ValueError, RecursionError):
        raise ValueError("it is no JSON" if text.strip() else "it is empty") from None
    if start and _OBJECT.search(text, start.start() + end):
        raise ValueError("it has more than one JSON object")
    return found


def _is_too_long(exc: ModelError) -> bool:
    """Whether a server refused a request for its length; what may pass by waiting is no such."""
    return type(exc) is ModelError and _TOO_LONG.search(str(exc)) is not None


def _repair(before: Sequence[Message], reply: str, request: str) -> list[Message]:
    """The same prompt, what was replied, and what was wrong with it."""
    said = clean_text(reply)[:REPLY_CHARS] or "(empty)"
    return [*before, {"role": "assistant", "content": said}, {"role": "user", "content": request}]
