"""What an agent that lives with the memory for weeks is told, and what its calls may do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_running import RawClient

from rlm import open_store
from rlm.cli import main
from rlm.service.amendment import mark_changed
from rlm.store.types import Tenant

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


def search(raw: RawClient, query: str) -> list[dict[str, Any]]:
    return list(raw.call("memory_search", query=query)["structuredContent"]["hits"])


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
    for _ in range(6):
        said = say(raw.call("memory_outcome", ids=[one], succeeded=False))
    assert "confidence 0.00" in said


LONG = "I will round it. " + " ".join(f"Line {number} is first." for number in range(300))
TOLD = (
    ("user", "The invoice total is off by a cent, see order 17."),
    ("assistant", f"{LONG}Shall I round in the template instead?"),
    ("user", "Hm, the template is shared with the refunds. No, round once, after the sum, in"
     " Invoice.total. Refunds are billed by another team."),
    ("assistant", "Done, Invoice.total rounds."),
)  # fmt: skip


def tell(rlm: Rlm, folder: Path, turns: Any = TOLD, name: str = "s-1") -> None:
    """A session of Claude Code, distilled."""
    rows = []
    for number, (role, text) in enumerate(turns):
        content = text if role == "user" else [{"type": "text", "text": text}]
        message = {"id": f"m{number}", "role": role, "content": content}
        at = f"2026-11-09T10:{number:02d}:00.000Z"
        rows.append({"type": role, "timestamp": at, "sessionId": name, "message": message})
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    rlm("queue", "add", str(path))
    rlm("worker", "--once", "--model", "offline")


def test_memory_get_shows_what_was_said_around_a_decision(
    rlm: Rlm, folder: Path, raw: RawClient
) -> None:
    tell(rlm, folder)
    hit = next(each for each in search(raw, "round Invoice.total") if each["kind"] == "decision")
    answer = raw.call("memory_get", id=hit["id"][:6])
    for read in (say(answer), answer["structuredContent"]["turns"]):
        assert "[2] assistant: I will round" in read and "in the template instead?" in read
        assert "Hm, the template is shared with the refunds." in read
        assert "billed by another team" in read and "off by a cent" not in read
        assert len(read) < 8_000
    turn = next(each for each in search(raw, "off by a cent order 17") if each["kind"] == "turn")
    assert "order 17" in say(raw.call("memory_get", id=turn["id"][:8]))


def test_memory_get_has_description_and_content_whole_in_its_text(
    rlm: Rlm, folder: Path, raw: RawClient
) -> None:
    rule = "Install with pip-compile. " + "Compile before you install. " * 14 + "Show both files."
    steps = "\n".join(f"{number}. Look at file {number}." for number in range(250))
    made = raw.call("memory_record", title="Install with pip", description=rule, content=steps)
    text = say(raw.call("memory_get", id=made["structuredContent"]["memories"][0]["id"]))
    assert text.count(rule) == 1 and text.count(steps) == 1 and text.count("Install with pip ") == 1
    tell(rlm, folder)
    turn = next(each for each in search(raw, "off by a cent order 17") if each["kind"] == "turn")
    first = say(raw.call("memory_get", id=turn["id"])).partition("\n")[0]
    assert first.startswith(f"{turn['id']}  user: The invoice total is off by a cent")
    assert first.endswith("(turn, 2026-11-09, session s-1)")


def test_memory_get_names_what_changed_a_decision(rlm: Rlm, folder: Path, raw: RawClient) -> None:
    old = decide(rlm)
    words = ("--title", "Rates have four digits", "--content", "Rates keep four digits.")
    new = rlm("memory", "add", "--kind", "decision", *words).split()[0]
    with open_store(folder / "m.db", tenant=Tenant(project="shop")) as store:
        mark_changed(store, new, old, "rates are no money")
    answer = raw.call("memory_get", id=old)
    for told in (say(answer).partition("\n")[0], answer["structuredContent"]["changed"]):
        assert "changed in part on " in told and new in told


def test_an_agent_is_told_what_it_can_do_about_an_id_that_is_none(raw: RawClient) -> None:
    said = say(raw.call("memory_get", id="0000"))
    assert "a search shows it" in said and "rlm memory list" not in said
    assert "ids is a list of 0" in say(raw.call("memory_outcome", ids=[], succeeded=True))


def test_no_text_stands_twice_in_a_hit(rlm: Rlm, folder: Path, raw: RawClient) -> None:
    tell(rlm, folder)
    for title in ("Round in one place", "Where rounding is tested"):
        raw.call("memory_record", title=title, content=f"{title}: the total of an invoice.")
    answer = raw.call("memory_search", query="round the invoice total in the template")
    hits = answer["structuredContent"]["hits"]
    assert len(hits) >= 4
    for hit in hits:
        read = json.dumps(hit)
        words = hit["text"].split()
        assert words[:4] and read.count(" ".join(words[:4])) == 1 and read.count(hit["id"]) == 1
        assert len(read) <= 400


def test_a_turn_says_who_said_what_and_its_session_once(
    rlm: Rlm, folder: Path, raw: RawClient
) -> None:
    tell(rlm, folder)
    hits = search(raw, "shall I round it in the template instead")
    hit = next(each for each in hits if each["text"].startswith("assistant: I will round it."))
    assert hit["kind"] == "turn" and hit["source_session"] == "s-1"
    assert len(hit["text"]) > 200 and 380 <= len(json.dumps(hit, ensure_ascii=False)) <= 400
    assert json.dumps(hit).count("s-1") == 1 and json.dumps(hit).count("2026-11-09") == 1
    whole = raw.call("memory_get", id=hit["id"])["structuredContent"]
    assert whole["role"] == "assistant" and json.dumps(whole).count("s-1") == 1


def test_numbers_have_as_many_digits_as_mean_something(rlm: Rlm, raw: RawClient) -> None:
    one = decide(rlm)
    rlm("memory", "edit", one, "--confidence", "0.123456")
    assert raw.call("memory_get", id=one)["structuredContent"]["confidence"] == 0.12
    rated = raw.call("memory_feedback", id=one, helpful=True)["structuredContent"]["memories"]
    assert len(str(rated[0]["confidence"])) <= 4
    assert all(len(str(hit["score"])) <= 5 for hit in search(raw, "integer cents"))


def test_a_password_told_in_prose_is_not_kept_and_the_agent_is_told(raw: RawClient) -> None:
    told = "The admin password is hunter2-Gr33n.\nStaging has pw: Blumen#2024"
    answer = raw.call("memory_record", title="How to log in to staging", content=told)
    assert "without its secrets (password)" in say(answer)
    assert answer["structuredContent"]["redacted"] == ["password"]
    kept = say(raw.call("memory_get", id=answer["structuredContent"]["memories"][0]["id"]))
    assert "hunter2" not in kept and "Blumen" not in kept and "admin password is" in kept
    clean = "The password is hashed with SHA256-HMAC and has at least 12 characters."
    answer = raw.call("memory_record", title="How passwords are kept", content=clean)
    assert "recorded: " in say(answer) and "redacted" not in answer["structuredContent"]
