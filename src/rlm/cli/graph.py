"""`rlm graph`: nodes, the hyperedges that join them, and their history."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import command, count, new_group, unit, words
from rlm.cli.ids import find_node
from rlm.cli.output import print_fields, print_json, print_table, print_text
from rlm.cli.session import Session, graph_of
from rlm.cli.text import read_text
from rlm.errors import NotFound, ValidationError
from rlm.store.types import EDGE_TYPES, NODE_TYPES, TIERS

if TYPE_CHECKING:
    from rlm.store.sqlite.graph import NodeHit
    from rlm.store.types import Edge, Evolution, Node

app = new_group("Nodes and the hyperedges that join them.")


@command(app, "add")
@click.argument("type", type=click.Choice(NODE_TYPES), metavar="TYPE")
@click.argument("content")
@click.option("--subtype", metavar="TEXT", help="A finer type, in your own words.")
@words("--tier", TIERS, "How long it is to live [task].")
@unit("--confidence", "How sure it is [0.5].")
@click.option("--provenance", metavar="TEXT", help="Where it comes from.")
@click.option("--metadata", metavar="JSON", help="Anything else, as a JSON object.")
def add(session: Session, type: str, content: str, metadata: str | None, **values: Any) -> None:
    """Add a node. Prints its id.

    TYPE is entity, fact, experience, decision or snippet. CONTENT is what it says; - reads stdin.
    """
    values["metadata"] = _object(metadata)
    given = {name: value for name, value in values.items() if value is not None}
    text = read_text(content) or ""
    with session.store() as store:
        node_id = graph_of(store).create_node(type, text, **given)
    if session.json:
        print_json({"id": node_id})
    else:
        print_text(node_id)


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ValidationError(f"--metadata is not JSON: {exc}", field="metadata") from exc
    if not isinstance(value, dict):
        raise ValidationError("--metadata is not a JSON object, like '{\"page\": 3}'", field="metadata")
    return value


@command(app, "link")
@click.argument("type", type=click.Choice(EDGE_TYPES), metavar="EDGE_TYPE")
@click.argument("label")
@click.argument("nodes", metavar="NODE[:ROLE]...", nargs=-1, required=True)
@click.option("--weight", type=click.FloatRange(min=0.0), metavar="X", default=1.0, help="How strong it is [1].")
def link(session: Session, type: str, label: str, nodes: tuple[str, ...], weight: float) -> None:
    """Join nodes with one edge. Prints the edge's id.

    EDGE_TYPE is relation, composition, causation or context. ROLE is subject, object, context, participant,
    cause or effect.
    """
    with session.store() as store:
        graph = graph_of(store)
        members = []
        for position, text in enumerate(nodes):
            name, _, role = text.partition(":")
            node_id = find_node(store, name)
            members.append({"node_id": node_id, "role": role or "participant", "position": position})
        edge_id = graph.create_edge(type, label, members, weight=weight)
    if session.json:
        print_json({"id": edge_id})
    else:
        print_text(edge_id)


@command(app, "search")
@click.argument("query", nargs=-1, required=True)
@words("--type", NODE_TYPES, "Only nodes of this type.")
@words("--tier", TIERS, "Only this tier (default: all but the archive).")
@unit("--min-confidence", "Only from here up.")
@count("--limit", default=10, most=1_000, doc="How many, at most.")
@click.option("--explain", is_flag=True, help="Say why each came back.")
def search(session: Session, query: tuple[str, ...], limit: int, explain: bool, **filters: Any) -> None:
    """Find nodes by what they say, best first."""
    hits: list[NodeHit] = []
    if not session.lacks_store():
        with session.reading() as store:
            hits = graph_of(store).search(" ".join(query), limit, explain=explain, **filters)
    if session.json:
        print_json([_hit_dict(hit) for hit in hits])
    elif explain:
        for number, hit in enumerate(hits, start=1):
            print_text(f"{number}. {hit.node.id}  {hit.node.type}\n   {_short(hit.node)}\n   {hit.why}")
    elif hits:
        rows = [(f"{hit.score:.3f}", hit.node.id, hit.node.type, hit.node.tier, _short(hit.node)) for hit in hits]
        print_table(("score", "id", "type", "tier", "content"), rows)
    if not hits:
        session.talk("nothing found")


def _hit_dict(hit: NodeHit) -> dict[str, Any]:
    why = {} if hit.why is None else {"why": hit.why.to_dict()}
    return {"score": round(hit.score, 6), **hit.node.to_dict(), **why}


def _short(node: Node, limit: int = 160) -> str:
    text = " ".join(node.content.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@command(app, "show")
@click.argument("node_id")
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
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
