"""Ids as a person types them: whole, or the first characters if those say which one is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.errors import NotFound, StoreCorrupt, ValidationError
from rlm.store.graph import graph_of

if TYPE_CHECKING:
    from rlm.cli.session import Store
    from rlm.store.sqlite.backend import SQLiteMemoryBackend
    from rlm.store.types import MemoryItem

SHORTEST = 4
SHOWN = 8
LISTED = {
    "memory": "`rlm memory list` shows what there is",
    "node": "`rlm graph list` shows what there is",
    "edge": "`rlm graph edges` lists them, `rlm graph show NODE` those of a node",
}


def find_memory(store: Store, text: str) -> MemoryItem:
    """The memory that an id or its beginning names. NotFound for none, ValidationError for several."""
    item = store.get(text)
    if item is None:
        item = store.get(_the_one(_memory_ids(store, text), text, "memory"))
    if item is None:
        raise _unknown(text, "memory")
    return item


def name_memory(store: Store, text: str) -> tuple[str, str]:
    """The id and the title of that memory, for a command that needs no more: it may be one that
    cannot be read."""
    try:
        item = find_memory(store, text)
    except StoreCorrupt:
        return _the_one(_memory_ids(store, text), text, "memory"), "a damaged memory"
    return item.memory_id, item.title


def find_node(store: Store, text: str) -> str:
    """The id of the node that an id or its beginning names."""
    return _graph_id(store, text, "node")


def find_edge(store: Store, text: str) -> str:
    """The id of the hyperedge that an id or its beginning names."""
    return _graph_id(store, text, "edge")


def _graph_id(store: Store, text: str, kind: str) -> str:
    graph = graph_of(store)
    found = graph.match_ids(text, kind, limit=SHOWN + 1) if len(text) >= SHORTEST else []
    return _the_one(found, text, kind)


def _the_one(found: list[str], text: str, kind: str) -> str:
    if not found:
        raise _unknown(text, kind)
    if len(found) > 1 and text not in found:
        more = " …" if len(found) > SHOWN else ""
        raise ValidationError(
            f"{text!r} begins more than one {kind} id: {', '.join(found[:SHOWN])}{more}"
        )
    return text if text in found else found[0]


def _unknown(text: str, kind: str) -> NotFound:
    short = f"; give at least {SHORTEST} characters of the id" if len(text) < SHORTEST else ""
    return NotFound(f"no {kind} {text!r} here{short}: {LISTED[kind]}")


def _memory_ids(store: Store, text: str) -> list[str]:
    if len(text) < SHORTEST:
        return []
    from rlm.store.sqlite.backend import SQLiteMemoryBackend

    if isinstance(store, SQLiteMemoryBackend):
        return _starting(store, "SELECT DISTINCT memory_id FROM memory_items", "memory_id", text)
    everything = [*store.list_items(limit=2**31), *store.list_items(limit=2**31, archived=True)]
    return sorted({item.memory_id for item in everything if item.memory_id.startswith(text)})[
        : SHOWN + 1
    ]


def _starting(store: SQLiteMemoryBackend, select: str, column: str, text: str) -> list[str]:
    """A range of the index rather than LIKE, so that `%` and `_` are plain characters."""
    from rlm.store.sqlite.spaces import in_spaces

    rows = store.db.rows(
        f"{select} WHERE space_id {in_spaces(store.spaces.visible())} AND {column} >= ? AND"
        f" {column} < ? ORDER BY {column} LIMIT ?",
        (text, text + "\U0010ffff", SHOWN + 1),
    )
    return [str(row[0]) for row in rows]
