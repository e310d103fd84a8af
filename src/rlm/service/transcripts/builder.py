"""How a session is put together while its transcript streams by: bounded, scrubbed, in turns.

Whatever a reader hands over passes here, so that no reader can keep what is private or secret, or
more than a turn may hold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

from rlm import clock
from rlm.errors import ValidationError
from rlm.service.transcripts.session import (
    ERROR_CHARS,
    TURN_CHARS,
    CodingSession,
    SessionTurn,
    ShellCommand,
)
from rlm.store.sanitize import clean_text
from rlm.store.secrets import scrub
from rlm.store.types import MemoryItem
from rlm.store.values import admit_time

TURNS = 5_000
COMMANDS = 500
"""Kept of one turn: the first half and the last."""
COMMAND_CHARS = 500
READ_CHARS = 50_000
"""Looked at of one text before it is cut to a turn's length."""
INJECTED_CHARS, INJECTED_TEXTS = 20_000, 500
GAP = "\n[…]\n"
OVERFLOW = f"turns after {TURNS:,}"

WORDED = ("title", "description", "content", "task_query", "tags")
"""The fields of a memory that somebody may have written private words into."""

_PRIVATE = re.compile(r"<private>.*?(?:</private>|\Z)", re.IGNORECASE | re.DOTALL)
_ELEMENT = re.compile(r"\s*<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1>", re.DOTALL)
_REMINDER = re.compile(r"<(system[-_]reminder)>.*?</\1>", re.DOTALL)
_COMMIT = re.compile(r"^\[[^\]\n]*\b([0-9a-f]{7,40})\]", re.MULTILINE)
_EXIT = re.compile(r"\b(?:exit(?:ed with)? code:?|exit status) (-?\d{1,5})\b", re.IGNORECASE)
OWN_SERVER = re.compile(r"(?:^|__)rlm(?:__|$)")


class SessionBuilder:
    """A session in the making. Readers call it in the order of the transcript."""

    def __init__(self, agent: str, session_id: str) -> None:
        self.session = CodingSession(agent, session_id)
        self.of_agent = False
        """Whether the prompts are those of another agent, and no person's."""
        self._said: set[int] = set()
        """Hashes of the texts of the last turn: some hosts write a text twice."""
        self._open: dict[str, tuple[SessionTurn, ShellCommand]] = {}
        self._own: set[str] = set()

    # -- what was said -----------------------------------------------------------------------------

    def person(self, text: str, at: str = "") -> None:
        """A person's own words. Elements that a host puts around or before them are left out."""
        if kept := _tidy(own_words(text), TURN_CHARS):
            self._say(self._turn("user", at), kept)

    def agent(self, text: str, at: str = "") -> None:
        """What the agent wrote to the person."""
        turn = self._turn("assistant", at)
        if kept := _tidy(_REMINDER.sub("", text), TURN_CHARS):
            self._say(turn, kept)

    def inject(self, text: Any) -> None:
        """What memory or a hook put before the agent."""
        parts = text if isinstance(text, list) else [text]
        for part in parts:
            said = part.get("text") if isinstance(part, Mapping) else part
            if isinstance(said, str) and said and len(self.session.injected) < INJECTED_TEXTS:
                self.session.injected.append(said[:INJECTED_CHARS])

    # -- what was done -----------------------------------------------------------------------------

    def call(self, key: str, name: str, at: str = "", *, command: str = "") -> None:
        """A call of a tool; with `command`, of a shell. Our own tools are noted, not kept."""
        if OWN_SERVER.search(name):
            self._own.add(key)
            return
        text = _tidy(command, COMMAND_CHARS)
        if not text or key in self._open:
            return
        turn = self._turn("assistant", at)
        if len(turn.commands) >= COMMANDS:
            del turn.commands[COMMANDS // 2]
        shell_command = ShellCommand(text)
        turn.commands.append(shell_command)
        if key:
            self._open[key] = turn, shell_command

    def write(self, path: str) -> None:
        """A file that the agent wrote."""
        turn = self._turn("assistant", "")
        name = _tidy(path, COMMAND_CHARS)
        if name and name not in turn.files and len(turn.files) < COMMANDS:
            turn.files.append(name)

    def result(self, key: str, output: str, *, ok: bool | None, code: int | None = None) -> None:
        """How a call ended. Its output is kept only of a failure, and of that the end."""
        if key in self._own:
            self._own.discard(key)
            self.inject(output)
            return
        turn, command = self._open.pop(key, (None, None))
        if turn is None or command is None:
            return
        command.ok, command.exit_code = ok, code
        if ok is False:
            if code is None and (found := _EXIT.search(output[:400])):
                command.exit_code = int(found[1])
            command.error = _tidy(output, ERROR_CHARS, end=True)
        elif "git" in command.text and "commit" in command.text:
            turn.commits += _COMMIT.findall(output[:2_000])

    # -- turns -------------------------------------------------------------------------------------

    def saw(self, *, cwd: Any = None, at: Any = None) -> None:
        """Where and when a line was written; the first place counts."""
        session = self.session
        session.cwd = session.cwd or (cwd if isinstance(cwd, str) else "")
        if (when := _time(at)) != "":
            session.started_at = session.started_at or when
            session.ended_at = max(session.ended_at, when)

    def finish(self) -> CodingSession:
        """The session; turns in which nothing was said or done are left out."""
        kept = [turn for turn in self.session.turns if turn.text or turn.commands or turn.files]
        for number, turn in enumerate(kept, 1):
            turn.number = number
        self.session.turns = kept
        return self.session

    def _turn(self, role: str, at: str) -> SessionTurn:
        """The last turn where it is of this role, else a new one."""
        turns = self.session.turns
        if turns and turns[-1].role == role:
            return turns[-1]
        turn = SessionTurn(len(turns) + 1, role, "", _time(at))
        self._said.clear()
        if len(turns) < TURNS:
            turns.append(turn)
        else:
            self.session.unknown[OVERFLOW] += 1
        return turn

    def _say(self, turn: SessionTurn, text: str) -> None:
        if hash(text) not in self._said:
            self._said.add(hash(text))
            turn.text = _cut(f"{turn.text}\n\n{text}" if turn.text else text, TURN_CHARS)


def own_words(text: str) -> str:
    """A person's words without what their host put before them: whole elements, as
    `<environment_context>…</environment_context>`, and reminders anywhere."""
    text = _REMINDER.sub("", drop_private(text)[:READ_CHARS])
    while found := _ELEMENT.match(text):
        text = text[found.end() :]
    return text


def drop_private(text: str) -> str:
    """A text without what stands in `<private>…</private>`; without an end mark, to its end."""
    return _PRIVATE.sub("", text)


def without_private(item: MemoryItem) -> MemoryItem:
    """A memory without that. ValidationError where its title or content was nothing else."""
    return replace(item, **drop_private_fields({name: getattr(item, name) for name in WORDED}))


def drop_private_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Some fields of a memory without that, raising the same."""
    kept = dict(fields)
    for name in kept.keys() & WORDED:
        said = fields[name]
        if isinstance(said, str):  # the gate refuses what is no text
            kept[name] = drop_private(said)
            if said.strip() and not kept[name].strip() and name in ("title", "content"):
                raise ValidationError(f"{name} is all private, and that is not kept", field=name)
        elif isinstance(said, list):
            kept[name] = [drop_private(each) if isinstance(each, str) else each for each in said]
    return kept


def _tidy(text: str, most: int, *, end: bool = False) -> str:
    """Without what is private, hidden or secret, and no longer than `most`."""
    clean = scrub(clean_text(_cut(drop_private(text), READ_CHARS)))[0].strip()
    return clean[-most:] if end else _cut(clean, most)


def _cut(text: str, most: int) -> str:
    """Beginning and end: what an agent asks stands at the end."""
    if len(text) <= most:
        return text
    half = (most - len(GAP)) // 2
    return f"{text[:half]}{GAP}{text[-half:]}"


def _time(at: Any) -> str:
    """A time in our spelling, never in the future; '' for what is none."""
    if not isinstance(at, str) or not at:
        return ""
    try:
        when = admit_time(at, "timestamp")
    except ValueError:
        return ""
    latest = (clock.now() + timedelta(days=1)).isoformat(timespec="microseconds")[:26] + "Z"
    return min(when, latest)
