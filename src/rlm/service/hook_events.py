"""What the hooks of coding agents answer: at the start of a session, at a prompt, at the end.

Facts and never orders, at most `TEXT_CHARS`, and no memory twice in a session. At the end of a turn
or session one file is left in the spool: where the transcript lies and which memories were shown,
so that `rlm worker` can learn from it and credit them. `RLM_DISABLED=1`, or a file `.rlm-off` in
the project, stops all of it. `rlm.hook` is the process around this; most of what that costs are
imports, so that here they stand in the functions that need them.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlm import clock, config
from rlm.errors import ConfigError

if TYPE_CHECKING:
    from rlm.store.sqlite.quick import Row

HOSTS = ("claude", "codex", "cursor")
EVENTS = ("session-start", "prompt", "stop", "session-end")
TEXT_CHARS = 600
LINE_CHARS = 200
DECISIONS, SUREST = 3, 3
"""So many lines of each at the start of a session, as far as they fit."""
LOG_BYTES = 64_000
OFF = ".rlm-off"
STALE_S = 30 * 86_400
START_HEAD = "Noted in earlier sessions of this project (rlm; memory_get ID shows more):"
PROMPT_HEAD = "From earlier sessions of this project (rlm), it may bear on this:"
_NO_PERSON = re.compile(
    r"\s*(/[\w:.-]+(\s|$)|</?(command|local-command|task-notification|system-reminder|bash)\b)"
)
"""A slash command, or what a host writes for a person."""


def respond(host: str, event: str, given: bytes) -> bytes:
    """What the host is to read, possibly nothing. Raises what is wrong with the input."""
    if host not in HOSTS or event not in EVENTS:
        raise ValueError(f"{host[:40]!r} {event[:40]!r} is no host and event: `rlm setup`")
    settings = config.load()
    data = json.loads(given.decode("utf-8-sig", "replace"))
    if not isinstance(data, dict):
        raise ValueError("the input is no JSON object")
    folder = _folder(data)
    if is_off(settings, folder) or data.get("agent_id"):
        return b""
    session = str(data.get("session_id") or data.get("conversation_id") or "")
    state = SessionState(settings, host, session)
    if event in EVENTS[2:]:
        if session:
            _leave_spool_file(settings, host, event, data, folder, state)
        return b""
    if event == "prompt" and not _is_a_persons(data):
        return b""
    text = _recall(settings, event, data, folder, state)
    return _shape(host, event, text) if text else b""


# -- what comes in


def _folder(data: dict[str, Any]) -> Path:
    """The folder that the session works in. Cursor names the roots of its workspace."""
    roots = data.get("workspace_roots")
    given = data.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return Path(given) if isinstance(given, str) and Path(given).is_dir() else Path.cwd()


def is_off(settings: config.Settings, folder: Path) -> bool:
    """Whether the setting says so, or a file in the folder or one above, up to the repository's."""
    if settings.disabled not in ("", "0"):
        return True
    for each in (folder, *folder.parents):
        if (each / OFF).exists():
            return True
        if (each / ".git").exists():
            break
    return False


def _is_a_persons(data: dict[str, Any]) -> bool:
    """Whether a person typed this prompt: no schedule, no program, no slash command, no event."""
    prompt = data.get("prompt")
    if not isinstance(prompt, str) or data.get("source", "user") != "user":
        return False
    return not _NO_PERSON.match(prompt)


# -- what goes out


def _recall(
    settings: config.Settings, event: str, data: dict[str, Any], folder: Path, state: SessionState
) -> str:
    from rlm.store.sqlite import quick

    path = Path(settings.memory_db.removeprefix("sqlite:")).expanduser()
    if not path.is_file():  # also `json:PATH`, which has no index to ask
        return ""
    connection = quick.open_read_only(path)
    project = config.project_name(settings, folder)
    spaces = quick.find_spaces(connection, settings.org, settings.team, project)
    if event == "prompt":
        rows = quick.recall_by_words(connection, spaces, data["prompt"], state.shown)
        text, ids = _prompt_text(rows)
        return text if ids and state.note(ids) else ""  # what cannot be noted might come twice
    anew = data.get("source") in ("clear", "compact")  # what was shown is no longer there
    rows = quick.newest_and_surest(connection, spaces)
    rows = [row for row in rows if anew or row.memory_id not in state.shown]
    text, ids = _start_text(rows)
    state.note(ids)
    return text


def _start_text(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """The newest decisions, then what is believed most."""
    from rlm.store.sqlite.quick import surest_first

    decisions = [row for row in rows if row.kind == "decision"][:DECISIONS]
    others = surest_first(row for row in rows if row not in decisions)[:SUREST]
    return _fill(START_HEAD, [*decisions, *others], first_chars=LINE_CHARS)


def _prompt_text(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """The best memory as far as it fits, and a second as a line."""
    return _fill(PROMPT_HEAD, rows[:2], first_chars=TEXT_CHARS - len(PROMPT_HEAD) - 1)


def _fill(head: str, rows: Sequence[Row], *, first_chars: int) -> tuple[str, list[str]]:
    lines, ids, most = [head], [], first_chars
    for row in rows:
        left = TEXT_CHARS - len("\n".join(lines)) - 1
        line = _line(row, min(most, left))
        if line:
            lines.append(line)
            ids.append(row.memory_id)
        most = LINE_CHARS
    return ("\n".join(lines), ids) if ids else ("", [])


def _line(row: Row, chars: int) -> str:
    """One memory in so many characters; '' where that says too little. Facts, never orders."""
    note = f" ({row.kind}, {row.created_at[:10]}, {row.memory_id})"
    said = [_one_line(row.title)]
    for clean in map(_one_line, (row.description, row.content)):
        if _key(clean).startswith(_key(said[-1])):  # a quote begins as its title does
            said[-1] = clean
        elif clean and _key(clean) not in _key(" ".join(said)):
            said.append(clean)
    whole, room = ": ".join(said), chars - len(note) - 2
    if room < min(len(whole), 60):
        return ""
    if len(whole) > room:
        whole = whole[: room - 1].rpartition(" ")[0].rstrip(" .,;:") + "…"
    return f"- {whole}{note}"


def _key(text: str) -> str:
    """A text as it is compared with another that may quote it or go on where it stops."""
    return text.casefold().lstrip("“").rstrip("…")


def _one_line(text: str) -> str:
    """Without line breaks and without what no terminal shows."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:2_000]).split())


def _shape(host: str, event: str, text: str) -> bytes:
    """The answer as the host wants it."""
    if host == "cursor":
        proceed = {"continue": True} if event == "prompt" else {}
        document: dict[str, Any] = {**proceed, "additional_context": text}
    else:
        name = "SessionStart" if event == "session-start" else "UserPromptSubmit"
        document = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


# -- what is kept


class SessionState:
    """The ids that a session was shown, in a small file of the cache folder."""

    def __init__(self, settings: config.Settings, host: str, session: str) -> None:
        self.name = f"{host}-{re.sub('[^A-Za-z0-9-]', '_', session)[:80]}"
        self.folder = Path(settings.cache_dir).expanduser() / "hook"
        self._path = self.folder / f"{self.name}.json"

    @property
    def shown(self) -> list[str]:
        """In the order in which they were shown; a file that cannot be read is none."""
        try:
            ids = json.loads(self._path.read_bytes())["shown"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []

    def note(self, ids: Sequence[str]) -> bool:
        """Add ids; False where the file cannot be written."""
        shown = list(dict.fromkeys([*self.shown, *ids]))
        try:
            _replace(self._path, json.dumps({"shown": shown}).encode(), sync=False)
        except OSError as exc:
            log(f"{self._path}: {exc.strerror}")
            return False
        return True

    def forget_old(self) -> None:
        """Remove the files of sessions that ended long ago."""
        for path in self.folder.glob("*.json"):
            if time.time() - path.stat().st_mtime > STALE_S:
                path.unlink(missing_ok=True)


def _leave_spool_file(
    settings: config.Settings,
    host: str,
    event: str,
    data: dict[str, Any],
    folder: Path,
    state: SessionState,
) -> None:
    """One file for the worker, in place of an earlier one of this session. A session of which there
    is no transcript has nothing to learn from."""
    session = str(data.get("session_id") or data.get("conversation_id"))
    transcript = data.get("transcript_path") or _cursor_transcript(host, session)
    if not isinstance(transcript, str):
        return
    spool = Path(settings.spool).expanduser()
    document = {
        "agent": host,
        "session_id": session,
        "transcript_path": transcript,
        "cwd": str(folder),
        "time": clock.now_iso(),
        "event": event,
        "injected": state.shown,
        "org": settings.org,
        "team": settings.team,
        "project": config.project_name(settings, folder),
    }
    earlier = list(spool.glob(f"{state.name}-*.json"))
    target = spool / f"{state.name}-{time.time_ns():020}.json"
    _replace(target, json.dumps(document).encode(), sync=True)
    for path in earlier:
        path.unlink(missing_ok=True)  # the worker may have taken it
    if event == "session-end":
        state.forget_old()


def _cursor_transcript(host: str, session: str) -> str | None:
    """Cursor does not say where it keeps its transcript: by its id below its projects."""
    if host != "cursor" or not session.replace("-", "").isalnum():
        return None
    found = Path.home().glob(f".cursor/projects/*/agent-transcripts/{session}/{session}.jsonl")
    return next(map(str, found), None)


def _replace(target: Path, data: bytes, *, sync: bool) -> None:
    """Write a file whole: nobody sees a part of it."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = target.parent / f".{target.name}.{os.getpid()}.part"
    try:
        with part.open("wb") as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def log(line: str) -> None:
    """Add a line to the log of hooks, which starts anew when it is long; if it can be written."""
    try:
        folder = config.load().cache_dir
    except ConfigError:
        folder = config.Settings().cache_dir
    path = log_path(folder)
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = not path.exists() or path.stat().st_size > LOG_BYTES
        with path.open("w" if fresh else "a", encoding="utf-8", errors="replace") as file:
            file.write(f"{clock.now_iso()} {' '.join(line.split())[:300]}\n")


def log_path(cache_dir: str) -> Path:
    """Where hooks write what went wrong."""
    return Path(cache_dir).expanduser() / "hook" / "log"
