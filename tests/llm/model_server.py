"""A real HTTP server that plays a list of answers, good ones and broken ones."""

from __future__ import annotations

import json
import socket
import struct
import threading
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import pytest

from rlm.errors import ModelError
from rlm.http import Retry

KEY = "sk-test-0123456789abcdefABCDEF"
ASK = [{"role": "user", "content": "hello"}]

Play = Callable[["Handler"], None]
Answer = dict[str, Any] | tuple[int, dict[str, str], Any] | Play


class Handler(BaseHTTPRequestHandler):
    """One request: noted, then answered by the next answer of the list; the last is repeated."""

    protocol_version = "HTTP/1.1"
    owner: ModelServer

    def do_POST(self) -> None:
        owner = self.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with owner.lock:
            owner.requests.append(
                (self.path, {k.lower(): v for k, v in self.headers.items()}, json.loads(body))
            )
            answer = owner.answers[min(len(owner.requests), len(owner.answers)) - 1]
        try:
            if callable(answer):
                answer(self)
            else:
                self.say(*((200, {}, answer) if isinstance(answer, dict) else answer))
        except OSError:  # the client hung up, as it may
            self.close_connection = True

    do_GET = do_POST

    def say(self, status: int, headers: dict[str, str], body: Any) -> None:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(raw)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


class ModelServer:
    """`answers` are objects (sent with 200), (status, headers, body), or functions of the handler."""

    def __init__(self) -> None:
        self.answers: list[Answer] = [chat("hi")]
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self._http = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Bound", (Handler,), {"owner": self})
        )
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )

    def bodies(self) -> list[dict[str, Any]]:
        return [body for _, _, body in self.requests]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def chat(text: Any = "hi", **fields: Any) -> dict[str, Any]:
    """An answer of chat completions."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text},
        "finish_reason": "stop",
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "model": "m-1-0101",
        "choices": [choice],
        "usage": usage,
        **fields,
    }


def said(*blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """An answer of the Messages API."""
    content = list(blocks) or [{"type": "text", "text": "hi"}]
    usage = {"input_tokens": 11, "output_tokens": 7}
    whole = {
        "id": "m-1",
        "type": "message",
        "role": "assistant",
        "model": "m-1-0101",
        "content": content,
    }
    return {**whole, "stop_reason": "end_turn", "usage": usage, **fields}


def refusal(message: str, status: int = 400, **fields: Any) -> tuple[int, dict[str, str], Any]:
    return status, {}, {"error": {"message": message, "type": "invalid_request_error", **fields}}


# -- answers that are none
# --------------------------------------------------------------------------------


def hang(handler: Handler) -> None:
    handler.owner.over.wait(60)
    handler.close_connection = True


def drop(handler: Handler) -> None:
    handler.close_connection = True


def reset_midway(handler: Handler) -> None:
    """A part of the body, then a TCP reset."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.wfile.flush()
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.shutdown(socket.SHUT_RD)
    handler.close_connection = True


def end_midway(handler: Handler) -> None:
    """A part of the body, then the end of the connection."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')
    handler.close_connection = True


def drip_body(handler: Handler) -> None:
    """A byte of body every now and then, for as long as anybody listens."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.owner.over.wait(0.01):
        handler.wfile.write(b" ")


def drip_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while not handler.owner.over.wait(0.01):
        handler.wfile.write(b"x-a: b\r\n")


def flood(handler: Handler) -> None:
    """200 MB, or as much of it as the client takes."""
    handler.send_response(200)
    handler.send_header("Content-Length", str(200 << 20))
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" " * (1 << 20))


# -- the other side
# ---------------------------------------------------------------------------------------


class Naps:
    """A clock that only moves when somebody sleeps by it."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def retry(self, **options: Any) -> Retry:
        return Retry(sleep=self.slept.append, random=lambda: 1.0, **options)


def failure(client: Any, kind: type[ModelError], messages: Any = ASK, **options: Any) -> str:
    """The message of the error, which is of exactly this kind, names server and model, and hides
    the key."""
    with pytest.raises(ModelError) as caught:
        client.complete(messages, **options)
    assert type(caught.value) is kind, caught.value
    assert KEY[8:] not in everything(caught.value)
    message = str(caught.value)
    assert "127.0.0.1" in message and "'m-1'" in message
    return message


def everything(error: BaseException | None) -> str:
    """All that an exception says, with what is behind it and what hangs on it."""
    found = "".join(traceback.format_exception(error)) if error else ""
    while error is not None:
        found += repr(error) + repr(vars(error)) + repr(error.args)
        request = getattr(error, "_request", None)
        found += repr(request.headers.raw) if request is not None else ""
        error = error.__cause__ or error.__context__
    return found
