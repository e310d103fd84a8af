"""What an agent that lives with the memory for weeks is told, and what its calls may do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_running import RawClient

from rlm.cli import main

Rlm = Callable[..., str]


@pytest.fixture
def rlm(folder: Path, capsys: pytest.CaptureFixture[str]) -> Rlm:
    """The command line of the person whose store it is."""

    def run(*args: str) -> str:
        capsys.readouterr()
        assert main([*args, "--db", str(folder / "m.db"), "--project", "shop"]) in (0, 1)
        return capsys.readouterr().out

    return run


@pytest.fixture
def raw(folder: Path) -> Iterator[RawClient]:
    with RawClient(folder) as client:
        client.initialize()
        yield client


def say(answer: dict[str, Any]) -> str:
    return str(answer["content"][0]["text"])


def decide(rlm: Rlm) -> str:
    words = ("--title", "Amounts are integer cents", "--content", "Never a float for money.")
    return rlm("memory", "add", "--kind", "decision", *words).split()[0]


def test_an_agents_failures_do_not_erase_what_a_person_decided(rlm: Rlm, raw: RawClient) -> None:
    one = decide(rlm)
    for session in "abcd":
        raw.call("memory_outcome", ids=[one], succeeded=False, session=session)
    assert "confidence 0.50" in say(raw.call("memory_feedback", id=one, helpful=False))
    assert one in say(raw.call("memory_search", query="integer cents for amounts"))
    assert "failed 4 times" in rlm("memory", "review")
    assert "0.50 → 0.30" in rlm("memory", "feedback", one, "--not-helpful")
    assert "confidence 0.30" in say(raw.call("memory_outcome", ids=[one], succeeded=False))


def test_who_keeps_what_failed_is_not_asked_again_and_who_does_not_archives_it(
    rlm: Rlm, raw: RawClient
) -> None:
    one = decide(rlm)

    def fail() -> str:
        for _ in range(3):
            raw.call("memory_outcome", ids=[one], succeeded=False)
        return rlm("memory", "review")

    assert one in fail()
    assert "refused" in rlm("memory", "review", "--refuse", one[:6])
    assert one not in rlm("memory", "review")
    assert "failed 3 times" in fail()
    assert "accepted" in rlm("memory", "review", "--accept", one)
    assert one in rlm("memory", "list", "--archived")
    assert raw.call("memory_search", query="integer cents")["structuredContent"] == {"hits": []}


def test_what_an_agent_noted_itself_sinks_as_before(raw: RawClient) -> None:
    made = raw.call("memory_record", title="Use floats", content="Money fits a float.")
    one = made["structuredContent"]["memories"][0]["id"]
    for _ in range(3):
        said = say(raw.call("memory_outcome", ids=[one], succeeded=False))
    assert "confidence 0.00" in said
