"""What to avoid and how to recover: lessons of errors and of wrong answers.

The words are ours. Of an error only its kind is used, because its text may be anybody's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rlm.context import is_shown_whole, list_steps
from rlm.learning.confidence import START
from rlm.learning.lesson import whole_title
from rlm.loop.trace import ToolCall
from rlm.store.types import Judgment, MemoryItem, Scope

OF_ASKING = frozenset(
    ("QueryRefused", "HandleError", "OntologyError", "ValidationError", "TypeError", "NotFound")
)
"""Errors that say how to ask. Others, such as time-outs, say nothing of that."""


def lesson_of_error(call: ToolCall, tags: Sequence[str]) -> MemoryItem | None:
    """The lesson of a call that failed; None for errors that say nothing of how to ask."""
    kind = re.split(r"\W", call.error, maxsplit=1)[0]
    if kind not in OF_ASKING:
        return None
    steps = [
        f"do not call `{call.tool}` again with the same arguments",
        "read its error: it says what is wrong and what is allowed",
        "take IRIs, handles and ids from what a call returned, such as `search_entity`",
    ]
    title = f"repeating `{call.tool}` after {kind}"
    return _item(title, f"{kind}: it fails each time.", steps, call.tool, tags)


def lesson_of_answer(kind: str, tool: str, call: str, judgment: Judgment) -> MemoryItem:
    """The lesson of a run whose answer was wrong, or not grounded."""
    about = f"{kind.replace('_', ' ')} questions" if kind else "questions"
    reason = judgment.reason.casefold()
    if "ground" in reason or "evidence" in reason or "seen" in reason:
        recover = "name only IRIs that a call returned"
    elif judgment.missing or "missing" in reason or "incomplete" in reason:
        recover = "page with `sparql_slice` until there are no more"
    else:
        recover = "link the names with `search_entity`, then ask anew"
    tags = [kind] if kind else []
    wrong = "It gave a wrong answer."
    if call:
        steps = [f"wrong: `{call}`", recover]
        item = _item(f"this call for {about}", wrong, steps, tool, tags, kind)
        if is_shown_whole(item):
            return item
    steps = [f"do not answer {about} from `{tool}` alone", recover]
    return _item(f"answering from `{tool}` alone", wrong, steps, tool, tags, kind)


def _item(
    title: str, description: str, steps: list[str], tool: str, tags: Sequence[str], kind: str = ""
) -> MemoryItem:
    return MemoryItem(
        whole_title(title),
        description,
        list_steps(steps),
        source_type="failure",
        tags=[*tags, "pitfall"],
        scope=Scope(None, (kind,) if kind else (), (tool,)),
        outcome="failure",
        confidence=START["failure"],
    )
