"""A call that is cancelled does no further work: its processes and its model are let go."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp_running import RawClient, ask, new_token, over_http, run_async, wait_until

from rlm import open_store
from rlm.store.types import Tenant


class Model:
    """A model over HTTP that looks around forever, and waits to be let on."""

    code = "print(len(context))"

    def __init__(self) -> None:
        self.asked, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.calls = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                owner.calls += 1
                owner.asked.release()
                owner.go.acquire(timeout=30)
                said = {"role": "assistant", "content": f"```repl\n{owner.code}\n```"}
                usage = {"prompt_tokens": 1, "completion_tokens": 1}
                body = json.dumps({"choices": [{"message": said}], "usage": usage}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def model() -> Iterator[Model]:
    made = Model()
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    yield made
    for _ in range(20):
        made.go.release()  # whoever waits is let go
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_a_cancelled_run_asks_its_model_no_more(folder: Path, model: Model) -> None:
    (folder / "long.txt").write_text("tea\n" * 1000, "utf-8")
    given = {"RLM_MODEL": "test-model", "RLM_BASE_URL": model.url}
    with RawClient(folder, "--toolsets", "agent", **given) as raw:
        raw.initialize()
        arguments = {"question": "How many lines?", "file": "long.txt"}
        params: dict[str, Any] = {"name": "agent_run", "arguments": arguments}
        params["_meta"] = {"progressToken": "p"}
        raw.write({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params})
        assert model.asked.acquire(timeout=30)
        model.go.release()
        progress = raw.read()
        assert progress["method"] == "notifications/progress"
        assert progress["params"]["progress"] == 1
        assert model.asked.acquire(timeout=30)  # the second turn
        raw.write(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
        )
        with open_store(folder / "m.db", tenant=Tenant(project="shop"), embedder="none") as store:
            assert wait_until(store.recent_runs)
            runs = store.recent_runs()
        assert len(runs) == 1 and not runs[0][1].converged  # what there was of it is kept
        assert model.calls == 2


# -- processes


def processes_of(pid: int) -> set[int]:
    """Its children that run."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
            found |= {int(stat.parent.name)} if int(parent) == pid and state != "Z" else set()
    return found


def cpu_ticks(pid: int) -> int:
    with suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12])
    return 0


SOON_S = 15.0
"""Well before the query and the block would be ended by their own limits, of 30 s."""


def is_busy(server: int) -> bool:
    return any(cpu_ticks(child) > 40 for child in processes_of(server))


ENDLESS = "SELECT (COUNT(*) AS ?n) {" + " ".join(f"?a{n} ?b{n} ?c{n} ." for n in range(12)) + "}"
SIMPLE = {"ontology": "boats", "query": "ASK { ex:Boat a owl:Class }"}
linux = pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")


@linux
@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_a_client_that_goes_away_ends_its_query(folder: Path, capsys: Any, mode: str) -> None:
    given = ("--toolsets", "ontology", "--ontology", "boats.ttl")
    with over_http(folder, *given) as server:
        token = new_token(capsys, folder, "laptop", "--project", "shop")
        pid = server.process.pid

        async def play() -> None:
            async with server.client(token, mode) as client, anyio.create_task_group() as calls:
                query = {"ontology": "boats", "query": ENDLESS}
                calls.start_soon(client.call_tool, "sparql_query", query)
                assert await anyio.to_thread.run_sync(wait_until, lambda: is_busy(pid), SOON_S)
                waiting = anyio.Event()

                async def wait_in_line() -> None:
                    waiting.set()
                    await ask(client, "sparql_query", **SIMPLE)

                calls.start_soon(wait_in_line)  # it is cancelled too, and harms nobody
                await waiting.wait()
                calls.cancel_scope.cancel()

        run_async(play)
        assert wait_until(lambda: not is_busy(pid), SOON_S)

        async def again() -> None:
            async with server.client(token, mode) as client:
                assert (await ask(client, "sparql_query", **SIMPLE))[1]["boolean"] is True

        run_async(again)


@linux
def test_a_cancelled_run_ends_its_code(folder: Path, model: Model) -> None:
    (folder / "long.txt").write_text("tea\n" * 1000, "utf-8")
    model.code = "while True: pass"
    model.go.release()
    given = {"RLM_MODEL": "test-model", "RLM_BASE_URL": model.url}
    with RawClient(folder, "--toolsets", "agent", **given) as raw:
        raw.initialize()
        arguments = {"question": "How many lines?", "file": "long.txt"}
        params = {"name": "agent_run", "arguments": arguments}
        raw.write({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params})
        assert wait_until(lambda: is_busy(raw.process.pid), SOON_S)
        raw.write(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
        )
        assert wait_until(lambda: not processes_of(raw.process.pid), SOON_S)
        assert model.calls == 1
