"""One connection that can be broken off from another thread.

A blocked read ends when its socket is shut down, and in no other way. For that the socket must be
known, and so every connection is an httpx.Client of its own that one call at a time holds. It is
kept alive for the next call.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    import httpx


class Line:
    """One connection, and the means to break it off from another thread."""

    def __init__(self, headers: Mapping[str, str], tls: ssl.SSLContext) -> None:
        import httpx

        self.http: httpx.Client = httpx.Client(
            headers=dict(headers),
            verify=tls,
            follow_redirects=False,
            limits=httpx.Limits(max_connections=1),
        )
        self.cut = False
        self._lock = threading.Lock()
        self._armed = False
        self._socket: socket.socket | None = None

    def trace(self, event: str, info: Mapping[str, Any]) -> None:
        """httpx tells every step; a step that made a connection (or wrapped one in TLS) brings its
        socket."""
        found = getattr(info.get("return_value"), "get_extra_info", None)
        if event.endswith(".complete") and found is not None:
            with self._lock:
                self._socket = found("socket")
                if self.cut:
                    self._shut()

    def until(self, seconds: float) -> Timer:
        """A block that ends with the connection broken off when it takes longer."""
        return Timer(self, seconds)

    def arm(self, armed: bool) -> None:
        with self._lock:
            self._armed = armed

    def break_off(self) -> None:
        with self._lock:
            if self._armed:
                self.cut = True
                self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                # Not SSLSocket.shutdown: it takes the encryption off before it shuts.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(Exception):
            self.http.close()


class Timer:
    """Breaks a line off after some seconds, unless the block is left before."""

    def __init__(self, line: Line, seconds: float) -> None:
        self._line = line
        self._timer = threading.Timer(seconds, line.break_off)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._line.arm(True)
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._line.arm(False)


def hang_up(lines: list[Line]) -> None:
    while lines:
        lines.pop().close()


def tls_for(url: str) -> ssl.SSLContext:
    """The certificates to trust. Reading them takes a while, and a plain connection needs none."""
    import ssl

    import httpx

    if url.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
    return httpx.create_ssl_context()
