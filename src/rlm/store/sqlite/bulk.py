"""Many memories on their way in, inside one transaction.

While SQLite writes one batch, which it does without the interpreter's lock, the next is embedded on a second
thread. A few rows go to the full-text index as usual; many are sealed at once and never enter it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import apsw

from rlm.store.sqlite import items
from rlm.store.sqlite.recall import SEAL_AT, Recall
from rlm.store.sqlite.sources import MEMORY
from rlm.store.sqlite.spaces import take_numbers
from rlm.store.types import MemoryItem

CHUNK = 1_000
"""So many memories are embedded, and then written, at a time."""

Prepare = Callable[[int, Sequence[MemoryItem]], list[items.Row]]


class Bulk:
    """Give it memories that passed the gate and that their space lacks; `finish` when all are in.

    All of it belongs to the caller's transaction: when anything raises, the caller rolls back.
    """

    def __init__(self, connection: apsw.Connection, recall: Recall, prepare: Prepare) -> None:
        self._connection = connection
        self._recall = recall
        self._prepare = prepare
        self._ahead: _Step | None = None
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
            step = _Step(self._prepare, space, fresh[start : start + CHUNK])
            self._write()
            self._ahead = step
        self.count += len(fresh)
        return fresh

    def _write(self) -> None:
        if self._ahead is not None:
            rows = self._ahead.result()
            self._ahead = None
            items.insert(self._connection, rows)

    def finish(self) -> None:
        """Write what is left and make all of it searchable."""
        self._write()
        if self.count >= SEAL_AT:
            self._recall.seal_all(indexed_to=self._first - 1)
        elif self.count:
            MEMORY.index(self._connection, self._first, self._first + self.count - 1)

    def abandon(self) -> None:
        """Wait for the second thread; nothing more is written."""
        if self._ahead is not None:
            self._ahead.wait()
            self._ahead = None


class _Step:
    """One batch in the making on a thread of its own."""

    def __init__(self, prepare: Prepare, space: int, batch: Sequence[MemoryItem]) -> None:
        self._rows: list[items.Row] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(prepare, space, batch), daemon=True)
        self._thread.start()

    def _run(self, prepare: Prepare, space: int, batch: Sequence[MemoryItem]) -> None:
        try:
            self._rows = prepare(space, batch)
        except BaseException as exc:  # raised in the caller's thread instead
            self._error = exc

    def wait(self) -> None:
        self._thread.join()

    def result(self) -> list[items.Row]:
        self.wait()
        if self._error is not None:
            raise self._error
        return self._rows
