"""Edges of the hypergraph: by direction, role and label; changed, listed and removed (seed 004)."""

from __future__ import annotations

import pytest

from rlm.errors import NotFound, ValidationError
from rlm.store.types import Tenant


@pytest.fixture
def ids(graph):
    return graph.create_nodes([{"type": "entity", "content": name} for name in "abcd"])


def join(graph, kind, label, *members, **kw):
    return graph.create_edge(kind, label, [{"node_id": n, "role": r} for n, r in members], **kw)


@pytest.mark.req("SPEC-02.16", "SPEC-02.26")
def test_links_have_a_direction(graph, ids):
    a, b, c, d = ids
    uses = join(graph, "relation", "uses", (a, "subject"), (b, "object"))
    heats = join(graph, "causation", "heats", (c, "cause"), (a, "effect"))
    beside = join(graph, "context", "beside", (a, "participant"), (d, "participant"))
    found = {way: [e.id for e in graph.get_links(a, way)] for way in ("out", "in", "both")}
    assert found == {"out": [uses], "in": [heats], "both": [uses, heats, beside]}
    assert [e.id for e in graph.get_links(a)] == found["both"]
    assert [e.id for e in graph.get_links(b, "in")] == [uses] and graph.get_links(b, "out") == []
    assert graph.get_links("nobody") == []


def test_links_are_filtered_by_type_label_and_role(graph, ids):
    a, b, _, _ = ids
    one = join(graph, "relation", "uses", (a, "subject"), (b, "object"))
    two = join(graph, "relation", "likes", (a, "subject"), (b, "object"))
    three = join(graph, "context", "uses", (a, "context"))
    assert [e.id for e in graph.get_links(a, type="relation")] == [one, two]
    assert [e.id for e in graph.get_links(a, label="uses")] == [one, three]
    assert [e.id for e in graph.get_links(a, "out", type="relation", label="likes")] == [two]
    assert [e.id for e in graph.get_links(a, role="context")] == [three]
    assert graph.get_links(a, "out", role="object") == []
    for bad in ({"direction": "up"}, {"type": "x"}, {"role": "boss"}):
        with pytest.raises(ValidationError, match="unknown"):
            graph.get_links(a, **bad)


@pytest.mark.req("SPEC-02.16")
def test_members_are_read_by_role(graph, ids):
    a, b, c, d = ids
    made = join(
        graph, "causation", "x", (b, "cause"), (a, "cause"), (c, "effect"), (d, "context"), (b, "context")
    )  # fmt: skip
    edge = graph.get_edge(made)
    assert edge.by_role("cause") == (b, a) and edge.by_role("object") == ()
    assert edge.node_ids == (b, a, c, d)
    assert [node.id for node in graph.get_members(made, "cause")] == [b, a]
    assert [node.id for node in graph.get_members(made)] == [b, a, c, d]
    graph.delete_node(a)
    assert [node.id for node in graph.get_members(made, "cause")] == [b, a], (
        "archived, yet a member"
    )
    assert graph.get_members("nothing") == []
    with pytest.raises(ValidationError, match="unknown role"):
        graph.get_members(made, "boss")


@pytest.mark.req("SPEC-02.12", "SPEC-02.13")
def test_an_edge_is_changed_in_place(graph, ids):
    a, b, c, _ = ids
    made = join(graph, "relation", "uses", (a, "subject"), (b, "object"))
    assert graph.update_edge(made, weight=2.5, label="needs", reasoning="seen twice") is True
    edge = graph.get_edge(made)
    assert (edge.type, edge.label, edge.weight, edge.node_ids) == ("relation", "needs", 2.5, (a, b))
    assert (graph.evolution(a)[0].operation, graph.evolution(a)[0].reasoning) == (
        "relink",
        "seen twice",
    )
    assert graph.update_edge(made, type="causation", members=[{"node_id": c, "role": "cause"}])
    edge = graph.get_edge(made)
    assert (edge.type, edge.label, edge.weight) == ("causation", "needs", 2.5)
    assert edge.by_role("cause") == (c,) and graph.get_links(a) == []
    assert {a, b, c} == set(graph.evolution()[0].node_ids)
    assert graph.update_edge(made, label=None) and graph.get_edge(made).label is None
    before = len(graph.evolution())
    assert graph.update_edge(made, weight=2.5) is True and len(graph.evolution()) == before
    assert graph.update_edge("nothing", weight=1.0) is False


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"weight": -1}, ValidationError),
        ({"type": "likes"}, ValidationError),
        ({"members": []}, ValidationError),
        ({"members": [{"node_id": "missing"}]}, NotFound),
        ({"colour": "red"}, ValidationError),
        ({"id": "other"}, ValidationError),
    ],
)
def test_a_bad_change_leaves_the_edge_as_it_was(graph, ids, change, error):
    made = join(graph, "relation", "uses", (ids[0], "subject"), (ids[1], "object"))
    before = graph.get_edge(made), len(graph.evolution())
    with pytest.raises(error):
        graph.update_edge(made, **change)
    assert (graph.get_edge(made), len(graph.evolution())) == before


def test_edges_are_listed_by_what_they_are(graph, ids):
    a, b, c, _ = ids
    light = join(graph, "relation", "uses", (a, "subject"), (b, "object"), weight=0.5)
    heavy = join(graph, "relation", "needs", (b, "subject"), (c, "object"), weight=3)
    other = join(graph, "context", "uses", (a, "context"), (c, "context"))
    assert [e.id for e in graph.list_edges()] == [heavy, other, light]
    assert [e.id for e in graph.list_edges(type="relation")] == [heavy, light]
    assert [e.id for e in graph.list_edges(label="uses")] == [other, light]
    assert [e.id for e in graph.list_edges(min_weight=1)] == [heavy, other]
    assert [e.id for e in graph.list_edges(limit=1)] == [heavy]
    assert len(graph.list_edges(limit=1)[0].members) == 2
    with pytest.raises(ValidationError, match="unknown edge type"):
        graph.list_edges(type="x")


def test_unlink_takes_an_edge_or_two_nodes(graph, ids):
    a, b, c, _ = ids
    one = join(graph, "relation", "uses", (a, "subject"), (b, "object"))
    two = join(graph, "causation", "heats", (b, "cause"), (a, "effect"))
    three = join(graph, "relation", "all", (a, "subject"), (b, "object"), (c, "context"))
    assert graph.unlink("nothing") == graph.unlink(a, c) == []
    assert graph.unlink(a, b, reasoning="they parted") == [one, two]
    assert [e.id for e in graph.get_links(a)] == [three], "it says more than that a and b belong"
    assert graph.evolution(a)[0].reasoning == "they parted"
    assert graph.unlink(three) == [three] and graph.list_edges() == []
    assert len(graph.query_nodes()) == 4


def test_an_edge_with_a_long_label_can_be_changed_and_removed(graph, ids):
    label = "because " * 1_000
    made = join(graph, "relation", label, (ids[0], "subject"))
    assert [e.id for e in graph.list_edges(label=label)] == [made]
    assert graph.update_edge(made, weight=2) and graph.delete_edge(made)
    assert all(len(event.reasoning or "") < 300 for event in graph.evolution())


def test_edges_of_another_project_are_not_there(graph, opener):
    a = graph.create_node("fact", "x")
    made = graph.create_edge("relation", "l", [{"node_id": a}])
    other = opener(tenant=Tenant(project="other")).graph
    assert other.list_edges() == other.get_links(a) == []
    assert other.get_members(made) == [] and other.unlink(made) == []
    assert other.update_edge(made, weight=9) is False
    assert graph.get_edge(made).weight == 1.0
