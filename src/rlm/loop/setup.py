"""What a run and its recursive runs share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from rlm.handles import Meter, Store
from rlm.llm import Client
from rlm.loop.types import Limits
from rlm.sandbox import SandboxLimits


@dataclass(frozen=True, slots=True)
class Setup:
    """The models, the store, the tools, the limits and the sandbox of a run; keywords of `rlm_run`."""

    client: Client
    store: Store
    meter: Meter
    limits: Limits = field(default_factory=Limits)
    sub_client: Client | None = None
    tools: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    patient: Collection[str] = ()
    tools_text: str | None = None
    """How the prompt describes the tools; None takes their signatures and docstrings."""
    system_prompt: str | None = None
    """Used in place of ours."""
    guidance: str = ""
    """Added to our system prompt: what is known about tasks like this one."""
    sandbox: SandboxLimits = field(default_factory=SandboxLimits)
    engine: str = "auto"
    unsafe: bool = False
