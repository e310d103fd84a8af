"""What every hypergraph can do, whatever keeps its rows (seed 004).

`GraphStore` is the contract; `rlm.store.sql.graph.HyperGraph` keeps it. A store without one
raises `NotSupported` from its `graph` attribute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

from rlm.store.types import ROLES, Record

if TYPE_CHECKING:
    from rlm.retrieval.excerpt import Snippet
    from rlm.retrieval.explain import Explanation

DIRECTIONS = {"out": ("subject", "cause"), "in": ("object", "effect"), "both": ROLES}
"""The roles in which an edge leads out of a node or into it; others have no direction."""


@dataclass(slots=True)
class Node(Record):
    """A vertex of the hypergraph. Times are milliseconds since 1970, as seed 004 stores them."""

    id: str
    type: str
    content: str
    subtype: str | None = None
    tier: str = "task"
    confidence: float = 0.5
    provenance: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    created_at: int = 0
    updated_at: int = 0
    last_accessed: int = 0
    access_count: int = 0


@dataclass(frozen=True, slots=True)
class Member:
    """One node's part in a hyperedge."""

    node_id: str
    role: str = "participant"
    position: int = 0


@dataclass(frozen=True, slots=True)
class Edge(Record):
    """A hyperedge: one statement that joins any number of nodes, each in a role and a position."""

    id: str
    type: str
    label: str | None
    weight: float
    members: tuple[Member, ...]

    def by_role(self, role: str) -> tuple[str, ...]:
        """The ids of the nodes in one role, in order."""
        return tuple(member.node_id for member in self.members if member.role == role)

    @property
    def node_ids(self) -> tuple[str, ...]:
        """Every node once, in order."""
        return tuple(dict.fromkeys(member.node_id for member in self.members))


@dataclass(frozen=True, slots=True)
class ConfidenceChange(Record):
    """A change of a node's confidence. `kind` is `edit`, or an operation as `decay:17`."""

    node_id: str
    at: str
    kind: str
    before: float
    after: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class Evolution(Record):
    """One line of the evolution log."""

    id: int
    timestamp: int
    operation: str
    node_ids: tuple[str, ...]
    from_tier: str | None
    to_tier: str | None
    reasoning: str | None


class NodeHit(tuple[Node, float]):
    """A found node, its score, the snippet that answers, and `why` when asked to explain."""

    snippet: Snippet
    why: Explanation | None

    def __new__(
        cls, node: Node, score: float, snippet: Snippet, why: Explanation | None = None
    ) -> NodeHit:
        self = super().__new__(cls, (node, score))
        self.snippet, self.why = snippet, why
        return self

    @property
    def node(self) -> Node:
        return self[0]

    @property
    def score(self) -> float:
        return self[1]


@dataclass(frozen=True, slots=True)
class GraphDump:
    """A whole hypergraph as data: the archive and the history too, oldest first."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]
    events: Sequence[Evolution]
    changes: Sequence[ConfidenceChange]

    @property
    def counts(self) -> dict[str, int]:
        """How many of each."""
        return {spec.name: len(getattr(self, spec.name)) for spec in fields(self)}


@dataclass(slots=True)
class EvolutionReport:
    """What an operation did or would do; `log_id` is what `undo` takes, None if unwritten."""

    operation: str
    dry_run: bool
    log_id: int | None = None
    moved: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Node → its tier before and after."""
    merged: dict[str, str] = field(default_factory=dict)
    """Node → the equal one that stands for it now."""
    confidence: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Node → its confidence before and after."""
    skipped: list[str] = field(default_factory=list)
    """Nodes that `undo` left alone: somebody changed them since, or they are gone."""

    @property
    def node_ids(self) -> list[str]:
        """Every node that was touched."""
        return list(dict.fromkeys((*self.moved, *self.confidence)))

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        believed = self.confidence.items()
        return {
            "operation": self.operation,
            "dry_run": self.dry_run,
            "log_id": self.log_id,
            "moved": [{"id": each, "from": a, "to": b} for each, (a, b) in self.moved.items()],
            "merged": [{"id": each, "into": kept} for each, kept in self.merged.items()],
            "confidence": [{"id": each, "before": a, "after": b} for each, (a, b) in believed],
            "skipped": list(self.skipped),
        }


class GraphStore(Protocol):
    """One tenant's nodes, the hyperedges that join them, and the log of what became of them."""

    def create_node(self, type: str, content: str, **kwargs: Any) -> str: ...
    def create_nodes(self, nodes: Iterable[Mapping[str, Any]]) -> list[str]: ...
    def get_node(self, node_id: str) -> Node | None: ...
    def update_node(self, node_id: str, *, reasoning: str | None = None, **kwargs: Any) -> bool: ...
    def delete_node(self, node_id: str, *, reasoning: str | None = None) -> bool: ...
    def purge_node(self, node_id: str, *, reasoning: str | None = None) -> bool: ...
    def query_nodes(
        self,
        type: str | None = None,
        tier: str | None = None,
        min_confidence: float | None = None,
        limit: int = 100,
    ) -> list[Node]: ...
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
    ) -> list[NodeHit]: ...

    def create_edge(
        self,
        type: str,
        label: str | None,
        members: Sequence[Mapping[str, Any] | Member],
        *,
        weight: float = 1.0,
    ) -> str: ...
    def get_edge(self, edge_id: str) -> Edge | None: ...
    def update_edge(self, edge_id: str, *, reasoning: str | None = None, **kwargs: Any) -> bool: ...
    def delete_edge(self, edge_id: str, *, reasoning: str | None = None) -> bool: ...
    def unlink(
        self, first: str, second: str | None = None, *, reasoning: str | None = None
    ) -> list[str]: ...
    def list_edges(
        self,
        type: str | None = None,
        label: str | None = None,
        min_weight: float | None = None,
        limit: int = 100,
    ) -> list[Edge]: ...
    def get_links(
        self,
        node_id: str,
        direction: str = "both",
        *,
        type: str | None = None,
        label: str | None = None,
        role: str | None = None,
    ) -> list[Edge]: ...
    def get_members(self, edge_id: str, role: str | None = None) -> list[Node]: ...
    def get_related_nodes(self, node_id: str, edge_type: str | None = None) -> list[Node]: ...

    def evolution(
        self, node_id: str | None = None, limit: int = 100, *, operation: str = ""
    ) -> list[Evolution]: ...
    def read_events(self, log_id: int) -> list[Evolution]: ...
    def log_event(
        self,
        operation: str,
        node_ids: Sequence[str],
        from_tier: str | None = None,
        to_tier: str | None = None,
        reasoning: str | None = None,
    ) -> int: ...
    def confidence_history(self, node_id: str | None = None) -> list[ConfidenceChange]: ...
    def consolidate(self, *, dry_run: bool = False) -> EvolutionReport: ...
    def promote(
        self, *, min_confidence: float = 0.8, min_accesses: int = 2, dry_run: bool = False
    ) -> EvolutionReport: ...
    def decay(
        self, *, per_month: float = 0.05, archive_below: float = 0.1, dry_run: bool = False
    ) -> EvolutionReport: ...
    def undo(self, log_id: int, *, dry_run: bool = False) -> EvolutionReport: ...

    def dump(self) -> GraphDump: ...
    def load(self, dump: GraphDump) -> dict[str, int]: ...


def copy_graph(source: GraphStore, target: GraphStore) -> dict[str, int]:
    """Copy nodes, edges, memberships and history, all or none; how many of each were new.

    Ids and times are kept. What the target has already stays as it is there, so copying twice adds
    nothing.
    """
    return target.load(source.dump())
