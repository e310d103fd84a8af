"""Which lessons of a store are one, without comparing each with each.

Where few are new, each of them is compared with what search finds for it (`BySearch`), some 15 ms
for one. Where many are, all of the store are read once into a `LessonIndex`, and one takes less
than a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from rlm.learning.dedup import CANDIDATES, find_candidates, is_own, is_same_lesson, quality
from rlm.retrieval.embed import Embedder
from rlm.store.backend import MemoryBackend
from rlm.store.types import MemoryItem

MOST_CANDIDATES = 1_280
CONSOLIDATED_INTO, PRUNED_BECAUSE = "consolidated_into", "pruned_because"
"""Keys of provenance: the lesson which stands for an archived one, and why a weak one went."""
Rank = tuple[bool, float, int, bool, str]


@dataclass(frozen=True, slots=True)
class SameLessons:
    """One lesson of a store, and the others that say the same."""

    kept: MemoryItem
    others: tuple[MemoryItem, ...]


class Neighbours(Protocol):
    """Where lessons that may be one with another are looked up."""

    def bests(self) -> Sequence[str]:
        """The lessons that are to be compared, the best first."""

    def same_as(self, best: MemoryItem, is_same: Callable[[MemoryItem], bool]) -> list[MemoryItem]:
        """The lessons of which that holds, among those that may be one with the best."""


def find_same(
    store: MemoryBackend,
    neighbours: Neighbours,
    on_progress: Callable[[float], None] | None = None,
    keep: Collection[str] = (),
) -> Iterator[SameLessons]:
    """The lessons that a store holds more than once, the best of each first.

    Never among the others: what a person or a pack says or somebody trusts, what somebody brought
    back (`keep`, or by hand), and decisions, of which two in like words may well differ in the one
    that counts. Nothing is written. `on_progress` gets the share that is done.
    """
    bests = neighbours.bests()
    gone = set[str]()
    for done, memory_id in enumerate(bests, 1):
        if on_progress is not None:
            on_progress(done / len(bests))
        best = None if memory_id in gone else store.get(memory_id)
        if best is None or best.archived_at:
            continue
        is_same = partial(_says_same, best, rank_of(best), store.embedder)
        others = [
            item
            for item in neighbours.same_as(best, is_same)
            if item.memory_id not in gone and item.memory_id not in keep
        ]
        if others:
            gone |= {best.memory_id, *(other.memory_id for other in others)}
            yield SameLessons(best, tuple(others))


def _says_same(best: MemoryItem, rank: Rank, embedder: Embedder | None, item: MemoryItem) -> bool:
    """Whether a lesson says what the best says, and may go to the archive for it."""
    return (
        not item.archived_at
        and item.kind != "decision"
        and not was_brought_back(item)
        and is_own(best, item)
        and rank_of(item) < rank
        and is_same_lesson(best, item, embedder)
    )


def rank_of(item: MemoryItem) -> Rank:
    """Which of two equal lessons stays: a total order, so that a second look finds nothing new."""
    return *quality(item), item.trust == "trusted", item.memory_id


def was_brought_back(item: MemoryItem) -> bool:
    """Whether a live memory was archived by a consolidation, and somebody restored it."""
    return CONSOLIDATED_INTO in item.provenance or PRUNED_BECAUSE in item.provenance


class BySearch:
    """What search finds for the lessons of these ids, and for those that say the same."""

    def __init__(self, store: MemoryBackend, memory_ids: Iterable[str]) -> None:
        self._store, self._ids = store, memory_ids

    def bests(self) -> Sequence[str]:
        ranks: dict[str, Rank] = {}
        for memory_id in self._ids:
            item = self._store.get(memory_id)
            if item is None or item.kind == "decision":
                continue
            ranks[memory_id] = rank_of(item)
            for other in find_candidates(self._store, item):
                if rank_of(other) > ranks[memory_id] and is_same_lesson(
                    other, item, self._store.embedder
                ):
                    ranks[other.memory_id] = rank_of(other)
        return sorted(ranks, key=lambda each: ranks[each], reverse=True)

    def same_as(self, best: MemoryItem, is_same: Callable[[MemoryItem], bool]) -> list[MemoryItem]:
        """Where copies fill what search found, more may lie behind them, and more are asked for."""
        count = CANDIDATES
        while True:
            found = find_candidates(self._store, best, count)
            same = list(filter(is_same, found))
            others = len(found) - len(same)
            if len(found) < count or others > CANDIDATES // 2 or count >= MOST_CANDIDATES:
                return same
            count *= 2
