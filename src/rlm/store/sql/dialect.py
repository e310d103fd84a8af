"""What differs between the engines that speak SQL: one object each, and nothing else.

The statements in this folder are written once, in the SQL that SQLite and PostgreSQL share, with
`?` for every value. Where the two need different words, the words stand in a `Dialect`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Value = str | int | float | bytes | None


@dataclass(frozen=True, slots=True)
class Dialect:
    """The words of one engine. `{0}` stands for a column."""

    among: str
    """A condition on a column: its value is one of a list that `pack_list` binds."""
    pack_list: Callable[[Iterable[Any]], Any]
    holds: str
    """A condition: the JSON list of a column has this text."""
    alias: str
    """The id that a caller gave a memory; a damaged row has none."""
    arrival: str
    """A column of `trajectories` and `hyperedges` that grows as rows are added."""
    unindexed: str
    """Before a column, so that the planner looks for no index by it."""
    skip_locked: str
    """After a SELECT inside of an UPDATE: rows that another worker is taking are passed over."""
    no_vector: str
    """A condition: the embedding is nothing that could be a vector."""
    own: str
    """A condition on `meta` and `counters`, where these have a row for each organisation."""
    own_key: str
    """What stands before the name in the key of those two tables."""


class ResultRows(Protocol):
    """The rows that a statement gives."""

    def __iter__(self) -> Iterator[Any]: ...

    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection inside a transaction, of whichever engine."""

    @property
    def dialect(self) -> Dialect: ...

    def execute(self, sql: str, values: Sequence[Any] = ..., /) -> ResultRows: ...

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object: ...


def fetch(connection: Connection, sql: str, values: Sequence[Any] = ()) -> list[Any]:
    """All rows of one statement, inside the caller's transaction."""
    return connection.execute(sql, values).fetchall()


def take_numbers(connection: Connection, counter: str, count: int) -> int:
    """Reserve `count` row numbers and return the first. Inside `write()`."""
    sql = (
        "INSERT INTO counters(name, value) VALUES (?, ?)"
        f" ON CONFLICT({connection.dialect.own_key}name)"
        " DO UPDATE SET value = counters.value + excluded.value RETURNING value"
    )
    last = next(iter(connection.execute(sql, (counter, count))))[0]
    return int(last) - count + 1


def raise_counter(connection: Connection, counter: str, value: int) -> None:
    """Give out no number up to this one again. Inside `write()`."""
    connection.execute(
        f"INSERT INTO counters(name, value) VALUES (?, ?) ON CONFLICT({connection.dialect.own_key}"
        "name) DO UPDATE SET value = excluded.value WHERE counters.value < excluded.value",
        (counter, value),
    )


def last_number(connection: Connection, counter: str) -> int:
    """The highest number that was given, as this transaction sees it."""
    sql = f"SELECT value FROM counters WHERE name = ? {connection.dialect.own}"
    row = next(iter(connection.execute(sql, (counter,))), None)
    return 0 if row is None else int(row[0])
