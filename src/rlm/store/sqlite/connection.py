"""One SQLite file, opened with care.

The driver is apsw, because it brings its own SQLite: versions 3.7.0 to 3.51.2 have a bug that can
lose committed pages when two processes write, and the interpreter's own library is often one of
them. The version is checked at open. WAL, `synchronous=FULL`, foreign keys on, one write lock
(`store/lock.py`), `BEGIN IMMEDIATE` for every write, and a new connection after a fork.

This module knows no table. It maps every apsw error to ours, in `map_errors`, and nowhere else.
"""

from __future__ import annotations

import json
import os
import shlex
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw

from rlm.errors import (
    EngineUnfit,
    RLMError,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    ValidationError,
)
from rlm.store.lock import WriteLock
from rlm.store.sql.database import WHICH_ROWS
from rlm.store.sql.dialect import Dialect, Value
from rlm.store.sqlite.schema import ALIAS

MINIMUM_SQLITE = (3, 51, 3)
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ncpfs", "fuse.sshfs", "9p"}
)
PAGE_BYTES = 8_192
"""A memory takes some 1,300 bytes: pages of 4 kB waste a sixth, of 8 kB a thirtieth."""
CACHE_KIB = 65_536
MMAP_BYTES = 1 << 30
FOREIGN_SCHEMA = ("no such ", "has no column", "vtable constructor failed", "malformed")
"""Where SQLite says one of these, somebody changed our tables."""


class SQLiteConnection(apsw.Connection):
    """A connection that knows its dialect."""

    dialect = Dialect(
        among="IN (SELECT value FROM json_each(?))",
        pack_list=lambda values: json.dumps(list(values)),
        holds="EXISTS (SELECT 1 FROM json_each({0}) WHERE value = ?)",
        alias=ALIAS,
        arrival="rowid",
        unindexed="+",
        skip_locked="",
        no_vector="typeof(embedding) <> 'blob'",
        own="",
        own_key="",
    )


class SQLiteDatabase:
    """A connection with one way to read and one way to write. Safe to share between threads."""

    in_memory = False
    dialect = SQLiteConnection.dialect

    def __init__(
        self, path: Path, *, lock_timeout_s: float = 10.0, read_only: bool = False
    ) -> None:
        check_engine()
        self.path = path
        self.lock_timeout_s = lock_timeout_s
        self.lock = WriteLock(path)
        self.writes = 0
        self._mutex = threading.RLock()
        self._depth = self._reading = 0
        self._pid = os.getpid()
        self._closed = False
        try:
            self._prepare_file(read_only)
        except OSError as exc:
            raise StoreReadOnly(f"{path} cannot be opened: {exc.strerror}") from exc
        self._connection = self._connect()

    # -- opening ---------------------------------------------------------------------------------

    def _prepare_file(self, read_only: bool) -> None:
        if str(self.path) == ":memory:":
            why = "a store is a file, and ':memory:' is not one: give a path; for a store"
            hint = "one in a temporary folder, as tempfile.TemporaryDirectory() or `mktemp -d`"
            raise StoreError(f"{why} to throw away {hint} makes it")
        if self.path.is_dir():
            why = f"{self.path} is a folder: name a file, for example {self.path / 'memory.db'}"
            raise StoreError(why)
        refuse_network_file_system(self.path)
        exists = self.path.exists()
        if not exists and not read_only:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        elif not exists:
            raise StoreError(f"{self.path} does not exist")
        writable = os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)
        self.read_only = read_only or not writable

    def _connect(self) -> SQLiteConnection:
        with map_errors(self.path):
            if not self.read_only:
                flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
                connection = SQLiteConnection(str(self.path), flags=flags)
            else:
                connection = self._connect_read_only()
            _wait_at_most(connection, self.lock_timeout_s)
            configure(connection)
            if not self.read_only:
                connection.pragma("page_size", PAGE_BYTES)  # of a new file; others keep theirs
                mode = connection.pragma("journal_mode", "wal")
                if mode != "wal":
                    why = f"{self.path} is on a file system without WAL (journal mode {mode!r})"
                    raise StoreError(why)
                connection.pragma("synchronous", "FULL")
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        return connection

    def _connect_read_only(self) -> SQLiteConnection:
        """A read-only WAL file whose side files cannot be made is read as immutable."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        name = f"file:{quote(str(self.path.resolve()))}?mode=ro"
        wal = Path(f"{self.path}-wal")
        if not os.access(self.path.parent, os.W_OK) and not (wal.exists() and wal.stat().st_size):
            name += "&immutable=1"
        return SQLiteConnection(name, flags=flags)

    def close(self) -> None:
        """Close the connection; a closed database opens again at its next use after a fork only."""
        with self._guard:
            self._closed = True
            if self._pid == os.getpid():
                self._connection.close()
            self.lock.close()

    @property
    def connection(self) -> SQLiteConnection:
        """The live connection."""
        self._after_fork()
        if self._closed:
            raise _closed_error(self.path)
        if not (self._depth or self._reading):
            self._refresh()
        return self._connection

    def _refresh(self) -> None:
        """Called before every transaction. SQLite itself sees what others wrote."""

    @property
    def _guard(self) -> threading.RLock:
        """The lock between threads; a new one in a forked child."""
        self._after_fork()
        return self._mutex

    def _after_fork(self) -> None:
        """In a child: the locks are the parent's, and the connection may be."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._mutex = threading.RLock()
            self._depth = self._reading = 0
            self._closed = False
            self.lock.close()
            self._reconnect()

    def _reconnect(self) -> None:
        """In a child: the parent's connection is abandoned, not closed, because it is not ours."""
        _abandoned.append(self._connection)
        self._connection = self._connect()

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def in_write(self) -> bool:
        """Whether a write transaction of ours is open: what is read now may yet be rolled back."""
        return self._depth > 0

    # -- reading and writing -----------------------------------------------------------------------

    def rows(self, sql: str, values: Sequence[Value] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement."""
        with map_errors(self.path), self._guard:
            return self.connection.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Value] = ()) -> tuple[Any, ...] | None:
        """The first row, or None."""
        with map_errors(self.path), self._guard:
            return next(iter(self.connection.execute(sql, values)), None)

    def value(self, sql: str, values: Sequence[Value] = ()) -> Any:
        """The first column of the first row, or None."""
        found = self.row(sql, values)
        return None if found is None else found[0]

    def run_many(self, sql: str, rows: Iterable[Sequence[Value]]) -> None:
        """Execute once per row, inside `write()`."""
        with map_errors(self.path):
            self.connection.executemany(sql, rows)

    @contextmanager
    def read(self) -> Iterator[SQLiteConnection]:
        """One snapshot for several reads. Inside `write()` it is that transaction."""
        with self._guard, map_errors(self.path):
            connection = self.connection
            if self._depth or self._reading:
                yield connection
                return
            try:
                self._reading = 1
                _end_stray(connection)
                connection.execute("BEGIN")
                yield connection
            finally:
                self._reading = 0
                _end_stray(connection)

    @contextmanager
    def write(
        self, *, wait_s: float | None = None, alone: bool = True
    ) -> Iterator[SQLiteConnection]:
        """The one way to write: lock, `BEGIN IMMEDIATE`, all or nothing; also when nested.

        It waits for others `lock_timeout_s`, or `wait_s`, in all: then StoreLocked. A file has one
        writer, so each is `alone`.
        """
        with self._guard, map_errors(self.path):
            if self.read_only:
                why = f"{self.path} is read-only: check its permissions and its folder's"
                raise StoreReadOnly(why)
            connection = self.connection
            if self._depth:
                with self._write_nested(connection):
                    yield connection
                return
            wait_s = self.lock_timeout_s if wait_s is None else wait_s
            ends = time.monotonic() + wait_s
            self._acquire(wait_s)
            try:
                self._depth = 1
                _end_stray(connection)
                self._begin(connection, ends - time.monotonic())
                yield connection
                self._commit(connection)
                self.writes += 1
            finally:  # also on ctrl-C, wherever it strikes: what is not committed goes back
                self._depth = 0
                try:
                    _end_stray(connection)
                finally:
                    self.lock.release()

    @contextmanager
    def _write_nested(self, connection: SQLiteConnection) -> Iterator[None]:
        """A write inside of a write: when it fails, its own part goes back, whoever catches it."""
        name = f"nested{self._depth}"
        connection.execute(f"SAVEPOINT {name}")
        self._depth += 1
        try:
            yield
        except BaseException:
            if (
                connection.in_transaction
            ):  # else SQLite has rolled back all of it, as when it is full
                connection.execute(f"ROLLBACK TO {name}; RELEASE {name}")
            raise
        else:
            connection.execute(f"RELEASE {name}")
        finally:
            self._depth -= 1

    def _acquire(self, wait_s: float) -> None:
        """Wait for the other writers of the file."""
        self.lock.acquire(wait_s)

    def _commit(self, connection: SQLiteConnection) -> None:
        connection.execute("COMMIT")

    def _begin(self, connection: SQLiteConnection, left_s: float) -> None:
        """Other programs hold SQLite's own lock: the rest of the wait goes to that."""
        _wait_at_most(connection, left_s)
        try:
            connection.execute("BEGIN IMMEDIATE")
        finally:
            _wait_at_most(connection, self.lock_timeout_s)

    def offer(self, work: Callable[[SQLiteConnection], None], *, wait_s: float) -> bool:
        """Write what may be lost, as a count may; False where it was not written.

        It waits at most `wait_s` for others and raises nothing. Within a transaction of this thread
        it does nothing, since a full disk would end that one too.
        """
        ends = time.monotonic() + wait_s
        try:
            guard = self._guard
            if self.read_only or not guard.acquire(timeout=wait_s):
                return False
            try:
                if self._depth or self._reading:
                    return False
                with self.write(wait_s=max(0.0, ends - time.monotonic())) as connection:
                    work(connection)
            finally:
                guard.release()
        except StoreError:
            return False
        return True

    @contextmanager
    def across_projects(self) -> Iterator[None]:
        """A file has no second wall between its projects."""
        yield

    def data_version(self) -> tuple[int, ...]:
        """Changes whenever this or any other process has committed."""
        with map_errors(self.path), self._guard:
            return int(self.connection.pragma("data_version")), self.writes, self._pid


_abandoned: list[SQLiteConnection] = []
"""Connections of the parent process, kept alive so that their destructor never runs in a child."""


def configure(connection: SQLiteConnection) -> None:
    """Set what every connection needs, of a file or in memory."""
    connection.execute(
        "PRAGMA foreign_keys=ON; PRAGMA recursive_triggers=ON; PRAGMA"
        f" trusted_schema=OFF;PRAGMA cache_size=-{CACHE_KIB}; PRAGMA temp_store=MEMORY;"
        f" PRAGMA mmap_size={MMAP_BYTES}"
    ).fetchall()  # a statement after one that answers runs only when the answer is read
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def _wait_at_most(connection: SQLiteConnection, seconds: float) -> None:
    connection.set_busy_timeout(max(0, int(seconds * 1000)))


def _end_stray(connection: SQLiteConnection) -> None:
    """Roll back whatever is open: a transaction that nobody will end, or one that failed."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


def sqlite_version() -> str:
    """The version of the SQLite library that apsw brings."""
    return apsw.sqlite_lib_version()


def check_engine() -> None:
    """EngineUnfit unless the SQLite library is one without the WAL-reset bug."""
    version = apsw.sqlite_lib_version()
    if tuple(int(part) for part in version.split(".")[:3]) < MINIMUM_SQLITE:
        wanted = ".".join(map(str, MINIMUM_SQLITE))
        raise EngineUnfit(
            f"SQLite {version} can lose committed data when two processes write; {wanted} or newer"
            " is needed: pip install --upgrade 'apsw>=3.53'"
        )


def refuse_network_file_system(path: Path, mounts: str | None = None) -> None:
    """WAL needs shared memory, which network file systems lack; checked on Linux only."""
    if mounts is None:
        try:
            mounts = Path("/proc/self/mounts").read_text("utf-8", errors="replace")
        except OSError:
            return
    target = str(path.resolve())
    best, kind = "", ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ").rstrip("/") or "/"
        inside = target == point or target.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, parts[2]
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path} is on a network file system ({kind} at {best}), where SQLite cannot keep it"
            " safe: use a local path with --db"
        )


def _closed_error(path: Path) -> StoreError:
    return StoreError(f"the store {path} was closed: open it again with open_store")


_FAULTS: tuple[tuple[tuple[type[BaseException], ...], type[StoreError], str], ...] = (
    ((apsw.NotADBError, apsw.CorruptError), StoreCorrupt,
     "{path} is not a readable store ({exc}): it was left as it is; restore a backup or name"
     " another file"),
    ((apsw.BusyError, apsw.LockedError), StoreLocked,
     "{path} is locked by another process ({exc}): try again"),
    ((apsw.ReadOnlyError, apsw.PermissionsError, apsw.AuthError), StoreReadOnly,
     "{path} cannot be written ({exc})"),
    ((apsw.CantOpenError,), StoreReadOnly,
     "{path} cannot be opened ({exc}): check that the path and its folder exist"),
    ((apsw.FullError,), StoreFull,
     "no space left for {path}: the write was rolled back; free some space"),
    ((apsw.IOError,), StoreFull,
     "{path} cannot be read or written ({exc}): is the disk full or gone?"),
    ((apsw.ConstraintError,), ValidationError, "{path} refused a value: {exc}"),
    ((apsw.TooBigError,), ValidationError, "a value is too large for {path}: {exc}"),
    ((UnicodeDecodeError,), StoreCorrupt,
     "{path} has a row whose text is not UTF-8: " + WHICH_ROWS),
    ((UnicodeEncodeError, OverflowError), ValidationError, "a value cannot be stored: {exc}"),
)  # fmt: skip
"""What each error of the driver becomes, the first that fits."""


@contextmanager
def map_errors(path: Path) -> Iterator[None]:
    """Turn every apsw error into ours, with what to do next."""
    try:
        yield
    except RLMError:
        raise
    except (apsw.Error, UnicodeError, OverflowError, TypeError) as exc:
        ours = _fault(path, exc)
        if ours is exc:
            raise
        raise ours from exc


def _fault(path: Path, exc: Exception) -> Exception:
    """The error of ours that this one becomes; a fault of our own code stays what it is."""
    for kinds, error, message in _FAULTS:
        if isinstance(exc, kinds):
            return error(message.format(path=path, exc=exc))
    if isinstance(exc, (apsw.ConnectionClosedError, apsw.CursorClosedError)):
        return _closed_error(path)
    if not isinstance(exc, apsw.Error):
        binding = "binding" in str(exc).lower()
        return ValidationError(f"a value cannot be stored: {exc}") if binding else exc
    doctor = f"`rlm doctor --db {shlex.quote(str(path))}`"
    if str(exc) == "malformed JSON":
        return StoreCorrupt(f"{path} has a row whose JSON is damaged: {WHICH_ROWS}")
    if isinstance(exc, apsw.SQLError) and any(sign in str(exc) for sign in FOREIGN_SCHEMA):
        why = f"{path} is not as rlm made it ({exc}): it was left as it is; {doctor} says more"
        return StoreCorrupt(why)
    return StoreError(f"{path}: {exc}; {doctor} says whether the file is sound")
