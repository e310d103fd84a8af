"""Many memories on their way in, inside one transaction.

A few rows go to the full-text index as usual. Many are made into batches: rows, vectors and
postings in one go, each batch sealed as it is written, so that nothing is read back and nothing
enters the full-text index. `BatchMaker` touches no database: it can run in another process (see
`rlm.packs.mill`).

Embedding on a second thread while SQLite writes was tried and was slower: SQLite lets go of the
interpreter's lock at every row, and has to queue for it again each time.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from unicodedata import is_normalized

import apsw
import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.codes import sign_codes
from rlm.retrieval.embed import Embedder, ReadingEmbedder
from rlm.retrieval.lexicon import CACHED_CHUNKS, Lexicon, Numbers, Ragged, Reading, joined
from rlm.retrieval.postings import Indexer
from rlm.retrieval.tokens import GRAMS_CHARS, grams
from rlm.store.document import (
    GRAMS_WEIGHT,
    TEXT_PARTS,
    TEXT_WEIGHTS,
    item_columns,
    item_text,
    item_texts,
)
from rlm.store.sqlite import items
from rlm.store.sqlite.recall import BULK_DOCUMENTS, SEAL_AT, Recall, Segment
from rlm.store.sqlite.reembed import note_model
from rlm.store.sqlite.sources import MEMORY
from rlm.store.types import MemoryItem


@contextmanager
def paused_collector() -> Iterator[None]:
    """No garbage collection inside: a load makes no cycles, and looking for them costs a fifth of
    its time."""
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
    vectors: bytes
    model: str | None
    lengths: bytes
    codes: bytes
    terms: list[tuple[str, bytes]]

    @property
    def ids(self) -> list[str]:
        return [row[1] for row in self.rows]

    def parts(self) -> tuple[Any, ...]:
        """Every field in order, as plain data that another process can send."""
        return (
            self.rows,
            self.live,
            self.vectors,
            self.model,
            self.lengths,
            self.codes,
            self.terms,
        )


FEW = 64
"""Fewer memories are embedded one by one: a single write must not wait for a table of all vectors.
"""
_UNSURE = -1
_MAY_HAVE_GRAMS = re.compile(r"[a-z][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z][0-9]|[^\x00-\x7f]").search
"""Of plain ASCII, only names in which case changes, or a digit follows a letter, have grams."""
_LONG_CHARS = 50_000
"""Of a longer content, grams come from the beginning only: the whole text has to be looked at."""
GROUP = 1_024
"""So many memories at a time go through every step: few enough to stay near the processor, enough
for numpy."""


class BatchMaker:
    """Embeds and indexes memories that passed the gate; remembers words from batch to batch."""

    def __init__(self, embedder: Embedder | None) -> None:
        self._embedder = embedder
        self._lexicon = Lexicon()
        self._indexer = Indexer()
        self._grams, self._gram_numbers = Ragged(self._grams_of), Numbers()
        self.start()

    def start(self) -> None:
        """Begin a batch; what was added to one that was never finished is dropped."""
        self._lexicon.trim()
        if len(self._gram_numbers) > CACHED_CHUNKS:
            self._grams, self._gram_numbers = Ragged(self._grams_of), Numbers()
        self._rows: list[items.Row] = []
        self._vectors: list[NDArray[np.float16]] = []
        self._lengths: list[int] = []
        self._readings: list[Reading] = []
        self._extras: list[Reading] = []
        self._extra_places: list[int] = []
        self._quarantined: set[bool] = set()

    @property
    def model(self) -> str | None:
        return self._embedder.model if self._embedder else None

    def prepare(self) -> None:
        """Load what every batch needs, before a fork."""
        if isinstance(self._embedder, ReadingEmbedder):
            self._embedder.prepare()

    def make(self, space: int, admitted: Sequence[MemoryItem], *, sealed: bool = True) -> Batch:
        """All live, or all quarantined; at most `BULK_DOCUMENTS`. Not `sealed`: rows and vectors
        only."""
        for start in range(0, len(admitted), GROUP):
            self.add(space, admitted[start : start + GROUP])
        return self.finish(sealed=sealed)

    def add(self, space: int, group: Sequence[MemoryItem]) -> None:
        """Take in some memories of the batch that `finish` will give."""
        texts, apart = zip(*map(item_texts, group), strict=True)
        reading = self._lexicon.read(texts)
        if self._embedder is not None:
            alone = [place for place, cut in enumerate(apart) if cut]
            self._vectors.append(
                self._embed(self._embedder, group, reading, alone).astype(np.float16)
            )
        known = self._known_grams(reading)
        known |= {
            place: None for place, item in enumerate(group) if len(item.content) > _LONG_CHARS
        }
        columns = [item_columns(item, known.get(place, "")) for place, item in enumerate(group)]
        if known:
            self._extra_places += [len(self._rows) + place for place in known]
            self._extras.append(self._lexicon.read([columns[place][-1:] for place in known]))
        self._readings.append(reading)
        self._rows += items.prepare(space, group, columns)
        self._lengths += [sum(map(len, words)) for words in columns]
        self._quarantined.update([item.trust == "quarantined" for item in group])

    def _grams_of(self, chunk: str) -> list[int]:
        """The numbers of a chunk's grams; `_UNSURE` where only the whole text can tell."""
        if not _MAY_HAVE_GRAMS(chunk):  # most chunks: one plain word, or a number
            return []
        if not is_normalized("NFC", chunk):  # never after the gate
            return [_UNSURE]
        return [self._gram_numbers[gram] for gram in grams(chunk).split()]

    def _known_grams(self, reading: Reading) -> dict[int, str | None]:
        """The grams of those documents that have some; None where the whole text has to be looked
        at."""
        numbers, position = self._grams.spread(self._lexicon, reading.chunks)
        if not len(numbers):
            return {}
        owners = reading.texts[position] // reading.width
        found: dict[int, dict[int, None]] = {}
        for owner, number in zip(owners.tolist(), numbers.tolist(), strict=True):
            found.setdefault(owner, {})[number] = None
        return {owner: self._spelled(list(grams_)) for owner, grams_ in found.items()}

    def _spelled(self, numbers: list[int]) -> str | None:
        if _UNSURE in numbers:
            return None
        text = " ".join([self._gram_numbers.names[number] for number in numbers])
        return text if len(text) <= GRAMS_CHARS else None

    def finish(self, *, sealed: bool = True) -> Batch:
        """What was added, as one batch; the next begins."""
        try:
            return self._finished(sealed)
        finally:
            self.start()

    def _finished(self, sealed: bool) -> Batch:
        if len(self._quarantined) > 1:
            raise ValueError("a batch is live or quarantined, not both")
        model = self.model
        halves = (
            np.concatenate(self._vectors)
            if self._vectors
            else np.zeros((len(self._rows), 0), np.float16)
        )
        vectors = halves.tobytes()
        if True in self._quarantined or not sealed:
            return Batch(self._rows, True not in self._quarantined, vectors, model, b"", b"", [])
        codes = np.ascontiguousarray(
            sign_codes(halves.view(np.int16)).T
        ).tobytes()  # the sign is the same
        lengths = np.array(self._lengths, np.int32)
        extra = None
        if self._extras:
            extra = (joined(self._extras), np.array(self._extra_places, np.int64), GRAMS_WEIGHT)
        terms = self._indexer.build(
            self._lexicon, joined(self._readings), TEXT_WEIGHTS, lengths, extra
        )
        return Batch(self._rows, True, vectors, model, lengths.tobytes(), codes, terms)

    def _embed(
        self, embedder: Embedder, group: Sequence[MemoryItem], reading: Reading, apart: list[int]
    ) -> NDArray[np.float32]:
        """`apart` are those whose embedded text is not what was read."""
        if len(group) < FEW or not isinstance(embedder, ReadingEmbedder):
            return embedder.embed_documents([item_text(item) for item in group])
        vectors = embedder.embed_reading(self._lexicon, reading, TEXT_PARTS)
        if apart:
            vectors[apart] = embedder.embed_documents([item_text(group[place]) for place in apart])
        return vectors


class Bulk:
    """A `with` block that takes in memories that passed the gate and that their space lacks.

    All of it belongs to the caller's transaction: when anything raises, the caller rolls back.
    """

    def __init__(
        self, connection: apsw.Connection, recall: Recall, embedder: Embedder | None
    ) -> None:
        self._connection = connection
        self._recall = recall
        self._maker = BatchMaker(embedder)
        self._seen: dict[int, set[str]] = {}
        self._waiting: dict[tuple[int, bool], list[MemoryItem]] = {}
        self.count = 0

    def add(self, space: int, arriving: Sequence[MemoryItem]) -> list[MemoryItem]:
        """Take in those that did not come before; these."""
        fresh = []
        seen = self._seen.setdefault(space, set())
        for item in arriving:
            if item.memory_id not in seen:
                seen.add(item.memory_id)
                fresh.append(item)
        for item in fresh:
            group = (space, item.trust == "quarantined")
            self._waiting.setdefault(group, []).append(item)
            if len(self._waiting[group]) == BULK_DOCUMENTS:
                self.add_batch(self._maker.make(space, self._waiting.pop(group)))
        self.count += len(fresh)
        return fresh

    def lacks(self, space: int, ids: Sequence[str]) -> bool:
        """Whether these memories are all different and this load has taken in none of them."""
        seen = self._seen.get(space, set())
        return len(set(ids)) == len(ids) and seen.isdisjoint(ids)

    def add_batch(self, batch: Batch) -> None:
        """Write a batch and seal it. `count` and `lacks` know of it only through `add` or `note`."""
        if not batch.live:
            items.insert(self._connection, batch.rows, batch.vectors, batch.model)
            return
        self._recall.seal_all()
        first = items.insert(self._connection, batch.rows, batch.vectors, batch.model)
        spaces = np.full(len(batch.rows), batch.rows[0][0], np.int32)
        numbers = np.arange(first, first + len(batch.rows), dtype=np.int64)
        made = Segment(numbers, spaces, batch.lengths, batch.codes, batch.terms)
        self._recall.append(self._connection, made)

    def note(self, space: int, ids: Sequence[str]) -> None:
        """Remember what a batch of another maker brought."""
        self._seen.setdefault(space, set()).update(ids)
        self.count += len(ids)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._finish()
            if self.count:
                note_model(self._connection, self._maker.model)

    def _finish(self) -> None:
        """Write what still waits: a few rows to the full-text index, many as one more batch."""
        for (space, _), waiting in self._waiting.items():
            batch = self._maker.make(space, waiting, sealed=self.count >= SEAL_AT)
            if self.count >= SEAL_AT or not batch.live:
                self.add_batch(batch)
            else:
                first = items.insert(self._connection, batch.rows, batch.vectors, batch.model)
                MEMORY.index(self._connection, first, first + len(batch.rows) - 1)
        self._waiting.clear()
