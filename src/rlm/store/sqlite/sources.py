"""What can be searched: the live view, the text index and the column weights of each kind."""

from __future__ import annotations

from dataclasses import dataclass

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
