"""The graph commands that change nothing but the access count: search, list, show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import count, unit, with_options, words
from rlm.cli.ids import find_node
from rlm.cli.output import print_fields, print_json, print_table, print_text
from rlm.cli.session import Session, graph_of
from rlm.errors import NotFound
from rlm.store.types import NODE_TYPES, TIERS

if TYPE_CHECKING:
    from rlm.store.sqlite.graph import NodeHit
    from rlm.store.types import Edge, Evolution, Node

FILTERS = (
    words("--type", NODE_TYPES, "Only nodes of this type."),
    words("--tier", TIERS, "Only this tier (default: all but the archive)."),
    unit("--min-confidence", "Only from here up."),
)


@click.argument("query", nargs=-1, required=True)
@with_options(FILTERS)
@count("--limit", default=10, most=1_000, doc="How many, at most.")
@click.option("--explain", is_flag=True, help="Say why each came back.")
def search(
    session: Session, query: tuple[str, ...], limit: int, explain: bool, **filters: Any
) -> int:
    """Find nodes by what they say, best first. The exit code is 1 when nothing is found."""
    hits: list[NodeHit] = []
    if not session.lacks_store():
        with session.reading() as store:
            hits = graph_of(store).search(" ".join(query), limit, explain=explain, **filters)
        if not hits:
            session.talk("nothing found")
    if session.json:
        print_json([_hit_dict(hit) for hit in hits])
    elif explain:
        for number, hit in enumerate(hits, start=1):
            print_text(
                f"{number}. {hit.node.id}  {hit.node.type}\n   {_short(hit.node)}\n   {hit.why}"
            )
    elif hits:
        rows = [
            (f"{hit.score:.3f}", hit.node.id, hit.node.type, hit.node.tier, _short(hit.node))
            for hit in hits
        ]
        print_table(("score", "id", "type", "tier", "content"), rows, prose=("content",))
    return 0 if hits else 1


def _hit_dict(hit: NodeHit) -> dict[str, Any]:
    why = {} if hit.why is None else {"why": hit.why.to_dict()}
    return {"score": round(hit.score, 6), **hit.node.to_dict(), **why}


def _short(node: Node, limit: int = 160) -> str:
    text = " ".join(node.content.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@with_options(FILTERS)
@count("--limit", default=50, doc="How many, at most.")
def list_nodes(session: Session, limit: int, **filters: Any) -> None:
    """List nodes, the last changed first."""
    found: list[Node] = []
    if not session.lacks_store():
        with session.reading() as store:
            found = graph_of(store).query_nodes(limit=limit, **filters)
        if not found:
            session.talk("no nodes")
    if session.json:
        print_json([node.to_dict() for node in found])
        return
    if found:
        headers = ("id", "changed", "type", "tier", "conf", "content")
        print_table(headers, [_row(node) for node in found], prose=("content",))
    if len(found) == limit:
        session.talk(f"the last {limit}: more with --limit")


def _row(node: Node) -> tuple[object, ...]:
    return (
        node.id,
        _time(node.updated_at)[:10],
        node.type,
        node.tier,
        f"{node.confidence:.2f}",
        _short(node),
    )


@click.argument("node_id", metavar="ID")
def show(session: Session, node_id: str) -> None:
    """Show a node with its edges, its neighbours and its history. A beginning of the id is enough."""
    with session.reading() as store:
        graph = graph_of(store)
        full_id = find_node(store, node_id)
        node = graph.get_node(full_id)
        if node is None:
            raise NotFound(f"no node {node_id!r} here")
        edges, related = graph.edges_of(full_id), graph.get_related_nodes(full_id)
        log = graph.evolution(full_id)
    if session.json:
        history = [_event_dict(event) for event in log]
        print_json(
            {
                "node": node.to_dict(),
                "edges": [edge.to_dict() for edge in edges],
                "related": [other.to_dict() for other in related],
                "evolution": history,
            }
        )
        return
    _print_node(node)
    _print_part("edges", [_edge_line(edge) for edge in edges])
    _print_part("related", [f"{other.id}  {other.type}  {_short(other, 80)}" for other in related])
    _print_part("history", [_event_line(event) for event in log])


def _event_dict(event: Evolution) -> dict[str, Any]:
    return {
        "id": event.id,
        "timestamp": event.timestamp,
        "operation": event.operation,
        "node_ids": list(event.node_ids),
        "from_tier": event.from_tier,
        "to_tier": event.to_tier,
        "reasoning": event.reasoning,
    }


def _print_node(node: Node) -> None:
    values = node.to_dict()
    content = values.pop("content")
    for name in ("created_at", "updated_at", "last_accessed"):
        values[name] = _time(values[name])
    values["metadata"] = json.dumps(node.metadata, ensure_ascii=False) if node.metadata else None
    print_fields([(name.replace("_", " "), value) for name, value in values.items()])
    print_text(f"\n{content}")


def _print_part(name: str, lines: list[str]) -> None:
    if lines:
        print_text(f"\n{name}")
        for line in lines:
            print_text(f"  {line}")


def _edge_line(edge: Edge) -> str:
    members = ", ".join(f"{member.node_id[:8]}:{member.role}" for member in edge.members)
    return f"{edge.id[:8]}  {edge.type}  {' '.join((edge.label or '').split())}  ({members})"


def _event_line(event: Evolution) -> str:
    tiers = f"  {event.from_tier or ''} → {event.to_tier}" if event.to_tier else ""
    why = f"  {' '.join(event.reasoning.split())}" if event.reasoning else ""
    return f"{_time(event.timestamp)}  {event.operation}{tiers}{why}"


def _time(milliseconds: int) -> str:
    """With its zone: a time without one is read as the reader's own."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
