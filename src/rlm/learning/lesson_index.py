"""Which lessons of a whole store may be one, from the stems of each: made once, then asked often.

Two lessons may be one where they have the same title or the same query. Where they have not, one of
them has every stem of the other's title, as `dedup.is_same_lesson` wants it; so it has the rarest
of those, and enough of all the others. That needs some 400 bytes a lesson, and a look at the few
that share a rare stem instead of a search.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rlm.learning.dedup import SHARED_BESIDE_TITLE, stems_of, title_stems
from rlm.learning.lesson import find_queries, shape_key
from rlm.learning.same_lessons import MOST_CANDIDATES, Rank, rank_of
from rlm.store.backend import MemoryBackend
from rlm.store.identity import normalize
from rlm.store.types import MemoryItem

LOOKED_AT = 5_000
"""So many lessons with one stem are looked at, the best first: what more have tells little."""
Numbers = NDArray[np.int32]


class LessonIndex:
    """The lessons of a store, numbered from the best to the worst once all are added."""

    def __init__(self, store: MemoryBackend, items: Iterable[MemoryItem] = ()) -> None:
        self._store = store
        self._vocabulary: dict[str, int] = {}
        self._rows: list[tuple[Rank, array[int], array[int], list[int]]] = []
        """Rank, stems, stems of the title, hashes of the title and of the queries."""
        for item in items:
            self.add(item)

    def add(self, item: MemoryItem) -> None:
        """Take in a lesson; a decision is none."""
        if item.kind == "decision":
            return
        words = self._vocabulary
        said, titled = (
            array("i", [words.setdefault(stem, len(words)) for stem in stems])
            for stems in (stems_of(item), title_stems(item))
        )
        keys = [normalize(item.title), *(shape_key(q.text) for q in find_queries(item.content))]
        self._rows.append((rank_of(item), said, titled, list(map(hash, keys))))

    def bests(self) -> Sequence[str]:
        """All ids, the best first. Nothing can be added after."""
        rows, self._rows = sorted(self._rows, key=lambda row: row[0], reverse=True), []
        self._ids = [rank[-1] for rank, *_ in rows]
        self._places = {memory_id: place for place, memory_id in enumerate(self._ids)}
        self._same = _groups([keys for *_, keys in rows])
        self._counts = np.array([len(said) for _, said, *_ in rows], np.int32)
        self._starts = np.cumsum(self._counts) - self._counts
        self._stems = np.frombuffer(b"".join(said.tobytes() for _, said, *_ in rows), np.int32)
        self._seen = np.zeros(len(self._vocabulary), bool)
        frequency = np.bincount(self._stems, minlength=len(self._vocabulary)).tolist()
        rarest = [min(titled, key=frequency.__getitem__, default=-1) for *_, titled, _ in rows]
        self._rarest = np.array(rarest, np.int32)
        places = np.arange(len(rows), dtype=np.int32)
        most = len(self._vocabulary)
        self._by_title = _Lists(self._rarest, places, most)
        self._by_stem = _Lists(self._stems, np.repeat(places, self._counts), most)
        return self._ids

    def same_as(self, best: MemoryItem, is_same: Callable[[MemoryItem], bool]) -> list[MemoryItem]:
        """Of those that are worse than the best; of the nearest of them, where there are many."""
        place = self._places[best.memory_id]
        start = self._starts[place]
        own = self._stems[start : start + self._counts[place]]
        near = np.concatenate(
            [*self._by_title.after(own, place), *self._by_stem.after(self._rarest[[place]], place)]
            or [own[:0]]
        )
        near = near[self._shares(own, near) >= SHARED_BESIDE_TITLE]
        same = [np.array(group, np.int32) for group in self._same.get(place, ())]
        same = [group[group > place][:LOOKED_AT] for group in same]
        found = np.unique(np.concatenate([near, *same]))
        if len(found) > MOST_CANDIDATES:
            nearest = np.argsort(-self._shares(own, found), kind="stable")
            found = found[nearest[:MOST_CANDIDATES]]
        items = (self._store.get(self._ids[each]) for each in found.tolist())
        return [item for item in items if item is not None and is_same(item)]

    def _shares(self, own: Numbers, places: Numbers) -> NDArray[np.float64]:
        """Dice of these stems and those of each of these lessons."""
        counts = self._counts[places]
        ends = np.cumsum(counts)
        at = np.repeat(self._starts[places] - ends + counts, counts) + np.arange(counts.sum())
        self._seen[own] = True
        shared = np.concatenate(([0], np.cumsum(self._seen[self._stems[at]])))
        self._seen[own] = False
        dice: NDArray[np.float64] = 2 * (shared[ends] - shared[ends - counts])
        return dice / np.maximum(1, counts + len(own))


def _groups(keys: Sequence[Sequence[int]]) -> dict[int, list[list[int]]]:
    """For each place that shares a key with another: all places with that key."""
    holding: dict[int, list[int]] = {}
    for place, each in enumerate(keys):
        for key in each:
            holding.setdefault(key, []).append(place)
    found: dict[int, list[list[int]]] = {}
    for group in holding.values():
        for place in group if len(group) > 1 else ():
            found.setdefault(place, []).append(group)
    return found


class _Lists:
    """Lists of places in order, each under a number; what has the number -1 is in none."""

    def __init__(self, numbers: Numbers, places: Numbers, most: int) -> None:
        order = np.argsort(numbers, kind="stable")
        self._places = places[order]
        self._ends = np.searchsorted(numbers[order], np.arange(-1, most), "right")

    def after(self, numbers: Numbers, place: int) -> Iterator[Numbers]:
        """Of the list under each of these numbers, the first places that come after one."""
        bounds = zip(self._ends[numbers].tolist(), self._ends[numbers + 1].tolist(), strict=True)
        for first, last in bounds:
            if first < last and self._places[last - 1] > place:
                found = self._places[first:last]
                behind = int(found.searchsorted(place, "right"))
                yield found[behind : behind + LOOKED_AT]
