"""Which lessons of a whole store are one, found in bounded memory.

Each memory is compared with what search finds for it, never with all. Of a store of any size no
more than an id and a rank of each memory is held at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from rlm.learning.dedup import CANDIDATES, find_candidates, is_own, is_same_lesson, quality
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem

PAGE = 500
"""About so many ids are read at a time."""
MOST_CANDIDATES = 1_280
CONSOLIDATED_INTO, PRUNED_BECAUSE = "consolidated_into", "pruned_because"
"""Keys of provenance: the lesson which stands for an archived one, and why a weak one went."""


@dataclass(frozen=True, slots=True)
class SameLessons:
    """One lesson of a store, and the others that say the same."""

    kept: MemoryItem
    others: tuple[MemoryItem, ...]


def find_same(
    store: MemoryBackend,
    on_progress: Callable[[int], None] | None = None,
    keep: Collection[str] = (),
) -> Iterator[SameLessons]:
    """The lessons that a store holds more than once, the best of each first.

    Never among the others: what a person or a pack says or somebody trusts, what somebody brought
    back (`keep`, or by hand), and decisions, of which two in like words may well differ in the one
    that counts. Nothing is written.
    """
    ranks = sorted(_rank(item) for item in all_items(store) if item.kind != "decision")
    gone: set[str] = set()
    for done, (*_, memory_id) in enumerate(reversed(ranks), 1):
        if on_progress is not None:
            on_progress(done)
        best = None if memory_id in gone else store.get(memory_id)
        if best is None or best.archived_at:
            continue
        others = _same_as(store, best, gone)
        others = [other for other in others if other.memory_id not in keep]
        if others:
            gone |= {best.memory_id, *(other.memory_id for other in others)}
            yield SameLessons(best, tuple(others))


def _rank(item: MemoryItem) -> tuple[bool, float, int, bool, str]:
    """Which of two equal lessons stays: a total order, so that a second look finds nothing new."""
    return *quality(item), item.trust == "trusted", item.memory_id


def _same_as(store: MemoryBackend, best: MemoryItem, gone: Collection[str]) -> list[MemoryItem]:
    """The live lessons that say what the best says. Where copies fill what search found, more may
    lie behind them, and more are asked for."""
    count, rank = CANDIDATES, _rank(best)
    while True:
        every = find_candidates(store, best, count)
        found = [item for item in every if item.memory_id not in gone and not item.archived_at]
        same = [
            item
            for item in found
            if item.kind != "decision"
            and not was_brought_back(item)
            and is_own(best, item)
            and _rank(item) < rank
            and is_same_lesson(best, item, store.embedder)
        ]
        others = len(found) - len(same)
        if len(every) < count or others > CANDIDATES // 2 or count >= MOST_CANDIDATES:
            return same
        count *= 2


def was_brought_back(item: MemoryItem) -> bool:
    """Whether a live memory was archived by a consolidation, and somebody restored it."""
    return CONSOLIDATED_INTO in item.provenance or PRUNED_BECAUSE in item.provenance


def all_items(store: MemoryBackend) -> Iterator[MemoryItem]:
    """Every live memory that is not in quarantine, the nearest of equal ones, by id."""
    counts = store.stats()
    digits = len(f"{(counts['memories'] + counts['archived']) // PAGE:x}")
    for number in range(16**digits):
        for memory_id in store.ids_starting("memory", f"{number:0{digits}x}", 2**31):
            item = store.get(memory_id)
            if item is not None and not item.archived_at and item.trust != "quarantined":
                yield item
