"""Which spaces a tenant may see, and how rows are numbered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

import apsw

from rlm.retrieval.embed import Embedder
from rlm.store.sqlite.connection import Database
from rlm.store.types import LEVELS, MemoryItem, Tenant


class Spaces:
    """The spaces of one tenant, three at most. Uncached: a transaction may yet roll back."""

    def __init__(self, database: Database, tenant: Tenant) -> None:
        self._db = database
        self.tenant = tenant

    def key(self, level: str) -> tuple[str, str, str, str]:
        """(level, org, team, project), with what lies below the level left empty."""
        return level, *self.tenant.at_level(level)

    def find(self, level: str) -> int | None:
        """The id of one of this tenant's spaces, or None while it holds nothing."""
        sql = "SELECT space_id FROM spaces WHERE level = ? AND org = ? AND team = ? AND project = ?"
        found = self._db.value(sql, self.key(level))
        return None if found is None else int(found)

    def visible(self, levels: Sequence[str] = LEVELS) -> tuple[int, ...]:
        """The ids of those spaces of this tenant that exist, nearest first."""
        return tuple(found for level in levels if (found := self.find(level)) is not None)

    def ensure(self, level: str) -> int:
        """The id of one of this tenant's spaces, made if need be. Inside `write()`."""
        found = self.find(level)
        if found is None:
            sql = "INSERT INTO spaces(level, org, team, project) VALUES (?,?,?,?)"
            self._db.run(sql, self.key(level))
            found = self._db.connection.last_insert_rowid()
        return found


def in_spaces(spaces: tuple[int, ...]) -> str:
    """`IN (…)` for ids of our own. With none, a list that matches nothing."""
    return f"IN ({','.join(map(str, spaces)) or 'NULL'})"


def take_numbers(connection: apsw.Connection, counter: str, count: int) -> int:
    """Reserve `count` row numbers and return the first. Inside `write()`."""
    sql = "UPDATE counters SET value = value + ? WHERE name = ? RETURNING value"
    last = next(iter(connection.execute(sql, (count, counter))))[0]
    return int(last) - count + 1


class Part:
    """What the parts of the backend share. `SQLiteMemoryBackend` joins them into one class."""

    db: Database
    spaces: Spaces
    tenant: Tenant
    embedder: Embedder | None
    origin: str

    def add_many(self, items: Iterable[MemoryItem]) -> list[str]:
        raise NotImplementedError

    def together(self) -> AbstractContextManager[None]:
        raise NotImplementedError
