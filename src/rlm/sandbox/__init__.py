"""The sealed REPL: model-written code runs here and nowhere else.

Layers, each tested alone and together: caps on size and shape, a language policy, guards, a process
without files or network, a kernel that refuses it nearly everything, and a host that checks every
message and keeps the clock. `SECURITY.md` says what this contains and what it does not.
"""

from rlm.sandbox.engine import ENGINES, Repl, REPLResult, SandboxLimits, Surroundings, open_repl

__all__ = ["ENGINES", "REPLResult", "Repl", "SandboxLimits", "Surroundings", "open_repl"]
