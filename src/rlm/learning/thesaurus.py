"""Runs that look whether a thesaurus is asked before they ask about classes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rlm.learning.calls import LINKING, CallLike
from rlm.llm.offline.asked.kinds import concepts_asked
from rlm.llm.offline.asked.kinds import Asked

_OF_IT = re.compile(r"\bskos:(?:Concept|broader|narrower|related|topConceptOf|hasTopConcept)\b")


def class_calls(question: str, asked: Asked | None, calls: Sequence[CallLike]) -> list[CallLike]:
    """The calls that teach how classes are asked for. Those to a thesaurus do not: [] where it gave
    the answer."""
    if asked is None or concepts_asked(question, asked) is None:
        return list(calls)
    texts = [
        str(call.args.get("query", "")) if call.tool == "sparql_query" else "" for call in calls
    ]
    if any(_OF_IT.search(text) and not text.startswith("ASK") for text in texts):
        return []
    others = [call for call, text in zip(calls, texts, strict=True) if not _OF_IT.search(text)]
    return others if any(call.tool not in LINKING for call in others) else []
