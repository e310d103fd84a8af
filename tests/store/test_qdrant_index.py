"""Qdrant beside a store: what it is told, what it is asked, and what happens when it is not there."""

from __future__ import annotations

import json
import logging
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from store_opening import open_store

from rlm import clock
from rlm.errors import ConfigError, IndexUnavailable
from rlm.store.copy import copy_store
from rlm.store.qdrant import index as index_module
from rlm.store.types import Tenant

pytestmark = pytest.mark.req("CX-08")

ACME = Tenant("acme", "web", "shop")


class Letters:
    """A model of another dimension: how often each of some letters occurs."""

    model, dim = "letters-8", 8

    def embed(self, texts):
        rows = np.array([[text.count(c) + 0.1 for c in "aeioustr"] for text in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def embed_documents(self, documents):
        return self.embed([f"{head} {body}" for head, body in documents])


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.slow)])
def place(request, tmp_path):
    """Where a store is, or can be made."""
    if request.param == "sqlite":
        return tmp_path / "memory.db"
    return request.getfixturevalue("postgres_server").empty_store()


@contextmanager
def opened(place, tenant=ACME, **kw):
    with open_store(place, tenant=tenant, **kw) as store:
        yield store


def titles(store, task, **kw):
    return [hit.item.title for hit in store.retrieve(task, **kw)]


def searches(server):
    """Every search that was sent, prefetches included."""
    found = []
    for _, _, path, body in server.requests:
        if path == "points/query/batch":
            found += body["searches"]
            found += [part for each in body["searches"] for part in each.get("prefetch", ())]
    return found


def contents(store):
    """memory_id and revision of every point of the tenant's spaces, whichever collection."""
    found = []
    for space in store.remote_index._spaces():
        if space.build is not None:
            fields, only = (
                ("memory_id", "revision"),
                index_module.points.memories_only(space.tenant),
            )
            points = store.remote_index.client.scroll(space.build.collection, only, fields)
            found += [(p["payload"]["memory_id"], p["payload"]["revision"]) for p in points]
    return sorted(found)


def truth(store):
    spaces = store.remote_index._spaces()
    live = (store.remote_index.outbox.revisions(space.number) for space in spaces)
    return sorted((name, number) for each in live for name, (number, _) in each.items())


# -- what it holds ---------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["collections", "shared"])
def test_each_level_has_its_collection_and_every_search_names_its_tenant(
    qdrant, place, make_item, monkeypatch, layout
):
    monkeypatch.setenv("RLM_INDEX_LAYOUT", layout)
    with opened(place) as store:
        for level in ("project", "team", "org"):
            store.add(make_item(f"Brew tea, {level}", level=level))
        assert store.remote_index.drain().built == 3
        names = {each.collection for each in store.remote_index.status()}
        tenants = {space.tenant for space in store.remote_index._spaces()}
        assert len(titles(store, "how to brew tea")) == 3
    assert names == (
        {"acme_memories", "acme_web_memories", "acme_web_shop_memories"}
        if layout == "collections"
        else {"rlm_org_256_memories", "rlm_team_256_memories", "rlm_project_256_memories"}
    )
    asked = searches(qdrant)
    assert {each["using"] for each in asked if "using" in each} == {"words", "dense"}
    assert any(each.get("prefetch") for each in asked)
    for each in asked:
        wanted = [part["match"]["value"] for part in each["filter"]["must"] if "key" in part]
        assert len(wanted) == 1 and wanted[0] in tenants


def test_a_point_has_the_payload_of_the_seed(qdrant, place, make_item):
    with opened(place) as store:
        kept = store.add(make_item(tags=["tea"], session_id="s-1", confidence=0.7))
        store.remote_index.drain()
        (space,) = store.remote_index._spaces()
        only = index_module.points.memories_only(space.tenant)
        body = {"filter": only, "limit": 9, "with_payload": True}
        answer = qdrant.answer("POST", "/collections/acme_web_shop_memories/points/scroll", body)[
            1
        ]["result"]["points"]
    (payload,) = [point["payload"] for point in answer]
    item = make_item()
    assert payload["title"] == item.title and payload["content"] == item.content
    assert payload["description"] == item.description and payload["tags"] == ["tea"]
    assert (payload["outcome"], payload["confidence"], payload["usage_count"]) == (
        "success",
        0.7,
        0,
    )
    assert payload["source_session"] == "s-1" and payload["last_used"] is None
    assert payload["created_at"] and payload["memory_id"] == kept


def test_two_stores_in_one_collection_do_not_meet(qdrant, tmp_path, make_item):
    """The same tenant in two files: each searches its own."""
    found = {}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        with opened(tmp_path / name / "memory.db") as store:
            store.add(make_item(f"Brew tea, {name}"))
            store.remote_index.drain()
            found[name] = titles(store, "brew tea")
            assert store.remote_index.status()[0].points == 1
    assert found == {"one": ["Brew tea, one"], "two": ["Brew tea, two"]}


# -- what it has not seen yet ----------------------------------------------------------------------


def test_what_the_index_has_not_seen_comes_from_the_store(qdrant, place, make_item):
    with opened(place) as store:
        first = store.add(make_item("Brew green tea"))
        assert titles(store, "tea") == ["Brew green tea"]  # not built yet
        store.remote_index.drain()
        store.add(make_item("Brew black tea", content="boil"))
        assert set(titles(store, "tea")) == {"Brew green tea", "Brew black tea"}
        store.update(first, title="Brew white coffee", description="no leaves")
        assert titles(store, "green tea") == ["Brew black tea"]
        assert titles(store, "coffee") == ["Brew white coffee"]
        store.delete(store.retrieve("black tea")[0].item.memory_id)
        assert titles(store, "black tea") == []
        assert store.remote_index.status()[0].state == "behind"
        store.remote_index.drain()
        assert titles(store, "coffee") == ["Brew white coffee"]
        assert contents(store) == truth(store) and len(truth(store)) == 1


def test_each_signal_finds_what_the_index_has_not_seen(qdrant, place, make_item):
    """By words without a model, and by meaning without a shared word."""
    with opened(place) as store:
        store.add(make_item("Brew green tea", description="leaves"))
        store.remote_index.drain()
        store.add(make_item("Repair an automobile", description="engine", content="vehicle"))
        assert titles(store, "fix my car")[:1] == ["Repair an automobile"]
    with opened(place, embedder="none") as store:
        assert titles(store, "automobile") == ["Repair an automobile"]


def test_a_vector_that_comes_later_reaches_the_index(qdrant, place, make_item):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
    with opened(place, embedder="none") as store:
        late = store.add(make_item("Repair an automobile", description="e", content="vehicle"))
        store.remote_index.drain()
    with opened(place) as store:
        store.reembed()
        store.remote_index.drain()
        (space,) = store.remote_index._spaces()
        only, scroll = (
            index_module.points.memories_only(space.tenant),
            store.remote_index.client.scroll,
        )
        found = scroll(space.build.collection, only, ("memory_id", "has_vector"))
        vectors = {p["payload"]["memory_id"]: p["payload"]["has_vector"] for p in found}
        assert len(vectors) == 2 and vectors[late] is True
        assert titles(store, "fix my car")[:1] == ["Repair an automobile"]


def test_a_process_that_knows_no_index_notes_what_it_changes(qdrant, place, make_item, monkeypatch):
    with opened(place) as store:
        kept = store.add(make_item("Brew green tea"))
        store.remote_index.drain()
    monkeypatch.delenv("RLM_INDEX")
    with opened(place) as store:
        assert store.remote_index is None
        store.update(kept, content="use 80 degrees")
        store.add(make_item("Brew black tea"))
    monkeypatch.setenv("RLM_INDEX", f"qdrant:{qdrant.url}")
    with opened(place) as store:
        assert store.remote_index.status()[0].waiting >= 2
        assert len(titles(store, "brew tea")) == 2
        store.remote_index.drain()
        assert contents(store) == truth(store) and len(truth(store)) == 2


def test_every_kind_of_change_reaches_the_index(qdrant, place, make_item):
    with opened(place) as store:
        ids = [store.add(make_item(f"Recipe number {n}")) for n in range(8)]
        held = store.add(make_item("Odd one", trust="quarantined"))
        store.remote_index.drain()
        assert contents(store) == truth(store) and len(truth(store)) == 8
        store.update(ids[0], content="other words")
        store.delete(ids[1])
        store.purge(ids[2])
        store.set_level(ids[3], "team")
        store.approve(held)
        store.delete(ids[4])
        store.restore(ids[4])
        store.remote_index.drain()
        assert contents(store) == truth(store) and len(truth(store)) == 7
        assert titles(store, "odd one")[0] == "Odd one"


def test_a_project_that_is_renamed_moves_to_its_new_collection(qdrant, place, make_item):
    with opened(place, replace(ACME, project="old")) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
    with opened(place, replace(ACME, project="new")) as store:
        assert store.adopt_project("old")
        assert titles(store, "tea") == ["Brew green tea"]
        store.remote_index.drain()
        assert [each.collection for each in store.remote_index.status()] == [
            "acme_web_new_memories"
        ]
        assert titles(store, "tea") == ["Brew green tea"] and contents(store) == truth(store)
        tenant = store.remote_index._spaces()[0].tenant
        only = index_module.points.only(tenant)
        assert store.remote_index.client.count("acme_web_old_memories", only) == 0


def test_a_writer_of_many_feeds_the_index_itself(qdrant, place, make_item):
    with opened(place) as store:
        store.add(make_item())
        store.remote_index.drain()
        store.add_many(make_item(f"Recipe number {n}") for n in range(index_module.LAG))
        assert contents(store) == truth(store)


def test_a_store_without_an_index_notes_nothing(place, make_item):
    with opened(place) as store:
        store.add(make_item())
        assert store.db.value("SELECT count(*) FROM index_outbox") == 0


# -- when it is not as it should be ----------------------------------------------------------------


def test_a_missing_collection_is_left_to_the_store_and_told(qdrant, place, make_item, caplog):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        qdrant.engine.drop("acme_web_shop_memories")
        with caplog.at_level(logging.WARNING):
            assert titles(store, "tea") == ["Brew green tea"]
        assert "'acme_web_shop_memories' is missing" in caplog.text
        assert "is missing" in store.stats()["engine"]["index"]
        status = store.remote_index.status()[0]
        assert status.state == "unusable" and "rlm index rebuild" in status.problem
        assert not all(check.ok for check in store.check())
        assert store.remote_index.drain().built == 1
        assert contents(store) == truth(store)
        titles(store, "tea")
        assert store.stats()["engine"]["index"] == f"qdrant {qdrant.url}"


def test_a_collection_that_somebody_filled_anew_is_not_believed(qdrant, place, make_item):
    """As after `rebuild` from a copy of the store, or with another server's data."""
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        (space,) = store.remote_index._spaces()
        client = store.remote_index.client
        client.delete("acme_web_shop_memories", {"filter": index_module.points.only(space.tenant)})
        assert titles(store, "tea") == ["Brew green tea"]
        other = index_module.points.seal_point(space.tenant, "another build", 99)
        client.upsert("acme_web_shop_memories", [other])
        assert titles(store, "tea") == ["Brew green tea"]
        assert "not hold what this store put there" in store.remote_index.status()[0].problem


def test_an_older_copy_of_the_collection_is_not_believed(qdrant, place, make_item):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        store.add(make_item("Brew black tea"))
        store.remote_index.drain()
        (space,) = store.remote_index._spaces()
        old = index_module.points.seal_point(space.tenant, space.build.token, 0)
        store.remote_index.client.upsert(space.build.collection, [old])
        assert len(titles(store, "tea")) == 2
        assert "is older" in store.remote_index.status()[0].problem


def test_an_index_ahead_of_its_store_is_not_believed(qdrant, tmp_path, make_item):
    """An older copy of the file is put back: what it holds is found, and a worker builds anew."""
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with opened(path) as store:
        kept = store.add(make_item("Brew green tea"))
        store.remote_index.drain()
    copy.write_bytes(path.read_bytes())
    with opened(path) as store:
        store.update(kept, title="Brew white coffee")
        store.remote_index.drain()
    path.write_bytes(copy.read_bytes())
    with opened(path) as store:
        assert titles(store, "green tea") == ["Brew green tea"]
        assert "is ahead" in store.remote_index.status()[0].problem
        assert store.remote_index.drain().built == 1
        assert contents(store) == truth(store) and titles(store, "tea") == ["Brew green tea"]


def test_what_is_fed_during_a_search_is_not_missed(qdrant, place, make_item):
    """Between the snapshot of a search and its question to the index, a memory changes and is
    fed: the search shows it as it was."""
    with opened(place) as store, opened(place) as other:
        kept = store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        ask = store.remote_index.client.query

        def late(*args):
            if other.get(kept) is not None:
                other.update(kept, title="Brew white coffee")
                other.remote_index.drain()
            return ask(*args)

        store.remote_index.client.query = late
        assert titles(store, "green tea") == ["Brew green tea"]
        assert titles(store, "coffee") == ["Brew white coffee"]


def test_a_failing_index_is_an_error_that_is_told(qdrant, place, make_item):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        qdrant.fault = (500, "no space left on device")
        with pytest.raises(IndexUnavailable, match=r"answered 500.*no space left.*FALLBACK"):
            store.retrieve("tea")
        store.add(make_item("Brew black tea"))  # a write does not depend on the index
        with pytest.raises(IndexUnavailable):
            store.remote_index.drain()
        qdrant.fault = None
        store.remote_index.drain()
        assert len(titles(store, "tea")) == 2 and contents(store) == truth(store)


def test_an_index_that_is_down_is_an_error_or_by_setting_a_line(
    qdrant, place, make_item, monkeypatch, caplog
):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
    monkeypatch.setenv("RLM_INDEX", "qdrant:http://127.0.0.1:9")
    with opened(place) as store, pytest.raises(IndexUnavailable, match="cannot be reached"):
        store.retrieve("tea")
    monkeypatch.setenv("RLM_INDEX_FALLBACK", "true")
    with opened(place) as store, caplog.at_level(logging.WARNING):
        assert titles(store, "tea") == titles(store, "green tea") == ["Brew green tea"]
        assert caplog.text.count("the store itself is searched") == 1
        assert "the store itself is searched" in store.stats()["engine"]["index"]
        assert [check.ok for check in store.check() if "index of the" in check.name] == [False]


def test_another_model_is_an_error_that_says_rebuild(qdrant, place, make_item):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
    with opened(place, embedder=Letters()) as store:
        with pytest.raises(IndexUnavailable, match=r"letters-8 is used now.*rlm index rebuild"):
            store.retrieve("tea")
        store.reembed()
        store.remote_index.rebuild()
        assert qdrant.engine.dims["acme_web_shop_memories"] == 8
        assert titles(store, "tea") == ["Brew green tea"] and contents(store) == truth(store)
    with opened(place, embedder="none") as store:  # words can be asked of any
        assert titles(store, "tea") == ["Brew green tea"]


def test_a_collection_of_another_dimension_is_told(qdrant, place, make_item):
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        (space,) = store.remote_index._spaces()
        client = store.remote_index.client
        client.drop(space.build.collection)
        client.create(space.build.collection, 8, shared=False)
        seal = index_module.points.seal_point(space.tenant, space.build.token, 0)
        client.upsert(space.build.collection, [seal])
        with pytest.raises(IndexUnavailable, match=r"(?i)dimension.*rlm index rebuild"):
            store.retrieve("tea")
        store.remote_index.rebuild()
        assert titles(store, "tea") == ["Brew green tea"]


def test_the_key_is_sent_and_never_shown(qdrant, place, make_item, monkeypatch, caplog):
    qdrant.key = "s3cret-key"
    monkeypatch.setenv("RLM_INDEX_KEY", "s3cret-key")
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        assert titles(store, "tea") == ["Brew green tea"]
    monkeypatch.setenv("RLM_INDEX_KEY", "wr0ng-key")
    with opened(place) as store, caplog.at_level(logging.DEBUG):
        with pytest.raises(IndexUnavailable, match=r"401.*RLM_INDEX_KEY") as caught:
            store.retrieve("tea")
        assert "wr0ng-key" not in f"{caught.value}{caplog.text}{store.stats()}"


@pytest.mark.parametrize(
    "index, layout, said",
    [
        ("elastic:http://h:1", "collections", "RLM_INDEX=qdrant:"),
        ("qdrant:h:6333", "collections", "write it as qdrant:http://host:6333"),
        ("qdrant:http://u:pass@h:1", "collections", "has a user or password"),
        ("qdrant:http://h:1?api-key=pass@", "collections", "RLM_INDEX_KEY"),
        ("qdrant:http://h:1", "flat", "collections or shared"),
    ],
)
def test_bad_settings_are_told_before_anything_is_opened(
    tmp_path, monkeypatch, index, layout, said
):
    monkeypatch.setenv("RLM_INDEX", index)
    monkeypatch.setenv("RLM_INDEX_LAYOUT", layout)
    with pytest.raises(ConfigError, match=said) as caught:
        open_store(tmp_path / "memory.db")
    assert "pass@" not in str(caught.value) and not (tmp_path / "memory.db").exists()


def test_a_json_store_has_no_index(tmp_path, monkeypatch):
    monkeypatch.setenv("RLM_INDEX", "qdrant:http://h:1")
    with pytest.raises(ConfigError, match="needs a store of SQLite or PostgreSQL"):
        open_store(f"json:{tmp_path}/memory.json")


# -- two at once, and mending ----------------------------------------------------------------------


def test_a_copy_of_the_store_does_not_disturb_the_index(qdrant, tmp_path, make_item):
    with opened(tmp_path / "memory.db") as store:
        kept = store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        store.backup(tmp_path / "copy.db")
        with opened(tmp_path / "copy.db") as copy:
            copy.update(kept, description="other words")
            copy.add_many(make_item(f"Recipe number {n}") for n in range(99))
            assert titles(copy, "green tea")[0] == "Brew green tea"
            assert copy.remote_index.status()[0].state == "not built"
        assert contents(store) == truth(store)
        assert titles(store, "green tea") == ["Brew green tea"]


def test_a_copy_into_a_store_with_an_index_is_noted(qdrant, tmp_path, make_item):
    place = tmp_path / "memory.db"
    with opened(tmp_path / "source.db") as source:
        source.add_many(make_item(f"Brew tea number {n}") for n in range(5))
    with opened(place) as store:  # its space is there and built, and empty
        store.purge(store.add(make_item()))
        store.remote_index.drain()
    copy_store(str(tmp_path / "source.db"), str(place))
    with opened(place) as store:
        assert len(titles(store, "brew tea", k=9)) == 5
        store.remote_index.drain()
        assert contents(store) == truth(store) and len(truth(store)) == 5


def test_one_process_at_a_time_feeds_a_space(qdrant, place, make_item):
    with opened(place) as store, opened(place) as other:
        store.add(make_item("Brew green tea"))
        store.remote_index.drain()
        store.add(make_item("Brew black tea"))
        (space,) = store.remote_index._spaces()
        box = store.remote_index.outbox
        fence, notes = box.claim(space.number), box.notes(space.number, 9)
        fed = other.remote_index.drain()
        assert (fed.written, fed.busy) == (0, 1)
        with clock.frozen(clock.now() + timedelta(minutes=5)):  # its lease has run out
            assert other.remote_index.drain().written == 1
        # What it has written is older than what the other wrote: it is to be looked at again.
        assert not box.settle(space.number, fence, notes)
        assert store.remote_index.status()[0].waiting == 1
        store.remote_index.drain()
        assert contents(store) == truth(store)


def test_reconcile_finds_and_mends_what_differs(qdrant, place, make_item):
    with opened(place) as store:
        ids = [store.add(make_item(f"Recipe number {n}")) for n in range(6)]
        store.remote_index.drain()
        (space,) = store.remote_index._spaces()
        client, name, tenant = store.remote_index.client, space.build.collection, space.tenant
        rows = {
            row.item.memory_id: row for row in store.remote_index.outbox.live(space.number, ids)
        }
        make = index_module.points.memory_point
        gone = make(tenant, 999, replace(rows[ids[0]].item, memory_id="f" * 16), None)
        stray = {**make(tenant, rows[ids[1]].number, rows[ids[1]].item, None)}
        stray["id"] = "00000000-0000-4000-8000-000000000001"
        stale = make(tenant, 0, rows[ids[2]].item, rows[ids[2]].vector)
        client.upsert(name, [gone, stray, stale])
        client.delete(name, {"points": [index_module.point_id(tenant, ids[3])]})
        assert contents(store) != truth(store)
        found = store.remote_index.reconcile()
        assert (found.missing, found.stale, found.extra, found.busy) == (1, 1, 2, 0)
        assert contents(store) == truth(store)
        assert store.remote_index.reconcile() == index_module.Mended()


def test_what_is_sent_is_json_that_the_official_models_read(qdrant, place, make_item):
    """The server of these tests reads every body with them; here, that it got each kind."""
    with opened(place) as store:
        store.add(make_item("Brew green tea"))
        store.remote_index.rebuild()
        store.retrieve("tea")
        store.remote_index.reconcile()
        store.remote_index.status()
    kinds = {(method, path) for method, _, path, _ in qdrant.requests}
    assert kinds >= {
        ("GET", ""),
        ("PUT", "points"),
        ("POST", "points/delete"),
        ("POST", "points/query/batch"),
        ("POST", "points/scroll"),
        ("POST", "points/count"),
    }
    json.dumps([body for *_, body in qdrant.requests])
