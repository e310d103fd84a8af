"""What can be searched: the live view, the text index and the column weights of each kind."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from rlm.store.document import ITEM_COLUMNS, ITEM_WEIGHTS, NODE_COLUMNS, NODE_WEIGHTS


@dataclass(frozen=True, slots=True)
class Source:
    """One searchable kind. `columns` are text columns of `view`; the space column follows them in `fts`."""

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

    def index_new(self, connection: apsw.Connection, first: int, last: int) -> None:
        """Put the new rows from number `first` to `last` into the full-text index, where there is one."""
        columns = f"{self.column_list}, space"
        if next(iter(connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (self.fts,))), None):
            connection.execute(
                f"INSERT INTO {self.fts}(rowid, {columns}) SELECT {self.key}, {columns} FROM {self.view} "
                f"WHERE {self.key} BETWEEN ? AND ?",
                (first, last),
            )


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
