"""A model that gives the replies it was made with: for tests, demonstrations and examples."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from rlm.errors import ModelError
from rlm.llm.types import (
    SCRIPTED,
    Message,
    Reply,
    copy_messages,
    estimate_prompt,
    estimate_tokens,
)

Scripted = str | Exception | Callable[[list[Message]], str]


class ScriptedClient:
    """Gives `replies` in order: a text, an exception to raise, or a function of the messages.

    `calls` holds the messages of every call. Safe to share between threads; with several at once,
    who gets which reply is up to the scheduler, so give functions then.

    >>> client = ScriptedClient(["Hello.", lambda messages: messages[-1]["content"].upper()])
    >>> client.complete([{"role": "user", "content": "hi"}]).text
    'Hello.'
    >>> client.complete([{"role": "user", "content": "hi"}]).text
    'HI'
    """

    def __init__(
        self,
        replies: Sequence[Scripted],
        *,
        model: str = SCRIPTED,
        repeat_last: bool = False,
        is_language_model: bool = False,
    ) -> None:
        if isinstance(replies, str):
            raise TypeError("replies is one text: give a list of replies")
        self.model, self.is_language_model = model, is_language_model
        self.calls: list[list[Message]] = []
        self._replies, self._repeat_last = list(replies), repeat_last
        self._lock = threading.Lock()

    def complete(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        json_schema: dict[str, Any] | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """The next reply. Raises ModelError when there is none left."""
        sent = copy_messages(messages)
        with self._lock:
            self.calls.append(sent)
            number, known = len(self.calls), len(self._replies)
        if number > known and not (self._repeat_last and known):
            raise ModelError(
                f"the script of {self.model!r} is at its end: it has {known} replies and this is"
                f" call {number}. Add a reply, or pass repeat_last=True"
            )
        found = self._replies[min(number, known) - 1]
        if isinstance(found, Exception):
            raise found
        text = found if isinstance(found, str) else found([dict(message) for message in sent])
        return Reply(
            text,
            self.model,
            estimate_prompt(sent),
            estimate_tokens(text),
            0.0,
            "stop",
            0.0,
            estimated=True,
        )

    def close(self) -> None:
        """Nothing is held."""

    def __repr__(self) -> str:
        return f"ScriptedClient({len(self._replies)} replies, {len(self.calls)} calls)"
