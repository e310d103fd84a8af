"""A worker that is killed while it feeds the index, anywhere, again and again."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import pytest
from test_qdrant_index import contents, truth

from rlm.store.open import open_store
from rlm.store.types import MemoryItem

pytestmark = pytest.mark.req("CX-08")

WORKER = """
import sys
from rlm.store.open import open_store
from rlm.store.qdrant import index
from rlm.store.sql import outbox
index.BATCH, outbox.LEASE_S = 4, 0.05  # many places to be killed at, and no long wait for the next
with open_store(sys.argv[1], embedder="none") as store:
    print("ready", flush=True)
    while True:
        store.remote_index.drain()
"""


@pytest.mark.parametrize(
    "kind, kills",
    [
        ("sqlite", 3),
        pytest.param("sqlite", 100, marks=pytest.mark.slow),
        pytest.param("postgres", 20, marks=pytest.mark.slow),
    ],
)
def test_a_killed_worker_loses_nothing_and_doubles_nothing(qdrant, tmp_path, request, kind, kills):
    """After each kill the store changes; at the end the index holds what the store holds."""
    path, rng = tmp_path / "memory.db", random.Random(kills)
    if kind == "postgres":
        path = request.getfixturevalue("postgres_server").empty_store()
    with open_store(path, embedder="none") as store:
        store.add_many(memory(n) for n in range(60))
        for kill in range(kills):
            with subprocess.Popen(
                [sys.executable, "-c", WORKER, str(path)],
                stdout=subprocess.PIPE,
                env={**os.environ},
            ) as worker:
                assert worker.stdout.readline() == b"ready\n"
                change(store, rng, 100 + 10 * kill)
                seen = len(qdrant.requests) + rng.randrange(12)
                wait_for(lambda seen=seen: len(qdrant.requests) >= seen or not waiting(store))
                worker.kill()
        store.remote_index.reconcile()
        wait_for(lambda: store.remote_index.reconcile().busy == 0)
        found = contents(store)
        assert found == truth(store) and len(found) == len(set(found)) > 60
        assert not waiting(store)


def waiting(store):
    return store.db.value("SELECT count(*) FROM index_outbox")


def memory(number):
    title = f"Recipe {number} for tea"
    return MemoryItem(title=title, description="d", content=f"step {number}")


def change(store, rng, first):
    """Ten changes of every kind, while the worker feeds."""
    for number in range(first, first + 6):
        store.add(memory(number))
    ids = [item.memory_id for item in store.list_items(limit=1000)]
    chosen = rng.sample(ids, 4)
    store.update(chosen[0], description=f"changed {first}")
    store.delete(chosen[1])
    store.purge(chosen[2])
    store.set_level(chosen[3], "team" if store.get(chosen[3]).level == "project" else "project")


def wait_for(done, seconds=20.0):
    import threading
    import time

    pause, ends = threading.Event(), time.monotonic() + seconds
    while not done():
        assert time.monotonic() < ends
        pause.wait(0.002)
