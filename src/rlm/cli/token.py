"""`rlm token`: who may speak to this store over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rlm.cli.command import command, new_group
from rlm.cli.session import Session

if TYPE_CHECKING:
    from rlm.store.types import AccessToken

app = new_group("Tokens for `rlm mcp --http`: add, list, revoke.")


@command(app, "add")
@click.argument("name")
@click.option("--read-only", is_flag=True, help="It may search and get, and change nothing.")
def add(session: Session, name: str, read_only: bool) -> None:
    """Make a token for a project and print it, this once: the store keeps only a hash of it.

    Who shows it sees the memories of that project, its team and its organisation.
    """
    from rlm.mcp_server.tokens import issue_token

    with session.store() as store:
        token, text = issue_token(store, name, read_only=read_only)
    session.show({**_document(token), "token": text}, text)
    may = "read" if read_only else "read and write"
    session.notify(f"{name} may {may} {token.project}; this token is not shown again")


@command(app, "list")
def list_tokens(session: Session) -> None:
    """The tokens of a project, without their secrets."""
    found = session.list_rows(
        lambda store: store.tokens(), f"no tokens for {session.tenant.project}"
    )
    rows = [(t.token_id, t.name, "read" if t.read_only else "write", t.created_at) for t in found]
    document = {"tokens": [_document(token) for token in found]}
    session.show_table(document, ("id", "name", "may", "created"), rows)


@command(app, "revoke")
@click.argument("name")
def revoke(session: Session, name: str) -> None:
    """End a token of a project, by its name or id. It is refused from the next request on."""
    with session.changing() as store:
        token = store.revoke_token(name)
    session.show(_document(token), f"{token.name} is revoked")


def _document(token: AccessToken) -> dict[str, object]:
    return {name: value for name, value in token.to_dict().items() if name != "digest"}
