"""A new embedding model: rows get its vectors bit by bit, and nothing stops meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from rlm.store.open import open_store

DIM = 64


class WordsEmbedder:
    """Texts with the same words have the same vector. Words of `SAME` count as one."""

    dim = DIM
    SAME = ({"boat", "ship", "vessel"}, {"mend", "repair", "fix"})

    def __init__(self, model: str = "words-1", on_embed=lambda: None) -> None:
        self.model, self._on_embed = model, on_embed

    def embed(self, texts):
        return self.embed_documents([(text, "") for text in texts])

    def embed_documents(self, documents):
        self._on_embed()
        out = np.zeros((len(documents), DIM), np.float32)
        for row, (head, body) in zip(out, documents, strict=True):
            for word in Counter(f"{head} {body}".lower().split()):
                name = next((str(n) for n, same in enumerate(self.SAME) if word in same), word)
                row += np.random.default_rng(crc32(f"{self.model} {name}".encode())).normal(
                    size=DIM
                )
            row /= max(1e-9, float(np.linalg.norm(row)))
        return out


@pytest.fixture
def filled(tmp_path, make_item):
    path = tmp_path / "m.db"
    with open_store(path, embedder="static") as db:
        db.add_many(
            make_item(f"Ship {n}", content="repair", description="ship") for n in range(150)
        )
        db.graph.create_node("fact", "a vessel")
    return path


def codes_equal_rows(db) -> bool:
    """Whether every search by meaning sees every vector."""
    return not [check for check in db.check() if not check.ok]


def test_search_works_by_words_and_by_the_vectors_that_are_there(filled):
    with open_store(filled, embedder=WordsEmbedder()) as db:
        assert db.stale_vectors() == 151
        by_words = db.retrieve("ship 7", k=1, explain=True)[0]
        assert by_words.item.title == "Ship 7" and not by_words.why.cosine
        assert db.retrieve("boat mend", k=3) == [], "no row has a vector of this model yet"
        seen = []
        done = db.reembed(on_progress=seen.append, stopped=lambda: True)
        assert seen == [done] and 0 < done < 150
        assert db.stale_vectors() == 151 - done
        near = db.retrieve("boat mend", k=200)
        assert 0 < len(near) <= done, "those that have one are found by meaning alone"
        assert db.retrieve("ship 149", k=1)[0].item.title == "Ship 149"
        assert db.reembed(on_progress=seen.append) == 151 - done
        assert db.stale_vectors() == 0 and seen[1:] == sorted(set(seen[1:]))
        assert len(db.retrieve("boat mend", k=200)) == 150
        assert db.graph.search("boat", 3)
        assert codes_equal_rows(db)


def test_in_a_large_store_codes_come_with_the_vectors(tmp_path, make_item):
    """More rows than recall looks at, so that only its code can bring a row there."""
    with open_store(tmp_path / "m.db", embedder="none") as db:
        db.add_many(make_item(f"Item {n}", content="plain", description="") for n in range(1_500))
        db.add(make_item("Ship", content="repair", description="ship"))
        db.add_many(make_item(f"Item {n}", content="x", description="") for n in range(100))
    with open_store(tmp_path / "m.db", embedder=WordsEmbedder()) as db:
        done: list[int] = []
        db.reembed(on_progress=done.append, stopped=lambda: done[-1] > 1_500)
        assert db.retrieve("boat mend", k=1)[0].item.title == "Ship"


def test_a_row_that_changes_meanwhile_keeps_the_vector_of_its_new_text(filled):
    with open_store(filled, embedder=WordsEmbedder()) as other:
        wanted = other.retrieve("ship 3", k=1)[0].item.memory_id
        changes = iter(["tram"])

        def change() -> None:
            if next(changes, None):
                other.update(wanted, title="Tram", description="tram", content="tram")

        with open_store(filled, embedder=WordsEmbedder(on_embed=change)) as db:
            db.reembed()
        hit = next(h for h in other.retrieve("tram", k=1, explain=True))
        assert hit.item.title == "Tram" and hit.why.cosine > 0.9


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[2])
from test_reembed import WordsEmbedder
from rlm.store.open import open_store
left = int(sys.argv[3])
def die():
    global left
    left -= 1
    if left < 0: os.kill(os.getpid(), 9)
with open_store(sys.argv[1], embedder=WordsEmbedder(on_embed=die)) as db:
    db.reembed(on_progress=lambda done: die())
"""


def test_killed_anywhere_it_goes_on_where_it_was(filled):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    stale = []
    for left in (0, 1, 2, 3):
        line = [sys.executable, "-c", KILLED, str(filled), str(Path(__file__).parent), str(left)]
        assert subprocess.run(line, env=env, timeout=60).returncode == -9
        with open_store(filled, embedder=WordsEmbedder(), read_only=True) as db:
            stale.append(db.stale_vectors())
    assert stale == sorted(stale, reverse=True) and 0 < stale[-1] < 151
    with open_store(filled, embedder=WordsEmbedder()) as db:
        assert db.reembed() == stale[-1]
        assert codes_equal_rows(db)
        assert len(db.retrieve("boat mend", k=200)) == 150


def test_postgres_gives_vectors_in_the_background_too(postgres_server, make_item):
    url = postgres_server.empty_store()
    with open_store(url, embedder="none") as db:
        db.add_many(make_item(f"Ship {n}", content="repair", description="ship") for n in range(80))
        db.graph.create_node("fact", "a vessel")
    with open_store(url, embedder=WordsEmbedder()) as db:
        assert db.stale_vectors() == 81 and db.retrieve("boat mend", k=3) == []
        done = db.reembed(stopped=lambda: True)
        assert 0 < len(db.retrieve("boat mend", k=200)) == done < 80
        codes = "SELECT count(*) FROM recall_rows WHERE code IS NOT NULL"
        assert db.db.value(codes) == done
        assert db.reembed() == 81 - done
        assert len(db.retrieve("boat mend", k=200)) == 80 and codes_equal_rows(db)
