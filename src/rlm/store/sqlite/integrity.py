"""Is the file sound? Checks that catch a stale index, a damaged row, a missing table.

`PRAGMA integrity_check` and FTS5's plain `integrity-check` both pass an external-content index that
no longer matches its rows. FTS5's check with rank 1 compares the two, so that is the one used. The
derived index is compared with the rows by number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import apsw

from rlm.errors import EngineUnfit, RLMError, StoreCorrupt
from rlm.retrieval.embed import Embedder
from rlm.store.open import RECOVER
from rlm.store.sql.reembed import stale_count
from rlm.store.sql.sources import Source
from rlm.store.sqlite import blocks, connection, migrations, rowcheck, schemacheck, wordindex
from rlm.store.sqlite.candidates import Index, fts_table
from rlm.store.sqlite.connection import SQLiteDatabase
from rlm.store.types import Check

BACKUP = "restore a backup"
LISTED = 5
READABLE = (  # what is read, by whom, how a row of it is removed
    ("memories", rowcheck.damaged_memories, "remove it for good: `rlm memory rm --hard --yes {}`"),
    ("nodes", rowcheck.damaged_nodes, "put it into the archive: `rlm graph rm {}`"),
    ("runs and history", rowcheck.damaged_history, ""),
)


def check_all(
    database: SQLiteDatabase,
    indexes: Sequence[Index],
    spaces: tuple[int, ...] = (),
    embedder: Embedder | None = None,
) -> list[Check]:
    """Every check, the gravest first. Rows of other spaces than these are not named."""
    with database.read() as reader:
        schema = schemacheck.compare(reader)
    checks = [_schema(schema), _rows(database), _references(database)]
    if not schema.can_read:
        return checks
    for name, find, hint in READABLE:
        checks.append(_damage_check(f"{name} can be read", list(find(database)), spaces, hint))
    for index in indexes:
        if index.fts5:
            checks.append(_full_text(database, index.source))
        checks += [_codes(database, index), *_word_index(database, index)]
    if embedder is not None:
        stale = stale_count(database, embedder)
        detail = f"{stale:,} rows have none of {embedder.model}" if stale else None
        detail = detail or f"ok: all of {embedder.model}"
        checks.append(Check("vectors", not stale, detail, "rlm store reembed" if stale else None))
    return checks


def check_engine() -> Check:
    """Is the SQLite library one without the WAL-reset bug?"""
    version = apsw.sqlite_lib_version()
    try:
        connection.check_engine()
    except EngineUnfit as exc:
        return Check("sqlite", False, str(exc), 'pip install --upgrade "apsw>=3.53"')
    return Check("sqlite", True, f"{version}, without the WAL-reset bug")


def check_file(path: Path) -> Check | None:
    """What makes a file unsafe to open, from reading every page; nothing is written."""
    with connection.map_errors(path), closing(_open_untouched(path)) as file:
        found = [str(row[0]) for row in file.execute("PRAGMA quick_check(3)")]
        schema = check_untouched(file) if found == ["ok"] else None
    if found == ["ok"]:
        return schema[0] if schema is not None and not schema[1] else None
    detail = f"{path} is damaged and was left as it is: {'; '.join(found)}"
    return Check("file", False, detail, RECOVER)


def _open_untouched(path: Path) -> apsw.Connection:
    """A reader that leaves no file behind: unshared, where nobody else uses the file."""
    shared = any(Path(f"{path}{end}").exists() for end in ("-wal", "-shm"))
    name = f"file:{quote(str(path.resolve()))}?{'mode=ro' if shared else 'immutable=1'}"
    return apsw.Connection(name, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def check_untouched(file: apsw.Connection) -> tuple[Check, bool] | None:
    """Whether the schema is right and the file opens; None for another version or program."""
    marks = file.pragma("user_version"), file.pragma("application_id")
    if marks != (migrations.VERSION, migrations.APPLICATION_ID):
        return None
    schema = schemacheck.compare(file)
    return _schema(schema), schema.can_open


def _schema(found: schemacheck.Difference) -> Check:
    if not found.names:
        others = f"; not ours: {', '.join(found.others)}" if found.others else ""
        return Check("schema", True, f"ok{others}")
    parts = [f"missing: {', '.join(found.missing)}"] if found.missing else []
    parts += [f"changed: {', '.join(found.changed)}"] if found.changed else []
    fix = "rlm doctor --fix" if found.can_open else f"{BACKUP}: what such a table held is lost"
    return Check("schema", False, "; ".join(parts), fix)


def _damage_check(
    name: str, found: list[rowcheck.Damage], spaces: tuple[int, ...], otherwise: str
) -> Check:
    """A finding about rows; the first are named, and so is the command that removes them."""
    if not found:
        return Check(name, True, "ok")
    mine = [row.name for row in found if row.space in spaces and row.name is not None][:LISTED]
    listed = [
        row.what if row.space in spaces else f"row {row.number} of another project"
        for row in found[:LISTED]
    ]
    more = f"; and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
    fix = f"{BACKUP}, or {otherwise.format(' '.join(mine))}" if mine else BACKUP
    return Check(name, False, f"{len(found):,} damaged: {'; '.join(listed)}{more}", fix)


def _rows(database: SQLiteDatabase) -> Check:
    found = [str(row[0]) for row in database.rows("PRAGMA integrity_check(10)")]
    ok = found == ["ok"]
    fix = None if ok else f"{BACKUP}, or recover with `sqlite3 FILE .recover`"
    return Check("rows", ok, "; ".join(found), fix)


def _references(database: SQLiteDatabase) -> Check:
    found = database.rows("PRAGMA foreign_key_check")
    detail = "ok"
    if found:
        detail = f"{len(found)} rows refer to rows that are not there, first in {found[0][0]}"
    return Check("references", not found, detail, BACKUP if found else None)


def _full_text(database: SQLiteDatabase, source: Source) -> Check:
    name = f"full-text index of {source.table}"
    if database.read_only:
        return Check(name, True, "not checked: the file is read-only")
    try:
        with database.write() as writer:
            values = "VALUES ('integrity-check', 1)"
            table = fts_table(source)
            writer.execute(f"INSERT INTO {table}({table}, rank) {values}")
    except Exception as exc:
        if not isinstance(exc.__cause__, apsw.CorruptError):
            raise
        return Check(name, False, "does not match the rows", "rlm doctor --fix")
    return Check(name, True, "ok")


def _codes(database: SQLiteDatabase, index: Index) -> Check:
    """Each live row, and no other, must have its place and its space in the blocks."""
    source, name = index.source, f"sign codes of {index.source.table}"
    with database.read() as reader:
        rows = reader.execute(f"SELECT {source.key}, space_id FROM {source.view}")
        live = {row[0]: row[1] for row in rows}
        held = blocks.spaces_by_row(reader, source)
    wrong = sum(held.get(number) != space for number, space in live.items())
    extra = len(held.keys() - live.keys())
    if wrong or extra:
        detail = f"{wrong:,} rows missing or wrong, {extra:,} too many"
        return Check(name, False, detail, "rlm doctor --fix")
    return Check(name, True, f"ok: {len(held):,} rows")


def _word_index(database: SQLiteDatabase, index: Index) -> list[Check]:
    """Whether a large store has its word index; without it a search is right, and slower."""
    live, name = index.live(), f"word index of {index.source.table}"
    if live < wordindex.LARGE or not index.fts5 or database.in_memory:
        return []
    upto = index.words.upto()
    if upto and index.words.find([1], {"a": 1.0}, 1) is None:  # it can be opened and not searched
        upto = 0
    if not upto:
        why = index.words.problem or "there is none yet"
        detail = f"{why}: FTS5 serves all {live:,} rows, and searches are slower"
        return [Check(name, True, detail, "rlm doctor --fix")]
    return [Check(name, True, f"ok: up to row {upto:,}")]


def mend_schema(database: SQLiteDatabase) -> tuple[str, ...]:
    """Rebuild what the schema lacks and can be rebuilt without loss; its names."""
    return () if database.read_only else schemacheck.mend(database)


def repair(
    database: SQLiteDatabase,
    indexes: Sequence[Index],
    embedder: Embedder | None,
    reembed: Callable[[], int],
) -> list[str]:
    """Mend what the checks find fault with; what was done."""
    done = []
    checks = check_all(database, indexes)
    if any(not check.ok and ("index" in check.name or "codes" in check.name) for check in checks):
        try:
            for index in indexes:
                index.rebuild()
            done.append("rebuilt the full-text index and the sign codes")
        except StoreCorrupt as exc:  # a row cannot be read: the checks say which
            done.append(f"not the indexes: {exc}")
    for index in indexes:
        if index.catch_up(force=True):
            done.append(f"brought the word index of {index.source.table} up to date")
    if embedder is not None and stale_count(database, embedder):
        try:
            done.append(f"gave {reembed():,} rows a vector of {embedder.model}")
        except RLMError as exc:
            done.append(f"nothing: {exc}")
    return done
