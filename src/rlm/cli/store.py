"""`rlm store`: the store as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from rlm.cli.command import command, new_group
from rlm.cli.output import number_of, progress
from rlm.cli.session import Session

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

app = new_group("The store as a whole: make, copy, compare, give it new vectors.")


@command(app, "init")
@click.argument("url")
@click.option("--role", default="rlm_app", help="The role that people and programs log in as.")
@click.option("--owner", default="rlm_owner", help="The role that owns the tables.")
def init(session: Session, url: str, role: str, owner: str) -> None:
    """Make a store in a PostgreSQL database, or bring one up to date.

    URL is that of a role that may create roles. Two are made: the owner of the tables, whom nobody
    logs in as, and the role for RLM_MEMORY_DB, whose password is shown this once.
    """
    from rlm.store.open import init_store

    made = init_store(url, app=role, owner=owner)
    document = {"store": made.name, "role": made.app, "migrations": made.migrations,
                "url": made.url, "password": made.password}  # fmt: skip
    session.show(document, made.url)
    ran = f"{made.migrations} migrations ran" if made.migrations else "it is up to date"
    shown = (
        "this URL, with its password, is not shown again"
        if made.password
        else "which has its password already, from when it was made: put that into the URL"
    )
    session.notify(f"{made.name}: {ran}; set RLM_MEMORY_DB to the URL of {made.app} ({shown})")


@command(app, "copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--dry-run", is_flag=True, help="Say what would be copied, and write nothing.")
def copy(session: Session, source: str, target: str, dry_run: bool) -> None:
    """Copy everything of every tenant: memories, runs, signals, graph, packs, queue, tokens.

    FROM and TO are stores of any kind, as in --db: a path (SQLite), json:PATH or postgresql://….
    TO must be empty, or hold a part of the same copy, which then goes on: anything else is refused.
    Let nobody write meanwhile. At the end both are read and compared.
    """
    from rlm.store.copy import copy_store, count_store

    with progress("copying", lambda: count_store(source)) as advance_to:
        done = copy_store(source, target, dry_run=dry_run, on_progress=advance_to)
    there = f", {done.there:,} of them were there already" if done.there else ""
    what = "would be copied" if dry_run else "are in both, equal by their hashes"
    counts = ", ".join(f"{count:,} {name}" for name, count in done.rows.items() if count)
    document = {"rows": done.rows, "total": done.total, "there": done.there}
    session.show(
        {**document, "verified": done.verified},
        f"{number_of(done.total, 'row', 'rows')} {what}{there}",
        *([counts] if counts else []),
    )


@command(app, "compare")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
def compare(session: Session, first: str, second: str) -> int:
    """Say where two stores differ, of every tenant. The exit code is 1 where they do.

    What is derived (indexes, vectors) and an engine's own row numbers are not compared.
    """
    from rlm.store.copy import compare_stores, count_store

    with progress("comparing", lambda: count_store(first)) as advance_to:
        found = compare_stores(first, second, on_progress=advance_to)
    lines = [each.describe() for each in found] or ["they hold the same"]
    session.show({"equal": not found, "differences": [asdict(each) for each in found]}, *lines)
    return 1 if found else 0


@command(app, "reembed")
def reembed(session: Session) -> None:
    """Give every row a vector of the model that RLM_EMBEDDER names, after it was changed.

    Others can search and write meanwhile: by words, and by meaning what has its vector already.
    Stopped or killed, it goes on where it was.
    """
    with session.changing() as store:
        document = {"model": None if store.embedder is None else store.embedder.model, "rows": 0}
        if store.embedder is None:
            session.show(document, "RLM_EMBEDDER is none: search goes by words only")
            return
        document["rows"] = done = embed_stale(store)
        rows = number_of(done, "row", "rows")
        session.show(document, f"{rows} got a vector of {store.embedder.model}")


def embed_stale(store: MemoryBackend, stopped: Callable[[], bool] = lambda: False) -> int:
    """Give rows a vector of the present model, with a bar; how many."""
    with progress("embedding", store.stale_vectors) as advance_to:
        return store.reembed(on_progress=advance_to, stopped=stopped)
