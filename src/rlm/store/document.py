"""What of a memory is searched: its columns with their weights, and the text that is embedded.

Both stores and every index read this one place, so that they find the same things.
"""

from __future__ import annotations

from rlm.retrieval.tokens import grams
from rlm.store.identity import canonical_json
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
    ontology = (scope.ontology,) if scope.ontology else ()
    return " ".join((*ontology, *scope.task_types, *scope.tools))


def item_columns(item: MemoryItem) -> tuple[str, ...]:
    """The text of each of `ITEM_COLUMNS`, as the `memory_live` view of SQLite gives it."""
    first = (
        item.title,
        item.description,
        canonical_json(item.tags),
        scope_words(item.scope),
        item.task_query or "",
        item.content,
    )
    return (*first, grams("\n".join(first)))


def item_text(item: MemoryItem) -> tuple[str, str]:
    """What is embedded: the words that say what a memory is for, and its content."""
    head = f"{item.title} {item.description} {' '.join(item.tags)} {item.task_query or ''}"
    return head, item.content
