"""The one place that wires the parts: retrieve, inject, interact, judge, extract, store.

`run` answers one question and learns from it. Whatever happens in a run, what there is of it is
stored, in one transaction: an answer or a partial one, why it ended, what it was given, the
verdict, the lessons.
"""

from rlm.agent.attempt import OnStep
from rlm.agent.loop import run, run_spec
from rlm.agent.memory import retrieve_memories, rlm_run_enhanced, rlm_run_with_memory
from rlm.agent.spec import AGENT_OUTPUT_CHARS, AgentResult, Context, Part, RunSpec, TaskRef

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
