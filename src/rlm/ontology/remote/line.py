"""One connection to an endpoint that can be broken off from another thread, and what goes over it.

httpx bounds only each single read, so a timer shuts the socket down when the time is over. A body
is unpacked here, piece by piece, so that a small gzip that grows large is cut off while it grows.
"""

from __future__ import annotations

import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rlm.ontology.remote.addresses import Address

if TYPE_CHECKING:
    import ssl

CONNECT_S = 10.0
MAX_ERROR_BYTES = 64 << 10
MAX_DEADLINE_S = 3600.0


class Broken(Exception):
    """An exchange that did not come to an answer. `passing`: another try may help; `late`: it took
    too long."""

    def __init__(self, problem: str, *, passing: bool = False, late: bool = False) -> None:
        super().__init__(problem)
        self.passing, self.late = passing, late


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment that nothing may outlast. `seconds` is what was given for it."""

    seconds: float
    at: float
    now: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, now: Callable[[], float] = time.monotonic) -> Deadline:
        return cls(seconds, now() + min(seconds, MAX_DEADLINE_S), now)

    def left_s(self) -> float:
        return self.at - self.now()


@dataclass(frozen=True, slots=True)
class Ask:
    """A request. `headers` may hold a credential."""

    method: str
    address: Address
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Heard:
    """A whole answer, unpacked; of an error only the beginning. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Line:
    """A connection to one checked address, and the means to break it off from another thread."""

    def __init__(self, tls: ssl.SSLContext) -> None:
        import httpx

        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        self._http = httpx.HTTPTransport(verify=tls, trust_env=False, limits=limits)
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.armed = self.cut = self.used = False

    def exchange(self, ask: Ask, ip: str, *, seconds: float, max_bytes: int) -> Heard:
        """Raises Broken, or whatever httpx and the socket raise."""
        import httpx

        timeout = httpx.Timeout(seconds, connect=min(CONNECT_S, seconds)).as_dict()
        extensions = {"timeout": timeout, "trace": self._trace, "sni_hostname": ask.address.host}
        headers = {
            **ask.headers,
            "Host": ask.address.authority,
            "Accept-Encoding": "gzip, identity",
        }
        request = httpx.Request(
            ask.method,
            ask.address.pinned(ip),
            headers=headers,
            content=ask.body or None,
            extensions=extensions,
        )
        timer = threading.Timer(seconds, self._break_off)
        timer.daemon = True
        self.armed = True
        timer.start()
        try:
            response = self._http.handle_request(request)
            try:
                found = {name.lower(): value for name, value in response.headers.items()}
                good = 200 <= response.status_code < 300
                body = gathered(
                    response.iter_raw(), found, max_bytes if good else MAX_ERROR_BYTES, cut=not good
                )
            finally:
                response.close()
        finally:
            timer.cancel()
            with self._lock:
                self.armed = False
        self.used = True
        return Heard(response.status_code, found, body)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx tells every step. The socket is kept as a copy: TLS takes the original away while
        it greets."""
        if event != "connection.connect_tcp.complete":
            return
        made = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._forget()
            self._socket = made.dup()
            if self.cut:
                self._shut()

    def _break_off(self) -> None:
        with self._lock:
            if self.armed:
                self.cut = True
                self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _forget(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def close(self) -> None:
        with suppress(Exception):
            self._http.close()
        with self._lock:
            self._forget()


def gathered(
    parts: Iterable[bytes], headers: Mapping[str, str], max_bytes: int, *, cut: bool = False
) -> bytes:
    """The body, unpacked. Never holds more than `max_bytes`: what is longer is cut, or raises
    Broken."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise Broken(f"answered in the encoding {encoding[:40]!r}, which was not asked for")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding.endswith("gzip") else None
    found, read = bytearray(), 0
    for part in parts:
        read += len(part)
        while part:
            if unpack is None:
                found += part
                part = b""
            elif unpack.eof:
                raise Broken("answered more after the end of its gzip")
            else:
                try:
                    found += unpack.decompress(part, max_bytes + 1 - len(found))
                except zlib.error as exc:
                    raise Broken(f"answered what is not gzip, though it says so ({exc})") from exc
                part = unpack.unconsumed_tail or unpack.unused_data
            if len(found) > max_bytes or read > max_bytes:
                if cut:
                    return bytes(found[:max_bytes])
                raise Broken(
                    f"answered more than {max_bytes:,} bytes: ask for less, or raise max_bytes"
                )
    if unpack is not None and not unpack.eof and read:
        raise Broken("broke off in the middle of its gzip", passing=True)
    return bytes(found)
