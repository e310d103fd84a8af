"""From a file to a session: which host wrote it, and its reader.

Files of any size are read: one line in memory at a time, and never an unbounded line. A rollout of
Codex may be compressed with Zstandard, which Python reads itself from 3.14 on, and before with the
extra `zstd`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any

from rlm.errors import NotFound, StoreError, ValidationError
from rlm.service.transcripts.builder import SessionBuilder
from rlm.service.transcripts.claude import read_claude
from rlm.service.transcripts.codex import read_codex
from rlm.service.transcripts.cursor import read_cursor
from rlm.service.transcripts.session import CodingSession
from rlm.store.values import choice

READERS: Mapping[str, Callable[[Iterable[Mapping[str, Any]], SessionBuilder], None]] = {
    "claude": read_claude,
    "codex": read_codex,
    "cursor": read_cursor,
}
AGENTS = tuple(READERS)
HEAD_LINES = 50
LINE_BYTES = 16 << 20
"""A longer line holds a picture or a dump, and is passed over."""
TOO_LONG, NO_JSON = "line over 16 MB", "no JSON object"


def read_transcript(path: str | Path, agent: str | None = None) -> CodingSession:
    """The session of a transcript, streamed. NotFound when the file is gone, ValidationError when
    no reader knows it; lines that no reader knows are counted."""
    path = Path(path).expanduser()
    found, session_id = identify(path, agent)
    builder = SessionBuilder(found, session_id)
    with open_transcript(path) as file:
        READERS[found](read_objects(file, builder.session), builder)
    session = builder.finish()
    if not session.ended_at:  # Cursor writes no times
        changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        builder.saw(at=changed.isoformat())
    return session


def identify(path: str | Path, agent: str | None = None) -> tuple[str, str]:
    """The host that wrote a transcript, and the session's id: by structure, from its head."""
    path = Path(path).expanduser()
    head = CodingSession("", "")
    with open_transcript(path) as file:
        lines = list(islice(read_objects(file, head), HEAD_LINES))
    if agent is not None:
        found = choice(agent, AGENTS, "agent")
    else:
        guessed = next(filter(None, map(_host_of, lines)), "")
        if not guessed:
            why = "no transcript of Claude Code, Codex or Cursor: name the host with --agent"
            raise ValidationError(f"{path} is {why}", field="agent")
        found = guessed
    ids = (_session_of(line) for line in lines)
    stem = path.name.removesuffix(".zst").removesuffix(".jsonl")
    return found, next(filter(None, ids), "")[:200] or stem[:200]


def _host_of(line: Mapping[str, Any]) -> str:
    if isinstance(line.get("payload"), Mapping) and "type" in line:
        return "codex"
    if "sessionId" in line and "type" in line:
        return "claude"
    if "role" in line and "message" in line and "type" not in line:
        return "cursor"
    return ""


def _session_of(line: Mapping[str, Any]) -> str:
    payload = line.get("payload")
    if line.get("type") == "session_meta" and isinstance(payload, Mapping):
        return str(payload.get("id") or payload.get("session_id") or "")
    return str(line.get("sessionId") or "")


# -- lines


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
        why = f"the transcript {path} is gone: hosts delete them after some weeks"
        raise NotFound(why) from exc
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
