"""The file itself: schema, versions, damage, permissions, space, locks."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from rlm.errors import (
    EngineUnfit,
    SchemaTooNew,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    ValidationError,
)
from rlm.store.open import open_store
from rlm.store.sql.database import COUNT_PATIENCE_S
from rlm.store.sqlite import connection, migrations
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.types import Judgment, Run, Tenant, Trajectory

SEED_COLUMNS = {
    "runs": "run_id created_at model ontology_name ontology_path notes",
    "trajectories": (
        "trajectory_id run_id task_query final_answer iteration_count converged artifact_json "
        "rlm_log_path created_at"
    ),
    "judgments": "trajectory_id is_success reason confidence missing_json",
    "memory_items": (
        "memory_id title description content source_type task_query created_at tags_json scope_json"
        " provenance_json access_count success_count failure_count outcome confidence last_used org"
        " team project level source_session trust origin embedding embedding_model"
    ),
    "memory_usage": "trajectory_id memory_id rank score",
    "nodes": (
        "id type subtype content embedding tier confidence provenance created_at updated_at"
        " last_accessed access_count metadata"
    ),
    "hyperedges": "id type label weight",
    "membership": "hyperedge_id node_id role position",
    "evolution_log": "id timestamp operation node_ids from_tier to_tier reasoning",
    "confidence_signals": "memory_id at kind delta reason",
    "distill_queue": "session_id outcome state attempts leased_until",
    "branches": "branch_id session_id parent_id depth budget_tokens",
    "packs": "name sha256 source",
}


@pytest.mark.req("RB-01", "SPEC-02.01", "SPEC-02.14")
@pytest.mark.parametrize("table", SEED_COLUMNS)
def test_every_table_has_the_seeds_columns(db, table):
    have = {row[1] for row in db.db.rows(f"PRAGMA table_info({table})")}
    assert set(SEED_COLUMNS[table].split()) <= have


@pytest.mark.req("SPEC-02.04")
def test_the_file_is_in_wal_mode_and_syncs_fully(db):
    assert db.db.value("PRAGMA journal_mode") == "wal"
    assert db.db.value("PRAGMA synchronous") == 2
    assert db.db.value("PRAGMA foreign_keys") == 1


def test_a_new_file_is_private(tmp_path):
    with open_store(tmp_path / "deep" / "er" / "m.db"):
        assert (tmp_path / "deep" / "er" / "m.db").stat().st_mode & 0o077 == 0


@pytest.mark.req("RB-01")
def test_a_fresh_file_is_at_the_newest_version_and_opening_again_changes_nothing(tmp_path):
    path = tmp_path / "m.db"
    with open_store(path) as db:
        assert db.db.value("PRAGMA user_version") == migrations.VERSION
    before = path.read_bytes()
    with open_store(path) as db:
        assert migrations.migrate(db.db) == 0
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "m.db"
    open_store(path).close()
    with apsw.Connection(str(path)) as other:
        other.pragma("user_version", migrations.VERSION + 1)
    other.close()
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match=r"to upgrade, run `pip install \.`"):
        open_store(path)
    assert path.read_bytes() == before


def test_an_older_file_is_backed_up_before_it_is_migrated(tmp_path, make_item):
    """A newer version is played by a step that is added for the test."""
    path = tmp_path / "m.db"
    with open_store(path) as db:
        kept = db.add(make_item())
        steps = (*migrations.MIGRATIONS, lambda con, fts5: con.execute("CREATE TABLE later(x)"))
        copy = Path(f"{path}.v{migrations.VERSION}.bak")
        assert not copy.exists()
        assert migrations.migrate(db.db, steps=steps) == 1
        assert db.db.value("SELECT count(*) FROM later") == 0
        assert db.db.value("PRAGMA user_version") == migrations.VERSION + 1
        assert db.get(kept)
    with open_store(copy) as old:
        assert old.get(kept)


def test_a_migration_that_fails_changes_nothing(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path) as db:
        kept = db.add(make_item())

        def broken(con, fts5):
            con.execute("CREATE TABLE later(x); DELETE FROM memory_items")
            raise ValueError("power cut")

        with pytest.raises(ValueError, match="power cut"):
            migrations.migrate(db.db, steps=(*migrations.MIGRATIONS, broken))
        assert db.db.value("PRAGMA user_version") == migrations.VERSION
        assert db.get(kept)
        assert db.db.value("SELECT count(*) FROM sqlite_schema WHERE name = 'later'") == 0


@pytest.mark.parametrize(
    "junk", [b"not a database, just text\n" * 50, b"\0" * 4096, os.urandom(8192)]
)
def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path, junk):
    path = tmp_path / "m.db"
    path.write_bytes(junk)
    with pytest.raises(StoreCorrupt, match=r"left as it is|another program"):
        open_store(path)
    assert path.read_bytes() == junk


def test_another_programs_database_is_refused_and_kept(tmp_path):
    path = tmp_path / "m.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks(url)")
    other.close()
    with pytest.raises(StoreCorrupt, match="another program"):
        open_store(path)
    with sqlite3.connect(path) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("bookmarks",)]
    other.close()


def test_damage_in_the_middle_is_an_error_of_ours(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path, embedder="none") as db:
        db.add_many(make_item(f"Item {n}", content="words " * 200) for n in range(300))
    size = path.stat().st_size
    with path.open("r+b") as file:
        for offset in range(8192, size - 4096, 4096):
            file.seek(offset)
            file.write(os.urandom(2048))
    with pytest.raises(StoreError) as caught, open_store(path, embedder="none") as db:
        db.list_items(limit=1000)
        db.retrieve("words", k=300)
    assert not isinstance(caught.value, apsw.Error)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_path_that_may_not_be_looked_at_is_an_error_of_ours(tmp_path):
    (tmp_path / "closed").mkdir(mode=0o700)

    def as_nobody():
        os.setgid(65534)
        os.setuid(65534)
        with pytest.raises(StoreReadOnly, match="cannot be opened: Permission denied"):
            open_store(tmp_path / "closed" / "m.db", embedder="none")

    assert in_child(as_nobody) == 0


@pytest.mark.parametrize("name", [":memory:", "sqlite::memory:", Path(":memory:")])
def test_memory_is_not_a_file_and_none_is_made(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        StoreError, match=r"':memory:' is not one: give a path; .* temporary folder"
    ):
        open_store(name)
    assert list(tmp_path.iterdir()) == []
    with open_store(tmp_path / ":memory:", embedder="none"):
        assert (tmp_path / ":memory:").exists(), "a path is a path"


def test_a_closed_store_says_so(tmp_path, make_item):
    db = open_store(tmp_path / "m.db", embedder="none")
    kept = db.add(make_item())
    rows = db.db.connection.execute("SELECT 1 UNION SELECT 2")
    db.close()
    for call in (
        lambda: db.get(kept),
        lambda: db.add(make_item("Other")),
        lambda: db.retrieve("class label"),
        lambda: db.graph.create_node("fact", "x"),
        lambda: db.stats(),
        lambda: db.backup(tmp_path / "copy.db"),
    ):
        with pytest.raises(StoreError, match=r"the store .*m\.db was closed: open it again"):
            call()
    with pytest.raises(StoreError, match="was closed"), connection.map_errors(db.db.path):
        next(rows)
    db.close()
    assert not (tmp_path / "copy.db").exists()


@pytest.mark.parametrize("lost", ["memory_items", "spaces", "recall_blocks"])
def test_a_store_that_lacks_a_table_says_what_to_run(tmp_path, make_item, lost):
    path = tmp_path / "m.db"
    with open_store(path, embedder="none") as db:
        db.add(make_item())
    with sqlite3.connect(path) as other:
        other.execute(f"DROP TABLE {lost}")
    other.close()
    with (
        open_store(path, embedder="none") as db,
        pytest.raises(StoreCorrupt, match=rf"{lost}\).*`rlm doctor --db"),
    ):
        db.retrieve("class label")


def test_what_is_no_damage_is_not_called_damage(db):
    with (
        pytest.raises(StoreError, match=r"cannot commit.*`rlm doctor --db") as caught,
        db.db.write() as made,
    ):
        made.execute("ROLLBACK")
    assert not isinstance(caught.value, StoreCorrupt)


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(StoreError, match="is a folder"):
        open_store(tmp_path)


def test_a_read_only_store_reads_and_says_why_it_does_not_write(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path) as db:
        kept = db.add(make_item())
    with open_store(path, read_only=True) as db:
        assert db.retrieve("class label")[0].item.memory_id == kept
        for write in (
            lambda: db.add(make_item("Other")),
            lambda: db.delete(kept),
            lambda: db.graph.create_node("fact", "x"),
        ):
            with pytest.raises(StoreReadOnly, match="read-only"):
                write()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_file_and_folder_without_permission_are_read(open_folder, make_item):
    """As a user who may read and not write: root ignores permissions, so a child becomes nobody."""
    folder = open_folder / "locked"
    path = folder / "m.db"
    with open_store(path, embedder="none") as db:
        db.add(make_item())
    for part in folder.iterdir():
        part.chmod(0o444)
    folder.chmod(0o555)

    def as_nobody():
        os.setgid(65534)
        os.setuid(65534)
        with open_store(path, embedder="none") as db:
            assert db.retrieve("class label")
            with pytest.raises(StoreReadOnly):
                db.add(make_item("Other"))

    try:
        assert in_child(as_nobody) == 0
    finally:
        folder.chmod(0o755)


def in_child(work):
    """Run `work` in a forked child; 0 when it did not raise."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            try:
                traceback.print_exc()
            finally:  # also where not even that can be written
                os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_full_disk_rolls_back_and_says_so(tmp_path, make_item):
    """The limit on the number of pages gives the same error as a full disk."""
    with open_store(tmp_path / "m.db", embedder="none") as db:
        kept = db.add(make_item())
        pages = db.db.value("PRAGMA page_count")
        db.db.value(f"PRAGMA max_page_count = {pages + 4}")
        with pytest.raises(StoreFull, match="no space left"):
            db.add_many(make_item(f"Item {n}", content="words " * 2000) for n in range(50))
        db.db.value("PRAGMA max_page_count = 1000000")
        assert [found.memory_id for found in db.list_items()] == [kept]
        assert db.add(make_item("Now it fits"))


def test_a_full_disk_leaves_the_old_json_file(tmp_path, make_item):
    """A limit on the size of files gives the same kind of error as a full disk."""
    path = tmp_path / "m.json"
    with open_store(f"json:{path}", embedder="none") as store:
        store.add(make_item())
    before = path.read_bytes()

    def write_too_much():
        store = open_store(f"json:{path}", embedder="none")
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
        with pytest.raises(StoreFull, match="the old file is intact"):
            store.add(make_item("Too large", content="x" * 10_000))
        assert len(store.memories) == 1

    assert in_child(write_too_much) == 0
    assert path.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def test_a_backup_that_cannot_be_written_says_so(db, tmp_path):
    with pytest.raises(StoreError, match="is the store itself"):
        db.backup(db.db.path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreReadOnly, match="cannot be written"):
        db.backup(tmp_path / "file" / "copy.db")


def test_a_copy_is_private_before_anything_is_in_it(tmp_path):
    """The copy waits for a source that is locked; while it waits it is looked at."""
    source, holder = (apsw.Connection(str(tmp_path / "source.db")) for _ in range(2))
    source.execute("CREATE TABLE kept(x); INSERT INTO kept VALUES (1)")
    holder.execute("BEGIN EXCLUSIVE")
    seen = []

    def look(tries):
        seen.extend(
            (path.stat().st_mode & 0o777, path.stat().st_size) for path in tmp_path.glob("copy.db*")
        )
        holder.execute("ROLLBACK")
        return True

    source.set_busy_handler(look)
    before = os.umask(0)
    try:
        migrations.copy_database(source, tmp_path / "copy.db")
    finally:
        os.umask(before)
    source.close(), holder.close()
    assert seen == [(0o600, 0)]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "source.db"]


def test_a_full_disk_leaves_nothing_of_a_copy(tmp_path, make_item):
    """A limit on the size of files gives the same kind of error as a full disk."""
    path = tmp_path / "m.db"
    db = open_store(path, embedder="none")
    db.add(make_item())
    before = sorted(tmp_path.iterdir())

    def copies():
        resource.setrlimit(resource.RLIMIT_FSIZE, (65_536, 65_536))
        with pytest.raises(StoreFull, match=r"copy\.db"):
            db.backup(tmp_path / "copy.db")
        steps = (*migrations.MIGRATIONS, lambda con, fts5: con.execute("CREATE TABLE later(x)"))
        with pytest.raises(StoreFull, match=rf"m\.db\.v{migrations.VERSION}\.bak"):
            migrations.migrate(db.db, steps=steps)
        assert db.db.value("PRAGMA user_version") == migrations.VERSION

    assert in_child(copies) == 0
    assert sorted(tmp_path.iterdir()) == before
    db.close()


def test_a_lock_held_elsewhere_is_an_error_in_time(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path, lock_timeout_s=0.2) as db:
        kept = db.add(make_item())
        code = (
            "import sys, time\nfrom rlm.store.open import open_store\n"
            f"db = open_store({str(path)!r}, embedder='none')\n"
            "with db.db.write():\n    print('held', flush=True); sys.stdin.readline()\n"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        with subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        ) as holder:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(
                StoreLocked, match=r"another process has been writing to .*m\.db for 0.2 s"
            ):
                db.add(make_item("Waiting"))
            assert db.retrieve("class label")[0].item.memory_id == kept, "readers do not wait"
            holder.communicate("\n")
        assert db.add(make_item("Waited"))


def test_a_foreign_sqlite_writer_is_waited_for_too(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path, lock_timeout_s=0.1) as db:
        other = apsw.Connection(str(path))
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match="locked by another process"):
            db.add(make_item())
        other.execute("ROLLBACK")
        other.close()
        assert db.add(make_item())


@contextmanager
def held_by_another_program(path):
    """A process that is no rlm holds SQLite's own write lock."""
    code = (
        f"import sqlite3, sys\ndb = sqlite3.connect({str(path)!r}, isolation_level=None);"
        " db.execute('BEGIN IMMEDIATE')\nprint('held', flush=True); sys.stdin.readline()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        yield
        holder.communicate("\n")


def test_nobody_waits_for_access_counts_while_another_program_writes(
    tmp_path, make_item, monkeypatch
):
    path = tmp_path / "m.db"
    monkeypatch.setattr("rlm.store.sql.backend.PENDING_ACCESSES", 1)
    with open_store(path, embedder="none", lock_timeout_s=60) as db:
        kept, node = db.add(make_item()), db.graph.create_node("fact", "Ships sail")
    db = open_store(path, embedder="none", lock_timeout_s=60)
    with held_by_another_program(path):
        started = time.monotonic()
        assert db.retrieve("class label")[0].item.memory_id == kept
        assert time.monotonic() - started < COUNT_PATIENCE_S, "a search does not wait at all"
        assert db.graph.get_node(node).access_count == 1
        db.close()
        assert time.monotonic() - started < 5
    with open_store(path, embedder="none") as db:
        assert db.get(kept).access_count == db.graph.get_node(node).access_count - 1 == 0, (
            "they are lost"
        )
        assert db.retrieve("class label")
        assert db.db.value("SELECT access_count FROM memory_items") == 1, "and later ones are not"


def test_a_search_and_closing_need_no_space_for_access_counts(tmp_path, make_item, monkeypatch):
    db = open_store(tmp_path / "m.db", embedder="none")
    kept, node = db.add(make_item()), db.graph.create_node("fact", "Ships sail")

    def on_a_full_disk():
        db.get(kept)  # the child opens the file again
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        with pytest.raises(StoreFull):
            db.add(make_item("Other words"))
        with monkeypatch.context() as patch:
            patch.setattr("rlm.store.sql.backend.PENDING_ACCESSES", 1)
            assert db.retrieve("class label")[0].item.memory_id == kept
        assert db.graph.get_node(node)
        db.graph.flush()
        assert db.retrieve("class label") and db.graph.get_node(node)
        db.close()

    assert in_child(on_a_full_disk) == 0
    assert db.get(kept).access_count == 0
    db.close()


def test_counts_do_not_end_the_change_that_a_search_is_part_of(tmp_path, make_item, monkeypatch):
    monkeypatch.setattr("rlm.store.sql.backend.PENDING_ACCESSES", 1)
    with open_store(tmp_path / "m.db", embedder="none") as db:
        kept = db.add(make_item())
        with db.together():
            db.retrieve("class label")
            assert db.db.value("SELECT access_count FROM memory_items") == 0, (
                "not within, where a failure would tell"
            )
        with db.db.read():
            before = db.list_items()
            db.retrieve("class label")
            with open_store(tmp_path / "m.db", embedder="none") as other:
                other.add(make_item("Other words"))
            assert db.list_items() == before, "the snapshot is as it was"
        db.retrieve("class label")
        assert db.get(kept).access_count == 3


def test_a_count_does_not_wait_for_another_thread(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        inside, go = threading.Event(), threading.Event()

        def write():
            with db.together():
                inside.set()
                go.wait(20)

        writer = threading.Thread(target=write)
        writer.start()
        assert inside.wait(20)
        assert db.db.offer(lambda con: pytest.fail("not now"), wait_s=0.01) is False
        go.set()
        writer.join()
        assert db.db.offer(lambda con: None, wait_s=0.01) is True


def test_an_old_sqlite_is_refused(monkeypatch):
    """The only stand-in in this file: a library version that cannot be installed beside the real
    one."""
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.51.2")
    with pytest.raises(EngineUnfit, match=r"SQLite 3.51.2 can lose committed data.*pip install"):
        connection.check_engine()


def test_network_file_systems_are_refused(tmp_path):
    mounts = f"/dev/sda / ext4 rw 0 0\nserver:/x {tmp_path} nfs4 rw 0 0\n"
    with pytest.raises(StoreError, match="network file system"):
        connection.refuse_network_file_system(tmp_path / "m.db", mounts)
    connection.refuse_network_file_system(tmp_path / "m.db", mounts.replace("nfs4", "ext4"))


def test_after_a_fork_both_sides_go_on(tmp_path, make_item):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add(make_item("Before the fork"))

        def work():
            db.add(make_item("From the child"))
            assert len(db.retrieve("fork child", k=9)) == 2

        assert in_child(work) == 0
        db.add(make_item("From the parent"))
        assert len(db.list_items()) == 3
        assert len(db.retrieve("fork child parent", k=9)) == 3


@pytest.mark.req("RB-01", "RB-18")
def test_one_run_writes_rows_in_all_five_tables(db, make_item):
    db.add(make_item("Search first"))
    hits = db.retrieve("search first")
    run = Run(model="m", ontology_name="prov", notes="n")
    trajectory = Trajectory(
        "What?", final_answer="A", iteration_count=2, converged=True, artifact={"key_steps": []}
    )
    db.save_artifacts(
        run, trajectory, Judgment(False, "no", "low", ["proof"]),
        memories=[make_item("Avoid this", source_type="failure")], retrieved=hits,
    )  # fmt: skip
    tables = ("runs", "trajectories", "judgments", "memory_items", "memory_usage")
    assert [db.db.value(f"SELECT count(*) FROM {t}") for t in tables] == [1, 1, 1, 2, 1]
    row = db.db.row("SELECT trajectory_id, memory_id, rank, score FROM memory_usage")
    assert row == (
        trajectory.trajectory_id,
        hits[0].item.memory_id,
        1,
        pytest.approx(hits[0].score),
    )
    assert db.db.row("SELECT is_success, confidence, missing_json FROM judgments") == (
        0,
        "low",
        '["proof"]',
    )
    assert db.db.row("SELECT iteration_count, converged FROM trajectories") == (2, 1)
    with pytest.raises(ValidationError, match="judgment confidence is 'sure'"):
        db.save_artifacts(Run(), Trajectory("Q"), Judgment(True, "r", "sure"))
    assert db.db.value("SELECT count(*) FROM runs") == 1


def test_confidence_changes_are_logged_and_clamped(db, make_item):
    kept = db.add(make_item(confidence=0.8))
    assert db.adjust_confidence(kept, +0.3, kind="helpful", reason="worked") == 1.0
    assert db.adjust_confidence(kept, -0.2, kind="not_helpful") == pytest.approx(0.8)
    db.update(kept, confidence=0.1)
    rows = db.db.rows(
        "SELECT kind, confidence_before, confidence_after, reason FROM confidence_signals ORDER"
        " BY 1"
    )
    assert rows == [
        ("edit", pytest.approx(0.8), 0.1, None),
        ("helpful", 0.8, 1.0, "worked"),
        ("not_helpful", 1.0, pytest.approx(0.8), None),
    ]


def test_access_counts_are_batched_and_survive_closing(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path) as db:
        kept = db.add(make_item())
        writes = db.db.writes
        for _ in range(5):
            db.retrieve("class label")
        assert db.db.writes == writes, "a search does not write"
    with open_store(path) as db:
        assert db.get(kept).access_count == 5


def test_usage_and_history_follow_an_edit(db, make_item):
    old = db.add(make_item("First words"))
    db.record_usage("t-1", db.retrieve("first words"))
    db.adjust_confidence(old, 0.1, kind="helpful")
    new = db.update(old, title="Second words").memory_id
    assert db.db.value("SELECT memory_id FROM memory_usage") == new
    assert db.db.value("SELECT memory_id FROM confidence_signals") == new


def test_the_vector_never_leaves_the_store(db, make_item):
    kept = db.add(make_item())
    assert db.db.value("SELECT length(embedding) FROM memory_items") == 512
    assert "embedding" not in db.get(kept).to_dict()


def fill_without_vectors(path, make_item):
    with open_store(path, embedder="none") as db:
        db.add_many(make_item(f"Item {n}", content=f"words {n}") for n in range(30))
        db.graph.create_node("fact", "a node")
        assert db.db.value("SELECT count(*) FROM memory_items WHERE embedding IS NULL") == 30


def test_a_new_model_re_embeds(tmp_path, make_item, monkeypatch):
    path = tmp_path / "m.db"
    fill_without_vectors(path, make_item)
    monkeypatch.setattr(
        "rlm.store.sql.reembed.AT_ONCE", 3
    )  # too many to do when the store is opened
    with open_store(path) as db:
        assert db.reembed() == 31
        assert db.reembed() == 0
        assert (
            db.db.value(
                "SELECT count(*) FROM memory_items WHERE embedding_model = ?", (db.embedder.model,)
            )
            == 30
        )
        assert db.retrieve("item words 7", explain=True)[0].why.cosine > 0


def test_a_store_catches_up_with_a_new_model_when_it_is_opened(tmp_path, make_item):
    path = tmp_path / "m.db"
    fill_without_vectors(path, make_item)
    with open_store(path) as db:
        assert db.retrieve("item words 7", explain=True)[0].why.cosine > 0
        assert db.reembed() == 0
        db.embedder.model = "another"
        db.update(db.retrieve("item words 7")[0].item.memory_id, title="Other words")
        db.embedder.model = "wordllama-l2-256-pool2"
        assert db.db.value("SELECT value FROM meta WHERE key = 'embedding_model'") == "another"
    with open_store(path, read_only=True) as db:
        assert (
            db.db.value("SELECT count(*) FROM memory_items WHERE embedding_model = 'another'") == 1
        )
    with open_store(path) as db:
        assert (
            db.db.value("SELECT count(*) FROM memory_items WHERE embedding_model = 'another'") == 0
        )
        assert (
            db.db.value("SELECT value FROM meta WHERE key = 'embedding_model'") == db.embedder.model
        )


def test_a_tenant_must_be_named_properly():
    for bad in ("", "  ", "a\nb", "x" * 201, None):
        with pytest.raises(ValidationError, match="tenant org"):
            Tenant(org=bad)


def test_two_threads_share_one_store(tmp_path, make_item):
    from concurrent.futures import ThreadPoolExecutor

    with open_store(tmp_path / "m.db") as db, ThreadPoolExecutor(4) as pool:

        def work(n):
            kept = db.add(make_item(f"Thread item {n}", content=f"unique{n} words"))
            return db.retrieve(f"unique{n}", k=1)[0].item.memory_id == kept

        assert all(pool.map(work, range(40)))
        assert db.stats()["memories"] == 40


def test_unknown_urls_are_refused_without_their_password():
    from rlm.errors import ConfigError

    with pytest.raises(ConfigError, match="this version knows") as caught:
        open_store("mysql://me:hunter2@host/db")
    assert "hunter2" not in str(caught.value)


def test_the_backend_can_be_made_directly(tmp_path):
    with SQLiteMemoryBackend(tmp_path / "m.db") as db:
        assert db.stats()["engine"]["semantic"] is None


def test_a_write_inside_a_write_that_fails_and_is_caught_leaves_nothing(tmp_path, make_item):
    def stream():
        for n in range(3_000):
            yield make_item(f"Title {n}")
        raise KeyError("the source broke")

    with open_store(tmp_path / "m.db", embedder="none") as db:
        with db.together():
            db.add(make_item("Before"))
            with pytest.raises(KeyError):
                db.add_many(stream())
            db.add(make_item("After"))
        assert {item.title for item in db.list_items(limit=9)} == {"Before", "After"}
        assert all(check.ok for check in db.check())


def test_a_backup_is_made_under_the_lock_and_none_is_replaced(tmp_path, make_item):
    path = tmp_path / "m.db"
    steps = (*migrations.MIGRATIONS, lambda con, fts5: con.execute("CREATE TABLE later(x)"))
    first = Path(f"{path}.v{migrations.VERSION}.bak")
    first.write_text("not a backup")
    with open_store(path, embedder="none") as db:
        kept = db.add(make_item())
        migrations.migrate(db.db, steps=steps)
    assert first.read_text() == "not a backup"
    with open_store(Path(f"{path}.v{migrations.VERSION}.2.bak"), embedder="none") as old:
        assert old.get(kept)
