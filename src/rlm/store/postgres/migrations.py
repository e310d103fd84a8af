"""`rlm store init`: the roles, the schema, and numbered migrations, under an advisory lock.

All of it is one transaction: it is there whole, or nothing was made. A second call brings an older
schema up to date, grants again, and changes no password.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from rlm.errors import REINSTALL, EngineUnfit, SchemaTooNew, StoreCorrupt, StoreError, StoreReadOnly
from rlm.store.postgres import schema
from rlm.store.postgres.connection import STATEMENT_TIMEOUT_S, connect, read_url
from rlm.store.postgres.faults import map_errors

MINIMUM_SERVER = 140_000
"""PostgreSQL 14 is the first with `bit_count`."""
OWNER, APP = "rlm_owner", "rlm_app"

Run = Callable[[str], Any]


def m001_initial(run: Run) -> None:
    """All tables, behind their walls."""
    run(schema.TABLES_1)
    run(schema.policies())


def m002_changes(run: Run) -> None:
    """Which rows changed, so that a process can keep sign codes and notice when they are old."""
    run(schema.TOTALS_2)
    run(schema.FUNCTIONS)


MIGRATIONS = (m001_initial, m002_changes)
VERSION = len(MIGRATIONS)


@dataclass(frozen=True, slots=True)
class Initialised:
    """What `init` did. `url` is that of the application role; with its password, where the role is
    new."""

    name: str
    url: str
    app: str
    migrations: int
    password: str | None


def init(url: str, *, app: str = APP, owner: str = OWNER) -> Initialised:
    """Make the roles and the schema, or bring them up to date; as a role that may do so."""
    conninfo, name = read_url(url)
    with connect(conninfo, name) as raw, map_errors(name):
        check_server(raw, name)
        password = None
        with raw.transaction():
            raw.execute(f"SET LOCAL statement_timeout = '{STATEMENT_TIMEOUT_S:g}s'".encode())
            raw.execute("SELECT pg_advisory_xact_lock(7102)")
            _check_rights(raw, name)
            _make_role(raw, owner, sql.SQL("NOLOGIN"))
            if not _has_role(raw, app):
                password = secrets.token_urlsafe(24)
                _make_role(raw, app, sql.SQL("LOGIN PASSWORD {}").format(sql.Literal(password)))
            _check_app(raw, app, name)
            ran = _migrate(raw, name, owner)
            raw.execute("RESET ROLE")
            grants = schema.GRANTS.replace("{app}", sql.Identifier(app).as_string(raw))
            raw.execute(f"SET LOCAL ROLE {sql.Identifier(owner).as_string(raw)}; {grants}".encode())
        return Initialised(name, _url_of(url, app, password), app, ran, password)


def _url_of(url: str, role: str, password: str | None) -> str:
    """The same database as another role: nothing of who was named here stays in it."""
    scheme, _, rest = url.partition("://")
    place, _, given = re.sub("^[^/@]*@", "", rest).partition("?")
    kept = [part for part in given.split("&") if part.partition("=")[0] not in ("user", "password")]
    who = quote(role, safe="") + (f":{password}" if password else "")
    return f"{scheme}://{who}@{place}" + (f"?{'&'.join(kept)}" if any(kept) else "")


def _check_rights(raw: psycopg.Connection[Any], name: str) -> None:
    row = raw.execute(
        "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on',"
        " rolsuper OR rolcreaterole, current_user FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert row is not None
    if row[0]:
        raise StoreReadOnly(f"{name} takes no writes: use the URL of the primary")
    if not row[1]:
        why = "may not create roles: give `rlm store init` the URL of a role that may"
        raise StoreReadOnly(f"the role {row[2]} of {name} {why}")


def _has_role(raw: psycopg.Connection[Any], role: str) -> bool:
    found = raw.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,))
    return found.fetchone() is not None


def _make_role(raw: psycopg.Connection[Any], role: str, how: sql.Composable) -> None:
    name = sql.Identifier(role)
    if not _has_role(raw, role):
        raw.execute(sql.SQL("CREATE ROLE {} ").format(name) + how)
    if how.as_string(raw) == "NOLOGIN":
        raw.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(name))


def _check_app(raw: psycopg.Connection[Any], app: str, name: str) -> None:
    found = raw.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (app,)
    ).fetchone()
    if found is not None and found[0]:
        why = "is a superuser or has BYPASSRLS, so that nothing would part the tenants"
        raise StoreError(f"the role {app} of {name} {why}: name another with --role")


def _migrate(raw: psycopg.Connection[Any], name: str, owner: str) -> int:
    version = read_version(raw, name)
    role = sql.Identifier(owner)
    if version is None:
        raw.execute(sql.SQL("CREATE SCHEMA rlm AUTHORIZATION {}").format(role))
    raw.execute(sql.SQL("SET LOCAL ROLE {}").format(role))
    raw.execute("SET LOCAL search_path = rlm, public")
    for step in MIGRATIONS[version or 0 :]:
        step(lambda statement: raw.execute(statement.encode()))
    raw.execute("DELETE FROM rlm.version")
    raw.execute("INSERT INTO rlm.version VALUES (%s)", (VERSION,))
    return VERSION - (version or 0)


def check_server(raw: psycopg.Connection[Any], name: str) -> None:
    """EngineUnfit where the server is older than what we need."""
    if raw.info.server_version < MINIMUM_SERVER:
        found = raw.info.server_version // 10_000
        raise EngineUnfit(f"{name} is PostgreSQL {found}: rlm needs 14 or newer there")


def read_version(raw: psycopg.Connection[Any], name: str) -> int | None:
    """The version of the schema; None where there is none. StoreCorrupt for another program's."""
    row = raw.execute(
        "SELECT to_regnamespace('rlm') IS NOT NULL, to_regclass('rlm.version') IS NOT NULL"
        " AND to_regclass('rlm.memory_items') IS NOT NULL"
    ).fetchone()
    assert row is not None
    if not row[0]:
        return None
    if not row[1]:
        why = "has a schema `rlm` that is not ours: use another database"
        raise StoreCorrupt(f"{name} {why}; nothing was changed")
    found = raw.execute("SELECT number FROM rlm.version").fetchone()
    version = int(found[0]) if found else 0
    if version > VERSION:
        raise SchemaTooNew(
            f"{name} has schema {version}, this rlm knows {VERSION}: to upgrade, {REINSTALL};"
            " the database was not touched"
        )
    return version


def check_access(raw: psycopg.Connection[Any], name: str) -> bool:
    """Whether the server takes writes. StoreError where the role or the schema is not fit."""
    check_server(raw, name)
    row = raw.execute(
        "SELECT r.rolname, r.rolsuper OR r.rolbypassrls, coalesce(pg_has_role(n.nspowner, 'USAGE'),"
        " false), pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on',"
        " n.oid IS NULL OR has_schema_privilege(n.oid, 'USAGE') FROM pg_roles r"
        " LEFT JOIN pg_namespace n ON n.nspname = 'rlm' WHERE r.rolname = current_user"
    ).fetchone()
    assert row is not None
    role, unbound, owns, frozen, may_use = row
    fix = "`rlm store init URL` makes a role for this; use its URL"
    if unbound:
        why = "is a superuser or has BYPASSRLS: row-level security would not part the tenants"
        raise StoreError(f"the role {role} of {name} {why}; {fix}")
    if owns:
        why = "owns the tables: row-level security would not bind it everywhere"
        raise StoreError(f"the role {role} of {name} {why}; {fix}")
    if not may_use:
        raise StoreReadOnly(f"the role {role} of {name} may not use the schema rlm: {fix}")
    version = read_version(raw, name)
    if version is None:
        raise StoreError(f"{name} holds no store yet: `rlm store init URL` makes one")
    if version < VERSION:
        why = f"has schema {version}, this rlm needs {VERSION}"
        raise StoreError(f"{name} {why}: `rlm store init URL` brings it up to date")
    return not frozen
