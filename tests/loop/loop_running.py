"""What the tests of the loop share: a run with scripted replies, and a model server that speaks
real HTTP."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rlm.llm import ScriptedClient
from rlm.llm.scripted import Scripted
from rlm.loop import RLMResult, rlm_run
from rlm.sandbox import SandboxLimits

QUICK = SandboxLimits(block_s=1.0)


def code(*lines: str) -> str:
    """A reply with one block."""
    return "```repl\n" + "\n".join(lines) + "\n```"


def run(
    replies: Sequence[Scripted], *, context: Any = "a text", query: str = "What?", **options: Any
) -> tuple[RLMResult, ScriptedClient]:
    """Run a script to its end. Gives the result and the client, whose `calls` are the prompts."""
    client = ScriptedClient(replies)
    options.setdefault("sandbox", QUICK)
    return rlm_run(query, context, client=client, **options), client


def told(client: ScriptedClient, call: int = -1) -> str:
    """The last user message of a call."""
    return client.calls[call][-1]["content"]


def completion(text: str) -> bytes:
    """What an OpenAI-compatible server answers."""
    return json.dumps(
        {
            "id": "c1",
            "object": "chat.completion",
            "model": "local",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }
    ).encode()


Answer = Callable[[BaseHTTPRequestHandler], None]


def send(handler: BaseHTTPRequestHandler, body: bytes, kind: str = "application/json") -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without an answer."""
    handler.connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def model_server(answers: Sequence[Answer]) -> Iterator[str]:
    """A server that gives the answers in order, the last one for ever. Yields its base URL."""
    left = list(answers)
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            with lock:
                answer = left.pop(0) if len(left) > 1 else left[0]
            answer(self)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        block_on_close = False

        def handle_error(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
