"""`rlm memory review`: what is in quarantine, why, and how it leaves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cli_running import Run

from rlm import MemoryItem, open_store

RECALLED = "## Relevant Prior Experience\n\nFollow subClassOf."


def quarantine(db: str, *titles: str) -> list[str]:
    with open_store(db, embedder="none") as store:
        return store.add_many(
            [MemoryItem(title, "", "Step.", trust="quarantined") for title in titles]
        )


def test_review_lists_what_waits_and_why(rlm: Run, add: Callable[..., str], db: str) -> None:
    add("Trusted", "Yes.")
    recalled = add("Recalled", RECALLED)
    [waiting] = quarantine(db, "Waiting")
    listed = {
        entry["memory_id"]: entry["reason"]
        for entry in rlm("memory", "review", "--db", db, "--json").json
    }
    assert listed.keys() == {recalled, waiting}
    assert "recalled" in listed[recalled] and "not yet reviewed" in listed[waiting]
    assert rlm("memory", "review", "--db", db).out.count("\n") == 1 + 2


@pytest.mark.parametrize("key", ["quarantine_reason", "quarantined_because"])
def test_review_shows_the_reason_of_the_gate_and_of_older_stores(
    rlm: Run, db: str, key: str
) -> None:
    why = "calls rm, which is no tool that reads"
    with open_store(db, embedder="none") as store:
        store.add(MemoryItem("Clean up", "", "Step.", trust="quarantined", provenance={key: why}))
    [entry] = rlm("memory", "review", "--db", db, "--json").json
    assert entry["reason"] == why
    rlm("memory", "review", "--db", db, "--approve", "all")
    with open_store(db, embedder="none") as store:
        [item] = store.list_items()
    assert item.trust == "trusted" and item.quarantine_reason == ""


def test_approving_makes_it_come_back_in_searches_and_notes_who(rlm: Run, db: str) -> None:
    [waiting] = quarantine(db, "Prune the roses")
    assert rlm("memory", "search", "roses", "--db", db, "--json").json == []
    done = rlm("memory", "review", "--db", db, "--approve", waiting[:6], "--json")
    nothing = {"rejected": [], "kept": [], "accepted": [], "changed": [], "refused": []}
    assert done.code == 0 and done.json == {"approved": [waiting], **nothing}
    assert rlm("memory", "search", "roses", "--db", db, "--json").json[0]["memory_id"] == waiting
    assert (
        rlm("memory", "show", waiting, "--db", db, "--json").json["provenance"]["approved_by"]
        == "ada"
    )


def test_rejecting_archives(rlm: Run, db: str) -> None:
    one, two = quarantine(db, "One", "Two")
    assert set(
        rlm("memory", "review", "--db", db, "--reject", "all", "--json").json["rejected"]
    ) == {
        one,
        two,
    }
    assert rlm("memory", "review", "--db", db).err.startswith("nothing is in quarantine")
    assert {
        item["memory_id"] for item in rlm("memory", "list", "--archived", "--db", db, "--json").json
    } == {
        one,
        two,
    }


def test_what_repeats_recalled_text_stays(rlm: Run, add: Callable[..., str], db: str) -> None:
    recalled = add("Recalled", RECALLED)
    [waiting] = quarantine(db, "Waiting")
    done = rlm("memory", "review", "--db", db, "--approve", "all")
    assert done.code == 1 and f"kept\t{recalled}" in done.out and f"approved\t{waiting}" in done.out
    assert rlm("memory", "show", recalled, "--db", db, "--json").json["trust"] == "quarantined"


def test_nothing_changes_when_one_of_the_names_is_wrong(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    trusted = add()
    [waiting] = quarantine(db, "Waiting")
    assert (
        rlm("memory", "review", "--db", db, "--approve", waiting, "--reject", "ffffffff").code == 1
    )
    assert rlm("memory", "review", "--db", db, "--approve", waiting, "--reject", trusted).code == 2
    assert rlm("memory", "review", "--db", db, "--approve", waiting, "--reject", waiting).code == 2
    assert [entry["memory_id"] for entry in rlm("memory", "review", "--db", db, "--json").json] == [
        waiting
    ]
