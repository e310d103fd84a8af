"""Every outside server: model servers, SPARQL endpoints, embedding endpoints.

One deadline covers a whole call: connecting, TLS, sending, waiting, a body that drips in byte by
byte, redirects and all retries. httpx bounds only each single read, so a timer shuts the socket
down when the time is over; `Connections.close` does the same from another thread. A body is
unpacked here, piece by piece, so that a small gzip that grows large is cut off while it grows.

Redirects are followed only where the caller allows them, and on the same host only, since keys go
along. Where the caller checks addresses, the connection is made to one of those very addresses and
no proxy, cookie or .netrc takes part, so a name that changes its mind after the check (DNS
rebinding) gains nothing.

What fails is an `ExchangeFailed`, for the caller to put into an error of its own. httpx is imported
when the first request is sent.
"""

from __future__ import annotations

import logging
import random
import socket
import threading
import time
import weakref
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from urllib.parse import urljoin

from rlm import clock
from rlm._version import __version__
from rlm.errors import ConfigError, RLMError
from rlm.urls import DEFAULT_PORT, Address, parse_url

if TYPE_CHECKING:
    import ssl

log = logging.getLogger("rlm.http")
T = TypeVar("T")

CONNECT_S = 10.0
MAX_DEADLINE_S = 86_400.0
MAX_ERROR_BYTES = 64 << 10
KEPT_CONNECTIONS = 16
REDIRECTS = frozenset((301, 302, 303, 307, 308))


CheckedAddresses = Callable[[Address, float], list[str]]
"""The IP addresses of a host that may be connected to, looked up within so many seconds."""


# -- deadlines and retries -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment that a call may not outlast. `seconds` is what was given for it."""

    seconds: float
    at: float
    now: Callable[[], float]

    @classmethod
    def after(cls, seconds: float, now: Callable[[], float] = time.monotonic) -> Deadline:
        return cls(seconds, now() + min(seconds, MAX_DEADLINE_S), now)

    def left_s(self) -> float:
        return self.at - self.now()


FailureKind = Literal["late", "unreached", "dropped", "request", "reply", "too_long", "closed"]


class ExchangeFailed(Exception):
    """An attempt that failed: what to say of it, and whether another one may help (`passing`).

    `error` is the class of error to raise, where the caller has decided; `tries` counts attempts.
    """

    def __init__(
        self,
        problem: str,
        kind: FailureKind = "reply",
        *,
        error: type[RLMError] | None = None,
        passing: bool = False,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.kind, self.error = problem, kind, error
        self.passing, self.retry_after_s, self.tries = passing, retry_after_s, 1


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential back-off with jitter: `first_s`, twice that, …, each between half and all of it.

    What a server asks for with Retry-After is waited for, up to `max_wait_s`. `when_down`: whether
    to try again where nobody listens. With `sleep`, `random` and `now` a test need not wait.
    """

    tries: int = 4
    first_s: float = 0.5
    max_wait_s: float = 60.0
    when_down: bool = True
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    now: Callable[[], float] = time.monotonic

    def deadline(self, seconds: float) -> Deadline:
        return Deadline.after(seconds, self.now)

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """How long to wait after the attempt of this number, counted from 1."""
        if asked_s is not None:
            return min(asked_s, self.max_wait_s)
        whole_s: float = self.first_s * 2 ** (attempt - 1)
        return min(whole_s * (0.5 + self.random() / 2), self.max_wait_s)

    def run(self, attempt: Callable[[], T], deadline: Deadline) -> T:
        """What `attempt` returns. A failure that may pass is tried again within the deadline."""
        tries = 0
        while True:
            tries += 1
            try:
                return attempt()
            except ExchangeFailed as failed:
                failed.tries = tries
                asked_s = failed.retry_after_s
                wait_s = self.wait_s(tries, asked_s)
                too_late = max(wait_s, asked_s or 0.0) >= deadline.left_s()
                passing = failed.passing and (self.when_down or failed.kind != "unreached")
                if not passing or tries >= self.tries or too_late:
                    raise
            log.info("try %d of %d failed, again in %.1f s", tries, self.tries, wait_s)
            self.sleep(wait_s)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait: milliseconds, a number or a date; never negative."""
    names = {name.lower(): value for name, value in headers.items()}
    header = names.get("retry-after", "").strip()
    try:
        if "retry-after-ms" in names:
            seconds = float(names["retry-after-ms"]) / 1000
        else:
            seconds = float(header)
    except ValueError:
        from email.utils import parsedate_to_datetime  # slow to import, and rarely needed

        try:
            seconds = (parsedate_to_datetime(header) - clock.now()).total_seconds()
        except (TypeError, ValueError, OverflowError):  # a date without a zone: TypeError
            return None
    return None if seconds != seconds else max(0.0, seconds)


# -- one exchange ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent. `headers` may hold a key."""

    method: str
    address: Address
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer, unpacked; of an error only the beginning. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        start = self.body[:300].lstrip().lower()
        said = self.headers.get("content-type", "").lower()
        return "html" in said or start.startswith((b"<!doctype html", b"<html"))


class ServerConnection:
    """A connection that one call at a time holds, and that another thread can break off.

    A blocked read ends only when its socket is shut down, so each has an httpx.Client of its own.
    """

    def __init__(self, tls: ssl.SSLContext, *, trust_env: bool) -> None:
        import httpx

        limits = httpx.Limits(max_connections=1)
        self._http = httpx.Client(
            verify=tls, trust_env=trust_env, follow_redirects=False, limits=limits
        )
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.armed = self.cut = self.used = False

    def exchange(self, request: Request, ip: str, *, seconds: float, max_bytes: int) -> Response:
        """Raises ExchangeFailed, or whatever httpx and the socket raise."""
        import httpx

        timeout = httpx.Timeout(seconds, connect=min(CONNECT_S, seconds)).as_dict()
        extensions: dict[str, Any] = {"timeout": timeout, "trace": self._trace}
        if ip:
            extensions["sni_hostname"] = request.address.host
        headers = {
            "User-Agent": f"rlm/{__version__}",
            **request.headers,
            "Host": request.address.authority,
            "Accept-Encoding": "gzip, identity",
        }
        url = request.address.pinned(ip) if ip else request.address.url
        # A request that the client did not build has no cookies in it.
        sent = httpx.Request(
            request.method, url, headers=headers, content=request.body, extensions=extensions
        )
        timer = threading.Timer(seconds, self.break_off)
        timer.daemon = True
        timer.start()
        try:
            response = self._http.send(sent, stream=True)
            try:
                found = {name.lower(): value for name, value in response.headers.items()}
                good = 200 <= response.status_code < 300
                most = max_bytes if good else min(max_bytes, MAX_ERROR_BYTES)
                body = read_body(response.iter_raw(), found, most, cut=not good)
            finally:
                response.close()
        finally:
            timer.cancel()
            with self._lock:
                self.armed = False
        self.used = True
        return Response(response.status_code, found, body)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx reports every step. The socket is kept as a copy: TLS takes the original away."""
        if not event.endswith(".connect_tcp.complete"):
            return
        opened = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._forget()
            self._socket = opened.dup()
            if self.cut:
                self._shut()

    def break_off(self) -> None:
        """End the exchange that is under way, from another thread."""
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


def read_body(
    parts: Iterable[bytes], headers: Mapping[str, str], max_bytes: int, *, cut: bool = False
) -> bytes:
    """The body, unpacked. Never holds more than `max_bytes`: the rest is cut off, or a failure."""
    encoding = headers.get("content-encoding", "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ExchangeFailed(f"answered in the encoding {encoding[:40]!r}, which was not asked for")
    unpack = zlib.decompressobj(16 + zlib.MAX_WBITS) if encoding.endswith("gzip") else None
    found, read = bytearray(), 0
    for part in parts:
        read += len(part)
        while part:
            if unpack is None:
                found += part
                part = b""
            elif unpack.eof:
                raise ExchangeFailed("answered more after the end of its gzip")
            else:
                try:
                    found += unpack.decompress(part, max_bytes + 1 - len(found))
                except zlib.error as exc:
                    problem = f"answered what is not gzip, though it says so ({exc})"
                    raise ExchangeFailed(problem) from exc
                part = unpack.unconsumed_tail or unpack.unused_data
            if len(found) > max_bytes or read > max_bytes:
                if cut:
                    return bytes(found[:max_bytes])
                raise ExchangeFailed(f"answered more than {max_bytes:,} bytes", "too_long")
    if unpack is not None and not unpack.eof and read:
        raise ExchangeFailed("broke off in the middle of its gzip")
    return bytes(found)


# -- the connections to one server -----------------------------------------------------------------

_Key = tuple[str, str, int, str]  # scheme, host, port, and the checked address or ""


class Connections:
    """The connections to one server, kept for the next call. Safe to share between threads."""

    def __init__(
        self,
        *,
        max_bytes: int,
        redirects: int = 0,
        addresses: CheckedAddresses | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`addresses` gives the only ones to connect to; then no proxy is used."""
        self._max_bytes, self._redirects = max_bytes, redirects
        self._addresses, self._tls = addresses, tls
        self._lock = threading.Lock()
        self._idle: list[tuple[_Key, ServerConnection]] = []
        self._busy: set[ServerConnection] = set()
        weakref.finalize(self, _close_all, self._idle)
        self._closed = False

    def send(self, request: Request, deadline: Deadline) -> Response:
        """The answer, after any redirects. Raises ExchangeFailed, or what `addresses` raises."""
        check = self._addresses
        ips = [""] if check is None else check(request.address, deadline.left_s())
        for _ in range(self._redirects + 1):
            response = self._send_to_any(request, ips, deadline)
            points_on = response.status in REDIRECTS and "location" in response.headers
            if not (points_on and self._redirects):
                return response
            request = _follow(request, response)
        problem = f"sends us from one address to the next: more than {self._redirects} redirects"
        raise ExchangeFailed(problem)

    def close(self) -> None:
        """Let go of every connection. A call that is under way in another thread is broken off."""
        with self._lock:
            self._closed = True
            _close_all(self._idle)
            for connection in self._busy:
                connection.break_off()

    def _send_to_any(self, request: Request, ips: list[str], deadline: Deadline) -> Response:
        for ip in ips[:-1]:
            try:
                return self._send_to(request, ip, deadline)
            except ExchangeFailed as exc:
                if exc.kind != "unreached":
                    raise
        return self._send_to(request, ips[-1], deadline)

    def _send_to(self, request: Request, ip: str, deadline: Deadline) -> Response:
        import httpx

        foreign = (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL, OSError, RuntimeError)
        key = (request.address.scheme, request.address.host, request.address.port, ip)
        while True:
            left_s = deadline.left_s()
            if left_s <= 0:
                raise _late_failure(deadline)
            connection = self._take(key)
            was_used, whole = connection.used, False
            try:
                response = connection.exchange(
                    request, ip, seconds=left_s, max_bytes=self._max_bytes
                )
                if not connection.cut:  # a body without a length ends where the connection ends
                    whole = True
                    return response
                raise _closed_failure() if self._closed else _late_failure(deadline)
            except (*foreign, ValueError) as exc:
                if isinstance(exc, httpx.RequestError):  # its own request holds the key
                    exc.request = httpx.Request(request.method, request.address.url)
                slow = isinstance(exc, httpx.ReadTimeout | httpx.WriteTimeout)
                if connection.cut and self._closed:
                    raise _closed_failure() from exc
                if connection.cut or slow or deadline.left_s() <= 0:
                    raise _late_failure(deadline) from exc
                failed = failure_of(exc)
                # A connection that was kept may have been closed by the server in the meantime.
                if not (was_used and failed.kind == "dropped"):
                    raise failed from exc
            finally:
                self._give_back(key, connection, whole=whole)

    def _take(self, key: _Key) -> ServerConnection:
        """A connection for one exchange. From here on it can be broken off."""
        with self._lock:
            if self._closed:
                raise _closed_failure()
            place = next((n for n, (other, _) in enumerate(self._idle) if other == key), None)
            if place is not None:
                connection = self._idle.pop(place)[1]
            else:
                may_proxy = self._addresses is None
                connection = ServerConnection(self._tls_context(key[0]), trust_env=may_proxy)
            connection.armed = True
            self._busy.add(connection)
            return connection

    def _tls_context(self, scheme: str) -> ssl.SSLContext:
        """Whom to trust. Reading the certificates is slow, and a plain connection needs none."""
        import ssl

        import httpx

        if scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
        if self._tls is None:
            self._tls = httpx.create_ssl_context(trust_env=self._addresses is None)
        return self._tls

    def _give_back(self, key: _Key, connection: ServerConnection, *, whole: bool) -> None:
        """Keep the connection for the next call if nothing is left in it."""
        with self._lock:
            self._busy.discard(connection)
            kept = whole and not self._closed and len(self._idle) < KEPT_CONNECTIONS
            if kept:
                self._idle.append((key, connection))
        if not kept:
            connection.close()


def _close_all(connections: list[tuple[_Key, ServerConnection]]) -> None:
    while connections:
        connections.pop()[1].close()


def _follow(request: Request, response: Response) -> Request:
    """The request that a redirect asks for; a failure when it leads to another host or port."""
    here, status = request.address, response.status
    try:
        there = parse_url(urljoin(here.url, response.headers["location"]))
    except (ConfigError, ValueError) as exc:
        problem = f"redirects ({status}) to something that is no usable URL"
        raise ExchangeFailed(problem) from exc
    same = (there.scheme, there.port) == (here.scheme, here.port)
    to_tls = (here.scheme, there.scheme) == ("http", "https")
    safer = to_tls and there.port in (DEFAULT_PORT["https"], here.port)
    if there.host != here.host or not (same or safer):
        target = f"{there.scheme}://{there.authority}"[:120]
        raise ExchangeFailed(
            f"redirects ({status}) to {target}, which is not followed: give the final address"
        )
    if status == 303:
        kept = {name: value for name, value in request.headers.items() if name != "Content-Type"}
        return Request("GET", there, kept)
    return replace(request, address=there)


def _late_failure(deadline: Deadline) -> ExchangeFailed:
    return ExchangeFailed(f"did not answer within {deadline.seconds:g} s", "late")


def _closed_failure() -> ExchangeFailed:
    return ExchangeFailed("can no longer be asked: its client is closed, open a new one", "closed")


def failure_of(exc: Exception) -> ExchangeFailed:
    """What to say of whatever httpx or the socket raised, other than that the time was over."""
    import httpx

    said = f"{type(exc).__name__}: {str(exc)[:300]}" if str(exc) else type(exc).__name__
    if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
        problem = f"did not accept a connection in time ({said})"
        return ExchangeFailed(problem, "unreached", passing=True)
    if isinstance(exc, httpx.TimeoutException):
        return ExchangeFailed(f"did not answer in time ({said})", "late")
    if isinstance(exc, httpx.ConnectError):
        problem = f"cannot be reached ({said}): is it running, and is its address right?"
        return ExchangeFailed(problem, "unreached", passing="CERTIFICATE" not in str(exc))
    if isinstance(exc, httpx.ProxyError):
        problem = f"cannot be reached through the proxy ({said})"
        return ExchangeFailed(problem, "unreached", passing=True)
    if isinstance(exc, httpx.NetworkError | httpx.RemoteProtocolError):
        return ExchangeFailed(f"dropped the connection ({said})", "dropped", passing=True)
    if isinstance(exc, httpx.DecodingError):
        return ExchangeFailed(f"answered something that cannot be decoded ({said})")
    if isinstance(exc, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return ExchangeFailed(f"cannot be asked ({said}): check its address", "request")
    return ExchangeFailed(f"cannot be reached ({said})", "unreached")
