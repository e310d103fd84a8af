"""What a run may be told, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlm.learning.verify import Verify
from rlm.llm import OFFLINE_UNANSWERED
from rlm.loop import RLMResult
from rlm.sandbox import SandboxLimits

Part = str | bytes | Path
Context = Part | Sequence[Part] | Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class TaskRef:
    """Which task of which curriculum a run is."""

    curriculum_id: str
    task_id: str
    content: str = ""
    """A hash of the task as it was, so that training knows it again."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run may be told beyond its question, its context and its model."""

    sub_model: str | None = None
    """The model behind `llm_query`; the root model where none is named."""
    base_url: str | None = None
    record: str | Path | None = None
    """A cassette to write every model call to."""
    replay: str | Path | None = None
    """A cassette to answer every model call from."""
    engine: str = "auto"
    unsafe: bool = False
    sandbox: SandboxLimits = field(default_factory=SandboxLimits)
    memory_tools: bool = True
    """Whether the REPL has `mem_*` and `memory_*` over the store."""
    recall: bool = True
    """Whether the prompt is given what earlier runs learnt."""
    guidance: str = ""
    ontology_name: str | None = None
    """What memories call the ontology; its file's name where none is given."""
    ontology_format: str | None = None
    """What its file holds, where its name does not say: turtle, …"""
    lang: str | None = None
    """The language of labels, as de or pt-BR."""
    verify: Verify | None = None
    """How the answer is checked, by a query of its own; it wins over every judge."""
    task: TaskRef | None = None
    scaling: str | None = None
    """`parallel:K` or `sequential:K`: K attempts, the best answer, and what they teach together."""
    notes: str | None = None
    """Kept with the run."""


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What a run came to. `iterations` is how many turns the model took."""

    answer: str
    iterations: int
    run_id: str
    trajectory_id: str
    log_path: str | None
    memories_used: list[dict[str, Any]]
    """Every memory that was retrieved: memory_id, title, rank, score, whether it was injected and
    followed."""
    converged: bool
    reason: str
    judgment: dict[str, Any] | None
    """is_success, reason, confidence, missing; None when the run was not judged."""
    leakage: dict[str, Any]
    usage: dict[str, Any]
    new_memories: list[dict[str, Any]]
    """What was learnt: memory_id, title, and whether it was added, merged, replaced or skipped."""
    submitted: dict[str, Any] | None
    model: str
    attempts: list[dict[str, Any]] = field(default_factory=list)
    """With scaling: each attempt's trajectory_id, iterations and verdict, the chosen one first."""
    result: RLMResult = field(repr=False, default_factory=lambda: RLMResult(""))

    @property
    def answered(self) -> bool:
        """Whether there is an answer: the model finished, and did not say that it cannot."""
        return self.converged and not self.answer.startswith(OFFLINE_UNANSWERED)

    def to_dict(self) -> dict[str, Any]:
        """Every field but the trajectory itself, as JSON types."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "result"}
