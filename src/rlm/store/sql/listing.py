"""The part of the backend that lists and counts: what is read from rows, not from an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlm.store.records import LISTED_BY, check_listing
from rlm.store.sql.dialect import last_number
from rlm.store.sql.rows import COLUMNS, from_row
from rlm.store.sql.spaces import Part, in_spaces
from rlm.store.types import MemoryItem
from rlm.store.values import check_count, choice, natural

_COUNTED = {
    "memories": ("memory_items", "AND archived_at IS NULL"),
    "trajectories": ("trajectories", ""),
    "jobs": ("distill_queue", "AND state IN ('ready', 'leased')"),
    "notes": ("index_outbox", ""),
}
_IDS = {
    "memory": ("memory_items", "memory_id"),
    "node": ("nodes", "id"),
    "edge": ("hyperedges", "id"),
}


class Listing(Part):
    """Memories by what they are, and how many there are of what."""

    def ids_starting(self, kind: str, prefix: str, limit: int = 9) -> list[str]:
        """A range of the index rather than LIKE, so that `%` and `_` are plain characters."""
        table, column = _IDS[choice(kind, tuple(_IDS), "kind")]
        rows = self.db.rows(
            f"SELECT DISTINCT {column} FROM {table} WHERE space_id"
            f" {in_spaces(self.spaces.visible())} AND {column} >= ? AND {column} < ?"
            f" ORDER BY {column} LIMIT ?",
            (prefix, prefix + "\U0010ffff", check_count(limit, "limit")),
        )
        return [str(row[0]) for row in rows]

    def changed_since(self, mark: int) -> tuple[list[str], int]:
        """A row gets a new number with every change; numbers in memory do not last."""
        natural(mark, "mark")
        with self.db.read() as connection:
            newest = 0 if self.db.in_memory else last_number(connection, "item")
            rows = connection.execute(
                "SELECT DISTINCT memory_id FROM memory_items WHERE item_no > ? AND space_id"
                f" {in_spaces(self.spaces.visible())} AND archived_at IS NULL"
                " AND trust <> 'quarantined' ORDER BY memory_id",
                (mark if mark <= newest else 0,),
            )
            return [str(row[0]) for row in rows], newest

    def other_projects(self, what: str = "memories") -> dict[str, int]:
        table, live = _COUNTED[choice(what, tuple(_COUNTED), "what")]
        sql = (
            f"SELECT s.project, count(*) AS many FROM {table} JOIN spaces AS s USING (space_id)"
            f" WHERE s.level = 'project' AND s.org = ? AND s.team = ? AND s.project <> ? {live}"
            " GROUP BY s.project ORDER BY many DESC, s.project"
        )
        tenant = self.tenant
        with self.db.read(), self.db.across_projects():
            rows = self.db.rows(sql, (tenant.org, tenant.team, tenant.project))
        return {str(project): int(many) for project, many in rows}

    def held_elsewhere(self, memory_ids: Sequence[str]) -> dict[str, int]:
        words, live = self.db.dialect, "{0}.archived_at IS NULL"
        sql = (
            "SELECT other.memory_id, count(DISTINCT s.space_id) FROM spaces AS s"
            f" JOIN memory_items AS other ON other.space_id = s.space_id AND {live.format('other')}"
            " JOIN memory_items AS mine ON mine.space_id = ? AND mine.memory_id = other.memory_id"
            f" AND {live.format('mine')} WHERE s.level = 'project' AND s.org = ? AND s.team = ?"
            f" AND s.space_id <> ? AND other.memory_id {words.among}"
            " AND other.trust <> 'quarantined' AND other.source_type <> 'pack'"
            " GROUP BY other.memory_id"
        )
        with self.db.read(), self.db.across_projects():
            own, ids = self.spaces.find("project"), words.pack_list(memory_ids)
            rows = self.db.rows(sql, (own, self.tenant.org, self.tenant.team, own, ids))
        return {str(memory_id): int(many) for memory_id, many in rows}

    def list_items(
        self,
        *,
        source_type: str | None = None,
        outcome: str | None = None,
        trust: str | None = None,
        tag: str | None = None,
        ontology: str | None = None,
        provenance: dict[str, str] | None = None,
        level: str | None = None,
        kind: str | None = None,
        archived: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> list[MemoryItem]:
        mine = in_spaces(self.spaces.visible())
        where = [f"space_id {mine}", f"archived_at IS {'NOT ' if archived else ''}NULL"]
        values: list[Any] = []
        names = {"source_type": source_type, "outcome": outcome, "trust": trust, "level": level}
        check_listing(names, provenance, limit, offset)  # so a key may stand in the statement
        conditions = {
            **{f"{name} = ?": value for name, value in names.items()},
            self.db.dialect.holds.format("tags_json"): tag,
            "scope_json ->> 'ontology' = ?": ontology,
            "coalesce(provenance_json ->> 'kind', 'procedure') = ?": kind,
        }
        for condition, value in conditions.items():
            if value is not None:
                where.append(condition)
                values.append(value)
        for key, value in (provenance or {}).items():
            where.append(f"provenance_json ->> '{key}' = ?")
            values.append(value)
        rows = self.db.rows(
            f"SELECT {COLUMNS} FROM memory_items WHERE {' AND '.join(where)}"
            " ORDER BY created_at DESC, item_no DESC LIMIT ? OFFSET ?",
            (*values, check_count(limit, "limit"), check_count(offset, "offset")),
        )
        return [from_row(row) for row in rows]

    def _counts(self) -> dict[str, Any]:
        """How many there are of what, as this tenant sees it."""
        mine, live = in_spaces(self.spaces.visible()), "AND archived_at IS NULL"

        def one(table: str, also: str = "") -> int:
            return int(self.db.value(f"SELECT count(*) FROM {table} WHERE space_id {mine} {also}"))

        def groups(column: str) -> dict[str, int]:
            sql = f"SELECT {column}, count(*) FROM memory_items WHERE space_id {mine} {live}"
            return dict(self.db.rows(f"{sql} GROUP BY {column} ORDER BY {column}"))

        with self.db.read():
            return {
                "memories": one("memory_items", live),
                "archived": one("memory_items", "AND archived_at IS NOT NULL"),
                "quarantined": one("memory_items", f"{live} AND trust = 'quarantined'"),
                **{f"by_{name}": groups(name) for name in LISTED_BY},
                **{table: one(table) for table in ("nodes", "hyperedges", "runs", "trajectories")},
                "packs": one("packs", "AND rolled_back_at IS NULL"),
            }
