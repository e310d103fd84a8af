"""Words of neighbours: how a node in an ordered context edge is found by what stands beside it.

A turn such as "Yes, on Tuesday" holds none of the words that one looks for; the turn before it
does. So each candidate lends a share of its own similarity to those that stand next to it in a
`context` edge. A lent share is always smaller than what it was lent from, and only the largest
counts, so the node that holds the words stays ahead, even of one that stands beside many. An edge
of a weight below 1 lends so much less.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import apsw

from rlm.retrieval.explain import Explanation
from rlm.store.sqlite.connection import fetch
from rlm.store.sqlite.search import Candidate

SHARES = (0.3, 0.15)
"""What a neighbour at distance 1, 2 … is lent of a candidate's similarity."""
LENDERS = 64
"""So many of the best candidates lend."""


@dataclass(slots=True)
class Mark:
    """A node's similarity: its own and what was lent."""

    own: float = 0.0
    lexical: float = 0.0
    cosine: float | None = None
    lent: dict[str, float] = field(default_factory=dict)

    @property
    def similarity(self) -> float:
        return self.own + max(self.lent.values(), default=0.0)

    def explain(self, score: float, confidence: float, matched: dict[str, float]) -> Explanation:
        return Explanation(
            score=score,
            similarity=min(1.0, self.similarity),
            lexical=self.lexical,
            cosine=self.cosine,
            confidence=confidence,
            recency=1.0,
            level="project",
            level_weight=1.0,
            matched=matched,
            context=dict(self.lent),
        )


def spread(connection: apsw.Connection, candidates: Sequence[Candidate]) -> dict[int, Mark]:
    """Each candidate and each of their neighbours, by row number."""
    marks = {c.number: Mark(c.similarity, c.lexical, c.cosine) for c in candidates}
    lenders = {c.number: c.similarity for c in candidates[:LENDERS]}
    before = "m.position < mine.position ORDER BY m.position DESC"
    after = "m.position > mine.position ORDER BY m.position"
    for side in (before, after):
        for number, lender, beside, share_of in _beside(connection, list(lenders), side):
            mark = marks.setdefault(beside, Mark())
            share = share_of * lenders[number]
            mark.lent[lender] = max(share, mark.lent.get(lender, 0.0))
    return marks


def _beside(
    connection: apsw.Connection, numbers: list[int], side: str
) -> list[tuple[int, str, int, float]]:
    """(lender's number, lender's id, neighbour's number, what it is lent) on one side of each
    lender."""
    found = []
    mine = fetch(
        connection,
        "SELECT n.node_no, n.id, mine.hyperedge_id, mine.position, min(1.0, e.weight) FROM nodes n"
        " JOIN membership mine ON mine.node_id = n.id JOIN hyperedges e ON e.id = mine.hyperedge_id"
        " WHERE e.type = 'context' AND e.weight > 0 AND n.node_no IN (SELECT value FROM"
        " json_each(?))",
        (json.dumps(numbers),),
    )
    sql = (
        "SELECT n.node_no FROM membership m JOIN nodes n ON n.id = m.node_id "
        f"WHERE m.hyperedge_id = ? AND {side.replace('mine.position', '?')} LIMIT {len(SHARES)}"
    )
    for number, lender, edge, position, weight in mine:
        for share, (beside,) in zip(SHARES, fetch(connection, sql, (edge, position)), strict=False):
            if beside != number:
                found.append((number, lender, beside, share * weight))
    return found
