"""Ontologies: the first load, GraphMeta, a three-hop query and opening again, beside rdflib in the same run."""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from bench.ontology_data import write_ontology
from bench.report import table
from rlm.ontology.engine import LocalEngine

RDFLIB = """
import resource, sys, time
import rdflib
path, query = sys.argv[1], sys.argv[2]
start = time.perf_counter()
graph = rdflib.Graph(); graph.parse(path, format="nt")
loaded = time.perf_counter() - start
start = time.perf_counter()
classes = set(graph.subjects(rdflib.RDF.type, rdflib.OWL.Class))
subs = list(graph.subject_objects(rdflib.RDFS.subClassOf))
domains, ranges = list(graph.subject_objects(rdflib.RDFS.domain)), list(graph.subject_objects(rdflib.RDFS.range))
labels = list(graph.subject_objects(rdflib.RDFS.label))
types, used = {}, {}
for s, p, o in graph:
    used[p] = used.get(p, 0) + 1
    if p == rdflib.RDF.type:
        types[o] = types.get(o, 0) + 1
meta = time.perf_counter() - start
spent, rows = [], 0
for _ in range(5):
    start = time.perf_counter(); rows = int(list(graph.query(query))[0][0]); spent.append(time.perf_counter() - start)
print(loaded, meta, sorted(spent)[2], rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def run(folder: Path, sizes: list[int]) -> str:
    """One table for all sizes. Medians of five queries; loads are single."""
    folder.mkdir(parents=True)
    rows = []
    for size in sizes:
        path = folder / f"made-{size}.nt"
        summary = write_ontology(path, size, 7)
        hops = " . ".join(f"?{a} <{summary.link}> ?{b}" for a, b in ("ab", "bc", "cd"))
        query = f"SELECT (COUNT(*) AS ?n) WHERE {{ {hops} }}"
        rows += _rows(path, size, query, folder / f"cache-{size}")
        path.unlink()
    head = ("triples", "what", "rlm", "rdflib", "rdflib ÷ rlm")
    return f"## Ontologies\n\n{table(head, rows)}\n"


def _rows(path: Path, size: int, query: str, cache: Path) -> list[tuple[str, ...]]:
    theirs = subprocess.run(
        [sys.executable, "-c", RDFLIB, str(path), query], capture_output=True, text=True, check=True
    )
    loaded, meta, asked, found, memory = (float(part) for part in theirs.stdout.split())
    first, engine = _timed(lambda: LocalEngine(path, cache_dir=cache))
    with engine:
        meta_first, _ = _timed(engine.meta)
        ours = statistics.median(_timed(lambda: engine.query(query))[0] for _ in range(5))
        peak = _peak_mb(engine)
        counted = int(engine.query(query).rows[0]["n"]["v"])
        assert counted == int(found), (counted, found)
    again, engine = _timed(lambda: LocalEngine(path, cache_dir=cache))
    with engine:
        meta_again, _ = _timed(engine.meta)
        assert engine.loaded_from_cache
    label = f"{size:,}"
    return [
        (label, "first load", f"{first:.2f} s", f"{loaded:.2f} s", f"{loaded / first:.1f}×"),
        (
            label,
            "GraphMeta (rdflib: counts only)",
            f"{meta_first:.2f} s",
            f"{meta:.2f} s",
            f"{meta / meta_first:.1f}×",
        ),
        (label, "three hops", f"{ours * 1e3:.1f} ms", f"{asked * 1e3:.1f} ms", f"{asked / ours:.1f}×"),
        (label, "opened again", f"{again:.3f} s", "", f"first load {first / again:.0f}× as long"),
        (label, "GraphMeta again", f"{meta_again:.3f} s", "", ""),
        (label, "most memory, the process that answers", f"{peak:,} MB", f"{memory:,.0f} MB", ""),
    ]


def _peak_mb(engine: LocalEngine) -> int:
    """The most that the process which answers has held."""
    most = 0
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                status = dict(
                    line.split(":", 1) for line in (folder / "status").read_text().splitlines() if ":" in line
                )
                if int(status["PPid"]) == os.getpid() and "VmHWM" in status:
                    most = max(most, int(status["VmHWM"].split()[0]) // 1024)
    return most


def _timed(job: Callable[[], object]) -> tuple[float, object]:
    start = time.perf_counter()
    value = job()
    return time.perf_counter() - start, value
