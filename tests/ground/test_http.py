"""One exchange with an outside server: real servers on the loopback, good ones and broken ones."""

from __future__ import annotations

import gzip
import inspect
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from rlm import clock
from rlm.http import (
    MAX_ERROR_BYTES,
    Connections,
    Deadline,
    ExchangeFailed,
    Request,
    Response,
    Retry,
    failure_of,
    read_body,
    retry_after_s,
)
from rlm.urls import parse_url

KEY = "sk-test-0123456789abcdefABCDEF"


class Server:
    """Plays a list of answers: (status, headers, body) or functions of the handler; the last is
    repeated."""

    def __init__(self) -> None:
        self.answers: list[Any] = [(200, {}, b"hello")]
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.clients: list[Any] = []
        self.over = threading.Event()
        self.asked = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                owner.requests.append((self.command, self.path, headers, body))
                owner.clients.append(self.client_address)
                owner.asked.set()
                answer = owner.answers[min(len(owner.requests), len(owner.answers)) - 1]
                with suppress(OSError):  # the client hung up, as it may
                    if callable(answer):
                        self.close_connection = True
                        answer(self)
                    else:
                        self.say(*answer)

            do_GET = do_POST

            def say(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.send_response(status)
                for name, value in {"Content-Length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # a client that resets is no fault of the test
        self.url = f"http://127.0.0.1:{self.http.server_port}/api"
        self.thread = threading.Thread(
            target=self.http.serve_forever, kwargs={"poll_interval": 0.01}
        )
        self.thread.start()

    def hang(self, handler: Any) -> None:
        self.over.wait(30)

    def drip(self, handler: Any) -> None:
        """A body without a length that never ends."""
        handler.send_response(200)
        handler.end_headers()
        while not self.over.wait(0.01):
            handler.wfile.write(b" ")

    def drop(self, handler: Any) -> None:
        pass

    def close(self) -> None:
        self.over.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    running = Server()
    yield running
    running.close()


@pytest.fixture
def connect() -> Iterator[Callable[..., Connections]]:
    opened: list[Connections] = []

    def make(**options: Any) -> Connections:
        opened.append(Connections(**{"max_bytes": 1_000_000, **options}))
        return opened[-1]

    yield make
    for connections in opened:
        connections.close()


def request(server: Server, body: bytes = b"{}") -> Request:
    return Request("POST", parse_url(server.url), {"Authorization": f"Bearer {KEY}"}, body)


def send(connections: Connections, server: Server, seconds: float = 10.0) -> Response:
    return connections.send(request(server), Deadline.after(seconds))


def failure(connections: Connections, server: Server, seconds: float = 10.0) -> ExchangeFailed:
    with pytest.raises(ExchangeFailed) as caught:
        send(connections, server, seconds)
    return caught.value


# -- an exchange -----------------------------------------------------------------------------------


def test_what_is_sent_and_what_comes_back(server, connect):
    server.answers = [(200, {"X-Odd": "1", "Set-Cookie": "a=b"}, b"hello")]
    connections = connect()
    for _ in range(2):
        found = send(connections, server)
        assert (found.status, found.body, found.headers["x-odd"]) == (200, b"hello", "1")
    method, path, headers, body = server.requests[1]
    assert (method, path, body) == ("POST", "/api", b"{}")
    assert headers["authorization"] == f"Bearer {KEY}" and headers["user-agent"].startswith("rlm/")
    assert headers["host"] == server.url[7:-4] and "cookie" not in headers
    assert server.clients[0] == server.clients[1], "the connection is kept"
    assert KEY not in repr(request(server))


def test_a_kept_connection_that_the_server_closed_is_made_anew(server, connect):
    server.answers = [(200, {}, b"one"), server.drop, (200, {}, b"three")]
    connections = connect()
    assert send(connections, server).body == b"one"
    assert send(connections, server).body == b"three"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed_unless_allowed(server, connect, status):
    server.answers = [(status, {"Location": "/next"}, b""), (200, {}, b"there")]
    assert send(connect(), server).status == status
    server.requests.clear()
    assert send(connect(redirects=1), server).body == b"there"
    assert server.requests[1][:2] == ("GET" if status == 303 else "POST", "/next")


def test_a_redirect_to_another_server_carries_no_key(server, connect):
    other = Server()
    try:
        server.answers = [(302, {"Location": other.url}, b"")]
        assert "which is not followed" in failure(connect(redirects=3), server).problem
        assert other.requests == []
    finally:
        other.close()


def test_checked_addresses_are_the_only_ones_connected_to(server, connect, monkeypatch):
    """A name is asked for once; the proxies of the environment take no part."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY")
    asked = []

    def addresses(address, timeout_s):
        asked.append((address.host, 0 < timeout_s <= 10))
        return ["127.0.0.9", "127.0.0.1"]

    connections = connect(addresses=addresses)
    named = Request("GET", parse_url(server.url.replace("127.0.0.1", "boats.test")), {})
    assert connections.send(named, Deadline.after(10)).body == b"hello"
    assert asked == [("boats.test", True)]
    assert server.requests[0][2]["host"].startswith("boats.test:")


def test_a_web_page_is_known():
    assert Response(200, {"content-type": "text/html; charset=utf-8"}, b"{}").is_html
    assert Response(200, {"content-type": "application/json"}, b"  <!DOCTYPE html>").is_html
    assert not Response(200, {"content-type": "application/json"}, b"{}").is_html


# -- caps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_that_is_too_long_is_a_failure(server, connect, packed):
    body = b"x" * 2_000_000
    headers = {"Content-Encoding": "gzip"} if packed else {}
    server.answers = [(200, headers, gzip.compress(body) if packed else body)]
    failed = failure(connect(), server)
    assert failed.kind == "too_long" and "1,000,000 bytes" in failed.problem


def test_of_an_error_only_the_beginning_is_read(server, connect):
    server.answers = [(500, {}, b"x" * 2_000_000)]
    assert len(send(connect(), server).body) == MAX_ERROR_BYTES


def test_a_gzip_that_grows_is_cut_off_while_it_grows():
    bomb = gzip.compress(b"x" * 50_000_000)
    packed = {"content-encoding": "gzip"}
    tracemalloc.start()
    with pytest.raises(ExchangeFailed, match="more than 100,000 bytes"):
        read_body([bomb], packed, 100_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    assert read_body([bomb], packed, 100, cut=True) == b"x" * 100
    with pytest.raises(ExchangeFailed, match="in the middle"):
        read_body([gzip.compress(b"abc")[:-3]], packed, 100)
    with pytest.raises(ExchangeFailed, match="after the end"):
        read_body([gzip.compress(b"abc") * 2], packed, 100)
    with pytest.raises(ExchangeFailed, match="'br', which was not asked for"):
        read_body([b"abc"], {"content-encoding": "br"}, 100)


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("play", ["hang", "drip"])
def test_the_deadline_covers_the_whole_exchange(server, connect, play):
    server.answers = [getattr(server, play), (200, {}, b"after")]
    connections = connect()
    failed = failure(connections, server, 0.15)
    assert failed.kind == "late" and "within 0.15 s" in failed.problem and not failed.passing
    assert not server.over.is_set() and send(connections, server).body == b"after"


def test_without_time_nothing_is_sent(server, connect):
    assert failure(connect(), server, 0).kind == "late" and server.requests == []


@pytest.mark.parametrize("play", ["hang", "drip"])
def test_a_call_is_broken_off_when_another_thread_closes(server, connect, play):
    server.answers = [getattr(server, play)]
    connections = connect()
    closer = threading.Thread(target=lambda: (server.asked.wait(10), connections.close()))
    closer.start()
    failed = failure(connections, server, 60.0)
    closer.join()
    assert failed.kind == "closed" and not server.over.is_set()
    assert failure(connections, server).kind == "closed" and len(server.requests) == 1


# -- trying again ----------------------------------------------------------------------------------


def passing(after_s: float | None = None) -> ExchangeFailed:
    return ExchangeFailed("is busy", passing=True, retry_after_s=after_s)


def run(retry: Retry, outcomes: list[Any], seconds: float = 100.0) -> Any:
    def attempt() -> Any:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return retry.run(attempt, retry.deadline(seconds))


def test_what_may_pass_is_tried_again_and_what_does_not_is_not():
    naps: list[float] = []
    retry = Retry(tries=3, sleep=naps.append, random=lambda: 1.0)
    assert run(retry, [passing(), passing(2.0), "good"]) == "good" and naps == [0.5, 2.0]
    with pytest.raises(ExchangeFailed) as caught:
        run(retry, [passing(), passing(), passing()])
    assert caught.value.tries == 3
    for failed in (ExchangeFailed("no"), passing(3600.0)):
        naps.clear()
        with pytest.raises(ExchangeFailed):
            run(retry, [failed, "good"])
        assert naps == []


def test_a_server_that_is_down_is_tried_again_only_where_asked_for():
    down = failure_of(httpx.ConnectError("refused"))
    assert run(Retry(sleep=lambda _: None), [down, "up"]) == "up"
    with pytest.raises(ExchangeFailed):
        run(Retry(sleep=lambda _: None, when_down=False), [down, "up"])


def test_jitter_is_between_half_and_all():
    assert Retry(random=lambda: 0.0).wait_s(3, None) == 1.0
    assert Retry(random=lambda: 1.0).wait_s(3, None) == 2.0
    assert Retry().wait_s(60, None) == 60.0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("3", 3.0),
        ("0.5", 0.5),
        ("-4", 0.0),
        ("Fri, 02 Jan 2026 00:00:07 GMT", 7.0),
        ("Thu, 01 Jan 2026 00:00:07 GMT", 0.0),
        ("Fri, 02 Jan 2026 00:00:07 -0000", None),
        ("soon", None),
        ("nan", None),
        ("", None),
        ("Wed, 99 Foo", None),
    ],
)
def test_a_retry_after_is_read_as_number_or_date(header, seconds):
    with clock.frozen(datetime(2026, 1, 2, tzinfo=UTC)):
        assert retry_after_s({"retry-after": header}) == seconds


PASSING = (
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.NetworkError,
    httpx.RemoteProtocolError,
    httpx.ProxyError,
)


def test_every_exception_of_httpx_is_put_into_words():
    kinds = [
        kind
        for _, kind in inspect.getmembers(httpx, inspect.isclass)
        if issubclass(kind, Exception)
    ]
    assert len(kinds) > 20
    for kind in kinds:
        error = kind.__new__(kind)
        error.args = ("why",)
        failed = failure_of(error)
        assert kind.__name__ in failed.problem
        assert failed.passing == issubclass(kind, PASSING), kind


def test_a_certificate_that_is_not_trusted_is_not_tried_again():
    assert not failure_of(httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]")).passing
