"""Seed 003, the memory service: what of it exists today, and what comes with the service.

The seed's code is Go; here it stands as the Python that it describes. Its examples of
`MemoryManager`, `Distiller`, `ConfidenceEvaluator`, the tools of the MCP server, the Qdrant
collections, branch injection and promotion come with the memory service, which is not there yet.

Where it differs from other seeds:
- `ID` is the stable id of seed 000, not a UUID; `UsageCount` is seed 001's `access_count` and
  `SourceSession` its `session_id`.
- The seed's `scope` (project, team, org) is `level` here: `scope` is seed 000's, where a memory
  applies (DESIGN §2).
- A memory that was never used has a recency boost of 1, and none is below 1 (DESIGN §3).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rlm import MemoryItem, Tenant, clock, open_store

NOW = datetime(2026, 5, 6, tzinfo=UTC)
FIELDS = {
    "id": "memory_id",
    "title": "title",
    "description": "description",
    "content": "content",
    "outcome": "outcome",
    "confidence": "confidence",
    "usage_count": "access_count",
    "tags": "tags",
    "scope": "level",
    "project": "project",
    "team": "team",
    "org": "org",
    "source_session": "session_id",
    "created_at": "created_at",
    "last_used": "last_used",
}
"""The JSON names of the seed's Memory, and ours."""


@pytest.fixture
def opened(workspace):
    """The store of one tenant."""
    stores = []

    def open_for(org="acme", team="core", project="api"):
        stores.append(open_store("memory.db", tenant=Tenant(org, team, project)))
        return stores[-1]

    yield open_for
    for store in stores:
        store.close()


def memory(title="Retry with backoff", **values):
    return MemoryItem(title, "When the server is busy.", f"1. {title}", **values)


@pytest.mark.req("CX-02")
def test_the_fields_of_a_memory(opened):
    store = opened()
    memory_id = store.add(memory(tags=["http"], session_id="s-1"))
    data = store.get(memory_id).to_dict()
    assert set(FIELDS.values()) <= set(data)
    assert (data["outcome"], data["level"], data["session_id"]) == ("success", "project", "s-1")
    assert 0.0 <= data["confidence"] <= 1.0
    assert "embedding" not in data


@pytest.mark.req("CX-04")
def test_the_scope_cascade(opened):
    store = opened()
    for level in ("org", "team", "project"):
        store.add(memory(f"Retry of the {level}", level=level))
        store.add(memory("Retry everywhere", level=level))
    found = [hit.item for hit in store.retrieve("retry", 10)]
    assert {item.title for item in found} == {
        "Retry of the project",
        "Retry of the team",
        "Retry of the org",
        "Retry everywhere",
    }
    (once,) = [item for item in found if item.title == "Retry everywhere"]
    assert once.level == "project", "of duplicates the nearest level is kept"

    def titles(**other):
        return {hit.item.title for hit in opened(**other).retrieve("retry", 10)}

    assert titles(project="web") == {"Retry of the team", "Retry of the org", "Retry everywhere"}
    assert titles(team="design") == {"Retry of the org", "Retry everywhere"}
    assert titles(org="globex") == set()


@pytest.mark.req("CX-05")
@pytest.mark.parametrize(("level", "scope_weight"), [("project", 1.0), ("team", 0.9), ("org", 0.8)])
@pytest.mark.parametrize("days_since_used", [None, 0, 73, 365, 700])
def test_the_ranking_formula(opened, level, scope_weight, days_since_used):
    last_used = None
    if days_since_used is not None:
        last_used = (NOW - timedelta(days=days_since_used)).isoformat()
    store = opened()
    store.add(memory(level=level, last_used=last_used, confidence=0.5))
    with clock.frozen(NOW):
        (hit,) = store.retrieve("retry with backoff", explain=True)
    semantic_similarity, confidence = hit.why.similarity, 0.5
    recency_boost = 1.0
    if days_since_used is not None:
        recency_boost = max(1.0, 1.0 + 0.1 * (1 - days_since_used / 365))
    score = semantic_similarity * confidence * recency_boost * scope_weight
    assert hit.score == pytest.approx(score)


def test_confidence_moves_within_its_bounds_and_says_why(opened):
    """The signals' numbers, as a caller applies them: +0.3, −0.2, +0.1, +0.2, −0.05 a month."""
    store = opened()
    memory_id = store.add(memory(confidence=0.5))
    for delta, kind, expected in (
        (0.3, "helpful", 0.8),
        (-0.2, "not_helpful", 0.6),
        (0.1, "task_succeeded", 0.7),
        (0.2, "unreverted", 0.9),
        (-0.05, "decay", 0.85),
        (0.3, "helpful", 1.0),
    ):
        assert store.adjust_confidence(memory_id, delta, kind=kind) == pytest.approx(expected)
    signals = store.signals(memory_id)
    assert [signal["kind"] for signal in signals][-2:] == ["decay", "helpful"]
    assert signals[-1]["delta"] == pytest.approx(0.15), "clamped to 1"
