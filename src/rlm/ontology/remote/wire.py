"""Exchanges with one endpoint over HTTP: bounded in time, in bytes and in where they go.

The deadline covers looking up the name, connecting, TLS, sending and a body that drips in byte by
byte. The connection goes to an address that was checked (`rlm.ontology.remote.addresses`), with the
endpoint's name in the Host header and in TLS. No proxy, no cookie and no .netrc takes part.
Redirects are followed on the same host only, since credentials go along.

What does not work out is a `Broken`; its words are for `rlm.ontology.remote.engine` to put into an
EndpointError.
"""

from __future__ import annotations

import threading
import weakref
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from rlm.errors import ConfigError
from rlm.ontology.remote.addresses import DEFAULT_PORT, Resolver, checked_addresses, parse_url
from rlm.ontology.remote.line import Ask, Broken, Deadline, Heard, Line

if TYPE_CHECKING:
    import ssl

MAX_REDIRECTS = 3
KEPT_LINES = 4

Key = tuple[str, str, int, str]
"""Scheme, host, port and the address that was checked."""


class Wire:
    """The connections of one endpoint. Safe to share between threads."""

    def __init__(
        self,
        *,
        allow_private: bool,
        max_bytes: int,
        resolver: Resolver,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow_private, self._max_bytes, self._resolver = allow_private, max_bytes, resolver
        self._tls = tls
        self._lock = threading.Lock()
        self._idle: list[tuple[Key, Line]] = []
        weakref.finalize(self, _hang_up, self._idle)
        self._closed = False

    def send(self, ask: Ask, deadline: Deadline) -> Heard:
        """The answer, after any redirects. Raises Broken, or EndpointError for an address that is
        refused."""
        if self._closed:
            raise Broken("is closed: open it again")
        ips = checked_addresses(
            ask.address,
            allow_private=self._allow_private,
            timeout_s=deadline.left_s(),
            resolver=self._resolver,
        )
        for _ in range(MAX_REDIRECTS + 1):
            heard = self._to_any(ask, ips, deadline)
            if heard.status not in (301, 302, 303, 307, 308) or "location" not in heard.headers:
                return heard
            ask = redirected(ask, heard)
        raise Broken(f"sends us from one address to the next: more than {MAX_REDIRECTS} redirects")

    def close(self) -> None:
        with self._lock:
            self._closed = True
            _hang_up(self._idle)

    def _to_any(self, ask: Ask, ips: list[str], deadline: Deadline) -> Heard:
        import httpx

        for place, ip in enumerate(ips):
            try:
                return self._to(ask, ip, deadline)
            except Broken as exc:
                unreached = isinstance(exc.__cause__, httpx.ConnectError | httpx.ConnectTimeout)
                if not unreached or exc.late or place == len(ips) - 1:
                    raise
        raise Broken("has no address")

    def _to(self, ask: Ask, ip: str, deadline: Deadline) -> Heard:
        import httpx

        key = (ask.address.scheme, ask.address.host, ask.address.port, ip)
        while True:
            left_s = deadline.left_s()
            if left_s <= 0:
                raise _late(deadline)
            line = self._take(key)
            old, whole = line.used, False
            try:
                heard = line.exchange(ask, ip, seconds=left_s, max_bytes=self._max_bytes)
                if line.cut:  # a body without a length ends where the connection ends
                    raise _late(deadline)
                whole = True
                return heard
            except (
                httpx.HTTPError,
                httpx.StreamError,
                httpx.InvalidURL,
                OSError,
                RuntimeError,
                ValueError,
            ) as exc:
                over = (
                    isinstance(exc, httpx.ReadTimeout | httpx.WriteTimeout)
                    or deadline.left_s() <= 0
                )
                if line.cut or over:
                    raise _late(deadline) from exc
                dropped = isinstance(exc, httpx.NetworkError | httpx.RemoteProtocolError)
                if not (old and dropped):  # a kept connection may have been closed in the meantime
                    raise _broken(exc) from exc
            finally:
                self._give_back(key, line, whole=whole)

    def _take(self, key: Key) -> Line:
        with self._lock:
            for place, (other, line) in enumerate(self._idle):
                if other == key:
                    del self._idle[place]
                    return line
            if self._tls is None or key[0] == "http":
                return Line(self._certificates(key[0]))
            return Line(self._tls)

    def _certificates(self, scheme: str) -> ssl.SSLContext:
        """Whom to trust. Reading the certificates takes a while, and a plain connection needs none."""
        import ssl

        import httpx

        if scheme == "http":
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls = httpx.create_ssl_context(trust_env=False)
        return self._tls

    def _give_back(self, key: Key, line: Line, *, whole: bool) -> None:
        with self._lock:
            kept = whole and not line.cut and not self._closed and len(self._idle) < KEPT_LINES
            if kept:
                self._idle.append((key, line))
        if not kept:
            line.close()


def _hang_up(lines: list[tuple[Key, Line]]) -> None:
    while lines:
        lines.pop()[1].close()


def redirected(ask: Ask, heard: Heard) -> Ask:
    """The request that a redirect asks for. Raises Broken when it leads to another host, scheme or
    port."""
    here = ask.address
    try:
        there = parse_url(urljoin(here.url, heard.headers["location"]))
    except (ConfigError, ValueError) as exc:
        raise Broken(f"redirects ({heard.status}) to something that is no usable URL") from exc
    same = (there.scheme, there.port) == (here.scheme, here.port)
    safer = (here.scheme, there.scheme) == ("http", "https") and there.port in (
        DEFAULT_PORT["https"],
        here.port,
    )
    if there.host != here.host or not (same or safer):
        target = f"{there.scheme}://{there.authority}"
        raise Broken(
            f"redirects ({heard.status}) to {target[:120]}, which is not followed: give the final"
            " address"
        )
    if heard.status == 303:
        kept = {name: value for name, value in ask.headers.items() if name != "Content-Type"}
        return Ask("GET", there, kept)
    return replace(ask, address=there)


def _late(deadline: Deadline) -> Broken:
    return Broken(f"did not answer within {deadline.seconds:g} s", late=True)


def _broken(exc: Exception) -> Broken:
    """What to say about an exception, other than that the time was over."""
    import httpx

    said = f"{type(exc).__name__}: {str(exc)[:200]}" if str(exc) else type(exc).__name__
    if isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout):
        return Broken(f"did not accept a connection in time ({said})", passing=True)
    if isinstance(exc, httpx.ConnectError):
        return Broken(f"cannot be reached ({said}): is it running, and is its address right?")
    if isinstance(exc, httpx.NetworkError | httpx.RemoteProtocolError):
        return Broken(f"dropped the connection ({said})", passing=True)
    return Broken(f"cannot be asked ({said})")
