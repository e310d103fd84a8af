"""Answers of `offline` are compared here too, with what its own tests run it by."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "llm"))
