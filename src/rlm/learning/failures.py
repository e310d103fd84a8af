"""What to avoid and how to recover: lessons of errors and of wrong answers.

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


def lesson_of_error(call: ToolCall, tags: Sequence[str]) -> MemoryItem | None:
    """The lesson of a call that failed; None for errors that say nothing of how to ask."""
    kind = re.split(r"\W", call.error, maxsplit=1)[0]
    lesson = _LESSONS.get(kind)
    if lesson is None:
        return None
    steps = [lesson.avoid.format(tool=call.tool), lesson.recover.format(tool=call.tool)]
    title = lesson.title.format(tool=call.tool)
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
