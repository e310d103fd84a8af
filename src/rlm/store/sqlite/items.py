"""Memories as rows: reading, adding, changing, archiving.

Every function runs inside the caller's transaction and sees one tenant's spaces only. Words decide
the row's number: adding takes the next one, and so does any change of words or any return from the
archive, and the old number goes to `recall_dead` (see `recall.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import product
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from rlm.errors import StoreCorrupt
from rlm.store.document import item_columns
from rlm.store.identity import canonical_json, is_stable_id, json_object
from rlm.store.sqlite.connection import damaged_row, kind_of
from rlm.store.sqlite.spaces import in_spaces, take_numbers
from rlm.store.types import DEFAULT_SCOPE, MemoryItem, Scope

COLUMNS = (
    "memory_id, title, description, content, source_type, task_query, created_at, tags_json,"
    " scope_json, provenance_json, access_count, success_count, failure_count, outcome, confidence,"
    " last_used, org, team, project, level, source_session, trust, origin, archived_at"
)
NAMES = tuple(COLUMNS.split(", "))
_MARKS = ",".join("?" * (len(NAMES) + 6))
_INSERT = (
    f"INSERT INTO memory_items(item_no, space_id, {COLUMNS}, scope_words, grams, embedding,"
    f" embedding_model) VALUES ({_MARKS})"
)
_NEAREST = "CASE level WHEN 'project' THEN 0 WHEN 'team' THEN 1 ELSE 2 END"
_DEFAULT_SCOPE_JSON = canonical_json(DEFAULT_SCOPE.to_dict())


_NUMBERS = {"access_count": int, "success_count": int, "failure_count": int, "confidence": float}
_MAY_LACK = ("task_query", "last_used", "source_session", "archived_at")
_KINDS = tuple(
    (_NUMBERS.get(name, str), *((type(None),) if name in _MAY_LACK else ())) for name in NAMES
)
_SHAPES = frozenset(product(*_KINDS))
"""The types that the columns of a sound row can have, of all columns at once: one look-up a row."""
_JSON = {"tags_json": list, "scope_json": dict, "provenance_json": dict}


def has_right_types(row: Sequence[Any]) -> bool:
    """Whether each value of `COLUMNS` is text, a number or nothing, as it must be."""
    return tuple(map(type, row)) in _SHAPES


def fault(row: Sequence[Any]) -> tuple[str, str] | None:
    """The first of `COLUMNS` that cannot be read, and why; None if all can."""
    for name, value, kinds in zip(NAMES, row, _KINDS, strict=True):
        if type(value) not in kinds:
            return name, f"it is {kind_of(value)}"
    for name, kind in _JSON.items():
        text = row[NAMES.index(name)]
        try:
            value = json.loads(text)
            if name == "scope_json" and type(value) is dict:
                Scope.from_dict(value)
        except (ValueError, TypeError, RecursionError) as exc:
            return name, f"{text[:40]!r}: {exc or type(exc).__name__}"
        if type(value) is not kind or (
            kind is list and not all(type(part) is str for part in value)
        ):
            return name, f"{text[:40]!r} is no {'list of texts' if kind is list else 'object'}"
    return None


def from_row(row: Sequence[Any]) -> MemoryItem:
    """A memory from the values of `COLUMNS`. StoreCorrupt, with the column, where that is none."""
    try:
        if has_right_types(row):
            return _from_row(row)
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise _damaged(row) from exc
    raise _damaged(row)


def _damaged(row: Sequence[Any]) -> StoreCorrupt:
    column, what = fault(row) or ("a column", "it cannot be read")
    return damaged_row("memory_items", f"memory {str(row[0])[:40]}", column, what)


def _from_row(row: Sequence[Any]) -> MemoryItem:
    (memory_id, title, description, content, source_type, task_query, created_at, tags, scope, provenance,
     access, success, failure, outcome, confidence, last_used, org, team, project, level, session, trust,
     origin, archived_at) = row  # fmt: skip
    tag_list, stated = json.loads(tags), json.loads(provenance)
    if (
        type(tag_list) is not list
        or type(stated) is not dict
        or (tag_list and set(map(type, tag_list)) != {str})
    ):
        raise TypeError("valid JSON, but of another kind")
    return MemoryItem(
        title=title,
        description=description,
        content=content,
        source_type=source_type,
        task_query=task_query,
        tags=tag_list,
        scope=Scope.from_dict(json.loads(scope)),
        provenance=stated,
        outcome=outcome,
        confidence=confidence,
        level=level,
        created_at=created_at,
        memory_id=memory_id,
        session_id=session,
        access_count=access,
        success_count=success,
        failure_count=failure,
        last_used=last_used,
        trust=trust,
        origin=origin,
        org=org,
        team=team,
        project=project,
        archived_at=archived_at,
    )


@lru_cache(maxsize=256)
def _scope_json(scope: Scope) -> str:
    return canonical_json(scope.to_dict())


def _values(item: MemoryItem, tags_json: str) -> tuple[Any, ...]:
    """The values of `COLUMNS` for a memory that has passed the gate."""
    scope_json = _DEFAULT_SCOPE_JSON if item.scope is DEFAULT_SCOPE else _scope_json(item.scope)
    return (
        item.memory_id, item.title, item.description, item.content, item.source_type, item.task_query,
        item.created_at, tags_json, scope_json,
        json_object(item.provenance), item.access_count, item.success_count,
        item.failure_count, item.outcome, item.confidence, item.last_used, item.org, item.team, item.project,
        item.level, item.session_id, item.trust, item.origin, item.archived_at,
    )  # fmt: skip


def existing(connection: apsw.Connection, space: int, ids: Sequence[str]) -> set[str]:
    """Which of these ids the space holds already, archived ones included."""
    sql = (
        "SELECT memory_id FROM memory_items WHERE space_id = ? AND memory_id IN (SELECT value FROM"
        " json_each(?))"
    )
    return {row[0] for row in connection.execute(sql, (space, json.dumps(ids)))}


def is_empty(connection: apsw.Connection, space: int) -> bool:
    """Whether the space holds no memory at all, not even an archived one."""
    return not connection.execute(
        "SELECT 1 FROM memory_items WHERE space_id = ? LIMIT 1", (space,)
    ).fetchall()


Row = tuple[Any, ...]
MANY = 512
"""From so many rows on they come from a pack or a list, through the gate, and not one by one."""


def prepare(
    space: int, items: Sequence[MemoryItem], columns: Sequence[tuple[str, ...]]
) -> list[Row]:
    """Rows for `insert`, all but number and vector; `columns` are `item_columns` of each. Touches
    no database."""
    return [
        (space, *_values(item, words[2]), words[3], words[6])
        for item, words in zip(items, columns, strict=True)
    ]


def insert(
    connection: apsw.Connection, rows: Sequence[Row], vectors: bytes, model: str | None
) -> int:
    """Add prepared rows of memories that are known to be absent; the first number. The caller
    indexes them.

    `vectors` are those of all rows, as 16-bit floats, one after another; none without a `model`.
    """
    first = take_numbers(connection, "item", len(rows))
    size = len(vectors) // len(rows) if rows else 0
    if model is None:
        values = ((number, *row, None, None) for number, row in enumerate(rows, first))
    else:
        values = (
            (first + place, *row, vectors[place * size : (place + 1) * size], model)
            for place, row in enumerate(rows)
        )
    with _checks_skipped(connection, len(rows) >= MANY):
        connection.executemany(_INSERT, values)
    return first


@contextmanager
def _checks_skipped(connection: apsw.Connection, skipped: bool) -> Iterator[None]:
    """The gate has checked these rows. The schema's own checks of them take as long as all the rest
    of a row."""
    if not skipped:
        yield
        return
    try:
        connection.pragma("ignore_check_constraints", True)
        yield
    finally:  # Ctrl-C may strike here too: `Database.write` does it again when anything was raised
        connection.pragma("ignore_check_constraints", False)


def pack_vectors(vectors: NDArray[np.float32]) -> list[bytes]:
    """Each row as the 16-bit floats that a row of the store holds."""
    data = vectors.astype(np.float16).tobytes()
    size = 2 * vectors.shape[1]
    return [data[i : i + size] for i in range(0, len(data), size)]


def fetch(
    connection: apsw.Connection,
    spaces: tuple[int, ...],
    memory_id: str,
    *,
    archived_first: bool = False,
) -> tuple[int, int, MemoryItem] | None:
    """(item_no, space_id, memory) of the nearest level that holds this id; what is live comes
    first, or last."""
    row = _nearest(
        connection,
        spaces,
        memory_id,
        f"item_no, space_id, {COLUMNS}",
        archived_first=archived_first,
    )
    return None if row is None else (row[0], row[1], from_row(row[2:]))


def locate(
    connection: apsw.Connection, spaces: tuple[int, ...], memory_id: str
) -> tuple[int, bool] | None:
    """(item_no, whether it is archived) of the same memory, read no further: it may be damaged."""
    row = _nearest(connection, spaces, memory_id, "item_no, archived_at IS NOT NULL")
    return None if row is None else (row[0], bool(row[1]))


def _nearest(
    connection: apsw.Connection,
    spaces: tuple[int, ...],
    memory_id: str,
    columns: str,
    *,
    archived_first: bool = False,
) -> Row | None:
    order = "archived_at IS NULL" if archived_first else "archived_at IS NOT NULL"
    select = f"SELECT {columns} FROM memory_items WHERE space_id {in_spaces(spaces)} AND"
    sql = f"{select} memory_id = ? ORDER BY {order}, {_NEAREST} LIMIT 1"
    row = next(iter(connection.execute(sql, (memory_id,))), None)
    if row is not None or is_stable_id(memory_id) or not isinstance(memory_id, str):
        return row
    # No index: only who gave a memory an id of their own asks for one of another form.
    sql = (
        f"{select} json_valid(provenance_json) AND json_extract(provenance_json, '$.alias') = ?"
        f" ORDER BY {order}, trust = 'quarantined', {_NEAREST}, item_no DESC LIMIT 1"
    )
    return next(iter(connection.execute(sql, (memory_id,))), None)


def fetch_numbers(connection: apsw.Connection, numbers: Iterable[int]) -> dict[int, MemoryItem]:
    """Memories by row number."""
    sql = (
        f"SELECT item_no, {COLUMNS} FROM memory_items WHERE item_no IN (SELECT value FROM"
        " json_each(?))"
    )
    return {
        row[0]: from_row(row[1:]) for row in connection.execute(sql, (json.dumps(list(numbers)),))
    }


def rewrite(
    connection: apsw.Connection,
    number: int,
    item: MemoryItem,
    vector: NDArray[np.float32] | None,
    model: str | None,
) -> int:
    """Write every column of an existing row anew, under a new number; that number."""
    fresh = take_numbers(connection, "item", 1)
    words = item_columns(item)
    sets = ", ".join(f"{name} = ?" for name in NAMES)
    connection.execute(
        f"UPDATE memory_items SET item_no = ?, {sets}, scope_words = ?, grams = ?, embedding = ?, "
        "embedding_model = ? WHERE item_no = ?",
        (
            fresh,
            *_values(item, words[2]),
            *(words[3], words[6]),
            None if vector is None else pack_vectors(vector[None, :])[0],
            model if vector is not None else None,
            number,
        ),
    )
    bury(connection, "memory", [number])
    return fresh


def bury(connection: apsw.Connection, kind: str, numbers: Iterable[int]) -> None:
    """Tell every process that these numbers no longer count."""
    connection.executemany(
        "INSERT INTO recall_dead(kind, number) VALUES (?, ?)", ((kind, n) for n in numbers)
    )
