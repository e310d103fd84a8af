"""What parts the tenants of a PostgreSQL store, and the three traps that a naive one falls into."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest
from psycopg import errors

from rlm.errors import StoreLocked
from rlm.store import gate
from rlm.store.open import open_store
from rlm.store.postgres import schema
from rlm.store.types import Judgment, NewPack, Run, Tenant, Trajectory

MINE, OTHERS = Tenant("acme", "web", "shop"), Tenant("acme", "web", "blog")
FOREIGN = Tenant("umbrella", "web", "shop")
ROWS = (*schema.BY_SPACE, *schema.BY_PARENT)
EVERY = (*ROWS, *schema.BY_ORG)


@pytest.fixture
def url(postgres_server):
    return postgres_server.empty_store()


def fill(url, tenant, make_item):
    """At least one row in every table; the ids of the memory and the token."""
    with open_store(url, tenant=tenant) as store:
        kept = store.add(make_item())
        made = Trajectory("q", run_id="r-1", trajectory_id="t-1")
        store.save_artifacts(Run(run_id="r-1"), made, Judgment(True, "it is right", "high"))
        store.record_usage("t-1", [(store.get(kept), 0.5)])
        store.adjust_confidence(kept, -0.1, kind="not_helpful")
        store.queue_session("agent", "s-1", {"a": 1})
        store.open_branch("s-1", "a branch", 10)
        packed = list(gate.admit_items([make_item("Packed")], tenant, origin="test"))
        store.add_pack(NewPack("p", "0" * 64, "here", None, "trusted"), [packed])
        first, second = (store.graph.create_node("fact", f"Ships sail {n}") for n in range(2))
        members = [{"node_id": first, "role": "subject"}, {"node_id": second, "role": "object"}]
        store.graph.create_edge("relation", "beside", members)
        token = f"{tenant.org}{tenant.project}"
        store.add_token(token, "name", "digest", read_only=False)
        with store.db.write() as connection:  # what an index beside the store would have noted
            space = store.spaces.find("project")
            sql = (
                "INSERT INTO index_spaces(space_id, collection, token, dim) VALUES (?, 'c', 't', 2)"
            )
            connection.execute(sql, (space,))
        store.add(make_item("Noted"))
    return kept, token


def counts(url, tables, **settings):
    """How many rows of each table a session with these settings sees."""
    with psycopg.connect(url, autocommit=True) as raw, raw.transaction():
        for name, value in settings.items():
            raw.execute("SELECT set_config(%s, %s, true)", (f"rlm.{name}", value))
        return {table: raw.execute(f"SELECT count(*) FROM rlm.{table}").fetchone()[0]
                for table in tables}  # fmt: skip


def test_every_table_is_behind_a_forced_wall(url, postgres_server):
    rows = postgres_server.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'rlm'::regnamespace AND relkind = 'r'"
        " AND NOT (relrowsecurity AND relforcerowsecurity)",
        url.split("?")[0].rpartition("/")[2],
    )
    assert rows == [("version",)]


def test_with_no_tenant_or_a_foreign_one_every_table_is_empty(url, make_item):
    fill(url, MINE, make_item)
    mine = {"org": "acme", "team": "web", "project": "shop"}
    assert all(counts(url, EVERY, **mine).values()), "the test must have filled every table"
    assert not any(counts(url, EVERY).values())
    assert not any(counts(url, EVERY, **{**mine, "org": "umbrella"}).values())
    assert not any(counts(url, EVERY, org="", team="", project="").values())
    assert not any(counts(url, ROWS, **{**mine, "project": "blog"}).values())
    assert not any(counts(url, ROWS, **{**mine, "team": "ops"}).values())
    assert not any(counts(url, EVERY, **{**mine, "org": "umbrella"}, reach="org").values())


@pytest.mark.parametrize("tenant", [OTHERS, FOREIGN])
def test_nobody_writes_into_anothers_space(url, make_item, tenant):
    fill(url, MINE, make_item)
    with open_store(url, tenant=MINE) as store:
        space = store.spaces.find("project")
    with open_store(url, tenant=tenant) as other:
        other.add(make_item("Of the other"))
        for sql in (
            "UPDATE memory_items SET title = 'x' WHERE space_id = ?",
            "DELETE FROM nodes WHERE space_id = ?",
            "DELETE FROM tokens WHERE space_id = ?",
        ):
            with other.db.write() as connection:
                assert connection.execute(sql, (space,)).rowcount == 0
        with pytest.raises(Exception) as caught, other.db.write() as connection:
            connection.execute("UPDATE memory_items SET space_id = ?", (space,))
        assert isinstance(caught.value.__cause__, errors.InsufficientPrivilege)
        sql = "SELECT * FROM find_words('memory', ?, ?, ?, '{}', '{}', 100, 9)"
        assert other.db.rows(sql, ([space], ["class"], [1.0])) == []
    with open_store(url, tenant=MINE) as store:
        found = store.db.rows(sql, ([space], ["class"], [1.0]))
        assert found, "the function finds one's own"
        assert store.list_items()[0].title != "x"


def test_a_token_is_found_whoever_asks_and_nothing_else_is(url, make_item):
    _, token = fill(url, MINE, make_item)
    with open_store(url, tenant=FOREIGN) as other:
        found = other.find_token(token)
        assert (found.org, found.project, found.digest) == ("acme", "shop", "digest")
        assert other.find_token("%") is None and other.tokens() == []


def test_the_settings_of_a_transaction_end_with_it(url, make_item):
    """A pool lends one connection to many: a right that stayed would be the next one's."""
    fill(url, MINE, make_item)
    with open_store(url, tenant=MINE) as store:
        store.other_projects()
        pool = store.db._pool
        with pool.connection() as raw:
            assert raw.execute("SELECT current_setting('rlm.org', true)").fetchone()[0] in (
                "",
                None,
            )
            assert raw.execute("SELECT count(*) FROM rlm.memory_items").fetchone()[0] == 0


def test_nothing_stays_on_a_connection(url, make_item):
    """Behind a pgbouncer that lends by the transaction, another client's statement of the same name
    would be in the way, and a timeout would be another program's."""
    with open_store(url, tenant=MINE) as store:
        for number in range(8):  # the driver would prepare what it has seen five times
            store.add(make_item(f"Sail {number}"))
            store.retrieve("sail")
        with store.db.read():
            assert store.db.value("SHOW statement_timeout") == "1min"
            assert store.db.value("SHOW idle_in_transaction_session_timeout") == "5min"
        with store.db._pool.connection() as raw:
            assert raw.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()[0] == 0
            assert raw.execute("SHOW statement_timeout").fetchone()[0] == "0"


def test_words_are_found_by_the_index_behind_the_wall(url, make_item, postgres_server):
    """Trap 1: under a policy PostgreSQL would read every row of a tenant."""
    name = url.split("?")[0].rpartition("/")[2]
    with open_store(url, tenant=MINE, embedder="none") as store:
        store.add_many(make_item(f"Title {n}", f"word{n} common") for n in range(300))

    def scans():
        return postgres_server.execute(
            "SELECT (SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE relname ="
            " 'recall_words'), (SELECT idx_scan FROM pg_stat_user_indexes WHERE"
            " indexrelname = 'recall_words_stems')", name)[0]  # fmt: skip

    before = scans()
    with open_store(url, tenant=MINE, embedder="none") as store:
        assert store.retrieve("word7")[0].item.title == "Title 7"
    # A server process hands in all of its counts at once, some time after its client has gone.
    until = time.monotonic() + 30
    while (after := scans())[1] == before[1] and time.monotonic() < until:
        time.sleep(0.05)
    assert after[0] == before[0] and after[1] > before[1]


def test_a_small_tenant_beside_a_large_one_gets_as_many_hits_as_it_asks_for(url, make_item):
    """Trap 2: an approximate index over all tenants gives most places to the others' rows."""
    text = "Sails of ships number {}"
    with open_store(url, tenant=FOREIGN) as other:
        other.add_many(make_item(f"Title {n}", text.format(n)) for n in range(400))
        model = other.embedder
    with open_store(url, tenant=MINE, embedder=model) as store:
        store.add_many(make_item(f"Mine {n}", text.format(n)) for n in range(20))
        assert store.index.lexical == "gin"
        with store.db.read() as connection:
            spaces = store.spaces.visible()
            found = store.index.candidates(connection, spaces).by_meaning(
                model.embed(["ships under sail"])[0], 20, []
            )
        assert len(found) == 20
        hits = store.retrieve("vessels", 20)
        assert {hit.item.title.partition(" ")[0] for hit in hits} <= {"Mine"}


def test_writers_of_one_organisation_take_turns_and_others_do_not_wait(url, make_item):
    """Trap 3: were numbers given out of turn, a mark would pass by a row that comes later."""
    entered, leave, done = threading.Event(), threading.Event(), []

    def slow():
        with open_store(url, tenant=MINE, embedder="none") as store, store.together():
            done.append(store.add(make_item("Slow")))
            entered.set()
            assert leave.wait(30)

    thread = threading.Thread(target=slow)
    thread.start()
    try:
        assert entered.wait(30)
        with open_store(url, tenant=OTHERS, embedder="none", lock_timeout_s=0.2) as store:
            with pytest.raises(StoreLocked, match="try again"):
                store.add(make_item("Quick"))
            marks = store.changed_since(0)
        with open_store(url, tenant=FOREIGN, embedder="none", lock_timeout_s=0.2) as foreign:
            assert foreign.add(make_item("Elsewhere"))
    finally:
        leave.set()
        thread.join()
    with open_store(url, tenant=MINE, embedder="none") as store:
        assert marks == ([], 0) and store.changed_since(marks[1])[0] == done
        assert store.changed_since(store.changed_since(0)[1])[0] == []


def test_a_search_counts_its_hits_while_another_writes(url, make_item, monkeypatch):
    monkeypatch.setattr("rlm.store.sql.backend.PENDING_ACCESSES", 1)
    with open_store(url, tenant=MINE) as store:
        kept = store.add(make_item())
        with open_store(url, tenant=OTHERS) as other, other.together():
            other.add(make_item("Of the other"))
            searched = []
            thread = threading.Thread(target=lambda: searched.extend(store.retrieve("class label")))
            thread.start()
            thread.join(20)
            assert [hit.item.memory_id for hit in searched] == [kept]
            count = "SELECT access_count FROM memory_items WHERE memory_id = ?"
            assert store.db.value(count, (kept,)) == 1


def test_two_workers_never_lease_the_same_job(url):
    with open_store(url, tenant=MINE, embedder="none") as store:
        for n in range(12):
            store.queue_session("agent", f"s-{n}", {})
        taken, lock = [], threading.Lock()

        def work():
            while (job := store.lease_job()) is not None:
                with lock:
                    taken.append(job.session_id)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        with store.db.write():  # the lock of the organisation holds nobody up
            for thread in threads:
                thread.join(30)
        assert sorted(taken) == sorted(f"s-{n}" for n in range(12))
