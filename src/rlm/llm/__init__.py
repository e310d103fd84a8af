"""Language models: one protocol, and what stands behind it.

OpenAI-compatible servers, Anthropic, `scripted` for tests, `offline` for none, and cassettes that
record any of them. `open_client` goes from a name to a client. The clients over HTTP are imported
when they are first needed.
"""

from rlm.llm.cassette import RecordingClient, ReplayClient
from rlm.llm.open import language_refusal, open_client
from rlm.llm.scripted import ScriptedClient
from rlm.llm.types import (
    OFFLINE_UNANSWERED,
    Client,
    Message,
    Reply,
    Usage,
    is_language_model,
)

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
    "language_refusal",
    "open_client",
]
