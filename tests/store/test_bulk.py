"""Bulk loads: the same rows as one by one, and all or nothing."""

from __future__ import annotations

import pytest

from rlm.errors import ModelError, ValidationError
from rlm.store.open import open_store
from rlm.store.sqlite import integrity
from rlm.store.types import MemoryItem


def items(count, word="bulk"):
    return [
        MemoryItem(title=f"{word} item {n}", description=f"number {n}", content=f"do step {n} of {word}")
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
