"""What a search index beside the store has yet to be told.

`index_spaces` says which spaces an index holds, and which build of each. Whoever changes a memory
of such a space notes it in `index_outbox`, in the same transaction, whether or not this process
knows of the index. A note says only that something changed: whoever drains looks at the row as it
is now. So notes may be repeated and done twice, and none is lost.

One process at a time feeds a space, by a lease with a fence. One that lost its lease to another may
have overwritten newer points with older ones: it notes again what it wrote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rlm import clock
from rlm.store.sql import rows
from rlm.store.sql.database import Database
from rlm.store.sql.dialect import Connection, fetch
from rlm.store.sql.sources import MEMORY
from rlm.store.sql.spaces import Spaces, in_spaces
from rlm.store.types import LEVELS, MemoryItem

LEASE_S = 120.0
"""Longer than one request to the index may take."""

_NOTE = (
    "INSERT INTO index_outbox(space_id, memory_id) SELECT m.space_id, m.memory_id"
    " FROM memory_items m JOIN index_spaces i ON i.space_id = m.space_id"
)


def note_rows(connection: Connection, numbers: Iterable[int]) -> None:
    """Note memories that change: before they do, where their id or space may change too."""
    connection.executemany(f"{_NOTE} WHERE m.item_no = ?", [(number,) for number in numbers])


def note_range(connection: Connection, first: int, last: int) -> None:
    """Note memories that were added."""
    connection.execute(f"{_NOTE} WHERE m.item_no BETWEEN ? AND ?", (first, last))


def note_vectors(connection: Connection, numbers: Iterable[int]) -> None:
    """Note memories that got a vector of the index's own model."""
    sql = f"{_NOTE} AND i.model = m.embedding_model WHERE m.item_no = ?"
    connection.executemany(sql, [(number,) for number in numbers])


def note_renamed(connection: Connection, space: int) -> None:
    """A space has another name: its collection has too."""
    connection.execute("UPDATE index_spaces SET built = 0 WHERE space_id = ?", (space,))


@dataclass(frozen=True, slots=True)
class Build:
    """Where and how a space was put into the index. `change` is the last note that was fed."""

    collection: str
    token: str
    model: str | None
    dim: int
    is_done: bool
    change: int


@dataclass(frozen=True, slots=True)
class IndexedSpace:
    """One of the tenant's spaces; `build` is None where no index was ever told of it."""

    number: int
    level: str
    parts: tuple[str, str, str]
    tenant: str
    """What stands in every point of this space, and of no other of any store; empty while the
    store has no id, so that nothing of it was ever indexed."""
    build: Build | None
    waiting: int
    """How many notes wait."""
    newest: int
    """The last note, whether it waits or was fed."""


@dataclass(frozen=True, slots=True)
class IndexedRow:
    """A live memory as the index needs it: 16-bit floats of its vector, and their model."""

    number: int
    item: MemoryItem
    vector: bytes | None
    model: str | None


_ROW = f"item_no, embedding, embedding_model, {rows.COLUMNS}"


class Outbox:
    """The notes of one tenant's spaces."""

    def __init__(self, database: Database, spaces: Spaces) -> None:
        self._db = database
        self._spaces = spaces

    # -- reading -----------------------------------------------------------------------------------

    def spaces(self, connection: Connection, levels: Sequence[str] = LEVELS) -> list[IndexedSpace]:
        """The tenant's spaces that exist, as this transaction sees them."""
        store = self._store_id(connection)
        found = []
        for level in levels:
            if (space := self._spaces.find(level)) is None:
                continue
            sql = (
                "SELECT collection, token, model, dim, built, change_no FROM index_spaces"
                " WHERE space_id = ?"
            )
            built = [
                Build(name, token, model, dim, bool(done), change)
                for name, token, model, dim, done, change in fetch(connection, sql, (space,))
            ]
            parts = self._spaces.key(level)[1:]
            tenant = f"{store}-{space}" if store else ""
            build = built[0] if built else None
            sql = "SELECT count(*), max(change_no) FROM index_outbox WHERE space_id = ?"
            waiting, newest = fetch(connection, sql, (space,))[0] if build else (0, 0)
            newest = max(newest or 0, build.change if build else 0)
            found.append(IndexedSpace(space, level, parts, tenant, build, waiting, newest))
        return found

    def unseen(
        self, connection: Connection, numbers: Iterable[int], apart: Iterable[int]
    ) -> set[int]:
        """Those of these rows that the index has not seen: noted, or of the spaces `apart`."""
        words = connection.dialect
        sql = (
            f"SELECT m.item_no FROM memory_items m WHERE m.item_no {words.among} AND"
            f" ({words.unindexed}m.space_id {in_spaces(tuple(apart))} OR EXISTS (SELECT 1 FROM"
            " index_outbox o WHERE o.space_id = m.space_id AND o.memory_id = m.memory_id))"
        )
        return {row[0] for row in fetch(connection, sql, (words.pack_list(numbers),))}

    def notes(self, space: int, limit: int) -> list[tuple[int, str]]:
        """The oldest notes of a space: number and memory."""
        sql = (
            "SELECT change_no, memory_id FROM index_outbox WHERE space_id = ?"
            " ORDER BY change_no LIMIT ?"
        )
        return self._db.rows(sql, (space, limit))

    def live(self, space: int, ids: Sequence[str]) -> list[IndexedRow]:
        """Those of these memories that live."""
        words = self._db.dialect
        where = f"space_id = ? AND memory_id {words.among} AND {MEMORY.live}"
        return self._rows(where, (space, words.pack_list(ids)))

    def live_after(self, space: int, number: int, limit: int) -> list[IndexedRow]:
        """Live memories of a space in the order of their numbers."""
        where = f"space_id = ? AND item_no > ? AND {MEMORY.live} ORDER BY item_no LIMIT ?"
        return self._rows(where, (space, number, limit))

    def revisions(self, space: int) -> dict[str, tuple[int, str | None]]:
        """The number, and the model of the vector, of every live memory of a space."""
        columns = "memory_id, item_no, embedding_model"
        sql = f"SELECT {columns} FROM memory_items WHERE space_id = ? AND {MEMORY.live}"
        return {name: (number, model) for name, number, model in self._db.rows(sql, (space,))}

    def _rows(self, where: str, values: tuple[Any, ...]) -> list[IndexedRow]:
        found = self._db.rows(f"SELECT {_ROW} FROM memory_items WHERE {where}", values)
        return [IndexedRow(row[0], rows.from_row(row[3:]), row[1], row[2]) for row in found]

    # -- feeding -----------------------------------------------------------------------------------

    def name_store(self) -> None:
        """Give the store an id, if it has none: the points of two stores must not meet."""
        with self._db.read() as connection:
            if self._store_id(connection):
                return
        with self._db.write() as connection:
            connection.execute(
                "INSERT INTO meta(key, value) VALUES ('store_id', ?)"
                f" ON CONFLICT({connection.dialect.own_key}key) DO NOTHING",
                (clock.new_uuid(),),
            )

    @staticmethod
    def _store_id(connection: Connection) -> str | None:
        sql = f"SELECT value FROM meta WHERE key = 'store_id' {connection.dialect.own}"
        found = fetch(connection, sql)
        return str(found[0][0]) if found else None

    def claim(self, space: int) -> int | None:
        """A fence, if nobody else feeds this space. From now on its changes are noted."""
        now = clock.now()
        with self._db.write(alone=False) as connection:
            connection.execute(
                "INSERT INTO index_spaces(space_id, collection, token, dim) VALUES (?, '', '', 0)"
                " ON CONFLICT(space_id) DO NOTHING",
                (space,),
            )
            found = fetch(
                connection,
                "UPDATE index_spaces SET fence = fence + 1, leased_until = ? WHERE space_id = ?"
                " AND (leased_until IS NULL OR leased_until < ?) RETURNING fence",
                (_later(LEASE_S), space, now.isoformat()),
            )
        return int(found[0][0]) if found else None

    def renew(self, space: int, fence: int) -> bool:
        """Go on feeding; False where the lease was lost."""
        return self._set(space, fence, "leased_until = ?", (_later(LEASE_S),))

    def release(self, space: int, fence: int) -> None:
        self._set(space, fence, "leased_until = NULL", ())

    def begin(self, space: int, fence: int, build: Build) -> bool:
        """A build begins: until it is done, the index is not asked about this space."""
        sets = "collection = ?, token = ?, model = ?, dim = ?, built = 0, change_no = 0"
        values = (build.collection, build.token, build.model, build.dim)
        return self._set(space, fence, sets, values)

    def distrust(self, space: int, fence: int) -> bool:
        """What the index holds of this space is not what was fed: it must be built again."""
        return self._set(space, fence, "built = 0", ())

    def complete(self, space: int, fence: int) -> bool:
        """A build is done."""
        return self._set(space, fence, "built = 1", ())

    def settle(self, space: int, fence: int, notes: Sequence[tuple[int, str]]) -> bool:
        """These notes are in the index; False where the lease was lost, and they are noted anew."""
        last = notes[-1][0]
        with self._db.write(alone=False) as connection:
            sets = "change_no = CASE WHEN change_no < ? THEN ? ELSE change_no END"
            if not self._set(space, fence, sets, (last, last)):
                self.note(space, {memory_id for _, memory_id in notes})
                return False
            sql = "DELETE FROM index_outbox WHERE change_no = ?"
            connection.executemany(sql, [(number,) for number, _ in notes])
        return True

    def note(self, space: int, ids: Iterable[str]) -> None:
        """Have the index look at these memories again, whether or not they live."""
        with self._db.write(alone=False) as connection:
            sql = "INSERT INTO index_outbox(space_id, memory_id) VALUES (?, ?)"
            connection.executemany(sql, [(space, memory_id) for memory_id in sorted(ids)])

    def _set(self, space: int, fence: int, sets: str, values: tuple[int | str | None, ...]) -> bool:
        sql = f"UPDATE index_spaces SET {sets} WHERE space_id = ? AND fence = ? RETURNING space_id"
        with self._db.write(alone=False) as connection:
            return bool(fetch(connection, sql, (*values, space, fence)))


def _later(seconds: float) -> str:
    return (clock.now() + timedelta(seconds=seconds)).isoformat()
