"""Serving one client over two streams, until it goes away."""

from __future__ import annotations

from contextlib import suppress
from io import TextIOWrapper
from typing import Any, BinaryIO

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def serve_stdio(server: Server[dict[str, Any]], source: BinaryIO, sink: BinaryIO) -> None:
    """Answer what comes from `source` on `sink`; returns at its end."""
    anyio.run(_serve, server, source, sink)


async def _serve(server: Server[dict[str, Any]], source: BinaryIO, sink: BinaryIO) -> None:
    taken = anyio.wrap_file(TextIOWrapper(source, "utf-8", "replace"))
    given = anyio.wrap_file(TextIOWrapper(sink, "utf-8"))
    with suppress(BrokenPipeError):  # the client went away while it was answered
        async with stdio_server(taken, given) as (read, write):
            await server.run(read, write, server.create_initialization_options())
