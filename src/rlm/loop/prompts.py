"""Every word that the loop itself says to a model.

The payload of the context is never among them: a prompt names handles and sizes, and of the text
only what the model's own code printed. Lines that other programs read (the `offline` client plans
from its prompt alone) keep their form:

    Question: <the question; further lines of it are indented by two spaces>
    Context: <key> (<n> characters, <m> lines)            one text
    Context: context (<n> characters, <m> lines) in <k> texts, a list|dict     several; then some of
    - context[<index or key>]: <key> (<n> characters)
    Output of block <i>:              then what it printed, cut; `(nothing)` when it is empty
    Error in block <i> (<kind>):      then the message
    Note: <what was odd>
    Variables: <name>, <name>, …
    Turn <i> of <n>.
    This is the last turn.            in the message that asks for the answer at the end

A message of outputs holds one `Output of block` part per block that was run, in order. Cut output
has a line `[… <n> characters cut …]` where something is missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlm.llm import Message
from rlm.loop.parse import clean
from rlm.loop.types import CodeBlock, Limits
from rlm.sandbox import REPLResult

QUESTION_CHARS = 4_000
"""What a prompt shows of a question; a longer one is behind a handle, as `question`."""
LISTED_TEXTS = 5
LISTED_NAMES = 60
TURN_BLOCKS = 3
"""The outputs of one turn together have at most this many times the limit of one block."""
LEAST_OUTPUT_CHARS = 400
HISTORY_CHARS = 400_000
"""About 100,000 tokens: what models with a usual window still take, with room for the reply."""
REPLY_CHARS = 40_000
"""What is kept of one reply in later prompts."""
NEWEST = 4
"""Messages at the end that are never dropped: two turns."""
DROPPED = "[dropped to save room: the message"

SYSTEM = """\
You answer a question about a text that may be far too long to read. It is a variable in a Python \
REPL. You work in turns: write code in ```repl blocks, see what it printed, go on, and give the \
answer once you know it.

In the REPL, variables stay from block to block:
- `context`: the text, behind a handle. `len(context)`, `context[a:b]`, `.find`, `.count`, `in`, \
`.split`, `.splitlines()` and `re.finditer(p, context)` work as on a str. A slice of up to 20,000 \
characters is a str, a longer one a view (again a handle). Printed, a handle shows its name and \
size only. `question` is the question.
- `llm_query(prompt)`: asks a language model, which sees the prompt alone. A handle or view in an \
f-string is a passage that it reads and you need not.
- `llm_query_batched(prompts)`: many at once, answers in order; one that failed begins with \
`[error]`.
- `rlm_query(question, context)`: a helper with a REPL of its own, over a part of the text; for \
work of several steps.
- `SHOW_VARS()`: your variables."""

RULES = """\
You see only what you print, at most {output_chars} characters of a block. Print counts and short \
excerpts; keep what is long in variables. Count, search and compute in code; let llm_query read \
and judge. There are no files, no network.

```repl
import re
hits = [m.start() for m in re.finditer("budget", context)]
print(len(context), len(hits))
for i in hits[:3]:
    print(i, context[max(0, i - 80):i + 80])
```

To finish, do one of these, and only when what you saw in the REPL supports the answer:
- FINAL(the answer) at the start of a line, outside of code
- FINAL_VAR(name) for the value of a variable
- in code: `answer["content"] = text; answer["ready"] = True`, or `SUBMIT(answer=text, ...)` with \
named fields"""

LOOK_FIRST = (
    "You have not seen the context yet. Look at it in the REPL first (its size, how it begins, how"
    " it is laid out); do not answer in this turn."
)
GO_ON = "Go on in ```repl blocks, or finish with FINAL(...), FINAL_VAR(name) or answer."
NO_CODE = (
    "Note: the reply had no code and no final answer, so nothing was run. Write code in a block"
    " that begins with ```repl and ends with ```, or finish with FINAL(the answer) at the start of"
    " a line."
)
LAST_CALL = """\
This is the last turn. No more code is run. Reply with your best answer to the question now, from \
what you have seen, as FINAL(the answer), or FINAL_VAR(name) for a variable. If what you have \
seen does not settle it, say what is known."""


@dataclass(frozen=True, slots=True)
class ContextCard:
    """What a prompt may know of a context: names and sizes."""

    key: str
    chars: int
    lines: int
    shape: str = "text"
    """`text`, `list` or `dict`."""
    parts: tuple[tuple[str, str, int], ...] = ()
    """Of several texts: index or key as code, the handle's key, its characters."""


def system_prompt(limits: Limits, *, tools_text: str = "", guidance: str = "") -> str:
    """The system message: the REPL, its tools, the rules, and then `guidance` as it is given."""
    tools = f"\n{tools_text.strip()}" if tools_text.strip() else ""
    rules = RULES.replace("{output_chars}", f"{limits.max_output_chars:,}")
    extra = f"\n\n{guidance.strip()}" if guidance.strip() else ""
    return clean(f"{SYSTEM}{tools}\n\n{rules}{extra}")


def describe_tools(tools: Mapping[str, Callable[..., Any]]) -> str:
    """One line a tool: its signature and the first line of its docstring."""
    return "\n".join(_tool_line(name, tool) for name, tool in tools.items())


def _tool_line(name: str, tool: Callable[..., Any]) -> str:
    try:
        signature = inspect.signature(tool)
        shown = ", ".join(
            str(parameter.replace(annotation=inspect.Parameter.empty))
            for parameter in signature.parameters.values()
        )
    except (TypeError, ValueError):  # a callable that does not tell
        shown = "..."
    lines = (inspect.getdoc(tool) or "").strip().splitlines()
    return f"- `{name}({shown})`" + (f": {lines[0]}" if lines else "")


def first_message(question: str, card: ContextCard) -> str:
    """The first user turn: the question, what the context is, and that it should be looked at."""
    return "\n".join([*_question_lines(question), *_context_lines(card), "", LOOK_FIRST])


def _question_lines(question: str) -> list[str]:
    question = clean(question).strip()
    shown, rest = question[:QUESTION_CHARS], len(question) - QUESTION_CHARS
    first, *more = shown.split("\n")
    lines = [f"Question: {first}", *(f"  {line}" for line in more)]
    if rest > 0:
        lines.append(
            f"  [… {rest} more characters: the whole question is in the REPL, behind the handle"
            " `question` …]"
        )
    return lines


def _context_lines(card: ContextCard) -> list[str]:
    size = f"({card.chars} characters, {card.lines} lines)"
    if card.shape == "text":
        return [f"Context: {card.key} {size}"]
    lines = [f"Context: {card.key} {size} in {len(card.parts)} texts, a {card.shape}"]
    lines += [
        f"- context[{index if len(index) <= 60 else index[:59] + '…'}]: {key} ({chars} characters)"
        for index, key, chars in card.parts[:LISTED_TEXTS]
    ]
    if len(card.parts) > LISTED_TEXTS:
        lines.append(f"- … and {len(card.parts) - LISTED_TEXTS} more")
    return lines


def turn_message(
    blocks: Sequence[CodeBlock],
    notes: Sequence[str],
    variables: Sequence[str],
    *,
    turn: int,
    limits: Limits,
) -> str:
    """The message to the model after its blocks were run. `turn` is the one that comes now."""
    share = min(
        limits.max_output_chars, limits.max_output_chars * TURN_BLOCKS // max(1, len(blocks))
    )
    share = max(share, min(LEAST_OUTPUT_CHARS, limits.max_output_chars))
    parts = [_block_text(number, block.result, share) for number, block in enumerate(blocks, 1)]
    parts += [note if note.startswith("Note: ") else f"Note: {note}" for note in notes]
    listed = ", ".join(variables[:LISTED_NAMES])
    if len(variables) > LISTED_NAMES:
        listed += f" and {len(variables) - LISTED_NAMES} more"
    parts.append(f"Variables: {listed or '(none)'}")
    if turn <= limits.max_iters:
        parts.append(f"Turn {turn} of {limits.max_iters}. {GO_ON}")
    return clean("\n".join(parts))


def _block_text(number: int, result: REPLResult, share: int) -> str:
    error_share = max(share // 4, min(LEAST_OUTPUT_CHARS, share)) if result.stderr else 0
    shown = cut(result.stdout.rstrip("\n"), max(0, share - error_share), already=result.cut_chars)
    text = f"Output of block {number}:\n{shown or '(nothing)'}"
    if result.error or result.stderr.strip():
        kind = f" ({result.error})" if result.error else ""
        text += (
            "\nError in block"
            f" {number}{kind}:\n{cut(result.stderr.strip(), error_share) or '(no message)'}"
        )
    if result.restarted and not result.error:  # else the error says so
        text += (
            "\nNote: the REPL was started anew before this block; earlier variables are lost,"
            " `context` is there."
        )
    return text


def cut(text: str, limit: int, *, already: int = 0) -> str:
    """At most `limit` characters, three quarters of them from the start, and a line that says what
    is missing. `already` characters had been dropped at the end before."""
    if len(text) <= limit:
        return text + (f"\n[… {already} characters cut …]" if already else "")
    head, tail = limit - limit // 4, limit // 4
    missing = len(text) - head - tail + already
    return f"{text[:head]}\n[… {missing} characters cut …]\n{text[len(text) - tail :]}"


class History:
    """The messages of one run, kept from growing without bound. The system message, the first user
    turn and the newest turns always stay. Beyond the budget, outputs of older turns give way first,
    then older replies; each leaves a line that says so. The trajectory keeps all of them."""

    def __init__(self, system: str, first: str, *, budget_chars: int = HISTORY_CHARS) -> None:
        self.head: list[Message] = [
            {"role": "system", "content": system},
            {"role": "user", "content": first},
        ]
        self.turns: list[Message] = []
        self.budget_chars = budget_chars

    @property
    def head_chars(self) -> int:
        """The size of what every prompt begins with."""
        return sum(len(message["content"]) for message in self.head)

    def add(self, reply: str, outcome: str) -> None:
        """A reply, and the message that answers it."""
        self.turns.append(
            {"role": "assistant", "content": cut(reply, REPLY_CHARS) or "(empty reply)"}
        )
        self.turns.append({"role": "user", "content": outcome})
        self._shrink()

    def messages(self, *, last: str | None = None) -> list[Message]:
        """The prompt as it stands; `last` is added to the final user message."""
        found = [dict(message) for message in (*self.head, *self.turns)]
        if last is not None:
            found[-1]["content"] += f"\n\n{last}"
        return found

    def _shrink(self) -> None:
        excess = (
            self.head_chars
            + sum(len(message["content"]) for message in self.turns)
            - self.budget_chars
        )
        for role in ("user", "assistant"):
            for number, message in enumerate(self.turns[:-NEWEST]):
                if excess <= 0:
                    return
                content = message["content"]
                if message["role"] != role or content.startswith(DROPPED):
                    continue
                note = f"{DROPPED} of turn {number // 2 + 1}: {len(content)} characters]"
                if len(note) < len(content):
                    self.turns[number] = {"role": role, "content": note}
                    excess -= len(content) - len(note)
