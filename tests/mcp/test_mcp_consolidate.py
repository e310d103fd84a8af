"""`memory_consolidate` over a store with much to do: a bounded answer, and nothing when cancelled."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rlm import MemoryItem, open_store
from rlm.mcp_server.tools import MEMORY_TOOLS, MOST_CHANGES, ToolRequest
from rlm.worker import CANCELLED, Cancelled

CONSOLIDATE = next(tool for tool in MEMORY_TOOLS if tool.name == "memory_consolidate")


def weak(number: int) -> MemoryItem:
    made = MemoryItem(f"w{number}", "", f"- c{number}", source_type="success", confidence=0.1)
    made.created_at = "2025-01-01T00:00:00Z"
    return made


def test_an_answer_names_so_many_changes_and_counts_the_rest(tmp_path: Path) -> None:
    with open_store(tmp_path / "m.db", embedder="none") as store:
        store.add_many(weak(number) for number in range(MOST_CHANGES + 7))
        cancelled = threading.Event()
        cancelled.set()
        set_before = CANCELLED.set(cancelled)
        with pytest.raises(Cancelled):
            CONSOLIDATE.call(ToolRequest(store), dry_run=False)
        CANCELLED.reset(set_before)
        assert store.graph.evolution() == [], "a call that is cancelled changes nothing"
        answer = CONSOLIDATE.call(ToolRequest(store), dry_run=False)
        assert answer.data["change_count"] == MOST_CHANGES + 7 == store.stats()["archived"]
    assert len(answer.data["changes"]) == MOST_CHANGES
    assert answer.text.splitlines()[-1] == "and 7 more"
