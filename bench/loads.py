"""Bulk import, concurrent writers and cold start."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from bench.corpus import Corpus, memory, plain_text
from bench.report import table
from rlm.packs import export_pack, import_pack
from rlm.store.open import open_store

WRITER = """
import sys, time
from rlm.store.open import open_store
from rlm.store.types import MemoryItem
db = open_store(sys.argv[1])
db.retrieve("warm up")
print("ready", flush=True); sys.stdin.readline()
worst = 0.0
for n in range(int(sys.argv[3])):
    title = f"Writer {sys.argv[2]} item {n}"
    item = MemoryItem(title=title, description="what was learnt", content=f"step {n}")
    start = time.perf_counter(); db.add(item); worst = max(worst, time.perf_counter() - start)
print(f"{worst:.3f}", flush=True)
"""
PEER = """
import sys, time
import apsw
db = apsw.Connection(sys.argv[1]); db.set_busy_timeout(60_000)
db.execute("PRAGMA journal_mode=wal").fetchall(); db.execute("PRAGMA synchronous=full")
print("ready", flush=True); sys.stdin.readline()
worst = 0.0
for n in range(int(sys.argv[3])):
    start = time.perf_counter()
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO plain(body) VALUES (?)", (f"Writer {sys.argv[2]} item {n} step",))
    db.execute("COMMIT"); worst = max(worst, time.perf_counter() - start)
print(f"{worst:.3f}", flush=True)
"""


def imports(folder: Path, size: int = 100_000, lengths: tuple[int, ...] = (15, 25, 45)) -> str:
    """Packs of `size` memories of so many words, beside two parts of the same job done by their own
    libraries."""
    rows = []
    for words in lengths:
        rows += _imports(folder / str(words), size, words)
    head = ("words", "what", "seconds", "items a second", "÷ wordllama alone")
    return f"## Import of {size:,} memories\n\n{table(head, rows)}\n"


def _imports(folder: Path, size: int, length: int) -> list[tuple[str, ...]]:
    folder.mkdir(parents=True)
    corpus = Corpus(size, seed=11)
    with open_store(folder / "source.db", embedder="none") as source:
        for chunk in corpus.draws():
            source.add_many(memory(words[:length]) for words in chunk)
        report = export_pack(source, folder / "big_v1.jsonl", name="big_v1", threshold=0.0)
    texts = [plain_text(words[:length]) for chunk in corpus.draws() for words in chunk]
    spent = {}
    for name in ("static", "none"):
        label = f"rlm pack import, embeddings {'on' if name == 'static' else 'off'}"
        with open_store(folder / f"target-{name}.db", embedder=name) as db:
            spent[label] = seconds(
                lambda db=db: import_pack(folder / "big_v1.jsonl", db, trust=True)
            )
            assert db.stats()["memories"] == report.count
    spent["plain FTS5 alone: the words, no rows or checks"] = seconds(
        lambda: _peer_words(folder / "plain.db", texts)
    )
    alone = seconds(lambda: peer_vectors(texts))  # last: it leaves threads behind
    spent["wordllama alone: the vectors, all cores"] = alone
    return [
        (str(length), name, f"{took:.1f}", f"{report.count / took:,.0f}", f"{alone / took:.2f}×")
        for name, took in spent.items()
    ]


def seconds(job: Callable[[], object]) -> float:
    os.sync()  # what was written before is not ours to pay for
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def peer_vectors(texts: list[str]) -> None:
    """The library that our vectors come from, called as its page says."""
    import wordllama

    model = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )
    for start in range(0, len(texts), 10_000):
        model.embed(texts[start : start + 10_000])


def _peer_words(path: Path, texts: list[str]) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode=wal").fetchall()
    connection.execute("CREATE VIRTUAL TABLE plain USING fts5(body, tokenize='porter unicode61')")
    with connection:
        connection.executemany("INSERT INTO plain(body) VALUES (?)", ((text,) for text in texts))


def writers(folder: Path, processes: int = 8, writes: int = 250) -> str:
    """Eight processes write at once, each write its own transaction, beside bare FTS5 with a busy
    timeout."""
    folder.mkdir(parents=True)
    open_store(folder / "rlm.db").close()
    peer = apsw.Connection(str(folder / "plain.db"))
    peer.execute("PRAGMA journal_mode=wal").fetchall()
    peer.execute("CREATE VIRTUAL TABLE plain USING fts5(body, tokenize='porter unicode61')")
    peer.close()
    rows = []
    for name, code, path in (
        ("rlm", WRITER, "rlm.db"),
        ("bare SQLite, busy timeout", PEER, "plain.db"),
    ):
        spent, worst = _race(code, folder / path, processes, writes)
        rows.append((name, f"{processes * writes / spent:,.0f}", f"{worst:.3f}"))
    head = ("what", "writes a second, all processes", "longest single write, s")
    return f"## {processes} writers × {writes} writes\n\n{table(head, rows)}\n"


def _race(code: str, path: Path, processes: int, writes: int) -> tuple[float, float]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(path), str(n), str(writes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        )
        for n in range(processes)
    ]
    for process in running:
        assert process.stdout is not None
        process.stdout.readline()
    start = time.perf_counter()
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    worst = max(float(process.communicate()[0]) for process in running)
    return time.perf_counter() - start, worst


def cold_start(folder: Path, runs: int = 15) -> str:
    """Whole processes, warm disk cache: `rlm memory search`, fusion on, beside a Python that does
    nothing."""
    folder.mkdir(parents=True)
    rows = []
    for size in (100, 10_000, 100_000):
        path = folder / f"{size}.db"
        with open_store(path) as db:
            for chunk in Corpus(size, seed=13).draws():
                db.add_many(memory(words) for words in chunk)
        query = "how do I find the memory about the other thing"
        search = ("memory", "search", "--db", str(path), "--project", "local", "--json", query)
        args = [sys.executable, "-m", "rlm", *search]
        rows.append((f"rlm memory search, {size:,} memories", *_timed(args, runs)))
    rows.append(("rlm --version", *_timed([sys.executable, "-m", "rlm", "--version"], runs)))
    rows.append(("python -c pass", *_timed([sys.executable, "-c", "pass"], runs)))
    cells = [(name, f"{median:.0f}", f"{best:.0f}") for name, median, best in rows]
    return f"## Cold start\n\n{table(('command', 'median ms', 'best ms'), cells)}\n"


def _timed(args: list[str], runs: int) -> tuple[float, float]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    subprocess.run(args, stdout=subprocess.DEVNULL, check=True, env=env)
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(args, stdout=subprocess.DEVNULL, check=True, env=env)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times), min(times)
