"""Which engine runs the code."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping

from rlm.errors import ConfigError, SandboxError, SandboxUnfit
from rlm.sandbox.engine import Repl
from rlm.sandbox.types import SandboxLimits, Surroundings, Tool, Wire, same

ENGINES = ("auto", "process", "monty")


def open_repl(
    tools: Mapping[str, Tool] | None = None,
    *,
    hidden: Mapping[str, Tool] | None = None,
    patient: Collection[str] = (),
    limits: SandboxLimits | None = None,
    engine: str = "auto",
    unsafe: bool = False,
    to_wire: Wire | None = None,
    from_wire: Wire | None = None,
) -> Repl:
    """A REPL that is ready to run code.

    `auto` is the confined process, and `monty` where the kernel cannot confine and that package is
    there. With `unsafe` the process runs even where it cannot be confined.
    """
    if engine not in ENGINES:
        raise ConfigError(f"unknown engine {engine!r}; use one of: {', '.join(ENGINES)}")
    given = Surroundings(
        tools=dict(tools or {}),
        hidden=dict(hidden or {}),
        patient=frozenset(patient),
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
