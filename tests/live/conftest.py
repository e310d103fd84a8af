"""The live tests run only where RLM_LIVE=1 asks for them, all against one server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from live_server import ENABLED, MODEL, CannotServe, LiveServer

from rlm.llm import Client, open_client

REASON = "asks a real model: run `make test-live`, or set RLM_LIVE=1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not ENABLED and item.get_closest_marker("live"):
            item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(autouse=True)
def no_keys_and_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    """The server, started once. Who asked for live tests and has no server is told, not passed
    over."""
    try:
        running = LiveServer(tmp_path_factory.mktemp("live") / "server.log")
    except CannotServe as exc:
        pytest.fail(str(exc), pytrace=False)
    with running:
        yield running


@pytest.fixture
def live(server: LiveServer) -> Iterator[Client]:
    """A client of the server, opened as a person opens one."""
    client = open_client(MODEL, base_url=server.url)
    yield client
    client.close()
