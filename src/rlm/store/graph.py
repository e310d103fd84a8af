"""The data of a hypergraph (seed 004): nodes, edges, what became of them, and reports of changes.

`rlm.store.sql.graph.GraphStore` keeps them; get it as `store.graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rlm.store.types import ROLES, Record

if TYPE_CHECKING:
    from rlm.retrieval.excerpt import Snippet
    from rlm.retrieval.explain import Explanation
    from rlm.store.sql.graph import GraphStore

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
    _explain: Callable[[], Explanation] | None

    def __new__(
        cls,
        node: Node,
        score: float,
        snippet: Snippet,
        explain: Callable[[], Explanation] | None = None,
    ) -> NodeHit:
        self = super().__new__(cls, (node, score))
        self.snippet, self._explain = snippet, explain
        return self

    @cached_property
    def why(self) -> Explanation | None:
        """The factors of its score, put together for who looks at them."""
        return None if self._explain is None else self._explain()

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


def copy_graph(source: GraphStore, target: GraphStore) -> dict[str, int]:
    """Copy nodes, edges, memberships and history, all or none; how many of each were new.

    Ids and times are kept. What the target has already stays as it is there, so copying twice adds
    nothing.
    """
    return target.load(source.dump())
