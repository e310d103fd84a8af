"""What `offline` reads out of its prompt when it is asked about an ontology: tools, procedures, and
how far it is.

The procedures stand below one heading of the system message, each as `### 1. Title`, a line that
describes it, and its steps as list items. How far it is, it reads from its own replies (`# plan:
graph …`) and from the one line that its programs print. That line is the first of the output of the
first block; what else is there is not looked at, so that no text of an ontology, not even in an
error, can pass itself off as it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rlm.llm.types import Message

FOUND = "offline-found "
HEADING = "## Relevant Prior Experience"
TOOLS_NEEDED = ("sparql_query", "search_entity")
RULES = "\n\nYou see only what you print"
"""What stands behind the list of tools."""

_ENTRY = re.compile(r"### (\d{1,2})\. (.*\S)")
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*\S)")
_TOOL = re.compile(r"^(?:- `)?([A-Za-z_]\w*)\(", re.MULTILINE)
_STEP = re.compile(r"^# plan: graph ([a-z]+)(?: (\d+))?$", re.MULTILINE)
_ERROR = re.compile(r"^Error in block 1 \((\w+)\):\n(?:Traceback:\n(?: .*\n)*)?(.*)", re.MULTILINE)
_CONTEXT = re.compile(r"^Context: \S+ \((\d+) characters, \d+ lines\)$", re.MULTILINE)
_KEY_CLASSES = re.compile(r"^Key classes: (.+)$", re.MULTILINE)
_KEY_CLASS = re.compile(r'([^\s,"]+)(?: "([^"]+)")?')
_VARIABLES = re.compile(r"^Variables: (.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A procedure as the prompt has it."""

    number: int
    title: str
    description: str
    steps: tuple[str, ...]

    @property
    def is_warning(self) -> bool:
        return self.title.lower().startswith("avoid")


@dataclass(frozen=True, slots=True)
class Turn:
    """A step that was taken: what it reported, else the error."""

    step: str
    entry: int
    found: dict[str, Any] | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a prompt says about a run over an ontology."""

    tools: frozenset[str]
    entries: tuple[Entry, ...]
    turns: tuple[Turn, ...] = ()
    variables: frozenset[str] = field(default_factory=frozenset)
    is_last: bool = False

    @property
    def last(self) -> Turn | None:
        return self.turns[-1] if self.turns else None


def read_prompt(messages: Sequence[Message]) -> Seen | None:
    """None when the prompt has no tools for an ontology."""
    system = next((message["content"] for message in messages if message["role"] == "system"), "")
    tools = tools_in(system)
    if not tools.issuperset(TOOLS_NEEDED):
        return None
    turns = [
        turn
        for at in range(1, len(messages) - 1)
        if (turn := _turn(messages[at], messages[at + 1])) is not None
    ]
    told = messages[-1]["content"]
    listed = _VARIABLES.findall(told)
    return Seen(
        tools,
        tuple(entries_in(system)),
        tuple(turns),
        frozenset(listed[-1].split(", ")) if listed and turns else frozenset(),
        bool(re.search(r"^This is the last turn\.", told, re.MULTILINE)) and len(messages) > 2,
    )


def tools_in(system: str) -> frozenset[str]:
    """The tools that the REPL has. What a procedure names is none for that."""
    return frozenset(
        _TOOL.findall(f"\n{system}".partition(f"\n{HEADING}\n")[0].partition(RULES)[0])
    )


def entries_in(system: str) -> list[Entry]:
    """The procedures of a prompt, in order."""
    rest = f"\n{system}".partition(f"\n{HEADING}\n")[2]
    found: list[Entry] = []
    open_: list[str] = []

    def close() -> None:
        if open_ and (match := _ENTRY.fullmatch(open_[0])):
            steps = [bullet[1] for line in open_[1:] if (bullet := _BULLET.match(line))]
            words = [line.strip() for line in open_[1:] if not _BULLET.match(line)]
            found.append(Entry(int(match[1]), match[2], " ".join(words).strip(), tuple(steps)))
        open_.clear()

    for line in rest.split("\n"):
        if line == "---" or (line.startswith("## ") and line != HEADING):
            break
        if _ENTRY.fullmatch(line):
            close()
            open_.append(line)
        elif open_ and line.strip():
            open_.append(line)
    close()
    return found


def _turn(reply: Message, told: Message) -> Turn | None:
    mark = _STEP.search(reply["content"]) if reply["role"] == "assistant" else None
    if mark is None:
        return None
    entry, text = int(mark[2] or 0), told["content"]
    lines = text.split("\n", 2)
    if len(lines) > 1 and lines[0] == "Output of block 1:" and lines[1].startswith(FOUND):
        try:
            found = json.loads(lines[1].removeprefix(FOUND))
        except ValueError:
            found = None
        if isinstance(found, dict):
            return Turn(mark[1], entry, found)
    fault = _ERROR.search(text)
    return Turn(
        mark[1],
        entry,
        None,
        f"{fault[1]}: {fault[2]}" if fault else "output: it was cut or is not there",
    )


def is_bare(messages: Sequence[Message]) -> bool:
    """Whether there is no text beside the ontology: the context is a part of the system message
    itself."""
    system = next((message["content"] for message in messages if message["role"] == "system"), "")
    first = next((message["content"] for message in messages if message["role"] == "user"), "")
    size = _CONTEXT.search(first)
    if size is None:
        return False
    chars = int(size[1])
    starts = [match.end() for match in re.finditer(r"\n\n", system)]
    return chars == 0 or any(
        start + chars == len(system) or system[start + chars : start + chars + 2] == "\n\n"
        for start in starts
    )


def key_classes(messages: Sequence[Message]) -> list[str]:
    """What the classes that the prompt tells of are called."""
    system = next((message["content"] for message in messages if message["role"] == "system"), "")
    line = _KEY_CLASSES.search(system)
    found = _KEY_CLASS.findall(line[1]) if line else []
    return [label or re.split(r"[/#:]", name.strip("<>").rstrip("/#"))[-1] for name, label in found]
