"""`rlm memory feedback`, `why`, `stability`, `decay`, and turns in `search` and `show`."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from rlm import MemoryItem, open_store

HIT_KEYS = {
    "memory_id", "score", "title", "description", "outcome", "source_type", "level", "trust",
    "confidence", "tags", "content", "kind", "source_session", "changed",
}  # fmt: skip


@pytest.fixture
def turn(add: Callable[..., str], db: str) -> str:
    """A store with one memory, and one turn of a session; the turn's id."""
    add("Cache the build", "Keep the build folder.", "--kind", "decision")
    with open_store(db, embedder="none") as store:
        said = {"session": "s-1", "n": 0, "role": "user", "at": "2026-05-04T10:00:00Z"}
        nodes = [
            {"type": "experience", "subtype": "turn", "content": text, "metadata": {**said, "n": n}}
            for n, text in enumerate(("hm", "from now on the build cache is off", "ok"))
        ]
        ids = store.graph.create_nodes(nodes)
        members = [{"node_id": each, "role": "context"} for each in ids]
        store.graph.create_edge("context", "session claude:s-1", members)
    return ids[1]


@pytest.mark.req("CX-01")
def test_search_has_memories_and_turns_in_one_list(rlm: Run, turn: str, db: str) -> None:
    hits = rlm("memory", "search", "build cache", "--db", db, "--json").json
    assert {hit["kind"] for hit in hits} == {"decision", "turn"}
    assert all(set(hit) == HIT_KEYS for hit in hits)
    found = next(hit for hit in hits if hit["kind"] == "turn")
    assert (found["memory_id"], found["source_session"]) == (turn, "s-1")
    lines = rlm("memory", "search", "build cache", "--db", db).out.splitlines()
    line = next(line for line in lines if turn in line)
    assert "session s-1, 2026-05-04" in line
    only = rlm("memory", "search", "build cache", "--db", db, "--json", "--kind", "turn").json
    assert only[0]["memory_id"] == turn and {hit["kind"] for hit in only} == {"turn"}
    assert turn in rlm("memory", "search", "build cache", "--db", db, "--explain").out


def test_a_turn_is_shown_with_its_neighbours(rlm: Run, turn: str, db: str) -> None:
    shown = rlm("memory", "show", turn[:8], "--db", db)
    assert "[0] user: hm" in shown.out and "[2] user: ok" in shown.out and "s-1" in shown.out
    assert rlm("memory", "show", turn, "--db", db, "--json").json["kind"] == "turn"
    absent = rlm("memory", "show", "0" * 16, "--db", db)
    assert absent.code == 1 and "no memory '0000000000000000' here" in absent.err


@pytest.mark.req("CX-07")
def test_feedback_moves_and_why_tells(rlm: Run, add: Callable[..., str], db: str) -> None:
    one = add()
    down = rlm("memory", "feedback", one[:6], "--not-helpful", "--comment", "too slow", "--db", db)
    assert down.out == f"{one}\t0.80 → 0.60\n"
    up = rlm("memory", "feedback", one, "--helpful", "--db", db, "--json").json
    assert up == {"memory_id": one, "before": pytest.approx(0.6), "confidence": pytest.approx(0.9)}
    told = rlm("memory", "why", one[:6], "--db", db)
    assert (
        "not_helpful  -0.20 → 0.60  a person: too slow" in told.out and "helpful  +0.30" in told.out
    )
    rows = rlm("memory", "why", one, "--db", db, "--json").json["signals"]
    assert [row["kind"] for row in rows] == ["not_helpful", "helpful"]


def test_feedback_needs_a_verdict(rlm: Run, add: Callable[..., str], db: str) -> None:
    one = add()
    failed = rlm("memory", "feedback", one, "--db", db)
    assert failed.code == 2 and "--helpful or --not-helpful" in failed.err
    assert rlm("memory", "feedback", "0" * 16, "--helpful", "--db", db).code == 1


def test_why_of_a_query(rlm: Run, turn: str, db: str) -> None:
    told = rlm("memory", "why", "build", "cache", "-k", "1", "--db", db)
    assert told.code == 0 and "similarity" in told.out and "just missed" in told.out
    document = rlm("memory", "why", "build cache", "--db", db, "--json").json
    assert {hit["kind"] for hit in document["hits"]} == {"decision", "turn"}
    nothing = rlm("memory", "why", "zebra", "--db", db)
    assert (nothing.code, nothing.err) == (1, "nothing found\n")
    turned = rlm("memory", "why", turn, "--db", db)
    assert "[0] user: hm" in turned.out


@pytest.mark.req("CX-07")
def test_decay_and_stability(rlm: Run, db: str, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    day = {"GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z"}
    who = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")

    def git(*args: str) -> str:
        line = ["git", *who, "-C", str(repo), *args]
        done = subprocess.run(line, capture_output=True, text=True, check=True, env=day)
        return done.stdout.strip()

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "one")
    stated = {"commits": [git("rev-parse", "HEAD")], "repo": str(repo)}
    with open_store(db, embedder="none") as store:
        item = MemoryItem("Old", "d", "c.", provenance=stated, created_at="2026-01-01T00:00:00Z")
        one = store.add(item)
    assert rlm("memory", "decay", "--db", db, "--json").json[0]["memory_id"] == one
    again = rlm("memory", "decay", "--db", db)
    assert (again.out, again.err) == ("nothing to lower since the last time\n", "")
    found = rlm("memory", "stability", "--db", db, "--json").json
    assert [(each["memory_id"], each["state"]) for each in found] == [(one, "stable")]
    assert rlm("memory", "stability", "--db", db).out.startswith("no memory has commits")


@pytest.mark.parametrize("line", [("memory", "decay"), ("memory", "stability")])
def test_without_a_store_nothing_is_made(rlm: Run, db: str, line: tuple[str, ...]) -> None:
    assert rlm(*line, "--db", db).code == 0 and not Path(db).exists()
