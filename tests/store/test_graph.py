"""The hypergraph: every operation, every bound, and the log (seed 004)."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rlm
from rlm import clock
from rlm.errors import NotFound, StoreError, ValidationError
from rlm.store.types import EDGE_TYPES, NODE_TYPES, ROLES, TIERS, Tenant

pytestmark = pytest.mark.req("SPEC-02.35")


@pytest.mark.req("SPEC-02.05", "SPEC-02.20", "SPEC-02.21")
@pytest.mark.parametrize("kind", NODE_TYPES)
def test_every_node_type_is_made_and_read(graph, kind):
    made = graph.create_node(kind, f"a {kind}")
    assert graph.get_node(made).type == kind


@pytest.mark.req("SPEC-02.06", "SPEC-02.07", "SPEC-02.08", "SPEC-02.09", "SPEC-02.18")
def test_a_node_has_its_fields_and_defaults(graph):
    made = graph.create_node("fact", "Water boils at 100 °C")
    node = graph.get_node(made)
    assert str(uuid.UUID(made, version=4)) == made
    assert (node.type, node.content, node.tier, node.confidence) == (
        "fact",
        "Water boils at 100 °C",
        "task",
        0.5,
    )
    assert node.created_at == node.updated_at > 1_600_000_000_000
    assert (node.subtype, node.provenance, node.metadata) == (None, None, {})
    full = graph.create_node(
        "snippet",
        "x = 1",
        subtype="python",
        tier="session",
        confidence=1.0,
        provenance="notes",
        metadata={"a": [1]},
    )
    node = graph.get_node(full)
    assert (node.subtype, node.tier, node.confidence, node.provenance, node.metadata) == (
        "python", "session", 1.0, "notes", {"a": [1]},
    )  # fmt: skip
    assert not hasattr(node, "embedding")


@pytest.mark.req("SPEC-02.07")
def test_reading_counts_as_an_access(opener):
    db = opener()
    made = db.graph.create_node("fact", "seen often")
    assert [db.graph.get_node(made).access_count for _ in range(3)] == [1, 2, 3]
    before = db.graph.get_node(made).last_accessed
    db.close()
    node = opener().graph.get_node(made)
    assert node.access_count == 5
    assert node.last_accessed >= before


@pytest.mark.req("SPEC-02.07")
def test_a_node_says_when_it_was_read_last(graph):
    with clock.frozen(datetime(2026, 1, 1, tzinfo=UTC)):
        made = graph.create_node("fact", "zebra")
    with clock.frozen(datetime(2026, 1, 2, tzinfo=UTC)):
        at = clock.now_ms()
        assert graph.get_node(made).last_accessed == at
    with clock.frozen(datetime(2026, 1, 3, tzinfo=UTC)):
        graph.flush()
        assert graph.query_nodes()[0].last_accessed == at, "when it was read, not written"
        (hit,) = graph.search("zebra")
        assert (hit.node.last_accessed, hit.node.access_count) == (clock.now_ms(), 2)


@pytest.mark.req("SPEC-02.05", "SPEC-02.34")
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("    if x:\n        y()\n", "    if x:\n        y()"),
        ("\n\n  \n\tindented\n\n\n  more  \n\n", "\tindented\n\n\n  more"),
        ("plain", "plain"),
    ],
)
def test_a_content_keeps_its_indentation(graph, given, kept):
    made = graph.create_node("snippet", given)
    assert graph.get_node(made).content == kept
    graph.update_node(made, content="other")
    graph.update_node(made, content=given)
    assert graph.get_node(made).content == kept


@pytest.mark.req("SPEC-02.21")
def test_an_unknown_node_is_none(graph):
    assert graph.get_node("nope") is None
    assert (
        graph.update_node("nope", tier="session")
        is graph.delete_node("nope")
        is graph.purge_node("nope")
        is False
    )


@pytest.mark.req("SPEC-02.10", "SPEC-02.36")
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), "0.5", None, True])
def test_confidence_stays_in_bounds(graph, value):
    with pytest.raises(ValidationError, match="confidence is"):
        graph.create_node("fact", "x", confidence=value)
    made = graph.create_node("fact", "x", confidence=0.25)
    with pytest.raises(ValidationError, match="confidence is"):
        graph.update_node(made, confidence=value)
    assert graph.get_node(made).confidence == 0.25


@pytest.mark.req("SPEC-02.17", "SPEC-02.36")
def test_the_database_itself_holds_the_bounds(db):
    made = db.graph.create_node("fact", "x")
    for column, value in (("confidence", 1.5), ("tier", "forever"), ("type", "thing")):
        with pytest.raises(StoreError), db.db.write():
            db.db.connection.execute(f"UPDATE nodes SET {column} = ? WHERE id = ?", (value, made))
    assert db.graph.get_node(made).tier in TIERS


@pytest.mark.parametrize(
    ("kind", "content", "extra", "message"),
    [
        ("thing", "x", {}, "unknown node type 'thing'; use one of: entity, fact"),
        ("fact", " ", {}, "node content is empty"),
        ("fact", 7, {}, "content is int, expected text"),
        ("fact", "x", {"tier": "forever"}, "unknown tier 'forever'"),
        ("fact", "x", {"colour": "red"}, "unknown node field 'colour'"),
        ("fact", "x", {"metadata": [1]}, "metadata is list, expected an object"),
        ("fact", "x", {"metadata": {"a": {1, 2}}}, "metadata cannot be written as JSON"),
    ],
)
@pytest.mark.req("SPEC-02.36")
def test_bad_nodes_are_refused_and_nothing_is_made(graph, kind, content, extra, message):
    with pytest.raises(ValidationError, match=message):
        graph.create_nodes(
            [{"type": "fact", "content": "good"}, {"type": kind, "content": content, **extra}]
        )
    assert graph.query_nodes() == []


@pytest.mark.req("SPEC-02.22")
def test_update_changes_what_is_named(graph):
    made = graph.create_node("fact", "old words", confidence=0.2, metadata={"k": 1})
    assert graph.update_node(made, content="new words", confidence=0.9) is True
    node = graph.get_node(made)
    assert (node.content, node.confidence, node.metadata) == ("new words", 0.9, {"k": 1})
    assert [n.id for n, _ in graph.search("new words")] == [made]
    assert graph.search("old") == []


@pytest.mark.req("SPEC-02.19", "SPEC-02.17")
def test_tier_changes_and_every_other_evolution_are_logged(graph):
    made = graph.create_node("decision", "Use SQLite")
    graph.update_node(made, tier="session", reasoning="asked twice")
    graph.update_node(made, tier="longterm")
    graph.update_node(made, content="Use SQLite with WAL", confidence=0.9)
    other = graph.create_node("entity", "SQLite")
    edge = graph.create_edge(
        "relation",
        "uses",
        [{"node_id": made, "role": "subject"}, {"node_id": other, "role": "object"}],
    )
    graph.delete_edge(edge)
    graph.delete_node(made, reasoning="superseded")
    log = [
        (e.operation, e.from_tier, e.to_tier, e.reasoning) for e in reversed(graph.evolution(made))
    ]
    assert log[:3] == [
        ("create", None, "task", None),
        ("tier", "task", "session", "asked twice"),
        ("tier", "session", "longterm", None),
    ]
    assert log[3] == ("update", None, None, "changed confidence, content")
    assert [entry[0] for entry in log[4:6]] == ["link", "unlink"]
    assert log[6] == ("tier", "longterm", "archive", "superseded")
    assert all(made in entry.node_ids for entry in graph.evolution(made))
    assert len(graph.evolution()) == len(log) + 1


def test_an_update_that_changes_nothing_is_not_logged(graph):
    made = graph.create_node("fact", "x", tier="session")
    assert graph.update_node(made, tier="session", content="x") is True
    assert len(graph.evolution(made)) == 1


@pytest.mark.req("SPEC-02.23")
def test_delete_is_soft_and_purge_is_not(graph):
    made = graph.create_node("fact", "keep the receipts")
    assert graph.delete_node(made) is True
    assert graph.delete_node(made) is False
    assert graph.get_node(made).tier == "archive"
    assert graph.query_nodes() == graph.search("receipts") == []
    assert [n.id for n in graph.query_nodes(tier="archive")] == [made]
    assert [n.id for n, _ in graph.search("receipts", tier="archive")] == [made]
    assert graph.update_node(made, tier="longterm") is True
    assert graph.search("receipts")
    assert graph.purge_node(made) is True
    assert graph.get_node(made) is None


@pytest.mark.req("SPEC-02.24")
def test_query_nodes_filters(graph):
    graph.create_nodes(
        [{"type": t, "content": f"{t} {tier} {c}", "tier": tier, "confidence": c}
         for t in ("fact", "entity") for tier in ("task", "longterm") for c in (0.2, 0.8)]
    )  # fmt: skip
    assert len(graph.query_nodes()) == 8
    assert {n.type for n in graph.query_nodes(type="fact")} == {"fact"}
    assert len(graph.query_nodes("entity", "longterm", 0.5)) == 1
    assert len(graph.query_nodes(limit=3)) == 3
    with pytest.raises(ValidationError, match="unknown tier"):
        graph.query_nodes(tier="x")
    with pytest.raises(ValidationError, match="min_confidence is 7"):
        graph.search("x", min_confidence=7)


@pytest.mark.req("SPEC-02.11", "SPEC-02.12", "SPEC-02.25", "SPEC-02.14", "SPEC-02.15")
@pytest.mark.parametrize("kind", EDGE_TYPES)
def test_every_edge_type_joins_any_number_of_nodes(graph, kind):
    ids = graph.create_nodes([{"type": "entity", "content": f"n{i}"} for i in range(5)])
    members = [{"node_id": n, "role": "participant", "position": 10 * i} for i, n in enumerate(ids)]
    edge = graph.get_edge(graph.create_edge(kind, "all of them", members, weight=2.5))
    assert (edge.type, edge.label, edge.weight) == (kind, "all of them", 2.5)
    assert [(m.node_id, m.role, m.position) for m in edge.members] == [
        (m["node_id"], m["role"], m["position"]) for m in members
    ]


@pytest.mark.req("SPEC-02.16")
def test_every_role_and_one_node_in_two_roles(graph):
    ids = graph.create_nodes([{"type": "entity", "content": f"n{i}"} for i in range(len(ROLES))])
    members = [{"node_id": n, "role": role} for n, role in zip(ids, ROLES, strict=True)]
    edge = graph.get_edge(
        graph.create_edge("relation", None, [*members, {"node_id": ids[0], "role": "object"}])
    )
    assert {m.role for m in edge.members} == set(ROLES)
    assert sum(m.node_id == ids[0] for m in edge.members) == 2


@pytest.mark.req("SPEC-02.13", "SPEC-02.36")
@pytest.mark.parametrize("weight", [-0.1, float("inf"), float("nan"), "1", True])
def test_weights_are_from_zero_up(graph, weight):
    made = graph.create_node("fact", "x")
    with pytest.raises(ValidationError, match="edge weight is"):
        graph.create_edge("relation", "l", [{"node_id": made}], weight=weight)


@pytest.mark.parametrize(
    ("kind", "members", "error", "message"),
    [
        ("likes", [{"node_id": "N"}], ValidationError, "unknown edge type 'likes'"),
        ("relation", [], ValidationError, "at least one member"),
        ("relation", [{"node_id": "missing"}], NotFound, "no node 'missing' here"),
        ("relation", [{"node_id": "N", "role": "boss"}], ValidationError, "unknown role 'boss'"),
        ("relation", [{"node_id": "N", "position": 1.5}], ValidationError, "position 1.5"),
        ("relation", [{"node": "N"}], ValidationError, "member 1 is"),
        ("relation", [{"node_id": "N", "colour": 1}], ValidationError, "unknown key 'colour'"),
        ("relation", [{"node_id": "N"}, {"node_id": "N"}], ValidationError, "twice in the role"),
    ],
)
def test_bad_edges_are_refused_and_nothing_is_made(graph, kind, members, error, message):
    made = graph.create_node("fact", "x")
    members = [{k: made if v == "N" else v for k, v in m.items()} for m in members]
    with pytest.raises(error, match=message):
        graph.create_edge(
            kind, "l", [{"node_id": made, "role": "context"}, *members] if members else []
        )
    assert graph.get_links(made) == []


@pytest.mark.req("SPEC-02.26")
def test_related_nodes_by_edge_type(graph):
    a, b, c, d = graph.create_nodes([{"type": "entity", "content": x} for x in "abcd"])
    graph.create_edge(
        "relation", "r", [{"node_id": a, "role": "subject"}, {"node_id": b, "role": "object"}]
    )
    graph.create_edge(
        "causation",
        "c",
        [{"node_id": a, "role": "cause"}, {"node_id": c, "role": "effect"}],
        weight=5,
    )
    assert [n.id for n in graph.get_related_nodes(a)] == [c, b], "the heavier edge first"
    assert [n.id for n in graph.get_related_nodes(a, "relation")] == [b]
    assert graph.get_related_nodes(a, "composition") == graph.get_related_nodes(d) == []
    assert [n.id for n in graph.get_related_nodes(b)] == [a]
    graph.delete_node(c)
    assert [n.id for n in graph.get_related_nodes(a)] == [b]
    with pytest.raises(ValidationError, match="unknown edge type 'x'"):
        graph.get_related_nodes(a, "x")


def test_a_context_edge_finds_a_turn_by_its_neighbours_words(graph):
    turns = [
        "Hello there",
        "Where did Anna move last spring?",
        "To the coast, in March.",
        "Nice weather today",
        "Something about football",
        "Goodbye",
    ]
    ids = graph.create_nodes([{"type": "experience", "content": t} for t in turns])
    alone = [n.id for n, _ in graph.search("Anna move spring")]
    assert ids[2] not in alone[:1]
    graph.create_edge(
        "context",
        "chat",
        [{"node_id": n, "role": "participant", "position": i} for i, n in enumerate(ids)],
    )
    hits = graph.search("Anna move spring", explain=True)
    assert hits[0].node.id == ids[1], "the turn that holds the words stays first"
    found = {hit.node.id: hit for hit in hits}
    assert ids[2] in found
    assert found[ids[2]].why.context[ids[1]] > 0
    assert found[ids[2]].score < hits[0].score
    assert found[ids[3]].score < found[ids[2]].score, "further away counts less"
    assert ids[5] not in found or found[ids[5]].score < found[ids[3]].score


def test_an_unordered_edge_lends_nothing(graph):
    a, b = graph.create_nodes(
        [{"type": "fact", "content": "zebra crossing"}, {"type": "fact", "content": "teapot lid"}]
    )
    graph.create_edge(
        "relation", "r", [{"node_id": a, "role": "subject"}, {"node_id": b, "role": "object"}]
    )
    graph.create_edge(
        "context", "same place", [{"node_id": a, "position": 3}, {"node_id": b, "position": 3}]
    )
    hits = graph.search("zebra crossing", explain=True)
    assert all(not hit.why.context for hit in hits)


def test_a_context_edge_lends_by_its_weight(graph):
    lent = []
    for number, weight in enumerate((0.0, 0.5, 1.0, 7.0)):
        words = f"zebra{number} crossing{number}"
        a, b = graph.create_nodes(
            [
                {"type": "fact", "content": words},
                {"type": "fact", "content": f"teapot lid {number}"},
            ]
        )
        graph.create_edge(
            "context",
            "c",
            [{"node_id": a, "position": 1}, {"node_id": b, "position": 2}],
            weight=weight,
        )
        found = {hit.node.id: hit.why.context for hit in graph.search(words, explain=True)}
        lent.append(found.get(b, {}).get(a, 0.0))
    nothing, half, whole, heavy = lent
    assert nothing == 0 < half < whole == pytest.approx(heavy, rel=0.2) and half == pytest.approx(
        whole / 2, rel=0.2
    )


def test_a_phrase_must_occur_in_order(graph):
    right, wrong = graph.create_nodes(
        [{"type": "fact", "content": "Green tea cools fast"},
         {"type": "fact", "content": "Tea that is green cools"}]
    )  # fmt: skip
    assert {hit.node.id for hit in graph.search("green tea")} == {right, wrong}
    (hit,) = graph.search('"green tea" cools')
    assert hit.node.id == right and str(hit.snippet) == "«Green» «tea» «cools» fast"
    assert graph.search('"tea green"') == []
    assert {hit.node.id for hit in graph.search('an open "green tea')} == {right, wrong}


def test_a_phrase_is_found_behind_many_near_misses(graph):
    graph.create_nodes([{"type": "fact", "content": f"tea green {i}"} for i in range(300)])
    wanted = graph.create_node(
        "fact", "somewhere in a long sentence about nothing there is green tea and more of it"
    )
    assert [hit.node.id for hit in graph.search('"green tea"')] == [wanted]
    stops = graph.create_node("fact", "to be or not to be")
    assert [hit.node.id for hit in graph.search('"to be or not"')] == [stops]


def test_an_explanation_shows_the_nodes_own_confidence(graph):
    made = graph.create_node("fact", "zebra crossing", confidence=0.2)
    (hit,) = graph.search("zebra crossing", explain=True)
    assert (hit.node.id, hit.why.confidence) == (made, 0.2)
    assert hit.why.confidence_factor == pytest.approx(0.8)
    assert hit.score == hit.why.score == pytest.approx(hit.why.similarity * 0.8)
    assert "× 0.80 for confidence 0.20" in str(hit.why) and "recency" not in str(hit.why)


def test_search_filters_reach_past_the_first_candidates(graph):
    graph.create_nodes([{"type": "fact", "content": f"apple number {i}"} for i in range(300)])
    wanted = graph.create_node(
        "decision", "an apple a day, in a much longer sentence about nothing in particular"
    )
    assert [n.id for n, _ in graph.search("apple number", type="decision")] == [wanted]


def test_purging_a_node_takes_its_empty_edges(graph):
    a, b = graph.create_nodes([{"type": "fact", "content": x} for x in "ab"])
    lone = graph.create_edge("relation", "l", [{"node_id": a}])
    pair = graph.create_edge("relation", "l", [{"node_id": a}, {"node_id": b}])
    graph.purge_node(a)
    assert graph.get_edge(lone) is None
    assert [m.node_id for m in graph.get_edge(pair).members] == [b]


def test_graphs_of_two_tenants_are_two_graphs(opener):
    one, two = (opener(tenant=Tenant("o", "t", project)).graph for project in ("one", "two"))
    mine = one.create_node("fact", "the launch code is tea")
    theirs = two.create_node("fact", "something else")
    assert two.get_node(mine) is None
    assert two.search("launch code tea") == []
    assert two.query_nodes(type="fact")[0].id == theirs
    assert two.update_node(mine, tier="archive") is two.purge_node(mine) is False
    with pytest.raises(NotFound):
        two.create_edge("relation", "x", [{"node_id": mine}, {"node_id": theirs}])
    assert two.evolution(mine) == []
    assert one.get_node(mine).tier == "task"


@pytest.mark.req("SPEC-02.33")
def test_hostile_text_stays_text(graph):
    nasty = "x'; DROP TABLE nodes; --"
    made = graph.create_node(
        "fact", nasty, subtype=nasty, provenance=nasty, metadata={nasty: nasty}
    )
    graph.create_edge("relation", nasty, [{"node_id": made}])
    assert graph.get_node(made).content == nasty
    for call in (
        lambda: graph.get_node(nasty),
        lambda: graph.search(nasty),
        lambda: graph.get_links(nasty),
    ):
        call()
    for bad in (
        lambda: graph.query_nodes(type=nasty),
        lambda: graph.get_related_nodes(made, nasty),
    ):
        with pytest.raises(ValidationError):
            bad()
    assert graph.dump().counts["nodes"] == 1


@pytest.mark.req("SPEC-02.34")
def test_content_is_cleaned_on_the_way_in(opener):
    """Whatever way it comes: escape codes, invisible marks and secrets stay outside."""
    db = opener()
    key = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN3pQ" * 4
    dirty = f"\x1b[1;31mred\x1b[0m pass\u200bword\x00 {key}"
    memory = db.get(db.add(rlm.MemoryItem(title="T", description=dirty, content=dirty)))
    node = db.graph.get_node(db.graph.create_node("fact", dirty, provenance=dirty))
    for text in (memory.description, memory.content, node.content, node.provenance):
        assert text.startswith("red password [redacted:") and key not in text


@pytest.mark.req("SPEC-02.38")
@given(sizes=st.lists(st.integers(1, 20), min_size=1, max_size=8))
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ids_are_unique_and_references_hold(db, sizes):
    graph = db.graph
    batches = [
        graph.create_nodes([{"type": "fact", "content": f"fact {i}"} for i in range(n)])
        for n in sizes
    ]
    ids = [node for batch in batches for node in batch]
    assert len(set(ids)) == len(ids)
    for batch in batches:
        graph.create_edge("composition", "batch", [{"node_id": node} for node in batch])
    for batch in batches[::2]:
        graph.purge_node(batch[0])
    assert db.db.rows("PRAGMA foreign_key_check") == []
    orphans = "SELECT count(*) FROM membership WHERE node_id NOT IN (SELECT id FROM nodes)"
    assert db.db.value(orphans) == 0
    total = db.db.value("SELECT count(*) FROM nodes")
    assert total == db.db.value("SELECT count(DISTINCT id) FROM nodes")


@pytest.mark.parametrize("wrong", [None, 7, "text", {"type": "fact"}])
def test_many_nodes_are_a_list(graph, wrong):
    with pytest.raises(ValidationError, match="use a list of objects"):
        graph.create_nodes(wrong)


def test_an_access_shows_in_every_way_to_read_a_node(graph):
    one, two = (graph.create_node("fact", text) for text in ("The sky is blue", "Snow is white"))
    edge = graph.create_edge("relation", "r", [{"node_id": one}, {"node_id": two}])
    read = graph.get_node(two)
    graph.get_node(two)
    ways = (
        {node.id: node for node in graph.query_nodes()},
        {node.id: node for node in graph.get_members(edge)},
        {node.id: node for node in graph.get_related_nodes(one)},
        {node.id: node for node in graph.dump().nodes},
    )
    assert [way[two].access_count for way in ways] == [2] * 4
    assert all(way[two].last_accessed >= read.last_accessed for way in ways)


def test_equal_facts_of_any_tier_are_merged(graph):
    ids = [graph.create_node("fact", "Grass is green", tier="session") for _ in range(2)]
    [(dropped, kept)] = graph.consolidate().merged.items()
    assert {dropped, kept} == set(ids)
    assert graph.get_node(dropped).tier == "archive"


def test_a_merge_whose_heir_was_merged_since_is_not_taken_back_before_that(graph):
    first = [graph.create_node("fact", "Snow is white") for _ in range(2)]
    other = graph.create_node("fact", "Winter is cold")
    edges = [
        graph.create_edge("relation", "r", [{"node_id": n}, {"node_id": other}]) for n in first
    ]
    one = graph.consolidate()
    [(dropped, heir)] = one.merged.items()
    graph.create_node("fact", "Snow is white", tier="longterm")
    two = graph.consolidate()
    assert heir in two.merged
    assert dropped in graph.undo(one.log_id).skipped
    assert heir not in graph.undo(two.log_id).skipped
    assert {member for edge in edges for member in graph.get_edge(edge).node_ids} == {heir, other}
