"""What of a memory is searched: its columns with their weights, and the text that is embedded.

Both stores and every index read this one place, so that they find the same things.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from rlm.retrieval import rank
from rlm.retrieval.embed import BODY, HEAD, NEITHER
from rlm.retrieval.explain import Explanation
from rlm.retrieval.static import BODY_CHARS, HEAD_CHARS, cut_text
from rlm.retrieval.tokens import grams
from rlm.store.identity import json_texts
from rlm.store.types import MemoryItem, Scope

ITEM_COLUMNS = ("title", "description", "tags", "scope", "task_query", "content", "grams")
ITEM_WEIGHTS = (1.5, 1.0, 1.2, 1.0, 1.2, 0.4, 0.4)
"""Set by an experiment, with a flat optimum: see docs/experiments.md."""
NODE_COLUMNS = ("subtype", "content", "grams")
NODE_WEIGHTS = (0.5, 1.0, 0.4)


def scope_words(scope: Scope) -> str:
    """The words of a scope that a person may search for."""
    if not (scope.ontology or scope.task_types or scope.tools):
        return ""
    return " ".join(
        (*((scope.ontology,) if scope.ontology else ()), *scope.task_types, *scope.tools)
    )


def item_columns(item: MemoryItem, known_grams: str | None = None) -> tuple[str, ...]:
    """The text of each of `ITEM_COLUMNS`, as the `memory_live` view of SQLite gives it."""
    first = (
        item.title,
        item.description,
        json_texts(item.tags),
        scope_words(item.scope),
        item.task_query or "",
        item.content,
    )
    return (*first, grams("\n".join(first)) if known_grams is None else known_grams)


def item_text(item: MemoryItem) -> tuple[str, str]:
    """What is embedded: the words that say what a memory is for, and its content."""
    return (
        f"{item.title} {item.description} {' '.join(item.tags)} {item.task_query or ''}",
        item.content,
    )


TEXT_WEIGHTS = tuple(
    ITEM_WEIGHTS[ITEM_COLUMNS.index(name)]
    for name in ("title", "description", "tags", "scope", "task_query", "content", "content")
)
TEXT_PARTS = (HEAD, HEAD, HEAD, NEITHER, HEAD, BODY, NEITHER)
GRAMS_WEIGHT = ITEM_WEIGHTS[ITEM_COLUMNS.index("grams")]


def item_texts(item: MemoryItem) -> tuple[tuple[str, ...], bool]:
    """Every word of a memory once, for both indexes (`TEXT_WEIGHTS`, `TEXT_PARTS`), but for its
    grams.

    True if what is embedded cannot be told from these texts: it is cut within one of them.
    """
    title, description, content, task = (
        item.title,
        item.description,
        item.content,
        item.task_query or "",
    )
    tags = " ".join(item.tags)
    apart = len(title) + len(description) + len(tags) + len(task) + 3 > HEAD_CHARS
    if len(content) <= BODY_CHARS:
        return (title, description, tags, scope_words(item.scope), task, content, ""), apart
    body = cut_text(content, BODY_CHARS)
    rest = content[len(body) :]
    if rest and not rest[0].isspace():  # a word of no end was cut
        return (title, description, tags, scope_words(item.scope), task, "", content), True
    return (title, description, tags, scope_words(item.scope), task, body, rest), apart


class Signals(Protocol):
    """The two signals of one found document and their fusion."""

    @property
    def lexical(self) -> float: ...
    @property
    def cosine(self) -> float | None: ...
    @property
    def similarity(self) -> float: ...


def why(
    item: MemoryItem, score: float, signals: Signals, matched: Mapping[str, float], now: datetime
) -> Explanation:
    """Every factor of one hit's score."""
    return Explanation(
        score=score,
        similarity=signals.similarity,
        lexical=signals.lexical,
        cosine=signals.cosine,
        confidence=float(item.confidence or 0.0),
        recency=rank.recency_boost(item.last_used, now),
        level=item.level,
        level_weight=rank.LEVEL_WEIGHT[item.level],
        matched=matched,
    )
