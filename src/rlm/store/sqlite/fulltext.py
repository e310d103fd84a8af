"""The FTS5 table of each kind of row, where this SQLite has FTS5."""

from __future__ import annotations

from rlm.store.sql.dialect import Connection
from rlm.store.sql.sources import Source


def fts_table(source: Source) -> str:
    """Its name. Its columns are those of the source, followed by `space`."""
    return f"{source.kind}_fts"


def index_rows(connection: Connection, source: Source, first: int, last: int) -> None:
    """Put new rows into the full-text index, where there is one."""
    columns = f"{source.column_list}, space"
    if _has_fts(connection, source):
        connection.execute(
            f"INSERT INTO {fts_table(source)}(rowid, {columns}) SELECT {source.key}, {columns} FROM"
            f" {source.view} WHERE {source.key} BETWEEN ? AND ?",
            (first, last),
        )


def reindex(connection: Connection, source: Source) -> None:
    """Rebuild the full-text index from the rows."""
    if _has_fts(connection, source):
        table = fts_table(source)
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")


def _has_fts(connection: Connection, source: Source) -> bool:
    sql = "SELECT 1 FROM sqlite_schema WHERE name = ?"
    return next(iter(connection.execute(sql, (fts_table(source),))), None) is not None
