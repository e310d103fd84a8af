"""Search over nodes: candidates by words and meaning, what their neighbours lend, then the filters.

A node in an ordered `context` edge (a turn of a conversation, a part of a file) is also found by
the words of its neighbours there, at a lower weight.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import apsw

from rlm.retrieval.explain import Explanation
from rlm.store.sqlite import neighbours
from rlm.store.sqlite.connection import fetch
from rlm.store.sqlite.graph.rows import NODE_COLUMNS, node_of
from rlm.store.sqlite.search import CANDIDATES, Search
from rlm.store.types import Node

CONFIDENCE_SHARE = 0.25
"""How much of a node's score its confidence can take away: a doubtful node ranks lower, not last.
"""

FoundNode = tuple[Node, float, Explanation | None]


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """Which nodes may come back: by SQL over columns of `nodes`, and by a look at the node."""

    where: str
    values: list[Any]
    keeps: Callable[[Node], bool]


def search_nodes(
    search: Search,
    connection: apsw.Connection,
    space: int,
    query: str,
    limit: int,
    only: NodeFilter,
    *,
    explain: bool,
) -> list[FoundNode]:
    """The best nodes, best first; more candidates are looked at while the filters leave too few."""
    field = search.field(connection, query, (space,))
    if field is None:
        return []
    count = max(CANDIDATES, 4 * limit)
    while True:
        candidates, bound = field.best(count)
        found = neighbours.spread(connection, candidates)
        hits = []
        for number, *columns in fetch(
            connection,
            f"SELECT node_no, {NODE_COLUMNS} FROM nodes WHERE node_no IN (SELECT value FROM"
            f" json_each(?)) {only.where}",
            (json.dumps(list(found)), *only.values),
        ):
            node = node_of(columns)
            if only.keeps(node):
                factor = 1.0 - CONFIDENCE_SHARE * (1.0 - node.confidence)
                hits.append((min(1.0, found[number].similarity) * factor, number, node))
        hits.sort(key=lambda hit: (-hit[0], hit[1]))
        enough = len(hits) >= limit and hits[limit - 1][0] >= bound
        if enough or count >= field.total:
            break
        count *= 4

    def why(score: float, number: int, node: Node) -> Explanation:
        mark = found[number].explain(score, node.confidence, field.matched(number))
        return replace(mark, confidence_share=CONFIDENCE_SHARE)

    return [
        (node, score, why(score, number, node) if explain else None)
        for score, number, node in hits[:limit]
    ]
