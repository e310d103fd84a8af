"""Serving many clients over HTTP: one address, `/mcp`, and a guard in front of it.

The guard looks at every request before anything else does: an exact Host, an Origin that is ours or
none, POST, a token, and a body of bounded size that arrives in time. What it refuses it refuses
with a status and one line. The server behind it keeps no session: every request stands alone, and
its token says whose memories it sees.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from rlm.errors import ConfigError
from rlm.mcp_server.server import Access, Context
from rlm.store.types import AccessToken

PATH = "/mcp"
BODY_BYTES = 1_000_000
READ_BYTES = 4 * BODY_BYTES
"""So much is read of what is too long, so that its sender is there to read the refusal."""
PATIENCE_S = 10.0
"""How long a client may take to send its request, headers and body each."""
MOST_CONNECTIONS = 256
ACCESS = "rlm.access"
"""Where a request keeps what its token admits to."""

FindToken = Callable[[str], AccessToken | None]


class RefusedRequest(Exception):
    """A request that is not served."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status, self.headers = status, headers


class Guard:
    """The ASGI application in front of the server."""

    def __init__(self, app: ASGIApp, find_token: FindToken, hosts: Iterable[str]) -> None:
        self._app, self._find = app, find_token
        self._hosts = frozenset(hosts)
        ours = {f"{scheme}://{host}" for scheme in ("http", "https") for host in self._hosts}
        self._origins = {None, *ours}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError("this server speaks HTTP only")
        try:
            token = await self._admit(scope)
            body = await self._body(receive)
            _check_message(body)
        except RefusedRequest as exc:
            await _refuse(send, exc)
            return
        access = Access(token.tenant, token.read_only, remote=True, token=token.name)
        scope = {**scope, ACCESS: access}
        await self._app(scope, _replay(body, receive), send)

    async def _admit(self, scope: Scope) -> AccessToken:
        if _header(scope, b"host") not in self._hosts:
            raise RefusedRequest(421, "unknown Host: start the server with --allow-host NAME")
        if _header(scope, b"origin") not in self._origins:
            raise RefusedRequest(403, "pages of other sites are not served")
        if scope["path"] != PATH:
            raise RefusedRequest(404, f"there is only {PATH} here")
        if scope["method"] != "POST":
            raise RefusedRequest(405, "use POST", allow="POST")
        kind, _, text = (_header(scope, b"authorization") or "").partition(" ")
        # One look-up, 0.1 ms: a thread would cost more.
        token = self._find(text.strip()) if kind.lower() == "bearer" else None
        if token is None:
            why = "a token is needed: `rlm token add NAME` makes one"
            raise RefusedRequest(401, why, **{"www-authenticate": 'Bearer error="invalid_token"'})
        return token

    async def _body(self, receive: Receive) -> bytes:
        body, size = bytearray(), 0
        with anyio.move_on_after(PATIENCE_S):
            while True:
                message = await receive()
                if message["type"] != "http.request":
                    raise RefusedRequest(400, "the request ended before its body")
                size += len(part := message.get("body", b""))
                body += part if size <= BODY_BYTES else b""
                more = message.get("more_body", False)
                if size > BODY_BYTES and (not more or size > READ_BYTES):
                    raise RefusedRequest(413, f"a request has at most {BODY_BYTES:,} bytes")
                if not more:
                    return bytes(body)
        raise RefusedRequest(408, "the request did not arrive in time")


def _check_message(body: bytes) -> None:
    """One JSON-RPC message; the SDK would answer anything else with a page of its own types."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise RefusedRequest(400, "the body is not JSON") from None
    known = isinstance(message, dict) and message.get("jsonrpc") == "2.0"
    if not known or not isinstance(message.get("method"), str):
        raise RefusedRequest(400, "the body is not one JSON-RPC request")
    if not isinstance(message.get("id", 0), str | int) or not isinstance(
        message.get("params", {}), dict
    ):
        raise RefusedRequest(400, "id is not text or a number, or params is not an object")


def _header(scope: Scope, name: bytes) -> str | None:
    """The header; '' where there are several."""
    found = [value.decode("latin-1") for key, value in scope["headers"] if key == name]
    return None if not found else found[0] if len(found) == 1 else ""


def _replay(body: bytes, receive: Receive) -> Receive:
    """The body once, then whatever comes after it: that the client went away."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again


async def _refuse(send: Send, refusal: RefusedRequest) -> None:
    body = json.dumps({"error": str(refusal)}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    headers |= {"connection": "close", **refusal.headers}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})


def access_of_request(ctx: Context) -> Access:
    """What the request's token admits to."""
    access = ctx.request.scope[ACCESS] if ctx.request is not None else None
    if not isinstance(access, Access):
        raise RuntimeError("a request came past the guard")
    return access


def http_app(server: Server[dict[str, Any]], find_token: FindToken, hosts: Iterable[str]) -> Guard:
    """The whole application: the guard, and the server behind it."""
    off = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the guard does it
    inner = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=BODY_BYTES,
        transport_security=off,
    )
    return Guard(inner, find_token, hosts)


def split_address(text: str) -> tuple[str, int]:
    """HOST:PORT, with an IPv6 address in brackets. ConfigError for anything else."""
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    bare = bool(host) and (text.startswith("[") or ":" not in host)
    if not bare or not port.isascii() or not port.isdigit() or int(port) > 65_535:
        raise ConfigError(f"--http {text!r}: write HOST:PORT, as 127.0.0.1:8765")
    return host, int(port)


def bind(host: str, port: int) -> socket.socket:
    """A socket that is bound already, so that an address in use is said at once."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=128)
    except (OSError, UnicodeError) as exc:
        why = getattr(exc, "strerror", None) or exc
        raise ConfigError(f"--http {host}:{port} cannot be used: {why}") from exc
    # Connections inherit it. asyncio sets it only where a socket names its protocol, which this one
    # does not; without it every answer waits 40 ms for the client's acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def known_hosts(host: str, port: int, more: Iterable[str] = ()) -> list[str]:
    """What a Host header may say: this machine's names for the address, and what was allowed."""
    names = {"localhost", "127.0.0.1", "[::1]"}
    if host not in ("0.0.0.0", "::"):
        names.add(f"[{host}]" if ":" in host else host)
    shown = [f"{name}:{port}" for name in sorted(names)]
    return [*shown, *(sorted(names) if port == 80 else ()), *more]


class ImpatientProtocol(H11Protocol):
    """HTTP that also ends a connection on which no whole request arrives; uvicorn waits forever."""

    _ends: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._ends = self.loop.call_later(PATIENCE_S, transport.close)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waits = self.cycle is None or self.cycle.response_complete  # for the rest of the headers
        if not waits and self._ends is not None:
            self._ends.cancel()
            self._ends = None
        elif waits and self._ends is None:
            self._ends = self.loop.call_later(PATIENCE_S, self.transport.close)


def serve_http(app: Guard, listener: socket.socket) -> None:
    """Answer until SIGINT or SIGTERM. Nothing is printed."""
    config = uvicorn.Config(
        app,
        http=ImpatientProtocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
    )
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    uvicorn.Server(config).run(sockets=[listener])
