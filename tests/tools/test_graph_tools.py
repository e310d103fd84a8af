"""The hypergraph as the REPL sees it (seed 004)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.errors import LimitExceeded, NotFound, RLMError, ValidationError
from rlm.handles import Meter
from rlm.loop.trace import render_value
from rlm.store.open import open_store
from rlm.tools import RecalledTexts, graph_tools, memory_tools
from rlm.tools.graph import NODE_CHARS, WRITES_PER_RUN


@pytest.fixture
def call(db, meter):
    box = graph_tools(db, meter)
    return lambda name, *args, **kw: box.functions[name](*args, **kw)


@pytest.mark.req("SPEC-02.28", "SPEC-02.27")
def test_a_fact_is_noted_and_found(call, db):
    made = call("memory_add_fact", "Zebras have stripes", confidence=0.9)
    node = db.graph.get_node(made)
    assert (node.type, node.content, node.confidence, node.tier, node.provenance) == (
        *("fact", "Zebras have stripes", 0.9),
        *("task", "repl"),
    )
    assert call("memory_query", "zebra stripes") == [
        {"id": made, "type": "fact", "content": "Zebras have stripes", "confidence": 0.9}
    ]
    assert db.graph.get_node(call("memory_add_fact", "Lions have manes")).confidence == 0.6


@pytest.mark.req("SPEC-02.29")
@pytest.mark.parametrize(("success", "confidence"), [(True, 0.6), (False, 0.5)])
def test_an_experience_keeps_its_outcome(call, db, success, confidence):
    made = call(
        "memory_add_experience", "Asked for every zebra", "the query took a minute", success
    )
    node = db.graph.get_node(made)
    assert (node.type, node.metadata) == (
        "experience",
        {"outcome": "the query took a minute", "success": success},
    )
    assert call("memory_query", "zebra") == [
        {
            "id": made,
            "type": "experience",
            "content": "Asked for every zebra",
            "confidence": confidence,
            "outcome": "the query took a minute",
            "success": success,
        }
    ]


@pytest.mark.req("SPEC-02.30")
def test_the_context_is_what_was_noted_last(call, db):
    made = [call("memory_add_fact", f"Fact number {n}") for n in range(12)]
    db.graph.delete_node(made[-1])
    shown = call("memory_get_context")
    assert [node["id"] for node in shown] == made[-2:-12:-1]
    assert [node["id"] for node in call("memory_get_context", 2)] == made[-2:-4:-1]


@pytest.mark.req("SPEC-02.31")
def test_two_nodes_are_related(call, db):
    one, two = call("memory_add_fact", "It rains"), call("memory_add_fact", "Streets are wet")
    edge = db.graph.get_edge(call("memory_relate", "causes", one, two))
    assert (edge.type, edge.label) == ("relation", "causes")
    assert [(member.node_id, member.role) for member in edge.members] == [
        (one, "subject"),
        (two, "object"),
    ]
    assert [node.id for node in db.graph.get_related_nodes(one)] == [two]


@pytest.mark.req("SPEC-02.31")
def test_what_is_not_there_is_not_related(call, db):
    one = call("memory_add_fact", "It rains")
    for missing in ("nope", "\ud800"):
        with pytest.raises((NotFound, ValidationError), match=r"no node|subject_id"):
            call("memory_relate", "causes", missing, one)
    assert db.graph.get_links(one) == []


@pytest.mark.req("SPEC-02.27", "SPEC-02.30")
def test_long_nodes_are_cut_and_limits_hold(call, db):
    db.graph.create_nodes(
        [{"type": "snippet", "content": f"zebra {n} " + "x" * 1000} for n in range(25)]
    )
    for name, args in (("memory_query", ("zebra",)), ("memory_get_context", ())):
        shown = call(name, *args)
        assert len(shown) == 10
        assert all(len(node["content"]) == NODE_CHARS == 200 for node in shown)
        assert all(node["content"].endswith("x…") for node in shown)
        assert len(call(name, *args, limit=20)) == 20
        with pytest.raises(ValidationError, match="limit is 21: use 1 to 20"):
            call(name, *args, limit=21)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("memory_query", ("",), "query is empty"),
        ("memory_query", (7,), "query is int: use text"),
        ("memory_query", ("x", 0), "limit is 0"),
        ("memory_add_fact", ("  ",), "content is empty"),
        ("memory_add_fact", ("x" * 4001,), "content has 4,001 characters, at most 4,000"),
        ("memory_add_fact", ("x", 1.5), "confidence is 1.5: use a number from 0 to 1"),
        ("memory_add_experience", ("x", "", True), "outcome is empty"),
        ("memory_add_experience", ("x", "y", "yes"), "success is 'yes': use True or False"),
        ("memory_relate", ("", "a", "b"), "label is empty"),
        ("memory_relate", ("causes", None, "b"), "subject_id is NoneType: use text"),
    ],
)
@pytest.mark.req("SPEC-02.28", "SPEC-02.29", "SPEC-02.31")
def test_a_wrong_argument_is_told_what_is_right(call, db, name, args, message):
    with pytest.raises(ValidationError, match=message):
        call(name, *args)
    assert db.graph.query_nodes() == []


@pytest.mark.parametrize("recall", [("memory_query", "zebras stripes"), ("memory_get_context",)])
def test_what_was_recalled_is_not_noted_again(call, db, recall):
    fact = "Zebras have stripes, which keep the flies away from them in the heat of the day"
    call("memory_add_fact", fact)
    call(*recall)
    for name, args in (
        ("memory_add_fact", (fact.upper(),)),
        ("memory_add_experience", (fact, "it is so", True)),
        ("memory_add_experience", ("I looked", fact, True)),
    ):
        with pytest.raises(ValidationError, match="repeats text that was recalled from memory"):
            call(name, *args)
    assert len(db.graph.query_nodes()) == 1
    assert call("memory_add_fact", "Zebras run in herds")


def test_both_rooms_can_share_what_was_recalled(db, meter):
    recalled = RecalledTexts()
    box = graph_tools(db, meter, recalled=recalled) | memory_tools(db, meter, recalled=recalled)
    box.functions["memory_add_fact"](
        "Ask for the class before you ask for its instances, or wait for an hour"
    )
    [node] = box.functions["memory_get_context"]()
    with pytest.raises(ValidationError, match="repeats text"):
        box.functions["mem_add"]("Mine", "d", node["content"])


def test_a_run_may_write_so_much(call, db):
    ids = [call("memory_add_fact", f"Fact {n}") for n in range(WRITES_PER_RUN - 1)]
    call("memory_relate", "next", ids[0], ids[1])
    for name, args in (
        ("memory_add_fact", ("one more",)),
        ("memory_relate", ("next", ids[1], ids[2])),
    ):
        with pytest.raises(
            LimitExceeded, match="200 notes were stored in this run, which is the most"
        ):
            call(name, *args)
    assert len(db.graph.query_nodes(limit=1000)) == WRITES_PER_RUN - 1


def test_a_json_store_has_a_graph_too(tmp_path, meter):
    with open_store(f"json:{tmp_path / 'memory.json'}", embedder="none") as backend:
        tools = graph_tools(backend, meter).functions
        tools["memory_add_fact"]("Tea is hot")
        assert "Tea is hot" in str(tools["memory_query"]("tea"))


PARTS = st.text(st.characters() | st.sampled_from('zebra "\\\n\x1b'), min_size=1, max_size=60)
WORDS = st.builds(lambda part, times: part * times, PARTS, st.integers(1, 30))


@pytest.mark.req("SPEC-02.27", "SPEC-02.30")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    contents=st.lists(st.tuples(WORDS, WORDS, st.booleans()), max_size=6),
    query=WORDS,
    limit=st.integers(-1, 25),
)
def test_whatever_is_asked_the_returns_stay_under_their_caps(db, contents, query, limit):
    tools = graph_tools(db, Meter()).functions
    for content, outcome, success in contents:
        try:
            tools["memory_add_experience"](f"zebra {content}", outcome, success)
        except RLMError:
            continue
    for name, args in (
        ("memory_query", (f"zebra {query}", limit)),
        ("memory_get_context", (limit,)),
    ):
        try:
            shown = tools[name](*args)
        except RLMError:
            assert not 1 <= limit <= 20
            continue
        assert len(shown) <= limit
        assert all(len(render_value(node["content"])) <= NODE_CHARS for node in shown)
        assert len(render_value(shown)) <= 2 + limit * 480
