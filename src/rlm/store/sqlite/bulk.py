"""Many memories on their way in, inside one transaction.

A few rows go to the full-text index as usual; many are sealed at once and never enter it. Embedding on a second
thread while SQLite writes was tried and was slower: SQLite lets go of the interpreter's lock at every row, and
has to queue for it again each time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import apsw

from rlm.store.sqlite import items
from rlm.store.sqlite.recall import SEAL_AT, Recall
from rlm.store.sqlite.sources import MEMORY
from rlm.store.sqlite.spaces import take_numbers
from rlm.store.types import MemoryItem

CHUNK = 1_000
"""So many memories are embedded, and then written, at a time."""

Prepare = Callable[[int, Sequence[MemoryItem]], list[items.Row]]


@contextmanager
def paused_collector() -> Iterator[None]:
    """No garbage collection inside: a load makes no cycles, and looking for them costs a fifth of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Bulk:
    """A `with` block that takes in memories that passed the gate and that their space lacks.

    All of it belongs to the caller's transaction: when anything raises, the caller rolls back.
    """

    def __init__(self, connection: apsw.Connection, recall: Recall, prepare: Prepare) -> None:
        self._connection = connection
        self._recall = recall
        self._prepare = prepare
        self._seen: set[tuple[int, str]] = set()
        self._first = take_numbers(connection, "item", 0)
        self.count = 0

    def add(self, space: int, batch: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Take in those that did not come before; these."""
        fresh = []
        for item in batch:
            key = (space, item.memory_id)
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(item)
        for start in range(0, len(fresh), CHUNK):
            items.insert(self._connection, self._prepare(space, fresh[start : start + CHUNK]))
        self.count += len(fresh)
        return fresh

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish()

    def _finish(self) -> None:
        """Make all of it searchable."""
        if self.count >= SEAL_AT:
            self._recall.seal_all(indexed_to=self._first - 1)
        elif self.count:
            MEMORY.index(self._connection, self._first, self._first + self.count - 1)
