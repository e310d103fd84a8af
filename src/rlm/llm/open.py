"""From a name to a client.

    openai/NAME        OpenAI, or the OpenAI-compatible server at RLM_BASE_URL where one is set
    anthropic/NAME     Anthropic
    NAME               with RLM_BASE_URL set: that server; the name may have slashes in it
    offline            no language model: a deterministic planner
    scripted:FILE      replies read from a JSON list or from JSON lines

Without a name: RLM_MODEL, else a small model of the provider whose key is found, else offline. A
provider's own key (OPENAI_API_KEY, ANTHROPIC_API_KEY) is sent to that provider only;
the server at RLM_BASE_URL gets RLM_API_KEY. So `openai/anthropic/claude-…` with RLM_BASE_URL names
a model of that server.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlm import config
from rlm.errors import ConfigError, ModelAuthError
from rlm.llm.types import OFFLINE, SCRIPTED, Client
from rlm.urls import same_host

if TYPE_CHECKING:
    from rlm.llm.chat import Wire

DEFAULT_OPENAI_MODEL = "gpt-6-luna"
DEFAULT_ANTHROPIC_MODEL = "claude-haiku-5-5"
KNOWN = "openai/NAME, anthropic/NAME, NAME (with RLM_BASE_URL set), scripted:FILE, offline"


def open_client(
    spec: str | None = None, *, settings: config.Settings | None = None, base_url: str | None = None
) -> Client:
    """The client that `spec` names. `base_url` beats RLM_BASE_URL, for `anthropic/…` too. Raises
    ConfigError for a name that means nothing, ModelAuthError when its key is missing."""
    settings = settings or config.load()
    named = (spec or settings.model or _default_model(settings, base_url)).strip()
    provider, slash, name = named.partition("/")
    if named == OFFLINE:
        from rlm.llm.offline.client import OfflineClient

        return OfflineClient()
    if named.partition(":")[0] == SCRIPTED:
        return _open_scripted(named)
    if slash and (opened := {"openai": _openai, "anthropic": _anthropic}.get(provider)):
        if not name:
            raise ConfigError(f"{named!r} names no model: write {provider}/NAME")
        return opened(name, settings, base_url)
    if base_url or settings.base_url:
        return _openai(named, settings, base_url)
    if slash:
        raise ConfigError(
            f"{provider!r} in the model {named!r} is not a known provider. Known: {KNOWN}"
        )
    raise ConfigError(
        f"the model {named!r} names no provider, and RLM_BASE_URL is not set: write openai/{named}"
        f" or anthropic/{named}, or set RLM_BASE_URL to its server. Known: {KNOWN}"
    )


def _default_model(settings: config.Settings, base_url: str | None) -> str:
    """The model to use when none is named."""
    if base_url or settings.base_url:
        raise ConfigError(
            "RLM_BASE_URL names a server but not which of its models: set RLM_MODEL, or give"
            " --model"
        )
    if settings.anthropic_api_key:
        return f"anthropic/{DEFAULT_ANTHROPIC_MODEL}"
    if settings.openai_api_key:
        return f"openai/{DEFAULT_OPENAI_MODEL}"
    return OFFLINE


def offline_forms() -> list[tuple[str, str]]:
    """The forms of question that `offline` knows: what each is called, and an example."""
    from rlm.llm.offline.client import examples

    return examples()


def _openai(name: str, settings: config.Settings, base_url: str | None) -> Client:
    from rlm.llm.openai import OPENAI_URL, OpenAIClient

    url = base_url or settings.base_url or OPENAI_URL
    key, key_name = settings.api_key, "RLM_API_KEY"
    if same_host(url, OPENAI_URL):
        own, own_name = settings.openai_api_key, "OPENAI_API_KEY"
        key, key_name = _own_key(settings, own, own_name, f"openai/{name}", OPENAI_URL)
    return OpenAIClient(name, base_url=url, key=key, key_name=key_name, wire=_wire(settings))


def _anthropic(name: str, settings: config.Settings, base_url: str | None) -> Client:
    from rlm.llm.anthropic import ANTHROPIC_URL, AnthropicClient

    url = base_url or ANTHROPIC_URL  # RLM_BASE_URL is of a server that speaks the other protocol
    key, key_name = settings.api_key, "RLM_API_KEY"
    if same_host(url, ANTHROPIC_URL):
        own, own_name = settings.anthropic_api_key, "ANTHROPIC_API_KEY"
        key, key_name = _own_key(settings, own, own_name, f"anthropic/{name}", ANTHROPIC_URL)
    return AnthropicClient(name, base_url=url, key=key, key_name=key_name, wire=_wire(settings))


def _wire(settings: config.Settings) -> Wire:
    from rlm.llm.chat import Wire

    if not settings.model_timeout_s > 0:
        raise ConfigError(
            f"model_timeout_s is {settings.model_timeout_s:g}: give a number of seconds above 0"
        )
    return Wire(timeout_s=settings.model_timeout_s)


def _own_key(
    settings: config.Settings, own: str, own_name: str, spec: str, url: str
) -> tuple[str, str]:
    """The key for a provider's own server; RLM_API_KEY is that of RLM_BASE_URL, if set."""
    if own:
        return own, own_name
    if settings.api_key and (not settings.base_url or same_host(settings.base_url, url)):
        return settings.api_key, "RLM_API_KEY"
    raise ModelAuthError(
        f"the model {spec} needs a key: set {own_name}, or RLM_BASE_URL for a server of your own, "
        "or do without a model: --model offline"
    )


def _open_scripted(named: str) -> Client:
    path = named.partition(":")[2]
    if not path:
        raise ConfigError(
            "scripted needs its replies: write scripted:FILE, a file with a JSON list of texts"
        )
    try:
        text = Path(path).expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"the script {path} cannot be read: {exc}") from exc
    from rlm.llm.scripted import ScriptedClient

    return ScriptedClient(_replies(text, path))


def _replies(text: str, path: str) -> list[Any]:
    """The texts of a JSON list, or of JSON lines."""
    try:
        found = json.loads(text)
        found = found if isinstance(found, list) else [found]
    except (ValueError, RecursionError):
        lines = enumerate(text.splitlines(), 1)
        found = [_reply(line, f"{path}:{number}") for number, line in lines if line.strip()]
    for number, reply in enumerate(found, 1):
        if not isinstance(reply, str):
            raise ConfigError(f"{path}: reply {number} is {type(reply).__name__}, not text")
    if not found:
        raise ConfigError(f"{path} holds no reply: write a JSON list of texts")
    return found


def _reply(line: str, place: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as exc:
        problem = f"{place}: neither a JSON list nor a line of JSON ({exc})"
        raise ConfigError(problem) from exc
