"""A database in memory whose rows a JSON file keeps (`jsonrows.py` says in what form).

The file is read whole and written whole. A write transaction takes the lock of `lock.py`, reads
the file again if somebody changed it since, and writes it before it commits, to a new file that
replaces the old one. So a crash leaves the old or the new file, what fails leaves both file and
rows as they were, no process overwrites what another wrote, and readers see what others write.

That is so with `autosave`. Without it the rows live in memory until `write_file` is called.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from rlm.errors import StoreCorrupt, StoreError, StoreFull, StoreReadOnly
from rlm.store.lock import part_file
from rlm.store.sql.database import COUNT_PATIENCE_S
from rlm.store.sqlite import jsonrows
from rlm.store.sqlite.connection import (
    SQLiteConnection,
    SQLiteDatabase,
    configure,
    map_errors,
)
from rlm.store.types import Tenant


class JSONDatabase(SQLiteDatabase):
    """The rows of one file, or of none. A memory without an owner becomes that of `tenant`."""

    in_memory = True

    def __init__(
        self, file: Path | None, tenant: Tenant, origin: str, *, lock_timeout_s: float
    ) -> None:
        super().__init__(file or Path("in memory"), lock_timeout_s=lock_timeout_s)
        self.file = file
        self.autosave = False
        self.lacks_vectors = False  # whether there are rows from the file without one
        self._tenant, self._origin = tenant, origin
        self._foreign = True  # whether the file is of an older form, or was not read
        self._pending = False  # whether there are access counts that the file does not have
        self._seen: tuple[int, ...] | None = None
        self._changes = 0

    def _prepare_file(self, read_only: bool) -> None:
        self.read_only = read_only

    def _connect(self) -> SQLiteConnection:
        with map_errors(self.path):
            connection = SQLiteConnection(":memory:")
            configure(connection)
        return connection

    def _reconnect(self) -> None:
        """A child has its own copy of the memory."""

    def close(self) -> None:
        """Write access counts that are pending; a search alone does not rewrite somebody's file."""
        if self._pending and self.autosave and not self._foreign and self._signature():
            with suppress(StoreError), self.write(wait_s=COUNT_PATIENCE_S):
                pass
        self._pending = False
        super().close()

    # -- transactions ------------------------------------------------------------------------------

    def _acquire(self, wait_s: float) -> None:
        if self.autosave:
            super()._acquire(wait_s)

    def _begin(self, connection: SQLiteConnection, left_s: float) -> None:
        self._refresh()
        super()._begin(connection, left_s)
        self._changes = connection.total_changes()

    def _commit(self, connection: SQLiteConnection) -> None:
        changed = self._pending or connection.total_changes() != self._changes
        if not (self.autosave and changed):
            super()._commit(connection)
            return
        self.write_file(self.path)
        super()._commit(connection)
        self._seen = self._signature()  # not before: without the commit the file is to be read

    def offer(self, work: Callable[[SQLiteConnection], None], *, wait_s: float) -> bool:
        """Count in memory: the file gets it with the next write, or when the store is closed."""
        if self.read_only:
            return False
        with self.without_saving():
            done = super().offer(work, wait_s=wait_s)
        self._pending = self._pending or done
        return done

    @contextmanager
    def without_saving(self) -> Iterator[None]:
        """Writes inside of this change what the file does not hold: indexes, vectors, counts."""
        with self._guard:
            before = self.autosave, self.read_only
            self.autosave = self.read_only = False
            try:
                yield
            finally:
                self.autosave, self.read_only = before

    # -- the file ----------------------------------------------------------------------------------

    def _signature(self) -> tuple[int, ...] | None:
        """Differs when the file was replaced or written; None while there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    def _refresh(self) -> None:
        if self.autosave and self._signature() not in (None, self._seen):
            self.read_file()

    def read_file(self) -> None:
        """Replace all rows by those of the file. StoreCorrupt leaves both as they are."""
        try:
            seen, data = self._signature(), self.path.read_bytes()
            with self._connection:  # a transaction
                ours = jsonrows.load(self._connection, data, self._tenant, self._origin)
        except OSError as exc:
            raise StoreError(f"{self.path} cannot be read: {exc.strerror}") from exc
        except (ValueError, TypeError, AttributeError, RecursionError) as exc:
            raise StoreCorrupt(
                f"{self.path} is not a readable memory store ({exc}): it was left as it is; fix it"
                " by hand or name another file"
            ) from exc
        self._seen, self._foreign, self._pending = seen, not ours, False
        self.lacks_vectors = True
        self.writes += 1  # what is known of the rows is out of date

    def write_file(self, target: Path) -> None:
        """Write all rows to a file, atomically. One of ours that is not of this form is kept."""
        own = target == self.file
        try:
            if own and self._foreign and target.exists():
                _keep_copy(target)
            _write(target, jsonrows.dump(self._connection))
        except PermissionError as exc:
            raise StoreReadOnly(f"{target} cannot be written: {exc.strerror}") from exc
        except OSError as exc:
            why = f"{target} cannot be written ({exc.strerror}): the old file is intact"
            raise StoreFull(why) from exc
        if own:
            self._foreign = self._pending = False


def _write(target: Path, data: bytes, mode: int = 0o600) -> None:
    with part_file(target) as part, part.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        part.chmod(mode)


def _keep_copy(path: Path) -> None:
    """Copy a file to the first of `NAME.bak`, `NAME.bak1`, … that is free, unless one is equal."""
    data, mode = path.read_bytes(), path.stat().st_mode & 0o777
    backups = (Path(f"{path}.bak{number or ''}") for number in count())
    free = next(each for each in backups if not each.exists() or each.read_bytes() == data)
    if not free.exists():
        _write(free, data, mode)
