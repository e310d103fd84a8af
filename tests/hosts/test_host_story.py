"""What a person gets, with the real Claude Code and the real Codex: `make test-hosts`.

One story for each, for the user and for one project: set up, a session in which a person corrects the
agent, its end, the worker, a
session that starts with the lesson, search and record over MCP, and out again without a trace.
"""

from __future__ import annotations

import json
import time

import pytest
from host_model import say, shell, use

pytestmark = pytest.mark.hosts

MAKEFILE = "check:\n\t@echo '1 failed: test_cart'; exit 1\n"
CORRECTION = "No, from now on run `make check` before every commit, never npm test."
LESSON = "from now on run `make check` before every commit"


@pytest.mark.req("CX-01", "CX-03", "CX-06")
def test_a_correction_in_one_session_is_known_in_the_next(host):
    (host.work / "Makefile").write_text(MAKEFILE)
    host.model.expect([say("Hello.")])
    host.prompt("Hello")  # a first run writes files of its own
    before = {path: path.read_bytes() if path.exists() else None for path in host.settings}

    setup = ("setup", host.name, "--scope", host.scope)
    host.rlm(*setup)
    assert host.rlm(*setup, "--check")["ok"]
    with host.patient_hooks():
        _correct_the_agent(host)
        _begin_with_the_lesson(host)
    _learn_nothing_twice(host)

    host.rlm(*setup, "--remove")
    after = {path: path.read_bytes() if path.exists() else None for path in host.settings}
    assert after == before
    assert _processes_left(host) == []


def test_codex_waits_for_the_server_where_it_is_told_to(codex):
    """As docs/coding-agents.md says: without this line its first request may lack our tools."""
    config = codex.home / ".codex" / "config.toml"
    config.write_text(f"mcp_optional_startup_grace_ms = 60_000\n{config.read_text()}")
    codex.rlm("setup", "codex")
    codex.model.expect([say("Hello.")])
    codex.prompt("Hello")
    assert "memory_search" in json.dumps(codex.model.requests[0]["tools"])


def test_codex_and_its_server_use_the_store_that_is_exported(codex):
    elsewhere = {"RLM_MEMORY_DB": str(codex.folder / "elsewhere.db"), "RLM_PROJECT": "boats"}
    codex.host_env |= elsewhere
    codex.rlm("setup", "codex")
    record = use("memory_record", title="Deploys need a tag", content="A deploy starts from a tag.")
    codex.model.expect([record], [say("Noted.")])
    codex.prompt("Note how a deploy starts.")
    assert codex.rlm("memory", "list") == []
    codex.env |= elsewhere
    assert [each["title"] for each in codex.rlm("memory", "list")] == ["Deploys need a tag"]


def _correct_the_agent(host):
    host.model.expect([shell("make check")], [say("I will run npm test after each change.")])
    host.prompt("How do you test a change here?")
    assert LESSON not in host.model.seen and host.model.left == 0
    host.model.expect([say("Understood, make check it is.")])
    host.prompt(CORRECTION, resume=True)
    (spooled,) = host.spooled()
    assert spooled["event"] == "session-end" and spooled["agent"] == host.name

    report = host.rlm("worker", "--once")
    assert (report["distilled"], report["decisions"], report["failed"]) == (1, 1, 0)
    assert host.spooled() == []
    (decision,) = (each for each in host.rlm("memory", "list") if each["tags"] == ["decision"])
    assert CORRECTION in decision["content"] and decision["session_id"] == spooled["session_id"]


def _begin_with_the_lesson(host):
    host.model.expect(
        [use("memory_search", query="what to run before a commit")],
        [use("memory_record", title="Deploys need a tag", content="A deploy starts from a tag.")],
        [say("Noted.")],
    )
    host.prompt("I want to commit my work. What comes first?")
    first, last = (json.dumps(host.model.requests[at]) for at in (0, -1))
    assert LESSON in first and "Noted in earlier sessions of this project (rlm" in first
    assert last.count(LESSON) > first.count(LESSON), "memory_search did not find it"
    assert "Deploys need a tag" in last and host.model.left == 0
    found = host.rlm("memory", "search", "deploy tag")[0]
    assert found["title"] == "Deploys need a tag" and found["trust"] == "unverified"


def _learn_nothing_twice(host):
    """The session that was shown the lesson teaches nothing, and says what was shown."""
    before = [each["memory_id"] for each in host.rlm("memory", "list")]
    (spooled,) = host.spooled()
    assert spooled["injected"]
    assert host.rlm("worker", "--once")["distilled"] == 1
    assert [each["memory_id"] for each in host.rlm("memory", "list")] == before
    queue = host.rlm("doctor")["queue"]
    assert queue["done"] == 2 and queue["unknown"] == {}, "the host writes lines that are new"


def _processes_left(host):
    end = time.monotonic() + 10
    while (left := host.processes()) and time.monotonic() < end:
        time.sleep(0.1)
    return left
