"""Can every row be read? SQLite stores anything in any column, also in a sound file.

Each memory and node is read as any command would read it, and what that raises is the finding. Of a
memory some things are asked that no command asks: is its id that of its words, and are its times
times? Only `rlm doctor` does this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from rlm import clock
from rlm.errors import StoreCorrupt
from rlm.store.identity import memory_id
from rlm.store.sql import graph, rows
from rlm.store.sql.database import WHICH_ROWS
from rlm.store.sql.sources import MEMORY, NODE, Source
from rlm.store.sqlite.connection import SQLiteDatabase

HISTORY = (
    ("trajectories", "artifact_json"),
    ("judgments", "missing_json"),
    ("evolution_log", "node_ids"),
    ("distill_queue", "payload_json"),
)


class Damage(NamedTuple):
    """One damaged row. `name` is its id, if it has one."""

    number: int
    space: int
    name: str | None
    what: str


def damaged_memories(database: SQLiteDatabase) -> Iterator[Damage]:
    """Memories, also archived ones, that some command could not read."""
    return _damaged(database, MEMORY, "TRUE", _read_memory)


def damaged_nodes(database: SQLiteDatabase) -> Iterator[Damage]:
    """Nodes, but for archived ones, that some command could not read."""
    return _damaged(database, NODE, "tier <> 'archive'", graph.node_of)


def damaged_history(database: SQLiteDatabase) -> Iterator[Damage]:
    """Rows of the other tables whose JSON is invalid."""
    for table, column in HISTORY:
        sql = (
            f"SELECT rowid, space_id FROM {table} WHERE typeof({column}) <> 'text' OR NOT"
            f" json_valid({column})"
        )
        for number, space in database.rows(sql):
            yield Damage(number, space, None, f"row {number}: {table}.{column} is no JSON")


def _damaged(
    database: SQLiteDatabase, source: Source, where: str, read: Callable[[Sequence[Any]], Any]
) -> Iterator[Damage]:
    named = f"iif(typeof({source.id}) = 'text', CAST({source.id} AS BLOB), NULL)"
    sql = f"SELECT {source.key}, space_id, {named} FROM {source.table} WHERE {where}"
    one = f"SELECT {source.row}, {source.extra} FROM {source.table} WHERE {source.key} = ?"
    extras = source.extra.count(",") + 1
    for number, space, name in database.rows(f"{sql} ORDER BY {source.key}"):
        try:
            row = database.row(one, (number,)) or ()
            source.document(number, row[:-extras], row[-extras:], None)
            read(row[:-extras])
        except StoreCorrupt as exc:
            text = None if name is None else name.decode("utf-8", "replace")
            what = str(exc).removesuffix(f": {WHICH_ROWS}")
            if isinstance(exc.__cause__, UnicodeDecodeError):
                what = f"{source.table}: a text of {source.kind} {text} is not UTF-8"
            yield Damage(number, space, text, what)


def _read_memory(row: Sequence[Any]) -> None:
    item = rows.from_row(row)
    for name in ("created_at", "archived_at"):
        try:
            clock.parse_iso(getattr(item, name) or item.created_at)
        except ValueError as exc:
            raise rows.damaged_memory(row, name, str(exc)) from exc
    if memory_id(item.title, item.content, item.scope.to_dict()) != item.memory_id:
        raise rows.damaged_memory(row, "memory_id", "it is not that of title, content and scope")
