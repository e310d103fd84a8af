"""A new embedding model: give every row a vector of it, and its sign code.

`meta` says which model wrote last. A store that is opened with another one catches up by itself, if
the model is the static one (no network, no cost) and the rows are few enough not to keep anybody
waiting; `rlm doctor` says when more is due, `rlm store reembed` and `rlm worker` do it.

Each batch is a transaction of its own that writes vectors and codes. So a search in the meantime
goes by the words of all rows and by the vectors of those that have one, and whoever is killed loses
one batch: which rows are done is written at the rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rlm.retrieval.codes import pack_vectors
from rlm.retrieval.embed import Embedder
from rlm.retrieval.static import STATIC_MODEL
from rlm.store.document import item_text
from rlm.store.sql import outbox, rows
from rlm.store.sql.database import Database
from rlm.store.sql.dialect import Connection, Dialect, Value, fetch
from rlm.store.sql.sources import MEMORY, NODE, SearchIndex, Source

BATCH = 2_000
FIRST_BATCH = 32
BATCH_S = 1.0
"""A batch grows until it takes so long: a sentence model makes 20 vectors a second, the static one
7,000, and neither shall hold up those who write, nor lose much when it is killed."""
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


def reembed(
    database: Database,
    embedder: Embedder | None,
    indexes: Sequence[SearchIndex],
    *,
    on_progress: Callable[[int], object] = lambda done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> int:
    """Embed what lacks a vector of this model, one transaction a batch; how many rows.

    `on_progress` is told how many are done; `stopped` is asked after each batch.
    """
    if embedder is None:
        return 0
    done = 0
    for index in indexes:
        for batch in _batches(database, embedder, index.source):
            done += _write(database, embedder, index, batch)
            on_progress(done)
            if stopped():
                return done
    with database.write() as connection:
        for index in indexes if done else ():
            index.rebuild_codes(connection)
        note_model(connection, embedder.model)
    return done


_TEXTS = {
    MEMORY.kind: rows.COLUMNS,
    NODE.kind: "coalesce(subtype, ''), content, grams",
}


def _batches(
    database: Database, embedder: Embedder, source: Source
) -> Iterator[list[tuple[Any, ...]]]:
    """Rows that lack a vector, each once, whatever the model makes of them: number, and what the
    vector is made from. A batch is as large as `BATCH_S` allows."""
    last, key, size = 0, source.key, FIRST_BATCH
    where, values = _stale(database.dialect, embedder)
    while batch := database.rows(
        f"SELECT {key}, {_TEXTS[source.kind]} FROM {source.table} WHERE {where} AND {key} > ?"
        f" ORDER BY {key} LIMIT {size}",
        [*values, last],
    ):
        begun = time.monotonic()
        yield batch
        last = batch[-1][0]
        took = max(1e-6, (time.monotonic() - begun) / len(batch))
        size = max(1, min(BATCH, 2 * size, int(BATCH_S / took)))


def _write(
    database: Database, embedder: Embedder, index: SearchIndex, batch: Sequence[tuple[Any, ...]]
) -> int:
    """The vectors and codes of one batch. What somebody wrote in the meantime has a new number."""
    source = index.source
    vectors = pack_vectors(embedder.embed_documents(_documents(source, batch)))
    with database.write() as connection:
        pairs = zip(vectors, batch, strict=True)
        database.run_many(
            f"UPDATE {source.table} SET embedding = ?, embedding_model = ? WHERE {source.key} = ?",
            [(vector, embedder.model, row[0]) for vector, row in pairs],
        )
        index.refresh_codes(connection, batch[0][0], batch[-1][0])
        if source is MEMORY:
            outbox.note_vectors(connection, [row[0] for row in batch])
    return len(batch)


def _documents(source: Source, batch: Sequence[tuple[Any, ...]]) -> list[tuple[str, str]]:
    if source is MEMORY:
        return [item_text(rows.from_row(row[1:])) for row in batch]
    for row in batch:
        NODE.check_texts(row[0], row[1:])
    return [("", row[2]) for row in batch]
