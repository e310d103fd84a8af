"""Rows that SQLite stores and no memory or node can be made of: an error of ours that says which
one."""

from __future__ import annotations

from contextlib import closing

import apsw
import pytest

from rlm.errors import StoreCorrupt
from rlm.store.open import open_store
from rlm.store.sql import reembed
from rlm.store.sqlite import rowcheck, schemacheck
from rlm.store.types import Run, Scope, Trajectory


@pytest.fixture
def plain(tmp_path):
    """A store that goes by words only: quick to make."""
    with open_store(tmp_path / "plain.db", embedder="none") as store:
        yield store


def set_sql(db, sql):
    with db.db.write() as connection:
        connection.pragma("ignore_check_constraints", True)
        connection.execute(sql)
        connection.pragma("ignore_check_constraints", False)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tags_json", "'[oops'"),
        ("tags_json", "'{}'"),
        ("tags_json", "'[1]'"),
        ("tags_json", "'" + "[" * 5_000 + "'"),
        ("scope_json", "'{'"),
        ("scope_json", """'{"who": 1}'"""),
        ("scope_json", "'7'"),
        ("provenance_json", "'null'"),
        ("description", "x'00'"),
        ("task_query", "x'00'"),
        ("access_count", "'many'"),
        ("confidence", "'high'"),
        ("origin", "x''"),
    ],
)
def test_reading_a_damaged_memory_names_table_row_and_column(plain, make_item, column, value):
    kept = plain.add(make_item())
    set_sql(plain, f"UPDATE memory_items SET {column} = {value}")
    for read in (lambda: plain.get(kept), plain.list_items):
        with pytest.raises(
            StoreCorrupt, match=rf"memory_items: {column} of memory {kept} .*rlm doctor"
        ):
            read()
    [found] = rowcheck.damaged_memories(plain.db)
    assert found.name == kept and f"{column} of memory {kept} " in found.what
    assert (
        plain.delete(kept) is True
        and plain.purge(kept) is True
        and not list(rowcheck.damaged_memories(plain.db))
    )


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("metadata", "'{'"),
        ("metadata", "'[]'"),
        ("content", "x'00'"),
        ("access_count", "'x'"),
        ("confidence", "x''"),
    ],
)
def test_reading_a_damaged_node_names_table_row_and_column(plain, column, value):
    kept = plain.graph.create_node("fact", "The sky is blue.")
    set_sql(plain, f"UPDATE nodes SET {column} = {value}")
    for read in (lambda: plain.graph.get_node(kept), plain.graph.query_nodes):
        with pytest.raises(StoreCorrupt, match=rf"nodes: {column} of node {kept} .*rlm doctor"):
            read()
    [found] = rowcheck.damaged_nodes(plain.db)
    assert f"{column} of node {kept} " in found.what
    assert plain.graph.purge_node(kept) is True


@pytest.mark.parametrize(
    ("sql", "ask"),
    [
        ("UPDATE memory_items SET content = x'ff'", lambda db: db.retrieve("class label")),
        (
            "UPDATE memory_items SET scope_json = '{'",
            lambda db: db.retrieve("class label", scope=Scope(tools=("x",))),
        ),
        ("UPDATE memory_items SET last_used = 'never'", lambda db: db.retrieve("class label")),
        ("UPDATE memory_items SET content = CAST(x'ff' AS TEXT)", lambda db: db.list_items()),
        ("UPDATE memory_items SET tags_json = '['", lambda db: db.list_items(tag="x")),
        ("UPDATE nodes SET content = CAST('the sky' AS BLOB)", lambda db: db.graph.search("sky")),
        ("UPDATE trajectories SET artifact_json = '['", lambda db: db.recent_runs()),
        ("UPDATE evolution_log SET node_ids = '['", lambda db: db.graph.evolution()),
    ],
)
def test_whoever_meets_a_damaged_row_gets_an_error_of_ours(plain, make_item, sql, ask):
    plain.add(make_item())
    plain.graph.create_node("fact", "The sky is blue.")
    plain.save_artifacts(Run(), Trajectory("Why is the sky blue?"))
    set_sql(plain, sql)
    with pytest.raises(StoreCorrupt, match="rlm doctor"):
        ask(plain)


def test_only_what_is_damaged_is_found(plain, make_item):
    ids = plain.add_many(make_item(f"Title {n}") for n in range(8))
    assert not list(rowcheck.damaged_memories(plain.db))
    set_sql(plain, "UPDATE memory_items SET tags_json = '[' WHERE item_no = 2")
    set_sql(plain, "UPDATE memory_items SET description = CAST(x'80' AS TEXT) WHERE item_no = 5")
    set_sql(plain, "UPDATE memory_items SET memory_id = x'00' WHERE item_no = 8")
    found = list(rowcheck.damaged_memories(plain.db))
    assert [(row.number, row.name) for row in found] == [(2, ids[1]), (5, ids[4]), (8, None)]
    assert "not UTF-8" in found[1].what and "memory_id of memory" in found[2].what


def test_an_archived_node_that_is_damaged_is_in_nobodys_way(plain):
    kept = plain.graph.create_node("fact", "The sky is blue.")
    set_sql(plain, "UPDATE nodes SET metadata = '{'")
    assert (
        plain.graph.delete_node(kept, reasoning="damaged") is True
        and plain.graph.delete_node(kept) is False
    )
    assert plain.graph.search("sky") == [] and not list(rowcheck.damaged_nodes(plain.db))
    assert (plain.graph.evolution()[0].to_tier, plain.graph.evolution()[0].reasoning) == (
        "archive",
        "damaged",
    )


def test_a_store_without_full_text_search_has_a_sound_schema(tmp_path):
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    with SQLiteMemoryBackend(tmp_path / "plain.db", fts5=False) as store:
        assert all(check.ok for check in store.check())
        assert schemacheck.mend(store.db) == ()


def test_a_vector_that_the_model_cannot_give_is_asked_for_once(db, make_item):
    """A model that sends another length than it says would else be asked for ever."""

    class Liar:
        model, dim = db.embedder.model, 3

        def embed_documents(self, documents):
            return db.embedder.embed_documents(documents)

    db.add_many(make_item(f"Title {n}") for n in range(3))
    assert reembed.stale_count(db.db, db.embedder) == 0 and reembed.stale_count(db.db, Liar()) == 3
    assert reembed.reembed(db.db, Liar(), db.indexes) == 3


def test_a_damaged_node_is_not_embedded(db):
    db.graph.create_node("fact", "The sky is blue.")
    set_sql(db, "UPDATE nodes SET embedding = NULL, content = x'ff'")
    with pytest.raises(StoreCorrupt, match=r"nodes: content of row 1 .*rlm doctor"):
        db.reembed()


def test_a_row_that_refers_to_nothing_is_found_with_what_to_do(tmp_path):
    open_store(tmp_path / "m.db", embedder="none").close()
    with closing(
        apsw.Connection(str(tmp_path / "m.db"))
    ) as other:  # another program: it checks no references
        other.execute("INSERT INTO pack_items(pack_no, memory_id, item_no) VALUES (99, 'x', 1)")
    with open_store(tmp_path / "m.db", embedder="none") as db:
        [found] = [check for check in db.check() if not check.ok]
    assert (
        found.name == "references"
        and "first in pack_items" in found.detail
        and found.fix == "restore a backup"
    )
