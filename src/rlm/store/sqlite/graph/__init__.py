"""The hypergraph of seed 004: nodes, hyperedges of any arity, tiers, and a log of every change.

A node belongs to the tenant's project and so does an edge. Nothing is lost without `purge_node`:
`delete_node` moves a node to the archive tier. Every creation, change of tier, edit, link and
archiving is a line of `evolution_log`.
"""

from __future__ import annotations

from rlm.errors import ValidationError
from rlm.retrieval.excerpt import excerpt, holds_phrases, split_phrases
from rlm.store import gate
from rlm.store.evolution import GraphEvolution
from rlm.store.graph import NodeHit
from rlm.store.sqlite.graph.rows import NODE_COLUMNS, node_fault, node_filters
from rlm.store.sqlite.graph.search import FoundNode, NodeFilter, search_nodes
from rlm.store.sqlite.graph.transfer import GraphTransfer
from rlm.store.types import Node

__all__ = ["NODE_COLUMNS", "HyperGraph", "NodeHit", "node_fault"]


class HyperGraph(GraphTransfer, GraphEvolution):
    """One tenant's hypergraph. Get it as `store.graph`."""

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        type: str | None = None,
        tier: str | None = None,
        min_confidence: float | None = None,
        explain: bool = False,
    ) -> list[NodeHit]:
        """The best nodes for any string, best first. The archive is left out unless `tier` asks for
        it.

        Words in double quotes must occur in that order. Each hit has a snippet.
        """
        where, values = node_filters(type, tier, min_confidence)
        if not isinstance(query, str):
            raise ValidationError(
                f"query is {query.__class__.__name__}, expected text", field="query"
            )
        gate.check_count(limit, "limit")
        text, phrases = split_phrases(query)

        def keeps(node: Node) -> bool:
            return holds_phrases((node.content, node.subtype or ""), phrases)

        found = self._search_nodes(text, limit, NodeFilter(where, values, keeps), explain)
        return [
            NodeHit(self._touch(node), score, excerpt(node.content, text, phrases), why)
            for node, score, why in found
        ]

    def _search_nodes(
        self, query: str, limit: int, only: NodeFilter, explain: bool
    ) -> list[FoundNode]:
        space = self._space
        if space is None or limit <= 0:
            return []
        with self._db.read() as connection:
            return search_nodes(
                self._search, connection, space, query, limit, only, explain=explain
            )
