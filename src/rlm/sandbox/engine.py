"""What an engine of the sealed REPL is given, returns and promises, and what both do alike."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from rlm.errors import ConfigError, RLMError, SandboxError, SandboxUnfit
from rlm.frames import plain_text

Tool = Callable[..., Any]
Convert = Callable[[Any], Any]
MAX_LOCALS = 400
LOST = "the REPL was started anew and its variables are lost"
TOOL_FAULTS = (RLMError, ValueError, TypeError, LookupError, ArithmeticError, OSError)
"""What a tool may raise to speak to the code that called it; anything else is ours, and masked."""
ENGINES = ("auto", "process", "monty")
INSTALL_MONTY = "pip install 'pydantic-monty>=1.4'"


def same(value: Any) -> Any:
    """The value itself."""
    return value


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """What one block may use. The host keeps count; the worker is not asked."""

    block_s: float = 30.0
    """Seconds of a block, tools included, but for untimed ones (a model that thinks)."""
    memory_mb: int = 512
    output_chars: int = 1_000_000
    """What a block may print and keep; the rest is counted and dropped."""
    calls: int = 10_000
    """Tool calls in one block."""
    code_chars: int = 200_000
    frame_bytes: int = 4 << 20
    """The largest message that crosses the pipe, either way."""

    def __post_init__(self) -> None:
        for name in ("block_s", "memory_mb", "output_chars", "calls", "code_chars", "frame_bytes"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be above 0, not {getattr(self, name)!r}")


@dataclass(frozen=True, slots=True)
class REPLResult:
    """What one block did. `error` is None, or: `error` (the code raised), `refused` (against the
    rules of the language, or too large), `timeout`, `memory`, `output`, `calls` (a limit), `died`
    (the worker broke down or broke the protocol)."""

    stdout: str = ""
    stderr: str = ""
    locals: dict[str, str] = field(default_factory=dict)
    execution_time: float = 0.0
    error: str | None = None
    calls: int = 0
    cut_chars: int = 0
    """How many printed characters were dropped."""
    restarted: bool = False
    """The worker was killed: what the code had defined is lost, what the host had set is not."""
    block: int = 0
    """Which block of its REPL it was, from 1, as tracebacks call it; 0 where nobody counted."""

    def __post_init__(self) -> None:
        if self.stderr is None:  # as seed 001 writes a block without errors
            object.__setattr__(self, "stderr", "")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a REPL is given by the host."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    hidden: Mapping[str, Tool] = field(default_factory=dict)
    """Functions that the worker's own objects call and model-written code cannot name."""
    untimed: frozenset[str] = frozenset()
    """Tools whose time does not count against a block."""
    to_wire: Convert = same
    """Turns handles, in a value of the host's at any depth, into JSON-like data."""
    from_wire: Convert = same


class Stopped(Exception):
    """The worker must be replaced: `kind` is an error of REPLResult, `why` is for the model."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(why)
        self.kind, self.why = kind, why


@dataclass
class RunningBlock:
    """What is known of the block that runs. `room` is how many characters it may still print."""

    started: float
    ends: float
    deadline: float | None
    room: int
    number: int = 0
    output: list[str] = field(default_factory=list)
    cut: int = 0
    calls: int = 0
    interrupted: bool = False

    def until(self) -> float:
        return self.ends if self.deadline is None else min(self.ends, self.deadline)


class Repl(ABC):
    """Code runs in a worker; state stays from block to block. Not for two threads at once. A worker
    that is lost is replaced, and what the host had set is set again."""

    engine: str

    def __init__(self, surroundings: Surroundings | None, limits: SandboxLimits | None) -> None:
        self._given = surroundings or Surroundings()
        self.limits = limits or SandboxLimits()
        self._set: dict[str, Any] = {}
        self._known: dict[str, str] = {}
        self._lost = False
        self._blocks = 0

    @abstractmethod
    def run(self, code: str, *, deadline: float | None = None) -> REPLResult:
        """Run one block. What the code does wrong is in the result; only faults of ours raise.
        `deadline` is a time of `time.monotonic()` that also spans untimed tools."""

    @abstractmethod
    def set(self, name: str, value: Any) -> None:
        """Give the code a variable; it is there again after a restart."""

    @abstractmethod
    def get(self, name: str) -> Any:
        """A variable's value as JSON-like data; SandboxError when there is none."""

    @abstractmethod
    def variables(self) -> dict[str, str]:
        """The code's variables, each with a short description. Tools are not among them."""

    @abstractmethod
    def _kill(self) -> None:
        """End the worker. Calling it twice is fine."""

    def _lose(self) -> None:
        """End the worker, with all that its code had defined."""
        self._kill()
        self._lost, self._known = True, {}

    def close(self) -> None:
        """End the worker. A closed REPL can be closed again and starts anew when it is used."""
        self._kill()
        self._known = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._kill()

    def _new_block(self, deadline: float | None) -> RunningBlock:
        now, ends = time.monotonic(), time.monotonic() + self.limits.block_s
        return RunningBlock(now, ends, deadline, self.limits.output_chars, self._blocks)

    def _result(self, block: RunningBlock, error: str | None, said: str, lost: bool) -> REPLResult:
        return REPLResult(
            stdout=plain_text("".join(block.output)),
            stderr=plain_text(said)[:20_000],
            locals=dict(self._known),
            execution_time=time.monotonic() - block.started,
            error=error,
            calls=block.calls,
            cut_chars=block.cut,
            restarted=self._lost or lost,
            block=block.number,
        )

    def _call(
        self, block: RunningBlock, name: str, call: Callable[[], Any]
    ) -> tuple[Any, str | None]:
        """What a tool gives, or what went wrong as far as it concerns the code."""
        block.calls += 1
        if block.calls > self.limits.calls:
            raise Stopped("calls", f"the block made more than {self.limits.calls:,} tool calls")
        before = time.monotonic()
        try:
            return call(), None
        except TOOL_FAULTS as exc:
            return None, plain_text(str(exc) or type(exc).__name__)[:2_000]
        except Exception as exc:
            return None, f"{name} failed inside ({type(exc).__name__}); try another way"
        finally:
            if name in self._given.untimed and name not in self._given.hidden:
                block.ends += time.monotonic() - before

    def _run_tool(self, tool: Callable[..., Any], args: Any, words: Any) -> Any:
        """A tool's value as plain data, for arguments that came as such."""
        made, named = self._given.from_wire([args, words])
        return to_plain(self._given.to_wire(tool(*made, **named)))

    def _missing_variable(self, name: object, known: dict[str, str]) -> SandboxError:
        listed = ", ".join(list(known)[:20]) or "none"
        return SandboxError(f"there is no variable {str(name)[:80]!r}; there are: {listed}")


def check_variable_name(name: str) -> None:
    if not name.isidentifier() or name.startswith("_"):
        raise SandboxError(
            f"{name!r} is not a valid variable name: use letters, digits and inner underscores"
        )


def to_plain(value: Any, depth: int = 0) -> Any:
    """A value of the host's as plain data; TypeError for what has no such form."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return plain_text(value)
    if depth > 100:
        raise ValueError("a value for the sandbox is nested too deep")
    if isinstance(value, dict):
        return {plain_text(str(key)): to_plain(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(part, depth + 1) for part in value]
    raise TypeError(f"a {type(value).__name__} cannot go into the sandbox")


def open_repl(
    tools: Mapping[str, Tool] | None = None,
    *,
    hidden: Mapping[str, Tool] | None = None,
    untimed: Collection[str] = (),
    limits: SandboxLimits | None = None,
    engine: str = "auto",
    unsafe: bool = False,
    to_wire: Convert | None = None,
    from_wire: Convert | None = None,
) -> Repl:
    """A REPL that is ready to run code. `auto` is the confined process, and `monty` where the
    kernel cannot confine and that package is there. With `unsafe` the process runs even where it
    cannot be confined."""
    if engine not in ENGINES:
        raise ConfigError(f"unknown engine {engine!r}; use one of: {', '.join(ENGINES)}")
    given = Surroundings(
        tools=dict(tools or {}),
        hidden=dict(hidden or {}),
        untimed=frozenset(untimed),
        to_wire=to_wire or same,
        from_wire=from_wire or same,
    )
    if engine == "monty":
        return _monty(given, limits)
    from rlm.sandbox.process import ProcessRepl

    try:
        return ProcessRepl(given, limits, unsafe=unsafe)
    except SandboxUnfit:
        if engine != "auto":
            raise
        with contextlib.suppress(SandboxError):  # not installed: say what the first one lacks
            return _monty(given, limits)
        raise


def _monty(given: Surroundings, limits: SandboxLimits | None) -> Repl:
    from rlm.sandbox.monty import MontyRepl

    return MontyRepl(given, limits)
