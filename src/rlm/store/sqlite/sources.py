"""What can be searched: the live view, text index and column weights of each kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import apsw

from rlm.retrieval.recall import Document
from rlm.store.document import ITEM_COLUMNS, ITEM_WEIGHTS, NODE_COLUMNS, NODE_WEIGHTS
from rlm.store.sqlite import rows
from rlm.store.sqlite.connection import damaged_row, kind_of

NODE_ROW = (
    "id, type, content, subtype, tier, confidence, provenance, metadata, created_at, updated_at, "
    "last_accessed, access_count"
)
_SUBTYPE, _CONTENT, _CONFIDENCE = map(
    NODE_ROW.split(", ").index, ("subtype", "content", "confidence")
)


@dataclass(frozen=True, slots=True)
class Source:
    """One searchable kind; `columns` are text columns of `view`, in `fts` followed by space."""

    kind: str
    table: str
    view: str
    fts: str
    key: str
    id: str
    columns: tuple[str, ...]
    weights: tuple[float, ...]
    row: str
    """The columns of `table` that make the memory or the node."""
    extra: str
    """What of its words is in other columns."""
    live: str
    """The condition of `view`."""
    document: Callable[[int, Sequence[Any], Sequence[Any], bytes | None], Document]
    """What recall needs, from a number, `row`, `extra` and vector; may raise StoreCorrupt."""

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

    def reindex(self, connection: apsw.Connection) -> None:
        """Rebuild the full-text index from the rows."""
        if self._has_fts(connection):
            connection.execute(f"INSERT INTO {self.fts}({self.fts}) VALUES ('rebuild')")

    def _has_fts(self, connection: apsw.Connection) -> bool:
        found = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = ?", (self.fts,))
        return next(iter(found), None) is not None


def _node_document(
    number: int, row: Sequence[Any], extra: Sequence[Any], vector: bytes | None
) -> Document:
    columns = (row[_SUBTYPE] or "", row[_CONTENT], *extra)
    NODE.check_texts(number, columns)
    confidence = row[_CONFIDENCE]
    if type(confidence) is not float:
        raise damaged_row("nodes", f"node {row[0]}", "confidence", f"it is {kind_of(confidence)}")
    return Document(number, row[0], columns, vector, confidence, row=row)


MEMORY = Source(
    kind="memory",
    table="memory_items",
    view="memory_live",
    fts="memory_fts",
    key="item_no",
    id="memory_id",
    columns=ITEM_COLUMNS,
    weights=ITEM_WEIGHTS,
    row=rows.COLUMNS,
    extra="scope_words, grams",
    live="archived_at IS NULL AND trust <> 'quarantined'",
    document=rows.to_document,
)

NODE = Source(
    kind="node",
    table="nodes",
    view="node_live",
    fts="node_fts",
    key="node_no",
    id="id",
    columns=NODE_COLUMNS,
    weights=NODE_WEIGHTS,
    row=NODE_ROW,
    extra="grams",
    live="1",
    document=_node_document,
)
