"""`rlm mcp` distils what hooks left while its client works, and leaves no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_running import RawClient, command, environment, wait_for_end, wait_until

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "invoice-1.jsonl"


def leave(folder: Path) -> Path:
    """A session that ended, as a hook leaves it; the spool."""
    spool = folder / "spool"
    spool.mkdir()
    told = {"agent": "claude", "session_id": "7d1e5c02", "cwd": str(folder)}
    told["store"] = str(folder / "m.db")
    told["transcript_path"] = str(EXAMPLE)
    (spool / "one.json").write_text(json.dumps(told))
    return spool


def test_a_session_that_ended_is_found_by_the_next_search(folder: Path) -> None:
    spool = leave(folder)
    environ = {
        "RLM_SPOOL": str(spool),
        "OPENAI_API_KEY": "sk-not-to-be-used",
        "RLM_PROJECT": "shop",
    }
    with RawClient(folder, **environ) as raw:
        raw.initialize()
        asked = {"name": "memory_search", "query": "where are amounts rounded", "scope": "project"}

        def found() -> bool:
            hits = raw.call(**asked)["structuredContent"]["hits"]
            return any(hit["kind"] == "decision" for hit in hits)

        assert wait_until(found)
        assert list(spool.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "code"), [("manual", 0), ("sometimes", 2)], ids=["by hand", "no such value"]
)
def test_it_is_a_setting(folder: Path, value: str, code: int) -> None:
    spool = leave(folder)
    line = command("mcp", "--db", str(folder / "m.db"))
    env = environment(RLM_SPOOL=str(spool), RLM_DISTILL=value)
    done = subprocess.run(line, input=b"", env=env, capture_output=True, cwd=folder, timeout=60)
    assert done.returncode == code
    assert ("choose auto or manual (RLM_DISTILL)" in done.stderr.decode()) == (code == 2)
    assert [each.name for each in spool.iterdir()] == ["one.json"]


STARTER = """
import os, subprocess, sys
child = subprocess.Popen([*sys.argv[1:], "--beside", str(os.getpid())])
print(child.pid, flush=True)
child.wait()
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="the kernel has to tell")
def test_its_worker_ends_with_it(folder: Path) -> None:
    line = [sys.executable, "-c", STARTER, *command("worker", "--watch")]
    with subprocess.Popen(
        [*line, "--db", str(folder / "m.db")], stdout=subprocess.PIPE, env=environment(), cwd=folder
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    assert wait_for_end(pid)
