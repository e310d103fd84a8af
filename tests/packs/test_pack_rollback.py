"""A rollback takes back what the import added and nobody has changed, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from pack_making import memories, memory, state, store, write_pack

from rlm.errors import NotFound
from rlm.packs import import_pack, list_packs, rollback_pack


@pytest.mark.req("RB-14")
def test_rollback_archives_what_the_import_added(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(5))
    with store(tmp_path / "m.db") as db:
        mine = [memory("My own"), memories(1)[0]]
        db.add_many(mine)
        import_pack(path, db, trust=True)
        report = rollback_pack(db, "p")
        assert (report.archived, report.kept) == (4, ())
        assert {item.memory_id for item in db.list_items()} == {item.memory_id for item in mine}
        assert all(hit.item.title != "Lesson number 3" for hit in db.retrieve("Lesson number 3", 5))
        assert list_packs(db)[0].rolled_back_at


@pytest.mark.req("RB-14")
def test_rolling_back_twice_does_nothing_more(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, trust=True)
        rollback_pack(db, "p")
        before = state(db)
        assert rollback_pack(db, "p").archived == 0
        assert state(db) == before


@pytest.mark.req("RB-14")
def test_what_somebody_changed_stays_and_is_named(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(5))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, trust=True)
        tagged, reworded, archived, purged, _ = (item.memory_id for item in memories(5))
        db.update(tagged, tags=["mine"])
        renamed = db.update(reworded, content="- another way altogether").memory_id
        db.delete(archived)
        db.purge(purged)
        report = rollback_pack(db, "p")
        assert report.archived == 1
        assert set(report.kept) == {tagged, renamed}
        assert {item.memory_id for item in db.list_items()} == {tagged, renamed}


@pytest.mark.req("RB-14")
def test_use_and_feedback_are_no_change(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, trust=True)
        item = db.retrieve("Lesson number 1", 1)[0].item
        db.record_usage("t-1", [(item, 0.5)])
        db.adjust_confidence(item.memory_id, -0.2, kind="feedback")
        assert rollback_pack(db, "p").archived == 2


@pytest.mark.req("RB-14")
def test_importing_after_a_rollback_brings_the_memories_back_with_their_counts(
    tmp_path: Path,
) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(3))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, trust=True)
        assert db.retrieve("Lesson number 1", 1)
    with store(tmp_path / "m.db") as db:
        archived_by_me = memories(3)[2].memory_id
        db.delete(archived_by_me)
        rollback_pack(db, "p")
        report = import_pack(path, db, trust=True)
        assert (report.added, report.present) == (2, 1)
        assert db.retrieve("Lesson number 1", 1)[0].item.title == "Lesson number 1"
        found = db.get(memories(2)[1].memory_id)
        assert found is not None and found.access_count >= 1
        assert [row.added_count for row in list_packs(db)] == [3, 2]
        assert rollback_pack(db, "p").archived == 2


@pytest.mark.req("RB-14")
def test_by_number_only_that_import(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    with store(tmp_path / "m.db") as db:
        first = import_pack(write_pack(path, memories(2)), db, trust=True)
        second = import_pack(write_pack(path, memories(5)), db, trust=True)
        assert (first.added, second.added) == (2, 3)
        assert rollback_pack(db, second.pack_no or 0).archived == 3
        assert len(db.list_items()) == 2
        assert rollback_pack(db, str(first.pack_no)).archived == 2


@pytest.mark.req("RB-14")
def test_by_name_every_import_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    with store(tmp_path / "m.db") as db:
        import_pack(write_pack(path, memories(2)), db, trust=True)
        import_pack(write_pack(path, memories(5)), db, trust=True)
        report = rollback_pack(db, "p")
        assert (report.archived, report.pack_nos) == (5, (1, 2))


@pytest.mark.req("RB-14")
def test_an_unknown_pack_names_the_known_ones(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(1))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db)
        for wrong in ("q", 7, "7"):
            with pytest.raises(NotFound, match="known: p"):
                rollback_pack(db, wrong)


@pytest.mark.req("RB-14")
def test_a_later_pack_that_lifted_a_memory_owns_it(tmp_path: Path) -> None:
    first = write_pack(tmp_path / "a.jsonl", memories(2))
    second = write_pack(tmp_path / "b.jsonl", memories(3))
    with store(tmp_path / "m.db") as db:
        import_pack(first, db)
        assert import_pack(second, db, trust=True).added == 3
        assert rollback_pack(db, "a").archived == 0
        assert len(db.retrieve("Lesson number", 5)) == 3
        assert rollback_pack(db, "b").archived == 3
