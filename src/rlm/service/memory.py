"""A memory as its users see it: the fields of seed 003, what kind it is, and how well it fits."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from rlm.service.clip import clip, is_cut_of
from rlm.store.graph import NodeHit
from rlm.store.types import MemoryItem

KINDS = ("procedure", "fact", "decision", "turn")
"""How something is done, what is so, what was settled, and what was said in a session."""
STORED_KINDS = KINDS[:3]
"""Those that are stored as memories."""
SAID_BYTES = 240
"""Of a line for a model: 60 tokens of English, 80 of a script with a token for each character."""
TURN_TITLE_CHARS = 80
SESSION_CHARS = 46
"""Of the session of a turn in a line: a UUID and the word before it."""


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
    role: str = ""
    """Who said it, of a turn."""

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
        role = str(said.get("role") or "somebody")
        first = " ".join(node.content.split())
        title = first if len(first) <= TURN_TITLE_CHARS else first[: TURN_TITLE_CHARS - 1] + "…"
        return cls(
            node.id,
            title,
            f"{role} in session {said.get('session', '?')}, {at[:10]}",
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
            role=role,
        )

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return {**asdict(self), "tags": list(self.tags)}

    def said(self) -> str:
        """Title and description; where one begins as the other, the longer alone. Of a turn, who
        said what."""
        if self.role:
            return f"{self.role}: {' '.join(self.content.split())}"
        title, more = self.title, self.description
        whole = f"{title}: {more}"
        for text, other in ((title, more), (more, title)):
            if is_cut_of(other, text):
                whole = text
        return whole

    def _said_shortly(self, room: int) -> str:
        """The same in at most so many bytes."""
        text = self.said()
        most = len(text) * room // max(1, len(text.encode()))
        raw = clip(text, most).encode()
        return raw[: room - 3].decode(errors="ignore") + "…" if len(raw) > room else raw.decode()

    @property
    def is_unverified_decision(self) -> bool:
        """Whether it is called a decision, and no person's words are behind it."""
        return self.kind == "decision" and self.trust != "trusted" and self.source_type != "human"

    def line(self) -> str:
        """One line of text: what a model is shown of a hit."""
        weak = ", weak match" if self.weak else ""
        by_agent = "unverified " if self.is_unverified_decision else ""
        session = f", session {self.source_session}"[:SESSION_CHARS] if self.role else ""
        more = f"{session}{', ' if self.changed else ''}{self.changed}"
        tail = f" ({by_agent}{self.kind}, {self.created_at[:10]}{weak}{more})"
        return f"{self.id}  {self._said_shortly(SAID_BYTES - len(more))}{tail}"
