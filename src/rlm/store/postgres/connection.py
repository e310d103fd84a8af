"""A pool of connections to one PostgreSQL database, with one way to read and one way to write.

A read is one snapshot: REPEATABLE READ, READ ONLY. A write first takes the advisory lock of its
organisation, so that writers of one organisation take turns, as the row logic expects, and others
do not wait. Each transaction says whose it is with settings that end with it, so that a pool, ours
or a pgbouncer, never lends one tenant's rights to another. Nothing else stays on a connection
either: no prepared statement, which behind a pgbouncer the next one may meet (they would save 5 %
of a search).

A transaction that could not begin is begun again on another connection, for as long as a caller
would wait for a lock: a server that restarts is waited for. What fails later surely did not happen,
and says so; only a connection that is lost during COMMIT leaves that open.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

import psycopg
from psycopg import pq, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.string import TextLoader
from psycopg_pool import ConnectionPool, PoolTimeout

from rlm.errors import ConfigError, StoreError, StoreReadOnly, StoreUnavailable
from rlm.store.postgres.faults import LOST, fault, map_errors
from rlm.store.sql.dialect import Dialect
from rlm.store.types import Tenant

POOL_SIZE = 8
STATEMENT_TIMEOUT_S = 60.0
IDLE_TIMEOUT_S = 300.0
"""A transaction of a program that hangs is ended, so that it does not hold the lock for ever."""
CONNECT_TIMEOUT_S = 10
OPTIONS: dict[str, Any] = {"autocommit": True, "prepare_threshold": None}
PAUSE_S = 0.05, 0.5
"""Between attempts to begin a transaction: at first, and at most."""

DIALECT = Dialect(
    among="= ANY(?)",
    pack_list=list,
    holds="jsonb_exists({0}::jsonb, ?)",
    alias="(provenance_json ->> 'alias')",
    arrival="row_no",
    unindexed="",
    skip_locked="FOR UPDATE SKIP LOCKED",
    no_vector="embedding IS NULL",
    own="AND org = current_setting('rlm.org')",
    own_key="org, ",
)


@lru_cache(maxsize=512)
def _marked(statement: str) -> bytes:
    return statement.replace("%", "%%").replace("?", "%s").encode()


def _matchable(value: Any) -> Any:
    """No text in PostgreSQL has a NUL, so what is asked for with one is not there: it becomes a
    private character, which the gate lets into no text either."""
    if isinstance(value, str) and "\0" in value:
        return value.replace("\0", "\ue000")
    return [_matchable(each) for each in value] if isinstance(value, list) else value


class PostgresConnection:
    """A connection of the pool, inside a transaction, that takes statements with `?`."""

    dialect = DIALECT

    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw = raw

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        if not values:
            return self.raw.execute(statement.encode())
        if statement.startswith(("SELECT", "DELETE")):
            values = [_matchable(value) for value in values]
        return self.raw.execute(_marked(statement), values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> None:
        with self.raw.cursor() as cursor:
            cursor.executemany(_marked(statement), rows)

    @property
    def is_usable(self) -> bool:
        """Whether a statement could run: not after one that failed."""
        return self.raw.info.transaction_status == pq.TransactionStatus.INTRANS


class _Here(threading.local):
    """The transaction of one thread."""

    connection: PostgresConnection | None = None
    depth = 0


class PostgresDatabase:
    """One tenant's access to one database. Safe to share between threads, and after a fork."""

    dialect = DIALECT
    in_memory = False

    def __init__(
        self,
        url: str,
        tenant: Tenant,
        *,
        lock_timeout_s: float = 10.0,
        read_only: bool = False,
        reach: str = "",
    ) -> None:
        """`reach` is `org` where every transaction is about all projects of the organisation."""
        self.conninfo, self._name = read_url(url)
        self.lock_timeout_s = lock_timeout_s
        self._here, self._closed = _Here(), False
        self._settings, self._reach = _settings(tenant, reach), reach
        self._pool, self._pid = _borrow_pool(self.conninfo, self._name), os.getpid()
        self.read_only = read_only

    @property
    def name(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"PostgresDatabase({self._name})"

    def close(self) -> None:
        if not self._closed and self._pid == os.getpid():
            _return_pool(self.conninfo)
        self._closed = True

    @property
    def in_write(self) -> bool:
        return self._here.depth > 0

    @property
    def connection(self) -> PostgresConnection:
        if self._here.connection is None:
            raise StoreError(f"{self._name}: no transaction is open here")
        return self._here.connection

    # -- single statements -------------------------------------------------------------------------

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self.read() as connection:
            return connection.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        with self.read() as connection:
            found: tuple[Any, ...] | None = connection.execute(statement, values).fetchone()
            return found

    def value(self, statement: str, values: Sequence[Any] = ()) -> Any:
        found = self.row(statement, values)
        return None if found is None else found[0]

    def run_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        with map_errors(self._name):
            self.connection.executemany(statement, rows)

    # -- transactions ------------------------------------------------------------------------------

    @contextmanager
    def read(self) -> Iterator[PostgresConnection]:
        """One snapshot for several reads. Inside `write()` it is that transaction."""
        here = self._here
        if here.connection is not None:
            with map_errors(self._name):
                yield here.connection
            return
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {self._settings}"
        with self._transaction(begin, self.lock_timeout_s) as connection:
            here.connection = connection
            try:
                yield connection
            finally:
                here.connection = None

    @contextmanager
    def write(
        self, *, wait_s: float | None = None, alone: bool = True
    ) -> Iterator[PostgresConnection]:
        """A transaction, all or nothing, also when nested. `alone`, it has the organisation's lock;
        StoreLocked where others have it for longer than `lock_timeout_s`, or `wait_s`."""
        if self.read_only:
            raise StoreReadOnly(f"{self._name} is read-only, as it was opened or as its server is")
        here = self._here
        if here.depth:
            with map_errors(self._name), self._nested(here) as connection:
                yield connection
            return
        wait_s = self.lock_timeout_s if wait_s is None else wait_s
        outer = here.connection  # of a read, which keeps its snapshot
        with self._transaction(self._begin_write(wait_s, alone=alone), wait_s) as connection:
            here.connection, here.depth = connection, 1
            try:
                yield connection
            finally:
                here.connection, here.depth = outer, 0

    def _begin_write(self, wait_s: float, *, alone: bool) -> str:
        wait_ms = max(1, int(wait_s * 1000))
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(current_setting('rlm.org'), 7102))"
        wait = f"SET LOCAL lock_timeout = {wait_ms}"
        return f"BEGIN; {self._settings}; {wait}" + (f"; {lock}" if alone else "")

    @contextmanager
    def _nested(self, here: _Here) -> Iterator[PostgresConnection]:
        """A write inside of a write: when it fails, its own part goes back, whoever catches it."""
        assert here.connection is not None
        name, raw = f"nested{here.depth}", here.connection.raw
        raw.execute(f"SAVEPOINT {name}".encode())
        here.depth += 1
        try:
            yield here.connection
        except BaseException:
            with suppress(psycopg.Error):
                raw.execute(f"ROLLBACK TO {name}; RELEASE {name}".encode())
            raise
        else:
            raw.execute(f"RELEASE {name}".encode())
        finally:
            here.depth -= 1

    @contextmanager
    def _transaction(self, begin: str, wait_s: float) -> Iterator[PostgresConnection]:
        with map_errors(self._name):
            raw = self._begin(begin, wait_s)
            try:
                yield PostgresConnection(raw)
                self._commit(raw)
            finally:  # also on ctrl-C, wherever it strikes: what is not committed goes back
                self._give_back(raw)

    def _begin(self, begin: str, wait_s: float) -> psycopg.Connection[Any]:
        """Begin on a connection that lives; a dead one is dropped, and the next is tried."""
        ends, pause = time.monotonic() + max(wait_s, PAUSE_S[0]), PAUSE_S[0]
        while True:
            left = max(0.1, ends - time.monotonic())
            raw: psycopg.Connection[Any] | None = None
            try:
                raw = self._current_pool().getconn(timeout=left)
                raw.execute(begin.encode())
                return raw
            except BaseException as exc:
                if raw is not None:
                    self._give_back(raw)
                if isinstance(exc, PoolTimeout):
                    _explain_timeout(self.conninfo, self._name)
                lost = isinstance(exc, LOST) and (raw is None or raw.closed)
                if not lost or time.monotonic() + pause > ends:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, PAUSE_S[1])

    def _commit(self, raw: psycopg.Connection[Any]) -> None:
        try:
            raw.execute(b"COMMIT")
        except LOST as exc:
            if not raw.closed:
                raise
            unsure = StoreUnavailable(
                f"the connection to {self._name} was lost while it wrote: this change is either"
                " stored whole or not at all; look before you repeat it"
            )
            unsure.may_be_stored = True
            raise unsure from exc

    def _give_back(self, raw: psycopg.Connection[Any]) -> None:
        if not raw.closed and raw.info.transaction_status != pq.TransactionStatus.IDLE:
            with suppress(psycopg.Error):
                raw.execute(b"ROLLBACK")
        with suppress(psycopg.Error, ValueError):  # the pool was closed, or is the parent's
            self._pool.putconn(raw)

    def _current_pool(self) -> ConnectionPool[Any]:
        if self._pid != os.getpid():  # in a child: connections of the parent are not ours
            self._pid, self._here, self._closed = os.getpid(), _Here(), False
            self._pool = _borrow_pool(self.conninfo, self._name)
        if self._closed:
            raise StoreError(f"the store {self._name} was closed: open it again with open_store")
        return self._pool

    @contextmanager
    def across_projects(self) -> Iterator[None]:
        """Statements inside of this may touch other projects of the organisation."""
        connection = self.connection
        connection.execute("SET LOCAL rlm.reach = 'org'")
        try:
            yield
        finally:
            if connection.is_usable:
                connection.execute(f"SET LOCAL rlm.reach = '{self._reach}'")

    def offer(self, work: Callable[[PostgresConnection], None], *, wait_s: float) -> bool:
        """Write what may be lost, as a count may; False where it was not written. It takes no turn
        among the writers, and waits at most `wait_s` for a row."""
        if self.read_only or self._here.connection is not None:
            return False
        try:
            with self.write(wait_s=wait_s, alone=False) as connection:
                work(connection)
        except StoreError:
            return False
        return True


def read_url(url: str) -> tuple[str, str]:
    """What libpq understands of a URL, and the name of it without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        parts = None  # the driver's message may hold a part of the password
    if parts is None or _is_cut_wrongly(url, parts):
        raise ConfigError(
            "the postgresql URL cannot be read: write it as postgresql://USER@HOST:PORT/DATABASE;"
            " in a user, a password or a path write @ : / ? # % and spaces percent-encoded"
        )
    defaults = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "rlm"}
    host, port = parts.get("host") or "", parts.get("port")
    who = f"{parts['user']}@" if parts.get("user") else ""
    place = f"{host}{f':{port}' if port else ''}" if not str(host).startswith("/") else ""
    name = f"postgresql://{who}{place}/{parts.get('dbname') or ''}"
    merged: dict[str, Any] = {**defaults, **parts}
    return make_conninfo(**merged), name


def _is_cut_wrongly(url: str, parts: dict[str, Any]) -> bool:
    """Whether a part of a password was taken for a host, a port or a database, as libpq does where
    one holds a `/` or an `@` as it is: every message would then show it."""
    path = url.partition("://")[2].partition("/")[2].partition("?")[0]
    host, port = str(parts.get("host") or ""), str(parts.get("port") or "")
    return "@" in path or "@" in host[1:] or bool(port.strip("0123456789,"))


def _settings(tenant: Tenant, reach: str) -> str:
    """SQL that says whose a transaction is. The settings end with it."""
    values = {
        "search_path": "rlm, public", "rlm.org": tenant.org, "rlm.team": tenant.team,
        "rlm.project": tenant.project, "rlm.reach": reach,
        "statement_timeout": f"{STATEMENT_TIMEOUT_S:g}s",
        "idle_in_transaction_session_timeout": f"{IDLE_TIMEOUT_S:g}s",
    }  # fmt: skip
    calls = (
        f"set_config('{name}', {sql.Literal(value).as_string(None)}, true)"
        for name, value in values.items()
    )
    return f"SELECT {', '.join(calls)}"


# -- pools, one for each database and process --------------------------------------------------

_pools: dict[tuple[int, str], tuple[ConnectionPool[Any], int]] = {}
_pools_lock = threading.Lock()


def _borrow_pool(conninfo: str, name: str) -> ConnectionPool[Any]:
    key = (os.getpid(), conninfo)
    with _pools_lock:
        pool, users = _pools.get(key, (None, 0))
        if pool is None:
            with map_errors(name):
                pool = ConnectionPool(
                    conninfo,
                    min_size=1,
                    max_size=POOL_SIZE,
                    open=False,
                    num_workers=1,
                    configure=_read_json_as_text,
                    reconnect_timeout=CONNECT_TIMEOUT_S,
                    kwargs=OPTIONS,
                    name="rlm",
                )
                pool.open()
        _pools[key] = pool, users + 1
    return pool


def _return_pool(conninfo: str) -> None:
    key = (os.getpid(), conninfo)
    with _pools_lock:
        pool, users = _pools.pop(key, (None, 0))
        if pool is not None and users > 1:
            _pools[key] = pool, users - 1
            return
    if pool is not None:
        pool.close()


def _read_json_as_text(raw: psycopg.Connection[Any]) -> None:
    raw.adapters.register_loader("json", TextLoader)


def connect(conninfo: str, name: str) -> psycopg.Connection[Any]:
    """A connection outside of any pool."""
    with map_errors(name):
        raw = psycopg.connect(conninfo, **OPTIONS)
        _read_json_as_text(raw)
    return raw


def _explain_timeout(conninfo: str, name: str) -> None:
    """A pool says only that it waited: ask the server itself what is wrong."""
    try:
        psycopg.connect(conninfo, autocommit=True).close()
    except psycopg.Error as exc:
        raise fault(name, exc) from exc
