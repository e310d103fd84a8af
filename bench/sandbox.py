"""The sealed REPL: starting it, running a block, calling a tool, beside what a bare Python takes
for the same."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from bench.report import table
from rlm.sandbox import SandboxLimits, Surroundings
from rlm.sandbox.monty import MontyRepl
from rlm.sandbox.process import ProcessRepl

BLOCK = "total = 0\nfor i in range(100):\n    total += i\nprint(total)"
CALLS = 5_000
ECHO = "import os\nwhile data := os.read(0, 65536):\n    os.write(1, data)"


def run(boots: int = 30) -> str:
    """Medians; calls and pings are means of many in a row."""
    rows = [
        ("start: python -I -S -c pass", _ms(_median(_bare_python, boots)), ""),
        (
            "start: confined process",
            _ms(_median(lambda: ProcessRepl().close(), boots)),
            "bar: 80 ms",
        ),
        ("start: monty", _ms(_median(lambda: MontyRepl(Surroundings()).close(), boots)), ""),
    ]
    space: dict[str, object] = {"print": lambda *_: None}
    rows.append(("block of 4 lines: bare exec", _us(_median(lambda: exec(BLOCK, space), 300)), ""))
    given = Surroundings(tools={"add": lambda a, b: a + b})
    for name, repl in (
        ("confined process", ProcessRepl(given, SandboxLimits(calls=CALLS))),
        ("monty", MontyRepl(given)),
    ):
        with repl:
            rows.append(
                (
                    f"block of 4 lines: {name}",
                    _us(_median(lambda repl=repl: repl.run(BLOCK), 300)),
                    "",
                )
            )
    rows.append(("tool call: bare function", _us(_calls_bare()), ""))
    rows.append(("tool call: two processes, bare bytes over pipes", _us(_ping()), ""))
    with ProcessRepl(given, SandboxLimits(calls=CALLS)) as repl:
        rows.append(("tool call: confined process", _us(_calls(repl)), "bar: 100 µs"))
    return f"## The sealed REPL\n\n{table(('what', 'time', ''), rows)}\n"


def _median(job: Callable[[], object], times: int) -> float:
    job()
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        job()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent)


def _bare_python() -> None:
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True, env={})


def _calls(repl: ProcessRepl) -> float:
    repl.run("add(1, 2)")
    result = repl.run(f"for i in range({CALLS}):\n    add(i, 2)")
    assert result.error is None, result.stderr
    return result.execution_time / CALLS


def _calls_bare() -> float:
    start = time.perf_counter()
    exec(f"for i in range({CALLS}):\n    add(i, 2)", {"add": lambda a, b: a + b})
    return (time.perf_counter() - start) / CALLS


def _ping() -> float:
    """What the machine takes to wake another process and be woken by it."""
    with subprocess.Popen(
        [sys.executable, "-c", ECHO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as peer:
        assert peer.stdin is not None and peer.stdout is not None
        there, back = peer.stdin.fileno(), peer.stdout.fileno()
        os.write(there, b"x" * 60)
        os.read(back, 65_536)
        start = time.perf_counter()
        for _ in range(CALLS):
            os.write(there, b"x" * 60)
            os.read(back, 65_536)
        return (time.perf_counter() - start) / CALLS


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.1f} µs"
