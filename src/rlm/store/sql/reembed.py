"""A new embedding model: give every row a vector of it, then rebuild the sign codes.

`meta` says which model wrote last. A store that is opened with another one catches up by itself, if
the model is our own (no network, no cost) and the rows are few enough not to keep anybody waiting;
`rlm doctor` says when more is due, and `--fix` does it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rlm.retrieval.codes import pack_vectors
from rlm.retrieval.embed import Embedder
from rlm.retrieval.static import STATIC_MODEL
from rlm.store.document import item_text
from rlm.store.sql import rows
from rlm.store.sql.database import Database
from rlm.store.sql.dialect import Connection, Dialect, Value, fetch
from rlm.store.sql.sources import MEMORY, NODE, SearchIndex, Source

BATCH = 2_000
AT_ONCE = 20_000
"""So many rows are given a new vector when a store is opened: a second or two, once."""


def note_model(connection: Connection, model: str | None) -> None:
    """Remember, inside a write, whose vectors the newest rows have."""
    words, noted = connection.dialect, model or "none"
    if _noted_model(fetch(connection, _NOTED.format(words.own))) != noted:
        connection.execute(
            "INSERT INTO meta(key, value) VALUES ('embedding_model', ?)"
            f" ON CONFLICT({words.own_key}key) DO UPDATE SET value = excluded.value",
            (noted,),
        )


_NOTED = "SELECT value FROM meta WHERE key = 'embedding_model' {}"


def _noted_model(rows: list[Any]) -> str | None:
    return str(rows[0][0]) if rows else None


def is_due(database: Database, embedder: Embedder | None) -> bool:
    """Whether rows may lack a vector of this model, and few enough to embed at once."""
    if database.read_only or embedder is None or embedder.model != STATIC_MODEL:
        return False
    noted = _noted_model(database.rows(_NOTED.format(database.dialect.own)))
    return noted not in (None, embedder.model) and stale_count(database, embedder) <= AT_ONCE


def _stale(dialect: Dialect, embedder: Embedder) -> tuple[str, list[Value]]:
    """Rows without a vector of this model, or with one of another length. How long a vector of an
    endpoint is shows when it first answers."""
    size = 2 * embedder.dim
    length = f" OR length(embedding) <> {size:d}" if size else ""
    where = f"(embedding_model IS DISTINCT FROM ? OR {dialect.no_vector}{length})"
    return where, [embedder.model]


def stale_count(database: Database, embedder: Embedder) -> int:
    """How many rows have no vector of this model, or one of another length."""
    where, values = _stale(database.dialect, embedder)
    return sum(
        int(database.value(f"SELECT count(*) FROM {table} WHERE {where}", values))
        for table in ("memory_items", "nodes")
    )


def reembed(database: Database, embedder: Embedder | None, indexes: Sequence[SearchIndex]) -> int:
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
        for index in indexes if done else ():
            index.rebuild_codes(connection)
        note_model(connection, embedder.model)
    return done


def _batches(
    database: Database, embedder: Embedder, source: Source, columns: str
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows that lack a vector, each once, whatever the model makes of them."""
    last, key = 0, source.key
    where, values = _stale(database.dialect, embedder)
    while batch := database.rows(
        f"SELECT {key}, {columns} FROM {source.table} WHERE {where} AND {key} > ?"
        f" ORDER BY {key} LIMIT {BATCH}",
        [*values, last],
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
    vectors = pack_vectors(embedder.embed_documents(texts))
    with database.write():
        pairs = zip(vectors, numbers, strict=True)
        database.run_many(
            f"UPDATE {source.table} SET embedding = ?, embedding_model = ? WHERE {source.key} = ?",
            [(vector, embedder.model, number) for vector, number in pairs],
        )
    return len(numbers)
