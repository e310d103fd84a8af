"""Workers that are killed at any point: every session is distilled exactly once."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from transcript_making import ClaudeTranscript

from rlm import clock, open_store
from rlm.service import Distiller, read_transcript

WORKER = Path(__file__).parent / "kill_worker.py"
TRADES = ("baking", "sailing", "mining", "weaving", "farming", "printing", "brewing", "tanning")


def queue(store, folder: Path, count: int, turns: int) -> None:
    distiller = Distiller(store)
    for number in range(count):
        made = ClaudeTranscript(f"s{number}").user("Look at it")
        for turn in range(turns):
            made.says(f"Part {turn} of {number}. " + "word " * 200).user(
                f"ok, go on with part {turn}"
            )
        trade = f"{TRADES[number % len(TRADES)]}{number // len(TRADES)}"
        made.says("All done with it.").user(f"No, always use {trade}.")
        distiller.queue_session(path=made.write(folder))


def start(store: Path, *seconds: float) -> subprocess.Popen[bytes]:
    """A worker with a lease of so many seconds, that is killed after so many."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, str(WORKER), str(store), *map(str, seconds)], env=env)


def check(store, count: int, turns: int) -> None:
    assert {job.state for job in store.jobs(limit=1_000)} == {"done"}
    edges = store.graph.list_edges(type="context", limit=1_000)
    assert len(edges) == len({edge.label for edge in edges}) == count
    assert {len(edge.members) for edge in edges} == {2 * turns + 3}
    nodes = store.graph.query_nodes(type="experience", limit=100_000)
    assert len(nodes) == count * (2 * turns + 3)
    items = [item for item in store.list_items(limit=1_000) if item.kind == "decision"]
    assert len(items) == len({item.session_id for item in items}) == count
    assert len(store.graph.query_nodes(type="decision", limit=1_000)) == count


def kill_workers(folder: Path, *, kills: int, count: int, turns: int, most_s: float) -> None:
    path, rng = folder / "m.db", random.Random(16)
    with open_store(str(path), embedder=None) as store:
        queue(store, folder, count, turns)
    for _ in range(kills):
        with start(path, 0.2, 0.001 + rng.random() * most_s) as worker:
            assert worker.wait(60) in (0, -signal.SIGALRM)
    with open_store(str(path), embedder=None) as store:
        with clock.frozen(clock.now() + timedelta(minutes=1)):  # every lease has run out
            report = Distiller(store).process()
        assert report.errors == []
        check(store, count, turns)


@pytest.mark.req("CX-06")
def test_a_worker_that_is_killed_neither_loses_nor_repeats_a_session(tmp_path):
    kill_workers(tmp_path, kills=4, count=6, turns=20, most_s=0.15)


@pytest.mark.slow
def test_a_worker_that_is_killed_two_hundred_times(tmp_path):
    kill_workers(tmp_path, kills=200, count=60, turns=60, most_s=0.3)


@pytest.mark.req("CX-06")
def test_two_workers_at_once_distil_every_session_once(tmp_path):
    path = tmp_path / "m.db"
    with open_store(str(path), embedder=None) as store:
        queue(store, tmp_path, 12, 10)
    workers = [start(path, 60) for _ in range(2)]
    assert [worker.wait(60) for worker in workers] == [0, 0]
    with open_store(str(path), embedder=None) as store:
        check(store, 12, 10)


@pytest.mark.slow
def test_two_hundred_megabytes_stream_in_flat_memory(tmp_path):
    """Memory is measured in a process of its own: 200 MB may take little more than 20 MB do."""
    made = ClaudeTranscript().user("Begin").runs("make", "x" * 50_000).says("On it.")
    block = "".join(f"{line}\n" for line in made.write(tmp_path).read_text().splitlines()[1:])
    peaks = []
    for megabytes in (20, 200):
        path = tmp_path / f"{megabytes}.jsonl"
        with path.open("w") as file:
            file.write(made.write(tmp_path).read_text())
            while file.tell() < megabytes << 20:
                file.write(block)
        code = (
            "import resource, sys; from rlm.service import read_transcript;"
            " s = read_transcript(sys.argv[1]); assert s.turns;"
            " print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True,
                              text=True, env=env, check=True)  # fmt: skip
        peaks.append(int(done.stdout))
    assert peaks[1] < peaks[0] + 20_000, peaks
    assert resource.RUSAGE_SELF is not None and read_transcript(tmp_path / "20.jsonl").turns
