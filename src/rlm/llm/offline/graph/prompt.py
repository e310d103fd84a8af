"""What `offline` reads out of its prompt when it is asked about an ontology: tools, procedures, and
how far it is.

The procedures stand below one heading of the system message, each as `### 1. Title [id]`, a line
that describes it, and its steps as list items; one that did not fit is a title alone. How far it is, it reads
from its own replies (`# plan: graph …`) and from the one line that its programs print. That line is
the first of the output of the first block; what else is there is not looked at, so that no text of
an ontology, not even in an error, can pass itself off as it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.answers import JOINING, PROBES, base_kind
from rlm.llm.offline.graph.fit import HIERARCHY, fit
from rlm.llm.offline.graph.sparql import SparqlQuery, read_query
from rlm.llm.types import Message

FOUND = "offline-found "
HEADING = "## Relevant Prior Experience"
TOOLS_NEEDED = ("sparql_query", "search_entity")
RULES = "\n\nYou see only what you print"
"""What stands behind the list of tools."""

_ENTRY = re.compile(r"### (\d{1,2})\. (.*?\S)(?: \[[0-9a-f]{16}\])?")
STEPS = 3
"""So many steps of a procedure are read; what follows is advice for a reader."""
_BULLET = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(.*\S)")
_TOOL = re.compile(r"(?:^|`)([A-Za-z_]\w*)\(", re.MULTILINE)
_STEP = re.compile(r"^# plan: graph ([a-z]+)(?: (\d+))?$", re.MULTILINE)
_ERROR = re.compile(
    r"^Error in block \d+ \((\w+)\):\n(?:Traceback:\n(?: .*\n)*)?(.*)", re.MULTILINE
)
_OUTPUT = re.compile(r"Output of block \d+:")
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
            found.append(
                Entry(int(match[1]), match[2], " ".join(words).strip(), tuple(steps[:STEPS]))
            )
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
    if len(lines) > 1 and _OUTPUT.fullmatch(lines[0]) and lines[1].startswith(FOUND):
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
    """Whether there is no text beside the ontology."""
    first = next((message["content"] for message in messages if message["role"] == "user"), "")
    return re.search(r"^Context: the ontology above$", first, re.MULTILINE) is not None


def key_classes(messages: Sequence[Message]) -> list[str]:
    """What the classes that the prompt tells of are called."""
    system = next((message["content"] for message in messages if message["role"] == "system"), "")
    line = _KEY_CLASSES.search(system)
    found = _KEY_CLASS.findall(line[1]) if line else []
    return [label or re.split(r"[/#:]", name.strip("<>").rstrip("/#"))[-1] for name, label in found]


# -- Whether a procedure of the prompt can answer a question of a kind: what it calls must be what
# the kind needs.
#
# A memory may be wrong, about something else, cut short or written to mislead, so nothing is taken
# on its word. A query is followed only when it is understood to the last sign and asks just what
# the question asks, in the right direction; a tool only when its result holds the answer. What is
# followed is still checked against what the ontology says of itself.


_CALL = re.compile(r"([a-z_]\w*)\((.*)\)", re.DOTALL)
_QUOTED = re.compile(r"""\s*(?:"(.*)"|'(.*)')\s*(?:,\s*\w+\s*=\s*[\w'"]+\s*)*""", re.DOTALL)
_RUN_WITH = re.compile(r"Run with (sparql_query): ((?:SELECT|ASK)\b.*)", re.IGNORECASE)
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}"
    r"\b(?:question|task|instruction|rule|prompt|evidence|above|previous|tool)|"
    r"\b(?:always|just|only|simply)\s+(?:answer|reply|say|respond|return|output|print)\b|\bFINAL(?:_VAR)?\s*\(|"
    r"\b(?:system prompt|api key|password|without (?:looking|checking|asking|searching))\b|"
    r"\b(?:answer|reply|respond)(?: with)? \d",
    re.IGNORECASE,
)
"""What no procedure says, and who wants to steer a model does."""
_LINKING = frozenset({"search_entity", "search_by_label"})
_READING = frozenset({"sparql_slice", "SHOW_VARS", "print", "len"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a procedure names: the tool, and its arguments as they are written."""

    tool: str
    args: str


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """What is followed of a procedure: a tool, and for a query its text, its columns and how it
    fits (see `Fit`)."""

    entry: int
    tool: str
    query: str = ""
    columns: tuple[str, ...] = ()
    form: str = ""
    limit: int | None = None
    drop_self: bool = False
    narrowed: bool = False
    loop: str = ""


def best_plan(
    asked: Asked, entries: Iterable[Entry], tools: Collection[str], question: str
) -> ToolPlan | None:
    """The procedure that is followed; None when none applies."""
    found = []
    for entry in entries:
        plan = plan_of(asked, entry, tools)
        if plan is not None:
            shared = _words(question) & _words(f"{entry.title} {entry.description}")
            found.append((plan.tool != "sparql_query", -len(shared), entry.number, plan))
    return min(found, key=lambda each: each[:3])[3] if found else None


def plan_of(asked: Asked, entry: Entry, tools: Collection[str]) -> ToolPlan | None:
    """What a procedure comes to for this question; None when it does not apply."""
    said = "\n".join((entry.title, entry.description, *entry.steps))
    if entry.is_warning or _ORDERS.search(said):
        return None
    calls = calls_in(entry)
    if not calls or any(call.tool not in tools and call.tool not in _READING for call in calls):
        return None
    for call in calls:
        plan = accepts(asked, call, entry, calls)
        if plan is not None:
            return plan
    return None


def calls_in(entry: Entry) -> list[Call]:
    """The calls that a procedure names in full; one that was cut short is none."""
    found = []
    for step in entry.steps:
        if match := _RUN_WITH.match(step):
            found.append(Call(match[1].lower(), f'"{match[2].strip()}"'))
            continue
        pieces = step.split("`")
        for piece in pieces[1::2] if len(pieces) % 2 else pieces[1:-1:2]:
            if call := _CALL.fullmatch(piece.strip()):
                found.append(Call(call[1], call[2]))
    return found


def _words(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{3,}", text.lower())) - {
        "the",
        "are",
        "and",
        "what",
        "which",
        "with",
        "for",
        "all",
    }


def accepts(asked: Asked, call: Call, entry: Entry, calls: Collection[Call]) -> ToolPlan | None:
    """What a call comes to when it can answer the question, else None."""
    kind = base_kind(asked)
    if call.tool == "sparql_query":
        quoted = _QUOTED.fullmatch(call.args)
        text = (quoted[1] or quoted[2] or "") if quoted else ""
        query = read_query(text)
        return None if query is None else _query_plan(asked, entry.number, text, query)
    if call.tool == "describe_entity" and kind == "describe" and asked.mentions:
        return ToolPlan(entry.number, call.tool)
    if call.tool == "find_path" and kind == "path":
        return ToolPlan(entry.number, call.tool)
    if (
        call.tool == "probe_relationships"
        and kind in PROBES
        and not (asked.inherited or asked.only)
        and not kind.startswith("all_")
    ):
        predicate, direction = PROBES[kind]
        right = re.search(rf"['\"]{predicate}['\"]", call.args) and re.search(
            rf"['\"]{direction}['\"]", call.args
        )
        return ToolPlan(entry.number, call.tool) if right else None
    if (
        call.tool == "graph_stats"
        and kind in ("namespaces", "classes", "individuals", "triples")
        and not asked.text
    ):
        return ToolPlan(entry.number, call.tool) if asked.kind != "search" else None
    if call.tool == "sparql_schema" and kind == "namespaces" and "namespaces" in call.args:
        return ToolPlan(entry.number, call.tool)
    if (
        call.tool in _LINKING
        and kind == "search"
        and asked.kind == "search"
        and "$ENTITY" not in call.args
    ):
        return ToolPlan(entry.number, call.tool)
    alone = all(other.tool in _LINKING | {"describe_entity"} for other in calls)
    if call.tool in _LINKING and kind == "exists" and alone:
        return ToolPlan(entry.number, call.tool)
    return None


# -- queries
# -----------------------------------------------------------------------------------------------


def _query_plan(asked: Asked, number: int, text: str, query: SparqlQuery) -> ToolPlan | None:
    kind = base_kind(asked)
    counts = asked.kind == "count" and kind != "roots"
    wanted = {"is_subclass": ("ASK",)}.get(kind, ("SELECT", "COUNT") if counts else ("SELECT",))
    gaps = set(re.findall(r"\$(?:ENTITY|TEXT|NUMBER)_\w*", text))
    known = {f"$ENTITY_{place}" for place in range(1, len(asked.mentions) + 1)} | (
        {"$TEXT_1"} if asked.text else set()
    )
    if query.form not in wanted or gaps - known or (query.limit is not None and query.limit < 100):
        return None
    if kind == "path":
        fits = query.where == read_query(JOINING.format("$ENTITY_1", "$ENTITY_2")).where  # type: ignore[union-attr]
        return ToolPlan(number, "find_path") if fits else None
    how = fit(asked, query)
    if how is None:
        return None
    drop = kind in HIERARCHY  # a class is none of its own subclasses
    return ToolPlan(
        number,
        "sparql_query",
        text,
        query.names,
        query.form,
        query.limit,
        drop,
        how.narrowed,
        how.loop,
    )
