"""Is the database sound? Its walls, derived tables and vectors; pages are the server's matter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rlm.errors import RLMError
from rlm.retrieval.embed import Embedder
from rlm.store.postgres import schema
from rlm.store.postgres.candidates import PostgresIndex
from rlm.store.postgres.connection import PostgresDatabase
from rlm.store.sql.reembed import stale_count
from rlm.store.sql.spaces import in_spaces
from rlm.store.types import Check

INIT = "`rlm store init URL` with the owner's URL"


def check_all(
    database: PostgresDatabase,
    indexes: Sequence[PostgresIndex],
    spaces: tuple[int, ...],
    embedder: Embedder | None,
) -> list[Check]:
    """Every check, the gravest first, over what this tenant sees."""
    checks = [_walls(database), *(_derived(database, index, spaces) for index in indexes)]
    if embedder is not None:
        stale = stale_count(database, embedder)
        detail = f"{stale:,} rows have none of {embedder.model}" if stale else None
        detail = detail or f"ok: all of {embedder.model}"
        checks.append(Check("vectors", not stale, detail, "rlm doctor --fix" if stale else None))
    return checks


def _walls(database: PostgresDatabase) -> Check:
    """Row-level security is on and forced, with a policy, for every table that holds rows."""
    rows = database.rows(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " WHERE n.nspname = 'rlm' AND c.relkind = 'r' AND c.relrowsecurity AND"
        " c.relforcerowsecurity AND EXISTS (SELECT 1 FROM pg_policy p WHERE p.polrelid = c.oid"
        " AND p.polname = 'tenant')"
    )
    wanted = {*schema.BY_SPACE, *schema.BY_ORG, *schema.BY_PARENT}
    missing = sorted(wanted - {row[0] for row in rows})
    if missing:
        detail = f"tenants are not parted by row-level security in: {', '.join(missing)}"
        return Check("row-level security", False, detail, f"restore a backup, or {INIT}")
    return Check("row-level security", True, f"forced on {len(wanted)} tables")


def _derived(database: PostgresDatabase, index: PostgresIndex, spaces: tuple[int, ...]) -> Check:
    """Each live row, and no other, must be in the derived tables, which must agree on the count."""
    source, name = index.source, f"recall tables of {index.source.table}"
    mine = in_spaces(spaces)
    live, extra, words, documents = database.rows(
        f"SELECT (SELECT count(*) FROM {source.view} v WHERE v.space_id {mine}), (SELECT count(*)"
        f" FROM recall_rows r WHERE r.kind = ? AND r.space_id {mine} AND NOT EXISTS (SELECT 1 FROM"
        f" {source.view} v WHERE v.space_id = r.space_id AND v.{source.key} = r.number)),"
        f" (SELECT count(*) FROM recall_words w JOIN recall_rows r USING (space_id, kind, number)"
        f" WHERE kind = ? AND space_id {mine}), (SELECT coalesce(sum(documents), 0)::bigint FROM"
        f" recall_totals WHERE kind = ? AND space_id {mine})",
        (source.kind,) * 3,
    )[0]
    if extra or not live == words == documents:
        detail = f"{live:,} rows live, {words:,} are indexed, {documents:,} counted, {extra:,} over"
        return Check(name, False, detail, "rlm doctor --fix")
    return Check(name, True, f"ok: {live:,} rows")


def repair(
    database: PostgresDatabase,
    indexes: Sequence[PostgresIndex],
    embedder: Embedder | None,
    reembed: Callable[[], int],
) -> list[str]:
    """Mend what the checks find fault with, for this tenant; what was done."""
    done = []
    with database.read() as connection:
        found = connection.execute("SELECT space_id FROM spaces").fetchall()
    spaces = tuple(row[0] for row in found)
    for index in indexes:
        if not _derived(database, index, spaces).ok:
            with database.write() as connection:
                index.rebuild(connection)
            done.append(f"rebuilt the recall tables of {index.source.table}")
    if embedder is not None and stale_count(database, embedder):
        try:
            done.append(f"gave {reembed():,} rows a vector of {embedder.model}")
        except RLMError as exc:
            done.append(f"nothing: {exc}")
    return done
