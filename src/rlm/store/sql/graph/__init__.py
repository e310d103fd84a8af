"""The hypergraph of seed 004: nodes, hyperedges of any arity, tiers, and a log of every change.

A node belongs to the tenant's project and so does an edge. Nothing is lost without `purge_node`:
`delete_node` moves a node to the archive tier. Every creation, change of tier, edit, link and
archiving is a line of `evolution_log`.
"""

from __future__ import annotations

from functools import partial

from rlm import clock
from rlm.errors import ValidationError
from rlm.retrieval import rank
from rlm.retrieval.excerpt import excerpt, holds_phrases, split_phrases
from rlm.retrieval.recall import Document, recall
from rlm.store.graph import NodeHit
from rlm.store.sql.graph.evolution import GraphEvolution
from rlm.store.sql.graph.rows import NODE_COLUMNS, node_filters, node_of
from rlm.store.values import check_count

__all__ = ["NODE_COLUMNS", "GraphStore", "NodeHit", "node_of"]

_TYPE, _TIER = map(NODE_COLUMNS.split(", ").index, ("type", "tier"))
_SUBTYPE, _CONTENT = map(NODE_COLUMNS.split(", ").index, ("subtype", "content"))


class GraphStore(GraphEvolution):
    """One tenant's hypergraph. Get it as `store.graph`."""

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        type: str | None = None,
        subtype: str | None = None,
        tier: str | None = None,
        min_confidence: float | None = None,
        explain: bool = False,
    ) -> list[NodeHit]:
        """The best nodes for any string, best first, without the archive unless `tier` asks.

        Words in double quotes must occur in that order. Each hit has a snippet.
        """
        node_filters(type, tier, min_confidence)  # they are checked there
        if not isinstance(query, str):
            why = f"query is {query.__class__.__name__}, expected text"
            raise ValidationError(why, field="query")
        text, phrases = split_phrases(query)

        def admits(document: Document) -> bool:
            row = document.row
            return (
                (row[_TIER] == tier if tier is not None else row[_TIER] != "archive")
                and type in (None, row[_TYPE])
                and subtype in (None, row[_SUBTYPE])
                and (min_confidence is None or document.confidence >= min_confidence)
                and holds_phrases((row[_CONTENT], row[_SUBTYPE] or ""), phrases)
            )

        space = self._space
        if space is None or check_count(limit, "limit") <= 0:
            return []
        with self._db.read() as connection:
            found = recall(
                self.index.candidates(connection, (space,)),
                text,
                limit,
                embedder=self._embedder,
                now=clock.now(),
                admits=admits,
                confidence_share=rank.NODE_CONFIDENCE_SHARE,
            )
        hits = []
        for hit in found.hits:
            node = self._touch(self._node(hit.document.row))
            why = partial(found.explain, hit) if explain else None
            hits.append(NodeHit(node, hit.score, excerpt(node.content, text, phrases), why))
        return hits
