"""What to avoid and how to recover: lessons of repeated errors and of wrong answers.

The words are ours. Of an error only its kind is used, because its text may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rlm.context import is_shown_whole, list_steps
from rlm.learning.confidence import START
from rlm.learning.lesson import whole_title
from rlm.loop.trace import ToolCall
from rlm.store.types import Judgment, MemoryItem, Scope

MACHINERY = (
    "QueryTimeout", "EndpointError", "TimeoutError", "ConnectionError", "ModelUnavailable",
    "ModelRateLimited", "ModelAuthError", "StoreLocked", "StoreFull", "StoreReadOnly",
    "SandboxError", "LimitExceeded", "MemoryError",
)  # fmt: skip
"""Errors that say something of the machine, and nothing of how to ask."""
_KIND = re.compile(r"[A-Za-z_]\w{0,40}")


@dataclass(frozen=True, slots=True)
class _Lesson:
    title: str
    avoid: str
    recover: str


_LESSONS = {
    "QueryRefused": _Lesson(
        "queries that are refused",
        "do not send the same query to `{tool}` again once it was refused",
        "write one SELECT or ASK that only reads, with every prefix bound; the error says where it"
        " fails",
    ),
    "HandleError": _Lesson(
        "reading rows without their handle",
        "do not make up a key, and do not index a handle",
        "keep what `sparql_query` returned and give it to `sparql_slice`",
    ),
    "OntologyError": _Lesson(
        "calling `{tool}` with a guessed name",
        "do not guess IRIs or prefixes",
        "look the name up with `search_entity` and use the IRI of the hit",
    ),
    "ValidationError": _Lesson(
        "arguments that `{tool}` does not take",
        "do not call `{tool}` again with the same arguments",
        "read its error: it says which argument is wrong and what is allowed",
    ),
    "TypeError": _Lesson(
        "parameters that `{tool}` does not have",
        "do not guess the parameters of `{tool}`",
        "call it as its signature in the prompt says",
    ),
    "NotFound": _Lesson(
        "ids that nothing returned",
        "do not make up ids for `{tool}`",
        "use only ids that a search returned",
    ),
}


def lesson_of_errors(
    calls: Sequence[ToolCall], tags: Sequence[str], *, recovered: bool = False
) -> MemoryItem | None:
    """The lesson of a repeated error; with `recovered`, of one after which the tool worked."""
    counts: dict[tuple[str, str], int] = {}
    for place, call in enumerate(calls):
        kind = _kind(call.error)
        if call.ok or kind not in _LESSONS:
            continue
        worked = any(later.ok and later.tool == call.tool for later in calls[place + 1 :])
        counts[kind, call.tool] = counts.get((kind, call.tool), 0) + (
            2 if recovered and worked else 1
        )
    found = [(-count, place, key) for place, (key, count) in enumerate(counts.items()) if count > 1]
    if not found:
        return None
    kind, tool = min(found)[2]
    lesson = _LESSONS[kind]
    steps = [lesson.avoid.format(tool=tool), lesson.recover.format(tool=tool)]
    return _item(
        lesson.title.format(tool=tool), f"{kind}: it fails each time.", steps, (), (tool,), tags
    )


def _kind(error: str) -> str:
    match = _KIND.match(error)
    return "" if match is None or match[0] in MACHINERY else match[0]


def lesson_of_answer(
    kind: str, tool: str, call: str, judgment: Judgment, tags: Sequence[str]
) -> MemoryItem:
    """The lesson of a run whose answer was wrong, or not grounded."""
    about = f"{kind.replace('_', ' ')} questions" if kind else "questions"
    reason = judgment.reason.casefold()
    if "ground" in reason or "evidence" in reason or "seen" in reason:
        recover = "name only IRIs that a call returned"
    elif judgment.missing or "missing" in reason or "incomplete" in reason:
        recover = "page with `sparql_slice` until there are no more"
    else:
        recover = "link the names with `search_entity`, then ask anew"
    types = (kind,) if kind else ()
    if call:
        steps = [f"wrong: `{call}`", recover]
        item = _item(
            f"this call for {about}", "It gave a wrong answer.", steps, types, (tool,), tags
        )
        if is_shown_whole(item):
            return item
    steps = [f"do not answer {about} from `{tool}` alone", recover]
    return _item(
        f"answering from `{tool}` alone", "It gave a wrong answer.", steps, types, (tool,), tags
    )


def _item(
    title: str,
    description: str,
    steps: list[str],
    types: tuple[str, ...],
    tools: tuple[str, ...],
    tags: Sequence[str],
) -> MemoryItem:
    return MemoryItem(
        whole_title(title),
        description,
        list_steps(steps),
        source_type="failure",
        tags=[*tags, "pitfall"],
        scope=Scope(None, types, tools),
        outcome="failure",
        confidence=START["failure"],
    )
