"""The graph commands that change nothing but the access count."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import count, unit, with_options, words
from rlm.cli.ids import find_node
from rlm.cli.output import print_fields, print_json, print_part, print_text
from rlm.cli.session import Session
from rlm.errors import NotFound, ValidationError
from rlm.store.graph import DIRECTIONS
from rlm.store.types import EDGE_TYPES, NODE_TYPES, ROLES, TIERS

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.graph import ConfidenceChange, Edge, Evolution, Node, NodeHit

FILTERS = (
    words("--type", NODE_TYPES, "Only nodes of this type."),
    words("--tier", TIERS, "Only this tier (default: all but the archive)."),
    unit("--min-confidence", "Only with at least this confidence."),
)


@click.argument("query", nargs=-1, required=True)
@with_options(FILTERS)
@count("--limit", default=10, most=1_000, doc="How many, at most.")
@click.option("--explain", is_flag=True, help="Explain the score of each hit.")
def search(
    session: Session, query: tuple[str, ...], limit: int, explain: bool, **filters: Any
) -> int:
    """Find nodes by what they say, best first. The exit code is 1 when nothing is found.

    Words in double quotes must occur in that order.
    """
    hits: list[NodeHit] = session.list_rows(
        lambda store: store.graph.search(" ".join(query), limit, explain=explain, **filters),
        "nothing found",
    )
    if explain and not session.json:
        for number, hit in enumerate(hits, start=1):
            print_text(f"{number}. {hit.node.id}  {hit.node.type}\n   {hit.snippet}\n   {hit.why}")
    else:
        headers = ("score", "id", "type", "tier", "content")
        rows = [
            (f"{hit.score:.3f}", hit.node.id, hit.node.type, hit.node.tier, str(hit.snippet))
            for hit in hits
        ]
        session.show_table([_hit_dict(hit) for hit in hits], headers, rows, ("content",))
    return 0 if hits else 1


def _hit_dict(hit: NodeHit) -> dict[str, Any]:
    why = {} if hit.why is None else {"why": hit.why.to_dict()}
    snippet = {"snippet": hit.snippet.to_dict()}
    return {"score": round(hit.score, 6), **hit.node.to_dict(), **snippet, **why}


def _short(node: Node, limit: int = 160) -> str:
    text = " ".join(node.content.split())
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


@with_options(FILTERS)
@count("--limit", default=50, doc="How many, at most.")
def list_nodes(session: Session, limit: int, **filters: Any) -> None:
    """List nodes, the last changed first."""
    found: list[Node] = session.list_rows(
        lambda store: store.graph.query_nodes(limit=limit, **filters), "no nodes"
    )
    headers = ("id", "changed", "type", "tier", "conf", "content")
    documents, rows = [node.to_dict() for node in found], [_row(node) for node in found]
    session.show_table(documents, headers, rows, ("content",))
    if len(found) == limit:
        session.notify(f"the last {limit}: more with --limit")


def _row(node: Node) -> tuple[object, ...]:
    day, confidence = _time(node.updated_at)[:10], f"{node.confidence:.2f}"
    return node.id, day, node.type, node.tier, confidence, _short(node)


@click.argument("node_id", metavar="ID")
def show(session: Session, node_id: str) -> None:
    """Show a node with its edges, its neighbours and its history.

    The first characters of the id are enough.
    """
    with session.reading() as store:
        graph = store.graph
        full_id = find_node(store, node_id)
        node = graph.get_node(full_id)
        if node is None:
            raise NotFound(f"no node {node_id!r} here")
        edges, related = graph.get_links(full_id), graph.get_related_nodes(full_id)
        log = graph.evolution(full_id)
    if session.json:
        parts = _dicts(edges=edges, related=related, evolution=log)
        print_json({"node": node.to_dict(), **parts})
        return
    _print_node(node)
    print_part("edges", [_edge_line(edge) for edge in edges])
    print_part("related", [f"{other.id}  {other.type}  {_short(other, 80)}" for other in related])
    print_part("history", [_event_line(event) for event in log])


def _dicts(**parts: Iterable[Any]) -> dict[str, list[dict[str, Any]]]:
    return {name: [each.to_dict() for each in rows] for name, rows in parts.items()}


def _print_node(node: Node) -> None:
    values = node.to_dict()
    content = values.pop("content")
    for name in ("created_at", "updated_at", "last_accessed"):
        values[name] = _time(values[name])
    values["metadata"] = json.dumps(node.metadata, ensure_ascii=False) if node.metadata else None
    print_fields([(name.replace("_", " "), value) for name, value in values.items()])
    print_text(f"\n{content}")


def _edge_line(edge: Edge) -> str:
    return f"{edge.id[:8]}  {edge.type}  {' '.join((edge.label or '').split())}  ({_members(edge)})"


def _members(edge: Edge) -> str:
    return ", ".join(f"{member.node_id[:8]}:{member.role}" for member in edge.members)


@click.option("--node", metavar="ID", help="Only the edges of this node.")
@words("--direction", tuple(DIRECTIONS), "Out of --node, into it, or both [both].")
@words("--role", ROLES, "Only where --node has this role.")
@words("--type", EDGE_TYPES, "Only edges of this type.")
@click.option("--label", metavar="TEXT", help="Only edges with this label.")
@count("--limit", default=50, doc="How many, at most.")
def list_edges(
    session: Session,
    node: str | None,
    direction: str | None,
    role: str | None,
    limit: int,
    **filters: Any,
) -> None:
    """List edges, the heaviest first; or those of one node."""
    if node is None and (direction or role):
        raise ValidationError(
            "--direction and --role need the node that they are about: give --node ID"
        )

    def read(store: MemoryBackend) -> list[Edge]:
        if node is None:
            return store.graph.list_edges(limit=limit, **filters)
        where = (find_node(store, node), direction or "both")
        return store.graph.get_links(*where, role=role, **filters)[:limit]

    found = session.list_rows(read, "no edges")
    rows = [
        (edge.id, edge.type, f"{edge.weight:g}", edge.label or "", _members(edge)) for edge in found
    ]
    headers = ("id", "type", "weight", "label", "members")
    session.show_table([edge.to_dict() for edge in found], headers, rows, ("label", "members"))


@click.argument("node_id", metavar="[ID]", required=False)
@count("--limit", default=50, doc="How many lines of the log, at most.")
def history(session: Session, node_id: str | None, limit: int) -> None:
    """Show the history of a node, or of all, newest first: changes, tiers, confidence.

    The number before a line is what `rlm graph undo` takes.
    """
    log: list[Evolution] = []
    changes: list[ConfidenceChange] = []
    if node_id is not None or not session.lacks_store():
        with session.reading() as store:
            graph = store.graph
            full_id = None if node_id is None else find_node(store, node_id)
            log, changes = graph.evolution(full_id, limit), graph.confidence_history(full_id)
        changes = changes[::-1][:limit]
        if not log:
            session.notify("no history")
    if session.json:
        print_json(_dicts(evolution=log, confidence=changes))
        return
    for event in log:
        print_text(_event_line(event) if node_id else f"{_event_line(event)}{_nodes(event)}")
    print_part("confidence", [_change_line(change, node_id) for change in changes])


def _nodes(event: Evolution) -> str:
    if len(event.node_ids) == 1:
        return f"  ({event.node_ids[0][:8]})"
    return f"  ({len(event.node_ids):,} nodes)"


def _change_line(change: ConfidenceChange, node_id: str | None) -> str:
    name = "" if node_id else f"  {change.node_id[:8]}"
    why = f"  {' '.join(change.reason.split())}" if change.reason else ""
    at = change.at[:19].replace("T", " ")
    return f"{at} UTC{name}  {change.before:.2f} → {change.after:.2f}  {change.kind}{why}"


def _event_line(event: Evolution) -> str:
    tiers = f"  {event.from_tier or ''} → {event.to_tier}" if event.to_tier else ""
    why = f"  {' '.join(event.reasoning.split())}" if event.reasoning else ""
    return f"{event.id:>4}  {_time(event.timestamp)}  {event.operation}{tiers}{why}"


def _time(milliseconds: int) -> str:
    """With its zone: a time without one is read as the reader's own."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
