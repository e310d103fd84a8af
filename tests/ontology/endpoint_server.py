"""A real SPARQL server from its wheel, and a small one that answers badly on purpose."""

from __future__ import annotations

import gzip
import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import pytest

from rlm.config import EndpointSettings
from rlm.http import Retry
from rlm.ontology.remote.endpoints import from_settings
from rlm.ontology.remote.engine import RETRY, RemoteEngine

TOKEN = "tok-0123456789abcdef"
JSON = "application/sparql-results+json"
HTML = b"<!DOCTYPE html><html><body>Welcome</body></html>"

DATA = """
@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:Boat a owl:Class ; rdfs:label "boat"@en, "Boot"@de ; rdfs:comment "Floats." .
ex:Sloop a owl:Class ; rdfs:subClassOf ex:Boat .
ex:builtBy a owl:ObjectProperty ; rdfs:domain ex:Boat ; rdfs:range ex:Yard .
ex:Yard a owl:Class .
ex:gull a ex:Sloop ; ex:builtBy ex:north ; ex:length 9.5 ; rdfs:label "the \\"Gull\\"\\n" .
ex:tern a ex:Sloop ; ex:builtBy ex:north ; ex:crew [ ex:size 4 ] .
ex:auk a ex:Boat ; ex:builtBy ex:south .
ex:north a ex:Yard . ex:south a ex:Yard .
"""


@contextmanager
def oxigraph(folder: Path) -> Iterator[str]:
    """The query URL of a server that holds DATA."""
    binary = Path(sys.executable).parent / "oxigraph"
    if not binary.is_file():
        found = shutil.which("oxigraph")
        if found is None:
            pytest.skip("the oxigraph wheel is not installed")
        binary = Path(found)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(binary),
        "serve",
        "--location",
        str(folder / "store"),
        "--bind",
        f"127.0.0.1:{port}",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            line = server.stderr.readline()
            assert "Listening" in line, line
            put = urllib.request.Request(
                f"http://127.0.0.1:{port}/store?default", DATA.encode(), method="PUT"
            )
            put.add_header("Content-Type", "text/turtle")
            direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with direct.open(put, timeout=20) as done:
                assert done.status in (201, 204)
            yield f"http://127.0.0.1:{port}/query"
        finally:
            server.kill()


def rows(*names: str, **fields: Any) -> bytes:
    """JSON results with one variable ?x and these IRIs."""
    bindings = [{"x": {"type": "uri", "value": f"http://example.org/{name}"}} for name in names]
    return json.dumps(
        {"head": {"vars": ["x"]}, "results": {"bindings": bindings}, **fields}
    ).encode()


Play = Callable[["Handler"], None]
Answer = bytes | tuple[int, dict[str, str], bytes] | Play


class Handler(BaseHTTPRequestHandler):
    """One request: noted, then answered by the next answer of the list; the last is repeated."""

    protocol_version = "HTTP/1.1"
    owner: BadServer

    def do_POST(self) -> None:
        owner = self.owner
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        with owner.lock:
            owner.requests.append((self.command, self.path, headers, body))
            answer = owner.answers[min(len(owner.requests), len(owner.answers)) - 1]
        try:
            if callable(answer):
                answer(self)
            else:
                self.say(*((200, {}, answer) if isinstance(answer, bytes) else answer))
        except OSError:  # the client hung up, as it may
            self.close_connection = True

    do_GET = do_POST

    def say(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": JSON,
            "Content-Length": str(len(body)),
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class BadServer:
    """`answers` are bodies (sent with 200), (status, headers, body), or functions of the handler."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.answers: list[Answer] = list(answers) or [rows("a")]
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.lock = threading.Lock()
        self.over = threading.Event()
        self._http = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Bound", (Handler,), {"owner": self})
        )
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self.port = self._http.server_port
        self.url = f"http://127.0.0.1:{self.port}/sparql"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )

    def query(self, number: int = -1) -> str:
        """The query of a request, whichever way it came."""
        _, path, headers, body = self.requests[number]
        if headers.get("content-type") == "application/sparql-query":
            return body.decode()
        return parse_qs(body.decode() or urlsplit(path).query)["query"][0]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def hang(handler: Handler) -> None:
    handler.owner.over.wait(5)
    handler.close_connection = True


def drip(handler: Handler) -> None:
    """A byte now and then, for longer than any test waits."""
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.end_headers()
    handler.close_connection = True
    for _ in range(250):
        if handler.owner.over.wait(0.02):
            break
        handler.wfile.write(b" ")
        handler.wfile.flush()


def drop(handler: Handler) -> None:
    handler.close_connection = True


def endless(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", JSON)
    handler.end_headers()
    handler.close_connection = True
    for _ in range(2000):
        handler.wfile.write(b"x" * 65536)


def packed(body: bytes) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Encoding": "gzip"}, gzip.compress(body)


class Naps(list[float]):
    """The waits between retries, noted and not slept."""

    def retry(self) -> Retry:
        return replace(RETRY, sleep=self.append, random=lambda: 1.0)


def engine(url: str, naps: Naps | None = None, **settings: Any) -> RemoteEngine:
    """An engine for a server on the loopback; `resolver` and `tls` go to the engine, the rest is
    settings."""
    own = {name: settings.pop(name) for name in ("resolver", "tls") if name in settings}
    given = EndpointSettings(
        "boats", **{"url": url, "allow_private": True, "timeout_s": 10.0, **settings}
    )
    return RemoteEngine(
        from_settings(given), retry=(Naps() if naps is None else naps).retry(), **own
    )
