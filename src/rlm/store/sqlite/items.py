"""Memories in their table: reading, adding, changing, archiving, with the indexes kept in step.

Every function runs inside the caller's transaction and sees one tenant's spaces only. Words decide
the row's number: adding takes the next one, and so does any change of words or any return from the
archive. FTS5 follows by triggers and, for new rows, by `Source.index`; sign codes by `blocks`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import apsw

from rlm.retrieval.embed import Embedder
from rlm.store.document import item_columns, item_text
from rlm.store.identity import is_stable_id
from rlm.store.sqlite import blocks
from rlm.store.sqlite.blocks import BlockEntry
from rlm.store.sqlite.reembed import note_model
from rlm.store.sqlite.rows import COLUMNS, NAMES, from_row, to_row
from rlm.store.sqlite.schema import ALIAS
from rlm.store.sqlite.sources import MEMORY
from rlm.store.sqlite.spaces import in_spaces, take_numbers
from rlm.store.types import MemoryItem

_MARKS = ",".join("?" * (len(NAMES) + 6))
_INSERT = (
    f"INSERT INTO memory_items(item_no, space_id, {COLUMNS}, scope_words, grams, embedding,"
    f" embedding_model) VALUES ({_MARKS})"
)
_NEAREST = "CASE level WHEN 'project' THEN 0 WHEN 'team' THEN 1 ELSE 2 END"


def insert(
    connection: apsw.Connection, space: int, fresh: Sequence[MemoryItem], embedder: Embedder | None
) -> None:
    """Add memories that passed the gate and that the space is known to lack."""
    if not fresh:
        return
    vectors = embed(embedder, fresh)
    model = embedder.model if embedder else None
    columns = [item_columns(item) for item in fresh]
    first = take_numbers(connection, "item", len(fresh))
    connection.executemany(
        _INSERT,
        (
            (first + place, space, *to_row(item, words[2]), words[3], words[6], vector, model)
            for place, (item, words, vector) in enumerate(zip(fresh, columns, vectors, strict=True))
        ),
    )
    MEMORY.index(connection, first, first + len(fresh) - 1)
    rows = enumerate(zip(fresh, columns, vectors, strict=True), first)
    live = [
        BlockEntry(number, space, sum(map(len, words)), vector)
        for number, (item, words, vector) in rows
        if _is_live(item)
    ]
    blocks.put(connection, MEMORY, live, model)
    note_model(connection, model)


def rewrite(
    connection: apsw.Connection,
    number: int,
    space: int,
    item: MemoryItem,
    embedder: Embedder | None,
) -> int:
    """Rewrite every column of an existing row, in this space, under a new number; that number."""
    fresh = take_numbers(connection, "item", 1)
    words, model = item_columns(item), embedder.model if embedder else None
    vector = embed(embedder, [item])[0]
    sets = ", ".join(f"{name} = ?" for name in NAMES)
    connection.execute(
        f"UPDATE memory_items SET item_no = ?, space_id = ?, {sets}, scope_words = ?, grams = ?,"
        " embedding = ?, embedding_model = ? WHERE item_no = ?",
        (fresh, space, *to_row(item, words[2]), words[3], words[6], vector, model, number),
    )
    blocks.erase(connection, MEMORY, [number])
    if _is_live(item):
        blocks.put(
            connection, MEMORY, [BlockEntry(fresh, space, sum(map(len, words)), vector)], model
        )
    note_model(connection, model)
    return fresh


def archive(connection: apsw.Connection, numbers: Sequence[int], at: str) -> None:
    """Put rows away; they keep their numbers."""
    sql = "UPDATE memory_items SET archived_at = ? WHERE item_no = ?"
    connection.executemany(sql, ((at, n) for n in numbers))
    blocks.erase(connection, MEMORY, numbers)


def remove(connection: apsw.Connection, numbers: Sequence[int]) -> None:
    """Take rows away for good."""
    connection.executemany("DELETE FROM memory_items WHERE item_no = ?", ((n,) for n in numbers))
    blocks.erase(connection, MEMORY, numbers)


def embed(embedder: Embedder | None, batch: Sequence[MemoryItem]) -> list[bytes] | list[None]:
    """The vector of each memory as its row holds it."""
    if embedder is None:
        return [None] * len(batch)
    return blocks.pack_vectors(embedder.embed_documents([item_text(item) for item in batch]))


def _is_live(item: MemoryItem) -> bool:
    """What `memory_live` shows."""
    return item.archived_at is None and item.trust != "quarantined"


def existing(connection: apsw.Connection, space: int, ids: Sequence[str]) -> set[str]:
    """Which of these ids the space holds already, archived ones included."""
    sql = (
        "SELECT memory_id FROM memory_items WHERE space_id = ? AND memory_id IN (SELECT value FROM"
        " json_each(?))"
    )
    return {row[0] for row in connection.execute(sql, (space, json.dumps(ids)))}


def fetch(
    connection: apsw.Connection,
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
    connection: apsw.Connection, spaces: tuple[int, ...], memory_id: str
) -> tuple[int, bool, str] | None:
    """(item_no, whether it is archived, its stable id), read no further: it may be damaged."""
    row = _nearest(connection, spaces, memory_id, "item_no, archived_at IS NOT NULL, memory_id")
    return None if row is None else (row[0], bool(row[1]), row[2])


def _nearest(
    connection: apsw.Connection,
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
    sql = (  # the index of `schema.ALIAS` serves this
        f"{select} {ALIAS} = ?"
        f" ORDER BY {order}, trust = 'quarantined', {_NEAREST}, item_no DESC LIMIT 1"
    )
    return next(iter(connection.execute(sql, (memory_id,))), None)
