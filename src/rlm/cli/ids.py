"""Ids as a person types them: whole, or the first characters if those are unique."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.errors import NotFound, StoreCorrupt, ValidationError

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import MemoryItem

SHORTEST = 4
SHOWN = 8
LISTED = {
    "memory": "`rlm memory list` shows what there is",
    "node": "`rlm graph list` shows what there is",
    "edge": "`rlm graph show NODE` shows those of a node",
}


def find_memory(store: MemoryBackend, text: str) -> MemoryItem:
    """The memory that an id or its beginning names. Raises NotFound or ValidationError."""
    item = store.get(text)
    if item is None:
        item = store.get(_the_one(_ids(store, text, "memory"), text, "memory"))
    if item is None:
        raise _unknown(text, "memory")
    return item


def name_memory(store: MemoryBackend, text: str) -> tuple[str, str]:
    """The id and the title of that memory, also of one that cannot be read."""
    try:
        item = find_memory(store, text)
    except StoreCorrupt:
        return _the_one(_ids(store, text, "memory"), text, "memory"), "a damaged memory"
    return item.memory_id, item.title


def find_node(store: MemoryBackend, text: str) -> str:
    """The id of the node that an id or its beginning names."""
    return _the_one(_ids(store, text, "node"), text, "node")


def find_edge(store: MemoryBackend, text: str) -> str:
    """The id of the hyperedge that an id or its beginning names."""
    return _the_one(_ids(store, text, "edge"), text, "edge")


def _the_one(found: list[str], text: str, kind: str) -> str:
    if not found:
        raise _unknown(text, kind)
    if len(found) > 1 and text not in found:
        more = " …" if len(found) > SHOWN else ""
        why = f"{text!r} begins more than one {kind} id: {', '.join(found[:SHOWN])}{more}"
        raise ValidationError(why)
    return text if text in found else found[0]


def _unknown(text: str, kind: str) -> NotFound:
    short = f"; give at least {SHORTEST} characters of the id" if len(text) < SHORTEST else ""
    return NotFound(f"no {kind} {text!r} here{short}: {LISTED[kind]}")


def _ids(store: MemoryBackend, text: str, kind: str) -> list[str]:
    return store.ids_starting(kind, text, SHOWN + 1) if len(text) >= SHORTEST else []
