"""Imports of packs as rows, and what a rollback may take back. Every function runs inside the
caller's transaction.

`pack_items` keeps the number of each row that an import added. Any later change of a memory gives
it a new number (`items.py`); approving it, which is no change of what it says, moves the note
along. So a row that still has the noted number is as the import left it, and only such rows does a
rollback archive. It stamps them with the very time that it writes to `rolled_back_at`: that is how
a later import tells them from memories that a person archived, which stay archived.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import apsw

from rlm.store.sqlite.items import bury
from rlm.store.sqlite.spaces import in_spaces

_STATED = "name, sha256, source, signer, trust, item_count, added_count, imported_at"
_COLUMNS = f"pack_no, {_STATED}, rolled_back_at, space_id"
_COUNTERS = ("access_count", "success_count", "failure_count", "last_used")


@dataclass(frozen=True, slots=True)
class PackRow:
    """One import."""

    pack_no: int
    name: str
    sha256: str
    source: str
    signer: str | None
    trust: str
    item_count: int
    added_count: int
    imported_at: str
    rolled_back_at: str | None
    space_id: int

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types, without the internal space."""
        return {key: value for key, value in asdict(self).items() if key != "space_id"}


def rows(connection: apsw.Connection, spaces: tuple[int, ...]) -> list[PackRow]:
    """Every import that this tenant may see, oldest first."""
    sql = f"SELECT {_COLUMNS} FROM packs WHERE space_id {in_spaces(spaces)} ORDER BY pack_no"
    return [PackRow(*row) for row in connection.execute(sql)]


def last_number(connection: apsw.Connection) -> int:
    """The highest number that any memory has had."""
    return int(next(iter(connection.execute("SELECT value FROM counters WHERE name = 'item'")))[0])


def replaceable(
    connection: apsw.Connection, space: int, ids: Sequence[str], *, lift: bool
) -> dict[str, tuple[int, dict[str, Any]]]:
    """Those of these memories that an import may put anew, with their number and counters.

    They are the ones that a rollback archived, and, when the pack is trusted (`lift`), the ones
    that an untrusted pack left in quarantine. CROSS JOIN fixes the order: packs are few, their
    items are many.
    """
    sql = (
        f"SELECT m.memory_id, m.item_no, {', '.join(_COUNTERS)} FROM memory_items m WHERE"
        " m.space_id = ?1 AND m.memory_id IN (SELECT value FROM json_each(?2)) AND ((?3 AND"
        " m.archived_at IS NULL AND m.trust = 'quarantined' AND m.source_type = 'pack') OR"
        " (m.archived_at IS NOT NULL AND EXISTS (SELECT 1 FROM packs p CROSS JOIN pack_items i"
        " USING (pack_no) WHERE p.space_id = ?1 AND p.rolled_back_at = m.archived_at AND"
        " i.memory_id = m.memory_id)))"
    )
    found = connection.execute(sql, (space, json.dumps(list(ids)), int(lift)))
    return {row[0]: (row[1], dict(zip(_COUNTERS, row[2:], strict=True))) for row in found}


def remove(connection: apsw.Connection, numbers: Sequence[int]) -> None:
    """Take rows away that are about to be put anew."""
    connection.executemany("DELETE FROM memory_items WHERE item_no = ?", ((n,) for n in numbers))
    bury(connection, "memory", numbers)


class Record:
    """The note of one import, written as it goes, so that little is left to do when the last memory
    is in."""

    def __init__(self, connection: apsw.Connection, space: int) -> None:
        self._connection, self._space = connection, space
        self._noted = last_number(connection)
        self._pack_no: int | None = None

    def note(self, row: dict[str, Any]) -> int:
        """Note what was added since the last time; the number of the import. `row` is what
        `_STATED` names."""
        names = _STATED.split(", ")
        if self._pack_no is None:
            marks = ",".join("?" * len(names))
            self._connection.execute(
                f"INSERT INTO packs(space_id, {_STATED}) VALUES (?,{marks})",
                (self._space, *(row[name] for name in names)),
            )
            self._pack_no = self._connection.last_insert_rowid()
        first, self._noted = self._noted + 1, last_number(self._connection)
        self._connection.execute(
            "INSERT INTO pack_items(pack_no, memory_id, item_no) SELECT ?, memory_id, item_no FROM"
            " memory_items WHERE item_no BETWEEN ? AND ? AND space_id = ?",
            (self._pack_no, first, self._noted, self._space),
        )
        return self._pack_no

    def close(self, row: dict[str, Any]) -> int:
        """Note the rest, and the counts, which only the end knows; the number of the import."""
        pack_no = self.note(row)
        self._connection.execute(
            "UPDATE packs SET item_count = ?, added_count = ? WHERE pack_no = ?",
            (row["item_count"], row["added_count"], pack_no),
        )
        return pack_no


def take_back(connection: apsw.Connection, row: PackRow, now: str) -> tuple[int, list[str]]:
    """Archive what an import added and nobody changed; how many, and the ids of what stays."""
    found: list[tuple[Any, ...]] = connection.execute(
        "SELECT m.item_no, m.memory_id, m.item_no = i.item_no FROM pack_items i JOIN memory_items m"
        " ON m.space_id = ? AND m.memory_id = i.memory_id WHERE i.pack_no = ? AND m.archived_at IS"
        " NULL ORDER BY m.memory_id",
        (row.space_id, row.pack_no),
    ).fetchall()
    mine = [number for number, _, as_brought in found if as_brought]
    connection.executemany(
        "UPDATE memory_items SET archived_at = ? WHERE item_no = ?",
        ((now, number) for number in mine),
    )
    bury(connection, "memory", mine)
    connection.execute("UPDATE packs SET rolled_back_at = ? WHERE pack_no = ?", (now, row.pack_no))
    kept = [memory_id for _, memory_id, as_brought in found if not as_brought]
    return len(mine), [*kept, *_renamed(connection, row)]


def _renamed(connection: apsw.Connection, row: PackRow) -> list[str]:
    """New ids of memories of an import whose words were edited."""
    sql = (
        "SELECT memory_id FROM memory_items WHERE space_id = ? AND archived_at IS NULL AND"
        " provenance_json ->> 'edited_from' IN (SELECT memory_id FROM pack_items WHERE pack_no = ?)"
        " AND memory_id NOT IN (SELECT memory_id FROM pack_items WHERE pack_no = ?) ORDER BY"
        " memory_id"
    )
    return [found[0] for found in connection.execute(sql, (row.space_id, row.pack_no, row.pack_no))]


def judged_high(
    connection: apsw.Connection, spaces: tuple[int, ...], ids: Sequence[str]
) -> set[str]:
    """Which of these trajectories have a judgment of high confidence."""
    sql = (
        "SELECT trajectory_id FROM trajectories JOIN judgments USING (space_id, trajectory_id) "
        f"WHERE space_id {in_spaces(spaces)} AND confidence = 'high' "
        "AND trajectory_id IN (SELECT value FROM json_each(?))"
    )
    return {row[0] for row in connection.execute(sql, (json.dumps(list(ids)),))}
