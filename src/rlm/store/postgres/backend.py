"""A team's store: one PostgreSQL database, reached as an application role.

The rows and what is done with them are `store/sql`; here is how the database is opened, checked and
mended. What surely did not happen because a connection was lost is tried once more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

from rlm.errors import NotSupported, StoreLocked, StoreUnavailable
from rlm.retrieval.embed import Embedder
from rlm.store.postgres import integrity, migrations
from rlm.store.postgres.candidates import PostgresIndex
from rlm.store.postgres.connection import PostgresDatabase, connect, read_url
from rlm.store.postgres.faults import map_errors
from rlm.store.sql.backend import SQLMemoryBackend
from rlm.store.sql.sources import Source
from rlm.store.types import LOCAL, AccessToken, Check, Tenant


class PostgresMemoryBackend(SQLMemoryBackend):
    """One tenant's view of one database, for threads and forked processes."""

    kind = "postgresql"
    db: PostgresDatabase

    def __init__(
        self,
        url: str,
        *,
        tenant: Tenant = LOCAL,
        embedder: Embedder | None = None,
        origin: str = "python",
        lock_timeout_s: float = 10.0,
        read_only: bool = False,
    ) -> None:
        def opened() -> PostgresDatabase:
            conninfo, name = read_url(url)
            with connect(conninfo, name) as raw, map_errors(name):
                writes = migrations.check_access(raw, name)
                self._server = raw.info.parameter_status("server_version") or "?"
            frozen = read_only or not writes
            return PostgresDatabase(url, tenant, lock_timeout_s=lock_timeout_s, read_only=frozen)

        super().__init__(opened, tenant=tenant, embedder=embedder, origin=origin)
        self._reembed_if_due()

    def _index(self, source: Source) -> PostgresIndex:
        return PostgresIndex(self.db, source, self.embedder)

    def _engine(self) -> dict[str, Any]:
        return {"postgresql": self._server}

    def find_token(self, token_id: str) -> AccessToken | None:
        """The one call across tenants: a function of the owner, which answers only for one id."""
        row = self.db.row("SELECT * FROM find_token(?)", (token_id,))
        if row is None:
            return None
        found, name, digest, read_only, org, team, project, created_at = row
        return AccessToken(found, name, digest, bool(read_only), org, team, project, created_at)

    def check(self) -> list[Check]:
        checks = integrity.check_all(self.db, self.indexes, self.spaces.visible(), self.embedder)
        return checks if self.remote_index is None else [*checks, *self.remote_index.check()]

    def repair(self) -> list[str]:
        return integrity.repair(self.db, self.indexes, self.embedder, self.reembed)

    def backup(self, path: str | Path) -> Path:
        raise NotSupported(
            f"{self.db.name} is a database: `pg_dump` makes a whole copy of it, and"
            " `rlm memory export` one of the memories"
        )


_REPEATED = (
    "add", "retrieve", "get", "ids_starting", "changed_since", "list_items", "update", "set_level",
    "approve", "delete", "restore", "purge", "adjust_confidence", "signals", "record_usage",
    "save_artifacts", "recent_runs", "judged_high", "packs", "rollback_pack", "queue_session",
    "lease_job", "finish_job", "fail_job", "jobs", "find_job", "retry_job", "drop_job", "spend_job",
    "spent_today", "open_branch", "get_branch", "spend_branch", "end_branch", "branches",
    "add_token", "tokens", "find_token", "revoke_token", "other_projects", "held_elsewhere",
    "stats",
)  # fmt: skip
"""What takes no stream that could only be read once."""


def _repeated(method: Callable[..., Any]) -> Callable[..., Any]:
    """Once more, where the transaction surely did not commit and is not part of another."""

    @wraps(method)
    def call(self: PostgresMemoryBackend, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except (StoreUnavailable, StoreLocked) as exc:
            if self.db.in_write or not _surely_undone(exc):
                raise
        return method(self, *args, **kwargs)

    return call


def _surely_undone(exc: StoreUnavailable | StoreLocked) -> bool:
    """A connection that was lost in the middle, or a deadlock: not a COMMIT without an answer, nor
    somebody who was waited for already."""
    from psycopg import errors

    if isinstance(exc, StoreLocked):
        return isinstance(exc.__cause__, errors.DeadlockDetected | errors.SerializationFailure)
    return not exc.may_be_stored


for _name in _REPEATED:
    setattr(PostgresMemoryBackend, _name, _repeated(getattr(PostgresMemoryBackend, _name)))
