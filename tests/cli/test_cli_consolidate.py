"""`rlm memory consolidate`, `review --accept|--refuse` and `undo`, as a person types them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from cli_running import Run

from rlm import MemoryItem, open_store
from rlm.service.amendment import mark_changed, propose, supersede
from rlm.store import Tenant

OLD = "2025-01-01T00:00:00Z"


def fill(db: str, project: str = "local") -> dict[str, str]:
    """A weak, a strong and two equal lessons; their ids."""
    steps = "- Run `make generate`.\n- Then run the tests again."
    stated = {"source_type": "success", "description": "When it fails."}
    items = {
        "weak": MemoryItem("Guess the port", content="- Try 8080.", confidence=0.1, **stated),
        "strong": MemoryItem("Pin the compiler", content="- Use 12.", confidence=0.95, **stated),
        "one": MemoryItem("Regenerate after a schema change", content=steps, **stated),
        "two": MemoryItem("Regenerate after a schema change", content=f"{steps} Twice.", **stated),
    }
    items["weak"].created_at = OLD
    items["strong"].success_count = 4
    with open_store(db, tenant=Tenant(project=project), embedder="none") as store:
        return dict(zip(items, store.add_many(items.values()), strict=True))


@pytest.mark.req("CX-10", "CX-11")
def test_a_store_is_consolidated_reviewed_and_put_back(rlm: Run, db: str) -> None:
    ids = fill(db)
    before = rlm("memory", "list", "--db", db, "--json").json
    dry = rlm("memory", "consolidate", "--dry-run", "--db", db)
    assert dry.code == 0 and dry.err == "3 changes would be made\n"
    assert rlm("memory", "list", "--db", db, "--json").json == before
    assert rlm("memory", "review", "--db", db, "--json").json == []
    done = rlm("memory", "consolidate", "--db", db, "--json").json
    assert [each["operation"] for each in done["changes"]] == ["merge", "prune", "propose"]
    assert [row.split("\t")[1:] for row in dry.out.splitlines()[1:]] == [
        [each["operation"] + (" → team" if each["level"] else ""), named["memory_id"],
         named["title"], each["why"]]
        for each in done["changes"] for named in each["memories"]
    ]  # fmt: skip
    again = rlm("memory", "consolidate", "--db", db)
    assert again.out == "nothing to merge, prune or promote\n"

    [waiting] = rlm("memory", "review", "--db", db, "--json").json
    assert (waiting["memory_id"], waiting["promote_to"]) == (ids["strong"], "team")
    listed = rlm("memory", "review", "--db", db)
    assert "promote to the team: confidence 0.95, helped 4 times" in listed.out
    assert "--accept ID or --refuse ID" in listed.err
    accepted = rlm("memory", "review", "--accept", ids["strong"][:6], "--db", db, "--json")
    assert accepted.json["accepted"] == [ids["strong"]]
    elsewhere = rlm("memory", "list", "--db", db, "--project", "site", "--json").json
    assert [each["memory_id"] for each in elsewhere] == [ids["strong"]]

    log = rlm("graph", "history", "--db", db, "--json").json["evolution"]
    [promoted] = [each for each in log if each["operation"].startswith("memory_promote_team")]
    assert promoted["reasoning"].startswith("accepted by ada: ")
    assert rlm("memory", "undo", str(promoted["id"]), "--db", db).code == 0
    back = rlm("memory", "undo", str(done["log_id"]), "--db", db)
    assert back.code == 0 and "2 changes taken back" in back.err
    assert "somebody decided on the proposal since" in back.out
    assert rlm("memory", "list", "--db", db, "--json").json == before


def test_a_change_is_counted_the_same_when_it_is_made_and_taken_back(rlm: Run, db: str) -> None:
    """Each memory is one: two that are merged into a third are two changes, as two rows show."""
    steps = "- Run `make generate`.\n- Then run the tests again."
    with open_store(db, embedder="none") as store:
        for more in ("", " Twice.", " Twice, please."):
            made = MemoryItem("Regenerate after a schema change", "When it fails.", steps + more)
            store.add(replace(made, source_type="success"))
    done = rlm("memory", "consolidate", "--db", db)
    assert done.out.count("\tmerge\t") == 2 and done.err.startswith("2 changes; `rlm memory undo ")
    number = done.err.partition("undo ")[2].partition("`")[0]
    assert rlm("memory", "undo", number, "--db", db).err == "2 changes taken back\n"


def test_a_promotion_is_refused_for_good(rlm: Run, db: str) -> None:
    ids = fill(db)
    rlm("memory", "consolidate", "--db", db)
    done = rlm("memory", "review", "--refuse", "all", "--db", db)
    assert done.code == 0 and done.out == f"refused\t{ids['strong']}\n"
    assert rlm("memory", "review", "--db", db, "--json").json == []
    assert rlm("memory", "consolidate", "--db", db, "--json").json["changes"] == []


def test_nothing_is_decided_when_one_name_is_wrong(rlm: Run, db: str) -> None:
    ids = fill(db)
    rlm("memory", "consolidate", "--db", db)
    strong, one = ids["strong"], ids["one"]
    with open_store(db, embedder="none") as store:
        held = store.add(MemoryItem("Held", "", "y", trust="quarantined"))
    for line, code in (
        (("--approve", held, "--accept", one), 1),
        (("--accept", strong, "--refuse", strong), 2),
        (("--accept", strong, "--refuse", one), 1),
        (("--accept", strong, "--approve", one), 2),
        (("--accept", "ffffffff"), 1),
    ):
        assert rlm("memory", "review", *line, "--db", db).code == code
    assert len(rlm("memory", "review", "--db", db, "--json").json) == 2
    shown = rlm("memory", "show", strong, "--db", db, "--json").json
    assert shown["level"] == "project"


def test_undo_names_what_is_wrong(rlm: Run, db: str) -> None:
    fill(db)
    log_id = rlm("memory", "consolidate", "--db", db, "--json").json["log_id"]
    missing = rlm("memory", "undo", "999", "--db", db)
    foreign = rlm("memory", "undo", str(log_id), "--db", db, "--project", "site")
    assert missing.code == foreign.code == 1 and "no line 999 in the evolution log" in missing.err
    assert missing.err.replace("999", str(log_id)) == foreign.err
    assert rlm("memory", "undo", "abc", "--db", db).code == 2
    assert rlm("memory", "undo", "0", "--db", db).code == 2
    wrong = rlm("graph", "undo", str(log_id), "--db", db)
    assert wrong.code == 2 and f"`rlm memory undo {log_id}`" in wrong.err
    assert rlm("memory", "undo", str(log_id), "--db", db).code == 0
    twice = rlm("memory", "undo", str(log_id), "--db", db)
    assert twice.code == 2 and "was undone already" in twice.err


@pytest.mark.parametrize(
    ("act", "command"), [(supersede, "restore"), (mark_changed, "review --refuse")]
)
def test_undo_of_what_a_decision_replaced_or_changed_names_what_takes_it_back(
    rlm: Run, db: str, act: Callable[..., object], command: str
) -> None:
    words = [MemoryItem(f"Round {how}", "", f"Round {how}.") for how in ("up", "down")]
    with open_store(db, tenant=Tenant(), embedder="none") as store:
        older, newer = store.add_many(words)
        act(store, newer, older, "it says otherwise")
    line = rlm("graph", "history", "--db", db, "--json").json["evolution"][0]
    wrong = rlm("memory", "undo", str(line["id"]), "--db", db)
    assert wrong.code == 2 and f"`rlm memory {command} {older}` takes it back" in wrong.err
    assert rlm("memory", *command.split(), older, "--db", db).code == 0


def test_undo_of_a_plain_link_names_unlink(rlm: Run, db: str) -> None:
    node = rlm("graph", "add", "fact", "Water is wet", "--db", db).out.strip()
    edge = rlm("graph", "link", "relation", "is", node, "--db", db).out.strip()
    line = rlm("graph", "history", "--db", db, "--json").json["evolution"][0]
    wrong = rlm("memory", "undo", str(line["id"]), "--db", db)
    assert wrong.code == 2 and f"`rlm graph unlink {edge}` takes it back" in wrong.err


def test_a_wrong_setting_is_named(rlm: Run, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(db)
    monkeypatch.setenv("RLM_PROMOTE", "yes")
    done = rlm("memory", "consolidate", "--db", db)
    assert done.code == 2 and "RLM_PROMOTE is 'yes': choose review or automatic" in done.err


def test_a_person_takes_back_that_a_decision_was_changed_in_part(rlm: Run, db: str) -> None:
    texts = ("Keep invoices for 30 days in the archive.", "Keep paid invoices for 60 days.")
    items = [MemoryItem(each, each, each, provenance={"kind": "decision"}) for each in texts]
    with open_store(db, tenant=Tenant(project="local"), embedder="none") as store:
        older, newer = store.add_many(items)
        mark_changed(store, newer, older, "paid ones are kept longer")
    told = rlm("memory", "why", older, "--db", db).out
    assert "changed in part by (`rlm memory review --refuse" in told and newer in told
    assert rlm("memory", "review", "--refuse", newer, "--db", db).code == 1
    assert rlm("memory", "review", "--refuse", older[:8], "--db", db).out == f"refused\t{older}\n"
    for each in (older, newer):
        why = rlm("memory", "why", each, "--db", db, "--json").json
        assert why["changed_by"] == why["changes"] == [] and not why["archived_at"]
    assert "changed in part" not in rlm("memory", "search", "keep invoices", "--db", db).out
    assert rlm("memory", "review", "--refuse", older, "--db", db).code == 1


def test_a_refused_proposal_leaves_what_was_changed_in_part(rlm: Run, db: str) -> None:
    texts = ("Keep invoices for 30 days in the archive.", "Keep paid invoices for 60 days.")
    items = [MemoryItem(each, each, each, provenance={"kind": "decision"}) for each in texts]
    with open_store(db, tenant=Tenant(project="local"), embedder="none") as store:
        older, newer = store.add_many(items)
        mark_changed(store, newer, older, "paid ones are kept longer")
        store.update(older, failure_count=3)
    assert rlm("memory", "review", "--refuse", older, "--db", db).code == 0
    why = rlm("memory", "why", older, "--db", db, "--json").json
    assert newer in str(why["changed_by"])


def test_a_person_says_that_a_newer_decision_changes_a_part(rlm: Run, db: str) -> None:
    texts = ("Keep invoices for 30 days in the archive.", "Drafts wait ninety.")
    items = [MemoryItem(each, each, each, provenance={"kind": "decision"}) for each in texts]
    with open_store(db, tenant=Tenant(project="local"), embedder="none") as store:
        older, newer = store.add_many(items)
        propose(store, newer, older, "about the same (invoices, keep)")
    assert "--changes ID (in part)" in rlm("memory", "review", "--db", db).err
    why = rlm("memory", "why", older, "--db", db).out
    assert "perhaps superseded by" in why and f"{newer} (about the same" in why
    both = ("--changes", older, "--accept", older)
    assert rlm("memory", "review", *both, "--db", db).code == 2
    assert rlm("memory", "review", "--changes", older, "--db", db).out == f"changed\t{older}\n"
    found = rlm("memory", "search", "keep invoices 30 days", "-k", "1", "--db", db, "--json").json
    assert [each["memory_id"] for each in found] == [newer, older]
    assert found[1]["changed"].startswith("changed in part on ") and not found[0]["changed"]
    shown = rlm("memory", "why", "keep", "invoices", "30", "days", "-k", "1", "--db", db)
    assert shown.code == 0 and "it changes the next one" in shown.out
    assert rlm("memory", "review", "--refuse", older, "--db", db).code == 0
    [alone] = rlm("memory", "search", "invoices 30 days", "-k", "1", "--db", db, "--json").json
    assert alone["memory_id"] == older and not alone["changed"]


def test_a_promotion_changes_no_part(rlm: Run, db: str) -> None:
    strong = fill(db)["strong"]
    rlm("memory", "consolidate", "--db", db)
    failed = rlm("memory", "review", "--changes", strong, "--db", db)
    assert failed.code == 2 and f"nothing says that a newer decision changes {strong}" in failed.err


@pytest.mark.parametrize("verb", ["accepted", "changed"])
def test_a_decision_that_failed_too_is_still_linked_to_what_changes_it(
    rlm: Run, db: str, verb: str
) -> None:
    texts = ("Keep invoices for 30 days in the archive.", "Keep invoices for 90 days.")
    items = [MemoryItem(each, each, each, provenance={"kind": "decision"}) for each in texts]
    with open_store(db, tenant=Tenant(project="local"), embedder="none") as store:
        older, newer = store.add_many(items)
        propose(store, newer, older, "about the same (invoices, keep)")
        store.update(older, failure_count=5)
        store.update(newer, trust="quarantined")
    option = {"accepted": "--accept", "changed": "--changes"}[verb]
    assert newer not in str(rlm("memory", "review", "--json", "--db", db).json[1:])
    assert rlm("memory", "review", "--approve", newer, "--db", db).code == 0
    assert rlm("memory", "review", option, older, "--db", db).out == f"{verb}\t{older}\n"
    why = rlm("memory", "why", older, "--json", "--db", db).json
    linked = why["superseded_by"] if verb == "accepted" else why["changed_by"]
    assert [each["memory_id"] for each in linked] == [newer]
