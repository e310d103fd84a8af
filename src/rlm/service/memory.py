"""A memory as its users see it: the fields of seed 003, what kind it is, and how well it fits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rlm.store.graph import NodeHit
from rlm.store.types import MemoryItem

KINDS = ("procedure", "fact", "decision", "turn")
"""How something is done, what is so, what was settled, and what was said in a session."""
STORED_KINDS = KINDS[:3]
"""Those that are stored as memories."""
SAID_BYTES = 240
"""Of a line for a model: 60 tokens of English, 80 of a script with a token for each character."""
TURN_TITLE_CHARS = 80


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory, or one turn of a past session. It never holds an embedding."""

    id: str
    title: str
    description: str
    content: str
    outcome: str
    confidence: float
    usage_count: int
    tags: tuple[str, ...]
    scope: str
    """Who may see it: project, team or org."""
    project: str
    team: str
    org: str
    source_session: str | None
    created_at: str
    last_used: str | None
    kind: str = "procedure"
    trust: str = "trusted"
    score: float = 0.0
    why: dict[str, Any] | None = None
    source_type: str = "session"
    """Where it came from: success, failure, human, pack, or a turn of a session."""
    weak: bool = False
    """Whether it is less like the query than what is shown unasked."""
    changed: str = ""
    """Where a newer decision replaced, changed or may have changed it: how, when, and its id."""

    @classmethod
    def of_item(cls, item: MemoryItem, score: float = 0.0) -> Memory:
        """A stored memory."""
        return cls(
            item.memory_id,
            item.title,
            item.description,
            item.content,
            item.outcome or "success",
            item.confidence or 0.0,
            item.access_count,
            tuple(item.tags),
            item.level,
            item.project,
            item.team,
            item.org,
            item.session_id,
            item.created_at,
            item.last_used,
            item.kind,
            item.trust or "unverified",
            score,
            source_type=item.source_type,
        )

    @classmethod
    def of_turn(cls, hit: NodeHit, project: str, team: str, org: str) -> Memory:
        """A turn of a session, found in the hypergraph."""
        node = hit.node
        said, at = node.metadata, str(node.metadata.get("at") or "")
        first = " ".join(node.content.split())
        title = first if len(first) <= TURN_TITLE_CHARS else first[: TURN_TITLE_CHARS - 1] + "…"
        return cls(
            node.id,
            title,
            f"{said.get('role', 'somebody')} in session {said.get('session', '?')}, {at[:10]}",
            node.content,
            "mixed",
            node.confidence,
            node.access_count,
            (),
            "project",
            project,
            team,
            org,
            str(said.get("session") or "") or None,
            at,
            None,
            "turn",
            "unverified",
            hit.score,
        )

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return {**asdict(self), "tags": list(self.tags)}

    def said(self, less: int = 0) -> str:
        """Title and description, cut to a line, `less` bytes shorter where more is to be said;
        where one begins as the other, the longer alone."""
        title, more = self.title, self.description
        whole = f"{title}: {more}"
        for text, other in ((title, more), (more, title)):
            if text.startswith(other.removesuffix("…")):
                whole = text
        raw = whole.encode()
        room = SAID_BYTES - less
        if len(raw) > room:
            return raw[: room - 3].decode(errors="ignore") + "…"
        return whole

    def line(self) -> str:
        """One line of text: what a model is shown of a hit."""
        weak = ", weak match" if self.weak else ""
        changed = f", {self.changed}" if self.changed else ""
        tail = f" ({self.kind}, {self.created_at[:10]}{weak}{changed})"
        return f"{self.id}  {self.said(len(changed))}{tail}"
