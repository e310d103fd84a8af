"""Lists, counts and the last step of ranking: what is read from rows rather than from an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlm.store.records import ID_KINDS, check_listing
from rlm.store.sql.dialect import Connection, fetch, last_number
from rlm.store.sql.rows import COLUMNS, from_row
from rlm.store.sql.spaces import in_spaces
from rlm.store.types import MemoryItem, Tenant
from rlm.store.values import check_count, choice

_COUNTED = {
    "memories": ("memory_items", "AND archived_at IS NULL"),
    "trajectories": ("trajectories", ""),
    "jobs": ("distill_queue", "AND state IN ('ready', 'leased')"),
    "notes": ("index_outbox", ""),
}
_IDS = (("memory_items", "memory_id"), ("nodes", "id"), ("hyperedges", "id"))


def ids_starting(
    connection: Connection, spaces: tuple[int, ...], kind: str, prefix: str, limit: int
) -> list[str]:
    """A range of the index rather than LIKE, so that `%` and `_` are plain characters."""
    table, column = _IDS[ID_KINDS.index(choice(kind, ID_KINDS, "kind"))]
    rows = connection.execute(
        f"SELECT DISTINCT {column} FROM {table} WHERE space_id {in_spaces(spaces)}"
        f" AND {column} >= ? AND {column} < ? ORDER BY {column} LIMIT ?",
        (prefix, prefix + "\U0010ffff", check_count(limit, "limit")),
    )
    return [str(row[0]) for row in rows]


def changed_since(
    connection: Connection, spaces: tuple[int, ...], mark: int
) -> tuple[list[str], int]:
    """Ids of live memories with a number above a mark, and the highest number that was given."""
    newest = last_number(connection, "item")
    rows = connection.execute(
        f"SELECT DISTINCT memory_id FROM memory_items WHERE item_no > ? AND space_id"
        f" {in_spaces(spaces)} AND archived_at IS NULL AND trust <> 'quarantined'"
        " ORDER BY memory_id",
        (mark if mark <= newest else 0,),
    )
    return [str(row[0]) for row in rows], newest


def other_projects(connection: Connection, tenant: Tenant, what: str) -> dict[str, int]:
    """How many live memories, trajectories or open jobs the team's other projects have."""
    table, live = _COUNTED[choice(what, tuple(_COUNTED), "what")]
    rows = connection.execute(
        f"SELECT s.project, count(*) AS many FROM {table} JOIN spaces AS s USING (space_id) "
        f"WHERE s.level = 'project' AND s.org = ? AND s.team = ? AND s.project <> ? {live} "
        "GROUP BY s.project ORDER BY many DESC, s.project",
        (tenant.org, tenant.team, tenant.project),
    )
    return {str(project): int(many) for project, many in rows}


def held_elsewhere(
    connection: Connection, tenant: Tenant, own: int | None, memory_ids: Sequence[str]
) -> dict[str, int]:
    """In how many of the team's other projects each of these is, of those that `own` holds."""
    words, live = connection.dialect, "{0}.archived_at IS NULL"
    rows = connection.execute(
        "SELECT other.memory_id, count(DISTINCT s.space_id) FROM spaces AS s"
        f" JOIN memory_items AS other ON other.space_id = s.space_id AND {live.format('other')}"
        " JOIN memory_items AS mine ON mine.space_id = ? AND mine.memory_id = other.memory_id"
        f" AND {live.format('mine')} WHERE s.level = 'project' AND s.org = ? AND s.team = ?"
        f" AND s.space_id <> ? AND other.memory_id {words.among} AND other.trust <> 'quarantined'"
        " AND other.source_type <> 'pack' GROUP BY other.memory_id",
        (own, tenant.org, tenant.team, own, words.pack_list(memory_ids)),
    )
    return {str(memory_id): int(many) for memory_id, many in rows}


def select(
    connection: Connection,
    spaces: tuple[int, ...],
    *,
    source_type: str | None = None,
    outcome: str | None = None,
    trust: str | None = None,
    tag: str | None = None,
    ontology: str | None = None,
    provenance: dict[str, str] | None = None,
    level: str | None = None,
    archived: bool = False,
    limit: int = 100,
    offset: int = 0,
) -> list[MemoryItem]:
    """Memories by what they are, newest first."""
    where = [f"space_id {in_spaces(spaces)}", f"archived_at IS {'NOT ' if archived else ''}NULL"]
    values: list[Any] = []
    names = {"source_type": source_type, "outcome": outcome, "trust": trust, "level": level}
    check_listing(names, provenance, limit, offset)  # so a key may stand in the statement itself
    for name, value in names.items():
        if value is not None:
            where.append(f"{name} = ?")
            values.append(value)
    if tag is not None:
        where.append(connection.dialect.holds.format("tags_json"))
        values.append(tag)
    if ontology is not None:
        where.append("scope_json ->> 'ontology' = ?")
        values.append(ontology)
    for key, value in (provenance or {}).items():
        where.append(f"provenance_json ->> '{key}' = ?")
        values.append(value)
    rows = connection.execute(
        f"SELECT {COLUMNS} FROM memory_items WHERE {' AND '.join(where)} "
        "ORDER BY created_at DESC, item_no DESC LIMIT ? OFFSET ?",
        (*values, check_count(limit, "limit"), check_count(offset, "offset")),
    )
    return [from_row(row) for row in rows]


def counts(connection: Connection, spaces: tuple[int, ...]) -> dict[str, Any]:
    """How many there are of what, as this tenant sees it."""
    mine = in_spaces(spaces)

    def one(table: str, also: str = "") -> int:
        sql = f"SELECT count(*) FROM {table} WHERE space_id {mine} {also}"
        return int(next(iter(connection.execute(sql)))[0])

    def groups(column: str) -> dict[str, int]:
        sql = (
            f"SELECT {column}, count(*) FROM memory_items WHERE space_id {mine} AND archived_at IS"
            f" NULL GROUP BY {column} ORDER BY {column}"
        )
        return dict(fetch(connection, sql))

    live = "AND archived_at IS NULL"
    return {
        "memories": one("memory_items", live),
        "archived": one("memory_items", "AND archived_at IS NOT NULL"),
        "quarantined": one("memory_items", f"{live} AND trust = 'quarantined'"),
        **{f"by_{name}": groups(name) for name in ("source_type", "outcome", "trust", "level")},
        **{table: one(table) for table in ("nodes", "hyperedges", "runs", "trajectories")},
        "packs": one("packs", "AND rolled_back_at IS NULL"),
    }
