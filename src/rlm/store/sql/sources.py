"""What can be searched, and what an engine must do to keep its indexes in step with the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rlm.retrieval.embed import Embedder
from rlm.retrieval.recall import Candidates, Document
from rlm.store.document import ITEM_COLUMNS, ITEM_WEIGHTS, NODE_COLUMNS, NODE_WEIGHTS
from rlm.store.sql import rows
from rlm.store.sql.database import check_types, damaged_row, kind_of
from rlm.store.sql.dialect import Connection, Value

_TEXT, _OPTIONAL, _NUMBER = (str,), (str, type(None)), (int,)
NODE_KINDS = {
    "id": _TEXT, "type": _TEXT, "content": _TEXT, "subtype": _OPTIONAL, "tier": _TEXT,
    "confidence": (float,), "provenance": _OPTIONAL, "metadata": _TEXT, "created_at": _NUMBER,
    "updated_at": _NUMBER, "last_accessed": _NUMBER, "access_count": _NUMBER,
}  # fmt: skip
_NODE_DOCUMENT_KINDS = {**NODE_KINDS, "grams": _TEXT}
NODE_ROW = ", ".join(NODE_KINDS)
_SUBTYPE, _CONTENT, _CONFIDENCE = map(
    NODE_ROW.split(", ").index, ("subtype", "content", "confidence")
)


@dataclass(frozen=True, slots=True)
class Source:
    """One searchable kind; `columns` are text columns of `view`."""

    kind: str
    table: str
    view: str
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


@dataclass(frozen=True, slots=True)
class LiveRow:
    """A row as an index needs it: the text of its `columns`, and its vector as 16-bit floats."""

    number: int
    space: int
    columns: Sequence[str]
    vector: bytes | None

    @property
    def chars(self) -> int:
        return sum(map(len, self.columns))


class SearchIndex(Protocol):
    """The indexes of one engine over one kind of row. Changes come inside the row's own write."""

    source: Source
    embedder: Embedder | None

    @property
    def model(self) -> str | None:
        """The model whose vectors count."""

    @property
    def lexical(self) -> str:
        """What finds rows by words."""

    def add(self, connection: Connection, rows: Sequence[LiveRow]) -> None:
        """Index rows that were inserted, numbers ascending."""

    def replace(self, connection: Connection, number: int, row: LiveRow | None) -> None:
        """A row has a new number and new words, or no longer lives."""

    def remove(self, connection: Connection, numbers: Sequence[int]) -> None:
        """Forget rows that were archived or taken away."""

    def rebuild_codes(self, connection: Connection) -> None:
        """Index the vectors of all rows again."""

    def refresh_codes(self, connection: Connection, first: int, last: int) -> None:
        """Index the vectors that rows of these numbers were given, and no others."""

    def candidates(
        self,
        connection: Connection,
        spaces: tuple[int, ...],
        where: str = "",
        values: tuple[Value, ...] = (),
    ) -> Candidates:
        """What this transaction sees; `where` is a further condition of ours on the rows."""

    def catch_up(self, *, force: bool = False) -> bool:
        """Bring what lags behind the rows up to date; whether anything was done."""


def _node_document(
    number: int, row: Sequence[Any], extra: Sequence[Any], vector: bytes | None
) -> Document:
    check_types("nodes", f"node {row[0]}", _NODE_DOCUMENT_KINDS, (*row, *extra))
    columns = (row[_SUBTYPE] or "", row[_CONTENT], *extra)
    return Document(number, row[0], columns, vector, row[_CONFIDENCE], row=row)


MEMORY = Source(
    kind="memory",
    table="memory_items",
    view="memory_live",
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
    key="node_no",
    id="id",
    columns=NODE_COLUMNS,
    weights=NODE_WEIGHTS,
    row=NODE_ROW,
    extra="grams",
    live="TRUE",
    document=_node_document,
)
