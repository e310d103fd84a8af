"""The sealed REPL: model-written code runs here and nowhere else.

Layers, each tested alone and together: caps on size and shape, a language policy, guards, a process
without files or network, a kernel that refuses it nearly everything, and a host that checks every
message and keeps the clock. `SECURITY.md` says what this contains and what it does not.

The names are loaded when they are first used: the worker imports this package too, and starts
faster without them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlm.sandbox.open import ENGINES, open_repl
    from rlm.sandbox.types import Repl, REPLResult, SandboxLimits, Surroundings

_HOMES = {
    "ENGINES": "open", "open_repl": "open", "REPLResult": "types", "Repl": "types", "SandboxLimits": "types",
    "Surroundings": "types",
}  # fmt: skip

__all__ = ["ENGINES", "REPLResult", "Repl", "SandboxLimits", "Surroundings", "open_repl"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rlm.sandbox' has no attribute {name!r}")
    value = getattr(import_module(f"rlm.sandbox.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
