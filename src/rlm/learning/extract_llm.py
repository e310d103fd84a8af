"""What a run taught, in a model's words: JSON by schema, temperature 1, one more try, else nothing.

Nothing that a model says here is believed: its items pass the same gates as any, and which ontology
and which kind of question they are for is not for the model to say.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.context import TITLE_WORDS, list_steps
from rlm.errors import RLMError
from rlm.learning.confidence import START
from rlm.learning.evidence import Evidence
from rlm.learning.extract_calls import TASK_CHARS, CallReading
from rlm.learning.gates import TOOLS
from rlm.learning.json_request import Build, ask_json, parse_json
from rlm.learning.kinds import TaskKind
from rlm.learning.prompts import (
    EXTRACT_REPAIR,
    LESSON_SCHEMA,
    LESSON_STEPS,
    MOST_ITEMS,
    contrast_messages,
    extract_messages,
)
from rlm.llm import Client, Message, Usage
from rlm.store.generality import hardcoded_term
from rlm.store.types import ONTOLOGY_TOOLS, Judgment, MemoryItem, Scope

log = logging.getLogger("rlm.learning")

TEMPERATURE = 1.0
READ_CHARS = 40_000
_MARK = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
TITLE_CHARS, DESCRIPTION_CHARS, STEP_CHARS = 120, 300, 600


def extract_llm(
    evidence: Sequence[Evidence],
    judgments: Sequence[Judgment],
    readings: Sequence[CallReading],
    *,
    client: Client,
    usage: Usage | None = None,
) -> list[MemoryItem] | None:
    """The items that a model wrote of one run, or of several runs of one task; None when it cannot
    be asked or read."""

    def build(share: float) -> list[Message]:
        if len(evidence) == 1:
            return extract_messages(evidence[0], judgments[0], share=share)
        return contrast_messages(evidence, judgments, share=share)

    found = ask_for_items(build, client, usage)
    if found is None:
        return None
    best = next((at for at, judgment in enumerate(judgments) if judgment.is_success), None)
    return _items(found, readings[best or 0], success=best is not None)


def ask_for_items(
    build: Build, client: Client, usage: Usage | None = None
) -> list[dict[str, Any]] | None:
    """What a model replies to the prompt; None when it cannot be asked or read."""
    try:
        return ask_json(
            client,
            build,
            read_items,
            schema=LESSON_SCHEMA,
            temperature=TEMPERATURE,
            repair=EXTRACT_REPAIR,
            usage=usage,
        )
    except (RLMError, ValueError) as exc:
        log.info("no lessons from %s: %s", client.model, exc)
        return None


def read_items(text: str) -> list[dict[str, Any]]:
    """The items of a reply that is one JSON object. Raises ValueError with what is wrong."""
    if len(text) > READ_CHARS:
        raise ValueError("it is too long")
    found = parse_json(text)
    items = found.get("items") if isinstance(found, dict) else found
    if not isinstance(items, list):
        raise ValueError('it has no list "items"')
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


def _items(
    found: Sequence[Mapping[str, Any]], reading: CallReading, *, success: bool
) -> list[MemoryItem]:
    """The items of a reply. What kind of task they are for is read off the calls that worked, or is
    what a caller said: calls that failed may be right for another kind."""
    kind = reading.kind if success else TaskKind()
    types = tuple(filter(None, (kind.task_type or reading.said,)))
    tags = kind.tags or list(types)
    return [_item(one, reading, types, tags, success=success) for one in found]


def _item(
    found: Mapping[str, Any],
    reading: CallReading,
    types: tuple[str, ...],
    tags: list[str],
    *,
    success: bool,
) -> MemoryItem:
    """An item as it would be stored. What is hidden in it stays in it: the gates are to see it."""
    title = " ".join(" ".join(found["title"].split()).split(" ")[:TITLE_WORDS])[:TITLE_CHARS]
    description = " ".join(found["description"].split())[:DESCRIPTION_CHARS]
    content = list_steps(
        [_MARK.sub("", step)[:STEP_CHARS] for step in found["steps"][:LESSON_STEPS]]
    )
    text = f"{title}\n{description}\n{content}"
    own = reading.ontology if found.get("general") is False or hardcoded_term(text) else None
    tools = tuple(sorted(tool for tool in TOOLS if re.search(rf"(?<!\w){tool}(?!\w)", content)))
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
