"""The default store: one SQLite file.

The rows and what is done with them are `store/sql`; here is how a file is opened, checked, mended
and copied.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlm import config
from rlm.errors import StoreError, StoreReadOnly
from rlm.retrieval.embed import Embedder
from rlm.store.sql.backend import SQLMemoryBackend
from rlm.store.sql.sources import Source
from rlm.store.sqlite import integrity, migrations
from rlm.store.sqlite.candidates import Index
from rlm.store.sqlite.connection import SQLiteDatabase, sqlite_version
from rlm.store.types import LOCAL, Check, Tenant


class SQLiteMemoryBackend(SQLMemoryBackend):
    """One tenant's view of one file, for threads; after a fork it opens the file again."""

    kind = "sqlite"
    db: SQLiteDatabase

    def __init__(
        self,
        path: str | Path | SQLiteDatabase,
        *,
        tenant: Tenant = LOCAL,
        embedder: Embedder | None = None,
        origin: str = "python",
        lock_timeout_s: float = 10.0,
        read_only: bool = False,
        fts5: bool | None = None,
        cache_dir: str | Path | None = None,
    ) -> None:
        def open_file() -> SQLiteDatabase:
            if isinstance(path, SQLiteDatabase):
                return path
            file = Path(path).expanduser()
            return SQLiteDatabase(file, lock_timeout_s=lock_timeout_s, read_only=read_only)

        super().__init__(open_file, tenant=tenant, embedder=embedder, origin=origin)
        migrations.migrate(self.db, fts5=fts5)
        if self.db.read_only and int(self.db.value("PRAGMA user_version")) != migrations.VERSION:
            why = "is read-only and not of this schema: open it once where it can be written"
            raise StoreError(f"{self.db.path} {why}")
        self._cache = Path(cache_dir or config.load().cache_dir).expanduser()
        self.fts5 = self._has_fts5()
        self._reembed_if_due()

    def _index(self, source: Source) -> Index:
        return Index(self.db, source, self.embedder, fts5=self.fts5, cache=self._cache)

    def _engine(self) -> dict[str, Any]:
        return {"sqlite": sqlite_version()}

    def check(self) -> list[Check]:
        checks = integrity.check_all(self.db, self.indexes, self.spaces.visible(), self.embedder)
        return checks if self.remote_index is None else [*checks, *self.remote_index.check()]

    def repair(self) -> list[str]:
        made = integrity.mend_schema(self.db)
        done = [f"rebuilt: {', '.join(made)}"] if made else []
        self.fts5 = self._has_fts5()
        for name in ("index", "node_index", "graph"):
            self.__dict__.pop(name, None)
        return done + integrity.repair(self.db, self.indexes, self.embedder, self.reembed)

    def _has_fts5(self) -> bool:
        table = "SELECT count(*) FROM sqlite_schema WHERE name = 'memory_fts'"
        return bool(self.db.value(table)) and migrations.has_fts5(self.db.connection)

    def backup(self, path: str | Path) -> Path:
        target = Path(path).expanduser()
        try:
            if target.exists() and target.samefile(self.db.path):
                raise StoreError(f"{target} is the store itself: name another file")
        except OSError as exc:
            raise StoreReadOnly(f"{target} cannot be written: {exc.strerror}") from exc
        migrations.copy_database(self.db.connection, target)
        return target
