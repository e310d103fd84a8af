"""What a test sees of one run of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Result:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """stdout as the one document that it must be."""
        return json.loads(self.out)


Run = Callable[..., Result]
