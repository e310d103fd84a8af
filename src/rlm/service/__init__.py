"""The memory service: what the command line, MCP and hooks call for memory (seed 003)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.lazy import lazy_names

if TYPE_CHECKING:
    from rlm.service.confidence import ConfidenceEvaluator as ConfidenceEvaluator
    from rlm.service.folding import ContextFolding as ContextFolding
    from rlm.service.folding import OpenedBranch as OpenedBranch
    from rlm.service.manager import MemoryManager as MemoryManager
    from rlm.service.memory import Memory as Memory
    from rlm.service.stability import Stability as Stability
    from rlm.service.stability import check_stability as check_stability

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "confidence": ("ConfidenceEvaluator",),
        "folding": ("ContextFolding", "OpenedBranch"),
        "manager": ("MemoryManager",),
        "memory": ("Memory",),
        "stability": ("Stability", "check_stability"),
    },
)
