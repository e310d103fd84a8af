"""A new embedding model: give every row a vector of it, then build the derived index anew.

`meta` says which model wrote last. A store that is opened with another one catches up by itself, if the model is
our own (no network, no cost) and the rows are few enough not to keep anybody waiting; `rlm doctor` says when more
is due, and `--fix` does it.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from rlm.retrieval.embed import Embedder, ReadingEmbedder
from rlm.store.document import item_text
from rlm.store.sqlite import items
from rlm.store.sqlite.connection import Database
from rlm.store.sqlite.recall import Recall

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
    """Whether rows may lack a vector of this model, and giving them one is quick. One look-up if not."""
    if database.read_only or not isinstance(embedder, ReadingEmbedder):
        return False
    found = database.rows("SELECT value FROM meta WHERE key = 'embedding_model'")
    return bool(found) and found[0][0] != embedder.model and stale_count(database, embedder.model) <= AT_ONCE


def stale_count(database: Database, model: str | None) -> int:
    """How many rows have no vector of this model."""
    return sum(
        int(database.value(f"SELECT count(*) FROM {table} WHERE embedding_model IS NOT ?", (model,)))
        for table in ("memory_items", "nodes")
    )


def reembed(database: Database, embedder: Embedder | None, indexes: Sequence[Recall]) -> int:
    """Embed what lacks a vector of the present model; how many rows. One transaction a batch, so it resumes."""
    if embedder is None:
        return 0
    done = 0
    while batch := database.rows(
        f"SELECT item_no, {items.COLUMNS} FROM memory_items WHERE embedding_model IS NOT ? LIMIT ?",
        (embedder.model, BATCH),
    ):
        texts = [item_text(items.from_row(row[1:])) for row in batch]
        done += _write(database, embedder, "memory_items", "item_no", [row[0] for row in batch], texts)
    while batch := database.rows(
        "SELECT node_no, content FROM nodes WHERE embedding_model IS NOT ? LIMIT ?", (embedder.model, BATCH)
    ):
        numbers, texts = [row[0] for row in batch], [("", row[1]) for row in batch]
        done += _write(database, embedder, "nodes", "node_no", numbers, texts)
    if done:
        for index in indexes:
            index.rebuild()
    with database.write() as connection:
        note_model(connection, embedder.model)
    return done


def _write(
    database: Database,
    embedder: Embedder,
    table: str,
    key: str,
    numbers: Sequence[int],
    texts: Sequence[tuple[str, str]],
) -> int:
    vectors = items.pack_vectors(embedder.embed_documents(texts))
    with database.write():
        database.run_many(
            f"UPDATE {table} SET embedding = ?, embedding_model = ? WHERE {key} = ?",
            [(vector, embedder.model, number) for vector, number in zip(vectors, numbers, strict=True)],
        )
    return len(numbers)
