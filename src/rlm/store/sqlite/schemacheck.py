"""Does a file have the tables, indexes, triggers and views that the migrations make?

The answer is read off a fresh schema in memory, so that there is no second list to keep.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import apsw

from rlm.store.sqlite.connection import SQLiteConnection, SQLiteDatabase
from rlm.store.sqlite.migrations import has_fts5, m001_initial

Objects = dict[str, tuple[str, str]]
FTS = ("memory_fts", "node_fts")


@dataclass(frozen=True, slots=True)
class Difference:
    """How a file's schema differs; `wanted` is our version of each name that differs."""

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    others: tuple[str, ...]
    wanted: Objects

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.missing, *self.changed)

    @property
    def can_open(self) -> bool:
        """Whether only derived objects are wrong, which can be rebuilt."""
        kinds = ((name, self.wanted[name]) for name in self.names)
        return all(_is_derived(*kind) or _is_shadow(name, self.missing) for name, kind in kinds)

    @property
    def can_read(self) -> bool:
        """Whether every row can be reached, by whatever is there."""
        return all(self.wanted[name][0] in ("index", "trigger") for name in self.names)


def compare(connection: apsw.Connection) -> Difference:
    """What is missing, what is not as we make it, and what is not ours."""
    found = _objects(connection)
    wanted = _fresh(fts5=any(name.startswith(FTS) for name in found))
    missing = tuple(sorted(set(wanted) - set(found)))
    both = sorted(wanted.keys() & found.keys())
    changed = tuple(name for name in both if not _same(name, wanted[name], found[name]))
    differ = {name: wanted[name] for name in (*missing, *changed)}
    return Difference(missing, changed, tuple(sorted(set(found) - set(wanted))), differ)


def mend(database: SQLiteDatabase) -> tuple[str, ...]:
    """Rebuild what loses nothing; its names. Text indexes are to be rebuilt after."""
    with database.write() as connection:
        difference = compare(connection)
        names = tuple(name for name in difference.names if _is_derived(*difference.wanted[name]))
        for name in sorted(
            names,
            key=lambda name: ("table", "view", "index", "trigger").index(
                difference.wanted[name][0]
            ),
        ):
            kind, sql = difference.wanted[name]
            connection.execute(f'DROP {kind} IF EXISTS "{name}"')
            connection.execute(sql)
    return names


def _objects(connection: apsw.Connection) -> Objects:
    """Everything but what SQLite makes by itself."""
    ours = "name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    rows = connection.execute(f"SELECT name, type, sql FROM sqlite_schema WHERE {ours}")
    return {str(name): (str(kind), str(sql)) for name, kind, sql in rows}


def _fresh(*, fts5: bool) -> Objects:
    with closing(SQLiteConnection(":memory:")) as connection:
        m001_initial(connection, fts5 and has_fts5(connection))
        return _objects(connection)


def _is_derived(kind: str, sql: str) -> bool:
    return kind != "table" or sql.startswith(("CREATE VIRTUAL", "CREATE TABLE recall_blocks"))


def _is_shadow(name: str, missing: tuple[str, ...]) -> bool:
    """Whether this is a table of a text index that is missing as a whole."""
    return any(name.startswith(f"{index}_") and index in missing for index in FTS)


def _same(name: str, wanted: tuple[str, str], found: tuple[str, str]) -> bool:
    """FTS5 makes its own tables, and another SQLite may spell them in another way."""
    shadow = wanted[0] == "table" and any(name.startswith(f"{index}_") for index in FTS)
    return wanted[0] == found[0] and (shadow or wanted[1] == found[1])
