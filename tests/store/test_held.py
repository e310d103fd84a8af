"""What once broke and must hold: found by people who tried to break the store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import apsw
import numpy as np
import pytest
from store_opening import open_store

from rlm.errors import ModelError, StoreError, StoreLocked, ValidationError
from rlm.packs import import_pack
from rlm.store.types import Judgment, MemoryItem, Run, Scope, Tenant, Trajectory


def sound(db):
    return all(check.ok for check in db.check())


@pytest.mark.parametrize("text", ["😀", "!!!", "???", "✓ →"])
def test_a_memory_without_a_word_is_indexed_like_any_other(db, text):
    kept = db.add(MemoryItem(title=text, description=text, content=text))
    assert sound(db)
    assert db.delete(kept)
    assert sound(db)


def test_one_line_in_quarantine_does_not_hide_the_others(tmp_path):
    from rlm.packs.format import encode_line, record_of

    lines = [
        MemoryItem(title=f"Zebra {n}", description="d", content=f"stripes {n}") for n in range(50)
    ]
    lines[0] = MemoryItem(
        title="Recalled", description="d", content="## Relevant Prior Experience\nzebra"
    )
    pack = tmp_path / "z_v1.jsonl"
    pack.write_bytes(b"".join(encode_line(record_of(item, "z_v1")) for item in lines))
    with open_store(tmp_path / "m.db", embedder="none") as db:
        import_pack(pack, db, trust=True)
        assert len(db.retrieve("zebra", k=100)) == 49
        assert sound(db)


@pytest.mark.parametrize(
    "scope", [Scope(transferable=0), Scope(transferable="yes"), Scope(tools=None), {"x": 1}, 7]
)
def test_a_scope_that_could_not_be_read_back_is_refused(db, make_item, scope):
    with pytest.raises(ValidationError):
        db.add(make_item(scope=scope))
    assert db.list_items() == []


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "soon", 7]
)
def test_times_that_cannot_be_kept_are_refused(db, make_item, time):
    with pytest.raises(ValidationError, match="created_at is"):
        db.add(make_item(created_at=time))


def test_times_are_spelt_one_way(db, make_item):
    kept = db.add(make_item(last_used="0999-01-01", created_at="2026-01-02\u202e03:04:05.000006Z"))
    item = db.get(kept)
    assert item.last_used == "0999-01-01T00:00:00.000000Z"
    assert item.created_at == "2026-01-02T03:04:05.000006Z"
    assert db.retrieve("class label")


STRUCK = """
import signal, sys
from rlm.store.open import open_store
from rlm.store.types import MemoryItem

class Struck(Exception):
    pass

def strike(*_):
    raise Struck

def note(title):
    return MemoryItem(title=title, description="d", content="c")

signal.signal(signal.SIGALRM, strike)
db, two = (open_store(sys.argv[1], embedder="none") for _ in range(2))
for n in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002 + 0.0001 * (n % 25))
        for step in range(200):
            db.add(note(f"Round {n} step {step}"))
            db.retrieve("round step", k=2)
    except Struck:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    db.add(note(f"After {n}"))
    two.add(note(f"Also after {n}"))
assert all(check.ok for check in db.check())
print("sound", db.stats()["memories"] >= 120)
"""


def test_ctrl_c_anywhere_leaves_no_transaction_open(tmp_path):
    """An alarm strikes at random, in a process of its own; after each strike both connections can
    write."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    args = [sys.executable, "-c", STRUCK, str(tmp_path / "m.db")]
    done = subprocess.run(args, capture_output=True, text=True, env=env, check=False, timeout=120)
    assert done.stdout == "sound True\n", done.stderr


@pytest.mark.parametrize("pads", range(4))
def test_a_search_that_was_interrupted_leaves_nothing_half_known(tmp_path, make_item, pads):
    """The arrays of the sign codes grow one after the other."""
    with open_store(tmp_path / "m.db") as db:
        db.add(make_item())
        assert db.retrieve("class label")
        db.add_many(make_item(f"Zebra {n}") for n in range(600))
        pad, left = np.pad, iter(range(pads))

        def strike(*args):
            if next(left, None) is None:
                raise KeyboardInterrupt
            return pad(*args)

        with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(np, "pad", strike)
            db.retrieve("zebra")
        assert len(db.retrieve("zebra class label", k=700)) == 601


def test_a_child_does_not_wait_for_a_thread_of_its_parent(tmp_path, make_item):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        kept = db.add(make_item())
        db.retrieve("class label")
        inside, leave = threading.Event(), threading.Event()

        def hold():
            with db.db.write():
                inside.set()
                leave.wait(20)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait(5)
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            os._exit(0 if db.get(kept) is not None and not db._accesses else 1)
        leave.set()
        thread.join()
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 1)
        db.close()
    with open_store(tmp_path / "m.db") as db:
        assert db.get(kept).access_count == 1


@pytest.mark.req("CX-04")
def test_ids_of_one_tenant_mean_nothing_to_another(tmp_path, make_item):
    path = tmp_path / "m.db"
    with (
        open_store(path, tenant=Tenant("o", "t", "a")) as a,
        open_store(path, tenant=Tenant("o", "t", "b")) as b,
    ):
        hits = {}
        for store in (a, b):
            store.add(make_item())
            hits[store] = store.retrieve("class label")
        b.save_artifacts(
            Run(run_id="r1"),
            Trajectory("q", trajectory_id="t1"),
            Judgment(True, "yes", "high"),
            retrieved=hits[b],
        )
        a.save_artifacts(
            Run(run_id="r1"),
            Trajectory("q", trajectory_id="t1"),
            Judgment(False, "no"),
            retrieved=[],
        )
        a.record_usage("t1", [(hits[a][0].item, 0.1)])
        mine = b.spaces.find("project")
        assert b.db.value(
            "SELECT score FROM memory_usage WHERE space_id = ?", (mine,)
        ) == pytest.approx(hits[b][0].score)
        assert b.db.value("SELECT is_success FROM judgments WHERE space_id = ?", (mine,)) == 1
        with pytest.raises(ValidationError, match="is saved already"):
            a.save_artifacts(Run(run_id="r1"), Trajectory("q", trajectory_id="t1"))


def test_counts_of_a_rolled_back_write_land_nowhere_else(tmp_path, make_item):
    class Moody:
        model, dim = "moody", 4

        def embed(self, texts):
            return self.embed_documents([(t, "") for t in texts])

        def embed_documents(self, documents):
            import numpy as np

            if any("boom" in head for head, _ in documents):
                raise ModelError("no")
            return np.ones((len(documents), 4), np.float32)

    path = tmp_path / "m.db"
    with open_store(path, tenant=Tenant("o", "t", "b"), embedder="none") as other:
        with open_store(path, embedder=Moody()) as db:
            kept = db.add(make_item("alpha"))
            for _ in range(5):
                db.retrieve("alpha")
            db.delete(kept)
            with pytest.raises(ModelError):
                db.add_many([make_item("alpha"), make_item("boom")])
            victim = other.add(make_item("victim"))
        assert other.get(victim).access_count == 0


def test_a_search_inside_a_failed_write_leaves_nothing_behind(tmp_path, make_item):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add(make_item("steady"))
        with pytest.raises(ZeroDivisionError), db.together():
            db.add_many(make_item(f"stale {n}", content=f"stale words {n}") for n in range(3))
            assert len(db.retrieve("stale words", k=9)) == 3
            raise ZeroDivisionError
        db.add_many(make_item(f"fresh {n}", content=f"fresh words {n}") for n in range(3))
        assert len(db.retrieve("fresh words", k=9)) == 3
        assert db.retrieve("stale words", k=9) == [] or all(
            "fresh" in hit.item.title for hit in db.retrieve("stale words", k=9)
        )


def test_what_a_failed_write_had_embedded_is_not_found_by_its_meaning(tmp_path, make_item):
    """A rolled back row's number is given again: its sign code must not stay behind."""
    with open_store(tmp_path / "m.db") as db:
        db.add(make_item("steady"))
        with pytest.raises(ZeroDivisionError), db.together():
            db.add(make_item("Bake a chocolate cake", content="flour, sugar and butter"))
            assert db.retrieve("dessert recipe", k=1)
            raise ZeroDivisionError
        ships = make_item("Sail a ship", content="hoist the jib and steer by the stars")
        kept = db.add(ships)
        held = db.index.blocks
        assert db.retrieve("navigating a boat at sea", k=1)[0].item.memory_id == kept
        vector = db.embedder.embed(["chocolate cake with flour, sugar and butter"])[0]
        assert held.near(vector, 1, db.spaces.visible(), [2])[2] < 0.35


def test_a_search_does_not_wait_for_a_writer(tmp_path, make_item):
    with open_store(tmp_path / "m.db", embedder="none", lock_timeout_s=30) as db:
        db.add_many(make_item(f"note {n}") for n in range(400))
        with open_store(tmp_path / "m.db", embedder="none") as other, other.db.write():
            assert len(db.retrieve("note", k=300)) == 300
        assert len(db._accesses) == 300


@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_stopwords_alone_find_nothing(tmp_path, kind):
    where = tmp_path / "m.db" if kind == "sqlite" else f"json:{tmp_path / 'm.json'}"
    with open_store(where, embedder="none") as db:
        db.add_many(
            MemoryItem(title=f"Filler {n}", description="other", content="text") for n in range(40)
        )
        db.add(MemoryItem(title="it is what", description="s it's", content="why not"))
        db.add(MemoryItem(title="zebra", description="d", content="zz"))
        assert [hit.item.title for hit in db.retrieve("zebra it's what", k=5)] == ["zebra"]


def test_graph_search_looks_far_enough(db):
    graph = db.graph
    facts = graph.create_nodes(
        [{"type": "fact", "content": f"zebra crossing {n}"} for n in range(300)]
    )
    chatter = graph.create_nodes(
        [{"type": "decision", "content": f"chatter {n}"} for n in range(12)]
    )
    for fact, talk in zip(facts, chatter, strict=False):
        graph.create_edge("context", "c", [{"node_id": fact}, {"node_id": talk}])
    real = graph.create_node(
        "decision", "zebra crossing, and a lot of other words that make it long " * 3
    )
    assert graph.search("zebra crossing", 5, type="decision")[0].node.id == real


def test_a_hub_does_not_outrank_those_who_hold_the_words(db):
    graph = db.graph
    hub = graph.create_node("fact", "completely unrelated chatter")
    for n in range(5):
        node = graph.create_node("fact", f"zebra migration {n} across the plain")
        graph.create_edge("context", "c", [{"node_id": node}, {"node_id": hub}])
    found = [hit.node.id for hit in graph.search("zebra migration")]
    assert found.index(hub) == 5


KEY = "sk-" + "ant-" + "api03-" + "Zz9y" * 12


def test_no_id_carries_a_secret(tmp_path, make_item):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        hit = [(make_item(), 0.5)]
        for write in (
            lambda: db.save_artifacts(Run(run_id=KEY), Trajectory("q")),
            lambda: db.save_artifacts(Run(), Trajectory("q", trajectory_id=KEY)),
            lambda: db.save_artifacts(Run(created_at=KEY), Trajectory("q")),
            lambda: db.record_usage(KEY, hit),
            lambda: db.add(make_item(source_type=KEY)),
            lambda: db.add(make_item(created_at=KEY)),
            lambda: db.add(make_item(tags=[KEY * 3])),
            lambda: db.graph.create_node(KEY, "x"),
            lambda: open_store(tmp_path / "n.db", tenant=Tenant(org=KEY)),
            lambda: open_store(tmp_path / "o.db", origin=KEY),
        ):
            with pytest.raises(ValidationError) as caught:
                write()
            assert KEY not in str(caught.value)
    assert KEY.encode() not in b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())


@pytest.mark.parametrize(
    "wedge", list("\u200d\u00ad\u2062\ufe0f\U000e0100\u034f\u180e\u3164\ufff9\u206a\u200b")
)
def test_an_invisible_character_does_not_hide_a_key(db, make_item, wedge):
    kept = db.add(make_item(content=f"use {KEY[:20]}{wedge}{KEY[20:]} now"))
    assert "[redacted:" in db.get(kept).content


def test_bounds_hold_after_cleaning(db, make_item):
    with pytest.raises(ValidationError, match="content has"):
        db.add(make_item(content="\ufb2c" * 60_000))


def test_history_follows_a_rename_and_stays_in_its_space(tmp_path, make_item):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        one = db.add(make_item("Same words"))
        db.add(make_item("Same words", level="team"))
        db.adjust_confidence(one, 0.1, kind="helpful")
        two = db.add(make_item("Other words"))
        db.record_usage("t", [(db.get(one), 0.5), (db.get(two), 0.4)])
        db.purge(two)
        renamed = db.update(one, title="Other words").memory_id
        assert renamed == two
        assert db.db.rows("SELECT memory_id FROM memory_usage") == [(two,)]
        assert db.db.rows("SELECT memory_id FROM confidence_signals") == [(two,)]


def test_restore_finds_the_archived_copy_behind_a_live_one(opener, make_item):
    store = opener()
    kept = store.add(make_item())
    store.add(make_item(level="org"))
    store.delete(kept)
    assert store.restore(kept) is True
    assert {item.level for item in store.list_items()} == {"project", "org"}
    assert [item.level for item in store.list_items(level="org")] == ["org"]


@pytest.mark.parametrize("bad", ["\ud800", {"a": 1}, 10**30, b"x", None, 1.5])
def test_odd_ids_are_an_error_of_ours(db, bad):
    for call in (
        db.get,
        db.delete,
        db.restore,
        db.purge,
        db.graph.get_node,
        db.graph.delete_node,
        db.graph.get_edge,
    ):
        try:
            assert not call(bad)
        except StoreError as exc:
            assert not isinstance(exc, StoreLocked)


@pytest.mark.parametrize("k", ["3", None, 1.5, True])
def test_a_count_is_an_integer(backend, make_item, k):
    backend.add(make_item())
    with pytest.raises(ValidationError, match="k is"):
        backend.retrieve("class", k)
    assert len(backend.retrieve("class", 10**30)) == 1


def test_approved_memories_still_belong_to_their_pack(tmp_path, make_item):
    from rlm.packs import rollback_pack
    from rlm.packs.format import encode_line, record_of

    pack = tmp_path / "p_v1.jsonl"
    pack.write_bytes(
        b"".join(encode_line(record_of(make_item(f"Line {n}"), "p_v1")) for n in range(3))
    )
    with open_store(tmp_path / "m.db", embedder="none") as db:
        import_pack(pack, db)
        for item in db.list_items(trust="quarantined"):
            assert db.approve(item.memory_id, by="me").trust == "trusted"
        assert len(db.retrieve("line", k=9)) == 3
        db.update(db.list_items()[0].memory_id, description="edited by hand")
        report = rollback_pack(db, "p_v1")
        assert (report.archived, len(report.kept)) == (2, 1)


def test_a_new_name_is_not_waited_for_longer_than_was_said(tmp_path, make_item):
    path = tmp_path / "m.db"
    for project in ("old", "full"):
        with open_store(path, tenant=Tenant("o", "t", project), embedder="none") as db:
            db.add(make_item())
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    with open_store(path, tenant=Tenant("o", "t", "full"), embedder="none", lock_timeout_s=4) as db:
        assert db.adopt_project("old") is False, "it holds something: no lock is needed to see that"
    with open_store(path, tenant=Tenant("o", "t", "new"), embedder="none", lock_timeout_s=4) as db:
        started = time.monotonic()
        with pytest.raises(StoreLocked):
            db.adopt_project("old", wait_s=0.0)
        assert time.monotonic() - started < 2
        other.close()
        assert db.adopt_project("old", wait_s=0.0) is True


def test_a_tenant_is_a_tenant(tmp_path):
    for name in (tmp_path / "m.db", f"json:{tmp_path / 'm.json'}"):
        with pytest.raises(ValidationError, match="tenant is 'api'"):
            open_store(name, tenant="api")
