"""What a caller can choose about a run (`RunSpec`), and what comes of it (`AgentResult`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from rlm.errors import ConfigError
from rlm.learning.verify import Verify
from rlm.llm import is_unanswered
from rlm.loop import Limits, LoopSpec, RLMResult
from rlm.sandbox import SandboxLimits
from rlm.store.backend import MemoryBackend

Part = str | bytes | Path
Context = Part | Sequence[Part] | Mapping[str, Part]
OpensStore = Callable[[], AbstractContextManager[MemoryBackend]]

AGENT_OUTPUT_CHARS = 4_000
"""What a model is shown of one block's output over an ontology: a page of 50 rows, whole. More
belongs behind handles."""
MOST_RECALLED = 20
MOST_MEMORY_CHARS = 20_000
MOST_ATTEMPTS = 16
_KINDS: dict[str, Any] = {
    **dict.fromkeys(("tools", "ns", "ontology_imports"), Mapping),
    **dict.fromkeys(("on_step", "on_start", "check_answer"), Callable),
    "limits": Limits,
    "sandbox": SandboxLimits,
}
"""What some choices have to be; the others are looked at where they are used."""
_SCALING = re.compile(r"(parallel|sequential):([1-9]\d?)")


@dataclass(frozen=True, slots=True)
class Scaling:
    """How many attempts at a question, and how: `parallel:K` or `sequential:K`."""

    parallel: bool = False
    k: int = 1

    @classmethod
    def of(cls, text: str | None) -> Self:
        """None is one attempt."""
        if text is None:
            return cls()
        match = _SCALING.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None or int(match[2]) > MOST_ATTEMPTS:
            raise ConfigError(
                f"scaling is {text!r}: use parallel:K or sequential:K, K from 1 to {MOST_ATTEMPTS}"
            )
        return cls(match[1] == "parallel", int(match[2]))


@dataclass(frozen=True, slots=True)
class TaskRef:
    """Which task of which curriculum a run is."""

    curriculum_id: str
    task_id: str
    content: str = ""
    """A hash of the task as it was, so that training knows it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec(LoopSpec):
    """Everything that a caller can choose about a run, beyond `LoopSpec`. Training and evaluation
    get one without a question and make one for each task with `dataclasses.replace`."""

    query: str = ""
    ontology_path: str | Path | Sequence[str | Path] | None = None
    """A file, a folder or several as one graph, or a named endpoint."""
    ontology_imports: Mapping[str, str | Path] = field(default_factory=dict)
    """Which file holds what an ontology imports; else a catalogue beside it says so."""
    ontology_within: Sequence[Path] | None = None
    """The folders that such a catalogue may lead to; all where None."""
    ontology_name: str | None = None
    """What memories call the ontology; its file's name where none is given."""
    ontology_format: str | None = None
    """What its file holds, where its name does not say: turtle, …"""
    lang: str | None = None
    """The language of labels, as de or pt-BR."""
    context: Context | None = None
    """Text, bytes, a path, or several of them."""
    db_path: str | Path | None = None
    store: MemoryBackend | OpensStore | None = None
    """Goes before `db_path`; a function that opens it is called once all else is accepted."""
    model: str | None = None
    """Who is asked where no `client` is given."""
    sub_model: str | None = None
    base_url: str | None = None
    record: str | Path | None = None
    """A cassette to write every model call to."""
    replay: str | Path | None = None
    """A cassette to answer every model call from."""
    memory_k: int = 3
    """How many memories are retrieved; the best of them go into the prompt."""
    memory_chars: int | None = None
    """What of them goes into the prompt: 2,400 characters for a language model, else 600, where
    nobody says."""
    recall: bool = True
    """Whether the prompt is given what earlier runs learnt."""
    memory_tools: bool = True
    """Whether the REPL has `mem_*` and `memory_*` over the store."""
    enable_extraction: bool = True
    """Whether the run leaves memories of its own."""
    verify: Verify | None = None
    """How the answer is checked, by a query of its own; it wins over every judge."""
    scaling: str | None = None
    """`parallel:K` or `sequential:K`: K attempts, the best answer, and what they teach together."""
    log_dir: str | Path | None = None
    task: TaskRef | None = None
    task_types: tuple[str, ...] = ()
    """What kind of task it is, where somebody knows: memories for other kinds are not recalled."""
    notes: str | None = None
    """Kept with the run."""
    on_start: Callable[[str], None] | None = None
    """Told which model is asked, once everything is accepted."""

    def __post_init__(self) -> None:
        self._check_kinds()
        Scaling.of(self.scaling)
        k = self.memory_k
        if isinstance(k, bool) or not isinstance(k, int) or not 0 <= k <= MOST_RECALLED:
            raise ConfigError(f"memory_k is {k!r}: use a whole number from 0 to {MOST_RECALLED}")
        chars = self.memory_chars
        if chars is not None and not (type(chars) is int and 0 <= chars <= MOST_MEMORY_CHARS):
            raise ConfigError(
                f"memory_chars is {chars!r}: use a whole number from 0 to {MOST_MEMORY_CHARS}"
            )
        if self.record is not None and self.replay is not None:
            raise ConfigError(
                "a run is recorded or replayed, not both: leave out --record or --replay"
            )

    def _check_kinds(self) -> None:
        """Raises ConfigError for what cannot be such a choice."""
        for name, kind in _KINDS.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                what = f"is a {type(value).__name__}: give a {kind.__name__}"
                raise ConfigError(f"{name} {what.replace('Callable', 'function')}")
        if self.store is not None and not (callable(self.store) or hasattr(self.store, "retrieve")):
            what = f"store is a {type(self.store).__name__}"
            raise ConfigError(f"{what}: give an open store, or its address as `db_path`")

    @property
    def recall_k(self) -> int:
        """How many memories are asked for."""
        return self.memory_k if self.recall else 0

    def limits_over(self, *, ontology: bool) -> Limits:
        """The limits; those that nobody gave depend on what is asked."""
        if self.limits is not None:
            return self.limits
        return Limits(max_output_chars=AGENT_OUTPUT_CHARS) if ontology else Limits()


@dataclass(frozen=True, slots=True)
class AgentResult:
    """What a run came to. `iterations` is how many turns the model took."""

    answer: str
    iterations: int
    run_id: str
    trajectory_id: str
    log_path: str | None
    memories_used: list[dict[str, Any]]
    """Every memory that was retrieved: memory_id, title, rank, score, injected, followed."""
    converged: bool
    reason: str
    judgment: dict[str, Any] | None
    """is_success, reason, confidence, missing; None when the run was not judged."""
    leakage: dict[str, Any]
    usage: dict[str, Any]
    new_memories: list[dict[str, Any]]
    """What was learnt: memory_id, title, and whether it was added, merged, replaced or skipped;
    quarantine_reason where it is in quarantine."""
    submitted: dict[str, Any] | None
    model: str
    calls: list[dict[str, Any]] = field(default_factory=list)
    """What was asked of the ontology: tool, arguments, query (whole, with its prefixes), rows, and
    whether it is decisive, so that the answer rests on it."""
    attempts: list[dict[str, Any]] = field(default_factory=list)
    """With scaling: each attempt's trajectory_id, iterations and verdict, the chosen one first."""
    result: RLMResult = field(repr=False, default_factory=lambda: RLMResult(""))

    @property
    def answered(self) -> bool:
        """Whether there is an answer: the model finished, and did not say that it cannot."""
        return self.converged and not is_unanswered(self.answer)

    @property
    def success(self) -> bool:
        return bool(self.judgment and self.judgment["is_success"])

    @property
    def why(self) -> str:
        """The reason of the verdict, or else of the end."""
        return str((self.judgment or {}).get("reason") or self.reason)

    def to_dict(self) -> dict[str, Any]:
        """Every field but the trajectory itself, as JSON types."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "result"}
