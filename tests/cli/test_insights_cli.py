"""`rlm memory insights`: tables that a person understands, and one JSON document."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_running import Run, on_a_terminal

from rlm import Judgment, MemoryItem, Trajectory, open_store
from rlm.service import MemoryManager
from rlm.store.types import Run as RunRow

pytestmark = pytest.mark.req("RB-19")


@pytest.fixture
def seen(db: str) -> dict[str, str]:
    """A store in which one memory helps, one harms, and a task taught the first."""
    with open_store(db, embedder="none") as store:
        origin = {"source": "extracted", "curriculum_id": "boats_v1", "task_id": "t-1"}
        good = MemoryItem(
            "Find all subclasses of a class",
            "One query.",
            "- ask once",
            "success",
            provenance=origin,
        )
        bad = MemoryItem("Guess \x1b[31mfirst", "No query.", "- guess", "failure", confidence=0.2)
        store.add_many([good, bad])
        good, bad = store.list_items()[::-1]
        for number in range(8):
            for given, ok, steps in (([good], True, 2), ([bad], False, 3), ([], True, 5)):
                artifact = {"kind": "subclasses", "injected": [item.memory_id for item in given],
                            "uses": {"followed": [1], "abandoned": [], "said": bool(given)},
                            "curriculum_id": "boats_v1", "task_id": f"t-{number}"}  # fmt: skip
                made = Trajectory("Q?", iteration_count=steps, converged=True, artifact=artifact)
                store.save_artifacts(
                    RunRow(model="offline"),
                    made,
                    Judgment(ok, "r", "high"),
                    retrieved=[(item, 0.5) for item in given],
                )
    return {"good": good.memory_id, "bad": bad.memory_id}


def test_the_three_questions_are_answered(rlm: Run, db: str, seen: dict[str, str]) -> None:
    done = rlm("memory", "insights", "--db", db)
    assert done.code == 0
    parts = done.out.split("\n\n")
    assert (
        parts[0] == "24 runs, 24 judged, 67% of them a success; 2 memories were retrieved for them."
    )
    helps, harms, unused, unclear, tasks = parts[1:]
    assert helps.startswith("helps: runs with it succeed more often, or take fewer steps")
    assert seen["good"] in helps and "8/8" in helps and "3.0/5.0" in helps
    assert harms.startswith("harms: ") and seen["bad"] in harms and "0.20 out" in harms
    assert unused.splitlines() == [
        "unused: it takes a place in the prompt, and no run said that it used it",
        "  none",
    ]
    assert unclear.startswith("unclear: ") and unclear.endswith("\n  none")
    assert tasks.splitlines()[1].split("\t")[:3] == ["task", "curriculum", "runs"]
    assert tasks.splitlines()[2].split("\t") == ["t-1", "boats_v1", "3", "1", "1", "7", "100%"]
    assert [done.out.count(each) for each in seen.values()] == [1, 1], "each memory is listed once"
    assert "\x1b" not in done.out and "or did not say / without it" in done.err


def test_the_json_is_one_document(rlm: Run, db: str, seen: dict[str, str]) -> None:
    found = rlm("memory", "insights", "--db", db, "--json", "--limit", "1").json
    assert found["trajectories"] == 24 and len(found["memories"]) == 1
    (worst,) = found["failing"]
    assert (worst["memory_id"], worst["verdict"], worst["recalled"], worst["why_not"]) == (
        seen["bad"], "harms", False, "low confidence",
    )  # fmt: skip
    assert found["tasks"][0]["task_id"] == "t-1" and found["tasks"][0]["reused"] == 7
    assert rlm("memory", "insights", "--db", db, "--json", "--runs", "3").json["trajectories"] == 3


def test_it_fits_eighty_columns(db: str, seen: dict[str, str]) -> None:
    shown = on_a_terminal("memory", "insights", "--db", db, columns=80)
    lines = shown.replace("\r", "").splitlines()
    assert max(len(line.replace("\x1b[1m", "").replace("\x1b[0m", "")) for line in lines) <= 80
    assert "Find all subclasses" in shown and "helps: " in shown


def test_a_store_without_runs_says_what_to_do(rlm: Run, db: str) -> None:
    open_store(db, embedder="none").close()
    done = rlm("memory", "insights", "--db", db)
    assert done.code == 0 and done.out.startswith("0 runs") and "rlm memory train" in done.err
    missing = rlm("memory", "insights", "--db", str(Path(db).with_name("none.db")))
    assert missing.code == 1 and "there is no store" in missing.err


def test_what_coding_agents_say_is_not_counted_and_it_says_where_to_see_it(
    rlm: Run, db: str, home: Path
) -> None:
    with open_store(db, embedder="none", origin="mcp") as store:
        manager = MemoryManager(store)
        followed = manager.record("Deploy by tag", "git tag, then push.").id
        manager.outcome([followed], True, session="s-1")
    told = rlm("memory", "insights", "--db", db).err
    assert "no run of rlm was given a memory yet" in told and "`rlm memory why ID`" in told
    assert (
        "followed in session s-1, which succeeded" in rlm("memory", "why", followed, "--db", db).out
    )
