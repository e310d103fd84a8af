"""Every word that the loop itself says to a model.

The payload of the context is never among them: a prompt names handles and sizes, and of the text
only what the model's own code printed. Lines that other programs read (the `offline` client plans
from its prompt alone) keep their form:

    Question: <the question; further lines of it are indented by two spaces>
    Context: the ontology above                           no text beside it
    Context: <key> (<n> characters, <m> lines)            one text
    Context: context (<n> characters, <m> lines) in <k> texts, a list|dict     several; then some of
    - context[<index or key>]: <key> (<n> characters)
    Output of block <i>:              then what it printed, cut; `(nothing)` when it is empty
    Error in block <i> (<kind>):      then the message
    Note: <what was odd>
    Variables: <name>, <name>, …      those that the code made; the newest where they are many
    Turn <i> of <n>.
    This is the last turn.            in the message that asks for the answer at the end

A message of outputs holds one `Output of block` part per block that was run, in order; blocks are
numbered through the run, as in tracebacks. Cut output has a line `[… <n> characters cut …]` where
something is missing.
"""

from __future__ import annotations

import inspect
import re
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
VARIABLES_CHARS = 60
BLOCK_CHARS = 20
"""What the names of variables may take in a turn's message, less so many for each further block."""
TURN_BLOCKS = 3
"""The outputs of one turn together have at most this many times the limit of one block."""
LEAST_OUTPUT_CHARS = 400
LINE_CHARS = 200
"""How far a cut may move to keep a line whole: half of a name is another name."""
HISTORY_CHARS = 400_000
"""About 100,000 tokens: what models with a usual window still take, with room for the reply."""
REPLY_CHARS = 40_000
"""What is kept of one reply in later prompts."""
NEWEST = 4
"""Messages at the end that are never dropped: two turns."""
DROPPED = "[dropped to save room: the message"

SUB_MODEL_CHARS = 200_000
"""What a prompt to a sub-model had better not exceed: half of a window of 100,000 tokens."""

OVER_ONTOLOGY = """\
You answer a question about an ontology, an RDF graph, by querying it. You work in turns: write \
Python in ```repl blocks, read what it printed, and answer once you know.

The REPL keeps its variables from block to block. `question` is the question. The prefixes of the \
ontology and rdf, rdfs, owl, xsd and skos are bound: queries need no PREFIX lines.
{tools}

`r = sparql_query(...)` is a sequence of rows: `len(r)`, `for row in r`, `r[0]`, `r[10:20]`, \
`r.where(col=value)`, `r.where(lambda row: ...)`, `r.group(col)` (counts by value), \
`r.distinct(col)`, `r.sample(5)`, `r.columns`. A row is a dict, as in the example. IRIs and texts \
are in Turtle notation and fit into the next query as they are; numbers are Python numbers; an \
unbound variable has no key: use `row.get("label")`."""

EXAMPLE_QUERY = """\
For example,
```repl
r = sparql_query('''SELECT ?c ?label (COUNT(?x) AS ?n) WHERE {
  ?x a ?c . OPTIONAL { ?c rdfs:label ?label } } GROUP BY ?c ?label ORDER BY DESC(?n)''')
print(r)
```
prints its size and the first rows:
results_0: 14 rows × 3 columns (?c ?label ?n)
{'c': 'ex:Ship', 'label': '"ship"@en', 'n': 12}
...
and the next reply is FINAL(ex:Ship has the most instances, 12.)"""

OVER_TEXT = """\
You answer a question about a text that may be far too long to read. It is a variable in a Python \
REPL. You work in turns: write code in ```repl blocks, read what it printed, go on, and answer \
once you know.

The REPL keeps its variables from block to block. `question` is the question.
{tools}"""

CONTEXT = """\
- `context`: the text, behind a handle; several texts are a list or a dict of handles. \
`len(context)`, `context[a:b]`, `.find`, `.count`, `in`, `.split`, `.splitlines()` and \
`re.finditer(p, context)` work as on a str. A slice of up to 20,000 characters is a str, a longer \
one again a handle. Printed, a handle shows its name and size only."""

EXAMPLE_TEXT = """\
For example, words are searched in code, and what they mean is left to a model:
```repl
import re
hits = [m.start() for m in re.finditer("budget", context)]
print(len(context), len(hits))
for i in hits[:3]:
    print(i, context[max(0, i - 80):i + 80])
parts = [context[i:i + 50_000] for i in range(0, len(context), 50_000)]
found = llm_query_batched([f"Quote what is said on the budget, or NONE:\\n{p}" for p in parts])
print([(n, text) for n, text in enumerate(found) if text != "NONE"])
```"""

ASK_OVER_ONTOLOGY = f"""\
- `llm_query(prompt)`: a language model reads and judges long texts, such as definitions. It sees \
this prompt alone, best below {SUB_MODEL_CHARS:,} characters. Rows go in as text: `{{r[:50]}}`.
- `llm_query_batched(prompts)`: the same for many at once, answers in order; one that failed \
begins with `[error]`.
- `rlm_query(question)`: a helper with its own REPL and these tools, for a sub-question of several \
steps."""

ASK_OVER_TEXT = f"""\
- `llm_query(prompt)`: a language model reads and judges a passage. It sees this prompt alone, \
best below {SUB_MODEL_CHARS:,} characters. A handle or slice in an f-string is read by it, not by \
you.
- `llm_query_batched(prompts)`: the same for many at once, answers in order; one that failed \
begins with `[error]`.
- `rlm_query(question, part)`: a helper with its own REPL over a part of the text, for several \
steps."""

RULES = """\
You see only what you print, at most {output_chars} characters of a block. Print counts and short \
excerpts; count, search and compute in code. You can import re, json, math, statistics, \
collections, itertools, functools, datetime, decimal, random, string, textwrap, difflib, csv, \
unicodedata and a few more. There are no files and no network.

{example}

To finish, once you have seen what supports the answer, write in a reply without code
- FINAL(the answer) at the start of a line, or
- FINAL_VAR(name) for the value of a variable.
In code, `SUBMIT(answer=text, ...)` or `answer["content"] = text; answer["ready"] = True` does the \
same. {checked}"""

CHECKED_QUERY = """\
Every IRI and number of the answer is checked against what the REPL returned: give only what you \
saw. Before you say that there is none, look up the names in your query. What counts and what \
codes mean often stands in rdfs:comment, of terms and of single notes: search there."""
CHECKED_TEXT = """\
Quotes, numbers and IRIs of the answer are checked against the text and what the REPL returned: \
give only what you saw."""

LOOK_FIRST = (
    "You have not seen the context yet. Look at it in the REPL first (its size, how it begins, how"
    " it is laid out); do not answer in this turn."
)
GO_ON = "Go on, or FINAL(...)."
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


def system_prompt(
    limits: Limits,
    *,
    tools_text: str = "",
    guidance: str = "",
    has_ontology: bool = False,
    has_text: bool = True,
) -> str:
    """The system message: the REPL, its tools, the rules, and then `guidance` as it is given."""
    if has_ontology:
        context, asking = (CONTEXT, ASK_OVER_TEXT) if has_text else ("", ASK_OVER_ONTOLOGY)
        parts = [context, tools_text.strip(), asking]
    else:
        parts = [CONTEXT, ASK_OVER_TEXT, tools_text.strip()]
    tools = "\n".join(filter(None, parts))
    rules = _fill(
        RULES,
        output_chars=f"{limits.max_output_chars:,}",
        example=EXAMPLE_QUERY if has_ontology else EXAMPLE_TEXT,
        checked=CHECKED_QUERY if has_ontology else CHECKED_TEXT,
    )
    head = _fill(OVER_ONTOLOGY if has_ontology else OVER_TEXT, tools=tools)
    extra = f"\n\n{guidance.strip()}" if guidance.strip() else ""
    return clean(f"{head}\n\n{rules}{extra}")


def _fill(template: str, **values: str) -> str:
    """The template with its `{name}`s filled in; other braces stay."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def describe_tools(tools: Mapping[str, Callable[..., Any]]) -> str:
    """A line for each tool: its signature and the first paragraph of its docstring. Tools that have
    a `summary` are described by that, in one line for all, at the end, or not at all where it is
    empty; so is every tool that one names. Of a summary, clauses (they end in `;`) whose tools are
    all missing are left out."""
    summaries = {name: getattr(tool, "summary", None) for name, tool in tools.items()}
    together = "\n".join(
        _present_clauses(text, tools) for text in dict.fromkeys(filter(None, summaries.values()))
    )
    own = [
        _tool_line(name, tool)
        for name, tool in tools.items()
        if summaries[name] is None and f"`{name}(" not in together
    ]
    return "\n".join([*own, *(f"- {line}" for line in together.splitlines())])


def _present_clauses(summary: str, tools: Mapping[str, Any]) -> str:
    clauses = summary.rstrip(".").split("; ")
    named = [re.findall(r"`(\w+)\(", clause) for clause in clauses]
    return (
        "; ".join(
            clause
            for clause, names in zip(clauses, named, strict=True)
            if not names or any(name in tools for name in names)
        )
        + "."
    )


def _tool_line(name: str, tool: Callable[..., Any]) -> str:
    doc = " ".join((inspect.getdoc(tool) or "").strip().split("\n\n")[0].split())
    try:
        parameters = inspect.signature(tool).parameters.values()
    except (TypeError, ValueError):  # a callable that does not tell
        return f"- `{name}(...)`" + (f": {doc}" if doc else "")
    named = [each for each in parameters if _is_optional(each) and _names(doc, each.name)]
    shown: list[str] = []
    for each in parameters:
        if each in named or not (named and _is_optional(each)):
            shown.append(str(each.replace(annotation=inspect.Parameter.empty)))
        elif "*" not in shown:
            shown.append("*")  # what comes after one that is not shown goes by its name
    shown = shown[:-1] if shown[-1:] == ["*"] else shown
    return f"- `{name}({', '.join(shown)})`" + (f": {doc}" if doc else "")


def _is_optional(parameter: inspect.Parameter) -> bool:
    return parameter.default is not inspect.Parameter.empty


def _names(doc: str, parameter: str) -> bool:
    """Whether a docstring says what a parameter is for; if it names some, the rest is not shown."""
    return re.search(rf"\b{parameter}\b", doc) is not None


def first_message(question: str, card: ContextCard, *, has_text: bool = True) -> str:
    """The first user turn: the question, what the context is, and that it should be looked at.
    Without a text beside an ontology there is nothing to look at: the card is in the prompt."""
    if not has_text:
        return "\n".join([*_question_lines(question), "Context: the ontology above"])
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
    parts = [
        _block_text(block.result.block or number, block.result, share)
        for number, block in enumerate(blocks, 1)
    ]
    parts += [note if note.startswith("Note: ") else f"Note: {note}" for note in notes]
    if variables:
        room = VARIABLES_CHARS - BLOCK_CHARS * max(0, len(blocks) - 1)
        parts.append(_variables_line(variables, room))
    if turn <= limits.max_iters:
        parts.append(f"Turn {turn} of {limits.max_iters}. {GO_ON}")
    return clean("\n".join(parts))


def _variables_line(names: Sequence[str], room: int) -> str:
    """As many names as fit, from the newest back; one at least."""
    shown = list[str]()
    for name in reversed(names):
        if len(", ".join([name, *shown])) > room and shown:
            break
        shown.insert(0, name[:VARIABLES_CHARS])
    left = len(names) - len(shown)
    return "Variables: " + ", ".join(shown) + (f" and {left} more" if left else "")


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
    is missing; a tenth more is not worth cutting. Where lines end near, whole ones are kept.
    `already` characters had been dropped at the end before."""
    if len(text) <= limit + limit // 10:
        return text + (f"\n[… {already} characters cut …]" if already else "")
    head, tail = limit - limit // 4, len(text) - limit // 4
    line = text.rfind("\n", max(0, head - LINE_CHARS), head)
    head = line if line > 0 else head
    line = text.find("\n", tail, tail + LINE_CHARS)
    tail = line + 1 if line > 0 else tail
    return f"{text[:head]}\n[… {tail - head + already} characters cut …]\n{text[tail:]}"


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
