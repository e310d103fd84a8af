"""Whether a procedure of the prompt can answer a question of a kind: what it calls must be what the
kind needs.

A memory may be wrong, about something else, cut short or written to mislead, so nothing is taken on
its word. A query is followed only when it is understood to the last sign and asks just what the
question asks, in the right direction; a tool only when its result holds the answer. What is
followed is still checked against what the ontology says of itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.fit import HIERARCHY, fit
from rlm.llm.offline.graph.kinds import JOINING, PROBES, base_kind
from rlm.llm.offline.graph.prompt import Entry
from rlm.llm.offline.graph.sparql import Query, read_query

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
class Plan:
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
) -> Plan | None:
    """The procedure that is followed; None when none applies."""
    found = []
    for entry in entries:
        plan = plan_of(asked, entry, tools)
        if plan is not None:
            shared = _words(question) & _words(f"{entry.title} {entry.description}")
            found.append((plan.tool != "sparql_query", -len(shared), entry.number, plan))
    return min(found, key=lambda each: each[:3])[3] if found else None


def plan_of(asked: Asked, entry: Entry, tools: Collection[str]) -> Plan | None:
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


def accepts(asked: Asked, call: Call, entry: Entry, calls: Collection[Call]) -> Plan | None:
    """What a call comes to when it can answer the question, else None."""
    kind = base_kind(asked)
    if call.tool == "sparql_query":
        quoted = _QUOTED.fullmatch(call.args)
        text = (quoted[1] or quoted[2] or "") if quoted else ""
        query = read_query(text)
        return None if query is None else _query_plan(asked, entry.number, text, query)
    if call.tool == "describe_entity" and kind == "describe" and asked.mentions:
        return Plan(entry.number, call.tool)
    if call.tool == "find_path" and kind == "path":
        return Plan(entry.number, call.tool)
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
        return Plan(entry.number, call.tool) if right else None
    if (
        call.tool == "graph_stats"
        and kind in ("namespaces", "classes", "individuals", "triples")
        and not asked.text
    ):
        return Plan(entry.number, call.tool) if asked.kind != "search" else None
    if call.tool == "sparql_schema" and kind == "namespaces" and "namespaces" in call.args:
        return Plan(entry.number, call.tool)
    if (
        call.tool in _LINKING
        and kind == "search"
        and asked.kind == "search"
        and "$ENTITY" not in call.args
    ):
        return Plan(entry.number, call.tool)
    alone = all(other.tool in _LINKING | {"describe_entity"} for other in calls)
    if call.tool in _LINKING and kind == "exists" and alone:
        return Plan(entry.number, call.tool)
    return None


# -- queries
# -----------------------------------------------------------------------------------------------


def _query_plan(asked: Asked, number: int, text: str, query: Query) -> Plan | None:
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
        return Plan(number, "find_path") if fits else None
    how = fit(asked, query)
    if how is None:
        return None
    drop = kind in HIERARCHY  # a class is none of its own subclasses
    return Plan(
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
