"""The leakage meter: how much got past the handles in one run (seed 002).

Handles only help as long as tools return little. The meter counts what they return; a run is stored
with its report, and a red flag names the tool that returned too much.
"""

from __future__ import annotations

import threading
from typing import Any

MAX_SINGLE_RETURN = 1000
MAX_MEMORY_ITEMS = 3
MAX_CONTEXT_SIZE = 4000


class Meter:
    """Counts for one run. Who builds the prompt sets `memory_items_injected`, `context_size`."""

    def __init__(self) -> None:
        self.memory_items_injected = 0
        self.context_size = 0
        self._lock = threading.Lock()
        self._tools: dict[str, tuple[int, int]] = {}
        self._largest = (0, "")

    def note(self, tool: str, chars: int, *, to_prompt: bool = True) -> None:
        """A tool returned so many characters. Not `to_prompt`: to the sandbox only, no leak."""
        with self._lock:
            calls, total = self._tools.get(tool, (0, 0))
            self._tools[tool] = (calls + 1, total + chars)
            if to_prompt and chars > self._largest[0]:
                self._largest = (chars, tool)

    def report(self) -> dict[str, Any]:
        """The four metrics, the red flags, and calls and characters by tool; all JSON types."""
        with self._lock:
            largest, tool = self._largest
            by_tool = {
                name: {"calls": calls, "chars": chars}
                for name, (calls, chars) in sorted(self._tools.items())
            }
        flags = [
            f"{name}: {value:,} > {most:,}{where}"
            for name, value, most, where in (
                ("max_single_return", largest, MAX_SINGLE_RETURN, f" ({tool})"),
                ("memory_items_injected", self.memory_items_injected, MAX_MEMORY_ITEMS, ""),
                ("context_size", self.context_size, MAX_CONTEXT_SIZE, ""),
            )
            if value > most
        ]
        return {
            "total_chars_returned": sum(entry["chars"] for entry in by_tool.values()),
            "max_single_return": largest,
            "memory_items_injected": self.memory_items_injected,
            "context_size": self.context_size,
            "flags": flags,
            "by_tool": by_tool,
        }
