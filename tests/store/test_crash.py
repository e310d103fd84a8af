"""Eight processes write, some are killed at random: nothing that was acknowledged is lost.

Slow: `make test-slow`. A writer prints an id only after `add` has returned; whatever was printed
must be in the file at the end. A killed writer is replaced at once.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from rlm.store.open import open_store

WRITERS = 8
WRITES = 2_000
KILL_EVERY_S = 0.8
LONGEST_WAIT_S = 1.0

WRITER = """
import sys, time
from rlm.store.open import open_store
from rlm.store.types import MemoryItem
path, name, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
db = open_store(path)
for n in range(first, count):
    item = MemoryItem(title=f"Writer {name} item {n}", description=f"what {name} learnt", content=f"step {n} of {name}")
    kept = db.add(item)
    print(n, kept, f"{db.db.lock.longest_wait_s:.3f}", flush=True)
"""


class Writer:
    """One logical writer: a chain of processes, each going on where the last acknowledged write
    was."""

    def __init__(self, path, name, folder):
        self.path, self.name, self.log = path, name, folder / f"{name}.log"
        self.log.touch()
        self.start()

    def acknowledged(self):
        # A line that was cut by the kill is not an acknowledgement that anybody saw whole.
        lines = self.log.read_text().split("\n")[:-1]
        return [line.split() for line in lines if line.count(" ") == 2]

    def start(self):
        done = self.acknowledged()
        first = int(done[-1][0]) + 1 if done else 0
        with self.log.open("a") as out:
            env = {
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "OPENBLAS_NUM_THREADS": "1",
            }
            args = [
                sys.executable,
                "-c",
                WRITER,
                str(self.path),
                self.name,
                str(first),
                str(WRITES),
            ]
            self.process = subprocess.Popen(args, stdout=out, env=env)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        text = self.log.read_text()
        if text and not text.endswith("\n"):
            self.log.write_text(text[: text.rfind("\n") + 1])
        self.start()


@pytest.mark.slow
def test_no_acknowledged_write_is_lost(tmp_path):
    path = tmp_path / "m.db"
    open_store(path).close()
    rng = random.Random(4)
    writers = [Writer(path, f"w{n}", tmp_path) for n in range(WRITERS)]
    deadline = time.monotonic() + 900
    kills = 0
    while any(writer.process.poll() is None for writer in writers):
        assert time.monotonic() < deadline, "the writers did not finish"
        time.sleep(KILL_EVERY_S * rng.uniform(0.5, 1.5))
        alive = [writer for writer in writers if writer.process.poll() is None]
        if alive and kills < 60:
            rng.choice(alive).kill()
            kills += 1
    assert [writer.process.returncode for writer in writers] == [0] * WRITERS
    assert kills >= 10
    seen = {kept for writer in writers for _, kept, _ in writer.acknowledged()}
    waits = [float(wait) for writer in writers for *_, wait in writer.acknowledged()]
    with open_store(path) as db:
        there = {row[0] for row in db.db.rows("SELECT memory_id FROM memory_items")}
        assert seen <= there, f"{len(seen - there)} acknowledged writes lost"
        assert len(there) == WRITERS * WRITES
        checks = db.check()
        assert all(check.ok for check in checks), checks
        assert db.retrieve("Writer w3 item 1234", k=1)[0].item.title == "Writer w3 item 1234"
    print(f"{kills} kills, {len(seen)} acknowledged, longest wait {max(waits):.3f} s")
    assert max(waits) <= LONGEST_WAIT_S
