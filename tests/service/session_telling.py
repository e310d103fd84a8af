"""What tests of the service share: a tenant, and sessions as the distiller writes them."""

from __future__ import annotations

from collections.abc import Sequence

from rlm import MemoryBackend, Tenant

LOCAL = Tenant("acme", "web", "shop")


def tell_session(
    store: MemoryBackend, session: str, texts: Sequence[str], at: str = "2026-05-04T10:00:00Z"
) -> list[str]:
    """A session in the hypergraph as the distiller writes it: turns in an ordered edge."""
    roles = ("user", "assistant")
    ids = store.graph.create_nodes(
        {
            "type": "experience",
            "subtype": "turn",
            "content": text,
            "metadata": {
                "session": session,
                "agent": "claude",
                "n": number,
                "role": roles[number % 2],
                "at": at,
            },
        }
        for number, text in enumerate(texts)
    )
    members = [{"node_id": each, "role": "context"} for each in ids]
    store.graph.create_edge("context", f"session claude:{session}", members)
    return ids
