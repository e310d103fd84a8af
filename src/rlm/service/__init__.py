"""The memory service: what the command line, MCP and hooks call for memory (seed 003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names

if TYPE_CHECKING:
    from rlm.service.memory import Memory as Memory

__getattr__, __dir__, __all__ = lazy_names(__name__, {"memory": ("Memory",)})
