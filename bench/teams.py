"""Growth: many teams in one store, on SQLite and on PostgreSQL, and what a search and a write cost.

Sizes of tenants follow Zipf's law, as those of real teams do: a few large ones, and a long tail.
The store is filled once in SQLite and copied to a PostgreSQL of the wheel, and back, so that both
hold the same rows. What is measured is processor time, of this process and of the server together:
the wall clock of a shared machine says more about the others on it.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.corpus import Corpus, memory
from bench.report import table
from rlm.packs.manifest import PACK_SUFFIX
from rlm.retrieval.static import StaticEmbedder
from rlm.store.copy import compare_stores, copy_store
from rlm.store.open import open_store
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.types import Tenant

ROOT = Path(__file__).parent.parent
TENANTS = 1_000
EXPONENT = 1.0
SEARCHES = 60
WRITES = 40
CLIENTS = (1, 4, 16)
CLIENT_S = 8.0
EQUAL = 100
ROUNDS = 4
BUFFERS = ("512MB", "1GB", "2GB")


def zipf_sizes(total: int, tenants: int = TENANTS) -> list[int]:
    """How many memories each tenant has, the largest first; every one has at least one.

    >>> zipf_sizes(100, 4)
    [47, 25, 16, 12]
    """
    shares = 1.0 / np.arange(1, tenants + 1) ** EXPONENT
    cut = np.maximum(1, np.floor(total * shares / shares.sum())).astype(int)
    cut[0] += max(0, total - int(cut.sum()))
    return [int(size) for size in cut]


def teams(total: int, tenants: int = TENANTS) -> Iterator[tuple[Tenant, int]]:
    """Tenants with their sizes: ten organisations of ten teams, dealt out in turn."""
    for number, size in enumerate(zipf_sizes(total, tenants)):
        org, team = number % 10, number // 10 % 10
        yield Tenant(f"org{org}", f"team{team}", f"project{number}"), size


def fill(url: str, parts: list[tuple[Tenant, int]], seed: int) -> None:
    """Every tenant gets its own memories."""
    words = (row for chunk in Corpus(sum(s for _, s in parts), seed).draws() for row in chunk)
    with SQLiteMemoryBackend(url, embedder=StaticEmbedder()) as first, first.together():
        for tenant, size in parts:
            db = SQLiteMemoryBackend(first.db, tenant=tenant, embedder=first.embedder)
            db.add_many(memory(next(words)) for _ in range(size))


class Server:
    """A PostgreSQL of the wheel, with the settings that a small server would have."""

    def __init__(self) -> None:
        sys.path.insert(0, str(ROOT / "tests"))
        from postgres_server import PostgresServer, wheel_programs

        self._server: Any = PostgresServer(
            wheel_programs(), shared_buffers="512MB", autovacuum="on", max_connections="100"
        )
        self.url = self._server.new_store()
        self.another = self._server.new_store
        self.owner = self.url.replace("rlm_app@", "postgres@")

    def cpu_s(self) -> float:
        """Processor time of the server's processes, those included that have ended."""
        ticks = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    found = (entry / "stat").read_text().rpartition(")")[2].split()
                    if str(self._server.process.pid) in (entry.name, found[1]):  # it, its children
                        ticks += sum(map(int, found[11:15]))
                except (OSError, ValueError, IndexError):
                    continue
        return ticks / os.sysconf("SC_CLK_TCK")

    def bytes(self) -> int:
        name = self.url.split("?")[0].rpartition("/")[2]
        return int(self._server.execute(f"SELECT pg_database_size('{name}')")[0][0])

    def settle(self, *urls: str) -> None:
        """What autovacuum would have done by tomorrow."""
        for url in urls:
            self._server.execute("VACUUM ANALYZE", url.split("?")[0].rpartition("/")[2])

    def restart(self, shared_buffers: str) -> None:
        self._server.execute("CHECKPOINT")
        self._server.kill()
        self._server.start(shared_buffers=shared_buffers)

    def stop(self) -> None:
        self._server.stop()


def cost_ms(
    work: Callable[[int], object], count: int, server: Server | None
) -> tuple[float, float]:
    """Processor time and wall time of one call, in milliseconds."""
    for number in range(3):
        work(number)
    cpu, wall = _cpu_s(server), time.perf_counter()
    for number in range(count):
        work(number)
    cpu, wall = _cpu_s(server) - cpu, time.perf_counter() - wall
    return 1e3 * cpu / count, 1e3 * wall / count


def _cpu_s(server: Server | None) -> float:
    return time.process_time() + (server.cpu_s() if server else 0.0)


def measure(url: str, tenant: Tenant, server: Server | None) -> tuple[str, ...]:
    """A search and a write: processor and wall time."""
    asked = Corpus(1_000).queries(SEARCHES)
    fresh = [memory(row) for row in next(Corpus(WRITES + 3, 99).draws())]
    with open_store(url, tenant=tenant) as db:
        search = cost_ms(
            lambda n: db.retrieve(asked[n], k=10, count_access=False), SEARCHES, server
        )
        write = cost_ms(lambda n: db.add(fresh[n]), WRITES, server)
        for item in db.list_items(limit=WRITES + 3):
            if item.title in {each.title for each in fresh}:
                db.purge(item.memory_id)
    return tuple(f"{value:.1f}" for value in (*search, *write))


def clients(url: str, parts: list[tuple[Tenant, int]], server: Server | None) -> list[list[object]]:
    """Calls a second of so many threads, nine searches to one write, each in its own tenant."""
    rows: list[list[object]] = []
    asked = Corpus(1_000).queries(SEARCHES)
    for count in CLIENTS:
        done, ends = [0] * count, time.monotonic() + CLIENT_S
        fresh = [memory(row) for row in next(Corpus(4_000, 1_000 + count).draws())]

        def work(
            place: int, done: list[int] = done, ends: float = ends, fresh: Any = fresh
        ) -> None:
            with open_store(url, tenant=parts[place * 7][0]) as db:
                while time.monotonic() < ends:
                    number = done[place]
                    if number % 10 == 9:
                        db.add(fresh[(place * 200 + number) % len(fresh)])
                    else:
                        db.retrieve(asked[number % SEARCHES], k=10, count_access=False)
                    done[place] += 1

        cpu, threads = (
            _cpu_s(server),
            [threading.Thread(target=work, args=(n,)) for n in range(count)],
        )
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        total = sum(done)
        cpu = _cpu_s(server) - cpu
        rows.append([count, f"{total / CLIENT_S:.0f}", f"{1e3 * cpu / max(1, total):.1f}"])
    return rows


def run(folder: Path, total: int) -> str:
    """The section for docs/benchmarks.md."""
    folder.mkdir(parents=True)
    parts = list(teams(total))
    alone = [
        (Tenant("alone", "t", f"p{size}"), size) for size in (total // 100, total // 10, total)
    ]
    path, back = folder / "teams.db", folder / "back.db"
    begun = time.perf_counter()
    fill(str(path), [*parts, *alone], seed=7)
    filled = time.perf_counter() - begun
    server = Server()
    try:
        copies = [
            _copy("SQLite → PostgreSQL", str(path), server.owner, server),
            _copy("PostgreSQL → SQLite", server.owner, str(back), server),
        ]
        equal = not compare_stores(str(path), str(back)) and _same_packs(path, back, parts[0][0])
        server.settle(server.url)
        rows = []
        for name, tenant in (
            *((f"{size:,} alone in its organisation", tenant) for tenant, size in alone),
            *((f"{parts[n][1]:,} of {len(parts):,} tenants", parts[n][0]) for n in (0, 99, 999)),
        ):
            rows.append(
                (name, *measure(str(path), tenant, None), *measure(server.url, tenant, server))
            )
        loads = zip(
            clients(str(path), parts, None), clients(server.url, parts, server), strict=True
        )
        count = total + sum(size for _, size in alone)
        sizes = (path.stat().st_size / count, server.bytes() / count)
    finally:
        server.stop()
    head = ("memories of the tenant", "SQLite search, CPU ms", "wall", "write, CPU ms", "wall",
            "PostgreSQL search, CPU ms", "wall", "write, CPU ms", "wall")  # fmt: skip
    by_clients = [(*left, *right[1:]) for left, right in loads]
    head_clients = ("clients", "SQLite calls/s", "CPU ms a call", "PostgreSQL calls/s", "CPU ms")
    return (
        f"## Teams: {count:,} memories, {len(parts):,} tenants of Zipf sizes and three alone\n\n"
        f"{table(head, rows)}\n\nThreads of one process, nine searches to one write:\n\n"
        f"{table(head_clients, by_clients)}\n\n"
        f"{table(('', 'rows', 'seconds', 'rows a second', 'CPU s'), copies)}\n\n"
        f"Filling SQLite took {filled:.0f} s. There and back {'is' if equal else 'is NOT'} equal,"
        f" row by row and by the bytes of an exported pack. A memory takes {sizes[0]:,.0f} bytes in"
        f" SQLite and {sizes[1]:,.0f} in PostgreSQL, indexes included.\n"
    )


def equal(size: int) -> str:
    """A hundred tenants of one size, asked in turn, against one that is alone in its database; by
    how much of it the server keeps in memory."""
    server, model = Server(), StaticEmbedder()
    rows = []
    try:
        words = (row for chunk in Corpus((EQUAL + 1) * size, 11).draws() for row in chunk)
        urls = (server.url, server.another())
        opened = [
            open_store(url, tenant=Tenant(f"org{n % 10}", "t", f"p{n}"), embedder=model)
            for url, count in zip(urls, (EQUAL, 1), strict=True)
            for n in range(count)
        ]
        for db in opened:
            db.add_many(memory(next(words)) for _ in range(size))
        server.settle(*urls)
        for buffers in BUFFERS:
            server.restart(buffers)
            rows += _in_turn(opened, buffers, server)
        for db in opened:
            db.close()
        held_mb = server.bytes() / 2**20
    finally:
        server.stop()
    head = ("shared_buffers", "search", "p50 ms", "p99 ms", "CPU ms", "ratio of p50")
    return (
        f"## Equal tenants: {EQUAL} of {size:,} memories, PostgreSQL\n\n"
        f"{table(head, rows)}\n\n"
        f"Each search of the one follows one of the other. Their database has {held_mb:,.0f} MB.\n"
    )


def _in_turn(opened: list[Any], buffers: str, server: Server) -> list[tuple[object, ...]]:
    asked, times = Corpus(1_000).queries(SEARCHES), ([], [])
    for number in range(EQUAL * (ROUNDS + 1)):  # a first round that is not counted
        for db, found in zip((opened[number % EQUAL], opened[-1]), times, strict=True):
            cpu, wall = _cpu_s(server), time.perf_counter()
            db.retrieve(asked[number % SEARCHES], k=10, count_access=False)
            found.append((time.perf_counter() - wall, _cpu_s(server) - cpu))
    many, one = (np.array(found[EQUAL:]) * 1e3 for found in times)
    ratio = np.median(many[:, 0]) / np.median(one[:, 0])
    return [
        (buffers, name, f"{np.median(each[:, 0]):.1f}", f"{np.percentile(each[:, 0], 99):.1f}",
         f"{each[:, 1].mean():.1f}", shown)
        for name, each, shown in (
            (f"{EQUAL} tenants in turn", many, f"{ratio:.2f}"), ("one alone", one, "")
        )
    ]  # fmt: skip


def _copy(name: str, source: str, target: str, server: Server) -> tuple[object, ...]:
    cpu, begun = _cpu_s(server), time.perf_counter()
    done = copy_store(source, target)
    took = time.perf_counter() - begun
    used = _cpu_s(server) - cpu
    return name, f"{done.total:,}", f"{took:.0f}", f"{done.total / took:,.0f}", f"{used:.0f}"


def _same_packs(one: Path, other: Path, tenant: Tenant) -> bool:
    """Whether an export of both has the same bytes."""
    from rlm.packs import export_pack

    found = []
    for path in (one, other):
        pack = path.with_name(f"{path.stem}{PACK_SUFFIX}")
        with open_store(path, tenant=tenant, read_only=True) as db:
            export_pack(db, pack, name="teams", threshold=0.0)
        found.append(pack.read_bytes())
    return found[0] == found[1]
