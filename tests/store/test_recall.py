"""The derived index: where a row lies must not change what is found, and nothing of it is needed."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.store import gate
from rlm.store.jsonfile import MemoryStore
from rlm.store.open import open_store
from rlm.store.sqlite import integrity, schemacheck
from rlm.store.types import MemoryItem, Tenant

WORDS = re.findall(
    r"\w+",
    """graph class search label entity query filter property domain range path root token budget cache index
    memory agent prompt handle retry error lock write read merge seal tail score rank level team secret pack
    deploy restart parse schema column table backup restore export import verify sign key hash date time zone""",
)


def corpus(count, seed=1):
    rng = random.Random(seed)
    return [
        MemoryItem(
            title=f"Recipe {n}: {' '.join(rng.choices(WORDS, k=3))}",
            description=" ".join(rng.choices(WORDS, k=8)),
            content=" ".join(rng.choices(WORDS, k=rng.randint(4, 30))),
            tags=rng.sample(WORDS, 2),
            confidence=rng.choice((0.4, 0.6, 0.8)),
        )
        for n in range(count)
    ]


QUERIES = [
    "how do I parse a date",
    "graph class label",
    "Recipe 17",
    "seal the tail and merge",
    "secret key",
    "zone",
]


def answers(store, k=5):
    return [
        {hit.item.memory_id: hit.score for hit in store.retrieve(query, k=k)} for query in QUERIES
    ]


def agree(*all_answers):
    """The same hits with the same scores, but for the last digits of a sum in another order."""
    first, *others = all_answers
    return all(
        a == pytest.approx(b, abs=1e-4)
        for other in others
        for a, b in zip(first, other, strict=True)
    )


@pytest.mark.req("RB-03", "RB-04")
def test_three_engines_one_answer(tmp_path):
    """Tail through FTS5, sealed segments, and a plain scan without FTS5 agree to the last digit
    that matters."""
    items = corpus(90)
    with open_store(tmp_path / "tail.db") as tail, open_store(tmp_path / "sealed.db") as sealed:
        plain = MemoryStore(embedder=tail.embedder)
        for store in (tail, sealed, plain):
            store.add_many(items)
        sealed.search.recall.seal()
        assert sealed.db.value("SELECT sum(doc_count) FROM recall_segments") == 90
        assert tail.db.value("SELECT count(*) FROM recall_segments") == 0
        assert agree(answers(tail), answers(sealed), answers(plain))


@pytest.mark.req("RB-04")
def test_without_fts5_the_same_is_found(tmp_path):
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    items = corpus(60)
    with (
        SQLiteMemoryBackend(tmp_path / "with.db") as one,
        SQLiteMemoryBackend(tmp_path / "without.db", fts5=False) as two,
    ):
        one.add_many(items)
        two.add_many(items)
        assert two.stats()["engine"]["lexical"] == "scan"
        assert one.stats()["engine"]["lexical"] == "fts5"
        assert agree(answers(one), answers(two))
        assert two.db.value("SELECT count(*) FROM sqlite_schema WHERE name LIKE '%fts%'") == 0


@given(cuts=st.lists(st.integers(1, 59), max_size=4), data=st.data())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_history_of_sealing_edits_and_deaths_gives_the_same_answers(
    tmp_path_factory, cuts, data
):
    """A store with segments cut anywhere, edited and archived rows, against a fresh one with the
    same rows."""
    items = corpus(60, seed=3)
    folder = tmp_path_factory.mktemp("history")
    with open_store(folder / "a.db") as worn, open_store(folder / "b.db") as fresh:
        previous = 0
        for cut in sorted(set(cuts)):
            worn.add_many(items[previous:cut])
            worn.search.recall.seal()
            previous = cut
        worn.add_many(items[previous:])
        picks = data.draw(st.lists(st.integers(0, 59), max_size=8, unique=True))
        for place in picks[::2]:
            worn.delete(items[place].memory_id)
        for place in picks[1::2]:
            worn.update(items[place].memory_id, description="graph class retold")
        if data.draw(st.booleans()):
            worn.search.recall.seal()
        kept = sorted(worn.list_items(limit=100), key=lambda found: found.title)
        fresh.add_many(sorted(kept, key=lambda found: found.title))
        assert agree(answers(worn, 60), answers(fresh, 60))
        assert all(check.ok for check in integrity.check_all(worn.db, fts5=True))


@pytest.mark.req("CX-04")
def test_a_neighbour_in_the_file_changes_nothing_at_all(tmp_path):
    """Not a hit, not a score: idf, lengths and counts are the tenant's own."""
    mine, noise = corpus(60, seed=5), corpus(200, seed=6)
    one, two = Tenant("o", "t", "one"), Tenant("x", "y", "z")
    with (
        open_store(tmp_path / "alone.db", tenant=one) as alone,
        open_store(tmp_path / "both.db", tenant=one) as shared,
    ):
        alone.add_many(mine)
        with open_store(tmp_path / "both.db", tenant=two) as other:
            other.add_many(noise[:70])
            shared.add_many(mine[:30])
            shared.search.recall.seal()
            other.add_many(noise[70:])
            shared.add_many(mine[30:])
        assert agree(answers(alone, 9), answers(shared, 9))
        shared.search.recall.seal()
        assert agree(answers(alone, 9), answers(shared, 9))


def test_long_tails_are_sealed_and_small_segments_merged(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        items = corpus(9_000, seed=8)
        for start in range(0, len(items), 1_000):
            db.add_many(items[start : start + 1_000])
        sizes = [
            row[0] for row in db.db.rows("SELECT doc_count FROM recall_segments ORDER BY first_no")
        ]
        assert sum(sizes) + 1_024 > 9_000
        assert len(sizes) <= 9
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
        db.search.recall.rebuild()
        assert db.db.value("SELECT sum(doc_count) FROM recall_segments") >= 9_000 - 1_024
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))


def test_two_processes_worth_of_connections_see_each_others_writes(tmp_path):
    with open_store(tmp_path / "m.db") as one, open_store(tmp_path / "m.db") as two:
        for round_, item in enumerate(corpus(12, seed=9)):
            writer, reader = (one, two) if round_ % 2 else (two, one)
            kept = writer.add(item)
            assert reader.retrieve(item.title, k=1)[0].item.memory_id == kept
            if round_ % 3 == 0:
                writer.search.recall.seal()
            if round_ % 4 == 0:
                writer.delete(kept)
                assert kept not in [hit.item.memory_id for hit in reader.retrieve(item.title, k=20)]


def test_the_derived_index_can_be_made_anew_from_the_rows(tmp_path):
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(1_500))
        before = answers(db)
        assert db.db.value("SELECT count(*) FROM recall_segments") > 0
        with db.db.write() as connection:
            for table in ("recall_segments", "recall_postings", "recall_dead"):
                connection.execute(f"DELETE FROM {table}")
        assert not all(check.ok for check in integrity.check_all(db.db, fts5=True))
        integrity.repair([db.search.recall, db.graph.recall])
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
        assert agree(answers(db), before)


def test_a_stale_full_text_index_is_caught_and_repaired(tmp_path):
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(40))
        with db.db.write() as connection:
            connection.execute("DROP TRIGGER memory_fts_update_old")
            connection.execute(
                "UPDATE memory_items SET description = 'Changed behind the back' WHERE item_no = 7"
            )
        assert db.db.rows("PRAGMA integrity_check") == [("ok",)], (
            "which is why the plain check is not enough"
        )
        bad = {check.name for check in integrity.check_all(db.db, fts5=True) if not check.ok}
        assert bad == {"schema", "full-text index of memory_items"}
        assert schemacheck.mend(db.db) == ("memory_fts_update_old",)
        integrity.repair([db.search.recall, db.graph.recall])
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
        assert (
            db.retrieve("changed behind the back")[0].item.description == "Changed behind the back"
        )


@pytest.mark.parametrize("damage", ["UPDATE recall_segments SET numbers = zeroblob(320)",
                                    "DELETE FROM recall_segments"])  # fmt: skip
def test_a_wrong_recall_index_is_caught_and_repaired(tmp_path, damage):
    with open_store(tmp_path / "m.db") as db:
        db.add_many(corpus(40))
        db.search.recall.seal()
        before = answers(db)
        with db.db.write() as connection:
            connection.execute(damage)
        bad = {check.name for check in integrity.check_all(db.db, fts5=True) if not check.ok}
        assert bad == {"recall index of memory_items"}
        integrity.repair([db.search.recall, db.graph.recall])
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
        assert agree(answers(db), before)


def test_a_bulk_load_is_sealed_at_once_and_a_small_one_is_not(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add_many(corpus(20, seed=2))
        count = "SELECT count(*) FROM memory_fts"
        assert (db.db.value(count), db.search.recall.tail_bound()) == (20, 20)
        db.add_many(corpus(1_100, seed=3) + corpus(17_000, seed=5))
        assert (db.db.value(count), db.search.recall.tail_bound()) == (0, 0)
        db.add_many(corpus(5, seed=4))
        assert (db.db.value(count), db.search.recall.tail_bound()) == (5, 5)
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))


def test_filters_reach_past_the_first_candidates(tmp_path):
    with open_store(tmp_path / "m.db") as db:
        many = [MemoryItem(title=f"Deploy step {n}", description="deploy", content="deploy it", source_type="success")
                for n in range(400)]  # fmt: skip
        rare = MemoryItem(
            title="A failure to remember",
            description="about something else, where deploy is one word of many more than that",
            content="words " * 60,
            source_type="failure",
        )
        db.add_many([*many, rare])
        db.search.recall.seal()
        assert [hit.item.title for hit in db.retrieve("deploy step", outcome="failure")] == [
            rare.title
        ]


def test_confidence_can_lift_a_memory_past_closer_ones(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        weak = [MemoryItem(title=f"Restart service {n}", description="restart", content="restart the service",
                           confidence=0.1) for n in range(300)]  # fmt: skip
        strong = MemoryItem(
            title="Restart", description="and wait", content="then see the logs", confidence=1.0
        )
        db.add_many([*weak, strong])
        db.search.recall.seal()
        assert db.retrieve("restart the service", k=1)[0].item.title == "Restart"


def test_whoever_seals_does_not_chase_the_others(tmp_path, monkeypatch):
    """While one process seals, others write on. What they add is for the next seal, however long
    that goes on."""
    with open_store(tmp_path / "m.db") as mine, open_store(tmp_path / "m.db") as other:
        arriving = iter(corpus(400, seed=8))
        mine.add_many(corpus(1_000, seed=7))
        monkeypatch.setattr("rlm.store.sqlite.recall.SEAL_AT", 500)
        read = mine.search.recall._read_range

        def read_while_others_write(low, high, limit):
            rows = read(low, high, limit)
            admitted = list(gate.admit_items([next(arriving)], other.tenant, origin="x"))
            with other.db.write() as connection:  # as `add` does, but for its own seal
                other.store_admitted(connection, admitted)
            return rows

        monkeypatch.setattr(mine.search.recall, "_read_range", read_while_others_write)
        assert mine.search.recall.seal_if_due() == 1
        assert mine.search.recall.tail_bound() == 1
