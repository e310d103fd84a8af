"""The MCP server: memory as tools for coding agents, over stdio and HTTP (`rlm mcp`).

`tokens` needs nothing but the store. Everything else needs the extra `mcp`, and is imported when a
server is started.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names

if TYPE_CHECKING:
    from rlm.mcp_server.server import build_server as build_server
    from rlm.mcp_server.tokens import check_token as check_token
    from rlm.mcp_server.tokens import issue_token as issue_token
    from rlm.mcp_server.toolsets import pick_tools as pick_tools

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "server": ("build_server",),
        "tokens": ("check_token", "issue_token"),
        "toolsets": ("pick_tools",),
    },
)
