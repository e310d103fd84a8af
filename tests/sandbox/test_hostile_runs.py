"""A thousand hostile runs in a row: nothing is left running, nothing fails on the host, nobody
overstays."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest
from corpus_escape import ATTEMPTS, EXHAUSTION, FRAMES, KERNEL, Places, fill

from rlm.sandbox import SandboxLimits, Surroundings
from rlm.sandbox.process import ProcessRepl

RUNS = 1_000
BUDGET_S = 0.2
OVER_S = 0.25
LIMITS = SandboxLimits(block_s=BUDGET_S, memory_mb=128, output_chars=10_000, calls=500)


def children() -> set[int]:
    """Every process below this one."""
    mine, found = {os.getpid()}, set()
    table = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                table[int(folder.name)] = int(
                    (folder / "stat").read_text().rpartition(")")[2].split()[1]
                )
            except OSError:
                continue
    while fresh := {pid for pid, parent in table.items() if parent in mine and pid not in mine}:
        mine |= fresh
        found |= fresh
    return found


@pytest.mark.slow
def test_a_thousand_hostile_runs(tmp_path):
    before = children()
    places = Places(str(tmp_path / "canary"), str(tmp_path / "none"), 9, os.getpid())
    hostile = [a for a in ATTEMPTS if a.family in (EXHAUSTION, KERNEL, FRAMES)]
    given = Surroundings(tools={"echo": lambda value: value, "fail": lambda: 1 / 0})
    pids, late = set(), []
    with ProcessRepl(given, LIMITS) as sealed, ProcessRepl(given, LIMITS, language=False) as open_:
        for number, attempt in zip(range(RUNS), itertools.cycle(hostile), strict=False):
            repl, code = (
                (open_, attempt.raw) if number % 2 and attempt.raw else (sealed, attempt.code)
            )
            while repl.run(
                "pass"
            ).error:  # a worker that was killed is replaced, outside of the measured time
                pass
            pids.add(repl._worker.pid)
            start = time.monotonic()
            result = repl.run(fill(code, places))
            over = time.monotonic() - start - BUDGET_S
            if over > OVER_S:
                late.append((attempt.name, round(over, 3), result.error))
            assert "ESCAPED" not in result.stdout
    assert children() <= before
    for pid in pids:
        assert not Path(f"/proc/{pid}").exists()
    assert not (tmp_path / "canary").exists()
    assert late == []
