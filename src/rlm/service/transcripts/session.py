"""A session of a coding agent, whatever host it comes from: turns, with the commands that were run
and the files that were touched. Tool output is left out but for the end of what a failure said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

TURN_CHARS = 4_000
ERROR_CHARS = 400


@dataclass(slots=True)
class ShellCommand:
    """A command that the agent ran. `ok` is None where nobody says how it ended."""

    text: str
    ok: bool | None = None
    exit_code: int | None = None
    error: str = ""
    """The last lines of what a failure printed, at most `ERROR_CHARS`."""


@dataclass(slots=True)
class SessionTurn:
    """What one side said, and what the agent did with it. Numbered from 1 through a session."""

    number: int
    role: str
    """`user` for a person's own words, `assistant` for the agent."""
    text: str
    at: str = ""
    commands: list[ShellCommand] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    """Files that were written in this turn."""
    commits: list[str] = field(default_factory=list)
    """Hashes of commits that the agent made in it."""


@dataclass(slots=True)
class CodingSession:
    """All that is kept of one transcript."""

    agent: str
    session_id: str
    cwd: str = ""
    started_at: str = ""
    ended_at: str = ""
    turns: list[SessionTurn] = field(default_factory=list)
    unknown: Counter[str] = field(default_factory=Counter)
    """Types of lines that no reader knows, and how many there were."""
    truncated: bool = False
    """Whether the file ended in the middle of a line."""
    injected: list[str] = field(default_factory=list)
    """What memory gave the agent in this session: never to be learned from it again."""

    def texts(self, role: str) -> list[str]:
        """What one side said, turn by turn."""
        return [turn.text for turn in self.turns if turn.role == role]

    def commits_since(self, number: int) -> list[str]:
        """The commits that were made in a turn or after it."""
        return [each for turn in self.turns if turn.number >= number for each in turn.commits]
