"""Tiers evolve: consolidation, promotion, decay, each in the log and each undone (seed 004)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rlm import clock
from rlm.errors import NotFound, StoreError, ValidationError
from rlm.store.types import Tenant

START = datetime(2026, 1, 1, tzinfo=UTC)
pytestmark = pytest.mark.req("SPEC-02.19")


def later(days):
    return clock.frozen(START + timedelta(days=days))


def state(graph):
    """All that an operation may change."""
    dump = graph.dump()
    nodes = {n.id: (n.tier, n.confidence, n.metadata, n.access_count) for n in dump.nodes}
    return nodes, {edge.id: edge for edge in dump.edges}


def tiers(graph):
    return {node.content: node.tier for node in graph.dump().nodes}


# -- confidence ------------------------------------------------------------------------------------


@pytest.mark.req("SPEC-02.06", "SPEC-02.22")
def test_every_change_of_confidence_is_kept(graph):
    made = graph.create_node("fact", "x", confidence=0.5)
    other = graph.create_node("fact", "y")
    assert graph.confidence_history(made) == []
    with later(1):
        graph.update_node(made, confidence=0.9, reasoning="a second source")
    with later(2):
        graph.update_node(made, confidence=0.7)
    graph.update_node(made, content="z")
    graph.update_node(other, confidence=0.1)
    first, second = graph.confidence_history(made)
    assert (first.before, first.after, first.reason) == (0.5, 0.9, "a second source")
    assert (second.before, second.after, second.reason, second.kind) == (0.9, 0.7, None, "edit")
    assert first.at < second.at and first.node_id == made
    assert len(graph.confidence_history()) == 3


def test_the_history_goes_with_a_purge_and_is_the_projects_own(graph, opener):
    made = graph.create_node("fact", "x")
    graph.update_node(made, confidence=0.9)
    other = opener(tenant=Tenant(project="other")).graph
    other.create_node("fact", "y")
    assert other.confidence_history() == other.confidence_history(made) == []
    assert graph.purge_node(made)
    assert graph.confidence_history() == []


# -- consolidation ---------------------------------------------------------------------------------


def test_consolidation_moves_the_task_tier_and_merges_equal_facts(graph):
    first = graph.create_node("fact", "Water boils at 100 °C", confidence=0.4)
    second = graph.create_node("fact", "water  boils at 100 °c", confidence=0.9)
    alone = graph.create_node("decision", "Use SQLite")
    lasting = graph.create_node("fact", "kept", tier="longterm")
    pot = graph.create_node("entity", "pot")
    edge = graph.create_edge(
        "relation",
        "about",
        [{"node_id": first, "role": "subject"}, {"node_id": pot, "role": "object"}],
    )
    graph.get_node(first)
    report = graph.consolidate()
    assert report.merged == {first: second}
    assert tiers(graph)["Use SQLite"] == tiers(graph)["pot"] == "session"
    assert graph.read_nodes([first])[first].tier == "archive"
    assert graph.read_nodes([lasting])[lasting].tier == "longterm"
    kept = graph.read_nodes([second])[second]
    assert (kept.tier, kept.confidence, kept.access_count) == ("session", 0.9, 1)
    assert graph.get_edge(edge).by_role("subject") == (second,), "the one that stays is linked"
    head = next(e for e in graph.evolution() if e.id == report.log_id)
    assert (head.operation, head.from_tier, head.to_tier) == ("consolidate", "task", "session")
    assert alone in head.node_ids
    archived = graph.evolution(first)[0]
    assert (archived.operation, archived.from_tier, archived.to_tier) == (
        *(f"merge:{report.log_id}", "task"),
        "archive",
    )
    assert second in archived.reasoning


def test_what_is_in_a_higher_tier_stays_and_is_believed_as_the_surest(graph):
    old = graph.create_node("fact", "same", tier="longterm", confidence=0.5)
    new = graph.create_node("fact", "same", confidence=0.8)
    report = graph.consolidate()
    assert report.merged == {new: old} and report.confidence == {old: (0.5, 0.8)}
    (change,) = graph.confidence_history(old)
    assert (change.kind, change.after) == (f"merge:{report.log_id}", 0.8)
    assert graph.consolidate().log_id is None, "nothing is left to do"


@pytest.mark.parametrize("kind", ["experience", "decision", "snippet"])
def test_what_may_happen_twice_is_not_merged(graph, kind):
    graph.create_nodes([{"type": kind, "content": "yes"}] * 2)
    assert graph.consolidate().merged == {}
    assert len(graph.query_nodes(tier="session")) == 2


def test_nodes_of_one_edge_and_of_another_kind_are_not_merged(graph):
    one, two = graph.create_nodes([{"type": "fact", "content": "yes"}] * 2)
    graph.create_edge("context", "chat", [{"node_id": one}, {"node_id": two}])
    graph.create_node("entity", "yes")
    graph.create_node("fact", "yes", subtype="answer")
    assert graph.consolidate().merged == {}


def test_a_dry_run_changes_nothing(graph):
    graph.create_nodes([{"type": "fact", "content": "same"}] * 3)
    before, lines = state(graph), len(graph.evolution())
    report = graph.consolidate(dry_run=True)
    assert len(report.merged) == 2 and len(report.moved) == 1
    assert (report.dry_run, report.log_id) == (True, None)
    assert (state(graph), len(graph.evolution())) == (before, lines)
    assert graph.consolidate().merged == report.merged


def test_a_consolidation_is_undone_as_a_whole(graph):
    one, two, three = graph.create_nodes(
        [{"type": "fact", "content": "same", "confidence": c, "metadata": {"n": 1}}
         for c in (0.3, 0.6, 0.9)]
    )  # fmt: skip
    graph.update_node(two, tier="session")
    pot = graph.create_node("entity", "pot")
    for node in (one, three):
        graph.create_edge("relation", "l", [{"node_id": node, "role": "subject"}, {"node_id": pot}])
        graph.get_node(node)
    graph.flush()
    before = state(graph)
    report = graph.consolidate()
    assert state(graph) != before and report.merged == {one: two, three: two}
    undone = graph.undo(report.log_id)
    assert state(graph) == before and undone.skipped == []
    assert graph.evolution(one)[0].to_tier == "task"
    assert graph.confidence_history(two)[-1].kind == f"undo:{report.log_id}"


# -- promotion -------------------------------------------------------------------------------------


def test_promotion_asks_for_confidence_and_use(graph):
    sure, unsure, unused, task = graph.create_nodes(
        [
            {"type": "fact", "content": "sure", "tier": "session", "confidence": 0.9},
            {"type": "fact", "content": "unsure", "tier": "session", "confidence": 0.5},
            {"type": "fact", "content": "unused", "tier": "session", "confidence": 0.9},
            {"type": "fact", "content": "task", "tier": "task", "confidence": 0.9},
        ]
    )
    for node in (sure, unsure, task) * 2:
        graph.get_node(node)
    assert graph.promote(dry_run=True).moved == {sure: ("session", "longterm")}
    report = graph.promote()
    assert tiers(graph) == {
        "sure": "longterm",
        "unsure": "session",
        "unused": "session",
        "task": "task",
    }
    line = graph.evolution(sure)[0]
    assert (line.operation, line.from_tier, line.to_tier) == ("promote", "session", "longterm")
    assert "0.8" in line.reasoning and line.id == report.log_id
    assert graph.promote(min_confidence=0.4, min_accesses=0).node_ids == [unused, unsure]
    graph.undo(report.log_id)
    assert tiers(graph)["sure"] == "session"
    with pytest.raises(ValidationError, match="min_confidence is 7"):
        graph.promote(min_confidence=7)
    with pytest.raises(ValidationError, match="min_accesses"):
        graph.promote(min_accesses=-1)


# -- decay -----------------------------------------------------------------------------------------


def test_confidence_falls_with_disuse_and_not_twice(graph):
    with later(0):
        made = graph.create_node("fact", "x", confidence=0.8)
    with later(29):
        assert graph.decay().confidence == {}
    with later(65):
        report = graph.decay()
        assert report.confidence == {made: (0.8, 0.7)}
        assert graph.decay().confidence == {}, "it was taken already"
    with later(95):
        assert graph.decay(dry_run=True).confidence == {made: (0.7, 0.65)}
        graph.decay()
    assert [c.after for c in graph.confidence_history(made)] == [0.7, 0.65]
    assert graph.confidence_history(made)[0].kind == f"decay:{report.log_id}"
    assert graph.evolution(made)[1].id == report.log_id


def test_use_stops_decay(graph):
    with later(0):
        made = graph.create_node("fact", "x", confidence=0.8)
    with later(59):
        graph.get_node(made)
    with later(80):
        assert graph.decay().confidence == {}
    with later(90):
        assert graph.decay().confidence == {made: (0.8, 0.75)}
        graph.get_node(made)
    with later(121):
        assert graph.decay().confidence == {made: (0.75, 0.7)}, "it starts anew at each use"


def test_what_falls_too_low_goes_to_the_archive_and_comes_back(graph):
    with later(0):
        weak = graph.create_node("fact", "weak", confidence=0.12, tier="session")
        strong = graph.create_node("fact", "strong", confidence=0.9)
    before = state(graph)
    with later(31):
        report = graph.decay()
    assert report.moved == {weak: ("session", "archive")}
    assert set(report.confidence) == {weak, strong}
    assert graph.evolution(weak)[0].operation == f"archive:{report.log_id}"
    with later(32):
        graph.undo(report.log_id)
        assert state(graph) == before
        assert graph.decay().confidence == {}, "what was undone is not done again at once"


def test_decay_never_falls_below_nothing(graph):
    with later(0):
        made = graph.create_node("fact", "x", confidence=0.1)
    with later(400):
        assert graph.decay(archive_below=0.0).confidence == {made: (0.1, 0.0)}
        assert graph.decay(archive_below=0.0).confidence == {}
        graph.undo(graph.evolution(made)[0].id)
        assert state(graph)[0][made][1] == 0.1
        assert graph.decay(archive_below=0.0).confidence == {}, "it was undone"
    with later(401):
        graph.update_node(made, confidence=0.3)
        assert graph.decay(archive_below=0.0).confidence == {}, "those months were taken"
    for bad in ({"per_month": -1}, {"archive_below": 2}):
        with pytest.raises(ValidationError):
            graph.decay(**bad)


# -- undo ------------------------------------------------------------------------------------------


def test_undo_leaves_alone_what_was_changed_since(graph):
    one, two, three = graph.create_nodes(
        [{"type": "fact", "content": c, "tier": "session", "confidence": 0.9} for c in "abc"]
    )
    report = graph.promote(min_accesses=0)
    graph.update_node(one, tier="task")
    graph.purge_node(two)
    plan = graph.undo(report.log_id, dry_run=True)
    undone = graph.undo(report.log_id)
    assert undone.moved == plan.moved == {three: ("longterm", "session")}
    assert set(undone.skipped) == {one, two}
    assert tiers(graph) == {"a": "task", "c": "session"}


def test_undoing_something_else_leaves_a_merger_as_it_is(graph):
    one, two = graph.create_nodes([{"type": "fact", "content": "same"}] * 2)
    edge = graph.create_edge("relation", "l", [{"node_id": two}])
    (dropped, kept), *_ = graph.consolidate().merged.items()
    assert {dropped, kept} == {one, two}
    graph.update_node(dropped, tier="session")
    graph.delete_node(dropped)
    graph.undo(graph.evolution(dropped)[0].id)
    assert graph.get_edge(edge).node_ids == (kept,)
    assert graph.evolution(kept)[0].reasoning == f"took over {dropped}"


def test_where_nothing_is_left_to_undo_nothing_is_written(graph):
    made = graph.create_node("fact", "x")
    report = graph.consolidate()
    graph.update_node(made, tier="longterm")
    lines = len(graph.evolution())
    assert (graph.undo(report.log_id).log_id, len(graph.evolution())) == (None, lines)
    graph.update_node(made, tier="session")
    assert graph.undo(report.log_id).moved == {made: ("session", "task")}


def test_a_deletion_is_undone_too(graph):
    made = graph.create_node("fact", "x", tier="session")
    graph.delete_node(made)
    graph.undo(graph.evolution(made)[0].id)
    assert graph.get_node(made).tier == "session"


def test_what_cannot_be_undone_says_why(graph):
    made = graph.create_node("fact", "x")
    report = graph.consolidate()
    graph.update_node(made, content="y")
    with pytest.raises(NotFound, match="no line 999"):
        graph.undo(999)
    with pytest.raises(ValidationError, match="'update', which cannot be undone"):
        graph.undo(graph.evolution(made)[0].id)
    undone = graph.undo(report.log_id)
    with pytest.raises(ValidationError, match="was undone already"):
        graph.undo(report.log_id)
    with pytest.raises(ValidationError, match=f"undid {report.log_id}"):
        graph.undo(undone.log_id)
    with pytest.raises(ValidationError, match=f"part of {undone.log_id}"):
        graph.undo(graph.evolution(made)[0].id)


def test_another_projects_line_cannot_be_undone(graph, opener):
    graph.create_node("fact", "x")
    report = graph.consolidate()
    with pytest.raises(NotFound):
        opener(tenant=Tenant(project="other")).graph.undo(report.log_id)


def test_half_an_operation_is_none(db):
    graph = db.graph
    one, _, three = graph.create_nodes([{"type": "fact", "content": "same"}] * 3)
    for node in (one, three):
        graph.create_edge("relation", "l", [{"node_id": node}])
    before, lines = state(graph), len(graph.evolution())
    with db.db.write():
        refuse = "SELECT RAISE(ABORT, 'no such luck')"
        db.db.connection.execute(
            f"CREATE TRIGGER stop BEFORE UPDATE ON membership BEGIN {refuse}; END"
        )
    with pytest.raises(StoreError, match="no such luck"):
        graph.consolidate()
    assert (state(graph), len(graph.evolution())) == (before, lines)
