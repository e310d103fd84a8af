"""A database as one side of a copy: every organisation, one at a time, as the owner's role.

The walls stay up: a transaction says which organisation it is about, and sees all of its projects.
Only the owner may see which organisations there are.
"""

from __future__ import annotations

from collections.abc import Sequence

from rlm.errors import StoreError
from rlm.retrieval.embed import Embedder
from rlm.store.postgres import migrations
from rlm.store.postgres.candidates import PostgresIndex
from rlm.store.postgres.connection import PostgresDatabase, connect, read_url
from rlm.store.postgres.faults import map_errors
from rlm.store.sql.dialect import Connection
from rlm.store.sql.sources import MEMORY, NODE, SearchIndex
from rlm.store.sql.tables import Table
from rlm.store.types import Tenant

_ROLE = (
    "SELECT r.rolname, r.rolsuper OR r.rolbypassrls OR coalesce(pg_has_role(n.nspowner, 'USAGE'),"
    " false) FROM pg_roles r LEFT JOIN pg_namespace n ON n.nspname = 'rlm'"
    " WHERE r.rolname = current_user"
)


class PostgresSide:
    """Opened with the URL of a role that owns the tables. StoreError for any other."""

    at_once = False

    def __init__(self, url: str, embedder: Embedder | None, *, read_only: bool) -> None:
        conninfo, self.name = read_url(url)
        self._raw = connect(conninfo, self.name)
        self._url, self._embedder, self._read_only = url, embedder, read_only
        self._databases: dict[str, PostgresDatabase] = {}
        try:
            self._check()
        except BaseException:
            self._raw.close()
            raise

    def _check(self) -> None:
        with map_errors(self.name):
            migrations.check_server(self._raw, self.name)
            version = migrations.read_version(self._raw, self.name)
            role, is_owner = self._raw.execute(_ROLE).fetchone() or ("?", False)
        if version != migrations.VERSION:
            state = "holds no store yet" if version is None else f"has schema {version}"
            raise StoreError(f"{self.name} {state}: `rlm store init URL` makes it ready")
        if not is_owner:
            raise StoreError(
                f"the role {role} of {self.name} sees one tenant at a time, and this is about all"
                " of them: give the URL of the owner, as for `rlm store init`"
            )

    def orgs(self) -> list[str]:
        with map_errors(self.name):
            found = self._raw.execute("SELECT DISTINCT org FROM rlm.spaces ORDER BY org").fetchall()
        return [row[0] for row in found]

    def opened(self, org: str) -> tuple[PostgresDatabase, Sequence[SearchIndex]]:
        database = self._databases.get(org)
        if database is None:
            database = self._databases[org] = PostgresDatabase(
                self._url, Tenant(org, "local", "local"), read_only=self._read_only, reach="org"
            )
        return database, [PostgresIndex(database, each, self._embedder) for each in (MEMORY, NODE)]

    def embed_rows(self) -> None:
        """They have their vectors."""

    def finish(self, connection: Connection, table: Table, last: int) -> None:
        sequence = f"rlm.{table.name}_{table.sequence}_seq"
        connection.execute(
            f"SELECT setval('{sequence}', ?) FROM {sequence} WHERE last_value <= ?", (last, last)
        )

    def close(self) -> None:
        for database in self._databases.values():
            database.close()
        self._raw.close()
