"""Seed 001's `MemoryStore`: a store in one JSON file, or in no file at all.

For minimal environments and for small sets that one wants to read and edit by hand. It is the
SQLite store over a database in memory whose rows the file keeps (`sqlite/jsondb.py`): it can do the
same and finds the same. Every save writes the whole file: a large set is better off with SQLite.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rlm.errors import RLMError, StoreError
from rlm.retrieval.embed import Embedder
from rlm.store.sql import rows
from rlm.store.sql.spaces import in_spaces
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.sqlite.jsondb import JSONDatabase
from rlm.store.types import LOCAL, Check, Hit, MemoryItem, Tenant

if TYPE_CHECKING:
    from rlm.store.sql.graph import GraphStore


class MemoryStore(SQLiteMemoryBackend):
    """Memories in a file. With `path` and `autosave`, every write is on disk before it returns."""

    kind = "json"
    db: JSONDatabase

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        tenant: Tenant = LOCAL,
        embedder: Embedder | None = None,
        origin: str = "python",
        autosave: bool = False,
        read_only: bool = False,
        lock_timeout_s: float = 10.0,
    ) -> None:
        file = None if path is None else Path(path)
        database = JSONDatabase(file, tenant, origin, lock_timeout_s=lock_timeout_s)
        super().__init__(database, tenant=tenant, embedder=embedder, origin=origin)
        database.autosave, database.read_only = autosave and file is not None, read_only

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False, **options: Any) -> Self:
        """A store that reads `path` if it exists, and saves after every write."""
        store = cls(path, autosave=True, read_only=read_only, **options)
        if Path(path).exists():
            store.db.read_file()
        elif read_only:
            raise StoreError(f"{path} does not exist")
        return store

    @classmethod
    def load(
        cls, path: str | Path, *, tenant: Tenant = LOCAL, embedder: Embedder | None = None
    ) -> Self:
        """Read a store from a file that must exist."""
        store = cls(path, tenant=tenant, embedder=embedder)
        store.db.read_file()
        return store

    @property
    def path(self) -> Path | None:
        """The file that `save` writes."""
        return self.db.file

    @property
    def memories(self) -> list[MemoryItem]:
        """What this tenant may see and is not archived; what was written last comes last."""
        mine = f"space_id {in_spaces(self.spaces.visible())} AND archived_at IS NULL"
        sql = f"SELECT {rows.COLUMNS} FROM memory_items WHERE {mine} ORDER BY item_no"
        return [rows.from_row(row) for row in self.db.rows(sql)]

    def save(self, path: str | Path | None = None) -> Path:
        """Write everything, atomically."""
        target = self.path if path is None else Path(path)
        if target is None:
            raise StoreError("this MemoryStore has no path: give one to save()")
        if self.path in (None, target):
            with self.db.write() as connection:
                self._flush_accesses(connection)
                self.db.write_file(target)
            self.db.file = self.db.path = target
        else:
            with self.db.read():
                self.db.write_file(target)
        return target

    def backup(self, path: str | Path) -> Path:
        return self.save(Path(path).expanduser())

    # -- what the file does not hold ---------------------------------------------------------------

    def embed_rows(self) -> None:
        """Give rows that were read from the file a vector, when they are first searched."""
        if self.db.lacks_vectors and self.embedder is not None:
            # Where the model cannot be loaded, another time.
            with suppress(RLMError), self.db.without_saving():
                self.reembed()
                self.db.lacks_vectors = False

    def retrieve(self, task: str, k: int = 3, **options: Any) -> list[Hit]:
        self.embed_rows()
        return super().retrieve(task, k, **options)

    @property
    def graph(self) -> GraphStore:
        """The hypergraph of this tenant."""
        self.embed_rows()
        return super().graph

    def check(self) -> list[Check]:
        self.embed_rows()
        with self.db.without_saving():
            return super().check()

    def repair(self) -> list[str]:
        with self.db.without_saving():
            return super().repair()

    def stats(self) -> dict[str, Any]:
        return {**super().stats(), "path": None if self.path is None else str(self.path)}
