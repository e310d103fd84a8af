"""What `offline` reads out of its prompt: question, tools, procedures, and how far it is.

The procedures stand below one heading of the system message, each as `### 1. Title [id]`, a line
that describes it, and its steps as list items. How far it is, it reads from its own replies
(`# offline: link`) and from what their code printed. Nothing that is printed can pass itself off as
a reply, and nothing that a procedure says is run: it can only name a call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rlm.llm.types import Message

HEADING = "## Relevant Prior Experience"
RULES = "\n\nYou see only what you print"
"""What stands behind the list of tools."""

_CONTEXT = re.compile(
    r"Context: (?:.* \(\d+ characters, \d+ lines\)(?: in \d+ texts, a (?:list|dict))?"
    r"|the ontology above)$"
)
_CUT = re.compile(r"  \[… \d+ more characters: the whole question is in the REPL")
_ENTRY = re.compile(r"### (\d{1,2})\. (.*?\S)(?: \[[0-9a-f]{16}\])?")
_TOOL = re.compile(r"(?:^|`)([A-Za-z_]\w*)\(", re.MULTILINE)
_STEP = re.compile(r"^# offline: ([a-z]+)", re.MULTILINE)
_ERROR = re.compile(
    r"^Error in block \d+ \((\w+)\):\n(?:Traceback:\n(?: .*\n)*)?(.*)", re.MULTILINE
)
_OUTPUT = re.compile(r"^Output of block \d+:\n", re.MULTILINE)
_AFTER = re.compile(r"^(?:Error in block|Note: |Variables: |Turn \d+ of)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Procedure:
    """A procedure as the prompt has it."""

    number: int
    title: str
    text: str

    @property
    def is_warning(self) -> bool:
        return self.title.lower().startswith("avoid")


@dataclass(frozen=True, slots=True)
class Turn:
    """A step that was taken, what it printed, and the error that it ended in."""

    step: str
    output: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """All that the messages of a run say."""

    question: str
    tools: frozenset[str]
    procedures: tuple[Procedure, ...]
    turns: tuple[Turn, ...]
    card: str
    """What the prompt says of the ontology."""
    has_text: bool
    is_last: bool

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Prompt | None:
        """None when the messages hold no question of the loop."""
        system = next((each["content"] for each in messages if each["role"] == "system"), "")
        first = next((each["content"] for each in messages if each["role"] == "user"), "")
        question = question_in(first)
        if question is None:
            return None
        turns = [
            _read_turn(step[1], told["content"])
            for reply, told in pairwise(messages)
            if reply["role"] == "assistant" and (step := _STEP.search(reply["content"]))
        ]
        before, _, after = f"\n{system}".partition(f"\n{HEADING}\n")
        return cls(
            question,
            frozenset(_TOOL.findall(before.partition(RULES)[0])),
            tuple(_read_procedures(after)),
            tuple(turns),
            before.partition(RULES)[2]
            .rpartition("give only what you saw.")[2]
            .partition("\n\n")[2],
            "\nContext: the ontology above" not in first,
            len(messages) > 2 and "\nThis is the last turn." in messages[-1]["content"],
        )

    @property
    def last(self) -> Turn | None:
        return self.turns[-1] if self.turns else None

    def output_of(self, step: str) -> str | None:
        """What a step printed that was taken without an error; None where none was."""
        done = [turn.output for turn in self.turns if turn.step == step and not turn.error]
        return done[-1] if done else None


def question_in(first: str) -> str | None:
    """The question of a run; None when the message is something else."""
    head, *rest = first.split("\n")
    if not head.startswith("Question:"):
        return None
    lines = [head.removeprefix("Question:").strip()]
    for line in rest:
        if not line.startswith("  "):
            return "\n".join(lines) if _CONTEXT.match(line) else None
        if not _CUT.match(line):
            lines.append(line[2:])
    return None


def _read_turn(step: str, told: str) -> Turn:
    fault = _ERROR.search(told)
    opening = _OUTPUT.search(told)
    output = _AFTER.split(told[opening.end() :])[0].strip() if opening else ""
    return Turn(step, output, f"{fault[1]}: {fault[2]}" if fault else "")


def _read_procedures(text: str) -> list[Procedure]:
    found: list[list[str]] = []
    for line in text.split("\n"):
        if line == "---" or (line.startswith("## ") and line != HEADING):
            break
        if _ENTRY.fullmatch(line):
            found.append([line])
        elif found:
            found[-1].append(line)
    heads = [(_ENTRY.fullmatch(lines[0]), lines) for lines in found]
    return [Procedure(int(head[1]), head[2], "\n".join(lines[1:])) for head, lines in heads if head]
