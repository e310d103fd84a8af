"""The RLM loop: `rlm_run` answers a question over a context of any length by letting a model write
code.

Prompts carry handles, never payloads. See `rlm.loop.prompts` for what is said to the model,
`rlm.loop.parse` for what counts as code and as an answer, and `rlm.loop.logger` for the form of a
log.
"""

from rlm.loop.limits import Limits
from rlm.loop.logger import RLMLogger, read_log
from rlm.loop.run import rlm_run, rlm_steps, run_loop
from rlm.loop.types import CodeBlock, LoopSpec, RLMIteration, RLMResult, SubCall

__all__ = [
    "CodeBlock",
    "Limits",
    "LoopSpec",
    "RLMIteration",
    "RLMLogger",
    "RLMResult",
    "SubCall",
    "read_log",
    "rlm_run",
    "rlm_steps",
    "run_loop",
]
