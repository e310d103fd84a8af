"""Language models: one protocol, and what stands behind it.

OpenAI-compatible servers, Anthropic, `scripted` for tests, `offline` for none, and cassettes that
record any of them. `open_client` goes from a name to a client. Every client is imported when it is
first needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names
from rlm.llm.open import offline_forms, open_client
from rlm.llm.types import (
    OFFLINE_UNANSWERED,
    Client,
    Message,
    Reply,
    Usage,
    is_language_model,
    is_unanswered,
)

if TYPE_CHECKING:
    from rlm.llm.cassette import RecordingClient, ReplayClient
    from rlm.llm.scripted import ScriptedClient

__getattr__ = lazy_names(
    __name__, {"cassette": ("RecordingClient", "ReplayClient"), "scripted": ("ScriptedClient",)}
)[0]

__all__ = [
    "OFFLINE_UNANSWERED",
    "Client",
    "Message",
    "RecordingClient",
    "ReplayClient",
    "Reply",
    "ScriptedClient",
    "Usage",
    "is_language_model",
    "is_unanswered",
    "offline_forms",
    "open_client",
]
