"""Sign codes of large spaces, as a process keeps them: numpy compares 100,000 in a millisecond, the
server in 50 to 90.

A table of codes is what one snapshot saw of one space, and is never changed: threads share it. Its
version are two counters of `recall_totals`, which grow in the order of commits, because writers of
an organisation take turns: `changes` counts the rows that were removed or got another code, and
between two changes `documents` only grows. So a search, which reads the totals anyway, knows for
nothing whether its table is up to date. If not, it reads the rows with higher numbers and those
that `changed` names, or, where that list is too short, all. A snapshot older than the table leaves
the comparison to the server, and so does a transaction that writes.

What is kept only proposes candidates: every hit is a row that the snapshot of the search shows.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.codes import WORD_BITS, Words, hamming, nearest
from rlm.store.sql.dialect import Connection, Value, fetch

LARGE = 2_000
"""The server compares fewer in a millisecond or two."""
MOST_BYTES = 64 << 20
"""Of all tables of a process: 1.6 million memories of 256 dimensions. The least used go first."""

Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SpaceTotals:
    """What `recall_totals` says of a space. `changed` are the last of the `changes` rows."""

    documents: int
    chars: int
    changes: int
    changed: Sequence[int]


@dataclass(frozen=True, slots=True)
class CodeSet:
    """Which codes: of one kind of row, in one space of one database, with so many dimensions."""

    database: str
    kind: str
    space: int
    dim: int

    def read(
        self, connection: Connection, where: str = "", values: tuple[Value | list[int], ...] = ()
    ) -> tuple[Numbers, list[Words]]:
        """The numbers of rows, ascending, and their codes by column. One value holds them all: a
        row each would take Python five times as long."""
        size = -(-self.dim // 8)
        row = np.dtype([("number", ">i8"), ("bits", ">i4"), ("code", np.uint8, (size,))])
        sql = (
            "SELECT string_agg(int8send(number) || varbit_send(code), ''::bytea ORDER BY number)"
            f" FROM recall_rows WHERE kind = ? AND space_id = ? AND length(code) = ? {where}"
        )
        data = fetch(connection, sql, (self.kind, self.space, self.dim, *values))[0][0]
        rows = np.frombuffer(data or b"", row)
        return rows["number"].astype(np.int64), list(_words(rows["code"], self.dim).T.copy())


def _words(packed: NDArray[np.uint8], dim: int) -> Words:
    """Bits in the order of the server as 64-bit words, one row a code."""
    out = np.zeros((len(packed), -(-dim // WORD_BITS) * 8), np.uint8)
    out[:, : packed.shape[1]] = packed
    return out.view(np.uint64)


@dataclass(frozen=True, slots=True)
class CodeTable:
    """The codes of a space as one snapshot saw them."""

    version: tuple[int, int]
    numbers: Numbers
    columns: list[Words]

    @property
    def bytes(self) -> int:
        return self.numbers.nbytes * (1 + len(self.columns))

    def near(self, vector: Floats, count: int, others: Sequence[int]) -> dict[int, int]:
        """The rows nearest to a vector, and those of these others that are here: how many signs
        differ."""
        if not len(self.numbers):
            return {}
        code = _words(np.packbits(vector > 0)[None, :], len(vector))[0]
        distances = hamming(self.columns, code)
        wanted = np.array(others, np.int64)
        known = np.minimum(np.searchsorted(self.numbers, wanted), len(self.numbers) - 1)
        known = known[self.numbers[known] == wanted]
        places = np.union1d(nearest(distances, count), known)
        return dict(zip(self.numbers[places].tolist(), distances[places].tolist(), strict=True))


_tables: dict[CodeSet, CodeTable] = {}
"""The least used first."""
_lock = threading.Lock()


def current_table(connection: Connection, wanted: CodeSet, totals: SpaceTotals) -> CodeTable | None:
    """The table of a space as this transaction, which must not write, sees it; None where the
    server shall compare: few codes, more than may be kept, or an older snapshot."""
    size = 8 * (1 + -(-wanted.dim // WORD_BITS))
    if not LARGE <= totals.documents <= MOST_BYTES // size:
        return None
    with _lock:
        held = _tables.get(wanted)
        if held is not None:
            _tables[wanted] = _tables.pop(wanted)
    version = (totals.changes, totals.documents)
    if held is not None and held.version >= version:
        return held if held.version == version else None
    missed = totals.changes - held.version[0] if held else 0
    if held is None or missed > len(totals.changed):
        table = CodeTable(version, *wanted.read(connection))
    else:
        changed = list(totals.changed[len(totals.changed) - missed :])
        table = _follow(connection, wanted, held, version, changed)
    _keep(wanted, table)
    return table


def _follow(
    connection: Connection,
    wanted: CodeSet,
    held: CodeTable,
    version: tuple[int, int],
    changed: list[int],
) -> CodeTable:
    """The table as it is now: without the rows that changed, and with those of them that are still
    there and all that came."""
    last = int(held.numbers[-1]) if len(held.numbers) else 0
    numbers, columns = wanted.read(
        connection, "AND (number > ? OR number = ANY(?))", (last, changed)
    )
    stays = ~np.isin(held.numbers, changed)
    numbers = np.concatenate([held.numbers[stays], numbers])
    order = np.argsort(numbers, kind="stable")
    parts = zip(held.columns, columns, strict=True)
    columns = [np.concatenate([old[stays], new])[order] for old, new in parts]
    return CodeTable(version, numbers[order], columns)


def _keep(wanted: CodeSet, table: CodeTable) -> None:
    with _lock:
        held = _tables.pop(wanted, None)
        _tables[wanted] = held if held is not None and held.version > table.version else table
        while sum(each.bytes for each in _tables.values()) > MOST_BYTES:
            del _tables[next(iter(_tables))]
