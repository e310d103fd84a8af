"""The one place that wires the parts: retrieve, inject, interact, judge, extract, store.

`run` answers one question and learns from it. Whatever happens in a run, what there is of it is
stored, in one transaction: an answer or a partial one, why it ended, what it was given, the
verdict, the lessons. What a caller can choose is a `RunSpec`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm.agent.attempt import OnStep
from rlm.agent.loop import run, run_spec
from rlm.agent.spec import AGENT_OUTPUT_CHARS, AgentResult, Context, Part, RunSpec, TaskRef
from rlm.lazy import lazy_names

if TYPE_CHECKING:
    from rlm.agent.memory import retrieve_memories, rlm_run_enhanced, rlm_run_with_memory

_SEEDS = ("retrieve_memories", "rlm_run_enhanced", "rlm_run_with_memory")
__getattr__ = lazy_names(__name__, {"memory": _SEEDS})[0]  # they bring datasets with them

__all__ = [
    "AGENT_OUTPUT_CHARS",
    "AgentResult",
    "Context",
    "OnStep",
    "Part",
    "RunSpec",
    "TaskRef",
    "retrieve_memories",
    "rlm_run_enhanced",
    "rlm_run_with_memory",
    "run",
    "run_spec",
]
