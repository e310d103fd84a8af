"""What the engines supply to recall alike: rows by number, neighbours, the highest confidence.

Who is a candidate at all, each engine finds by its own indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rlm.retrieval.recall import SHARES, Document, Loan
from rlm.store.sql.dialect import Connection, Value, fetch
from rlm.store.sql.sources import SearchIndex
from rlm.store.sql.spaces import in_spaces

CONFIDENT = 0.6
"""Where a distilled memory starts: what is above it has an index."""
FEW = 64
"""So many rows are read at once, whatever their confidence."""


@dataclass(slots=True)
class SQLCandidates:
    """One question's view of one kind of row, inside one snapshot."""

    _index: SearchIndex
    _connection: Connection
    _spaces: tuple[int, ...]
    _where: str = ""
    _values: tuple[Value, ...] = ()

    @property
    def lends(self) -> bool:
        return self._index.source.kind == "node"

    @property
    def weights(self) -> Sequence[float]:
        return self._index.source.weights

    def rows(self, numbers: Sequence[int], above: float = -1.0) -> Iterable[Document]:
        """Live rows of the tenant's spaces."""
        source, model = self._index.source, self._index.model
        words = self._connection.dialect
        if source.kind == "memory" and above >= CONFIDENT and len(numbers) > FEW:
            numbers = self._confident(numbers, above)
        sql = (
            f"SELECT {source.key}, embedding, embedding_model, {source.extra}, {source.row}"
            f" FROM {source.table} WHERE {source.key} {words.among}"
            f" AND {words.unindexed}space_id {in_spaces(self._spaces)} AND {source.live}"
            f" AND confidence > ? {self._where}"
        )  # looked up by number, without walking the space
        first = 3 + source.extra.count(",") + 1
        for row in self._connection.execute(sql, (words.pack_list(numbers), above, *self._values)):
            vector = row[1] if row[2] == model else None
            yield source.document(row[0], row[first:], row[3:first], vector)

    def _confident(self, numbers: Sequence[int], above: float) -> Sequence[int]:
        """Those of many whose confidence is above this, by the index of such: hundreds of rows are
        not looked up for one that has it (5 ms). Where the index holds more, all stay."""
        sql = (
            "SELECT item_no FROM memory_items"
            f" WHERE space_id {in_spaces(self._spaces)} AND confidence > {CONFIDENT}"
            " AND confidence > ? LIMIT ?"
        )
        found = self._connection.execute(sql, (above, len(numbers) + 1))
        high = {row[0] for row in found}
        return numbers if len(high) > len(numbers) else [n for n in numbers if n in high]

    def neighbours(self, numbers: Sequence[int]) -> Iterable[Loan]:
        """For nodes, those beside them in an ordered context edge."""
        return _neighbours(self._connection, self._spaces, numbers) if self.lends else ()

    def most_confident(self) -> float:
        """For memories one look-up a space; confidence takes little from a node."""
        if self._index.source.kind == "node":
            return 1.0
        sql = (
            "SELECT max(confidence) FROM memory_items WHERE space_id = ?"
            f" AND confidence > {CONFIDENT}"
        )
        found = (next(iter(self._connection.execute(sql, (space,))))[0] for space in self._spaces)
        return max((confidence or CONFIDENT for confidence in found), default=CONFIDENT)


_BESIDE = {"m.position < ?": "DESC", "m.position > ?": "ASC"}


def _neighbours(
    connection: Connection, spaces: tuple[int, ...], numbers: Sequence[int]
) -> Iterable[Loan]:
    """The neighbours of these nodes by distance; an edge's weight below 1 lends less."""
    words = connection.dialect
    lenders = fetch(
        connection,
        "SELECT n.node_no, mine.hyperedge_id, mine.position,"
        " CASE WHEN e.weight < 1 THEN e.weight ELSE 1.0 END FROM nodes n"
        " JOIN membership mine ON mine.node_id = n.id JOIN hyperedges e ON e.id = mine.hyperedge_id"
        f" WHERE e.type = 'context' AND e.weight > 0 AND n.node_no {words.among}"
        f" AND {words.unindexed}n.space_id {in_spaces(spaces)}",
        (words.pack_list(numbers),),
    )
    for side, order in _BESIDE.items():
        sql = (
            "SELECT n.node_no FROM membership m JOIN nodes n ON n.id = m.node_id WHERE"
            f" m.hyperedge_id = ? AND {side} ORDER BY m.position {order} LIMIT {len(SHARES)}"
        )
        for number, edge, position, weight in lenders:
            beside = fetch(connection, sql, (edge, position))
            for share, (borrower,) in zip(SHARES, beside, strict=False):
                if borrower != number:
                    yield Loan(number, borrower, share * weight)
