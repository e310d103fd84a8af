"""Which older session a later one may have amended: a link in the hypergraph, used by searches.

An amendment often changes one detail of a long rule, so a report of that detail is more like the
older session. What tells is the likeness of the two sessions: a session that decides something is
linked to the older one that its deciding turns are most like, if they are so by much. The link
joins the first turns of both and is a guess: where the older session is found, a search puts the
best hit of the later one before it, and nothing is superseded. A session that is read after one
that amended it gets no link.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from rlm.retrieval.excerpt import split_phrases
from rlm.retrieval.rank import likeness_floor
from rlm.service.transcripts.session import CodingSession, SessionTurn
from rlm.store.backend import MemoryBackend
from rlm.store.graph import NodeHit

MAY_AMEND = "may amend"
LIKE_OLDER, BESIDE_DECISION = 0.7, 1
"""A session may amend an older one if the turns in which it decides, and those so near to them, are
such a share of the floor of likeness like it: each like its nearest turn there, on average
(docs/experiments.md)."""
MOST_COMPARED, NEAREST = 24, 64
"""So many turns of a session are compared, each with so many of older sessions."""


@dataclass(frozen=True, slots=True)
class OlderSession:
    """One that a later session may amend: the node of a turn of it, and how like they are."""

    turn: str
    likeness: float


def find_older(
    store: MemoryBackend, session: CodingSession, decided: Collection[int]
) -> OlderSession | None:
    """The older session that the decisions in these turns may amend."""
    if "graph" in store.lacks:
        return None
    near = [
        turn
        for turn in session.turns
        if turn.text and any(abs(turn.number - each) <= BESIDE_DECISION for each in decided)
    ][:MOST_COMPARED]
    likeness, nodes = Counter[str](), dict[str, str]()
    for turn in near:
        nearest: dict[str, float] = {}
        for hit in _find_older_turns(store, turn, session):
            key = str(hit.node.metadata.get("session"))
            nodes.setdefault(key, hit.node.id)
            nearest.setdefault(key, _share_of_floor(hit) / len(near))
        likeness.update(nearest)
    best = max(likeness, key=lambda key: likeness[key], default="")
    return OlderSession(nodes[best], likeness[best]) if likeness[best] >= LIKE_OLDER else None


def _share_of_floor(hit: NodeHit) -> float:
    assert hit.why is not None  # the search was asked to explain
    return hit.why.similarity / likeness_floor(hit.why.documents)


def _find_older_turns(
    store: MemoryBackend, turn: SessionTurn, session: CodingSession
) -> list[NodeHit]:
    plain, _ = split_phrases(turn.text)
    found = store.graph.search(plain, NEAREST, type="experience", subtype="turn", explain=True)
    begun = session.turns[0].at or session.ended_at
    return [
        hit
        for hit in found
        if hit.node.metadata.get("session") != session.session_id
        and str(hit.node.metadata.get("at") or "") < begun
    ]


def link_older(store: MemoryBackend, turn: str, older: OlderSession) -> None:
    """Note that the session of a turn may amend an older one, once."""
    later, before = (_first_turn(store, each) for each in (turn, older.turn))
    known = store.graph.get_links(later, "out", type="causation", label=MAY_AMEND)
    if not any(before in edge.node_ids for edge in known):
        members = [{"node_id": later, "role": "cause"}, {"node_id": before, "role": "effect"}]
        store.graph.create_edge("causation", MAY_AMEND, members, weight=older.likeness)


def find_amending(store: MemoryBackend, turn: str) -> list[str]:
    """The later sessions that may amend the session of a turn, the most alike first."""
    first, graph = _first_turn(store, turn), store.graph
    links = graph.get_links(first, "in", type="causation", label=MAY_AMEND)
    links.sort(key=lambda edge: -edge.weight)
    nodes = graph.read_nodes(edge.by_role("cause")[0] for edge in links)
    later = (nodes.get(edge.by_role("cause")[0]) for edge in links)
    return [str(node.metadata.get("session")) for node in later if node is not None]


def _first_turn(store: MemoryBackend, turn: str) -> str:
    sessions = store.graph.get_links(turn, type="context")
    return sessions[0].node_ids[0] if sessions else turn
