"""What a test sees of one run of the command line."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one document that it must be."""
        return json.loads(self.out)


Run = Callable[..., Result]


def on_a_terminal(*args: str, columns: int = 160) -> str:
    """What a pseudo-terminal is sent by one run of `rlm`."""
    outer, inner = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(columns), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-m", "rlm", *args], stdout=inner, stderr=inner, env=env) as process:
        os.close(inner)
        sent = b""
        try:
            while part := os.read(outer, 1 << 16):
                sent += part
        except OSError:  # how Linux says that the other end was closed
            pass
    os.close(outer)
    assert process.returncode == 0, sent
    return sent.decode()
