"""What the commands of a session teach without a model: which command ended a failure, and which
tests passed after which files were changed.

A failure that ended with a change of files teaches nothing: that is programming. A command and a
path are the agent's own words; what a tool printed is not. So of an error only its name is kept
(`ModuleNotFoundError`, `EADDRINUSE`, an exit code), never its text.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from rlm.learning.suspicion import suspicious
from rlm.service.transcripts.session import CodingSession, ShellCommand
from rlm.store.types import QUARANTINE_REASON, MemoryItem

AHEAD = 40
"""So many commands after a failure are looked at for what ended it."""
SHOWN, MOST_FIXES, MOST_CHECKS, MOST_FILES = 3, 5, 3, 6
NAMED_FILES = 3
COMMAND_CHARS = 200
ALIKE = 0.5
"""The share of its words by which another program's call is a second try of the same thing."""

_PREFIX = re.compile(
    r"^(?:\s*(?:cd\s+\S+|export\s+\S+|source\s+\S+|set -\w+)\s*(?:&&|;)\s*|\s*\w+=\S+\s+)+"
)
_ASIDE = re.compile(
    r"^(?:cat|ls|ll|head|tail|less|grep|rg|ag|find|which|type|echo|printf|pwd|cd|wc|diff|stat|file"
    r"|tree|env|true|test|\[|sed -n|awk|sleep|ps|date|history|man|jq|sort|uniq|cut"
    r"|git (?:status|log|diff|show|branch|blame|ls-files|grep|rev-parse|remote|fetch|add"
    r"|commit|push|pull|stash|checkout|switch|merge|rebase))\b"
)
_TESTS = re.compile(
    r"\b(?:pytest|py\.test|tox|nox|unittest|jest|vitest|mocha|rspec|phpunit|ctest|playwright test"
    r"|(?:npm|pnpm|yarn|bun|deno|go|cargo|dotnet|mix|swift|rake|sbt|flutter|bundle exec rake)\s+"
    r"(?:run\s+)?test|mvn\b.*\b(?:test|verify)|gradlew?\b.*\btest|make (?:test|check))\b"
)
_RUNNERS = ("sudo", "npx", "uv", "poetry", "pipenv", "time", "bundle", "exec", "run", "env", "-m",
            "python", "python3", "yarn", "pnpm", "npm", "bun", "docker", "compose", "git", "go",
            "cargo", "make", "kubectl", "terraform", "pip")  # fmt: skip
_LAUNCHERS = frozenset(_RUNNERS[: _RUNNERS.index("docker")])
_TEST_RUNNERS = frozenset({"pytest", "py.test", "unittest"})
_JOINT = re.compile(r"\s*(?:&&|;|\n)\s*")
_SETTING = re.compile(r"(?:^|\s)([A-Za-z_]\w*=\S+)")
_ENDING = re.compile(r"\.(?:py|js|ts|rb|sh)$")
_EDITS = re.compile(r"\bsed\s+-\w*i|\bperl\s+-\w*i|\bpatch\b|\bgit apply\b|<<|\b(?:cat|tee)\s*>")
"""Files that are changed by a command: that is programming, too."""
_ERROR = re.compile(
    r"\b(?:[A-Za-z_]\w{2,40}(?:Error|Exception)|E[A-Z]{4,20}|TS\d{4}|E\d{3,4}|error\[E\d{4}\])\b"
    r"|command not found|[Pp]ermission denied|No such file or directory"
)


@dataclass(frozen=True, slots=True)
class Fix:
    """A command that failed, what was done then, and the command that worked after it."""

    failed: ShellCommand
    worked: ShellCommand
    between: tuple[str, ...] = ()
    turn: int = 0

    @property
    def error(self) -> str:
        """The names of the errors, and the exit code."""
        names = list(dict.fromkeys(_ERROR.findall(self.failed.error)))[:2]
        code = self.failed.exit_code
        return ", ".join([*names, *([] if code is None else [f"exit code {code}"])])


@dataclass(frozen=True, slots=True)
class TestRun:
    """Files that were changed, and the test command that passed after."""

    files: tuple[str, ...]
    command: ShellCommand
    turn: int


@dataclass(slots=True)
class _Event:
    turn: int
    command: ShellCommand
    files: list[str]
    """Files written since the command before."""


def find_fixes(session: CodingSession) -> list[Fix]:
    """Failures that were overcome, in order."""
    events = _events(session)
    found: dict[str, Fix] = {}
    for place, event in enumerate(events):
        if event.command.ok is False and not _ASIDE.match(_plain(event.command.text)):
            fix = _fix_of(event, events[place + 1 : place + 1 + AHEAD])
            ended = (each for each in found.values() if fix and each.worked is fix.worked)
            if fix is not None and next(ended, None) is None:
                found[event.command.text] = fix
    return list(found.values())[:MOST_FIXES]


def find_checks(session: CodingSession) -> list[TestRun]:
    """Which tests passed after which files were changed; the last of a command counts."""
    found: dict[str, TestRun] = {}
    changed: list[str] = []
    for event in _events(session):
        changed += [file for file in event.files if file not in changed]
        tests = _find_tests(event.command.text) if event.command.ok else ""
        if tests and changed:
            if len(changed) <= MOST_FILES:
                command = replace(event.command, text=tests)
                found[tests] = TestRun(tuple(changed), command, event.turn)
            changed = []
    return list(found.values())[-MOST_CHECKS:]


def _find_tests(command: str) -> str:
    """A command that tests, '' for another; without the edits that it makes, which are done."""
    parts = _JOINT.split(command)
    at = next((at for at, part in enumerate(parts) if _TESTS.search(part)), None)
    if at is None or not _EDITS.search(command):
        return "" if at is None else command
    scene = [part for part in parts[:at] if _PREFIX.match(f"{part} && ")]
    return " && ".join([*scene, parts[at]])


def _events(session: CodingSession) -> list[_Event]:
    """Commands in order. A turn's files count as written before its first command that tests."""
    events: list[_Event] = []
    for turn in session.turns:
        pending = list(turn.files)
        for command in turn.commands:
            takes = pending and (_TESTS.search(command.text) or command is turn.commands[-1])
            events.append(_Event(turn.number, command, pending if takes else []))
            pending = [] if takes else pending
    return events


def _fix_of(failed: _Event, later: Sequence[_Event]) -> Fix | None:
    """The first call of the same thing that worked, if commands alone were what ended it."""
    between: list[str] = []
    text = _plain(failed.command.text)
    *before, goal = _JOINT.split(text)
    for event in later:
        other = _plain(event.command.text)
        if event.files or _EDITS.search(other):
            return None
        *first, last = _JOINT.split(other)
        worked = _has_worked(event.command, other)
        if worked and last == goal:
            added = [part for part in first if part not in before and not _ASIDE.match(part)]
            done = tuple([*between, *added][-SHOWN:])
            helped = done or _settings(event.command) - _settings(failed.command)
            return Fix(failed.command, event.command, done, failed.turn) if helped else None
        if worked and _is_second_try(text, other):
            return Fix(failed.command, event.command, turn=failed.turn)
        if event.command.ok and not _ASIDE.match(other) and not _TESTS.search(other):
            between.append(event.command.text)
    return None


def _has_worked(command: ShellCommand, plain: str) -> bool:
    """Of a pipe only the end says how it went."""
    return bool(command.ok) and ("|" not in plain or "pipefail" in command.text)


def _is_second_try(one: str, other: str) -> bool:
    """Whether a command is another way to do what failed: it starts the same otherwise, or has much
    in common with it. Fewer tests are no way to pass them."""
    if _ASIDE.match(other):
        return False
    core, more = _core(one), _core(other)
    if core and core <= more <= core | _TEST_RUNNERS:
        return True
    if _TESTS.search(one):
        return False
    left, right = set(one.split()), set(other.split())
    same_program = _program(one) == _program(other)
    shared = len(left & right) / max(len(left), len(right))
    return one != other and shared >= (ALIKE / 2 if same_program else ALIKE)


def _core(text: str) -> set[str]:
    """What a command is about, whoever starts it: `tests/x.py` and the module `tests.x` are one."""
    names = (word.rpartition("/bin/")[2] for word in text.split())
    kept = (name for name in names if name not in _LAUNCHERS)
    return {_ENDING.sub("", name.removeprefix("./")).replace("/", ".") for name in kept}


def _settings(command: ShellCommand) -> set[str]:
    return set(_SETTING.findall(command.text))


def _program(text: str) -> str:
    words = text.split()
    named = [word for word in words if word not in _RUNNERS and not word.startswith("-")]
    return " ".join([*words[:1], *named[:1]])


def _plain(text: str) -> str:
    """A command without what only sets the scene."""
    return " ".join(_PREFIX.sub("", text).removesuffix(" 2>&1").split())


def _code(text: str) -> str:
    line = " ".join(text.split())
    return f"`{line if len(line) <= COMMAND_CHARS else line[: COMMAND_CHARS - 1] + '…'}`"


def _short(text: str, words: int) -> str:
    return " ".join(_plain(text).split()[:words])[:80]


def fix_item(fix: Fix, session: CodingSession) -> MemoryItem:
    """A failure and what ended it, as a procedure: that first, as a hook has little room."""
    error = f" ({fix.error})" if fix.error else ""
    helped = f"{', '.join(map(_code, fix.between))}, then " if fix.between else ""
    lines = [f"{helped}{_code(fix.worked.text)} worked."]
    lines.append(f"{_code(fix.failed.text)} had failed{error}.")
    title = f"When `{_short(fix.failed.text, 6)}` fails"
    return _item(title, lines, ["fix"], fix.turn, session)


def check_item(check: TestRun, session: CodingSession) -> MemoryItem:
    """The tests of a folder. Equal words are one memory: each folder and command is kept once."""
    root = session.cwd.rstrip("/") + "/" if session.cwd else ""
    files = [file.removeprefix(root) for file in check.files]
    inside = [posixpath.dirname(file) for file in files if not file.startswith("/")]
    folder = posixpath.commonpath(inside) if len(inside) == len(files) else ""
    of = f"`{folder}`" if folder and _names_a_part(check.command.text) else "this project"
    lines = [f"Tests for {of}: {_code(check.command.text)}."]
    lines.append(f"They passed after a change of {', '.join(files[:NAMED_FILES])}.")
    return _item(f"Tests for {of}", lines, ["tests"], check.turn, session)


def _names_a_part(command: str) -> bool:
    """Whether a test command runs less than all tests."""
    words = _plain(command).split()[1:]
    return any("/" in word or "::" in word or word in ("-k", "--", "-run") for word in words)


def _item(
    title: str, lines: Iterable[str], tags: list[str], turn: int, session: CodingSession
) -> MemoryItem:
    content = "\n".join(lines)
    why = suspicious(f"{title}\n{content}", quoted=False)
    provenance = {"kind": "procedure", "agent": session.agent, "turn": turn}
    return MemoryItem(
        title=title,
        description="",
        content=content,
        source_type="success",
        tags=tags,
        provenance={**provenance, QUARANTINE_REASON: why} if why else provenance,
        trust="quarantined" if why else "unverified",
        session_id=session.session_id,
        task_query=" ".join(next(iter(session.texts("user")), "").split())[:300] or None,
        **({"created_at": session.ended_at} if session.ended_at else {}),  # type: ignore[arg-type]
    )
