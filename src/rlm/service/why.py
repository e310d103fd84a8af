"""Why a memory is there and why it was found: its source, its signals, what it replaced.

What a decision supersedes, and the turn in which it was taken, are named in its `provenance`.
Everything here is read through one manager, so it says no more than that may see.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rlm.service.amendment import (
    BECAUSE,
    CHANGES,
    PERHAPS_CHANGED,
    SUPERSEDED_BY,
    changed_by,
    may_supersede,
    read_ids,
)
from rlm.service.memory import Memory
from rlm.store.identity import is_stable_id

if TYPE_CHECKING:
    from rlm.service.manager import MemoryManager
    from rlm.store.types import MemoryItem

MISSES = 3
"""Near misses that are shown beside the hits."""
MOST_LINKS = 50
RECORDED_BY = {
    "mcp": "an agent (memory_record)",
    "cli": "a person (command line)",
    "distiller": "the worker (distilled from a session)",
}
"""By origin; any other is shown as it is."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def is_id(text: str) -> bool:
    """Whether a text has the form of an id of ours: then it is no question."""
    return is_stable_id(text) or bool(_UUID.fullmatch(text))


def explain_query(manager: MemoryManager, query: str, limit: int) -> dict[str, Any]:
    """Each hit with the factors of its score, and those that came after the last one."""
    hits = manager.search(query, limit=limit, explain=True, count_access=False)
    more = manager.search(query, limit=limit + MISSES, explain=True, count_access=False)
    shown = {each.id for each in hits}
    misses = [each for each in more if each.id not in shown]
    return {
        "query": query,
        "hits": [_summary(each) for each in hits],
        "near_misses": [_summary(each) for each in misses],
    }


def _summary(memory: Memory) -> dict[str, Any]:
    names = ("id", "title", "kind", "source_session", "created_at", "score", "why")
    return {name: getattr(memory, name) for name in names}


def explain_memory(manager: MemoryManager, memory_id: str) -> dict[str, Any]:
    """A memory with where it came from, its signals and its chain; a turn with its neighbours."""
    memory = manager.get(memory_id)
    if memory.kind == "turn":
        return {"memory": memory.to_dict()}
    from rlm.service.confidence import ConfidenceEvaluator

    store = manager.store
    item = store.get(memory.id)
    assert item is not None  # the manager has just read it
    return {
        "memory": memory.to_dict(),
        "archived_at": item.archived_at,
        "origin": item.origin,
        "recorded_by": _recorded_by(item.origin or ""),
        "turn": _turn(manager, item),
        "signals": store.signals(memory.id),
        "recomputed_confidence": ConfidenceEvaluator(store).recompute(memory.id),
        "supersedes": _chain(manager, item, "supersedes"),
        "superseded_by": _chain(manager, item, "superseded_by"),
        "changes": _chain(manager, item, CHANGES),
        "changed_by": [{"id": newer, "reason": why} for newer, why in changed_by(item).items()],
        "perhaps_changed_by": [
            {"id": newer.memory_id, "reason": may_supersede(newer).get(item.memory_id)}
            for newer in map(store.get, read_ids(item, PERHAPS_CHANGED))
            if newer is not None
        ],
        "may_supersede": [
            {"id": older, "reason": why} for older, why in may_supersede(item).items()
        ],
        "provenance": dict(item.provenance),
    }


def _chain(manager: MemoryManager, item: MemoryItem, key: str) -> list[dict[str, Any]]:
    """What it replaced, or what replaced it, the nearest first; what is gone is named by its id."""
    found: dict[str, dict[str, Any]] = {}
    waiting = [(each, item) for each in read_ids(item, key)]
    while waiting and len(found) < MOST_LINKS:
        memory_id, nearer = waiting.pop(0)
        if memory_id in found or memory_id == item.memory_id:
            continue
        other = manager.store.get(memory_id)
        found[memory_id] = {"id": memory_id, "title": None if other is None else other.title}
        if other is not None:
            found[memory_id] |= {"created_at": other.created_at, "archived_at": other.archived_at}
            found[memory_id]["reason"] = _reason(key, nearer, other)
            waiting += [(each, other) for each in read_ids(other, key)]
    return list(found.values())


def _reason(key: str, nearer: MemoryItem, other: MemoryItem) -> Any:
    """Why one link of a chain is there; the older of two decisions has it."""
    if key == CHANGES:
        return changed_by(other).get(nearer.memory_id)
    return (nearer if key == SUPERSEDED_BY else other).provenance.get(BECAUSE)


def _recorded_by(origin: str) -> str:
    """Who had it stored; `mcp: NAME` names the token."""
    way, _, token = origin.partition(": ")
    return RECORDED_BY.get(way, origin) + (f", with the token {token}" if token else "")


def _turn(manager: MemoryManager, item: MemoryItem) -> dict[str, Any] | None:
    """The turn of a session in which a decision was taken; what a session taught without one holds
    the commands itself."""
    node_id = item.provenance.get("turn_node")
    if not isinstance(node_id, str):
        number = item.provenance.get("turn")
        known = {"n": number, "session": item.session_id, "content": item.content}
        return known if isinstance(number, int) and item.session_id else None
    turn = manager.store.graph.get_node(node_id)
    return None if turn is None else {"id": turn.id, "content": turn.content, **turn.metadata}
