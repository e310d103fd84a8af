"""The memory service: what the command line, MCP and hooks call for memory (seed 003)."""

from __future__ import annotations

from rlm.lazy import lazy_names

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from rlm.service.caps import Caps as Caps
    from rlm.service.confidence import ConfidenceEvaluator as ConfidenceEvaluator
    from rlm.service.consolidation import consolidate as consolidate
    from rlm.service.decisions import Decision as Decision
    from rlm.service.decisions import find_decisions as find_decisions
    from rlm.service.distiller import Distiller as Distiller
    from rlm.service.fixes import find_fixes as find_fixes
    from rlm.service.folding import ContextFolding as ContextFolding
    from rlm.service.folding import OpenedBranch as OpenedBranch
    from rlm.service.manager import MemoryManager as MemoryManager
    from rlm.service.memory import Memory as Memory
    from rlm.service.review import accept as accept
    from rlm.service.review import proposals as proposals
    from rlm.service.review import refuse as refuse
    from rlm.service.review import undo as undo
    from rlm.service.spool import take_in as take_in
    from rlm.service.stability import Stability as Stability
    from rlm.service.stability import check_stability as check_stability
    from rlm.service.transcripts import CodingSession as CodingSession
    from rlm.service.transcripts import SessionTurn as SessionTurn
    from rlm.service.transcripts import read_transcript as read_transcript

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "confidence": ("ConfidenceEvaluator",),
        "consolidation": ("consolidate",),
        "folding": ("ContextFolding", "OpenedBranch"),
        "manager": ("MemoryManager",),
        "memory": ("Memory",),
        "review": ("accept", "proposals", "refuse", "undo"),
        "stability": ("Stability", "check_stability"),
        "caps": ("Caps",),
        "decisions": ("Decision", "find_decisions"),
        "distiller": ("Distiller",),
        "fixes": ("find_fixes",),
        "spool": ("take_in",),
        "transcripts": ("CodingSession", "SessionTurn", "read_transcript"),
    },
)
