"""`rlm mcp` over standard input and output, as a coding agent starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import story
from mcp_running import (
    ALL,
    ERAS,
    BareTools,
    RawClient,
    ask,
    command,
    environment,
    over_stdio,
    run_async,
    wait_for_end,
)


@pytest.mark.req("CX-03")
@pytest.mark.parametrize("mode", ERAS)
def test_every_tool_answers_in_both_eras(folder: Path, mode: str) -> None:
    async def play() -> None:
        async with over_stdio(folder, *ALL, "--ontology", "boats.ttl", mode=mode) as client:
            assert client.protocol_version == ERAS[mode]
            await story.tell(client)

    run_async(play)


@pytest.mark.req("CX-03")
@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_every_tool_answers_a_client_without_sdk(folder: Path, mode: str) -> None:
    with RawClient(folder, *ALL, "--ontology", "boats.ttl") as raw:
        if mode == "legacy":
            assert raw.initialize()["protocolVersion"] == ERAS[mode]
        run_async(story.tell, BareTools(mode, lambda message, _: raw.exchange(message)))


def test_a_client_without_sdk_is_answered_and_nothing_else_is_on_stdout(folder: Path) -> None:
    with RawClient(folder) as raw:
        told = raw.initialize()
        assert told["serverInfo"]["name"] == "rlm" and "memory_search" in told["instructions"]
        names = [tool["name"] for tool in raw.request("tools/list")["result"]["tools"]]
        assert len(names) == 8
        raw.write(b"this is not JSON")
        raw.write(b'{"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": 7}}')
        for wrong in (
            raw.read(),
            raw.request("no/such/method"),
            raw.request("tools/call", name=[]),
        ):
            assert len(json.dumps(wrong["error"])) < 200 and "pydantic" not in str(wrong), wrong
        made = raw.call("memory_record", title="Mind the gap", content="Step over it.")
        assert made["isError"] is False and made["content"][0]["type"] == "text"
        found = raw.call("memory_search", query="gap")
        assert found["structuredContent"]["hits"][0]["text"].startswith("Mind the gap")
        wrong = raw.call("memory_search", query="gap", project="other")
        assert (
            wrong["isError"] is True and "unknown argument 'project'" in wrong["content"][0]["text"]
        )
        bare = raw.request("tools/call", name="memory_search")["result"]
        assert "query is missing" in bare["content"][0]["text"]
        raw.process.stdin.close()  # type: ignore[union-attr]
        assert raw.process.wait(20) == 0
        assert raw.process.stdout.read() == b""  # type: ignore[union-attr]


PRINTING = """
import sys
from rlm.mcp_server import tools
from rlm.cli import main
def loud(call, **_):
    import os
    print("printed")
    os.system("echo from a child")
    sys.__stdout__.write("under the table")
    return tools.ToolAnswer("ok", {})
object.__setattr__(tools.MEMORY_TOOLS[1], "call", loud)
sys.exit(main(sys.argv[1:]))
"""


def test_what_a_tool_prints_never_reaches_the_wire(folder: Path) -> None:
    with RawClient(folder) as raw:
        raw.process.kill()
        raw.process.wait()
        line = [sys.executable, "-c", PRINTING, "mcp", "--db", str(folder / "m.db")]
        pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        for pipe in (raw.process.stdin, raw.process.stdout, raw.process.stderr):
            pipe.close()  # type: ignore[union-attr]
        raw.process = subprocess.Popen(line, env=environment(), cwd=folder, **pipes)
        raw.initialize()
        assert raw.call("memory_get", id="x")["content"][0]["text"] == "ok"
        out, err = raw.process.communicate(timeout=20)
        assert out == b"" and b"printed" in err and b"from a child" in err


STARTER = """
import subprocess, sys
child = subprocess.Popen(sys.argv[1:])
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the kernel has to tell")
def test_it_ends_when_its_parent_is_killed_though_the_pipe_stays_open(folder: Path) -> None:
    """We hold the other end of its standard input: there is no EOF."""
    ours, its = os.pipe()
    line = [sys.executable, "-c", STARTER, *command("mcp", "--db", str(folder / "m.db"))]
    with subprocess.Popen(
        line, stdin=ours, stdout=subprocess.PIPE, env=environment(), cwd=folder
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        }
        request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        os.write(its, json.dumps(request).encode() + b"\n")
        assert b"serverInfo" in parent.stdout.readline()
        parent.send_signal(signal.SIGKILL)
    ended = wait_for_end(pid)
    os.close(its)
    os.close(ours)
    assert ended


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads /proc")
def test_it_starts_fast_and_stays_small(folder: Path) -> None:
    async def play() -> tuple[float, int]:
        started = time.monotonic()
        async with over_stdio(folder, RLM_EMBEDDER="static") as client:
            await client.list_tools()
            first_s = time.monotonic() - started
            for number in range(500):
                words = f"Task number {number} about {'abcdefgh'[number % 8]} things"
                await ask(client, "memory_record", title=words, content=f"Do {number}.")
                await ask(client, "memory_search", query=words)
            return first_s, _resident(folder)

    first_s, kilobytes = run_async(play)
    print(f"first answer after {first_s:.2f} s, {kilobytes / 1024:.0f} MB after 1,000 calls")
    assert first_s <= 1.5 and kilobytes <= 150 * 1024


def _resident(folder: Path) -> int:
    """Of the server over this folder's store, in kB."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes()
            if str(folder / "m.db").encode() in line and b"mcp" in line:
                status = (entry / "status").read_text()
                return int(status.split("VmRSS:")[1].split()[0])
        except OSError:
            continue
    raise AssertionError("there is no server")
