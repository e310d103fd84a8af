"""A whole store into another one, and whether two hold the same: any kind, every tenant.

Organisation by organisation and table by table, in the order of `sql/tables.py`. What the target
holds must be the beginning of what the source holds: nothing, or what an earlier copy that was
stopped had written. Anything else is refused and left as it is: two stores that were both written
to number their packs, jobs and signals alike, and no rule would tell which is meant. So a copy can
be killed anywhere and started again, and started again at the end it does nothing.

One page of rows is one transaction of the target, with its indexes; a JSON file is written once.
At the end both stores are read again and compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rlm import config
from rlm.errors import NotFound, StoreError, ValidationError
from rlm.store.open import embedder_of, import_postgres, locate_store, open_store
from rlm.store.sql import outbox
from rlm.store.sql.database import Database
from rlm.store.sql.dialect import Connection, fetch, last_number, raise_counter
from rlm.store.sql.reembed import note_model
from rlm.store.sql.sources import MEMORY, NODE, LiveRow, SearchIndex, Source
from rlm.store.sql.tables import PAGE, SPACE, TABLES, StoredRow, Table, count_rows, read_rows

if TYPE_CHECKING:
    from rlm.store.postgres.side import PostgresSide

NAMED = 5
"""So many rows that differ are named for each table."""


@dataclass(slots=True)
class TableDifference:
    """Where two stores differ, in one table of one organisation."""

    org: str
    table: str
    counts: tuple[int, int]
    only_first: list[str] = field(default_factory=list)
    only_second: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    def describe(self) -> str:
        parts = [f"{self.table} of {self.org}: {self.counts[0]:,} and {self.counts[1]:,} rows"]
        named = {"only in the first": self.only_first, "only in the second": self.only_second}
        for what, names in {**named, "different": self.changed}.items():
            if names:
                more = ", …" if len(names) > NAMED else ""
                parts.append(f"{what}: {', '.join(names[:NAMED])}{more}")
        if len(parts) == 1:
            parts.append("the same rows, in another order")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy did, or would do: rows by table, and how many of them were there already."""

    rows: dict[str, int]
    there: int
    verified: bool

    @property
    def total(self) -> int:
        return sum(self.rows.values())


# -- the two sides ---------------------------------------------------------------------------------


class _FileSide:
    """A file, which one backend serves for every organisation. `at_once`: it is written as a whole,
    or not at all."""

    def __init__(self, name: str, *, read_only: bool) -> None:
        kind, path = locate_store(name)
        if read_only and path is not None and not path.is_file():
            raise NotFound(f"there is no store at {path}")
        self._store: Any = open_store(name, read_only=read_only)
        self.name, self.at_once = str(path), kind == "json"

    def orgs(self) -> list[str]:
        """The organisations that it holds, in order."""
        found = self._store.db.rows("SELECT DISTINCT org FROM spaces ORDER BY org")
        return [row[0] for row in found]

    def opened(self, org: str) -> tuple[Database, Sequence[SearchIndex]]:
        """What holds one organisation."""
        return self._store.db, self._store.indexes

    def embed_rows(self) -> None:
        """Give rows the vectors that a JSON file does not keep, before they are copied."""
        if self.at_once:
            self._store.embed_rows()

    def finish(self, connection: Connection, table: Table, last: int) -> None:
        """No sequence shall give out numbers up to this again: AUTOINCREMENT follows by itself."""

    def close(self) -> None:
        self._store.close()


StoreSide: TypeAlias = "_FileSide | PostgresSide"
"""One of the two stores, with the right to see every tenant."""


def _open_side(name: str, *, read_only: bool) -> StoreSide:
    if locate_store(name)[1] is not None:
        return _FileSide(name, read_only=read_only)
    sides, embedder = import_postgres("side"), embedder_of(config.load())
    server: PostgresSide = sides.PostgresSide(name, embedder, read_only=read_only)
    return server


@contextmanager
def _both(first: str, second: str, *, read_only: bool) -> Iterator[tuple[StoreSide, StoreSide]]:
    if _place(first) == _place(second):
        raise ValidationError(f"{second} is the store itself: name another one")
    with (
        closing(_open_side(first, read_only=True)) as one,
        closing(_open_side(second, read_only=read_only)) as other,
    ):
        yield one, other


def _place(name: str) -> tuple[str, Path | str]:
    kind, path = locate_store(name)
    return kind, name if path is None else path.resolve()


# -- comparing -------------------------------------------------------------------------------------


def compare_stores(
    first: str, second: str, *, on_progress: Callable[[int], object] = lambda done: None
) -> list[TableDifference]:
    """Where two stores differ: nothing where they hold the same rows of every tenant."""
    with _both(first, second, read_only=True) as (one, other):
        return _compare(one, other, on_progress)


def _compare(
    one: StoreSide, other: StoreSide, on_progress: Callable[[int], object]
) -> list[TableDifference]:
    found, done = [], 0
    for org in sorted({*one.orgs(), *other.orgs()}):
        with _reading(one, org) as first, _reading(other, org) as second:
            for table in TABLES:
                counts, equal = [0, 0], True
                for left, right in zip_longest(_rows(first, table, org), _rows(second, table, org)):
                    counts[0] += left is not None
                    counts[1] += right is not None
                    equal = equal and None not in (left, right) and left.digest() == right.digest()
                    done += 1
                    if done % PAGE == 0:
                        on_progress(done)
                if not equal:
                    names = _explain(_rows(first, table, org), _rows(second, table, org))
                    found.append(TableDifference(org, table.name, (counts[0], counts[1]), *names))
    return found


def _explain(first: Iterator[StoredRow], second: Iterator[StoredRow]) -> Sequence[list[str]]:
    """Which rows only the first has, which only the second, and which are not the same."""
    left, right = ({row.name: row.digest() for row in rows} for rows in (first, second))
    return (
        [name for name in left if name not in right],
        [name for name in right if name not in left],
        [name for name in left if name in right and left[name] != right[name]],
    )


@contextmanager
def _reading(side: StoreSide, org: str) -> Iterator[Connection | None]:
    """One snapshot of an organisation; None where the store lacks it."""
    if org not in side.orgs():
        yield None
        return
    with side.opened(org)[0].read() as connection:
        yield connection


def _rows(connection: Connection | None, table: Table, org: str) -> Iterator[StoredRow]:
    return iter(()) if connection is None else read_rows(connection, table, org)


# -- copying ---------------------------------------------------------------------------------------


def copy_store(
    source: str,
    target: str,
    *,
    dry_run: bool = False,
    on_progress: Callable[[int], object] = lambda done: None,
) -> Copied:
    """Everything of every tenant into a store that is empty, or holds a part of the same copy.

    ValidationError, and nothing is written, where it holds anything else. StoreError where the
    two differ at the end, because somebody wrote meanwhile.
    """
    path = locate_store(target)[1]
    if dry_run and path is not None and not path.exists():
        with closing(_open_side(source, read_only=True)) as one:
            return Copied(_count(one), 0, verified=False)
    with _both(source, target, read_only=dry_run) as (one, other):
        held = _check_target(one, other)
        rows = _count(one)
        done = Copied(rows, sum(held.values()), verified=False)
        if dry_run:
            return done
        one.embed_rows()
        _write(one, other, held, on_progress)
        if differ := _compare(one, other, lambda done: None):
            why = "; ".join(each.describe() for each in differ[:NAMED])
            raise StoreError(
                f"{other.name} is not equal to {one.name} ({why}): somebody wrote to one of them"
                " meanwhile. Copy once more into a new store, while nobody writes"
            )
        return Copied(rows, done.there, verified=True)


def count_store(name: str) -> int:
    """How many rows there are to copy."""
    with closing(_open_side(name, read_only=True)) as side:
        return sum(_count(side).values())


def _count(side: StoreSide) -> dict[str, int]:
    counts = dict.fromkeys((table.name for table in TABLES), 0)
    for org in side.orgs():
        with side.opened(org)[0].read() as connection:
            for table in TABLES:
                counts[table.name] += count_rows(connection, table, org)
    return counts


def _check_target(one: StoreSide, other: StoreSide) -> dict[tuple[str, str], int]:
    """How many rows of each table are there already, by organisation. ValidationError where one
    of them is not what the source has at its place."""
    held: dict[tuple[str, str], int] = {}
    for org in other.orgs():
        with _reading(one, org) as first, _reading(other, org) as second:
            for table in TABLES:
                held[org, table.name], ours = 0, _rows(first, table, org)
                for right in _rows(second, table, org):
                    held[org, table.name] += 1
                    left = next(ours, None)
                    if table.name == "spaces":  # names, which other rows fill
                        continue
                    if left is None or left.digest() != right.digest():
                        raise ValidationError(
                            f"{other.name} holds {right.name}, which is not there in {one.name},"
                            " or not the same. A copy goes into an empty store, or goes on where"
                            " one was stopped: name a new one. Nothing was written"
                        )
    return held


def _write(
    one: StoreSide,
    other: StoreSide,
    held: dict[tuple[str, str], int],
    on_progress: Callable[[int], object],
) -> None:
    done = 0
    for org in one.orgs():
        database, indexes = other.opened(org)
        whole = database.write() if other.at_once else nullcontext()
        with _reading(one, org) as source, whole:
            writer = _Writer(other, database, indexes, org)
            for table in TABLES:
                there = held.get((org, table.name), 0) if table.name != "spaces" else 0
                done += there
                rows = islice(_rows(source, table, org), there, None)
                while page := list(islice(rows, PAGE)):
                    writer.write(table, page)
                    done += len(page)
                    on_progress(done)
        for index in indexes:
            index.catch_up()


class _Writer:
    """Puts rows into one organisation of the target."""

    def __init__(
        self, side: StoreSide, database: Database, indexes: Sequence[SearchIndex], org: str
    ) -> None:
        self._side, self._db, self._org = side, database, org
        self._indexes = {index.source.table: index for index in indexes}

    def write(self, table: Table, page: Sequence[StoredRow]) -> None:
        """One page, all or nothing."""
        with self._db.write() as connection:
            if table.name == "spaces":
                connection.executemany(
                    f"INSERT INTO spaces({', '.join(SPACE)}) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT DO NOTHING",
                    [row.space for row in page],
                )
            elif table.name == "pack_items":
                self._write_packed(connection, page)
            else:
                self._write_rows(connection, table, page)
            if table.sequence:
                place = table.columns.index(table.sequence)
                self._side.finish(connection, table, max(row.values[place] for row in page))

    def _write_rows(self, connection: Connection, table: Table, page: Sequence[StoredRow]) -> None:
        spaces = self._spaces(connection) if table.own_space else {}
        numbers = self._numbers(connection, table, page)
        names = [*table.columns, *table.derived]
        names += ["space_id"] if table.own_space else []
        names += [table.number] if table.number else []
        marks = ", ".join("?" * len(names))
        connection.executemany(
            f"INSERT INTO {table.name}({', '.join(names)}) VALUES ({marks})",
            [
                (
                    *row.values,
                    *row.derived,
                    *((spaces[row.space],) if table.own_space else ()),
                    *((number,) if table.number else ()),
                )
                for row, number in zip(page, numbers, strict=True)
            ],
        )
        if table.name in self._indexes:
            self._index(connection, table, page, numbers, spaces)

    def _numbers(
        self, connection: Connection, table: Table, page: Sequence[StoredRow]
    ) -> list[int]:
        """Each row's own number, if it lies above all that were given; else the next one."""
        if not table.number:
            return [0] * len(page)
        last, found = last_number(connection, table.counter), []
        for row in page:
            last = max(last + 1, row.number)
            found.append(last)
        raise_counter(connection, table.counter, last)
        return found

    def _index(
        self,
        connection: Connection,
        table: Table,
        page: Sequence[StoredRow],
        numbers: Sequence[int],
        spaces: dict[tuple[str, ...], int],
    ) -> None:
        index, names = self._indexes[table.name], (*table.columns, *table.derived)
        live = []
        for row, number in zip(page, numbers, strict=True):
            found = dict(zip(names, chain(row.values, row.derived), strict=True))
            if _is_live(index.source, found):
                vector = found["embedding"] if found["embedding_model"] == index.model else None
                words = _columns(index.source, found)
                live.append(LiveRow(number, spaces[row.space], words, vector))
        index.add(connection, live)
        if index.source is MEMORY:
            outbox.note_range(connection, numbers[0], numbers[-1])
        models = [row.derived[-1] for row in page]
        note_model(connection, next((model for model in reversed(models) if model), None))

    def _write_packed(self, connection: Connection, page: Sequence[StoredRow]) -> None:
        """A memory that is as its pack brought it has the number that the pack noted."""
        connection.executemany(
            "INSERT INTO pack_items(pack_no, memory_id, item_no) SELECT p.pack_no, ?, coalesce(("
            "SELECT m.item_no FROM memory_items m WHERE m.space_id = p.space_id AND m.memory_id = ?"
            " AND 1 = ?), 0) FROM packs p WHERE p.pack_no = ?",
            [(name, name, int(same), pack) for pack, name, same in (row.values for row in page)],
        )

    def _spaces(self, connection: Connection) -> dict[tuple[str, ...], int]:
        sql = f"SELECT {', '.join(SPACE)}, space_id FROM spaces WHERE org = ?"
        return {tuple(row[:-1]): row[-1] for row in fetch(connection, sql, (self._org,))}


def _is_live(source: Source, row: dict[str, Any]) -> bool:
    return source is NODE or (row["archived_at"] is None and row["trust"] != "quarantined")


def _columns(source: Source, row: dict[str, Any]) -> tuple[str, ...]:
    """The text of the source's columns, as its view gives it."""
    renamed = {"tags": "tags_json", "scope": "scope_words"} if source is MEMORY else {}
    return tuple(row[renamed.get(name, name)] or "" for name in source.columns)
