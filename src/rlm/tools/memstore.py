"""Seed 002's `MemStore`: a JSON store for scripts, with the two phases and caps of the tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rlm.handles import Meter
from rlm.store.jsonfile import MemoryStore
from rlm.tools.memory import memory_tools


class MemStore(MemoryStore):
    """Memories in a list. `search` gives ids and titles, `quote` a little of one."""

    def load(self, path: str | Path) -> None:  # type: ignore[override]
        """Add the memories of a JSON store's file, or of a plain list, to these."""
        self.add_many(MemoryStore.load(path, tenant=self.tenant).memories)

    def search(
        self, q: str, k: int = 6, polarity: str | None = None, domain: str | None = None
    ) -> list[dict[str, Any]]:
        """As the tool `mem_search`: [{id, title, desc, src}], best first."""
        found: list[dict[str, Any]] = self._tool("mem_search")(q, k, polarity, domain)
        return found

    def quote(self, id: str, max_chars: int = 500) -> str:
        """As the tool `mem_quote`: an excerpt of one procedure, at most 500 characters."""
        return str(self._tool("mem_quote")(id, max_chars))

    def _tool(self, name: str) -> Any:
        return memory_tools(self, Meter()).functions[name]
