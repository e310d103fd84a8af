"""What of a memory is searched: its columns with their weights, and the text that is embedded.

Both stores and every index read this one place, so that they find the same things.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rlm.retrieval.tokens import grams
from rlm.store.identity import canonical_json
from rlm.store.types import MemoryItem, Scope

ITEM_COLUMNS = ("title", "description", "tags", "scope", "task_query", "content", "grams")
ITEM_WEIGHTS = (1.5, 1.0, 1.2, 1.0, 1.2, 0.4, 0.4)
"""Set by an experiment, with a flat optimum: see docs/experiments.md."""
NODE_COLUMNS = ("subtype", "content", "grams")
NODE_WEIGHTS = (0.5, 1.0, 0.4)


KIND_WORDS = {
    "superlative": "most least highest lowest largest smallest biggest longest shortest oldest"
    " newest earliest latest cheapest best worst top first last maximum minimum rank",
    "count": "how many number of total amount sum average count",
    "path": "how connected connection link linked related relation relationship between path chain",
    "comparison": "compare comparison difference differ than versus more less which of two",
    "negation": "no not without never none missing lacks except",
    "listing": "list all every show name each which are",
    "values": "value when where who what is the of",
    "definition": "define definition meaning mean explain description what is a",
}
"""What questions of a kind say, in any domain: a memory is also found by the words of its kind."""
_SAME_KIND = {"list": "listing", "describe": "definition"}


_NO_SUPERLATIVE = (
    "(?:arr|att|cont|det|dig|earn|ern|for|harv|hon|inf|ing|inter|inv|manif|mod|mol|prot|sugg|temp"
    "|thw|midw|unr)"
)
_ASKED = {
    "superlative": re.compile(
        rf"\b(?:most|least|top|(?!\w*{_NO_SUPERLATIVE}est\b)\w*[aeiouy][^\W\daeiou]+i?est)\b", re.I
    ),
    "comparison": re.compile(r"\b(?:more|less|fewer|\w+er)\b.*\bthan\b(?! \d)", re.I),
}
"""English in general: superlatives end in -est, but for a closed set of words that only look so
(forest, interest), and what is -er than something is compared."""


def kinds_asked(question: str) -> list[str]:
    """The kinds that the grammar of a question tells, whatever its words are."""
    return [kind for kind, pattern in _ASKED.items() if pattern.search(question)]


def kind_words(task_types: Iterable[str]) -> str:
    """The words of every kind among some task types: `count_instances` is a count."""
    heads = (name.partition("_")[0] for name in task_types)
    kinds = dict.fromkeys(_SAME_KIND.get(head, head) for head in heads)
    return " ".join(KIND_WORDS[kind] for kind in kinds if kind in KIND_WORDS)


def scope_words(scope: Scope) -> str:
    """The words of a scope that a person may search for, or that a question of its kind has."""
    if not (scope.ontology or scope.task_types or scope.tools):
        return ""
    ontology = (scope.ontology,) if scope.ontology else ()
    words = (*ontology, *scope.task_types, *scope.tools, kind_words(scope.task_types))
    return " ".join(word for word in words if word)


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


def node_grams(subtype: str | None, content: str) -> str:
    """The last of `NODE_COLUMNS`."""
    return grams(f"{subtype or ''}\n{content}")


def item_text(item: MemoryItem) -> tuple[str, str]:
    """What is embedded: the words that say what a memory is for, and its content."""
    tags, kinds = " ".join(item.tags), kind_words(item.scope.task_types)
    return f"{item.title} {item.description} {tags} {item.task_query or ''} {kinds}", item.content
