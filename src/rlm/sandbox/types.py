"""What a sealed REPL is given and what it answers with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Tool = Callable[..., Any]
Wire = Callable[[Any], Any]


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
    """The worker was killed: what the code had defined is lost, what the host had set is set again.
    """

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
    to_wire: Wire = same
    """Turns a value of the host's into JSON-like data; what it does not know it returns as it is.
    """
    from_wire: Wire = same
