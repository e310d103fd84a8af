"""A hypergraph copied from one store to another: ids, times, history; twice adds nothing."""

from __future__ import annotations

import pytest
from store_opening import open_store

from rlm.errors import StoreError, ValidationError
from rlm.store.graph import ConfidenceChange, Evolution, GraphDump, Node, copy_graph
from rlm.store.types import Tenant


@pytest.fixture
def target(tmp_path):
    with open_store(tmp_path / "other.db") as store:
        yield store


@pytest.fixture
def filled(graph):
    """A graph with edges, an archive and a history, and the number of its consolidation."""
    one, two, cup = graph.create_nodes(
        [
            {"type": "fact", "content": "Tea is hot", "confidence": 0.4, "metadata": {"a": [1]}},
            {"type": "fact", "content": "tea is hot", "confidence": 0.9},
            {"type": "snippet", "content": "    indented", "subtype": "python"},
        ]
    )
    graph.create_edge(
        "relation", "in", [{"node_id": one, "role": "subject"}, {"node_id": cup, "role": "object"}],
        weight=2.5,
    )  # fmt: skip
    graph.update_node(two, confidence=0.7, reasoning="it cooled")
    graph.get_node(cup)
    return graph, graph.consolidate().log_id


def plain(dump: GraphDump):
    """A dump without the numbers of log lines."""
    events = [
        (e.timestamp, e.operation.split(":")[0], e.node_ids, e.reasoning) for e in dump.events
    ]
    changes = [(c.node_id, c.at, c.kind.split(":")[0], c.before, c.after) for c in dump.changes]
    return dump.nodes, dump.edges, events, changes


def test_everything_is_copied_once(filled, target):
    source, _ = filled
    assert copy_graph(source, target.graph) == source.dump().counts
    assert plain(target.graph.dump()) == plain(source.dump())
    assert copy_graph(source, target.graph) == dict.fromkeys(
        ("nodes", "edges", "events", "changes"), 0
    )
    assert plain(target.graph.dump()) == plain(source.dump())
    (hit,) = target.graph.search("hot tea")
    assert hit.node.content == "Tea is hot" or hit.node.content == "tea is hot"


def test_the_copy_can_be_undone_under_its_own_number(filled, target):
    source, log_id = filled
    for _ in range(3):  # so that numbers differ
        target.graph.create_node("fact", "mine")
    copy_graph(source, target.graph)
    copied = next(e for e in target.graph.evolution() if e.operation == "consolidate")
    assert copied.id != log_id
    target.graph.undo(copied.id)
    source.undo(log_id)
    wanted = {node.id: (node.tier, node.confidence) for node in source.dump().nodes}
    found = {node.id: (node.tier, node.confidence) for node in target.graph.dump().nodes}
    assert found == {**found, **wanted} and len(found) == len(wanted) + 3


def test_what_the_target_has_stays_and_the_rest_comes(filled, target):
    source, _ = filled
    copy_graph(source, target.graph)
    (cup,) = source.query_nodes(type="snippet")
    target.graph.update_node(cup.id, content="changed there")
    fresh = source.create_node("fact", "new")
    assert copy_graph(source, target.graph)["nodes"] == 1
    assert target.graph.get_node(cup.id).content == "changed there"
    assert target.graph.get_node(fresh).content == "new"


def test_ids_of_another_project_in_the_file_are_refused(filled, opener):
    source, _ = filled
    other = opener(tenant=Tenant(project="other")).graph
    with pytest.raises(StoreError, match="for another project already"):
        copy_graph(source, other)
    assert other.dump().counts["nodes"] == 0


def test_a_dump_passes_the_gate(graph):
    bad = Node("an-id", "thing", "x")
    with pytest.raises(ValidationError, match="unknown node type"):
        graph.load(GraphDump([Node("a", "fact", "fine"), bad], [], [], []))
    assert graph.dump().counts["nodes"] == 0
    foreign = ConfidenceChange("of-a-memory", "2026-01-01T00:00:00Z", "edit", 0.1, 0.9, None)
    bad_line = Evolution(1, 5, "tier", ("a",), "task", "forever", None)
    with pytest.raises(ValidationError, match="unknown tier"):
        graph.load(GraphDump([], [], [bad_line], []))
    assert graph.load(GraphDump([], [], [], [foreign]))["changes"] == 0
    hidden = Node("a", "fact", "x\u202ey", created_at=1, updated_at=2, last_accessed=3)
    graph.load(GraphDump([hidden], [], [], []))
    assert graph.get_node("a").content == "xy"
