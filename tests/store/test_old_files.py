"""A store that version 1 wrote (`v1.db.gz`, by the release before the recall tables went) opens,
migrates with a backup, loses nothing and answers as it did (`v1_answers.json`)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from rlm.packs import list_packs, rollback_pack
from rlm.store.open import open_store

HERE = Path(__file__).parent
ANSWERS = json.loads((HERE / "v1_answers.json").read_text("utf-8"))


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "m.db"
    path.write_bytes(gzip.decompress((HERE / "v1.db.gz").read_bytes()))
    return path


@pytest.mark.req("RB-01")
def test_an_old_store_answers_as_it_did(old):
    with open_store(old) as db:
        found = {
            query: [hit.item.memory_id for hit in db.retrieve(query, k=3)]
            for query in ANSWERS["memories"]
        }
        assert found == ANSWERS["memories"]
        assert db.graph.search("token budget", 1)[0].node.content == ANSWERS["nodes"][0]
        assert all(check.ok for check in db.check())


def test_an_old_store_is_backed_up_and_loses_nothing(old):
    before = old.read_bytes()
    with open_store(old) as db:
        stats = db.stats()
        assert (stats["memories"], stats["archived"], stats["nodes"]) == (66, 1, 20)
        assert (stats["runs"], stats["trajectories"], stats["packs"]) == (1, 1, 1)
        assert len(list_packs(db)) == 1
        assert rollback_pack(db, "core_v1").archived == 7
    backup = Path(f"{old}.v1.bak")
    assert backup.stat().st_size == len(before)
    with open_store(old) as db:
        assert db.stats()["memories"] == 59


def test_an_old_store_that_may_not_be_written_says_what_to_do(old):
    with pytest.raises(Exception, match="read-only and not of this schema"):
        open_store(old, read_only=True)
