"""JSON lines of a file of any size: one line in memory at a time, and never a line without end.

A rollout of Codex may be compressed with Zstandard, which Python reads itself from 3.14 on, and
before with the extra `zstd`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from rlm.errors import NotFound, StoreError, ValidationError
from rlm.service.transcripts.session import CodingSession

LINE_BYTES = 16 << 20
"""A longer line holds a picture or a dump, and is passed over."""
TOO_LONG, NO_JSON = "line over 16 MB", "no JSON object"


@contextmanager
def open_transcript(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a transcript. NotFound when it is gone; StoreError when it cannot be read."""
    try:
        if path.suffix != ".zst":
            with path.open("rb") as file:
                yield file
            return
        with path.open("rb"):
            pass
        with _open_zstd(path) as file:
            yield file
    except FileNotFoundError as exc:
        raise NotFound(
            f"the transcript {path} is gone: hosts delete them after some weeks; drop it with"
            " `rlm queue drop`"
        ) from exc
    except OSError as exc:
        raise StoreError(f"the transcript {path} cannot be read: {exc}") from exc


@contextmanager
def _open_zstd(path: Path) -> Iterator[IO[bytes]]:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    try:
        zstd: Any = import_module(name)
    except ImportError:
        why = f"{path} is compressed with Zstandard"
        raise StoreError(f"{why}: `pip install backports.zstd`, or `zstd -d` it") from None
    try:
        with zstd.open(path, "rb") as file:
            yield file
    except (zstd.ZstdError, EOFError) as exc:
        why = f"{path} is damaged, or not compressed with Zstandard: {exc}"
        raise ValidationError(why) from exc


def read_objects(file: IO[bytes], session: CodingSession) -> Iterator[dict[str, Any]]:
    """Every line that is a JSON object. The others are counted in the session, none is an error."""
    while line := file.readline(LINE_BYTES):
        whole = line.endswith(b"\n")
        if not whole and len(line) == LINE_BYTES:
            session.unknown[TOO_LONG] += 1
            while (rest := file.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            continue
        try:
            found = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            if whole:
                session.unknown[NO_JSON] += 1
            else:
                session.truncated = True
            continue
        if isinstance(found, dict):
            yield found
        elif found is not None:
            session.unknown[NO_JSON] += 1
