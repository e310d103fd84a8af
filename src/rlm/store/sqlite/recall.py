"""The derived index: sealed segments in SQLite, a live tail beside them.

Rows are numbered as a log is: a new row, or one whose words changed, gets the next number. So the
rows up to some number can be sealed into a segment, for good: their postings
(`retrieval.postings`), their vector codes, their spaces. Rows after the last sealed number are the
tail, found through FTS5, which they leave when they are sealed; a bulk load is sealed at once and
never enters it. A row that is edited, archived or quarantined leaves a line in `recall_dead`.

Segments are rows of the same file, so they are transactional, travel with a backup, and any number
of processes can read and seal. Everything here can be dropped and built again from the rows:
SQLite's tables stay the truth. Sealing reads rows without the lock, since numbered words never
change, and takes it only to put the segment in.

This module finds and counts; it does not score, rank or know what a memory is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import postings
from rlm.retrieval.codes import sign_codes
from rlm.retrieval.embed import Embedder
from rlm.store.sqlite.connection import Database, fetch
from rlm.store.sqlite.sources import Source

SEAL_AT = 1_024
"""The tail is sealed when it is this long: a search reads the tail's words anew."""
MERGE_AT = 8
"""So many small segments in a row become one."""
BULK_DOCUMENTS = 16_384
"""The largest segment. A bulk load makes these at once."""

Numbers = NDArray[np.int64]


@dataclass(slots=True)
class Tail:
    """The unsealed rows that this tenant may see."""

    numbers: Numbers
    vectors: NDArray[np.float32]
    embedded: NDArray[np.bool_]
    chars: int
    """Their length in characters, in all."""
    foreign: bool
    """Whether the tail also holds rows that this tenant may not see."""


@dataclass(slots=True)
class Sealed:
    """All segments, laid end to end: position i of every array is one document."""

    segments: tuple[int, ...]
    bases: tuple[int, ...]
    numbers: Numbers
    codes: list[NDArray[np.uint64]]
    visible: NDArray[np.bool_] | None
    """Which positions this tenant may see and still live; None when all."""
    visible_count: int
    visible_chars: int
    watermark: int


@dataclass(frozen=True, slots=True)
class Segment:
    """What a segment holds, before it is put in. `numbers` ascend."""

    numbers: Numbers
    spaces: NDArray[np.int32]
    lengths: bytes
    codes: bytes
    terms: Sequence[tuple[str, bytes]]


class Recall:
    """What one process knows of the index of one kind, for one tenant; brought up to date before
    each use."""

    def __init__(self, database: Database, source: Source, embedder: Embedder | None) -> None:
        self._db = database
        self.source = source
        self._embedder = embedder
        self._seen: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._sealed: Sealed | None = None
        self._spaces: NDArray[np.int32] = np.empty(0, np.int32)
        self._lengths: NDArray[np.int32] = np.empty(0, np.int32)
        self._dead: set[int] = set()
        self._dead_seen = 0
        self._tail: Tail | None = None

    @property
    def model(self) -> str | None:
        """The model whose vectors count."""
        return self._embedder.model if self._embedder else None

    @property
    def dim(self) -> int:
        """How long they are; an endpoint tells when it first answers."""
        return self._embedder.dim if self._embedder else 0

    # -- reading ---------------------------------------------------------------------------------

    def sync(self, connection: apsw.Connection, spaces: tuple[int, ...]) -> tuple[Sealed, Tail]:
        """What is sealed and what is not, as this transaction sees it. Cheap when nothing was
        written."""
        state = (self._db.data_version(), spaces)
        if self._seen == state and self._sealed is not None and self._tail is not None:
            return self._sealed, self._tail
        changed = self._read_dead(connection)
        current = tuple(
            row[0]
            for row in connection.execute(
                "SELECT segment FROM recall_segments WHERE kind = ? ORDER BY first_no",
                (self.source.kind,),
            )
        )
        old = self._sealed
        if (
            old is None
            or old.segments != current
            or changed
            or self._seen is None
            or self._seen[1] != spaces
        ):
            self._sealed = self._load(connection, current, spaces)
        assert self._sealed is not None
        self._sealed.watermark = self._sealed_to()
        self._tail = self._read_tail(connection, self._sealed.watermark, spaces)
        self._seen = state
        found = self._sealed, self._tail
        if self._db.in_write:
            self.forget()
        return found

    def _read_dead(self, connection: apsw.Connection) -> bool:
        rows: list[tuple[int, int]] = fetch(
            connection,
            "SELECT dead_no, number FROM recall_dead WHERE kind = ? AND dead_no > ?",
            (self.source.kind, self._dead_seen),
        )
        self._dead.update(number for _, number in rows)
        self._dead_seen = max((no for no, _ in rows), default=self._dead_seen)
        return bool(rows)

    def _load(
        self, connection: apsw.Connection, segments: tuple[int, ...], spaces: tuple[int, ...]
    ) -> Sealed:
        old = self._sealed
        if old is None or old.segments != segments:
            words = max(1, -(-self.dim // 64))
            numbers, kinds, lengths, bases, codes = [], [], [], [], []
            base = 0
            for segment in segments:
                found = next(
                    iter(
                        connection.execute(
                            "SELECT doc_count, model, numbers, spaces, lengths, codes FROM"
                            " recall_segments WHERE segment = ?",
                            (segment,),
                        )
                    )
                )
                count, model, number_bytes, space_bytes, length_bytes, code_bytes = found
                bases.append(base)
                base += count
                numbers.append(np.frombuffer(number_bytes, np.int64))
                kinds.append(np.frombuffer(space_bytes, np.int32))
                lengths.append(np.frombuffer(length_bytes, np.int32))
                usable = model == self.model and len(code_bytes) == count * words * 8
                codes.append(
                    np.frombuffer(code_bytes, np.uint64).reshape(words, count)
                    if usable
                    else np.zeros((words, count), np.uint64)
                )
            joined = np.concatenate(codes, axis=1) if codes else np.empty((words, 0), np.uint64)
            self._spaces = np.concatenate(kinds) if kinds else np.empty(0, np.int32)
            self._lengths = np.concatenate(lengths) if lengths else np.empty(0, np.int32)
            all_numbers = np.concatenate(numbers) if numbers else np.empty(0, np.int64)
            columns = [np.ascontiguousarray(row) for row in joined]
            old = Sealed(segments, tuple(bases), all_numbers, columns, None, base, 0, 0)
        visible = np.zeros(len(self._spaces), np.bool_)
        for space in spaces:
            visible |= self._spaces == space
        if self._dead and len(visible):
            gone = np.fromiter(self._dead, np.int64, len(self._dead))
            place = np.minimum(
                np.searchsorted(old.numbers, gone), len(visible) - 1
            )  # numbers ascend
            visible[place[old.numbers[place] == gone]] = False
        count = int(np.count_nonzero(visible))
        old.visible = None if count == len(visible) else visible
        old.visible_count = count
        old.visible_chars = int(self._lengths[visible].sum(dtype=np.int64))
        return old

    def _read_tail(
        self, connection: apsw.Connection, watermark: int, spaces: tuple[int, ...]
    ) -> Tail:
        rows = fetch(
            connection,
            f"SELECT {self.source.key}, space_id, embedding, embedding_model, {self.source.length} "
            f"FROM {self.source.view} WHERE {self.source.key} > ? ORDER BY {self.source.key}",
            (watermark,),
        )
        mine = [row for row in rows if row[1] in spaces]
        numbers = np.array([row[0] for row in mine], np.int64)
        size = self.dim * 2
        good = [row[3] == self.model and row[2] is not None and len(row[2]) == size for row in mine]
        blank = bytes(size)
        data = b"".join(row[2] if ok else blank for row, ok in zip(mine, good, strict=True))
        vectors = np.frombuffer(data, np.float16).reshape(len(mine), self.dim).astype(np.float32)
        chars = sum(row[4] for row in mine)
        return Tail(numbers, vectors, np.array(good, np.bool_), chars, len(mine) != len(rows))

    def postings(
        self, connection: apsw.Connection, sealed: Sealed, terms: Sequence[str]
    ) -> dict[str, list[tuple[int, NDArray[np.uint16], NDArray[np.uint16]]]]:
        """For each term the (base, documents, impacts) of every segment that holds it."""
        if not sealed.segments:
            return {}
        base_of = dict(zip(sealed.segments, sealed.bases, strict=True))
        listed = ",".join(map(str, sealed.segments))  # integers of our own, never text from outside
        sql = f"SELECT segment, data FROM recall_postings WHERE segment IN ({listed}) AND term = ?"
        found = {}
        for term in terms:
            parts = [
                (base_of[segment], *postings.decode(data))
                for segment, data in connection.execute(sql, (term,))
            ]
            if parts:
                found[term] = parts
        return found

    def holding(
        self, connection: apsw.Connection, sealed: Sealed, terms: Sequence[str]
    ) -> dict[str, int]:
        """In how many visible documents each term is, without reading the postings where that can
        be helped."""
        if not sealed.segments or not terms:
            return {}
        if sealed.visible is not None:
            return {
                term: sum(
                    int(np.count_nonzero(sealed.visible[base + docs.astype(np.intp)]))
                    for base, docs, _ in parts
                )
                for term, parts in self.postings(connection, sealed, terms).items()
            }
        listed = ",".join(map(str, sealed.segments))
        sql = (
            "SELECT coalesce(sum(length(data)), 0) FROM recall_postings WHERE segment IN"
            f" ({listed}) AND term = ?"
        )
        return {term: next(iter(connection.execute(sql, (term,))))[0] // 4 for term in terms}

    # -- sealing ---------------------------------------------------------------------------------

    def tail_bound(self) -> int:
        """How many rows the tail can hold at most; one look-up."""
        sql = "SELECT value - last_no FROM counters, recall_sealed WHERE name = ? AND kind = ?"
        return int(self._db.value(sql, (self.source.counter, self.source.kind)))

    def seal_if_due(self) -> int:
        """Seal a long tail and merge small segments; how many segments were made.

        What others add meanwhile stays for the next: whoever sealed until nothing was left would
        chase them.
        """
        made = 0
        while self.tail_bound() >= SEAL_AT and self.seal():
            made += 1
        if made:
            self.merge()
        return made

    def seal_all(self, *, indexed_to: int | None = None) -> int:
        """Seal the whole tail; how many segments were made. Inside `write()` it is part of that
        transaction.

        `indexed_to` is the last number that the full-text index holds: all, except in the midst of
        a bulk load.
        """
        made = 0
        while self.tail_bound() > 0 and self.seal(indexed_to=indexed_to):
            made += 1
        return made

    def seal(self, *, indexed_to: int | None = None) -> bool:
        """Seal the next rows of the tail into one segment. False when another process did it first."""
        return self._seal_range(self._sealed_to(), None, BULK_DOCUMENTS, indexed_to=indexed_to)

    def merge(self) -> bool:
        """Make one segment of the newest small ones when there are enough of them."""
        rows = self._db.rows(
            "SELECT segment, first_no, last_no, doc_count FROM recall_segments WHERE kind = ? "
            "ORDER BY first_no DESC LIMIT ?",
            (self.source.kind, MERGE_AT),
        )
        if len(rows) < MERGE_AT or any(row[3] > 2 * SEAL_AT for row in rows):
            return False
        low, high = rows[-1][1] - 1, rows[0][2]
        return self._seal_range(
            low, high, postings.MAX_DOCUMENTS, replaces=tuple(row[0] for row in rows)
        )

    def rebuild(self) -> int:
        """Drop both indexes of this kind and make them anew from the rows; the number of segments
        made."""
        with self._db.write() as connection:
            found = connection.execute(
                "SELECT segment FROM recall_segments WHERE kind = ?", (self.source.kind,)
            )
            self._drop(connection, tuple(row[0] for row in found))
            connection.execute("DELETE FROM recall_dead WHERE kind = ?", (self.source.kind,))
            connection.execute(
                "UPDATE recall_sealed SET last_no = 0 WHERE kind = ?", (self.source.kind,)
            )
            self.source.unindex(connection, 0, 0, all_of_it=True)
            self.forget()
            made = self.seal_all(indexed_to=0) if self.tail_bound() >= SEAL_AT else 0
            self.source.reindex(connection)
        return made

    def forget(self) -> None:
        """Remember nothing: what was read inside a write may be rolled back, and its numbers given
        again."""
        self._seen = self._sealed = self._tail = None
        self._dead, self._dead_seen = set(), 0

    def _numbered_to(self) -> int:
        return int(
            self._db.value("SELECT value FROM counters WHERE name = ?", (self.source.counter,))
        )

    def _sealed_to(self) -> int:
        return int(
            self._db.value("SELECT last_no FROM recall_sealed WHERE kind = ?", (self.source.kind,))
        )

    def _seal_range(
        self,
        low: int,
        high: int | None,
        limit: int,
        *,
        replaces: tuple[int, ...] = (),
        indexed_to: int | None = None,
    ) -> bool:
        rows, last = self._read_range(low, high, limit)
        if last <= low:
            return False
        for row in rows:
            self.source.check_texts(row[0], row[5:])
        made = Segment(
            numbers=np.array([row[0] for row in rows], np.int64),
            spaces=np.array([row[1] for row in rows], np.int32),
            lengths=np.array([row[4] for row in rows], np.int32).tobytes(),
            codes=self._codes(rows),
            terms=list(postings.build([row[5:] for row in rows], self.source.weights)),
        )
        with self._db.write() as connection:
            if self._outdated(connection, low, replaces):
                return False
            self._drop(connection, replaces)
            if not replaces:
                held_to = self._numbered_to() if indexed_to is None else indexed_to
                if held_to > low:
                    self.source.unindex(connection, low + 1, last, all_of_it=held_to <= last)
                sql = "UPDATE recall_sealed SET last_no = ? WHERE kind = ?"
                connection.execute(sql, (last, self.source.kind))
            self._put(connection, low + 1, last, made)
        return True

    def append(self, connection: apsw.Connection, made: Segment) -> None:
        """Put in a segment of rows that were just written and never indexed; nothing unsealed may
        lie before them."""
        low, last = self._sealed_to(), int(made.numbers[-1])
        connection.execute(
            "UPDATE recall_sealed SET last_no = ? WHERE kind = ?", (last, self.source.kind)
        )
        self._put(connection, low + 1, last, made)

    def _put(self, connection: apsw.Connection, first: int, last: int, made: Segment) -> None:
        head = (self.source.kind, first, last, len(made.numbers), self.model)
        connection.execute(
            "INSERT INTO recall_segments(kind, first_no, last_no, doc_count, model, numbers,"
            " spaces, lengths, codes) VALUES (?,?,?,?,?,?,?,?,?)",
            (*head, made.numbers.tobytes(), made.spaces.tobytes(), made.lengths, made.codes),
        )
        segment = connection.last_insert_rowid()
        sql = f"INSERT INTO recall_postings(segment, term, data) VALUES ({int(segment)},?,?)"
        connection.executemany(sql, made.terms)

    def _read_range(
        self, low: int, high: int | None, limit: int
    ) -> tuple[list[tuple[Any, ...]], int]:
        """Rows after `low`, and the number up to which they are complete. What died is simply
        absent."""
        source = self.source
        with self._db.read() as connection:
            rows = fetch(
                connection,
                f"SELECT {source.key}, space_id, embedding, embedding_model, {source.length},"
                f" {source.column_list} FROM {source.view} WHERE {source.key} > ? AND {source.key}"
                f" <= ? ORDER BY {source.key} LIMIT ?",
                (low, 2**62 if high is None else high, limit),
            )
            if high is None:
                high = int(rows[-1][0]) if len(rows) == limit else self._numbered_to()
        return rows, high

    def _outdated(self, connection: apsw.Connection, low: int, replaces: tuple[int, ...]) -> bool:
        """Whether another process sealed or merged the same rows meanwhile."""
        if not replaces:
            return self._sealed_to() != low
        listed = ",".join(map(str, replaces))
        sql = f"SELECT count(*) FROM recall_segments WHERE segment IN ({listed})"
        return bool(next(iter(connection.execute(sql)))[0] != len(replaces))

    def _codes(self, rows: list[tuple[Any, ...]]) -> bytes:
        size, model = self.dim * 2, self.model
        blank = bytes(size)
        data = b"".join(
            row[2] if row[3] == model and row[2] is not None and len(row[2]) == size else blank
            for row in rows
        )
        vectors = np.frombuffer(data, np.float16).reshape(len(rows), self.dim).astype(np.float32)
        return np.ascontiguousarray(sign_codes(vectors).T).tobytes()

    def _drop(self, connection: apsw.Connection, segments: tuple[int, ...]) -> None:
        for segment in segments:
            connection.execute("DELETE FROM recall_postings WHERE segment = ?", (segment,))
            connection.execute("DELETE FROM recall_segments WHERE segment = ?", (segment,))
