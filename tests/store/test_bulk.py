"""Bulk loads: the same rows as one by one, and all or nothing."""

from __future__ import annotations

from itertools import product

import apsw
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.errors import ModelError, ValidationError
from rlm.retrieval import postings
from rlm.retrieval.tokens import grams
from rlm.store import gate
from rlm.store.document import ITEM_WEIGHTS, item_columns, item_text
from rlm.store.open import open_store
from rlm.store.sqlite import integrity
from rlm.store.sqlite import items as sqlite_items
from rlm.store.sqlite.bulk import _MAY_HAVE_GRAMS, FEW, BatchMaker
from rlm.store.types import LOCAL, MemoryItem, Scope


def items(count, word="bulk"):
    return [
        MemoryItem(
            title=f"{word} item {n}", description=f"number {n}", content=f"do step {n} of {word}"
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("count", [1, 1_000, 1_023, 1_024, 2_500])
def test_a_bulk_load_is_the_same_as_one_by_one(tmp_path, count):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        ids = db.add_many(items(count))
        assert len(set(ids)) == count == db.stats()["memories"]
        found = db.retrieve(f"bulk item {count - 1}", k=3)
        assert found[0].item.memory_id == ids[-1]
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))
        assert db.add_many(items(count)) == ids
        assert db.stats()["memories"] == count


@pytest.mark.parametrize("fails", [False, True])
def test_the_schema_checks_again_after_a_bulk_load(tmp_path, fails):
    """The rows of a bulk load passed the gate; whatever comes later is checked as before."""
    with open_store(tmp_path / "m.db", embedder="none") as db:
        if fails:
            with db.db.write() as connection, pytest.raises(apsw.ConstraintError):
                rows = sqlite_items.prepare(
                    1, items(600), [item_columns(item) for item in items(600)]
                )
                sqlite_items.insert(connection, rows, b"", None)  # no gate: nobody stamped an owner
        else:
            db.add_many(items(2_000))
        assert int(db.db.value("PRAGMA ignore_check_constraints")) == 0
        db.add(items(1, "other")[0])
        with db.db.write() as connection, pytest.raises(apsw.ConstraintError, match="CHECK"):
            connection.execute("UPDATE memory_items SET confidence = 2.0")


def test_the_schema_checks_again_also_when_ctrl_c_strikes_while_it_is_told_to(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add(items(1)[0])
        with pytest.raises(KeyboardInterrupt), db.db.write() as connection:
            connection.pragma("ignore_check_constraints", True)  # as far as it got
            raise KeyboardInterrupt
        with db.db.write() as connection, pytest.raises(apsw.ConstraintError, match="CHECK"):
            connection.execute("UPDATE memory_items SET confidence = 2.0")


def test_a_bulk_load_that_fails_leaves_nothing(tmp_path):
    class Failing:
        model, dim, calls = "failing", 4, 0

        def embed_documents(self, documents):
            import numpy as np

            self.calls += 1
            if self.calls == 2:
                raise ModelError("the endpoint went away")
            return np.ones((len(documents), 4), np.float32)

        def embed(self, texts):
            return self.embed_documents([(t, "") for t in texts])

    with open_store(tmp_path / "m.db", embedder=Failing()) as db:
        with pytest.raises(ModelError, match="went away"):
            db.add_many(items(20_000))
        assert db.stats()["memories"] == 0
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))


def test_one_bad_memory_in_a_bulk_load_stops_all(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        with pytest.raises(ValidationError, match="title has 11 words"):
            db.add_many([*items(3_000), MemoryItem(title="w " * 11, description="", content="x")])
        assert db.stats()["memories"] == 0


def test_a_bulk_load_takes_the_old_tail_along(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as db:
        old = db.add_many(items(30, "older"))
        db.delete(old[3])
        db.add_many(items(20_000, "newer"))
        assert db.search.recall.tail_bound() == 0
        assert db.retrieve("older item 7", k=1)[0].item.memory_id == old[7]
        assert old[3] not in [hit.item.memory_id for hit in db.retrieve("older item 3", k=40)]
        assert all(check.ok for check in integrity.check_all(db.db, fts5=True))


WORDS = st.sampled_from(
    ("plain words GraphMeta max_retries parseHTTPUrls2 v2 数据库 索引 it🤖 🤖🧠 Café Straße don't ไทย é́x ﬁx "
     "https://example.org/aB1?q=x a\"b c\\d §4.2 SIO_000776 ½ kg42 x" + "y" * 70).split()
)  # fmt: skip
PROSE = st.lists(WORDS | st.text(max_size=5), min_size=1, max_size=30).map(" ".join)


@st.composite
def wordy(draw):
    return MemoryItem(
        title="t " + " ".join(draw(PROSE).split()[:8])[:120],
        description=draw(PROSE)[:1_900],
        content=(draw(PROSE) + " ") * draw(st.sampled_from((1, 1, 2, 9, 40))) + "end",
        task_query=draw(st.none() | PROSE),
        tags=[tag[:60] for tag in draw(st.lists(PROSE, max_size=3))],
        scope=Scope(
            ontology=draw(st.none() | WORDS), task_types=tuple(draw(st.lists(WORDS, max_size=2)))
        ),
    )


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(wordy(), min_size=1, max_size=5))
def test_a_batch_holds_what_each_memory_by_itself_would(embedder, told):
    """Rows, vectors and postings from one look-up a word are those of the plain functions."""
    admitted = list(
        gate.admit_items([*told, *items(FEW)], LOCAL, origin="x")
    )  # enough for the way of many
    batch = BatchMaker(embedder).make(1, admitted)
    columns = [item_columns(item) for item in admitted]
    assert [row[-1] for row in batch.rows] == [words[-1] for words in columns]
    vectors = np.frombuffer(batch.vectors, np.float16).reshape(len(admitted), -1).astype(np.float32)
    np.testing.assert_allclose(
        vectors, embedder.embed_documents([item_text(item) for item in admitted]), atol=2e-3
    )
    plain = dict(postings.build(columns, ITEM_WEIGHTS))
    made = dict(batch.terms)
    assert made.keys() == plain.keys()
    for term, data in made.items():
        (ours, impacts), (theirs, expected) = postings.decode(data), postings.decode(plain[term])
        assert ours.tolist() == theirs.tolist()
        assert np.abs(impacts.astype(int) - expected.astype(int)).max() <= 1


def test_a_batch_that_was_begun_and_left_is_dropped():
    maker = BatchMaker(None)
    admitted = list(gate.admit_items(items(5), LOCAL, origin="x"))
    maker.add(1, admitted[:3])
    maker.start()
    maker.add(1, admitted[3:])
    assert maker.finish().ids == [item.memory_id for item in admitted[3:]]


def test_the_first_look_misses_no_name_that_has_grams():
    names = [
        "".join(letters) for size in (1, 2, 3, 4) for letters in product("asAB09_é", repeat=size)
    ]
    having = [name for name in names if grams(name)]
    assert len(having) > 1_000 and all(map(_MAY_HAVE_GRAMS, having))
    assert not any(map(_MAY_HAVE_GRAMS, ("Look", "look,", "URL", "2026-01", "a_b", "A.B")))
