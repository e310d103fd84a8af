"""What a run taught, in a model's words: JSON by schema, temperature 1, asked once more when it
cannot be read.

Nothing that a model says here is believed: its items pass the same gates as any, and which ontology
and which kind of question they are for is not for the model to say. An empty list is an answer.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlm.context import list_steps
from rlm.errors import RLMError
from rlm.learning.confidence import START
from rlm.learning.extract_calls import TASK_CHARS, CallReading
from rlm.learning.extract_prompts import (
    DESCRIPTION_CHARS,
    EXTRACT_REPAIR,
    LESSON_SCHEMA,
    MOST_ITEMS,
    MOST_STEPS,
    STEPS_CHARS,
    TEXT_LESSON_SCHEMA,
    JudgedRun,
    extract_messages,
)
from rlm.learning.gates import TOOLS
from rlm.learning.json_request import ask_json, parse_json
from rlm.learning.kinds import TaskKind
from rlm.learning.lesson import find_queries, join_template, shape_key, whole_title
from rlm.llm import Client, Usage
from rlm.store.generality import hardcoded_term
from rlm.store.types import ONTOLOGY_TOOLS, QUARANTINE_REASON, MemoryItem, Scope

log = logging.getLogger("rlm.learning")

TEMPERATURE = 1.0
READ_CHARS = 40_000
BROKEN_QUERY = "holds a query that does not parse"
MISSING_QUERY = "is about a query that is not there"
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_FENCE = re.compile(r"```(?:sparql)?\s*([^`]*?)\s*```", re.IGNORECASE)
_BELOW = re.compile(r"\bquery\b[^.;]{0,30}\bbelow\b|\bbelow\b[^.;]{0,30}\bquery\b", re.IGNORECASE)
_MEMORY_ID = re.compile(r"\bmem_(?:get|quote)\(|\b[0-9a-f]{16}\b")

Parses = Callable[[str], bool]


def ask_for_items(
    runs: Sequence[JudgedRun],
    *,
    over_text: bool,
    client: Client,
    shown_anyway: str = "",
    usage: Usage | None = None,
) -> list[dict[str, Any]] | None:
    """What a model replies about runs of one task: [] also when it cannot be asked, None when two
    replies could not be read."""
    told = False

    def read(text: str) -> list[dict[str, Any]]:
        nonlocal told
        items = read_items(text)
        sizes = [len(list_steps(item["steps"])) for item in items]
        if max(sizes, default=0) > STEPS_CHARS and not told:
            told = True  # the second time, whole steps are left out instead
            why = f"the steps of a lesson have {max(sizes)} characters, at most {STEPS_CHARS}"
            raise ValueError(why)
        return items

    try:
        return ask_json(
            client,
            lambda share: extract_messages(
                runs, over_text=over_text, shown_anyway=shown_anyway, share=share
            ),
            read,
            schema=TEXT_LESSON_SCHEMA if over_text else LESSON_SCHEMA,
            temperature=TEMPERATURE,
            repair=EXTRACT_REPAIR,
            usage=usage,
        )
    except RLMError as exc:
        log.warning("no lessons: %s could not be asked: %s", client.model, exc)
        return []
    except ValueError as exc:
        log.warning("no lessons: two replies of %s could not be read: %s", client.model, exc)
        return None


def read_items(text: str) -> list[dict[str, Any]]:
    """The first items of a reply that is one JSON object. Raises ValueError with what is wrong."""
    if len(text) > READ_CHARS:
        raise ValueError("it is too long")
    found = parse_json(text)
    items = found.get("items") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise ValueError('it has no list "items"')
    if len(items) > MOST_ITEMS:
        log.info("%d lessons in one reply: the first %d are read", len(items), MOST_ITEMS)
    for item in items[:MOST_ITEMS]:
        _check(item)
    return items[:MOST_ITEMS]


def _check(item: Any) -> None:
    if not isinstance(item, dict):
        raise ValueError("an item is no object")
    for name in ("title", "description"):
        if not isinstance(item.get(name), str) or not item[name].strip():
            raise ValueError(f'"{name}" of an item is no text')
    steps = item.get("steps")
    if (
        not isinstance(steps, list)
        or not steps
        or not all(isinstance(step, str) and step.strip() for step in steps)
    ):
        raise ValueError('"steps" of an item is no list of texts')


def build_items(
    found: Sequence[Mapping[str, Any]],
    reading: CallReading,
    *,
    success: bool,
    parses: Parses,
    templates: Callable[[int], str] = lambda number: "",
) -> list[MemoryItem]:
    """The items of a reply as they would be stored. What is hidden in them stays in them: the gates
    are to see it. What kind of task they are for is read off the calls that worked, or is what a
    caller said: calls that failed may be right for another kind. `templates` gives the query of a
    number, as a lesson has it, or ''; each goes to the first that wants it."""
    kind = reading.kind if success else TaskKind()
    types = tuple(filter(None, (kind.task_type or reading.said,)))
    tags = kind.tags or list(types)
    items: list[MemoryItem] = []
    given: set[str] = set()
    for one in found:
        number = one.get("query")
        query = templates(number) if success and type(number) is int else ""
        query = "" if query in given else query
        steps, lost = _usable_steps(one, query, parses)
        if not steps:
            continue
        items.append(_item(one, steps, query, reading, types, tags, success=success))
        items[-1].provenance = {QUARANTINE_REASON: lost} if lost else {}
        given.add(query)
    return items


def _usable_steps(found: Mapping[str, Any], template: str, parses: Parses) -> tuple[list[str], str]:
    """The steps, at most STEPS_CHARS together, and why they are no procedure: the query that they
    are about cannot run, or is not there. One that points at a memory by its id is left out."""
    key = shape_key(template) if template else ""
    kept: list[str] = []
    lost = ""
    for text in found["steps"][:MOST_STEPS]:
        step = " ".join(_FENCE.sub(r"`\1`", _MARK.sub("", text)).split())
        queries = find_queries(step)
        if key and len(queries) == 1 and shape_key(queries[0].text) == key:
            step = f"{step[: queries[0].start]}{queries[0].instead}{step[queries[0].end :]}"
        elif not all(parses(query.text) for query in queries):
            lost = BROKEN_QUERY
        if _BELOW.search(step) and not template:
            lost = MISSING_QUERY
        if _MEMORY_ID.search(step):
            log.info("left out of %r: it points at a memory: %s", found["title"], step)
            continue
        if len(list_steps([*kept, step])) > STEPS_CHARS:
            log.info("left out of %r: more than %d characters", found["title"], STEPS_CHARS)
            return kept, lost or (MISSING_QUERY if queries else "")
        kept.append(step)
    return kept, lost


def _item(
    found: Mapping[str, Any],
    steps: list[str],
    template: str,
    reading: CallReading,
    types: tuple[str, ...],
    tags: list[str],
    *,
    success: bool,
) -> MemoryItem:
    title = whole_title(found["title"])
    description = whole_title(found["description"], DESCRIPTION_CHARS, words=None)
    content = join_template(list_steps(steps), template)
    text = f"{title}\n{description}\n{content}"
    own = reading.ontology if found.get("general") is False or hardcoded_term(text) else None
    named = [tool for tool in TOOLS if re.search(rf"(?<!\w){tool}(?!\w)", content)]
    tools = tuple(sorted({*named, *(["sparql_query"] if template else [])}))
    over_text = not types and reading.ontology is None and not ONTOLOGY_TOOLS.intersection(tools)
    tags = tags or ["text" if over_text else "ontology"]
    return MemoryItem(
        title,
        description,
        content,
        source_type="success" if success else "failure",
        task_query=reading.question[:TASK_CHARS] or None,
        tags=tags if success else [*tags, "pitfall"],
        scope=Scope(own, types, tools, own is None),
        outcome="success" if success else "failure",
        confidence=START["distilled" if success else "failure"],
    )
