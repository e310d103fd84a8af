"""What a test sees of one run of the command line."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from rlm.cli import main


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


class _Screen(io.StringIO):
    """Takes what a terminal would be sent."""

    def isatty(self) -> bool:
        return True


def on_a_terminal(*args: str, columns: int = 160) -> str:
    """What a terminal of this width is sent by one run of `rlm`, in this process."""
    screen = _Screen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", str(columns))
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            code = main(args)
    assert code == 0, screen.getvalue()
    return screen.getvalue()


def on_a_pty(*args: str, columns: int = 160, typed: str = "", code: int = 0) -> str:
    """What a real pseudo-terminal is sent by one run of `rlm`, at which a person typed this."""
    outer, inner = pty.openpty()
    env = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLUMNS": str(columns),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "rlm", *args], stdin=inner, stdout=inner, stderr=inner, env=env
    ) as process:
        os.close(inner)
        os.write(outer, typed.encode())
        sent = b""
        try:
            while part := os.read(outer, 1 << 16):
                sent += part
        except OSError:  # how Linux says that the other end was closed
            pass
    os.close(outer)
    assert process.returncode == code, sent
    return sent.decode()
