"""Numbered migrations, one transaction each.

The first makes a new file, at the newest version; the others bring an old one there, and are never
edited after release. `PRAGMA user_version` says how far a file has come, and rolls back with the
tables when one fails. A file that already holds data is backed up beside itself
before the first of them. A file from a newer rlm is left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

import apsw

from rlm.errors import REINSTALL, SchemaTooNew, StoreCorrupt, StoreReadOnly
from rlm.store.lock import part_file
from rlm.store.sql.sources import MEMORY, NODE
from rlm.store.sqlite import blocks, schema
from rlm.store.sqlite.candidates import reindex
from rlm.store.sqlite.connection import SQLiteConnection, SQLiteDatabase, map_errors

APPLICATION_ID = 0x524C4D31  # "RLM1": tells a store from any other database


def m001_initial(connection: SQLiteConnection, fts5: bool) -> None:
    """A new file: all tables, as the later steps leave those of an old one."""
    for part in (schema.TABLES, schema.RECALL_2, schema.QUEUE_2, schema.TOKENS_3, schema.OUTBOX_4):
        connection.execute(part)
    if fts5:  # without FTS5 the store still works: search reads the rows
        connection.execute(schema.FTS)
    connection.execute("INSERT INTO counters(name, value) VALUES ('item', 0), ('node', 0)")


def m002_one_recall(connection: SQLiteConnection, fts5: bool) -> None:
    """FTS5 and sign codes replace sealed postings; the queue fences; an index of aliases."""
    connection.execute(schema.DROP_1)
    connection.execute(schema.RECALL_2)
    for part in (schema.SET_ASIDE_QUEUE_1, schema.QUEUE_2, schema.COPY_QUEUE_1):
        connection.execute(part)
    if fts5:
        connection.execute(schema.FTS)
    for source in (MEMORY, NODE):
        reindex(connection, source)
        blocks.rebuild(connection, source)


def m003_tokens(connection: SQLiteConnection, fts5: bool) -> None:
    """Who may speak to the store over HTTP."""
    connection.execute(schema.TOKENS_3)


def m004_outbox(connection: SQLiteConnection, fts5: bool) -> None:
    """What a search index beside the file has yet to be told."""
    connection.execute(schema.OUTBOX_4)


Step = Callable[[SQLiteConnection, bool], None]
MIGRATIONS: tuple[Step, ...] = (m001_initial, m002_one_recall, m003_tokens, m004_outbox)
VERSION = len(MIGRATIONS)


def has_fts5(connection: apsw.Connection) -> bool:
    """Whether this SQLite was built with FTS5."""
    sql = "SELECT sqlite_compileoption_used('ENABLE_FTS5')"
    return bool(next(iter(connection.execute(sql)))[0])


def migrate(
    database: SQLiteDatabase, *, fts5: bool | None = None, steps: tuple[Step, ...] = MIGRATIONS
) -> int:
    """Bring the file to the last of `steps`; how many ran. Each is atomic, and racing is safe."""
    version = _version(database, len(steps))
    if version == len(steps) or database.read_only:
        return 0
    if version > 0:
        _keep_backup(database, len(steps))
    ran = 0
    for number, step in enumerate(steps, start=1):
        with database.write() as connection:
            if _version(database, len(steps)) >= number:
                continue  # somebody else migrated while we waited for the lock
            step(connection, has_fts5(connection) if fts5 is None else fts5)
            reached = VERSION if number == 1 else number
            marks = f"user_version = {reached}; PRAGMA application_id = {APPLICATION_ID}"
            connection.execute(f"PRAGMA {marks}")
            ran += 1
    return ran


def _keep_backup(database: SQLiteDatabase, newest: int) -> None:
    """Copy the file as it is, under the lock: somebody else may be about to migrate it. A copy that
    is there already, of whatever, is left alone."""
    database.lock.acquire(database.lock_timeout_s)
    try:
        version = _version(database, newest)
        if version < newest:
            names = (f".v{version}{'' if n == 1 else f'.{n}'}.bak" for n in count(1))
            paths = (Path(f"{database.path}{name}") for name in names)
            copy_database(database.connection, next(path for path in paths if not path.exists()))
    finally:
        database.lock.release()


def _version(database: SQLiteDatabase, newest: int) -> int:
    version = int(database.value("PRAGMA user_version"))
    if version > newest:
        raise SchemaTooNew(
            f"{database.path} has schema {version}, this rlm knows {newest}: to upgrade, "
            f"{REINSTALL}; the file was not touched"
        )
    application = int(database.value("PRAGMA application_id"))
    tables = int(database.value("SELECT count(*) FROM sqlite_schema"))
    if tables and application != APPLICATION_ID:
        why = f"is a SQLite file of another program ({tables} tables): choose another path"
        raise StoreCorrupt(f"{database.path} {why}")
    return version


def copy_database(source: apsw.Connection, target: Path) -> None:
    """An online copy, which other processes may write beside and nobody else may read."""
    try:
        with part_file(target) as part, map_errors(target):
            _copy(source, part)
    except OSError as exc:
        raise StoreReadOnly(f"{target} cannot be written: {exc.strerror}") from exc


def _copy(source: apsw.Connection, part: Path) -> None:
    destination = apsw.Connection(str(part), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        with destination.backup("main", source, "main") as backup:
            while not backup.done:
                backup.step(4096)
        destination.pragma("journal_mode", "delete")
        if destination.table_exists("main", "index_spaces"):
            # The index follows the original. A copy that goes its own way must not be taken for it.
            destination.execute("DELETE FROM index_spaces; DELETE FROM index_outbox")
    finally:
        destination.close()
