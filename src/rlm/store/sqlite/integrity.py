"""Is the file sound? The checks that really catch a stale index.

`PRAGMA integrity_check` and FTS5's plain `integrity-check` both pass an external-content index that no longer
matches its rows. FTS5's check with rank 1 compares the two, so that is the one used. The derived index is
compared with the rows by number.
"""

from __future__ import annotations

from dataclasses import dataclass

import apsw

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


def check_all(database: Database, *, fts5: bool) -> list[Check]:
    """Every check, in order of how much a failure would matter."""
    checks = [_rows(database), _references(database)]
    for source in (MEMORY, NODE):
        if fts5:
            checks.append(_full_text(database, source))
        checks.append(_recall(database, source))
    return checks


def _rows(database: Database) -> Check:
    found = [str(row[0]) for row in database.rows("PRAGMA integrity_check(10)")]
    ok = found == ["ok"]
    fix = None if ok else "restore a backup, or recover with `sqlite3 FILE .recover`"
    return Check("rows", ok, "; ".join(found), fix)


def _references(database: Database) -> Check:
    found = database.rows("PRAGMA foreign_key_check")
    detail = "ok" if not found else f"{len(found)} rows refer to rows that are not there, first in {found[0][0]}"
    return Check("references", not found, detail)


def _full_text(database: Database, source: Source) -> Check:
    name = f"full-text index of {source.table}"
    if database.read_only:
        return Check(name, True, "not checked: the file is read-only")
    try:
        with database.write() as connection:
            connection.execute(f"INSERT INTO {source.fts}({source.fts}, rank) VALUES ('integrity-check', 1)")
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
        dead = {row[0] for row in connection.execute("SELECT number FROM recall_dead WHERE kind = ?", (source.kind,))}
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
