"""A PostgreSQL server that is killed under load: nothing acknowledged is lost, clients recover."""

from __future__ import annotations

import threading
import time

import pytest

from postgres_server import PostgresServer, wheel_programs
from rlm.errors import StoreError, StoreUnavailable
from rlm.store.open import open_store
from rlm.store.types import MemoryItem, Tenant

KILLS, WRITERS = 20, 3


def memory(name: str) -> MemoryItem:
    return MemoryItem(title=f"Title {name}", description="d", content=f"1. word{name}")


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_when_the_server_is_killed():
    server = PostgresServer(wheel_programs(), fsync="on", full_page_writes="on")
    url, ended = server.new_store(), threading.Event()
    kept: dict[str, list[str]] = {}
    unsure: dict[str, list[str]] = {}
    faults: list[str] = []

    def write(name: str) -> None:
        tenant = Tenant(f"org{name}", "t", "p")
        kept[name], unsure[name], number = [], [], 0
        with open_store(url, tenant=tenant, embedder="none", lock_timeout_s=60) as store:
            while not ended.is_set():
                number += 1
                item = memory(f"{name}x{number}")
                try:
                    kept[name].append(store.add(item))
                except StoreUnavailable as exc:
                    unsure[name].append(item.memory_id)
                    faults.append(f"{exc.may_be_stored}: {exc}")
                except StoreError as exc:
                    faults.append(f"another: {exc}")

    threads = [threading.Thread(target=write, args=(str(n),)) for n in range(WRITERS)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(KILLS):
            before = sum(map(len, kept.values()))
            ends = time.monotonic() + 60
            while sum(map(len, kept.values())) < before + 3 * WRITERS:
                assert time.monotonic() < ends, f"no client recovered: {faults[-3:]}"
                time.sleep(0.01)
            server.kill()
            server.start()
    finally:
        ended.set()
        for thread in threads:
            thread.join(90)
    try:
        for name in kept:
            with open_store(url, tenant=Tenant(f"org{name}", "t", "p"), embedder="none") as store:
                there = set(store.changed_since(0)[0])
                assert set(kept[name]) <= there, "an acknowledged memory is gone"
                assert there <= {*kept[name], *unsure[name]}, "what was refused is there"
                assert all(check.ok for check in store.check())
                assert store.retrieve(f"word{name}x1")[0].item.title == f"Title {name}x1"
        assert not [fault for fault in faults if fault.startswith("another")]
    finally:
        server.stop()
