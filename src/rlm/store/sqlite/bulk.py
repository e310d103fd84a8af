"""Many memories on their way in, inside one transaction.

A few rows go to the full-text index as usual. Many are made into batches: rows, vectors and postings in one go,
each batch sealed as it is written, so that nothing is read back and nothing enters the full-text index.
`make_batch` touches no database: it can run in another process (see `rlm.packs.mill`).

Embedding on a second thread while SQLite writes was tried and was slower: SQLite lets go of the interpreter's
lock at every row, and has to queue for it again each time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import apsw
import numpy as np

from rlm.retrieval import postings
from rlm.retrieval.codes import sign_codes
from rlm.retrieval.embed import Embedder
from rlm.store.document import item_columns, item_text
from rlm.store.sqlite import items
from rlm.store.sqlite.recall import BULK_DOCUMENTS, SEAL_AT, Recall, Segment
from rlm.store.sqlite.sources import MEMORY
from rlm.store.types import MemoryItem


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


@dataclass(frozen=True, slots=True)
class Batch:
    """Memories of one space, ready to be written and, when they are live, sealed."""

    rows: list[items.Row]
    live: bool
    lengths: bytes
    codes: bytes
    terms: list[tuple[str, bytes]]

    @property
    def ids(self) -> list[str]:
        return [row[1] for row in self.rows]


def make_batch(space: int, admitted: Sequence[MemoryItem], embedder: Embedder | None) -> Batch:
    """Embed and index memories that passed the gate: all live, or all quarantined. At most `BULK_DOCUMENTS`."""
    columns = [item_columns(item) for item in admitted]
    vectors = None if embedder is None else embedder.embed_documents([item_text(item) for item in admitted])
    rows = items.prepare(space, admitted, columns, vectors, embedder.model if embedder else None)
    quarantined = {item.trust == "quarantined" for item in admitted}
    if len(quarantined) > 1:
        raise ValueError("a batch is live or quarantined, not both")
    if True in quarantined:
        return Batch(rows, False, b"", b"", [])
    rounded = np.zeros((len(rows), 0), np.float32) if vectors is None else vectors.astype(np.float16)
    codes = np.ascontiguousarray(sign_codes(rounded.astype(np.float32)).T).tobytes()
    lengths = np.array([sum(map(len, words)) for words in columns], np.int32).tobytes()
    return Batch(rows, True, lengths, codes, list(postings.build(columns, MEMORY.weights)))


class Bulk:
    """A `with` block that takes in memories that passed the gate and that their space lacks.

    All of it belongs to the caller's transaction: when anything raises, the caller rolls back.
    """

    def __init__(self, connection: apsw.Connection, recall: Recall, embedder: Embedder | None) -> None:
        self._connection = connection
        self._recall = recall
        self._embedder = embedder
        self._seen: set[tuple[int, str]] = set()
        self._waiting: dict[tuple[int, bool], list[MemoryItem]] = {}
        self.count = 0

    def add(self, space: int, arriving: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Take in those that did not come before; these."""
        fresh = []
        for item in arriving:
            key = (space, item.memory_id)
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(item)
        for item in fresh:
            group = (space, item.trust == "quarantined")
            self._waiting.setdefault(group, []).append(item)
            if len(self._waiting[group]) == BULK_DOCUMENTS:
                self.add_batch(make_batch(space, self._waiting.pop(group), self._embedder))
        self.count += len(fresh)
        return fresh

    def has(self, space: int, memory_id: str) -> bool:
        """Whether this load has taken in that memory."""
        return (space, memory_id) in self._seen

    def add_batch(self, batch: Batch) -> None:
        """Write a batch and seal it. `count` and `has` know of it only through `add` or `note`."""
        if not batch.live:
            items.insert(self._connection, batch.rows)
            return
        self._recall.seal_all()
        first = items.insert(self._connection, batch.rows)
        spaces = np.array([row[0] for row in batch.rows], np.int32)
        numbers = np.arange(first, first + len(batch.rows), dtype=np.int64)
        made = Segment(numbers, spaces, batch.lengths, batch.codes, batch.terms)
        self._recall.append(self._connection, made)

    def note(self, space: int, ids: Sequence[str]) -> None:
        """Remember what a batch of another maker brought."""
        self._seen.update((space, memory_id) for memory_id in ids)
        self.count += len(ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._finish()

    def _finish(self) -> None:
        """Write what still waits: a few rows to the full-text index, many as one more batch."""
        for (space, _), waiting in self._waiting.items():
            batch = make_batch(space, waiting, self._embedder)
            if self.count >= SEAL_AT or not batch.live:
                self.add_batch(batch)
            else:
                first = items.insert(self._connection, batch.rows)
                MEMORY.index(self._connection, first, first + len(batch.rows) - 1)
        self._waiting.clear()
