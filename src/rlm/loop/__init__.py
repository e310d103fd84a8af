"""The RLM loop: `rlm_run` answers a question over a context of any length by letting a model write
code.

Prompts carry handles, never payloads. See `rlm.loop.prompts` for what is said to the model,
`rlm.loop.parse` for what counts as code and as an answer, and `rlm.loop.logger` for the form of a
log.
"""

from rlm.loop.logger import RLMLogger, read_log
from rlm.loop.run import LoopRun, rlm_run
from rlm.loop.types import CodeBlock, Limits, LoopSpec, RLMIteration, RLMResult, SubCall

__all__ = [
    "CodeBlock",
    "Limits",
    "LoopRun",
    "LoopSpec",
    "RLMIteration",
    "RLMLogger",
    "RLMResult",
    "SubCall",
    "read_log",
    "rlm_run",
]
