"""Many clients of one `rlm mcp --http`: errors, lost records, latency, and the server's memory.

Clients are processes that speak bare JSON-RPC, half of them of each protocol era. First each pauses
for 0 to 0.2 s between calls, 60 to 80 calls a second in all, where a coding agent makes a few a
minute; then, for a tenth of the time, nobody pauses. Every record that was acknowledged is looked
for afterwards in the file itself, by its id and by its words.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bench.corpus import Corpus, memory
from bench.report import table
from rlm.mcp_server import issue_token
from rlm.service import MemoryManager
from rlm.store.open import open_store
from rlm.store.types import Tenant

TENANT = Tenant(project="bench")
MIX = {"memory_search": 70, "memory_record": 15, "memory_feedback": 15}
MODERN, LEGACY = "2026-07-28", "2025-11-25"
WARM_CALLS = 20
PAUSE_S = 0.1
"""Between two calls of one client, on average."""
TIMEOUT_S = 30.0


@dataclass
class ClientReport:
    """What one client saw."""

    spent_ms: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    recorded: dict[str, str] = field(default_factory=dict)
    """Id of each acknowledged record, and its words."""


class RawClient:
    """JSON-RPC over one connection that stays open."""

    def __init__(self, port: int, token: str, version: str) -> None:
        self._http = HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        self._version, self._number = version, 0
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
            "MCP-Protocol-Version": version,
        }
        self._meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer. RuntimeError for anything else."""
        self._number += 1
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        headers = dict(self._headers)
        if self._version == MODERN:
            params["_meta"] = self._meta
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": name}
        body = {"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": params}
        self._http.request("POST", "/mcp", json.dumps(body), headers)
        response = self._http.getresponse()
        text = response.read().decode()
        if response.headers["content-type"].startswith("text/event-stream"):
            text = re.findall(r"^data: (\{.*\})\r?$", text, re.MULTILINE)[-1]
        result = json.loads(text).get("result")
        if response.status != 200 or result is None or result.get("isError"):
            raise RuntimeError(f"{name}: {response.status} {text[:200]}")
        return dict(result["structuredContent"])


def play(
    port: int, token: str, version: str, seed: int, seconds: float, pause_s: float
) -> ClientReport:
    """One client's calls, for so long."""
    client, draw, report = RawClient(port, token, version), Random(seed), ClientReport()
    corpus = Corpus(20_000, seed=1_000 + seed)
    texts, queries = iter(next(corpus.draws())), corpus.queries(2_000)
    known: list[str] = []
    for query in queries[:WARM_CALLS]:
        known += [hit["id"] for hit in client.call("memory_search", query=query)["hits"]]
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        time.sleep(draw.uniform(0.0, 2 * pause_s))
        name = draw.choices(list(MIX), list(MIX.values()))[0]
        arguments: dict[str, Any] = {"query": draw.choice(queries)}
        if name == "memory_record":
            made = memory(next(texts))
            arguments = {"title": made.title, "content": made.content}
        elif name == "memory_feedback":
            arguments = {"id": draw.choice(known), "helpful": draw.random() < 0.8}
        started = time.perf_counter()
        try:
            answer = client.call(name, **arguments)
        except Exception as exc:  # whatever it is, it is counted and shown
            report.errors.append(f"{type(exc).__name__}: {exc}")
            client = RawClient(port, token, version)
            continue
        report.spent_ms[name].append((time.perf_counter() - started) * 1e3)
        if name == "memory_record":
            report.recorded[answer["memories"][0]["id"]] = f"{made.title} {made.content}"
        elif name == "memory_search":
            known = (known + [hit["id"] for hit in answer["hits"]])[-200:]
    return report


@contextmanager
def serving(path: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The server as people start it, and its port."""
    line = [sys.executable, "-m", "rlm", "mcp", "--http", "127.0.0.1:0", "--db", str(path)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, env=env) as server:
        assert server.stderr is not None
        said = server.stderr.readline()
        found = re.search(r":(\d+)/mcp", said)
        assert found is not None, said
        try:
            yield server, int(found[1])
        finally:
            server.send_signal(signal.SIGTERM)
            said = server.stderr.read()
            assert not said, said


def run(folder: Path, seconds: float, size: int = 100_000, clients: int = 8) -> str:
    """The section of docs/benchmarks.md."""
    folder.mkdir(parents=True)
    path = folder / "m.db"
    with open_store(path, tenant=TENANT) as store:
        for chunk in Corpus(size).draws():
            store.add_many(memory(words) for words in chunk)
        tokens = [issue_token(store, f"c{n}", read_only=False)[1] for n in range(clients)]
    with serving(path) as (server, port):
        paced = _measure(path, server.pid, port, tokens, seconds, PAUSE_S)
        alone_ms = _cpu_of_searches(server.pid, port, tokens[0])
        at_once = _measure(path, server.pid, port, tokens, seconds / 10, 0.0)
    return (
        f"## {clients} clients over MCP HTTP, {size:,} memories, {seconds:,.0f} s\n\n"
        f"{paced}\n\nA search with nobody else there takes {alone_ms:.1f} ms of the server's CPU"
        f" time. Without pauses, for {seconds / 10:,.0f} s:\n\n{at_once}\n"
    )


def _measure(
    path: Path, pid: int, port: int, tokens: list[str], seconds: float, pause_s: float
) -> str:
    held, began = [_own_mb(pid)], _cpu_s(pid)
    seeds = range(int(1_000 * pause_s), int(1_000 * pause_s) + len(tokens))  # other words each time
    with ProcessPoolExecutor(len(tokens), mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(play, port, token, (MODERN, LEGACY)[n % 2], seed, seconds, pause_s)
            for n, (seed, token) in enumerate(zip(seeds, tokens, strict=True))
        ]
        while _running(jobs, seconds / 10):
            held.append(_own_mb(pid))
        reports = [job.result() for job in jobs]
    cpu_s = _cpu_s(pid) - began
    spent: dict[str, list[float]] = defaultdict(list)
    for report in reports:
        for name, found in report.spent_ms.items():
            spent[name] += found
    rows = [
        (name, f"{len(found):,}", *(f"{np.percentile(found, p):.0f}" for p in (50, 99)))
        for name, found in spent.items()
    ]
    errors = [error for report in reports for error in report.errors]
    recorded = {id_: words for report in reports for id_, words in report.recorded.items()}
    calls = sum(map(len, spent.values()))
    shown = (held[0], held[len(held) // 2], held[-1])
    return (
        f"{table(('tool', 'calls', 'p50 ms', 'p99 ms'), rows)}\n\n"
        f"{len(errors)} errors, {_lost(path, recorded)} of {len(recorded):,} acknowledged records"
        f" lost. {calls / seconds:,.0f} calls a second, {cpu_s / calls * 1e3:.1f} ms of the"
        f" server's CPU time a call. Memory of its own (without the pages of files that are mapped)"
        f" at the start, in the middle and at the end: {', '.join(f'{each:.0f}' for each in shown)}"
        " MB." + "".join(f"\n    {error}" for error in errors[:5])
    )


def _running(jobs: list[Future[ClientReport]], wait_s: float) -> bool:
    return bool(wait(jobs, wait_s).not_done)


def _lost(path: Path, recorded: dict[str, str]) -> int:
    """How many of these are not there under their id, or not found by their words."""
    with open_store(path, tenant=TENANT, read_only=True) as store:
        manager = MemoryManager(store)
        return sum(
            store.get(id_) is None
            or id_ not in {hit.id for hit in manager.search(words, limit=20, count_access=False)}
            for id_, words in recorded.items()
        )


def _cpu_of_searches(pid: int, port: int, token: str, count: int = 200) -> float:
    client, began = RawClient(port, token, MODERN), _cpu_s(pid)
    for query in Corpus(100).queries(count):
        client.call("memory_search", query=query)
    return (_cpu_s(pid) - began) / count * 1e3


def _cpu_s(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def _own_mb(pid: int) -> float:
    """Pages of the store and of the word index are not counted: the kernel takes them back."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024
