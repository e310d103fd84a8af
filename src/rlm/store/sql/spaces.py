"""Which spaces a tenant may see, and what the parts of a backend share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from rlm.retrieval.embed import Embedder
from rlm.store.sql.database import Database
from rlm.store.sql.sources import SearchIndex
from rlm.store.types import LEVELS, MemoryItem, Tenant

_VISIBLE = (
    "SELECT level, space_id FROM spaces WHERE (level, org, team, project) IN"
    " (VALUES (?,?,?,?), (?,?,?,?), (?,?,?,?))"
)


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
        rows = self._db.rows(_VISIBLE, [part for level in LEVELS for part in self.key(level)])
        found = {level: int(space) for level, space in rows}
        return tuple(found[level] for level in levels if level in found)

    def ensure(self, level: str) -> int:
        """The id of one of this tenant's spaces, made if need be. Inside `write()`."""
        found = self.find(level)
        if found is None:
            sql = (
                "INSERT INTO spaces(level, org, team, project) VALUES (?,?,?,?) RETURNING space_id"
            )
            found = int(self._db.value(sql, self.key(level)))
        return found


def in_spaces(spaces: tuple[int, ...]) -> str:
    """`IN (…)` for ids of our own. With none, a list that matches nothing."""
    return f"IN ({','.join(map(str, spaces)) or 'NULL'})"


class Part:
    """What the parts of the backend share. `SQLMemoryBackend` joins them into one class."""

    db: Database
    spaces: Spaces
    tenant: Tenant
    embedder: Embedder | None
    origin: str

    @property
    def index(self) -> SearchIndex:
        """The indexes over memories."""
        raise NotImplementedError

    def add_many(self, items: Iterable[MemoryItem]) -> list[str]:
        raise NotImplementedError

    def together(self) -> AbstractContextManager[None]:
        raise NotImplementedError
