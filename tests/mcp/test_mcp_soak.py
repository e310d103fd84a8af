"""A hundred clients of two servers over one PostgreSQL, one of which is killed every twenty seconds.

A client does what a balancer does: it asks the other server where one takes no connection, and
repeats nothing that was sent. `RLM_SOAK_S` is how long it goes on.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import pytest
from mcp_running import command, envelope, environment

from rlm import open_store
from rlm.mcp_server import issue_token
from rlm.store.types import MemoryItem, Tenant

SECONDS = float(os.environ.get("RLM_SOAK_S", "300"))
KILL_EVERY_S = 20.0
CLIENTS, TENANTS = 100, 10
TENANT_WORDS = [f"owner{letter * 3}" for letter in "abcdefghij"]
"""In every memory of a tenant, and in none of another's."""
WORDS = ["deploy", "queue", "replica", "token", "schema", "worker", "cache", "bucket", "tunnel"]


class NotTaken(Exception):
    """No server took the call: nothing was sent."""


@dataclass
class Servers:
    """Two processes; one that is killed is started again at once, on another port."""

    url: str
    folder: Path
    ports: list[int] = field(default_factory=lambda: [0, 0])
    kills: list[tuple[int, float, float]] = field(default_factory=list)
    """Which server, and from when until when it was down."""
    _processes: dict[int, subprocess.Popen[str]] = field(default_factory=dict)

    def start(self, place: int) -> None:
        line = command("mcp", "--http", "127.0.0.1:0", "--db", self.url)
        env = environment(HOME=str(self.folder), OPENBLAS_NUM_THREADS="1")
        said = self.folder / f"server{place}.txt"
        with said.open("a") as file:
            begins = file.tell()
            self._processes[place] = subprocess.Popen(line, stderr=file, text=True, env=env)
        ends = time.monotonic() + 60
        while not (found := re.search(r":(\d+)/mcp", said.read_text()[begins:])):
            assert time.monotonic() < ends and self._processes[place].poll() is None
            time.sleep(0.05)
        self.ports[place] = int(found[1])

    def kill(self, place: int) -> None:
        began = time.monotonic()
        self._processes[place].kill()
        self._processes[place].wait()
        self.start(place)
        self.kills.append((place, began, time.monotonic()))

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def said(self) -> str:
        return "".join(path.read_text() for path in sorted(self.folder.glob("server*.txt")))


@contextmanager
def two_servers(url: str, folder: Path) -> Iterator[Servers]:
    servers = Servers(url, folder)
    try:
        for place in (0, 1):
            servers.start(place)
        yield servers
    finally:
        servers.stop()


@dataclass
class SoakClient:
    """One client's calls, and what it saw."""

    servers: Servers
    tenant: int
    token: str
    seed: int
    calls: int = 0
    kept: dict[str, str] = field(default_factory=dict)
    """Id and title of each acknowledged memory."""
    broken: list[tuple[int, float, float, str]] = field(default_factory=list)
    """Calls that were sent and got no answer: server, begin, end, and why."""
    faults: list[str] = field(default_factory=list)
    last_answer: float = 0.0

    def run(self, ends: float) -> None:
        dice, known, number = random.Random(self.seed), list[str](), 0
        while time.monotonic() < ends:
            time.sleep(dice.uniform(0.0, 2.0))
            name = dice.choices(["search", "record", "feedback"], [60, 25, 15])[0]
            if name == "feedback" and not known:
                name = "search"
            title = ""
            if name == "record":
                number += 1
                noun = dice.choice(WORDS)
                title = f"{TENANT_WORDS[self.tenant]} {noun} {self.seed}x{number}"
                steps = " ".join(f"step{dice.randrange(100_000)}" for _ in range(12))
                arguments = {"title": title, "content": f"1. {noun} {steps}"}
            elif name == "feedback":
                arguments = {"id": dice.choice(known), "helpful": dice.random() < 0.8}
            else:
                arguments = {"query": f"how to {' '.join(dice.sample(WORDS, 3))}"}
            answer = self._call(f"memory_{name}", arguments, dice.randrange(2))
            if answer is None:
                continue
            if name == "record":
                self.kept[answer["memories"][0]["id"]] = title
            elif name == "search":
                self._check_hits(answer["hits"])
                known = (known + [hit["id"] for hit in answer["hits"]])[-50:]

    def _check_hits(self, hits: list[dict[str, Any]]) -> None:
        foreign = [hit for hit in hits if TENANT_WORDS[self.tenant] not in hit["text"]]
        if foreign or not hits:
            self.faults.append(f"tenant {self.tenant} was shown {foreign or 'nothing'}")

    def _call(self, name: str, arguments: dict[str, Any], first: int) -> dict[str, Any] | None:
        """The answer; None where the server died meanwhile, or said that it could not."""
        place, http = self._connect(first)
        began = time.monotonic()
        try:
            status, text = self._exchange(http, name, arguments)
        except (OSError, HTTPException) as exc:
            self.broken.append((place, began, time.monotonic(), f"{name}: {exc!r}"))
            return None
        finally:
            http.close()
        result = json.loads(text).get("result") or {}
        if status != 200 or result.get("isError") or "structuredContent" not in result:
            self.faults.append(f"{name}: {status} {text[:300]}")
            return None
        self.calls, self.last_answer = self.calls + 1, time.monotonic()
        return dict(result["structuredContent"])

    def _connect(self, first: int) -> tuple[int, HTTPConnection]:
        ends = time.monotonic() + 30
        while time.monotonic() < ends:
            for place in (first, 1 - first):
                http = HTTPConnection("127.0.0.1", self.servers.ports[place], timeout=60)
                try:
                    http.connect()
                except OSError:
                    continue
                return place, http
            time.sleep(0.05)
        raise NotTaken

    def _exchange(
        self, http: HTTPConnection, name: str, arguments: dict[str, Any]
    ) -> tuple[int, str]:
        meta, headers = envelope(name)
        headers |= {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        params = {"name": name, "arguments": arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        http.request("POST", "/mcp", json.dumps(body), headers)
        response = http.getresponse()
        text = response.read().decode()
        if response.headers["content-type"].startswith("text/event-stream"):
            text = re.findall(r"^data: (\{.*\})\r?$", text, re.MULTILINE)[-1]
        return response.status, text


@pytest.mark.soak
def test_nothing_acknowledged_is_lost_when_servers_are_killed(postgres_server, tmp_path):
    url = postgres_server.new_store()
    tenants = [Tenant(f"org{n % 3}", f"team{n % 2}", f"project{n}") for n in range(TENANTS)]
    tokens = []
    for number, tenant in enumerate(tenants):
        with open_store(url, tenant=tenant, embedder="none") as store:
            store.add_many(
                MemoryItem(title=f"{TENANT_WORDS[number]} {word}", description="", content=word)
                for word in WORDS
            )
            tokens.append(issue_token(store, "soak", read_only=False)[1])
    with two_servers(url, tmp_path) as servers:
        clients = [
            SoakClient(servers, n % TENANTS, tokens[n % TENANTS], seed=n) for n in range(CLIENTS)
        ]
        ends = time.monotonic() + SECONDS
        threads = [threading.Thread(target=each.run, args=(ends,)) for each in clients]
        for thread in threads:
            thread.start()
        place = 0
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(KILL_EVERY_S, left))
            if time.monotonic() < ends - 5:
                servers.kill(place)
                place = 1 - place
        for thread in threads:
            thread.join(90)
        said = servers.said()
    calls, broken = (
        sum(each.calls for each in clients),
        [b for each in clients for b in each.broken],
    )
    kept = sum(len(each.kept) for each in clients)
    print(f"\n{calls} calls in {SECONDS:g} s, {kept} memories, {len(servers.kills)} kills,"
          f" {len(broken)} calls in flight broken")  # fmt: skip
    assert servers.kills and "Traceback" not in said
    assert [fault for each in clients for fault in each.faults] == []
    for where, began, ended, why in broken:
        died = [kill for kill in servers.kills if kill[0] == where]
        assert any(down <= ended and began <= up for _, down, up in died), why
    assert all(each.last_answer > servers.kills[-1][1] for each in clients), "one did not recover"
    for number, tenant in enumerate(tenants):
        mine = [each for each in clients if each.tenant == number]
        with open_store(url, tenant=tenant, embedder="none") as store:
            there = {item.memory_id: item.title for item in store.list_items(limit=1_000_000)}
            for each in mine:
                assert each.kept.items() <= there.items(), "an acknowledged memory is gone"
            assert all(TENANT_WORDS[number] in title for title in there.values())
            assert all(check.ok for check in store.check())
