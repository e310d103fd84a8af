"""Timing and tables."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np


def percentiles(
    work: Callable[[str], object], queries: Iterable[str], warm: int = 5
) -> tuple[float, float]:
    """Median and 99th percentile in milliseconds, after a few queries that do not count."""
    asked = list(queries)
    for query in asked[:warm]:
        work(query)
    times = []
    for query in asked:
        start = time.perf_counter()
        work(query)
        times.append((time.perf_counter() - start) * 1e3)
    return float(np.percentile(times, 50)), float(np.percentile(times, 99))


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def machine() -> str:
    """What this ran on, without a name or a path."""
    model = ""
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip()
            for line in info.read_text().splitlines()
            if line.startswith("model name")
        ]
        model = names[0] if names else ""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({model or platform.machine()}), {memory:.0f} GiB,"
        f" {platform.system()}, Python {platform.python_version()}, load average {load:.1f} at the"
        " start of the run"
    )
