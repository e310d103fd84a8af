"""What can be searched: the live view, the text index and the column weights of each kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from rlm.store.document import ITEM_COLUMNS, ITEM_WEIGHTS, NODE_COLUMNS, NODE_WEIGHTS
from rlm.store.sqlite.connection import damaged_row, kind_of


@dataclass(frozen=True, slots=True)
class Source:
    """One searchable kind. `columns` are text columns of `view`; the space column follows them in
    `fts`."""

    kind: str
    table: str
    view: str
    fts: str
    key: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]

    @property
    def column_list(self) -> str:
        return ", ".join(self.columns)

    @property
    def length(self) -> str:
        """SQL for a document's length in characters."""
        return " + ".join(f"length({column})" for column in self.columns)

    @property
    def counter(self) -> str:
        """The row of `counters` that numbers this kind."""
        return "item" if self.kind == "memory" else "node"

    def check_texts(self, number: int, values: Sequence[Any]) -> None:
        """StoreCorrupt where one of `columns` holds no text: SQLite stores anything anywhere."""
        for column, value in zip(self.columns, values, strict=True):
            if type(value) is not str:
                raise damaged_row(self.table, f"row {number}", column, f"it is {kind_of(value)}")

    def index(self, connection: apsw.Connection, first: int, last: int) -> None:
        """Put new rows into the full-text index, where there is one."""
        columns = f"{self.column_list}, space"
        if self._has_fts(connection):
            connection.execute(
                f"INSERT INTO {self.fts}(rowid, {columns}) SELECT {self.key}, {columns} FROM"
                f" {self.view} WHERE {self.key} BETWEEN ? AND ?",
                (first, last),
            )

    def unindex(
        self, connection: apsw.Connection, first: int, last: int, *, all_of_it: bool
    ) -> None:
        """Take sealed rows out of the full-text index; `all_of_it` when nothing lies beyond `last`."""
        if not self._has_fts(connection):
            return
        if all_of_it:
            connection.execute(f"INSERT INTO {self.fts}({self.fts}) VALUES ('delete-all')")
            return
        columns = f"{self.column_list}, space"
        connection.execute(
            f"INSERT INTO {self.fts}({self.fts}, rowid, {columns}) SELECT 'delete', {self.key},"
            f" {columns} FROM {self.view} WHERE {self.key} BETWEEN ? AND ?",
            (first, last),
        )

    def reindex(self, connection: apsw.Connection) -> None:
        """Make the full-text index anew from the tail."""
        if self._has_fts(connection):
            connection.execute(f"INSERT INTO {self.fts}({self.fts}) VALUES ('rebuild')")

    def _has_fts(self, connection: apsw.Connection) -> bool:
        found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (self.fts,))
        return next(iter(found), None) is not None


MEMORY = Source(
    kind="memory",
    table="memory_items",
    view="memory_live",
    fts="memory_fts",
    key="item_no",
    columns=ITEM_COLUMNS,
    weights=ITEM_WEIGHTS,
)

NODE = Source(
    kind="node",
    table="nodes",
    view="node_live",
    fts="node_fts",
    key="node_no",
    columns=NODE_COLUMNS,
    weights=NODE_WEIGHTS,
)
