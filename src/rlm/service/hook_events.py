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

from rlm import clock
from rlm.hook_settings import is_url, mirror_path, project_name, store_key
from rlm.service import spool
from rlm.service.clip import clip, is_cut_of

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rlm.hook_settings import HookSettings
    from rlm.store.sqlite.quick import Row

HOSTS = ("claude", "codex", "cursor")
EVENTS = ("session-start", "prompt", "stop", "session-end")
TEXT_CHARS = 600
LINE_CHARS = 200
DECISIONS, SUREST = 3, 3
"""So many lines of each at the start of a session, as far as they fit."""
OFF = ".rlm-off"
STALE_S = 30 * 86_400
START_HEAD = "Noted in earlier sessions of this project (rlm; memory_get ID shows more):"
PROMPT_HEAD = "From earlier sessions of this project (rlm), it may bear on this:"
_NO_PERSON = re.compile(
    r"\s*(/[\w:.-]+(\s|$)|</?(command|local-command|task-notification|system-reminder|bash)\b)"
)
"""A slash command, or what a host writes for a person."""


def respond(settings: HookSettings, host: str, event: str, given: bytes) -> bytes:
    """What the host is to read, possibly nothing. Raises what is wrong with the input."""
    if host not in HOSTS or event not in EVENTS:
        raise ValueError(f"{host[:40]!r} {event[:40]!r} is no host and event: `rlm setup`")
    data = json.loads(given.decode("utf-8-sig", "replace"))
    if not isinstance(data, dict):
        raise ValueError("the input is no JSON object")
    folder = _folder(data)
    if is_off(settings.disabled, folder) or data.get("agent_id"):
        return b""
    state = SessionState(settings, host, data)
    if event in EVENTS[2:]:
        if state.session:
            _leave_spool_file(settings, host, event, data, folder, state)
        return b""
    if event == "prompt" and not _is_a_persons(data):
        return b""
    text = _recall(settings, event, data, folder, state)
    return _shape(host, event, text) if text else b""


# -- what comes in


def _folder(data: dict[str, Any]) -> str:
    """The folder that the session works in. Cursor names the roots of its workspace."""
    roots = data.get("workspace_roots")
    given = data.get("cwd") or (roots[0] if isinstance(roots, list) and roots else None)
    return given if isinstance(given, str) and os.path.isdir(given) else os.getcwd()


def is_off(disabled: str, folder: str) -> bool:
    """Whether the setting says so, or a file in the folder or one above, up to the repository's."""
    if disabled not in ("", "0"):
        return True
    above = os.path.abspath(folder)
    while True:
        if os.path.exists(os.path.join(above, OFF)):
            return True
        parent = os.path.dirname(above)
        if parent == above or os.path.exists(os.path.join(above, ".git")):
            return False
        above = parent


def _is_a_persons(data: dict[str, Any]) -> bool:
    """Whether a person typed this prompt: no schedule, no program, no slash command, no event."""
    prompt = data.get("prompt")
    if not isinstance(prompt, str) or data.get("source", "user") != "user":
        return False
    return not _NO_PERSON.match(prompt)


# -- what goes out


def _recall(
    settings: HookSettings, event: str, data: dict[str, Any], folder: str, state: SessionState
) -> str:
    from rlm.store.sqlite import quick

    store, project = settings.memory_db, project_name(settings.project, folder)
    path = os.path.expanduser(store.removeprefix("sqlite:"))
    if is_url(store):
        tenant = (settings.org, settings.team, project)
        path = mirror_path(settings.cache_dir, store, tenant)
    if not os.path.isfile(path):  # also `json:PATH`, which has no index to ask
        return ""
    connection = quick.open_read_only(path)
    spaces = quick.find_spaces(connection, settings.org, settings.team, project)
    if event == "prompt":
        rows = quick.recall_by_words(connection, spaces, data["prompt"], state.shown)
        rows = quick.put_changes_first(connection, spaces, rows[:2], state.shown)
        text, ids = _prompt_text(rows)
        if ids:
            state.note(ids)  # or it raises: what cannot be noted might come twice
        return text
    anew = data.get("source") in ("clear", "compact")  # what was shown is no longer there
    if state.shown and not anew:
        return ""  # it goes on: what it was told at its start still stands there
    rows = quick.newest_and_surest(connection, spaces)
    text, ids = _start_text(quick.put_changes_first(connection, spaces, rows, []))
    try:
        state.note(ids)
    except OSError:
        return text  # a start comes once
    return text


def _start_text(rows: Sequence[Row]) -> tuple[str, list[str]]:
    """The newest decisions of people, then what is believed most."""
    from rlm.store.sqlite.quick import surest_first

    said = (row for row in rows if row.kind == "decision" and row.is_persons)
    decisions = list(said)[:DECISIONS]
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


_SOURCES = ("“", "Noticed as: ", "In the person's words:")
"""How the content of a distilled decision begins: what it says stands in its description, too."""


def _line(row: Row, chars: int) -> str:
    """One memory in so many characters; '' where that says too little. Facts, never orders."""
    changed = f"; {row.changed}" if row.changed else ""
    by_agent = "unverified " if row.kind == "decision" and not row.is_persons else ""
    note = f" ({by_agent}{row.kind}, {row.created_at[:10]}, {row.memory_id}{changed})"
    said = [_one_line(row.title)]
    is_distilled = row.turn is not None and row.content.startswith(_SOURCES)
    more = (row.description, "" if is_distilled else row.content)
    for clean in map(_one_line, more):
        if is_cut_of(_key(said[-1]), _key(clean)):  # a quote begins as its title does
            said[-1] = clean
        elif clean and _key(clean) not in _key(" ".join(said)):
            said.append(clean)
    whole, room = ": ".join(said), chars - len(note) - 2
    if room < min(len(whole), 60):
        return ""
    if len(whole) > room:
        whole = clip(whole, room)
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

    def __init__(self, settings: HookSettings, host: str, data: dict[str, Any]) -> None:
        self.session = str(data.get("session_id") or data.get("conversation_id") or "")
        self.name = f"{host}-{re.sub('[^A-Za-z0-9-]', '_', self.session)[:80]}"
        self._folder = os.path.join(os.path.expanduser(settings.cache_dir), "hook")
        self._path = os.path.join(self._folder, f"{self.name}.json")

    @property
    def shown(self) -> list[str]:
        """In the order in which they were shown; a file that cannot be read is none."""
        try:
            with open(self._path, "rb") as file:
                ids = json.load(file)["shown"]
        except (OSError, ValueError, KeyError, TypeError):
            return []
        return [each for each in ids if isinstance(each, str)] if isinstance(ids, list) else []

    def note(self, ids: Sequence[str]) -> None:
        """Add ids. Raises OSError."""
        shown = list(dict.fromkeys([*self.shown, *ids]))
        spool.replace_file(self._path, json.dumps({"shown": shown}), sync=False)

    def forget_old(self) -> None:
        """Remove the files of sessions that ended long ago."""
        if not os.path.isdir(self._folder):
            return
        for entry in os.scandir(self._folder):
            if entry.name.endswith(".json") and time.time() - entry.stat().st_mtime > STALE_S:
                os.unlink(entry.path)


def _leave_spool_file(
    settings: HookSettings, host: str, event: str, data: dict[str, Any], folder: str,
    state: SessionState,
) -> None:  # fmt: skip
    """One file for the worker. A session of which there is no transcript has nothing to learn
    from: at its end, nobody has said anything in it."""
    transcript = data.get("transcript_path") or _cursor_transcript(host, state.session)
    if not isinstance(transcript, str):
        return
    if event == "session-end" and not os.path.exists(os.path.expanduser(transcript)):
        return
    document = {
        "agent": host,
        "session_id": state.session,
        "transcript_path": transcript,
        "cwd": folder,
        "time": clock.now_iso(),
        "event": event,
        "injected": state.shown,
        "org": settings.org,
        "team": settings.team,
        "project": project_name(settings.project, folder),
        "store": store_key(settings.memory_db),
    }
    spool.leave(os.path.expanduser(settings.spool), state.name, document)
    if event == "session-end":
        state.forget_old()


def _cursor_transcript(host: str, session: str) -> str | None:
    """Cursor does not say where it keeps its transcript: by its id below its projects."""
    if host != "cursor" or not session.replace("-", "").isalnum():
        return None
    from pathlib import Path

    found = Path.home().glob(f".cursor/projects/*/agent-transcripts/{session}/{session}.jsonl")
    return next(map(str, found), None)
