"""One way to read and one way to write, whatever the engine; and the error of a damaged row.

A read sees one snapshot. A write is all or nothing, also when nested, and the only one of its
organisation (SQLite: of its file) at a time: numbers of rows grow in the order of commits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rlm.errors import StoreCorrupt
from rlm.store.sql.dialect import Dialect, Value

COUNT_PATIENCE_S = 0.25
"""How long anybody waits to write what may be lost: access counts, when a store is closed."""


class Database(Protocol):
    """What the parts of a store need of an engine. Safe to share between threads."""

    dialect: Dialect
    read_only: bool
    in_memory: bool
    """Whether numbers of rows are forgotten with the process."""

    @property
    def name(self) -> str:
        """What messages call it: a path, or a URL without its password."""

    @property
    def connection(self) -> Any:
        """The connection of the transaction that this thread is in."""

    @property
    def in_write(self) -> bool:
        """Whether this thread is in a write: what is read now may yet be rolled back."""

    def read(self) -> AbstractContextManager[Any]:
        """One snapshot for several reads. Inside `write()` it is that transaction."""

    def write(
        self, *, wait_s: float | None = None, alone: bool = True
    ) -> AbstractContextManager[Any]:
        """A transaction; StoreLocked where others write for longer than `wait_s`. One that changes
        single rows and takes no numbers need not be `alone`, where the engine can do without."""

    def across_projects(self) -> AbstractContextManager[None]:
        """Statements inside of this may touch other projects of the organisation."""

    def offer(self, work: Callable[[Any], None], *, wait_s: float) -> bool:
        """Write what may be lost, as a count may; False where it was not written."""

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of one statement."""

    def row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        """The first row, or None."""

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """The first column of the first row, or None."""

    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Execute once per row, inside `write()`."""

    def close(self) -> None:
        """Let go of it."""


WHICH_ROWS = "`rlm doctor` lists such rows and says what to do"


def damaged_row(table: str, row: str, column: str, what: str) -> StoreCorrupt:
    """The error of a row that cannot be read as what it must be."""
    return StoreCorrupt(f"{table}: {column} of {row} is damaged ({what}): {WHICH_ROWS}")


Kinds = Mapping[str, tuple[type, ...]]
"""The columns of a row in their order, and the types that each may have."""


def check_types(table: str, row_name: str, kinds: Kinds, row: Sequence[Any]) -> None:
    """StoreCorrupt where a column holds another type: SQLite stores anything anywhere. A search
    reads 64 rows: the types of sound ones are remembered."""
    types = (table, *map(type, row))
    if types in _SOUND:
        return
    for (column, allowed), value in zip(kinds.items(), row, strict=True):
        if type(value) not in allowed:
            raise damaged_row(table, row_name, column, f"it is {kind_of(value)}")
    _SOUND.add(types)


_SOUND: set[tuple[Any, ...]] = set()


def read_json(table: str, row_name: str, column: str, text: Any, kind: type) -> Any:
    """The list or object of a column. StoreCorrupt where it is none."""
    try:
        value = json.loads(text)
    except (ValueError, TypeError, RecursionError) as exc:
        raise damaged_row(table, row_name, column, f"{str(text)[:40]!r}: {exc}") from exc
    if type(value) is not kind:
        what = f"{text[:40]!r} is no {'list' if kind is list else 'object'}"
        raise damaged_row(table, row_name, column, what)
    return value


def kind_of(value: Value) -> str:
    """What a stored value is, for a message."""
    names = {type(None): "nothing", str: "text", int: "a number", float: "a number"}
    return names.get(type(value), "a blob")
