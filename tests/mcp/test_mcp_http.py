"""`rlm mcp --http`: tokens, and what is refused."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import story
from boats import BOATS
from mcp_running import (
    ALL,
    ERAS,
    BareTools,
    HTTPServer,
    ask,
    new_token,
    over_http,
    refused,
    run_async,
)

from rlm import open_store
from rlm.cli import main
from rlm.mcp_server.http import bind
from rlm.service import MemoryManager
from rlm.store.types import Tenant

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = "application/json, text/event-stream"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HTTPServer]:
    """One for all tests: each has projects of its own."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "boats.ttl").write_text(BOATS, "utf-8")
    with over_http(folder, *ALL, "--ontology", "boats.ttl") as found:
        yield found


def post(server: HTTPServer, token: str = "", body: Any = LIST, **headers: str) -> httpx.Response:
    sent = {"accept": ACCEPT, "content-type": "application/json"}
    if token:
        sent["authorization"] = f"Bearer {token}"
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.post(server.url, content=raw, headers={**sent, **named}, timeout=20)


@pytest.mark.req("CX-03")
@pytest.mark.parametrize("mode", ERAS)
def test_every_tool_answers_in_both_eras(server: HTTPServer, capsys: Any, mode: str) -> None:
    token = new_token(capsys, server.folder, "laptop", "--project", f"shop-{mode}")

    async def play() -> None:
        async with server.client(token, mode) as client:
            assert client.protocol_version == ERAS[mode]
            await story.tell(client)

    run_async(play)


@pytest.mark.req("CX-03")
@pytest.mark.parametrize("mode", ["legacy", pytest.param("auto", marks=pytest.mark.slow)])
def test_every_tool_answers_a_client_without_sdk(
    server: HTTPServer, capsys: Any, mode: str
) -> None:
    token = new_token(capsys, server.folder, "laptop", "--project", f"bare-{mode}")

    def send(message: dict[str, Any], headers: dict[str, str]) -> list[dict[str, Any]]:
        answer = post(server, token, message, **headers)
        if answer.headers["content-type"].startswith("application/json"):
            return [answer.json()]
        lines = (line for line in answer.text.splitlines() if line.startswith("data: {"))
        return [json.loads(line.removeprefix("data: ")) for line in lines]

    run_async(story.tell, BareTools(mode, send))


@pytest.mark.req("CX-04")
def test_what_is_refused_is_refused_with_nothing_served(server: HTTPServer, capsys: Any) -> None:
    folder = server.folder
    token = new_token(capsys, folder, "laptop", "--project", "gate")
    assert post(server, token).status_code == 200
    host = server.url.split("/")[2]
    refusals: list[tuple[int, httpx.Response]] = [
        (401, post(server)),
        (401, post(server, "wrong")),
        (401, post(server, token[:-1] + ("a" if token[-1] != "a" else "b"))),
        (401, post(server, token.swapcase())),
        (401, post(server, "rlm_tok_" + "0" * 16 + "_" + "a" * 43)),
        (401, post(server, authorization=f"Basic {token}")),
        (401, post(server, authorization=token)),
        (413, post(server, token, b'{"x": "' + b"a" * 2_000_000 + b'"}')),
        (400, post(server, token, b'{"jsonrpc": "2.0", ')),
        (400, post(server, token, b"\xff\xfe")),
        (400, post(server, token, [LIST, LIST])),
        (400, post(server, token, b"[" * 100_000)),
        (400, post(server, token, {**LIST, "method": 7})),
        (400, post(server, token, {**LIST, "id": [1]})),
        (400, post(server, token, {**LIST, "params": "x"})),
        (400, post(server, token, {"jsonrpc": "2.0", "id": 1, "result": {}})),
        (403, post(server, token, origin="https://evil.example")),
        (403, post(server, token, origin="null")),
        (403, post(server, token, origin=f"http://{host}@evil.example")),
    ]
    for evil in (
        "evil.example", "localhost:80@evil", "localhost:80@evil.example", f"{host}@evil.example",
        f"{host}.evil.example", f"evil.example/{host}", "localhost", "127.0.0.1", f"{host}0",
        f"{host}x", "localhost:*", "*", "0.0.0.0:" + host.split(":")[1],
    ):  # fmt: skip
        refusals.append((421, post(server, token, host=evil)))
    refusals.append(
        (404, httpx.post(server.url + "/x", headers={"authorization": f"Bearer {token}"}))
    )
    refusals.append((404, httpx.get(server.url.replace("/mcp", "/"))))
    for method in ("GET", "PUT", "DELETE", "OPTIONS"):
        refusals.append((405, httpx.request(method, server.url, headers={"accept": ACCEPT})))
    for status, answer in refusals:
        assert answer.status_code == status, (status, answer.status_code, answer.request.headers)
        assert "memory_search" not in answer.text and "Traceback" not in answer.text
        assert "pydantic" not in answer.text
        assert len(answer.text) < 1_000 and "access-control-allow-origin" not in answer.headers
    assert post(server, token).status_code == 200
    assert post(server, token, origin=f"http://{host}").status_code == 200
    for params in ({"name": 7}, {"name": "memory_get", "arguments": "x"}, {}):
        said = post(server, token, {**LIST, "method": "tools/call", "params": params}).text
        assert "pydantic" not in said and len(said) < 500 and '"error"' in said, said


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0", *(pytest.param(each, marks=pytest.mark.slow) for each in ("[::]", "localhost"))],
)
def test_the_lists_are_exact_on_every_address(folder: Path, capsys: Any, address: str) -> None:
    with over_http(
        folder, "--http", f"{address}:0", "--allow-host", "memory.example.org"
    ) as server:
        token = new_token(capsys, folder, "laptop", "--project", "shop")
        port = server.url.rpartition(":")[2].removesuffix("/mcp")
        server.url = f"http://{'[::1]' if address == '[::]' else '127.0.0.1'}:{port}/mcp"
        for host in (
            "evil.example",
            "localhost:80@evil",
            f"localhost:{port}@evil",
            f"0.0.0.0:{port}",
            f"[::]:{port}",
            "memory.example.org:1",
        ):
            assert post(server, token, host=host).status_code == 421
            assert post(server, host=host).status_code == 421
            assert post(server, token, origin=f"http://{host}").status_code == 403
        for host in (f"127.0.0.1:{port}", f"localhost:{port}", "memory.example.org"):
            assert post(server, token, host=host).status_code == 200
            assert post(server, token, host=host, origin=f"http://{host}").status_code == 200


def raw_exchange(server: HTTPServer, head: str) -> bytes:
    with socket.create_connection(server.address, timeout=20) as plug:
        plug.sendall(head.replace("\n", "\r\n").encode() + b"\r\n\r\n")
        answer = b""
        while part := plug.recv(65_536):
            answer += part
    return answer


def test_two_hosts_or_none_are_refused(server: HTTPServer) -> None:
    host = server.url.split("/")[2]
    for lines in (f"Host: {host}\nHost: evil.example", "X: y", "Host:"):
        answer = raw_exchange(
            server, f"POST /mcp HTTP/1.1\n{lines}\nContent-Length: 0\nConnection: close"
        )
        assert answer.split()[1] in (b"400", b"421"), answer


def test_a_slow_client_holds_up_nobody(server: HTTPServer, capsys: Any) -> None:
    token = new_token(capsys, server.folder, "laptop", "--project", "slow")
    host = server.url.split("/")[2]
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    waiting = []
    for said in ("POST /mc", head, head + "Content-Length: 500000\r\n\r\n{"):
        for _ in range(10):
            plug = socket.create_connection(server.address, timeout=20)
            plug.sendall(said.encode())
            waiting.append(plug)
    assert post(server, token).status_code == 200
    for plug in waiting:
        plug.close()
    assert post(server, token).status_code == 200


def test_an_answer_does_not_wait_for_an_acknowledgement() -> None:
    with bind("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        connection = listener.accept()[0]
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.slow
def test_a_slow_client_is_let_go(server: HTTPServer, capsys: Any) -> None:
    token = new_token(capsys, server.folder, "laptop", "--project", "late")
    host = server.url.split("/")[2]
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    for said, status in (("POST /mc", b""), (head + "Content-Length: 9\r\n\r\n{", b"408")):
        with socket.create_connection(server.address, timeout=25) as plug:
            plug.sendall(said.encode())
            assert status in plug.recv(65_536)


def test_a_token_that_reads_writes_nothing(server: HTTPServer, capsys: Any) -> None:
    writer = new_token(capsys, server.folder, "desk", "--project", "desk")
    reader = new_token(capsys, server.folder, "wall", "--project", "desk", "--read-only")

    async def play() -> None:
        async with server.client(writer) as client:
            _, made = await ask(client, "memory_record", title="Lock up", content="At six.")
            one = made["memories"][0]["id"]
            everything = {tool.name: tool for tool in (await client.list_tools()).tools}
        async with server.client(reader) as client:
            shown = {tool.name for tool in (await client.list_tools()).tools}
            reading = {n for n, t in everything.items() if t.annotations.read_only_hint}
            assert shown == reading and "memory_search" in shown and "memory_record" not in shown
            assert (await ask(client, "memory_search", query="lock up"))[1]["hits"][0]["id"] == one
            assert (await ask(client, "memory_get", id=one))[1]["title"] == "Lock up"
            for name in sorted(everything.keys() - shown):
                said = await refused(client, name, title="x", content="y", id=one, helpful=False)
                assert "may only read" in said

    run_async(play)
    with open_store(
        server.folder / "m.db", tenant=Tenant(project="desk"), embedder="none"
    ) as store:
        assert [item.title for item in store.list_items()] == ["Lock up"]
        told = MemoryManager(store, person=True).why(store.list_items()[0].memory_id)
        assert told["recorded_by"] == "an agent (memory_record), with the token desk"
        assert store.signals(store.list_items()[0].memory_id) == []


def test_a_revoked_token_is_refused_at_once(server: HTTPServer, capsys: Any) -> None:
    token = new_token(capsys, server.folder, "laptop", "--project", "gone")
    assert post(server, token).status_code == 200
    at = ("--project", "gone", "--db", str(server.folder / "m.db"))
    assert main(["token", "revoke", "laptop", *at]) == 0
    assert post(server, token).status_code == 401


@pytest.mark.req("CX-04")
def test_the_token_alone_says_whose_memories_are_seen(server: HTTPServer, capsys: Any) -> None:
    shop = new_token(capsys, server.folder, "a", "--project", "shop")
    blog = new_token(capsys, server.folder, "b", "--project", "blog")

    async def play() -> None:
        async with server.client(shop) as ours, server.client(blog) as theirs:
            _, made = await ask(ours, "memory_record", title="Till code", content="Use 4711.")
            one = made["memories"][0]["id"]
            assert (await ask(theirs, "memory_search", query="till code"))[1] == {"hits": []}
            foreign = await refused(theirs, "memory_get", id=one)
            absent = await refused(theirs, "memory_get", id=one[::-1])
            assert foreign.replace(one, "ID") == absent.replace(one[::-1], "ID")
            _, rows = await ask(
                ours, "sparql_query", ontology="boats", query="SELECT * { ?s ?p ?o }"
            )
            said = await refused(theirs, "sparql_slice", ontology="boats", ref=rows["ref"])
            assert rows["ref"] in said

    run_async(play)


def test_an_address_that_is_none_is_said(capsys: Any, folder: Path, server: HTTPServer) -> None:
    taken = server.url.split("/")[2]
    for wrong in ("8765", ":8765", "localhost", "localhost:99999", "a:b:8765", "::1:80", taken):
        assert main(["mcp", "--http", wrong, "--db", str(folder / "m.db")]) == 2
        assert "--http" in capsys.readouterr().err


def test_ctrl_c_ends_it_without_an_error(tmp_path: Path) -> None:
    with over_http(tmp_path) as server:
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 130
    assert (tmp_path / "stderr.txt").read_text("utf-8") == ""
