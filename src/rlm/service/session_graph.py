"""The turns of a session as nodes of the hypergraph, joined in order by one `context` edge.

So any turn can be found by its own words and by those of its neighbours. A session that went on is
saved again: its turns are known by their number, the last one may have grown.
"""

from __future__ import annotations

import re
from typing import Any

from rlm.service.decision_model import find_question
from rlm.service.echoes import Echoes
from rlm.service.own_words import sentences
from rlm.service.transcripts.session import CodingSession, SessionTurn, ShellCommand
from rlm.store.backend import MemoryBackend
from rlm.store.graph import Edge, Node

SHOWN_COMMANDS, SHOWN_FILES, COMMAND_CHARS = 5, 8, 160
FEW_WORDS, SHORT_WORDS = 2, 8
"""A turn of a few words ("Done.", "thanks") is found by anything and tells nothing: it has no node.
A person's short answer is kept with the question."""
TURN_CONFIDENCE = 0.7
"""It was said, whatever it is worth. At a node's usual 0.5 recall looks further, for a surer one:
36 ms instead of 17 among 100,000 turns."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def label_of(session: CodingSession) -> str:
    """What the edge of a session is called."""
    return f"session {session.agent}:{session.session_id}"


def known_turns(store: MemoryBackend, session: CodingSession) -> int:
    """The number of the last turn of a session that was saved before."""
    edge = _edge(store, session)
    return 0 if edge is None else max(member.position for member in edge.members)


def _edge(store: MemoryBackend, session: CodingSession) -> Edge | None:
    found = store.graph.list_edges(type="context", label=label_of(session), limit=1)
    return found[0] if found else None


def save_turns(store: MemoryBackend, session: CodingSession) -> dict[int, str]:
    """Add the turns that are new and update one that grew; the node of each turn by its number."""
    graph, contents = store.graph, _contents(session)
    edge = _edge(store, session)
    known = {} if edge is None else {_number(node): node for node in graph.get_members(edge.id)}
    fresh = [turn for turn in session.turns if contents[turn.number] and turn.number not in known]
    made = graph.create_nodes(_node(turn, contents[turn.number], session) for turn in fresh)
    nodes = {number: node.id for number, node in known.items()}
    nodes |= dict(zip((turn.number for turn in fresh), made, strict=True))
    for number, node in known.items():
        if contents.get(number, node.content) not in ("", node.content):
            graph.update_node(node.id, content=contents[number], reasoning="the session went on")
    if fresh:
        members = [
            {"node_id": node, "role": "context", "position": number}
            for number, node in sorted(nodes.items())
        ]
        if edge is None:
            graph.create_edge("context", label_of(session), members)
        else:
            graph.update_edge(edge.id, members=members, reasoning="the session went on")
    return nodes


def _number(node: Node) -> int:
    number = node.metadata.get("n")
    return number if isinstance(number, int) else -1


def _node(turn: SessionTurn, content: str, session: CodingSession) -> dict[str, Any]:
    return {
        "type": "experience",
        "subtype": "turn",
        "content": content,
        "tier": "session",
        "confidence": TURN_CONFIDENCE,
        "provenance": label_of(session),
        "metadata": {
            "session": session.session_id,
            "agent": session.agent,
            "n": turn.number,
            "role": turn.role,
            "at": turn.at or session.ended_at,
        },
    }


def _contents(session: CodingSession) -> dict[int, str]:
    echoes = Echoes(session.injected)
    pairs = zip(session.turns, [None, *session.turns], strict=False)
    return {turn.number: _content(turn, before, echoes) for turn, before in pairs}


def _content(turn: SessionTurn, before: SessionTurn | None, echoes: Echoes) -> str:
    """What was said, but for what memory had said, and what was done; '' for what tells nothing."""
    said = _own(turn.text, echoes)
    words, asked = len(said.split()), ""
    if 0 < words <= SHORT_WORDS and turn.role == "user" and before is not None:
        asked = _own(find_question(list(sentences(before.text))), echoes)
    if words <= FEW_WORDS and not asked and not turn.commands and not turn.files:
        return ""
    parts = [f"{said} (asked: {asked})"] if asked else [said] if said else []
    if turn.commands:
        parts.append(f"Ran: {'; '.join(map(_show, turn.commands[-SHOWN_COMMANDS:]))}")
    if turn.files:
        parts.append(f"Changed: {', '.join(turn.files[:SHOWN_FILES])}")
    return "\n".join(parts)


def _show(command: ShellCommand) -> str:
    text = command.text if command.ok is not False else f"{command.text} (failed)"
    return " ".join(text.split())[:COMMAND_CHARS]


def _own(text: str, echoes: Echoes) -> str:
    lines = (
        " ".join(part for part in _SENTENCE.split(line) if not echoes.holds(part))
        for line in text.splitlines()
    )
    return "\n".join(lines).strip()
