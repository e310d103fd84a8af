"""The log of hooks: what went wrong, and deadlines that were missed; `rlm doctor` reads it."""

from __future__ import annotations

import os
import time

LOG_BYTES = 64_000
LINE_CHARS = 300
MISSED = "missed its deadline"


def log_path(cache_dir: str) -> str:
    """Where the log lies."""
    return os.path.join(os.path.expanduser(cache_dir), "hook", "log")


def add_line(cache_dir: str, line: str) -> None:
    """Add a line to the log, which starts anew when it is long. Raises OSError."""
    path = log_path(cache_dir)
    os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        if os.fstat(file).st_size > LOG_BYTES:
            os.ftruncate(file, 0)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        os.write(file, f"{now} {' '.join(line.split())[:LINE_CHARS]}\n".encode("utf-8", "replace"))
    finally:
        os.close(file)
