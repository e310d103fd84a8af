"""`rlm doctor` and `rlm backup`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from rlm import MemoryItem, open_store
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.sqlite.connection import PAGE_BYTES


def sqlite(db: str) -> SQLiteMemoryBackend:
    store = open_store(db, embedder="none")
    assert isinstance(store, SQLiteMemoryBackend)
    return store


def snapshot(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_sound_store_passes(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    report = rlm("doctor", "--db", db, "--json")
    assert report.code == 0 and report.json["ok"] is True
    found = report.json
    assert found["engine"]["lexical"] == "fts5" and found["engine"]["semantic"] is None
    assert found["counts"]["memories"] == 1 and found["db"]["bytes"] == Path(db).stat().st_size
    assert "core_v1" in found["packs"] and found["config"]["exists"] is False
    names = [check["name"] for check in found["checks"]]
    assert names[0] == "sqlite" and "rows" in names and "full-text index of memory_items" in names
    text = rlm("doctor", "--db", db)
    assert text.code == 0 and "WAL-reset" in text.out and "FAILED" not in text.out


@pytest.mark.parametrize("fix", [(), ("--fix",)])
def test_no_store_on_a_fresh_machine_is_no_fault(
    rlm: Run, home: Path, db: str, fix: tuple[str, ...]
) -> None:
    for line in (("doctor", *fix), ("doctor", *fix, "--db", db)):
        fresh = rlm(*line)
        assert fresh.code == 0 and "nothing is stored yet: `rlm memory add`" in fresh.out
    assert list(home.iterdir()) == [] and not Path(db).exists()


def test_a_folder_that_is_missing_is_a_fault_and_is_not_made(rlm: Run, tmp_path: Path) -> None:
    failed = rlm("doctor", "--db", str(tmp_path / "typo" / "x.db"))
    assert failed.code == 1 and f"mkdir -p {tmp_path / 'typo'}" in failed.out
    assert "FAILED" in failed.out and not (tmp_path / "typo").exists()


@pytest.mark.parametrize("fix", [(), ("--fix",)])
def test_a_file_that_is_no_store_is_reported_and_left_alone(
    rlm: Run, db: str, fix: tuple[str, ...]
) -> None:
    Path(db).write_bytes(b"These are not the bytes of a database. " * 200)
    before = snapshot(Path(db).parent)
    failed = rlm("doctor", "--db", db, "--json", *fix)
    assert failed.code == 1 and failed.json["ok"] is False
    assert "not a database" in failed.json["checks"][-1]["detail"]
    assert snapshot(Path(db).parent) == before


@pytest.mark.parametrize("fix", [(), ("--fix",)])
def test_damaged_pages_are_reported_and_left_alone(
    rlm: Run, add: Callable[..., str], db: str, fix: tuple[str, ...]
) -> None:
    add()
    with sqlite(db) as store:
        sql = (
            "SELECT rootpage FROM sqlite_schema WHERE name IN ('idx_items_confidence',"
            " 'evolution_log')"
        )
        pages = [row[0] - 1 for row in store.db.rows(sql)]
    data = bytearray(Path(db).read_bytes())
    for page in pages:  # the file still opens; only reading all of it shows the damage
        data[page * PAGE_BYTES : page * PAGE_BYTES + 64] = b"\xa5" * 64
    Path(db).write_bytes(data)
    for end in ("-lock", "-turn"):
        Path(f"{db}{end}").unlink()
    before = snapshot(Path(db).parent)
    failed = rlm("doctor", "--db", db, "--json", *fix)
    assert failed.code == 1 and failed.json["checks"][-1]["ok"] is False
    assert "recover" in failed.json["checks"][-1]["fix"]
    assert snapshot(Path(db).parent) == before


def test_a_damaged_file_keeps_the_journal_that_a_crash_left(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    """Opened as usual, SQLite would write the journal into the damaged file when it closes."""
    add()
    crashed, wal = tmp_path / "crashed.db", tmp_path / "crashed.db-wal"
    with sqlite(db) as store:
        page = (
            store.db.value("SELECT rootpage FROM sqlite_schema WHERE name = 'idx_nodes_tier'") - 1
        )
        store.add(MemoryItem("Written last", "", "Not yet in the file itself."))
        data = bytearray(Path(db).read_bytes())
        wal.write_bytes(Path(f"{db}-wal").read_bytes())
    data[page * PAGE_BYTES : page * PAGE_BYTES + 64] = b"\xa5" * 64
    crashed.write_bytes(data)
    journal = wal.read_bytes()
    assert journal
    assert rlm("doctor", "--db", str(crashed), "--fix").code == 1
    assert crashed.read_bytes() == data and wal.read_bytes() == journal


def test_commands_on_a_corrupt_file_say_so_in_one_line(rlm: Run, db: str) -> None:
    Path(db).write_bytes(b"garbage " * 1000)
    for line in (
        ("memory", "list"),
        ("memory", "add", "--title", "T", "--content", "c"),
        ("backup", "b.db"),
    ):
        failed = rlm(*line, "--db", db)
        assert failed.code == 2 and failed.out == "" and failed.err.startswith("error: ")
        assert failed.err.count("\n") == 1
    assert Path(db).read_bytes() == b"garbage " * 1000


def test_fix_mends_a_stale_full_text_index(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    with sqlite(db) as store:
        [trigger, *others] = [
            row
            for row in store.db.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
            if "memory_items" in row[1] and "UPDATE" in row[1]
        ]
        with store.db.write() as connection:
            for name, _ in (trigger, *others):
                connection.execute(f'DROP TRIGGER "{name}"')
            connection.execute("UPDATE memory_items SET description = 'Something else entirely'")
            for _, sql in (trigger, *others):
                connection.execute(sql)
    failed = rlm("doctor", "--db", db, "--json")
    assert failed.code == 1
    assert [check["fix"] for check in failed.json["checks"] if not check["ok"]] == [
        "rlm doctor --fix"
    ]
    mended = rlm("doctor", "--db", db, "--fix", "--json")
    assert mended.code == 0 and "rebuilt" in mended.json["fixed"][0]
    assert rlm("doctor", "--db", db).code == 0


def test_fix_gives_rows_the_vectors_of_the_present_model(
    rlm: Run, add: Callable[..., str], db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add()
    monkeypatch.setenv("RLM_EMBEDDER", "static")
    monkeypatch.setattr(
        "rlm.store.sql.reembed.AT_ONCE", 0
    )  # a large store, which does not catch up by itself
    stale = rlm("doctor", "--db", db, "--json")
    assert stale.code == 1 and [c["name"] for c in stale.json["checks"] if not c["ok"]] == [
        "vectors"
    ]
    mended = rlm("doctor", "--fix", "--db", db, "--json")
    assert mended.code == 0 and "1 rows" in mended.json["fixed"][0]
    assert "answers" in next(c["detail"] for c in mended.json["checks"] if c["name"] == "model")


def test_a_json_store_can_be_examined(rlm: Run, home: Path, tmp_path: Path) -> None:
    db = f"json:{tmp_path / 's.json'}"
    rlm("memory", "add", "--db", db, "--title", "T", "--content", "c")
    written = (tmp_path / "s.json").read_text("utf-8")
    tidied = written.replace("\n ", "\n  ")
    (tmp_path / "s.json").write_text(tidied, "utf-8")
    assert rlm("doctor", "--db", db, "--json").json["engine"]["store"] == "json"
    assert (tmp_path / "s.json").read_text("utf-8") == tidied, "nothing is changed by looking"
    for junk, said in (
        ("{", "line 1 column 2"),
        (
            written.replace('"confidence": 0.8', '"confidence": "x"'),
            "memories[0]: confidence is 'x",
        ),
        (written.replace('"spaces": [', '"spaces": [1, '), "(spaces[0] is 1"),
    ):
        (tmp_path / "s.json").write_text(junk, "utf-8")
        failed = rlm("doctor", "--db", db, "--json")
        check = failed.json["checks"][-1]
        assert failed.code == 1 and not check["ok"] and said in check["detail"]
        assert "text editor" in check["fix"] and "recover" not in check["fix"]
        assert (tmp_path / "s.json").read_text("utf-8") == junk


def test_backup_copies_and_does_not_overwrite(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path
) -> None:
    found, copy = add(), str(tmp_path / "copy.db")
    assert rlm("backup", copy, "--db", db).out.strip() == copy
    assert rlm("memory", "show", found, "--db", copy).code == 0
    refused = rlm("backup", copy, "--db", db)
    assert refused.code == 2 and "--force" in refused.err
    assert rlm("backup", copy, "--db", db, "--force", "--json").json["bytes"] > 0
    assert rlm("backup", db, "--db", db, "--force").code == 2
    assert rlm("backup", str(tmp_path), "--db", db).code == 2


def test_a_command_and_the_worker_give_rows_the_vectors_of_a_new_model(
    rlm: Run, add: Callable[..., str], db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add()
    assert "words only" in rlm("store", "reembed", "--db", db).out
    monkeypatch.setenv("RLM_EMBEDDER", "static")
    monkeypatch.setattr("rlm.store.sql.reembed.AT_ONCE", 0)
    assert rlm("store", "reembed", "--db", db, "--json").json["rows"] == 1
    assert rlm("store", "reembed", "--db", db, "--json").json["rows"] == 0
    monkeypatch.setenv("RLM_EMBEDDER", "none")
    add("Another one")
    monkeypatch.setenv("RLM_EMBEDDER", "static")
    assert "1 row got a vector" in rlm("worker", "--db", db).err
    assert "got a vector" not in rlm("worker", "--db", db).err
    assert rlm("doctor", "--db", db).code == 0
