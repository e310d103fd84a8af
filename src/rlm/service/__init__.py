"""The memory service: what the command line, MCP and hooks call for memory (seed 003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names

if TYPE_CHECKING:
    from rlm.service.consolidation import consolidate as consolidate
    from rlm.service.memory import Memory as Memory
    from rlm.service.review import accept as accept
    from rlm.service.review import proposals as proposals
    from rlm.service.review import refuse as refuse
    from rlm.service.review import undo as undo

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "consolidation": ("consolidate",),
        "memory": ("Memory",),
        "review": ("accept", "proposals", "refuse", "undo"),
    },
)
