"""The form of a JSON store's file, and its rows: read, checked, written.

    {"format": 2, "memories": [{"title": …}, …], "spaces": [{…}], "runs": [{…}], …}

Memories are objects with the fields of `MemoryItem`. Every other table that is not empty stands
under its own name, a row an object, with what is JSON as JSON; a pack says which memories it
`brought`, and whether each is still as it was. What is derived, as indexes and vectors are, is left
out, and made again from the rows.

People edit such files, so the type of every field is checked, and its range by the schema. Texts
are not cleaned again; only the id of a memory is computed again, since its words may have changed.
Every refusal is a ValidationError that begins with the row: `memories[2]: title is 7: use text`.
Two older forms are read too: format 1, which had four lists beside the memories, and seed 001's
plain list of memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import apsw
import orjson

from rlm.errors import ValidationError
from rlm.store import gate
from rlm.store.document import item_columns, node_grams
from rlm.store.identity import canonical_json
from rlm.store.sql.dialect import fetch
from rlm.store.sql.rows import COLUMNS, NAMES, from_row, to_row
from rlm.store.sql.sources import MEMORY, NODE
from rlm.store.sqlite import blocks
from rlm.store.sqlite.candidates import reindex
from rlm.store.sqlite.connection import SQLiteConnection
from rlm.store.types import MemoryItem, Tenant
from rlm.store.values import admit_time, finite, natural, show

FORMAT = 2
DERIVED = frozenset({"meta", "counters", "recall_blocks"})
VECTORS = frozenset({"embedding", "embedding_model"})
TIMES = frozenset(
    {"at", "created_at", "imported_at", "rolled_back_at", "archived_at", "last_used", "ended_at",
     "finished_at", "not_before", "leased_until"}
)  # fmt: skip
SPACE = ("level", "org", "team", "project")
RENAMED = {"artifact": "artifact_json", "missing": "missing_json",
           "before": "confidence_before", "after": "confidence_after"}  # fmt: skip
"""Fields of format 1, and the columns that they became."""

Row = dict[str, Any]
Spaces = dict[tuple[str, ...], int]


def dump(connection: SQLiteConnection) -> bytes:
    """All rows, of whatever tenant, as the text of a file."""
    memories = connection.execute(f"SELECT {COLUMNS} FROM memory_items ORDER BY item_no")
    made: Row = {"format": FORMAT, "memories": [from_row(row).to_dict() for row in memories]}
    for table, columns in _tables(connection).items():
        if table in ("memory_items", "pack_items"):
            continue
        names = [name for name in columns if name != "grams"]
        sql = f'SELECT {", ".join(names)} FROM "{table}" ORDER BY rowid'
        if rows := [dict(zip(names, row, strict=True)) for row in connection.execute(sql)]:
            made[table] = rows
        for name in (name for name in names if _is_json(name, columns[name])):
            for row in rows:
                row[name] = orjson.loads(row[name])
    for pack in made.get("packs", ()):
        same = "item_no IN (SELECT item_no FROM memory_items)"
        sql = f"SELECT memory_id, {same} FROM pack_items WHERE pack_no = ?"
        found = connection.execute(sql, (pack["pack_no"],))
        pack["brought"] = {memory_id: bool(as_brought) for memory_id, as_brought in found}
    return orjson.dumps(made, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def load(connection: SQLiteConnection, data: bytes, tenant: Tenant, origin: str) -> bool:
    """Replace all rows by those of a file, inside a transaction; whether it is of this format.

    ValueError where it cannot be read. A memory without an owner is the tenant's.
    """
    made = orjson.loads(data)
    if is_list := isinstance(made, list):
        made = {"format": 1, "memories": made}
    if not isinstance(made, dict) or made.get("format") not in (1, FORMAT):
        raise ValueError(f"not a memory store of format {FORMAT}")
    if "memories" not in made:
        raise ValueError("it has no memories")
    tables = _tables(connection)
    parts = dict(made) if made["format"] == FORMAT else _from_format_1(made, tenant)
    for name in parts.keys() - tables.keys() - {"format", "memories"}:
        raise ValueError(f"unknown part {show(name)}; known: memories, {', '.join(tables)}")
    spaces: Spaces = {}
    for where, row in _each(parts.get("spaces", []), "spaces"):
        with _at(where):
            spaces[tuple(row[name] for name in SPACE)] = row["space_id"]
    admit = partial(gate.admit_item, tenant=tenant, origin=origin)
    try:
        memories = _memories(made["memories"], spaces, admit, is_list=is_list)
    except ValidationError as exc:
        hint = "; `rlm memory import` takes the others" if is_list else ""
        raise ValidationError(f"{exc}{hint}") from exc
    parts |= {"spaces": _space_rows(spaces), "memory_items": memories}
    parts["pack_items"] = _pack_items(parts.get("packs", []), memories)
    connection.pragma("defer_foreign_keys", True)
    for table in tables:
        connection.execute(f'DELETE FROM "{table}"')
    for table, columns in tables.items():
        _insert(connection, table, columns, parts.get(table, []))
    for source in (MEMORY, NODE):
        last = f"(SELECT coalesce(max({source.key}), 0) FROM {source.table})"
        connection.execute(f"UPDATE counters SET value = {last} WHERE name = '{source.counter}'")
        reindex(connection, source)
        blocks.rebuild(connection, source)
    for table, number, parent, _ in fetch(connection, "PRAGMA foreign_key_check"):
        raise ValidationError(f"row {number} of {table} refers to a row that {parent} lacks")
    return bool(made["format"] == FORMAT)


def _memories(
    rows: Any, spaces: Spaces, admit: Callable[[MemoryItem], MemoryItem], *, is_list: bool
) -> list[Row]:
    """Rows of `memory_items`. A memory without an owner, written by hand, passes the gate; so does
    every one of a plain list, in which the same words twice are one."""
    found: list[Row] = []
    seen = set()
    for where, row in _each(rows, "memories"):
        with _at(where):
            item = MemoryItem.from_dict(row)
            item.rekey()
            if is_list or not item.org:
                item = admit(item)
            _check_kind(item.tags, list, "tags", "a list of text")
            for tag in item.tags:
                _check_kind(tag, str, "tags", "text")
            _check_kind(item.provenance, dict, "provenance", "an object")
            item.team = "" if item.level == "org" else item.team
            item.project = item.project if item.level == "project" else ""
            space = _space(spaces, item.level, item.org, item.team, item.project)
            if is_list and (space, item.memory_id) in seen:
                continue
            seen.add((space, item.memory_id))
            words = item_columns(item)
            made = dict(zip(NAMES, to_row(item, words[2]), strict=True))
            made |= {"item_no": len(found) + 1, "space_id": space}
            found.append(made | {"scope_words": words[3], "grams": words[6]})
    return found


def _pack_items(packs: Any, memories: list[Row]) -> list[Row]:
    """What packs brought. A memory that is as it was has the number that its pack noted."""
    numbers = {(row["space_id"], row["memory_id"]): row["item_no"] for row in memories}
    found = []
    for where, pack in _each(packs, "packs"):
        with _at(where):
            brought = pack.pop("brought")
            _check_kind(brought, dict, "brought", "an object")
            for name, same in brought.items():
                number = numbers.get((pack["space_id"], name), 0) if same else 0
                found.append({"pack_no": pack["pack_no"], "memory_id": name, "item_no": number})
    return found


def _space(spaces: Spaces, *key: str) -> int:
    """The id of one (level, org, team, project), a new one if need be."""
    return spaces.setdefault(key, 1 + max(spaces.values(), default=0))


def _space_rows(spaces: Spaces) -> list[Row]:
    return [
        {"space_id": number, **dict(zip(SPACE, key, strict=True))} for key, number in spaces.items()
    ]


# -- tables ----------------------------------------------------------------------------------------


def _tables(connection: SQLiteConnection) -> dict[str, dict[str, str]]:
    """The tables that are not derived: their columns and declared types."""
    sql = (
        "SELECT t.name, c.name, c.type FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite_*' AND t.name NOT GLOB '*_fts*'"
        " ORDER BY t.rowid, c.cid"
    )
    found: dict[str, dict[str, str]] = {}
    for table, column, kind in fetch(connection, sql):
        if table not in DERIVED and column not in VECTORS:
            found.setdefault(table, {})[column] = kind
    return found


def _is_json(column: str, kind: str) -> bool:
    return kind == "JSON" or column.endswith("_json")


def _insert(
    connection: SQLiteConnection, table: str, columns: Mapping[str, str], rows: Any
) -> None:
    marks = ", ".join(f":{name}" for name in columns)
    sql = f'INSERT INTO "{table}"({", ".join(columns)}) VALUES ({marks})'
    for where, row in _each(rows, "memories" if table == "memory_items" else table):
        with _at(where):
            if table == "nodes":
                row["grams"] = node_grams(row["subtype"], row["content"])
            for name in row.keys() - columns.keys():
                known = f"unknown field {show(name)}; known: {', '.join(columns)}"
                raise ValidationError(known, field=name)
            values = {name: row[name] for name in columns}
            for name, kind in columns.items() if table != "memory_items" else ():
                if _is_json(name, kind):
                    values[name] = canonical_json(row[name])
            for name, kind in columns.items():
                if values[name] is not None:
                    _check(values[name], name, kind)
            connection.execute(sql, values)


def _check(value: Any, name: str, kind: str) -> None:
    """SQLite stores anything anywhere: the type is checked here. What may be missing, it knows."""
    if kind == "INTEGER":
        natural(int(value) if isinstance(value, bool) else value, name)
    elif kind == "REAL":
        finite(value, name)
    else:
        _check_kind(value, str, name, "text")
        if name in TIMES:
            admit_time(value, name)


def _check_kind(value: Any, kind: type, name: str, expected: str) -> None:
    if not isinstance(value, kind):
        raise ValidationError(f"{name} is {show(value)}: use {expected}", field=name)


def _each(rows: Any, name: str) -> Iterator[tuple[str, Row]]:
    """Every row with where it stands."""
    _check_kind(rows, list, name, "a list")
    for place, row in enumerate(rows):
        _check_kind(row, dict, f"{name}[{place}]", "an object")
        yield f"{name}[{place}]", row


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Whatever is wrong with a row, say which it is."""
    try:
        yield
    except KeyError as exc:
        raise ValidationError(f"{where}: {exc.args[0]} is missing") from exc
    except (apsw.Error, ValueError, TypeError, AttributeError) as exc:
        raise ValidationError(f"{where}: {exc}", field=getattr(exc, "field", None)) from exc


# -- format 1 --------------------------------------------------------------------------------------


def _from_format_1(made: Row, tenant: Tenant) -> Row:
    """The tables of a file of format 1. A row without an owner is the tenant's."""
    spaces: Spaces = {}
    found: defaultdict[str, dict[Any, Row]] = defaultdict(dict)

    def put(table: str, row: Row, owner: Any, *key: str, **more: Any) -> None:
        org, team, project = owner or (tenant.org, tenant.team, tenant.project)
        level = "project" if project else "team" if team else "org"
        made = {RENAMED.get(name, name): value for name, value in row.items()} | more
        made["space_id"] = _space(spaces, level, org, team, project)
        rows = found[table]
        rows[(made["space_id"], *(made[name] for name in key)) if key else len(rows)] = made

    for part in ("artifacts", "usage", "signals", "packs"):
        for number, (where, row) in enumerate(_each(made.get(part, []), part), start=1):
            with _at(where):
                row, owner = dict(row), row.get("owner")
                row.pop("owner", None)
                if part == "usage":
                    put("memory_usage", row, owner, "trajectory_id", "memory_id")
                elif part == "signals":
                    put("confidence_signals", row, owner, signal_no=number)
                elif part == "packs":
                    put("packs", {name: row[name] for name in row if name != "level"}, owner)
                else:
                    put("runs", row["run"], owner, "run_id")
                    put("trajectories", row["trajectory"], owner)
                    given_to = row["trajectory"]["trajectory_id"]
                    if row["judgment"] is not None:
                        put("judgments", row["judgment"], owner, trajectory_id=given_to)
    tables = {table: list(rows.values()) for table, rows in found.items()}
    return tables | {"spaces": _space_rows(spaces)}
