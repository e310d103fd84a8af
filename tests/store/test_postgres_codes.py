"""Sign codes that a process keeps of a large space: as good as those on the server, at any time."""

from __future__ import annotations

import random
import threading

import pytest

from rlm.retrieval.tokens import parse_query
from rlm.store.open import open_store
from rlm.store.postgres import codes, schema
from rlm.store.types import MemoryItem, Tenant

MINE, OTHER = Tenant("acme", "web", "shop"), Tenant("acme", "web", "depot")
NOUNS = [
    "harbour",
    "invoice",
    "kettle",
    "lantern",
    "meadow",
    "notary",
    "orchard",
    "parcel",
    "quarry",
    "rudder",
]


def memory(number: int) -> MemoryItem:
    noun, more = NOUNS[number % 10], NOUNS[number * 7 % 9]
    return MemoryItem(title=f"The {noun} {number}", description=more, content=f"1. {noun} {more}")


QUESTIONS = ("ships in port", "paying bills", "boiling water for tea", "steering a boat", "lamp")


@pytest.fixture
def url(postgres_server, monkeypatch):
    codes._tables.clear()
    monkeypatch.setattr(codes, "LARGE", 1)
    yield postgres_server.empty_store()
    codes._tables.clear()


def near(store):
    """The rows of each level that are nearest to each question by their codes, with the estimate of
    their cosine."""
    found = []
    with store.db.read() as connection:
        for each in QUESTIONS:
            source = store.index.candidates(connection, store.spaces.visible())
            source.corpus(parse_query(each))
            rows = source.by_meaning(store.embedder.embed([each])[0], 1_000, [])
            found.append(sorted(rows.items()))
    return found


def check(store, monkeypatch):
    """What is found with the kept codes is what the server finds."""
    kept = near(store)
    with monkeypatch.context() as patched:
        patched.setattr(codes, "LARGE", 1 << 40)
        assert kept == near(store)
    with store.db.read() as connection:
        sql = "SELECT space_id, number FROM recall_rows WHERE kind = 'memory'"
        there = connection.execute(sql).fetchall()
    spaces = {space for space, _ in there}
    known = {
        (wanted.space, number)
        for wanted, table in codes._tables.items()
        if wanted.space in spaces
        for number in table.numbers.tolist()
    }
    assert known == set(there)


def change(store, dice, number):
    """One change of any kind; the store may lose or gain a memory."""
    ids = [item.memory_id for item in store.list_items(limit=1000)]
    chosen = dice.choice(ids)
    match dice.randrange(6):
        case 0:
            store.add(memory(number))
        case 1:
            store.update(chosen, content=f"1. {dice.choice(NOUNS)} {number}")
        case 2:
            store.delete(chosen)
        case 3:
            store.delete(chosen)
            store.restore(chosen)
        case 4:
            store.purge(chosen)
        case 5:
            level = "team" if store.get(chosen).level == "project" else "project"
            store.set_level(chosen, level)


@pytest.mark.parametrize("seed", range(3))
def test_every_change_of_anybody_is_noticed(url, monkeypatch, seed):
    dice = random.Random(seed)
    with (
        open_store(url, tenant=MINE) as one,
        open_store(url, tenant=MINE, embedder=one.embedder) as two,
        open_store(url, tenant=OTHER, embedder=one.embedder) as neighbour,
    ):
        one.add_many(memory(n) for n in range(60))
        neighbour.add_many(memory(n) for n in range(100, 160))
        check(one, monkeypatch)
        for number in range(200, 220):
            for _ in range(dice.choice([1, 1, 3])):
                change(dice.choice([one, two, two, neighbour]), dice, number)
            check(one, monkeypatch)


def reads(monkeypatch) -> list[str]:
    """The conditions of the reads of codes, from now on; an empty one reads all."""
    seen, read = [], codes.CodeSet.read

    def noted(self, connection, where="", values=()):
        seen.append(where)
        return read(self, connection, where, values)

    monkeypatch.setattr(codes.CodeSet, "read", noted)
    return seen


def test_only_what_changed_is_read_and_all_where_too_much_did(url, monkeypatch):
    with open_store(url) as store:
        ids = store.add_many(memory(n) for n in range(200))
        seen = reads(monkeypatch)
        near(store)
        assert seen == [""]
        near(store)
        assert len(seen) == 1
        store.add(memory(300))
        store.delete(ids[0])
        check(store, monkeypatch)
        assert len(seen) == 2 and seen[1]
        for each in ids[1 : 2 + schema.CHANGED]:
            store.delete(each)
        check(store, monkeypatch)
        assert len(seen) == 3 and seen[2] == ""


@pytest.mark.parametrize("how", ["refresh", "rebuild"])
def test_new_codes_of_old_rows_are_noticed(url, monkeypatch, how):
    with open_store(url) as store:
        store.add_many(memory(n) for n in range(40))
        before = near(store)
        with store.db.write() as connection:
            connection.execute(
                "UPDATE memory_items SET embedding ="
                " (SELECT embedding FROM memory_items ORDER BY item_no LIMIT 1)"
            )
            if how == "refresh":
                store.index.refresh_codes(connection, 0, 1 << 40)
            else:
                store.index.rebuild(connection)
        assert near(store) != before
        check(store, monkeypatch)


def test_what_is_rolled_back_was_never_kept(url, monkeypatch):
    with open_store(url) as store:
        store.add_many(memory(n) for n in range(40))
        before = near(store)
        with pytest.raises(RuntimeError), store.together():
            store.add(memory(41))
            assert near(store) != before
            raise RuntimeError
        assert near(store) == before
        store.add(memory(42))
        check(store, monkeypatch)


def test_an_older_snapshot_stays_as_it_is(url, monkeypatch):
    with open_store(url) as one, open_store(url, embedder=one.embedder) as two:
        ids = one.add_many(memory(n) for n in range(40))
        before = near(one)
        with one.db.read():
            assert near(one) == before
            two.delete(ids[0])
            two.add_many(memory(n) for n in range(40, 60))
            assert near(two) != before
            assert near(one) == before
        assert near(one) == near(two)
        check(one, monkeypatch)


def test_threads_find_what_they_have_just_written(url):
    """Each adds and removes, and its next search knows, whoever brought the codes up to date."""
    faults: list[str] = []

    def work(place, embedder):
        with open_store(url, embedder=embedder) as store:
            for number in range(100 * place, 100 * place + 12):
                added = store.add(memory(number))
                sql = "SELECT item_no FROM memory_items WHERE memory_id = ?"
                row = store.db.value(sql, (added,))
                if row not in dict(near(store)[0]):
                    faults.append(f"{number} is not found")
                if number % 3 == 0:
                    store.purge(added)
                    if row in dict(near(store)[0]):
                        faults.append(f"{number} is still found")

    with open_store(url) as store:
        store.add_many(memory(n) for n in range(1_000, 1_040))
        threads = [threading.Thread(target=work, args=(n, store.embedder)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults
        assert len(near(store)[0]) == 40 + 4 * 8


def test_tenants_keep_nothing_of_each_other(url):
    with (
        open_store(url, tenant=MINE) as one,
        open_store(url, tenant=Tenant("umbrella", "web", "shop"), embedder=one.embedder) as other,
    ):
        one.add_many(memory(n) for n in range(40))
        other.add_many(memory(n) for n in range(90))
        for _ in range(2):
            assert [len(found) for found in near(one)] == [40] * len(QUESTIONS)
            assert [len(found) for found in near(other)] == [90] * len(QUESTIONS)
        assert sorted(len(table.numbers) for table in codes._tables.values()) == [40, 90]


def test_memory_is_bounded_and_the_least_used_goes_first(url, monkeypatch):
    monkeypatch.setattr(codes, "MOST_BYTES", 2 * 40 * 40)
    tenants = [Tenant("acme", "web", f"p{n}") for n in range(3)]
    with open_store(url, tenant=tenants[0]) as first:
        for tenant in tenants:
            with open_store(url, tenant=tenant, embedder=first.embedder) as store:
                store.add_many(memory(n) for n in range(40))
                near(store)
                near(first)
        assert len(codes._tables) == 2
        with first.db.read():
            assert first.spaces.find("project") in {wanted.space for wanted in codes._tables}
        first.add_many(memory(n) for n in range(40, 200))
        assert len(near(first)[0]) == 200, "too many to keep: the server compares"
        assert first.retrieve("lantern")[0].item.title.startswith("The lantern")
