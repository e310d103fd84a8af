"""`memory_*`: the hypergraph of seed 004, as the REPL sees it.

Facts and experiences that a model notes on the way, and how they hang together. Their provenance
says that a model wrote them. A fact is no procedure, so its form says nothing of where it comes
from: what is noted after the run has read what others wrote is for that run alone, until a person
gives it another provenance (`rlm graph edit --provenance`). There is no way to SQL here, and none
to another tenant.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rlm.errors import LimitExceeded, ValidationError
from rlm.handles import Meter
from rlm.learning.gates import RecalledTexts
from rlm.learning.suspicion import ForeignText, suspicious
from rlm.store.backend import MemoryBackend
from rlm.store.graph import Node
from rlm.tools.toolbox import Toolbox, check_count, check_text, clip

if TYPE_CHECKING:
    from rlm.store.sql.graph import GraphStore

NODE_HITS = 20
NODE_CHARS = 200
OUTCOME_CHARS = 100
QUERY_CHARS = 2000
ADD_CHARS = 4000
LABEL_CHARS = 200
ID_CHARS = 64
WRITES_PER_RUN = 200

NOTES_SUMMARY = (
    "`memory_query(q)`, `memory_get_context()` find notes; `memory_add_fact(text)`,"
    " `memory_add_experience(text, outcome, success)`, `memory_relate(label, a, b)` add one."
)
PROVENANCE = "repl"
HELD_PROVENANCE = "repl, after reading what others wrote"
"""Other runs are not shown such a node."""
HELD_FACTOR = 5
"""So many times as many nodes are looked at as are asked for, because some may be held back."""
EXPERIENCE_CONFIDENCE = {True: 0.6, False: 0.5}
"""What went well is trusted a little more than what did not, as with memories (seed 003)."""


def graph_tools(
    backend: MemoryBackend, meter: Meter, *, recalled: RecalledTexts | None = None
) -> Toolbox:
    """The hypergraph tools of one run. A store without a graph says so when one is called."""
    tools = _GraphTools(backend, recalled or RecalledTexts(), ForeignText(meter.seen))
    return Toolbox.of(
        meter,
        tools.memory_query,
        tools.memory_add_fact,
        tools.memory_add_experience,
        tools.memory_get_context,
        tools.memory_relate,
        summary=NOTES_SUMMARY,
    )


@dataclass(eq=False, slots=True)
class _GraphTools:
    _backend: MemoryBackend
    _recalled: RecalledTexts
    _foreign: ForeignText
    _own: set[str] = field(default_factory=set)
    _writes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def _graph(self) -> GraphStore:
        return self._backend.graph

    def memory_query(self, query: str, limit: int = 10) -> list[dict[str, Any]]:
        """Facts and experiences noted before, best first: [{id, type, content, confidence}]; limit
        up to 20. Words in double quotes must occur in that order."""
        check_text(query, "query", QUERY_CHARS)
        check_count(limit, "limit", NODE_HITS)
        hits = self._graph.search(query, HELD_FACTOR * limit)
        return self._report([hit.node for hit in hits], limit)

    def memory_add_fact(self, content: str, confidence: float = 0.6) -> str:
        """Note a fact, with a confidence from 0 to 1; returns its id."""
        return self._create("fact", content, confidence=confidence)

    def memory_add_experience(self, content: str, outcome: str, success: bool) -> str:
        """Note what was tried, what came of it, and whether it worked (True or False); returns its
        id."""
        check_text(outcome, "outcome", ADD_CHARS)
        if not isinstance(success, bool):
            raise ValidationError(f"success is {success!r:.40}: use True or False", field="success")
        self._recalled.check(outcome, "outcome")
        metadata = {"outcome": outcome, "success": success}
        return self._create(
            "experience", content, confidence=EXPERIENCE_CONFIDENCE[success], metadata=metadata
        )

    def memory_get_context(self, limit: int = 10) -> list[dict[str, Any]]:
        """What was noted last, newest first, as memory_query returns it; limit up to 20."""
        check_count(limit, "limit", NODE_HITS)
        return self._report(self._graph.query_nodes(limit=HELD_FACTOR * limit), limit)

    def memory_relate(self, label: str, subject_id: str, object_id: str) -> str:
        """Join two noted things, such as memory_relate('causes', id1, id2); returns the relation's
        id."""
        check_text(label, "label", LABEL_CHARS)
        members = [
            {"node_id": check_text(subject_id, "subject_id", ID_CHARS), "role": "subject"},
            {"node_id": check_text(object_id, "object_id", ID_CHARS), "role": "object"},
        ]
        graph = self._graph
        with self._lock:
            self._check_writes()
            edge_id = graph.create_edge("relation", label, members)
            self._writes += 1
        return edge_id

    def _create(self, kind: str, content: str, **values: Any) -> str:
        check_text(content, "content", ADD_CHARS)
        self._recalled.check(content, "content")
        if why := suspicious(f"{content}\n{values.get('metadata', '')}"):
            raise ValidationError(f"content {why}: note what was found, not what it says to do")
        graph = self._graph
        provenance = HELD_PROVENANCE if self._foreign else PROVENANCE
        with self._lock:
            self._check_writes()
            node_id = graph.create_node(kind, content, provenance=provenance, **values)
            self._writes += 1
            self._own.add(node_id)
        return node_id

    def _check_writes(self) -> None:
        if self._writes >= WRITES_PER_RUN:
            raise LimitExceeded(
                f"{WRITES_PER_RUN} notes were stored in this run, which is the most: use what is"
                " there"
            )

    def _report(self, nodes: list[Node], limit: int) -> list[dict[str, Any]]:
        shown = [n for n in nodes if n.provenance != HELD_PROVENANCE or n.id in self._own]
        made = []
        for node in shown[:limit]:
            content = clip(node.content, NODE_CHARS)
            self._recalled.note(content)
            entry = {
                "id": node.id,
                "type": node.type,
                "content": content,
                "confidence": node.confidence,
            }
            if node.type == "experience":
                entry["outcome"] = clip(str(node.metadata.get("outcome", "")), OUTCOME_CHARS)
                entry["success"] = bool(node.metadata.get("success", False))
            made.append(entry)
        return made
