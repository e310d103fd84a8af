"""`rlm mcp`: the memory of this project as tools for a coding agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from rlm import clock, kernel
from rlm.cli.background import distil_beside, end_with_parent
from rlm.cli.failure import INTERRUPTED
from rlm.cli.session import LOSABLE, PATIENCE_S, Session
from rlm.errors import ConfigError

if TYPE_CHECKING:
    from rlm.mcp_server.stores import Opener, StorePool
    from rlm.retrieval.embed import Embedder
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import Tenant

INSTALL = "`pip install 'mcp>=2.3,<2.4'`"


@click.option("--http", metavar="HOST:PORT", help="Serve a team over HTTP, with tokens.")
@click.option("--allow-host", "allowed", multiple=True, metavar="NAME[:PORT]",
              help="A name that clients of --http call this machine by.")  # fmt: skip
@click.option(
    "--toolsets", default="", metavar="NAMES", help="Further tools: ontology,graph,agent."
)
@click.option("--ontology", "ontologies", multiple=True, metavar="FILE",
              help="A file, a folder or a named endpoint for those tools.")  # fmt: skip
@click.option("--folder", "folders", multiple=True, metavar="DIR",
              help="Files below it may be asked [this folder; with --http none].")  # fmt: skip
def mcp(
    session: Session,
    http: str | None,
    allowed: tuple[str, ...],
    toolsets: str,
    ontologies: tuple[str, ...],
    folders: tuple[str, ...],
) -> int:
    """Serve memory to a coding agent over MCP, on standard input and output.

    The agent starts it itself: `rlm setup` tells it how. It ends with its client. With --http it
    serves several, each with a token (`rlm token add`), at http://HOST:PORT/mcp.
    """
    try:
        import_module("mcp")
    except ModuleNotFoundError as exc:
        raise ConfigError(f"the MCP server needs the package mcp: {INSTALL}") from exc
    if allowed and http is None:
        raise ConfigError("--allow-host is for --http: over standard input there are no hosts")
    session.require_folder(session.path, f"--db {session.place}")
    kernel.share_arenas()
    if http is not None:
        try:
            return _over_http(session, http, allowed, toolsets, ontologies, folders)
        except KeyboardInterrupt:  # the usual end, no error
            return INTERRUPTED
    with _wire() as (source, sink):
        end_with_parent(os.getppid())
        return _over_stdio(session, source, sink, toolsets, ontologies, folders or (".",))


def _over_stdio(session: Session, source: BinaryIO, sink: BinaryIO, *given: Any) -> int:
    from rlm.mcp_server.server import Access, serve_stdio

    access = Access(session.tenant, session=f"mcp-{clock.new_uuid()}")
    with _server(session, lambda _: access, *given) as (server, _), distil_beside(session):
        serve_stdio(server, source, sink)
    return 0


def _over_http(session: Session, http: str, allowed: tuple[str, ...], *given: Any) -> int:
    from rlm.mcp_server.http import (
        access_of_request,
        bind,
        http_app,
        known_hosts,
        serve_http,
        split_address,
    )
    from rlm.mcp_server.tokens import check_token

    host, port = split_address(http)
    with bind(host, port) as listener:
        port = listener.getsockname()[1]
        with (
            _server(session, access_of_request, *given) as (server, stores),
            stores.lend(session.tenant) as store,
        ):
            hosts = known_hosts(host, port, allowed)
            shown = f"[{host}]" if ":" in host else host
            session.notify(f"serving http://{shown}:{port}/mcp; a token: `rlm token add NAME`")
            serve_http(http_app(server, partial(check_token, store), hosts), listener)
    return 0


@contextmanager
def _server(
    session: Session,
    access: Any,
    toolsets: str,
    ontologies: tuple[str, ...],
    folders: tuple[str, ...],
) -> Iterator[tuple[Any, StorePool]]:
    """A server over the session's store, and the stores that it lends."""
    from rlm.mcp_server.library import Library
    from rlm.mcp_server.server import build_server
    from rlm.mcp_server.stores import StorePool
    from rlm.mcp_server.toolsets import pick_tools

    library = Library.of(ontologies, folders)
    names = [name.strip() for name in toolsets.split(",") if name.strip()]
    stores = StorePool(_opener(session))
    try:
        yield build_server(pick_tools(names, library), stores, access), stores
    finally:
        library.close()
        stores.close()


def _opener(session: Session) -> Opener:
    """Opens stores that share one embedding model: its weights are the largest thing here."""
    embedder: Embedder | None = None

    def opens(tenant: Tenant, read_only: bool) -> MemoryBackend:
        from rlm.store.open import open_store  # numpy, which a host need not wait for

        nonlocal embedder
        store = open_store(
            session.settings.memory_db,
            tenant=tenant,
            embedder=embedder,
            origin="mcp",
            read_only=read_only,
        )
        embedder = embedder or store.embedder
        if tenant == session.tenant and not read_only:
            with suppress(*LOSABLE):
                session.adopt(store, wait_s=PATIENCE_S)
        return store

    return opens


@contextmanager
def _wire() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """Standard input and output for the protocol alone: whatever else is printed, by us or by a
    child process, goes to stderr, and whoever else reads finds nothing."""
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    yield source, sink
