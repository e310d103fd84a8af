"""A model server on the loopback, and an environment without keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_server import KEY, ModelServer, Naps

from rlm.llm.anthropic import AnthropicClient
from rlm.llm.chat import Wire
from rlm.llm.openai import OpenAIClient


@pytest.fixture(autouse=True)
def no_keys_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def naps() -> Naps:
    """The waits between retries, noted and not slept."""
    return Naps()


Opener = Callable[..., Any]


@pytest.fixture
def openai(server: ModelServer, naps: Naps) -> Iterator[Opener]:
    """Opens OpenAI clients of the server, with a key, and closes them."""
    yield from _opener(OpenAIClient, server.url + "/v1", naps)


@pytest.fixture
def anthropic(server: ModelServer, naps: Naps) -> Iterator[Opener]:
    yield from _opener(AnthropicClient, server.url, naps)


def _opener(kind: Any, url: str, naps: Naps) -> Iterator[Opener]:
    opened = []

    def make(
        model: str = "m-1",
        *,
        timeout_s: float = 20.0,
        tries: int = 4,
        max_reply_bytes: int = 1 << 20,
        **options,
    ):
        wire = Wire(
            timeout_s=timeout_s, retry=naps.retry(tries=tries), max_reply_bytes=max_reply_bytes
        )
        opened.append(kind(model, **{"base_url": url, "key": KEY, "wire": wire, **options}))
        return opened[-1]

    yield make
    for client in opened:
        client.close()
