"""The part of the backend that keeps the ledger of packs, and what a rollback may take back.

`pack_items` keeps the number of each row that an import added. Any later change of a memory gives
it a new number (`items.py`); approving it, which is no change of what it says, moves the note
along. So a row that still has the noted number is as the import left it, and only such rows does a
rollback archive. It stamps them with the very time that it writes to `rolled_back_at`: that is how
a later import tells them from memories that a person archived, which stay archived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from rlm import clock
from rlm.store.sql import items
from rlm.store.sql.dialect import last_number
from rlm.store.sql.spaces import Part, in_spaces
from rlm.store.types import MemoryItem, NewPack, PackRow

_STATED = "name, sha256, source, signer, trust, item_count, added_count, imported_at"
_COLUMNS = f"pack_no, {_STATED}, rolled_back_at"
_COUNTERS = ("access_count", "success_count", "failure_count", "last_used")


class Packs(Part):
    """Which packs were imported, and what they brought."""

    def packs(self) -> list[PackRow]:
        sql = f"SELECT {_COLUMNS} FROM packs WHERE space_id {in_spaces(self.spaces.visible())}"
        return [PackRow(*row) for row in self.db.rows(f"{sql} ORDER BY pack_no")]

    def add_pack(
        self,
        pack: NewPack,
        chunks: Iterable[Sequence[MemoryItem]],
        *,
        level: str = "project",
        on_progress: Callable[[int], None] | None = None,
    ) -> tuple[int, int]:
        with self.together():
            connection, space = self.db.connection, self.spaces.ensure(level)
            row = {**asdict(pack), "item_count": 0, "added_count": 0}
            row["imported_at"] = clock.now_iso()
            pack_no = self.db.value(
                f"INSERT INTO packs(space_id, {_STATED}) VALUES (?,?,?,?,?,?,?,?,?)"
                " RETURNING pack_no",
                (space, *(row[name] for name in _STATED.split(", "))),
            )
            read = added = 0
            for chunk in chunks:
                lift = pack.trust == "trusted"
                fresh = self._absent(space, chunk, lift=lift)
                before = last_number(connection, "item")
                items.insert(connection, self.index, space, fresh)
                connection.execute(
                    "INSERT INTO pack_items(pack_no, memory_id, item_no) SELECT ?, memory_id,"
                    " item_no FROM memory_items WHERE item_no > ? AND"
                    f" {connection.dialect.unindexed}space_id = ?",
                    (pack_no, before, space),
                )
                read, added = read + len(chunk), added + len(fresh)
                if on_progress is not None:
                    on_progress(read)
            known = None if added else self._same_import(space, pack, pack_no)
            if known is not None:  # the very same pack again: no second line for it
                connection.execute("DELETE FROM packs WHERE pack_no = ?", (pack_no,))
                return known, 0
            sql = "UPDATE packs SET item_count = ?, added_count = ? WHERE pack_no = ?"
            connection.execute(sql, (read, added, pack_no))
        return pack_no, added

    def _same_import(self, space: int, pack: NewPack, but: int) -> int | None:
        """An import of these very bytes that was not rolled back."""
        sql = (
            "SELECT pack_no FROM packs WHERE space_id = ? AND name = ? AND sha256 = ?"
            " AND rolled_back_at IS NULL AND pack_no <> ? ORDER BY pack_no"
        )
        found = self.db.value(sql, (space, pack.name, pack.sha256, but))
        return None if found is None else int(found)

    def _absent(self, space: int, chunk: Sequence[MemoryItem], *, lift: bool) -> list[MemoryItem]:
        """What of a chunk the space lacks; what is replaced keeps its counters."""
        connection = self.db.connection
        arriving = list({item.memory_id: item for item in reversed(chunk)}.values())[::-1]
        there = items.existing_ids(connection, space, [item.memory_id for item in arriving])
        if not there:
            return arriving
        again = self._replaceable(space, list(there), lift=lift)
        items.remove(connection, self.index, [number for number, _ in again.values()])
        return [
            replace(item, **again[item.memory_id][1]) if item.memory_id in again else item
            for item in arriving
            if item.memory_id in again or item.memory_id not in there
        ]

    def _replaceable(
        self, space: int, ids: Sequence[str], *, lift: bool
    ) -> dict[str, tuple[int, dict[str, Any]]]:
        """Those of these memories that an import may replace, with their number and counters.

        A rollback archived them, or, when the pack is trusted (`lift`), an untrusted pack left them
        in quarantine. Packs are few, their items are many: so one EXISTS stands inside the other.
        """
        words = self.db.dialect
        waits = "m.archived_at IS NULL AND m.trust = 'quarantined' AND m.source_type = 'pack'"
        found = self.db.rows(
            f"SELECT m.memory_id, m.item_no, {', '.join(_COUNTERS)} FROM memory_items m WHERE"
            f" m.space_id = ? AND m.memory_id {words.among} AND ({f'({waits}) OR' if lift else ''}"
            " (m.archived_at IS NOT NULL AND EXISTS (SELECT 1 FROM packs p WHERE p.space_id ="
            " m.space_id AND p.rolled_back_at = m.archived_at AND EXISTS (SELECT 1 FROM pack_items"
            " i WHERE i.pack_no = p.pack_no AND i.memory_id = m.memory_id))))",
            (space, words.pack_list(ids)),
        )
        return {row[0]: (row[1], dict(zip(_COUNTERS, row[2:], strict=True))) for row in found}

    def rollback_pack(self, pack_no: int) -> tuple[int, list[str]]:
        """Archive what an import added and nobody changed; how many, and the ids of what stays.

        A second time there is nothing left to do.
        """
        now = clock.now_iso()
        with self.db.write() as connection:
            sql = (
                "UPDATE packs SET rolled_back_at = ? WHERE pack_no = ? AND rolled_back_at IS NULL"
                f" AND space_id {in_spaces(self.spaces.visible())} RETURNING space_id"
            )
            space = self.db.value(sql, (now, pack_no))
            if space is None:
                return 0, []
            found = self.db.rows(
                "SELECT m.item_no, m.memory_id, m.item_no = i.item_no FROM pack_items i"
                " JOIN memory_items m ON m.space_id = ? AND m.memory_id = i.memory_id"
                " WHERE i.pack_no = ? AND m.archived_at IS NULL ORDER BY m.memory_id",
                (space, pack_no),
            )
            mine = [number for number, _, as_brought in found if as_brought]
            items.archive(connection, self.index, mine, now)
            brought = "SELECT memory_id FROM pack_items WHERE pack_no = ?"
            renamed = self.db.rows(
                "SELECT memory_id FROM memory_items WHERE space_id = ? AND archived_at IS NULL"
                f" AND provenance_json ->> 'edited_from' IN ({brought})"
                f" AND memory_id NOT IN ({brought}) ORDER BY memory_id",
                (space, pack_no, pack_no),
            )
        kept = [memory_id for _, memory_id, as_brought in found if not as_brought]
        return len(mine), [*kept, *(row[0] for row in renamed)]
