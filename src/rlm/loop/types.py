"""A run as data: what a caller chose about it, what happened in it, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlm.errors import ConfigError
from rlm.llm import Client, Message, Usage
from rlm.loop.trace import Trace
from rlm.sandbox import REPLResult, SandboxLimits

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use, sub-calls and recursion included. None means no limit."""

    max_iters: int = 30
    wall_s: float | None = None
    max_tokens: int | None = None
    """Input and output tokens of every model call together."""
    max_cost_usd: float | None = None
    """Holds only where the model's price is known."""
    max_errors: int = 5
    """Turns in a row in which nothing worked."""
    max_output_chars: int = 20_000
    """What the model is shown of one block's output."""
    max_depth: int = 1
    """How deep `rlm_query` may recurse; the run itself is at depth 0."""
    max_blocks: int = 50
    """Code blocks of one reply that are run."""
    batch_workers: int = 8
    max_llm_calls: int = 500
    """Every model call: turns, sub-calls and the turns of recursive runs."""

    def __post_init__(self) -> None:
        counts = "max_iters max_errors max_output_chars max_blocks batch_workers max_llm_calls"
        for name in counts.split():
            _check(name, getattr(self, name), least=1)
        _check("max_depth", self.max_depth, least=0)
        for name in ("wall_s", "max_tokens", "max_cost_usd"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(
                    f"{name} is {value!r}: give a number above 0, or None for no limit"
                )


def _check(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"{name} is {value!r}: give a whole number of at least {least}")


@dataclass(frozen=True, slots=True)
class SubCall:
    """One call that code in the REPL made to a model. `prompt` has marks in place of passages."""

    kind: str
    """`llm_query` or `rlm_query`."""
    model: str
    prompt: str
    response: str
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    error: str | None = None
    remembered: bool = False
    """The same prompt had been answered in this run: no model was asked again."""


@dataclass(slots=True)
class CodeBlock:
    """Code that was run, what came of it, and which models it asked."""

    code: str
    result: REPLResult
    sub_calls: list[SubCall] = field(default_factory=list)


@dataclass(slots=True)
class RLMIteration:
    """One turn: the messages that the model got, its reply, and what its code did. A prompt that is
    plain text stands for one message of the user."""

    number: int = 1
    prompt: list[Message] = field(default_factory=list)
    response: str = ""
    code_blocks: list[CodeBlock] = field(default_factory=list)
    final_answer: str | None = None
    iteration_time: float = 0.0
    notes: list[str] = field(default_factory=list)
    """What was odd about the reply and what its code left unsaid, as the model reads it."""
    attempt: int = 0
    """Which of several attempts at one question, from 1; 0 for the only one."""

    def __post_init__(self) -> None:
        if isinstance(self.prompt, str):
            self.prompt = [{"role": "user", "content": self.prompt}]


@dataclass(slots=True)
class RLMResult:
    """How a run ended. `converged` is True only when the model gave an answer by itself, within its
    limits.

    Otherwise `answer` is what there was, and `reason` says in words why the run ended. `last_call`
    is the turn in which the model was asked for its answer because it had none left; it is not
    counted among the iterations.

    >>> answer, iterations, ns = RLMResult("42")
    >>> answer
    '42'
    """

    answer: str
    iterations: list[RLMIteration] = field(default_factory=list, repr=False)
    ns: dict[str, Any] = field(default_factory=dict, repr=False)
    converged: bool = False
    reason: str = ""
    submitted: dict[str, Any] | None = None
    usage: Usage = field(default_factory=Usage)
    leakage: dict[str, Any] = field(default_factory=dict)
    last_call: RLMIteration | None = field(default=None, repr=False)
    error: Exception | None = None
    """The model error that ended the run, when one did."""

    @property
    def interrupted(self) -> bool:
        return self.reason == INTERRUPTED

    def __iter__(self) -> Iterator[Any]:
        yield from (self.answer, self.iterations, self.ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopSpec:
    """What a caller can choose about a run of the loop, shared by its recursive runs.
    `rlm.agent.RunSpec` adds what the loop does not know: memory, ontologies, names of models."""

    client: Client | None = None
    sub_client: Client | None = None
    """The model behind `llm_query`; `client` where none is given."""
    cache_queries: bool = True
    """Whether an equal `llm_query` is asked once in a run. Off, every one goes to the model: for
    code that samples several answers to one prompt."""
    limits: Limits | None = None
    max_iters: int | None = None
    """Goes before the one in `limits`."""
    ns: Mapping[str, Any] = field(default_factory=dict)
    """Further variables of the REPL."""
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    untimed: Collection[str] = ()
    """Tools whose time does not count against a block."""
    tools_text: str | None = None
    """How the prompt describes the tools; None takes their signatures and docstrings."""
    system_prompt: str | None = None
    """Used in place of ours."""
    guidance: str = ""
    """Added to our system prompt: what is known about tasks like this one."""
    sandbox: SandboxLimits = field(default_factory=SandboxLimits)
    engine: str = "auto"
    unsafe: bool = False
    on_step: Callable[[RLMIteration], None] | None = None
    """Told every turn; what it raises ends the run."""
    check_answer: Callable[[RLMResult], str] | None = None
    """Asked once before an answer is taken, with the run so far: what the model should look at
    again, or ''. The next answer is taken as it is."""
    remark: Callable[[RLMIteration], list[str]] | None = None
    """Asked after every turn without an answer: what else the model is to know of its code."""
    trace: Trace | None = None
    """Told which block of code runs, so that calls can be put to their block."""
