"""Sign codes in blocks: what a search must know of every live row without reading it.

A row with number n has slot n mod 512 of block n div 512: its space (0 for a row that does not
live), its length in characters, and the sign code of its vector. A block is one BLOB, so a process
reads the codes of 100,000 memories, 4 MB, in some milliseconds, and after a write only the blocks
whose stamp is new. All of it is derived from the rows, changes in the same transaction, and can be
rebuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.codes import hamming, nearest, sign_codes
from rlm.store.sql.dialect import Connection, fetch, take_numbers
from rlm.store.sql.sources import LiveRow, Source
from rlm.store.sqlite.connection import SQLiteDatabase

SLOTS = 512

Floats = NDArray[np.float32]
Words = NDArray[np.uint64]


@dataclass(slots=True)
class _Block:
    """512 slots as arrays."""

    spaces: NDArray[np.int32]
    chars: NDArray[np.int32]
    codes: Words

    @classmethod
    def read(cls, data: bytes) -> _Block:
        size = 4 * SLOTS
        words = (len(data) - 2 * size) // (8 * SLOTS)
        return cls(
            np.frombuffer(data, np.int32, SLOTS),
            np.frombuffer(data, np.int32, SLOTS, size),
            np.frombuffer(data, np.uint64, SLOTS * words, 2 * size).reshape(SLOTS, words),
        )

    @classmethod
    def empty(cls, words: int) -> _Block:
        return cls(
            np.zeros(SLOTS, np.int32),
            np.zeros(SLOTS, np.int32),
            np.zeros((SLOTS, words), np.uint64),
        )

    def copy(self) -> _Block:
        return _Block(self.spaces.copy(), self.chars.copy(), self.codes.copy())

    def to_bytes(self) -> bytes:
        return self.spaces.tobytes() + self.chars.tobytes() + self.codes.tobytes()


def put(
    connection: Connection, source: Source, entries: Sequence[LiveRow], model: str | None
) -> None:
    """Note rows that were added or changed, numbers ascending. Inside `write()`."""
    if not entries:
        return
    dim = max((len(entry.vector) // 2 for entry in entries if entry.vector), default=0)
    words = -(-dim // 64)
    stamp = take_numbers(connection, "stamp", 1)
    for number, group in groupby(entries, key=lambda entry: entry.number // SLOTS):
        chosen = list(group)
        block = _writable(connection, source, number, words, model)
        slots = [entry.number % SLOTS for entry in chosen]
        block.spaces[slots] = [entry.space for entry in chosen]
        block.chars[slots] = [entry.chars for entry in chosen]
        if words:
            blank = bytes(2 * dim)
            data = b"".join(
                entry.vector if entry.vector and len(entry.vector) == 2 * dim else blank
                for entry in chosen
            )
            block.codes[slots] = sign_codes(np.frombuffer(data, np.float16).reshape(-1, dim))
        _save(connection, source, number, stamp, model, block)


def erase(connection: Connection, source: Source, numbers: Sequence[int]) -> None:
    """Forget rows that no longer live under these numbers. Inside `write()`."""
    if not numbers:
        return
    stamp = take_numbers(connection, "stamp", 1)
    for number, group in groupby(sorted(numbers), key=lambda each: each // SLOTS):
        found = _load(connection, source, number)
        if found is not None:
            block = found[1].copy()
            block.spaces[[each % SLOTS for each in group]] = 0
            _save(connection, source, number, stamp, found[0], block)


def rebuild(connection: Connection, source: Source, model: str | None = None) -> None:
    """Rebuild every block from the rows, inside `write()`; the model defaults to each row's."""
    stamp, last = take_numbers(connection, "stamp", 1), 0
    empty = _Block.empty(0).to_bytes()  # kept, with a new stamp, so that every process notices
    sql = "UPDATE recall_blocks SET stamp = ?, model = NULL, data = ? WHERE kind = ?"
    connection.execute(sql, (stamp, empty, source.kind))
    while rows := _live_rows(connection, source, last):
        found = model or next((row[3] for row in rows if row[3]), None)
        put(connection, source, _entries(rows, found), found)
        last = rows[-1][0]


def refresh(connection: Connection, source: Source, model: str, first: int, last: int) -> None:
    """Note again the live rows of these numbers that have a vector of a model. Inside `write()`."""
    before = first - 1
    while rows := _live_rows(connection, source, before, last):
        put(connection, source, [each for each in _entries(rows, model) if each.vector], model)
        before = rows[-1][0]


def _live_rows(
    connection: Connection, source: Source, after: int, upto: int = (1 << 63) - 1
) -> list[Any]:
    return fetch(
        connection,
        f"SELECT {source.key}, space_id, embedding, embedding_model, {source.column_list} FROM"
        f" {source.view} WHERE {source.key} > ? AND {source.key} <= ?"
        f" ORDER BY {source.key} LIMIT {16 * SLOTS}",
        (after, upto),
    )


def _entries(rows: Sequence[Any], model: str | None) -> list[LiveRow]:
    return [LiveRow(row[0], row[1], row[4:], row[2] if row[3] == model else None) for row in rows]


def spaces_by_row(connection: Connection, source: Source) -> dict[int, int]:
    """The space of every row that the blocks know, by number."""
    sql = "SELECT block, data FROM recall_blocks WHERE kind = ?"
    return {
        number * SLOTS + slot: space
        for number, data in fetch(connection, sql, (source.kind,))
        for slot, space in enumerate(_Block.read(data).spaces.tolist())
        if space
    }


def _writable(
    connection: Connection, source: Source, number: int, words: int, model: str | None
) -> _Block:
    """A block to change. One with the codes of another model keeps its rows and loses its codes."""
    found = _load(connection, source, number)
    if found is None:
        return _Block.empty(words)
    block = found[1].copy()
    if block.codes.shape[1] != words or found[0] != model:
        block.codes = np.zeros((SLOTS, words), np.uint64)
    return block


def _load(connection: Connection, source: Source, number: int) -> tuple[str | None, _Block] | None:
    sql = "SELECT model, data FROM recall_blocks WHERE kind = ? AND block = ?"
    row = next(iter(connection.execute(sql, (source.kind, number))), None)
    return None if row is None else (row[0], _Block.read(row[1]))


def _save(
    connection: Connection,
    source: Source,
    number: int,
    stamp: int,
    model: str | None,
    block: _Block,
) -> None:
    connection.execute(
        "INSERT INTO recall_blocks(kind, block, stamp, model, data) VALUES (?,?,?,?,?) "
        "ON CONFLICT(kind, block) DO UPDATE SET stamp = excluded.stamp, model = excluded.model, "
        "data = excluded.data",
        (source.kind, number, stamp, model, block.to_bytes()),
    )


class Blocks:
    """What one process knows of all blocks of one kind, brought up to date before each use.

    Position n of every array is the row of number n.
    """

    def __init__(self, database: SQLiteDatabase, source: Source) -> None:
        self._db = database
        self._source = source
        self.forget()

    def forget(self) -> None:
        """Remember nothing: what was read inside a write may be rolled back."""
        self._is_whole = False  # until a sync has come to its end: an interrupt may strike anywhere
        self._state: tuple[int, ...] | None = None
        self._stamp = 0
        self._spaces = np.empty(0, np.int32)
        self._chars = np.empty(0, np.int32)
        self._codes: list[Words] = []
        self._model: str | None = None
        self._seen: dict[tuple[int, ...], tuple[NDArray[np.intp], int, float]] = {}

    def sync(self, connection: Connection, model: str | None, dim: int) -> None:
        """Read what changed, as this transaction sees it. Cheap when nothing was written."""
        state = self._db.data_version()
        if model != self._model or not self._is_whole:
            self.forget()
            self._model = model
        if self._state == state:
            return
        self._is_whole = False
        words = -(-dim // 64)
        sql = "SELECT block, stamp, model, data FROM recall_blocks WHERE kind = ? AND stamp > ?"
        rows = fetch(connection, f"{sql} ORDER BY block", (self._source.kind, self._stamp))
        if rows:
            self._grow((rows[-1][0] + 1) * SLOTS, words)
            self._seen = {}
        for number, stamp, made_by, data in rows:
            block, first = _Block.read(data), number * SLOTS
            self._spaces[first : first + SLOTS] = block.spaces
            self._chars[first : first + SLOTS] = block.chars
            usable = made_by == model and block.codes.shape[1] == words
            for place, column in enumerate(self._codes):
                column[first : first + SLOTS] = block.codes[:, place] if usable else 0
            self._stamp = max(self._stamp, stamp)
        self._state, self._is_whole = state, True

    def _grow(self, size: int, words: int) -> None:
        if len(self._codes) != words:
            self._codes = [np.zeros(len(self._spaces), np.uint64) for _ in range(words)]
        if size > len(self._spaces):
            more = size - len(self._spaces)
            self._spaces = np.pad(self._spaces, (0, more))
            self._chars = np.pad(self._chars, (0, more))
            self._codes = [np.pad(column, (0, more)) for column in self._codes]

    def visible(self, spaces: tuple[int, ...]) -> tuple[NDArray[np.intp], int, float]:
        """Which numbers do not live in these spaces, how many do, and their mean length."""
        found = self._seen.get(spaces)
        if found is None:
            mask = np.isin(self._spaces, spaces)
            count = int(np.count_nonzero(mask))
            chars = int(self._chars[mask].sum(dtype=np.int64))
            found = self._seen[spaces] = np.flatnonzero(~mask), count, chars / max(1, count)
        return found

    def filter_live(self, numbers: Sequence[int], spaces: tuple[int, ...]) -> list[int]:
        """Those of these numbers that live in these spaces."""
        known = len(self._spaces)
        return [each for each in numbers if each < known and self._spaces[each] in spaces]

    def live(self) -> int:
        """How many rows of any space live."""
        return int(np.count_nonzero(self._spaces))

    def live_upto(self, spaces: tuple[int, ...], number: int) -> dict[int, int]:
        """How many rows of each of these spaces live that have any; up to this number."""
        old = self._spaces[: number + 1]
        counts = {space: int(np.count_nonzero(old == space)) for space in spaces}
        return {space: count for space, count in counts.items() if count}

    def near(
        self, vector: Floats, count: int, spaces: tuple[int, ...], others: Sequence[int]
    ) -> dict[int, float]:
        """Rows nearest to a vector by their codes, and these others: number, likely cosine."""
        hidden, most, _ = self.visible(spaces)
        if not most or not self._codes:
            return {}
        distances = hamming(self._codes, sign_codes(vector[None, :])[0])
        distances[hidden] = np.iinfo(distances.dtype).max
        known = np.array([number for number in others if number < len(distances)], np.int64)
        numbers = np.union1d(nearest(distances, min(count, most)), known)
        cosines = np.cos(np.pi * np.minimum(1.0, distances[numbers] / len(vector)))
        return dict(zip(numbers.tolist(), cosines.tolist(), strict=True))
