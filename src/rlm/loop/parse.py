"""Reading a model's reply: its code blocks and its final answer.

A reply is read line by line, once, left to right, and every line is looked at a bounded number of
times, so that no reply however odd takes more than linear time. What counts:

- ```` ```repl ```` blocks are code. A reply without any may use `python`, `py` or `python3`
  instead. Tildes and indented fences are fine. A fence that is never closed reaches to the end of
  the reply and is noted.
- Backticks inside of a string or a comment of the code do not end the block, as long as the string
  ends before the next `repl` block begins.
- `FINAL(…)` and `FINAL_VAR(name)` count at the start of a line outside of code blocks. Inside of
  one they are code: the REPL has functions of these names.

This module runs nothing and knows no REPL.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

REPL = frozenset({"repl"})
PYTHON = frozenset({"python", "py", "python3"})

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^`\n]*)$")
_LATE_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*(repl|python|py|python3)[ \t]*$", re.IGNORECASE)
_QUOTED = r"""
    \"\"\"(?:\\.|(?!\"\"\"|^[ \t]*(?:```|~~~)repl)[^\\])*+\"\"\"
    |'''(?:\\.|(?!'''|^[ \t]*(?:```|~~~)repl)[^\\])*+'''
    |"(?:\\.|[^"\\\n])*+" | '(?:\\.|[^'\\\n])*+' | \#[^\n]*+
"""
"""Strings that end, and comments. No string goes on in the next block."""

FINAL_CALL = re.compile(r"[ \t]*(?:\*\*)?FINAL(_VAR)?[ \t]*\(")
_AFTER_FINAL = re.compile(r"[ \t]*(?:(?:\*\*|[.;])[ \t]*)?(?=\n|$)")
_PARENTHESIS = re.compile(r"[()]")
_END_OF_CALL = re.compile(r"\s*(?:,\s*)?\)")
_STRING = re.compile(r"\s*[rRbBuUfF]{0,2}(\"\"\"|'''|\"|')")


@dataclass(frozen=True, slots=True)
class Final:
    """A final answer given in the text: itself, or the name of the variable that holds it."""

    value: str
    is_variable: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One block of code. `closed` is False when its fence was left open."""

    code: str
    closed: bool = True


@dataclass(slots=True)
class Parsed:
    """What a reply says. `notes` go to the model."""

    blocks: list[Block] = field(default_factory=list)
    final: Final | None = None
    notes: list[str] = field(default_factory=list)


class _Fence(NamedTuple):
    """An opening fence."""

    indent: int
    mark: str
    language: str


def parse_reply(reply: str, *, max_blocks: int = 50) -> Parsed:
    """The code blocks, the final answer and what is odd about them.

    >>> parse_reply("Let me see.\\n```repl\\nprint(1)\\n```\\n").blocks
    [Block(code='print(1)', closed=True)]
    >>> parse_reply("FINAL(forty-two (42))").final
    Final(value='forty-two (42)', is_variable=False)
    """
    reader = _Reader(clean(reply))
    reader.read()
    parsed = Parsed(final=reader.final, notes=reader.notes)
    blocks = reader.repl or reader.python
    if not blocks and parsed.final is None:
        parsed.final = reader.fenced_final
    parsed.blocks = blocks[:max_blocks]
    if any(not block.closed for block in parsed.blocks):
        parsed.notes.append(
            "The fence of a block was never closed; everything after it was taken as code."
        )
    if len(blocks) > max_blocks:
        parsed.notes.append(
            f"The reply had {len(blocks)} blocks; only the first {max_blocks} were run. Write one"
            " block with a loop."
        )
    return parsed


class _Reader:
    """One pass over a reply. `at` is the line that comes next."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.starts = _offsets(self.lines)
        self.at = 0
        self.repl: list[Block] = []
        self.python: list[Block] = []
        self.final: Final | None = None
        self.fenced_final: Final | None = None
        self.fenced_tried = False
        self.notes: list[str] = []

    def read(self) -> None:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            fence = _read_fence(line)
            if fence is None:
                if self.final is None and (match := FINAL_CALL.match(line)):
                    self._read_final(match)
                else:
                    self.at += 1
                continue
            self.at += 1
            if fence.language in REPL | PYTHON:
                block = self._read_code(fence)
                if block.code.strip():
                    (self.repl if fence.language in REPL else self.python).append(block)
            else:
                self._skip_other(fence)

    def _read_final(self, match: re.Match[str]) -> None:
        """Take the final answer that begins on this line, and go on behind it."""
        start = self.starts[self.at] + match.end()
        stop = closing_parenthesis(self.text, start)
        if stop is None:
            stop = self._next_code(self.at + 1)
            self.notes.append("The parenthesis of FINAL was never closed.")
        self.final = final_of(match, self.text[start:stop])
        while self.at < len(self.lines) and self.starts[self.at] <= stop:
            self.at += 1

    def _next_code(self, line: int) -> int:
        """Where the next code block begins, or the text ends."""
        for number in range(line, len(self.lines)):
            fence = _read_fence(self.lines[number])
            if fence is not None and fence.language in REPL | PYTHON:
                return max(0, self.starts[number] - 1)
        return len(self.text)

    def _read_code(self, fence: _Fence) -> Block:
        """The block whose first line is next. Leaves `at` behind its closing fence."""
        begin = self.starts[self.at] if self.at < len(self.lines) else len(self.text)
        ends = re.compile(
            rf"{_QUOTED}|(?P<end>{fence.mark}{fence.mark[0]}*+[ \t]*+$)",
            re.MULTILINE | re.DOTALL | re.VERBOSE,
        )
        end = next((m for m in ends.finditer(self.text, begin) if m["end"]), None)
        if end is None:
            self.at = len(self.lines)
            return Block(_dedent(self.text[begin:], fence.indent), closed=False)
        self.at = bisect_right(self.starts, end.start())
        return Block(_dedent(self.text[begin : end.start()], fence.indent))

    def _skip_other(self, fence: _Fence) -> None:
        """Pass a block that is no code; a FINAL in it counts where the reply says nothing else."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if _closes(line, fence):
                self.at += 1
                return
            other = _read_fence(line)
            if other is not None and other.language in REPL and other.mark == fence.mark:
                return  # the model forgot to close this one
            if not self.fenced_tried and not fence.language and (match := FINAL_CALL.match(line)):
                self.fenced_tried = (
                    True  # one look, or a reply of nothing but FINAL( would take quadratic time
                )
                start = self.starts[self.at] + match.end()
                stop = closing_parenthesis(self.text, start)
                self.fenced_final = None if stop is None else final_of(match, self.text[start:stop])
            self.at += 1


def _offsets(lines: list[str]) -> list[int]:
    offsets, at = [], 0
    for line in lines:
        offsets.append(at)
        at += len(line) + 1
    return offsets


def _read_fence(line: str) -> _Fence | None:
    """The fence that this line opens (or, bare, closes)."""
    if "```" not in line and "~~~" not in line:
        return None
    if match := _FENCE.match(line):
        words = match.group(3).lower().split()
        return _Fence(len(match.group(1)), match.group(2), words[0].strip("{}.,:") if words else "")
    # text in front of it: only where it can be nothing else
    if match := _LATE_FENCE.search(line[-200:]):
        return _Fence(0, match.group(1), match.group(2).lower())
    return None


def _closes(line: str, fence: _Fence) -> bool:
    bare = line.strip()
    return len(bare) >= len(fence.mark) and bare.count(fence.mark[0]) == len(bare)


def _dedent(code: str, indent: int) -> str:
    """Take off the fence's indentation, and what all lines share where the first has any."""
    lines = code.split("\n")
    if not lines[-1].strip():
        lines.pop()  # what stands before the closing fence
    if indent:
        lines = [line[min(indent, len(line) - len(line.lstrip(" \t"))) :] for line in lines]
    filled = [line for line in lines if line.strip()]
    if filled and filled[0][0] in " \t":
        common = min(len(line) - len(line.lstrip(" \t")) for line in filled)
        lines = [line[common:] if line.strip() else "" for line in lines]
    return "\n".join(lines)


# -- a final answer in the text


def clean(text: str) -> str:
    """Text that can be encoded, with `\\n` as its only line end. Lone surrogates become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def closing_parenthesis(text: str, start: int) -> int | None:
    """Where the parenthesis closes that was opened before `start`; None when it does not.

    Quotes count only when the argument begins with one: an apostrophe in prose opens nothing. Where
    the balance is reached in the middle of a line, as in `FINAL(1) first, 2) second)`, a later one
    at the end of a line is better.
    """
    if literal := _STRING.match(text, start):
        end = _string_end(text, literal.end(), literal.group(1))
        if end is not None and (behind := _END_OF_CALL.match(text, end)):
            return behind.end() - 1
    depth, found = 1, None
    for match in _PARENTHESIS.finditer(text, start):
        if match.group() == "(":
            depth += 1
            continue
        depth -= 1
        if depth == 0 and found is None:
            found = match.start()
        elif depth >= 0:
            continue
        if _AFTER_FINAL.match(text, match.end()):
            return match.start()
    return found


def _string_end(text: str, start: int, quote: str) -> int | None:
    """Where the string literal ends whose opening quote ends at `start`."""
    for match in re.compile(r"\\.|" + quote, re.DOTALL).finditer(text, start):
        if match.group() == quote:
            return match.end()
    return None


def _literal(argument: str) -> str:
    """The text of a final answer: what a string literal says, else the argument itself."""
    text = argument.strip().rstrip(",")
    if _STRING.match(text) and text[-1] in "\"'":
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text
        if isinstance(value, str):
            return clean(value)
    return argument.strip()


def final_of(match: re.Match[str], argument: str) -> Final:
    """The answer of a `FINAL_CALL`, given what stands in its parentheses."""
    if match.group(1):
        return Final(argument.strip().strip("\"'`").strip(), is_variable=True)
    return Final(_literal(argument))
