"""A file with four tenants: ours, and three whose rows hold a word that only what is foreign has."""

from __future__ import annotations

from pathlib import Path

from rlm import MemoryItem, open_store
from rlm.store.types import Tenant

OURS = Tenant("acme", "web", "shop")
MARK = "quagga"
"""A word that only what is foreign has."""
THEIRS = (
    Tenant("acme", "web", f"{MARK}-blog"),
    Tenant("acme", f"{MARK}-ops", "shop"),
    Tenant(f"{MARK}-rival", "web", "shop"),
)
WILD = ("", "*", "%", "_", "?", "..", "../x", "../../etc/passwd", "/etc/passwd", "null", "None",
        "' OR 1=1 --", '"', "\\", "acme", "web", "shop", "local", "\0", "é", "x" * 300)  # fmt: skip


def dump_foreign(path: Path) -> str:
    """Everything that the others have."""
    found = []
    for tenant in THEIRS:
        with open_store(path, tenant=tenant, embedder="none") as store:
            items = [item.to_dict() for item in store.list_items(limit=1000)]
            rows = [items, store.graph.dump().counts, store.jobs(), store.branches("s")]
            rows += [[store.signals(item["memory_id"]) for item in items], store.tokens()]
            rows += [store.recent_runs(), store.graph.evolution()]
            found.append(repr(rows))
    return "\n".join(found)


def furnish(path: Path, tenant: Tenant, word: str) -> list[str]:
    """One of everything; the ids."""
    with open_store(path, tenant=tenant, embedder="none") as store:
        levels = ["project"]  # and those that we do not see
        levels += ["team"] if (tenant.org, tenant.team) != (OURS.org, OURS.team) else []
        levels += ["org"] if tenant.org != OURS.org else []
        ids = [
            store.add(
                MemoryItem(
                    f"{word} {level} {tenant.project}", f"{word} rule", f"Feed {word}.", level=level
                )
            )
            for level in levels
        ]
        graph = store.graph
        ids.append(graph.create_node("fact", f"{word} facts of {tenant.org}"))
        said = {"session": "s", "n": 1, "role": "user", "at": "2026-01-01T00:00:00+00:00"}
        ids.append(
            graph.create_node("experience", f"{word} was said", subtype="turn", metadata=said)
        )
        ids.append(
            graph.create_edge("relation", word, [{"node_id": ids[-1]}, {"node_id": ids[-2]}])
        )
        ids.append(store.open_branch("s", f"{word} branch", 100).branch_id)
        store.queue_session("claude", f"{word}-session", {})
        store.add_token(f"{abs(hash(tenant)):016x}"[:16], word, "0" * 64, read_only=False)
        return ids
