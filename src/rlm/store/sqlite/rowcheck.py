"""Can every row be read? SQLite stores anything in any column, also in a sound file.

Each memory and node is read as any command would read it, and some things are asked of it that no
command asks: is its id that of its words, and are its times times? Only `rlm doctor` does this.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from rlm import clock
from rlm.store.identity import memory_id, normalize_scope
from rlm.store.sql import graph, rows
from rlm.store.sql.database import kind_of
from rlm.store.sqlite.connection import SQLiteDatabase
from rlm.store.types import Scope

PAGE = 2_000
NOT_TEXT = "it is not UTF-8"

HISTORY = (
    ("trajectories", "artifact_json"),
    ("judgments", "missing_json"),
    ("evolution_log", "node_ids"),
    ("distill_queue", "payload_json"),
)

Found = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Damage:
    """One damaged row. `name` is its id, if it has one."""

    number: int
    space: int
    name: str | None
    column: str
    what: str


def damaged_memories(database: SQLiteDatabase) -> Iterator[Damage]:
    """Memories, also archived ones, that some command could not read."""
    extra = ("grams", "scope_words")
    return _scan(database, "memory_items", "item_no", (*rows.NAMES, *extra), "1", _memory_fault)


def damaged_nodes(database: SQLiteDatabase) -> Iterator[Damage]:
    """Nodes, but for archived ones, that some command could not read."""
    columns = (*graph.NODE_COLUMNS.split(", "), "grams")
    return _scan(database, "nodes", "node_no", columns, "tier <> 'archive'", _node_fault)


def damaged_history(database: SQLiteDatabase) -> Iterator[Damage]:
    """Rows of the other tables whose JSON is invalid."""
    for table, column in HISTORY:
        sql = (
            f"SELECT rowid, space_id FROM {table} WHERE typeof({column}) <> 'text' OR NOT"
            f" json_valid({column})"
        )
        for number, space in database.rows(sql):
            yield Damage(number, space, None, f"{table}.{column}", "it is no JSON")


def _scan(
    database: SQLiteDatabase,
    table: str,
    key: str,
    columns: tuple[str, ...],
    where: str,
    fault: Callable[[Sequence[Any]], Found],
) -> Iterator[Damage]:
    """Texts are read as bytes: what SQLite keeps as a text need not be UTF-8."""
    raw = ", ".join(
        f"iif(typeof({name}) = 'text', CAST({name} AS BLOB), {name}), typeof({name})"
        for name in columns
    )
    sql = (
        f"SELECT {key}, space_id, {raw} FROM {table} WHERE {where} AND {key} > ? ORDER BY {key}"
        f" LIMIT {PAGE}"
    )
    last = -(2**63)
    while page := database.rows(sql, (last,)):
        for number, space, *pairs in page:
            values: list[Any] = []
            found: Found = None
            for name, value, kind in zip(columns, pairs[::2], pairs[1::2], strict=True):
                try:
                    values.append(value.decode() if kind == "text" else value)
                except UnicodeDecodeError:
                    values.append(None)
                    found = found or (name, NOT_TEXT)
            found = found or fault(values)
            if found is not None:
                called = values[0] if isinstance(values[0], str) else None
                yield Damage(number, space, called, *found)
        last = page[-1][0]


_TITLE, _CONTENT, _SCOPE = map(rows.NAMES.index, ("title", "content", "scope_json"))
_TIMES = tuple(
    (name, rows.NAMES.index(name)) for name in ("created_at", "last_used", "archived_at")
)


@lru_cache(maxsize=256)
def _scope_in_id(scope_json: str) -> str:
    return normalize_scope(Scope.from_dict(json.loads(scope_json)).to_dict())


def _memory_fault(values: Sequence[Any]) -> Found:
    *row, grams, scope_words = values
    if (found := rows.fault(row)) is not None:
        return found
    for name, text in (("grams", grams), ("scope_words", scope_words)):
        if type(text) is not str:
            return name, f"it is {kind_of(text)}"
    for name, place in _TIMES:
        if row[place] is not None and not _is_time(row[place]):
            return name, f"{row[place][:40]!r} is no ISO 8601 time"
    if memory_id(row[_TITLE], row[_CONTENT], _scope_in_id(row[_SCOPE])) != row[0]:
        return "memory_id", "it is not that of its title, content and scope"
    return None


def _is_time(text: str) -> bool:
    try:
        clock.parse_iso(text)
    except ValueError:
        return False
    return True


def _node_fault(values: Sequence[Any]) -> Found:
    *row, grams = values
    wrong = None if type(grams) is str else ("grams", f"it is {kind_of(grams)}")
    return graph.node_fault(row) or wrong
