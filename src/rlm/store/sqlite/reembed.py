"""A new embedding model: give every row a vector of it, then rebuild the sign codes.

`meta` says which model wrote last. A store that is opened with another one catches up by itself, if
the model is our own (no network, no cost) and the rows are few enough not to keep anybody waiting;
`rlm doctor` says when more is due, and `--fix` does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import apsw

from rlm.retrieval.embed import Embedder
from rlm.retrieval.static import STATIC_MODEL
from rlm.store.document import item_text
from rlm.store.sqlite import blocks, rows
from rlm.store.sqlite.connection import Database, Value
from rlm.store.sqlite.sources import MEMORY, NODE, Source

BATCH = 2_000
AT_ONCE = 20_000
"""So many rows are given a new vector when a store is opened: a second or two, once."""


def note_model(connection: apsw.Connection, model: str | None) -> None:
    """Remember, inside a write, whose vectors the newest rows have."""
    connection.execute(
        "INSERT INTO meta(key, value) VALUES ('embedding_model', ?) "
        "ON CONFLICT(key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value",
        (model or "none",),
    )


def is_due(database: Database, embedder: Embedder | None) -> bool:
    """Whether rows may lack a vector of this model, and few enough to embed at once."""
    if database.read_only or embedder is None or embedder.model != STATIC_MODEL:
        return False
    found = database.rows("SELECT value FROM meta WHERE key = 'embedding_model'")
    changed = bool(found) and found[0][0] != embedder.model
    return changed and stale_count(database, embedder) <= AT_ONCE


_STALE = (
    "(embedding_model IS NOT :model OR typeof(embedding) <> 'blob' OR (:size > 0 AND"
    " length(embedding) <> :size))"
)


def _stale_values(embedder: Embedder) -> dict[str, Value]:
    """The values of `_STALE`. How long a vector of an endpoint is shows when it first answers."""
    return {"model": embedder.model, "size": 2 * embedder.dim}


def stale_count(database: Database, embedder: Embedder) -> int:
    """How many rows have no vector of this model, or one of another length."""
    return sum(
        int(database.value(f"SELECT count(*) FROM {table} WHERE {_STALE}", _stale_values(embedder)))
        for table in ("memory_items", "nodes")
    )


def reembed(database: Database, embedder: Embedder | None) -> int:
    """Embed what lacks a vector of this model, one transaction a batch; how many rows."""
    if embedder is None:
        return 0
    done = 0
    for batch in _batches(database, embedder, MEMORY, rows.COLUMNS):
        texts = [item_text(rows.from_row(row[1:])) for row in batch]
        done += _write(database, embedder, MEMORY, [row[0] for row in batch], texts)
    for batch in _batches(database, embedder, NODE, "coalesce(subtype, ''), content, grams"):
        for row in batch:
            NODE.check_texts(row[0], row[1:])
        texts = [("", row[2]) for row in batch]
        done += _write(database, embedder, NODE, [row[0] for row in batch], texts)
    with database.write() as connection:
        for source in (MEMORY, NODE) if done else ():
            blocks.rebuild(connection, source, embedder.model)
        note_model(connection, embedder.model)
    return done


def _batches(
    database: Database, embedder: Embedder, source: Source, columns: str
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows that lack a vector, each once, whatever the model makes of them."""
    last, key = 0, source.key
    while batch := database.rows(
        f"SELECT {key}, {columns} FROM {source.table} WHERE {_STALE} AND {key} > :last"
        f" ORDER BY {key} LIMIT {BATCH}",
        {**_stale_values(embedder), "last": last},
    ):
        yield batch
        last = batch[-1][0]


def _write(
    database: Database,
    embedder: Embedder,
    source: Source,
    numbers: Sequence[int],
    texts: Sequence[tuple[str, str]],
) -> int:
    vectors = blocks.pack_vectors(embedder.embed_documents(texts))
    with database.write():
        pairs = zip(vectors, numbers, strict=True)
        database.run_many(
            f"UPDATE {source.table} SET embedding = ?, embedding_model = ? WHERE {source.key} = ?",
            [(vector, embedder.model, number) for vector, number in pairs],
        )
    return len(numbers)
