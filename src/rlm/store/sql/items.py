"""Memories in their table: reading, adding, changing, archiving, with the indexes kept in step.

Every function runs inside the caller's transaction and sees one tenant's spaces only. Words decide
the row's number: adding takes the next one, and so does any change of words or any return from the
archive. The engine's `SearchIndex` is told of every change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlm.retrieval.codes import pack_vectors
from rlm.retrieval.embed import Embedder
from rlm.store.document import item_columns, item_text
from rlm.store.identity import is_stable_id
from rlm.store.sql import outbox
from rlm.store.sql.dialect import Connection, take_numbers
from rlm.store.sql.reembed import note_model
from rlm.store.sql.rows import COLUMNS, NAMES, from_row, to_row
from rlm.store.sql.sources import LiveRow, SearchIndex
from rlm.store.sql.spaces import in_spaces
from rlm.store.types import MemoryItem

_MARKS = ",".join("?" * (len(NAMES) + 6))
_INSERT = (
    f"INSERT INTO memory_items(item_no, space_id, {COLUMNS}, scope_words, grams, embedding,"
    f" embedding_model) VALUES ({_MARKS})"
)
_NEAREST = "CASE level WHEN 'project' THEN 0 WHEN 'team' THEN 1 ELSE 2 END"


def insert(
    connection: Connection, index: SearchIndex, space: int, fresh: Sequence[MemoryItem]
) -> None:
    """Add memories that passed the gate and that the space is known to lack."""
    if not fresh:
        return
    vectors = embed(index.embedder, fresh)
    columns = [item_columns(item) for item in fresh]
    first = take_numbers(connection, "item", len(fresh))
    connection.executemany(
        _INSERT,
        (
            (first + place, space, *to_row(item, words[2]), words[3], words[6], vector, index.model)
            for place, (item, words, vector) in enumerate(zip(fresh, columns, vectors, strict=True))
        ),
    )
    rows = enumerate(zip(fresh, columns, vectors, strict=True), first)
    index.add(
        connection,
        [
            LiveRow(number, space, words, vector)
            for number, (item, words, vector) in rows
            if _is_live(item)
        ],
    )
    outbox.note_range(connection, first, first + len(fresh) - 1)
    note_model(connection, index.model)


def rewrite(
    connection: Connection, index: SearchIndex, number: int, space: int, item: MemoryItem
) -> int:
    """Rewrite every column of an existing row, in this space, under a new number; that number."""
    fresh = take_numbers(connection, "item", 1)
    outbox.note_rows(connection, [number])
    words, vector = item_columns(item), embed(index.embedder, [item])[0]
    sets = ", ".join(f"{name} = ?" for name in NAMES)
    connection.execute(
        f"UPDATE memory_items SET item_no = ?, space_id = ?, {sets}, scope_words = ?, grams = ?,"
        " embedding = ?, embedding_model = ? WHERE item_no = ?",
        (fresh, space, *to_row(item, words[2]), words[3], words[6], vector, index.model, number),
    )
    live = LiveRow(fresh, space, words, vector) if _is_live(item) else None
    index.replace(connection, number, live)
    outbox.note_rows(connection, [fresh])
    note_model(connection, index.model)
    return fresh


def archive(connection: Connection, index: SearchIndex, numbers: Sequence[int], at: str) -> None:
    """Put rows away; they keep their numbers."""
    outbox.note_rows(connection, numbers)
    sql = "UPDATE memory_items SET archived_at = ? WHERE item_no = ?"
    connection.executemany(sql, ((at, n) for n in numbers))
    index.remove(connection, numbers)


def remove(connection: Connection, index: SearchIndex, numbers: Sequence[int]) -> None:
    """Take rows away for good."""
    outbox.note_rows(connection, numbers)
    connection.executemany("DELETE FROM memory_items WHERE item_no = ?", ((n,) for n in numbers))
    index.remove(connection, numbers)


def embed(embedder: Embedder | None, batch: Sequence[MemoryItem]) -> list[bytes] | list[None]:
    """The vector of each memory as its row holds it."""
    if embedder is None:
        return [None] * len(batch)
    return pack_vectors(embedder.embed_documents([item_text(item) for item in batch]))


def _is_live(item: MemoryItem) -> bool:
    """What `memory_live` shows."""
    return item.archived_at is None and item.trust != "quarantined"


def existing_ids(connection: Connection, space: int, ids: Sequence[str]) -> set[str]:
    """Which of these ids the space holds already, archived ones included."""
    words = connection.dialect
    sql = f"SELECT memory_id FROM memory_items WHERE space_id = ? AND memory_id {words.among}"
    return {row[0] for row in connection.execute(sql, (space, words.pack_list(ids)))}


def fetch(
    connection: Connection,
    spaces: tuple[int, ...],
    memory_id: str,
    *,
    archived_first: bool = False,
) -> tuple[int, int, MemoryItem] | None:
    """(item_no, space_id, memory) of the nearest level with this id; live first, or last."""
    columns = f"item_no, space_id, {COLUMNS}"
    row = _nearest(connection, spaces, memory_id, columns, archived_first=archived_first)
    return None if row is None else (row[0], row[1], from_row(row[2:]))


def locate(
    connection: Connection, spaces: tuple[int, ...], memory_id: str
) -> tuple[int, bool, str] | None:
    """(item_no, whether it is archived, its stable id), read no further: it may be damaged."""
    row = _nearest(connection, spaces, memory_id, "item_no, archived_at IS NOT NULL, memory_id")
    return None if row is None else (row[0], bool(row[1]), row[2])


def _nearest(
    connection: Connection,
    spaces: tuple[int, ...],
    memory_id: str,
    columns: str,
    *,
    archived_first: bool = False,
) -> tuple[Any, ...] | None:
    order = "archived_at IS NULL" if archived_first else "archived_at IS NOT NULL"
    select = f"SELECT {columns} FROM memory_items WHERE space_id {in_spaces(spaces)} AND"
    sql = f"{select} memory_id = ? ORDER BY {order}, {_NEAREST} LIMIT 1"
    row = next(iter(connection.execute(sql, (memory_id,))), None)
    if row is not None or is_stable_id(memory_id) or not isinstance(memory_id, str):
        return row
    sql = (  # an index serves this
        f"{select} {connection.dialect.alias} = ?"
        f" ORDER BY {order}, trust = 'quarantined', {_NEAREST}, item_no DESC LIMIT 1"
    )
    return next(iter(connection.execute(sql, (memory_id,))), None)
