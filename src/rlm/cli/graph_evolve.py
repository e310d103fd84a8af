"""The graph commands that move nodes between tiers and stores."""

from __future__ import annotations

from typing import Any

import click

from rlm.cli.command import count, unit
from rlm.cli.output import number_of, print_json, print_table
from rlm.cli.session import Session
from rlm.store.graph import EvolutionReport, copy_graph

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
    if session.json:
        print_json(report.to_dict())
        return
    rows = [(node, "tier", f"{a} → {b}") for node, (a, b) in report.moved.items()]
    rows += [(node, "merged", f"into {kept}") for node, kept in report.merged.items()]
    rows += [
        (node, "confidence", f"{a:.2f} → {b:.2f}") for node, (a, b) in report.confidence.items()
    ]
    rows += [(node, "skipped", "changed since, or gone") for node in report.skipped]
    if rows:
        print_table(("id", "what", "change"), rows)
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
