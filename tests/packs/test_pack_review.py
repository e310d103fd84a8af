"""The review loop: candidates out, a person edits, the result comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pack_making import memory, state, store

from rlm.errors import PackError
from rlm.packs import (
    apply_candidates,
    import_pack,
    seal_pack,
    verify_pack,
    write_candidates,
)
from rlm.packs.candidates import ReviewReport, is_review_of
from rlm.store.jsonfile import MemoryStore
from rlm.store.types import MemoryItem

STEPS = "- search the label\n- then describe it"


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in lines))


def fill(db: Any) -> None:
    db.add_many(
        [
            memory("Fit to ship", STEPS, source_type="success"),
            memory("Names an ontology", f"{STEPS} of prov:Activity", source_type="success"),
            MemoryItem("Plain", "A blue day.", "The sky was blue."),
        ]
    )


@pytest.mark.req("RB-11")
def test_candidates_say_why(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        fill(db)
        report = write_candidates(db, tmp_path / "c.jsonl")
    found = records(tmp_path / "c.jsonl")
    assert (report.count, report.ready) == (3, 1)
    assert [record["title"] for record in found] == ["Fit to ship", "Plain", "Names an ontology"]
    assert (
        found[0]["_ready"]
        and found[0]["_score"] == 0.7
        and found[0]["_why"] == ["source_type success"]
    )
    assert "it names an IRI or a prefix: prov:Activity" in found[2]["_why"]
    assert not any("sha256" in record or "memory_id" in record for record in found)


@pytest.mark.req("RB-11")
def test_an_edited_file_imports_like_a_pack(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    with store(tmp_path / "m.db") as db:
        fill(db)
        write_candidates(db, path)
        found = records(path)
        found[2]["content"] = f"{STEPS} of the class in question"
        found[2]["title"] = "Names no ontology"
        write(path, found)
        report = import_pack(path, db, trust=True)
        assert (report.added, report.present) == (1, 2)
        (item,) = db.list_items(source_type="pack")
        assert (item.title, item.trust) == ("Names no ontology", "trusted")
        assert not any(key.startswith("_") for key in item.provenance)


@pytest.mark.req("RB-11")
@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_applying_a_review_changes_the_memories_themselves(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "reviewed.jsonl"
    db = store(tmp_path / "m.db") if kind == "sqlite" else MemoryStore.open(tmp_path / "m.json")
    with db:
        fill(db)
        write_candidates(db, path)
        found = records(path)
        found[0]["description"] = "Better said."
        found[2]["content"] = f"{STEPS} of the class in question"
        found.append({"title": "New from the reviewer", "content": STEPS})
        write(path, found)
        report = apply_candidates(path, db)
        assert (report.changed, report.added, report.unchanged) == (2, 1, 1)
        items = {item.title: item for item in db.list_items()}
        assert len(items) == 4
        assert items["Fit to ship"].description == "Better said."
        assert items["Fit to ship"].source_type == "success"
        assert "prov:" not in items["Names an ontology"].content
        assert items["Names an ontology"].provenance["edited_from"] == found[2]["_memory_id"]
        assert (
            items["New from the reviewer"].source_type,
            items["New from the reviewer"].trust,
        ) == (
            "human",
            "trusted",
        )
        again = write_candidates(db, path)
        assert (again.count, again.ready) == (4, 3)
        assert apply_candidates(path, db).unchanged == 4


@pytest.mark.req("RB-11")
def test_a_review_with_a_bad_line_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    with store(tmp_path / "m.db") as db:
        fill(db)
        write_candidates(db, path)
        found = records(path)
        found[0]["description"] = "Better said."
        found[2]["title"] = "far too many words " * 5
        write(path, found)
        before = state(db)
        with pytest.raises(PackError, match="words") as caught:
            apply_candidates(path, db)
        assert caught.value.line == 3
        assert state(db) == before


def shared(db: Any) -> None:
    """What `fill` makes, and seen by the whole organisation."""
    db.add_many(
        [
            memory("Fit to ship", STEPS, source_type="success", level="org"),
            memory(
                "Names an ontology", f"{STEPS} of prov:Activity", source_type="success", level="org"
            ),
        ]
    )


def levels(db: Any) -> dict[str, str]:
    """Title and level of everything that is live; a copy at another level would be one too many."""
    items = db.list_items()
    assert len({item.title for item in items}) == len(items), "there is a copy"
    return {item.title: item.level for item in items}


@pytest.fixture(params=["sqlite", "json"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    opened = (
        store(tmp_path / "m.db")
        if request.param == "sqlite"
        else MemoryStore.open(tmp_path / "m.json")
    )
    with opened:
        yield opened


@pytest.mark.req("RB-11")
def test_applying_twice_changes_once_and_keeps_the_level(tmp_path: Path, db: Any) -> None:
    """New words give a new id, so the second time the file names an id that is gone."""
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    write_candidates(db, path)
    found = records(path)
    found[1]["content"] = f"{STEPS} of the class in question"
    found[1]["title"] = "Names no ontology"
    write(path, found)
    assert apply_candidates(path, db) == ReviewReport(changed=1, added=0, unchanged=1)
    before = [item.to_dict() for item in db.list_items()]
    assert apply_candidates(path, db) == ReviewReport(changed=0, added=0, unchanged=2)
    assert [item.to_dict() for item in db.list_items()] == before
    assert levels(db) == {"Fit to ship": "org", "Names no ontology": "org"}


@pytest.mark.req("RB-11")
def test_a_file_that_is_edited_further_changes_the_same_memory(tmp_path: Path, db: Any) -> None:
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    write_candidates(db, path)
    found = records(path)
    for change in (
        {"title": "Once"},
        {"description": "Better said."},
        {"title": "Twice"},
        {"tags": ["x"]},
    ):
        found[0].update(change)
        write(path, found)
        assert apply_candidates(path, db) == ReviewReport(changed=1, added=0, unchanged=1), change
    assert levels(db) == {"Twice": "org", "Names an ontology": "org"}
    (item,) = [item for item in db.list_items() if item.title == "Twice"]
    assert (item.description, item.tags) == ("Better said.", ["x"])


@pytest.mark.req("RB-11")
def test_a_line_takes_no_memory_that_another_line_describes(tmp_path: Path, db: Any) -> None:
    """A reviewer copies a line to make two of it, and applies the file more than once."""
    path = tmp_path / "reviewed.jsonl"
    db.add(memory("One", STEPS, source_type="success", level="org"))
    write_candidates(db, path)
    (found,) = records(path)
    write(path, [{**found, "title": "Two"}, found])
    assert apply_candidates(path, db) == ReviewReport(changed=0, added=1, unchanged=1)
    assert apply_candidates(path, db) == ReviewReport(changed=0, added=0, unchanged=2)
    assert levels(db) == {"One": "org", "Two": "org"}
    write(path, [{**found, "title": "Three"}, {**found, "title": "Four"}])
    assert apply_candidates(path, db) == ReviewReport(
        changed=1, added=1, unchanged=0, not_mentioned=1
    )
    assert apply_candidates(path, db) == ReviewReport(
        changed=0, added=0, unchanged=2, not_mentioned=1
    )
    assert levels(db) == {"Two": "org", "Three": "org", "Four": "org"}


@pytest.mark.req("RB-11")
def test_two_edits_of_one_memory_leave_a_third_to_be_new(tmp_path: Path, db: Any) -> None:
    path = tmp_path / "reviewed.jsonl"
    first = memory("One", STEPS, source_type="success", level="org")
    db.add(first)
    write_candidates(db, path)
    (found,) = records(path)
    db.update(found["_memory_id"], title="Two")
    db.update(db.add(first), title="Three")
    write(path, [{**found, "title": "Four"}])
    assert apply_candidates(path, db) == ReviewReport(
        changed=0, added=1, unchanged=0, not_mentioned=2
    )
    assert levels(db) == {"Two": "org", "Three": "org", "Four": "org"}


@pytest.mark.req("RB-11")
def test_a_line_that_was_deleted_is_counted_and_its_memory_stays(tmp_path: Path, db: Any) -> None:
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    write_candidates(db, path)
    write(path, [{**records(path)[0], "title": "Fit for all"}])
    assert apply_candidates(path, db) == ReviewReport(
        changed=1, added=0, unchanged=0, not_mentioned=1
    )
    assert levels(db) == {"Fit for all": "org", "Names an ontology": "org"}
    write(path, [])
    assert apply_candidates(path, db).not_mentioned == 2


@pytest.mark.req("RB-11")
def test_candidates_are_known_by_the_memories_they_name(tmp_path: Path, db: Any) -> None:
    """Also after an edit, which gives a new id; not in another store, not once sealed, not for
    words in a text."""
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    write_candidates(db, path)
    assert is_review_of(path, db)
    with store(tmp_path / "other.db") as other:
        assert not is_review_of(path, other)
    found = records(path)
    write(path, [{"title": "New on top", "content": STEPS}, {**found[0], "title": "Fit for all"}])
    apply_candidates(path, db)
    assert db.get(found[0]["_memory_id"]) is None and is_review_of(path, db)
    named = found[1]["_memory_id"]
    write(
        path,
        [
            {
                "title": "Words",
                "content": f'"_memory_id":"{named}"',
                "provenance": {"_memory_id": named},
            }
        ],
    )
    assert not is_review_of(path, db)
    write(path, [{**found[1], "_memory_id": 5}, {**found[1], "unknown": 1}])
    assert not is_review_of(path, db), "what cannot be read is told by the import"
    write(path, found)
    seal_pack(path)
    assert not is_review_of(path, db)


@pytest.mark.req("RB-11")
def test_what_was_removed_comes_back_at_its_level(tmp_path: Path, db: Any) -> None:
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    write_candidates(db, path)
    found = records(path)
    assert found[0]["_level"] == "org"
    db.purge(found[0]["_memory_id"])
    assert apply_candidates(path, db) == ReviewReport(changed=0, added=1, unchanged=1)
    assert levels(db) == {"Fit to ship": "org", "Names an ontology": "org"}
    found[0]["_level"] = "everywhere"
    found[0]["title"] = "Another"
    del found[0]["_memory_id"]
    write(path, found)
    with pytest.raises(PackError, match="_level"):
        apply_candidates(path, db)


@pytest.mark.req("RB-11")
def test_a_new_line_with_the_words_of_a_shared_memory_makes_no_copy(
    tmp_path: Path, db: Any
) -> None:
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    kept = db.list_items()[0]
    write(path, [{"title": kept.title, "content": kept.content}])
    assert apply_candidates(path, db).added == 0
    assert levels(db) == {"Fit to ship": "org", "Names an ontology": "org"}
    assert db.get(kept.memory_id).description == kept.description, (
        "what the line does not say stays"
    )


@pytest.mark.req("RB-11")
def test_a_line_brings_back_what_was_archived_where_it_was(tmp_path: Path, db: Any) -> None:
    path = tmp_path / "reviewed.jsonl"
    shared(db)
    kept = db.list_items()[0]
    db.delete(kept.memory_id)
    write(path, [{"title": kept.title, "content": kept.content}])
    assert apply_candidates(path, db).added == 1
    assert levels(db) == {"Fit to ship": "org", "Names an ontology": "org"}


@pytest.mark.req("RB-11")
def test_a_reviewed_file_can_become_a_pack(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    with store(tmp_path / "m.db") as db:
        fill(db)
        write_candidates(db, path)
    manifest = seal_pack(path, name="team_v1")
    report = verify_pack(path)
    assert (report.ok, report.name, report.count, report.manifest) == (True, "team_v1", 3, True)
    assert manifest.count == 3
    path.write_text("nonsense\n")
    with pytest.raises(PackError, match="sha256"):
        seal_pack(path)
