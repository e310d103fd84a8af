"""`rlm store`: a store that a server keeps."""

from __future__ import annotations

import click

from rlm.cli.command import command, new_group
from rlm.cli.session import Session

app = new_group("Stores on a server: make one.")


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
    shown = "this URL, with its password, is not shown again" if made.password else "see the URL"
    session.notify(f"{made.name}: {ran}; set RLM_MEMORY_DB to the URL of {made.app} ({shown})")
