"""The graph commands that change nodes and edges, and those that move nodes between tiers and
stores."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from rlm.cli.command import Decorator, count, unit, with_options, words
from rlm.cli.ids import find_edge, find_node
from rlm.cli.output import number_of, print_json, print_text
from rlm.cli.session import Session
from rlm.cli.text import read_text
from rlm.errors import NotFound, ValidationError
from rlm.store.graph import copy_graph
from rlm.store.types import EDGE_TYPES, NODE_TYPES, TIERS

if TYPE_CHECKING:
    from rlm.store.graph import EvolutionReport

FIELDS = (
    click.option("--subtype", metavar="TEXT", help="A finer type, in your own words."),
    click.option("--provenance", metavar="TEXT", help="Where it comes from."),
    click.option("--metadata", metavar="JSON", help="Anything else, as a JSON object."),
)


def _weight(doc: str, **more: Any) -> Decorator:
    kind = click.FloatRange(min=0.0)
    return click.option("--weight", type=kind, metavar="X", help=doc, **more)


reason_option = click.option("--reason", metavar="TEXT", help="Why; the history keeps it.")


@click.argument("type", type=click.Choice(NODE_TYPES), metavar="TYPE")
@click.argument("content")
@words("--tier", TIERS, "Its tier [task].")
@unit("--confidence", "Its confidence [0.5].")
@with_options(FIELDS)
def add(session: Session, type: str, content: str, metadata: str | None, **values: Any) -> None:
    """Add a node. Prints its id.

    TYPE is entity, fact, experience, decision or snippet. CONTENT is what it says; - reads stdin.
    """
    values["metadata"] = _object(metadata)
    given = {name: value for name, value in values.items() if value is not None}
    text = read_text(content) or ""
    with session.store() as store:
        node_id = store.graph.create_node(type, text, **given)
    session.show({"id": node_id}, node_id)


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise ValidationError(f"--metadata is not JSON: {exc}", field="metadata") from exc
    if not isinstance(value, dict):
        why = "--metadata is not a JSON object, like '{\"page\": 3}'"
        raise ValidationError(why, field="metadata")
    return value


@click.argument("type", type=click.Choice(EDGE_TYPES), metavar="EDGE_TYPE")
@click.argument("label")
@click.argument("nodes", metavar="NODE[:ROLE]...", nargs=-1, required=True)
@_weight("Its weight [1].", default=1.0)
def link(session: Session, type: str, label: str, nodes: tuple[str, ...], weight: float) -> None:
    """Join nodes with one edge. Prints the edge's id.

    EDGE_TYPE is relation, composition, causation or context. ROLE is subject, object, context,
    participant, cause or effect.
    """
    with session.changing() as store:
        members = []
        for text in nodes:
            name, _, role = text.partition(":")
            members.append({"node_id": find_node(store, name), "role": role or "participant"})
        edge_id = store.graph.create_edge(type, label, members, weight=weight)
    session.show({"id": edge_id}, edge_id)


@click.argument("node_id", metavar="ID")
@words("--type", NODE_TYPES, "Another type.")
@click.option("--content", metavar="TEXT", help="What it says; - reads stdin.")
@words("--tier", TIERS, "Its tier.")
@unit("--confidence", "Its confidence.")
@with_options(FIELDS)
@reason_option
def edit(session: Session, node_id: str, reason: str | None, **values: Any) -> None:
    """Change a node, which keeps its id.

    An empty text clears a subtype or a provenance.
    """
    values["content"] = read_text(values["content"])
    values["metadata"] = _object(values["metadata"])
    given = {name: value for name, value in values.items() if value is not None}
    for name in ("subtype", "provenance"):
        if given.get(name) == "":
            given[name] = None
    if not given:
        raise ValidationError("nothing to change: give --content, --tier or another field")
    with session.changing() as store:
        graph = store.graph
        full_id = find_node(store, node_id)
        before = graph.get_node(full_id)
        if before is None or not graph.update_node(full_id, reasoning=reason, **given):
            raise NotFound(f"no node {node_id!r} here any more")
    changed = sorted(name for name, value in given.items() if value != getattr(before, name))
    _tell_changed(session, full_id, changed)


def _tell_changed(session: Session, full_id: str, changed: list[str]) -> None:
    session.show({"id": full_id, "changed": changed}, full_id)
    session.notify(f"changed {', '.join(changed)}" if changed else "nothing changed")


@click.argument("node_ids", metavar="ID...", nargs=-1, required=True)
@reason_option
def remove(session: Session, node_ids: tuple[str, ...], reason: str | None) -> None:
    """Move nodes to the archive: `rlm graph edit ID --tier task` brings one back.

    All ids are looked up first; if one is unknown, nothing is changed.
    """
    with session.changing() as store, store.together():
        graph = store.graph
        found = dict.fromkeys(find_node(store, each) for each in node_ids)
        done = {each: graph.delete_node(each, reasoning=reason) for each in found}
    _tell(session, done, "archived", "it was in the archive already")


@click.argument("edge_id", metavar="EDGE")
@words("--type", EDGE_TYPES, "Another type.")
@click.option("--label", metavar="TEXT", help="Another label.")
@_weight("Its weight.")
@reason_option
def relink(session: Session, edge_id: str, reason: str | None, **values: Any) -> None:
    """Change an edge, which keeps its id and its members."""
    given = {name: value for name, value in values.items() if value is not None}
    if not given:
        raise ValidationError("nothing to change: give --type, --label or --weight")
    with session.changing() as store:
        full_id = find_edge(store, edge_id)
        before = store.graph.get_edge(full_id)
        if before is None or not store.graph.update_edge(full_id, reasoning=reason, **given):
            raise NotFound(f"no edge {edge_id!r} here any more")
    changed = sorted(name for name, value in given.items() if value != getattr(before, name))
    _tell_changed(session, full_id, changed)


@click.argument("edge_ids", metavar="[EDGE...]", nargs=-1)
@click.option("--between", metavar="A B", nargs=2, help="Every edge that joins just these nodes.")
@reason_option
def unlink(
    session: Session, edge_ids: tuple[str, ...], between: tuple[str, str] | None, reason: str | None
) -> None:
    """Delete edges permanently; their nodes stay, and the history keeps what they joined.

    `rlm graph show NODE` has their ids, of which the beginning is enough.
    """
    if bool(edge_ids) == bool(between):
        raise ValidationError("give the ids of edges (EDGE...), or --between A B")
    with session.changing() as store, store.together():
        graph = store.graph
        found = dict.fromkeys(find_edge(store, each) for each in edge_ids)
        done = {each: graph.delete_edge(each, reasoning=reason) for each in found}
        if between:
            first, second = (find_node(store, each) for each in between)
            done = dict.fromkeys(graph.unlink(first, second, reasoning=reason), True)
    _tell(session, done, "removed", "it was gone already")


def _tell(session: Session, done: dict[str, bool], did: str, otherwise: str) -> None:
    """What became of each id."""
    if session.json:
        states = {each: did if gone else "unchanged" for each, gone in done.items()}
        print_json([{"id": each, "status": state} for each, state in states.items()])
        return
    for each, gone in done.items():
        print_text(each)
        session.notify(did if gone else otherwise)


# -- tiers and stores

dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be done, without doing it."
)


@dry_run_option
def consolidate(session: Session, **options: Any) -> None:
    """Move the task tier to the session tier, equal facts and entities merged into one."""
    _evolve(session, "consolidate", **options)


@unit("--min-confidence", "The least confidence [0.8].")
@count("--min-accesses", default=2, least=0, doc="The least number of accesses.")
@dry_run_option
def promote(session: Session, **options: Any) -> None:
    """Move from the session to the longterm tier nodes of high confidence that were used."""
    _evolve(session, "promote", **options)


@unit("--per-month", "Confidence lost in 30 days without use [0.05].")
@unit("--archive-below", "Nodes below this confidence go to the archive [0.1].")
@dry_run_option
def decay(session: Session, **options: Any) -> None:
    """Lower the confidence of what is not used. How often it is run makes no difference."""
    _evolve(session, "decay", **options)


@click.argument("log_id", metavar="NUMBER", type=click.IntRange(min=1))
@dry_run_option
def undo(session: Session, **options: Any) -> None:
    """Take back what consolidate, promote, decay, rm or a change of tier did.

    `rlm graph history` has the NUMBER. A node that was changed since is left alone.
    """
    _evolve(session, "undo", **options)


def _evolve(session: Session, operation: str, **options: Any) -> None:
    given = {name: value for name, value in options.items() if value is not None}
    with session.reading() if given["dry_run"] else session.changing() as store:
        report: EvolutionReport = getattr(store.graph, operation)(**given)
    rows = [(node, "tier", f"{a} → {b}") for node, (a, b) in report.moved.items()]
    rows += [(node, "merged", f"into {kept}") for node, kept in report.merged.items()]
    rows += [
        (node, "confidence", f"{a:.2f} → {b:.2f}") for node, (a, b) in report.confidence.items()
    ]
    rows += [(node, "skipped", "changed since, or gone") for node in report.skipped]
    session.show_table(report.to_dict(), ("id", "what", "change"), rows)
    session.notify(_summary(report, len(rows)))


def _summary(report: EvolutionReport, rows: int) -> str:
    if not rows:
        return f"{report.operation}: nothing to do"
    changes = number_of(rows, "change", "changes")
    if report.dry_run:
        return f"{report.operation}: {changes} would be made"
    hint = "" if report.operation == "undo" else f"; `rlm graph undo {report.log_id}` takes it back"
    return f"{report.operation}: {changes}{hint}"


@click.argument("target", metavar="STORE")
def copy(session: Session, target: str) -> None:
    """Copy the graph into another store, with its ids and its history; twice adds nothing."""
    from rlm.store.open import locate_store, open_store

    session.require_folder(locate_store(target)[1], target)
    with session.reading() as store:
        source = store.graph
        with open_store(target, tenant=session.tenant, origin="cli") as other:
            copied = copy_graph(source, other.graph)
    text = ", ".join(f"{number:,} {name}" for name, number in copied.items())
    session.show({"store": target, "copied": copied}, text)
