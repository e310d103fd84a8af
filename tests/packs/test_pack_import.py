"""Importing adds what is absent, marks it, and is all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pack_making import line, memories, memory, pack_bytes, state, store, write_pack

from rlm.errors import NotFound, PackError, StoreReadOnly, ValidationError
from rlm.packs import export_pack, import_pack, list_packs, rollback_pack
from rlm.store.jsonfile import MemoryStore
from rlm.store.types import Tenant


@pytest.mark.req("RB-14")
def test_what_is_imported_is_marked(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(3, provenance={"trajectory_id": "t-9"}))
    with store(tmp_path / "m.db") as db:
        report = import_pack(path, db, trust=True)
        found = db.list_items(provenance={"pack": "p"})
    assert (report.name, report.count, report.added, report.present) == ("p", 3, 3, 0)
    assert len(found) == 3
    for item in found:
        assert (item.source_type, item.provenance["source"], item.origin) == (
            "pack",
            "pack",
            "pack:p",
        )
        assert item.provenance["trajectory_id"] == "t-9"
        assert item.provenance["exported_in_pack"] == "p"


@pytest.mark.req("RB-05", "RB-14")
@pytest.mark.parametrize("trust", [True, False])
def test_importing_twice_changes_nothing(tmp_path: Path, trust: bool) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(5))
    with store(tmp_path / "m.db") as db:
        first = import_pack(path, db, trust=trust)
        before = state(db)
        second = import_pack(path, db, trust=trust)
        assert state(db) == before
    assert (second.added, second.present, second.pack_no) == (0, 5, first.pack_no)


@pytest.mark.req("RB-05", "RB-14")
def test_what_is_there_already_stays_as_it_is(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(4))
    with store(tmp_path / "m.db") as db:
        mine = memories(1)[0]
        mine.description, mine.tags = "My own words.", ["mine"]
        db.add(mine)
        before = db.get(mine.memory_id)
        report = import_pack(path, db, trust=True)
        assert (report.added, report.present) == (3, 1)
        assert db.get(mine.memory_id) == before
        assert list_packs(db)[0].added_count == 3


@pytest.mark.req("RB-14")
def test_what_a_person_archived_stays_archived(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, trust=True)
        gone = memories(1)[0].memory_id
        db.delete(gone)
        assert import_pack(path, db, trust=True).added == 0
        item = db.get(gone)
        assert item is not None and item.archived_at


@pytest.mark.req("RB-14")
def test_the_import_is_on_record(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    with store(tmp_path / "m.db") as db:
        report = import_pack(path, db)
        (row,) = list_packs(db)
    assert (row.pack_no, row.name, row.sha256, row.source) == (
        report.pack_no,
        "p",
        report.sha256,
        str(path),
    )
    assert (row.item_count, row.added_count, row.trust, row.rolled_back_at) == (
        2,
        2,
        "quarantined",
        None,
    )
    assert "space_id" not in row.to_dict()


@pytest.mark.req("RB-14")
def test_more_than_one_chunk_and_progress(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(4_100))
    told: list[int] = []
    with store(tmp_path / "m.db") as db:
        assert import_pack(path, db, trust=True, on_progress=told.append).added == 4_100
        assert db.retrieve("Lesson number 4077", 1)[0].item.title == "Lesson number 4077"
        assert db.stats()["memories"] == 4_100
    assert told == sorted(told) and told[-1] == 4_100 and len(told) >= 2


@pytest.mark.req("RB-14")
def test_a_failure_in_a_later_chunk_takes_the_earlier_ones_back(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(pack_bytes(memories(2_500)) + b"{}\n")
    with store(tmp_path / "m.db") as db:
        before = state(db)
        with pytest.raises(PackError) as caught:
            import_pack(path, db)
        assert caught.value.line == 2_501
        assert state(db) == before
        db.add(memory())  # and the store goes on working


@pytest.mark.req("RB-14")
def test_a_pack_that_changes_while_it_is_read(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(8_000))

    def meddle(done: int) -> None:
        with path.open("ab") as file:
            file.write(line(title=f"After {done}"))

    with store(tmp_path / "m.db") as db:
        before = state(db)
        with pytest.raises(PackError, match="changed while"):
            import_pack(path, db, on_progress=meddle)
        assert state(db) == before


@pytest.mark.req("RB-14")
def test_secrets_are_scrubbed_on_the_way_in(tmp_path: Path) -> None:
    secret = "ghp_" + "aB3" * 12
    item = memory(content=f"- call it with {secret}")
    raw = pack_bytes(
        [memory()]
    )  # the gate scrubs what pack_bytes makes, so the line is made by hand
    path = tmp_path / "p.jsonl"
    path.write_bytes(raw + line(title=item.title, content=item.content, memory_id=item.memory_id))
    with store(tmp_path / "m.db") as db:
        report = import_pack(path, db, trust=True)
        assert (report.added, report.scrubbed) == (2, 1)
        assert all(secret not in found.content for found in db.list_items())
        assert import_pack(path, db, trust=True).added == 0


@pytest.mark.req("RB-14")
def test_a_level_and_a_tenant(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(2))
    other = Tenant("local", "local", "other")
    stranger = Tenant("elsewhere")
    with store(tmp_path / "m.db") as db:
        import_pack(path, db, level="team", trust=True)
        assert {item.level for item in db.list_items()} == {"team"}
    with store(tmp_path / "m.db", tenant=other) as db:
        assert len(list_packs(db)) == 1 and len(db.list_items()) == 2
    with store(tmp_path / "m.db", tenant=stranger) as db:
        assert list_packs(db) == [] and db.list_items() == []
        with pytest.raises(NotFound, match="none was imported"):
            rollback_pack(db, "p")
        assert import_pack(path, db, trust=True).added == 2
    with store(tmp_path / "m.db") as db, pytest.raises(ValidationError, match="level"):
        import_pack(path, db, level="galaxy")


@pytest.mark.req("RB-14", "RB-20")
def test_a_json_store_takes_packs_too(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(3))
    with MemoryStore.open(tmp_path / "m.json") as db:
        report = import_pack(path, db, trust=True)
        assert (report.added, report.pack_no) == (3, 1)
        assert import_pack(path, db, trust=True).added == 0
        assert {item.source_type for item in db.list_items()} == {"pack"}
        assert [row.name for row in list_packs(db)] == ["p"]
        export_pack(db, tmp_path / "q.jsonl", name="p")
        path.write_bytes(path.read_bytes() + b"{}\n")
        before = db.list_items()
        with pytest.raises(PackError):
            import_pack(path, db)
        assert db.list_items() == before
    with store(tmp_path / "m.db") as db:
        assert import_pack(tmp_path / "q.jsonl", db).added == 3


@pytest.mark.req("RB-14")
def test_a_read_only_store(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", memories(1))
    store(tmp_path / "m.db").close()
    with store(tmp_path / "m.db", read_only=True) as db, pytest.raises(StoreReadOnly):
        import_pack(path, db)


@pytest.mark.req("RB-14")
def test_an_empty_file_is_no_pack_unless_its_manifest_says_so(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", [])
    with store(tmp_path / "m.db") as db:
        assert import_pack(path, db).count == 0
        (tmp_path / "p.manifest.json").unlink()
        with pytest.raises(
            PackError, match="is empty, it holds no memory: get it again, or export it again"
        ):
            import_pack(path, db)
