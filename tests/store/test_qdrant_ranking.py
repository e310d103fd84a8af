"""The same memories through Qdrant and through plain SQLite: the same hits, best first."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from rlm.store.open import open_store
from rlm.store.types import MemoryItem

pytestmark = pytest.mark.req("CX-08")

ROOT = Path(__file__).resolve().parents[2]


def sentences(sources):
    """Plain English that is at hand: our own documentation."""
    found: dict[str, None] = {}
    for path in sorted([*ROOT.glob("docs/*.md"), *ROOT.glob(sources)]):
        for text in re.split(r"(?<=[.:;])\s+|\n\n", path.read_text("utf-8")):
            clean = " ".join(re.findall(r"[A-Za-z][\w'-]*", text))
            if 40 < len(clean) < 300 and clean.count(" ") > 6:
                found[clean] = None
    return list(found)


def memories(texts, rng):
    return [
        MemoryItem(
            title=" ".join(text.split()[:8]),
            description=text,
            content=text,
            confidence=rng.choice((0.5, 0.6, 0.6, 0.7)),
        )
        for text in texts
    ]


@pytest.mark.parametrize(
    "count, asked", [(120, 12), pytest.param(5_000, 300, marks=pytest.mark.slow)]
)
def test_the_top_three_are_those_of_sqlite(qdrant, tmp_path, monkeypatch, count, asked):
    rng = random.Random(3)
    texts = rng.sample(
        sentences("src/rlm/*.py" if count < 1_000 else "src/rlm/**/*.py"), count + asked
    )
    items, questions = memories(texts[asked:], rng), texts[:asked]
    questions = [" ".join(rng.sample(text.split(), 6)) for text in questions[: asked // 2]] + [
        *questions[asked // 2 :]
    ]
    with open_store(tmp_path / "qdrant.db") as store:
        store.add_many(items)
        store.remote_index.drain()
        found = [[hit.item.memory_id for hit in store.retrieve(text)] for text in questions]
        assert store.remote_index.problem is None
    monkeypatch.delenv("RLM_INDEX")
    with open_store(tmp_path / "plain.db") as store:
        store.add_many(items)
        wanted = [[hit.item.memory_id for hit in store.retrieve(text)] for text in questions]
    equal = sum(one == other for one, other in zip(found, wanted, strict=True)) / asked
    print(f"top three equal: {equal:.3f} of {asked}")
    assert equal >= 0.97
