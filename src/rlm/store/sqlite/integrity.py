"""Is the file sound? The checks that really catch a stale index, a damaged row or a table that is
gone.

`PRAGMA integrity_check` and FTS5's plain `integrity-check` both pass an external-content index that
no longer matches its rows. FTS5's check with rank 1 compares the two, so that is the one used. The
derived index is compared with the rows by number.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from rlm.store.sqlite import migrations, rowcheck, schemacheck
from rlm.store.sqlite.connection import Database
from rlm.store.sqlite.recall import Recall
from rlm.store.sqlite.sources import MEMORY, NODE, Source


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: what was looked at, whether it is sound, and what to do when it is not."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None


BACKUP = "restore a backup"
LISTED = 5


def check_all(database: Database, *, fts5: bool, spaces: tuple[int, ...] = ()) -> list[Check]:
    """Every check, in order of how much a failure would matter. Rows of other spaces than these are
    not named."""
    with database.read() as connection:
        schema = schemacheck.compare(connection)
    checks = [_schema(schema), _rows(database), _references(database)]
    if not schema.can_be_read:
        return checks
    checks += [_memories(database, spaces), _nodes(database, spaces), _history(database)]
    for source in (MEMORY, NODE):
        if fts5:
            checks.append(_full_text(database, source))
        checks.append(_recall(database, source))
    return checks


def check_untouched(connection: apsw.Connection) -> tuple[Check, bool] | None:
    """Is the schema as it must be, and can the file be opened with it? None for another version or
    program."""
    marks = connection.pragma("user_version"), connection.pragma("application_id")
    if marks != (migrations.VERSION, migrations.APPLICATION_ID):
        return None
    schema = schemacheck.compare(connection)
    return _schema(schema), schema.can_be_opened


def _schema(found: schemacheck.Difference) -> Check:
    if not found.names:
        return Check(
            "schema",
            True,
            "ok" + (f"; not ours: {', '.join(found.others)}" if found.others else ""),
        )
    parts = [f"missing: {', '.join(found.missing)}"] if found.missing else []
    parts += [f"changed: {', '.join(found.changed)}"] if found.changed else []
    fix = "rlm doctor --fix" if found.can_be_opened else f"{BACKUP}: what such a table held is lost"
    return Check("schema", False, "; ".join(parts), fix)


def _memories(database: Database, spaces: tuple[int, ...]) -> Check:
    name, found = "memories can be read", list(rowcheck.damaged_memories(database))
    return _damage(
        name, found, spaces, "memory", "remove it for good: `rlm memory rm --hard --yes {}`"
    )


def _nodes(database: Database, spaces: tuple[int, ...]) -> Check:
    name, found = "nodes can be read", list(rowcheck.damaged_nodes(database))
    return _damage(name, found, spaces, "node", "put it into the archive: `rlm graph rm {}`")


def _history(database: Database) -> Check:
    return _damage(
        "runs and history can be read", list(rowcheck.damaged_history(database)), (), "row", ""
    )


def _damage(
    name: str, found: list[rowcheck.Damage], spaces: tuple[int, ...], kind: str, otherwise: str
) -> Check:
    """A finding about rows; the first are named, and so is the command that is rid of them."""
    if not found:
        return Check(name, True, "ok")
    mine = [row.name for row in found if row.space in spaces and row.name is not None][:LISTED]
    listed = [
        (
            f"{kind} {row.name}: {row.column}, {row.what}"
            if row.space in spaces and row.name is not None
            else f"row {row.number}: {row.column}"
        )
        for row in found[:LISTED]
    ]
    more = f"; and {len(found) - LISTED:,} more" if len(found) > LISTED else ""
    fix = f"{BACKUP}, or {otherwise.format(' '.join(mine))}" if mine else BACKUP
    return Check(name, False, f"{len(found):,} damaged: {'; '.join(listed)}{more}", fix)


def _rows(database: Database) -> Check:
    found = [str(row[0]) for row in database.rows("PRAGMA integrity_check(10)")]
    ok = found == ["ok"]
    fix = None if ok else f"{BACKUP}, or recover with `sqlite3 FILE .recover`"
    return Check("rows", ok, "; ".join(found), fix)


def _references(database: Database) -> Check:
    found = database.rows("PRAGMA foreign_key_check")
    detail = (
        "ok"
        if not found
        else f"{len(found)} rows refer to rows that are not there, first in {found[0][0]}"
    )
    return Check("references", not found, detail, BACKUP if found else None)


def _full_text(database: Database, source: Source) -> Check:
    name = f"full-text index of {source.table}"
    if database.read_only:
        return Check(name, True, "not checked: the file is read-only")
    try:
        with database.write() as connection:
            connection.execute(
                f"INSERT INTO {source.fts}({source.fts}, rank) VALUES ('integrity-check', 1)"
            )
    except Exception as exc:
        if not isinstance(exc.__cause__, apsw.CorruptError):
            raise
        return Check(name, False, "does not match the rows", "rlm doctor --fix")
    return Check(name, True, "ok")


def _recall(database: Database, source: Source) -> Check:
    """Each live row up to the last sealed number must be in exactly one segment, unless it is dead."""
    name = f"recall index of {source.table}"
    with database.read() as connection:
        index = Recall(database, source, None)
        sealed, _ = index.sync(connection, ())
        rows = connection.execute(
            f"SELECT {source.key} FROM {source.view} WHERE {source.key} <= ?", (sealed.watermark,)
        )
        live = {row[0] for row in rows}
        held = sealed.numbers.tolist()
        dead = {
            row[0]
            for row in connection.execute(
                "SELECT number FROM recall_dead WHERE kind = ?", (source.kind,)
            )
        }
    missing = live - set(held)
    extra = set(held) - live - dead
    twice = len(held) - len(set(held))
    if not (missing or extra or twice):
        return Check(name, True, f"ok: {len(held)} sealed in {len(sealed.segments)} segments")
    detail = f"{len(missing)} rows missing, {len(extra)} too many, {twice} twice"
    return Check(name, False, detail, "rlm doctor --fix")


def repair(indexes: list[Recall]) -> None:
    """Build the full-text and the derived indexes anew from the rows."""
    for index in indexes:
        index.rebuild()
