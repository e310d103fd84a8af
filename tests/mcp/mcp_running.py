"""Servers as real processes, and clients of both kinds: the SDK's own, and bare JSON lines."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters, types
from mcp.client.streamable_http import streamable_http_client

from rlm.cli import main

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""How the SDK's client is told to speak, and what it then speaks."""
ALL = ("--toolsets", "ontology,graph,agent")


def environment(**more: str) -> dict[str, str]:
    """What a server process gets: our packages, and the home of the test."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH")}
    return {**kept, "PYTHONPATH": os.pathsep.join(sys.path), "RLM_EMBEDDER": "none", **more}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "rlm", *args]


def wait_until(condition: Callable[[], Any], seconds: float = 30.0) -> bool:
    """Whether something that tells nobody comes true: asked again every 20 ms."""
    ends = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < ends:
        time.sleep(0.02)
    return bool(found)


def wait_for_end(pid: int, seconds: float = 20.0) -> bool:
    """Whether a process that need not be our child ends; the kernel tells."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], seconds)[0])
    finally:
        os.close(process)


@asynccontextmanager
async def over_stdio(
    folder: Path, *args: str, mode: str = "auto", **env: str
) -> AsyncIterator[Client]:
    line = command("mcp", "--db", str(folder / "m.db"), "--project", "shop", *args)
    server = StdioServerParameters(
        command=line[0], args=line[1:], env=environment(**env), cwd=folder
    )
    async with Client(server, mode=mode) as client:
        yield client


@dataclass
class HTTPServer:
    """A server that listens, and how to become its client."""

    url: str
    folder: Path
    process: subprocess.Popen[str]

    @property
    def address(self) -> tuple[str, int]:
        host, port = self.url.split("/")[2].split(":")
        return host, int(port)

    @asynccontextmanager
    async def client(self, token: str, mode: str = "auto") -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client


@contextmanager
def over_http(folder: Path, *args: str) -> Iterator[HTTPServer]:
    """Ends with the block; whatever it was asked, it must not have shown a stack trace."""
    line = command("mcp", "--http", "127.0.0.1:0", "--db", str(folder / "m.db"), *args)
    said = (folder / "stderr.txt").open("w+")
    process = subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, env=environment(HOME=str(folder)), cwd=folder
    )
    with process, said:
        assert process.stderr is not None
        first = process.stderr.readline()
        found = re.search(r"http://\S+?/mcp", first)
        try:
            assert found is not None, first + process.stderr.read()
            yield HTTPServer(found[0], folder, process)
        finally:
            process.send_signal(signal.SIGTERM)
            rest = process.stderr.read()
            process.wait(20)
            said.write(rest)
    assert "Traceback" not in rest, rest


def new_token(capsys: Any, folder: Path, *args: str) -> str:
    capsys.readouterr()
    assert main(["token", "add", *args, "--db", str(folder / "m.db")]) == 0
    return str(capsys.readouterr().out).strip()


def run_async(function: Any, *args: Any) -> Any:
    return anyio.run(function, *args)


async def ask(client: Any, name: str, **arguments: Any) -> Any:
    """A call that must work: its text and its data."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content[0].text
    return result.content[0].text, result.structured_content


async def refused(client: Any, name: str, **arguments: Any) -> str:
    """A call that must not: what is said of it, on one line."""
    result = await client.call_tool(name, arguments)
    assert result.is_error, result.structured_content
    said = str(result.content[0].text)
    assert said.startswith("error: ") and "\n" not in said and len(said) <= 520
    assert "pydantic" not in said and "Traceback" not in said
    return said


class RawClient:
    """JSON lines to and from `rlm mcp`, without any SDK."""

    def __init__(self, folder: Path, *args: str, **env: str) -> None:
        line = command("mcp", "--db", str(folder / "m.db"), "--project", "shop", *args)
        self.process = subprocess.Popen(
            line,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**env),
            cwd=folder,
        )
        self.number = 0

    def __enter__(self) -> RawClient:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()
        self.process.wait(20)

    def write(self, message: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.process.stdin.write(raw + b"\n")
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read().decode() if self.process.stderr else ""
        found = json.loads(line)
        assert found["jsonrpc"] == "2.0"
        return dict(found)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The result; notifications on the way are passed over."""
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        return self.exchange(message)[-1]

    def exchange(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        """All that comes back, the answer last."""
        self.write(message)
        found = [self.read()]
        while found[-1].get("id") != message["id"]:
            found.append(self.read())
        return found

    def initialize(self) -> dict[str, Any]:
        answer = self.request(
            "initialize",
            protocolVersion="2025-11-25",
            capabilities={},
            clientInfo={"name": "raw", "version": "1"},
        )
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return dict(answer["result"])

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return dict(self.request("tools/call", name=name, arguments=arguments)["result"])


def envelope(name: str = "") -> tuple[dict[str, Any], dict[str, str]]:
    """What a request of the modern era carries: its `_meta`, and over HTTP its headers."""
    version, prefix = ERAS["auto"], "io.modelcontextprotocol/"
    meta = {
        f"{prefix}protocolVersion": version,
        f"{prefix}clientInfo": {"name": "raw", "version": "1"},
        f"{prefix}clientCapabilities": {},
    }
    method = "tools/call" if name else "tools/list"
    headers = {"MCP-Protocol-Version": version, "Mcp-Method": method}
    return meta, headers | ({"Mcp-Name": name} if name else {})


class BareTools:
    """What the story asks of the SDK's client, by bare JSON-RPC: `send` gets a message and headers,
    and returns all messages that came back, the answer last."""

    def __init__(self, mode: str, send: Callable[[dict[str, Any], dict[str, str]], Any]) -> None:
        self._modern, self._send, self._number = mode == "auto", send, 100

    async def list_tools(self) -> Any:
        return types.ListToolsResult.model_validate((await self._ask("tools/list", {}))[-1])

    async def call_tool(
        self, name: str, arguments: dict[str, Any], progress_callback: Any = None
    ) -> Any:
        params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
        *notes, result = await self._ask("tools/call", params)
        for note in notes if progress_callback else ():
            await progress_callback(note["progress"], note.get("total"), note.get("message"))
        return types.CallToolResult.model_validate(result)

    async def _ask(self, method: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        self._number += 1
        headers: dict[str, str] = {}
        if self._modern:
            meta, headers = envelope(params.get("name", ""))
            params = {**params, "_meta": {**meta, **params.get("_meta", {})}}
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        *notes, answer = self._send(message, headers)
        assert answer["id"] == self._number and "result" in answer, answer
        return [note["params"] for note in notes] + [answer["result"]]
