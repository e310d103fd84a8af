"""A call that is cancelled does no further work."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from mcp_running import RawClient

from rlm import open_store
from rlm.store.types import Tenant


class Model:
    """A model over HTTP that looks around forever, and waits to be let on."""

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
                said = {"role": "assistant", "content": "```repl\nprint(len(context))\n```"}
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
        made.go.release()
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
        raw.call("memory_search", query="tea")  # what was written before it is read by now
        model.go.release()
        with open_store(folder / "m.db", tenant=Tenant(project="shop"), embedder="none") as store:
            ends = time.monotonic() + 30
            while not (runs := store.recent_runs()) and time.monotonic() < ends:
                time.sleep(0.02)
        assert len(runs) == 1 and not runs[0][1].converged  # what there was of it is kept
        assert model.calls == 2
