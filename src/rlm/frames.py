"""Messages on the pipe between host and worker: four bytes of length, then JSON in UTF-8.

Both sides use this module; it imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import struct
import time
from typing import Any

HEAD = struct.Struct(">I")
SPIN_S = 0.0001
"""How long to look for an answer before sleeping: to be woken takes half of that, and a whole call
need take no more."""


class BrokenFrame(Exception):
    """What came is no message: cut short, too long, or no JSON object."""


def encode(message: dict[str, Any], limit: int) -> bytes:
    """One message as bytes; BrokenFrame when it is longer than `limit`."""
    body = json.dumps(message, separators=(",", ":"), allow_nan=True).encode("ascii")
    if len(body) > limit:
        raise BrokenFrame(f"a message of {len(body):,} bytes is over the limit of {limit:,}")
    return HEAD.pack(len(body)) + body


def write_all(fd: int, data: bytes) -> None:
    """Every byte, however often the pipe takes only some."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def read_exactly(fd: int, size: int) -> bytes:
    """`size` bytes, or fewer at the end of the pipe."""
    parts, missing = [], size
    while missing:
        part = os.read(fd, min(missing, 1 << 20))
        if not part:
            break
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def read_now(fd: int) -> bytes | None:
    """What a pipe that does not block holds; None when it holds nothing, b"" at its end."""
    try:
        return os.read(fd, 65_536)
    except BlockingIOError:
        return None


def read_soon(fd: int) -> bytes | None:
    """The same, looked at again and again for `SPIN_S`."""
    until = time.perf_counter() + SPIN_S
    while (data := read_now(fd)) is None and time.perf_counter() < until:
        pass
    return data


def plain_text(text: str) -> str:
    """Without lone surrogates, which no pipe and no file takes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text
