"""Proof of help or harm: one suite of tasks with memory off, with the shipped packs, and with what
training taught.

- `measure`: runs the suite; every arm starts each run from the same frozen store, and no run leaves
  a memory.
- `stats`: intervals. `report`: what the runs come to, side by side. `html` and `plots`: the same
  for people.
"""

from rlm.evaluate.html import page
from rlm.evaluate.measure import ARMS, evaluate
from rlm.evaluate.report import Evaluation, InPrompt, Measured, MemoryEffect

__all__ = ["ARMS", "Evaluation", "InPrompt", "Measured", "MemoryEffect", "evaluate", "page"]
