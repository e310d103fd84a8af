"""From a file to a session: which host wrote it, and its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from rlm.errors import ValidationError
from rlm.service.transcripts.builder import SessionBuilder
from rlm.service.transcripts.claude import read_claude
from rlm.service.transcripts.codex import read_codex
from rlm.service.transcripts.cursor import read_cursor
from rlm.service.transcripts.lines import open_transcript, read_objects
from rlm.service.transcripts.session import CodingSession
from rlm.store.values import choice

READERS: Mapping[str, Callable[[Iterable[Mapping[str, Any]], SessionBuilder], None]] = {
    "claude": read_claude,
    "codex": read_codex,
    "cursor": read_cursor,
}
AGENTS = tuple(READERS)
HEAD_LINES = 50


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
