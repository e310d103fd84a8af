"""`why`: session and turn, signals, the chain of decisions, factors and near misses."""

from __future__ import annotations

import pytest
from session_telling import tell_session

from rlm import MemoryItem, NotFound

OLD, NEW = "The threshold applies before merging.", "The threshold applies after merging."


def decide(store, text, session, **stated):
    provenance = {"kind": "decision", **stated}
    item = MemoryItem("Threshold", "d", text, provenance=provenance, session_id=session)
    return store.add(item)


@pytest.mark.req("CX-01")
def test_a_decision_tells_its_turn_its_signals_and_what_it_replaced(agent, person, shared):
    turns = tell_session(shared, "s-2", ["hm", NEW])
    first = decide(shared, "No threshold.", "s-0")
    old = decide(shared, OLD, "s-1", supersedes=[first])
    new = decide(shared, NEW, "s-2", supersedes=[old], turn_node=turns[1])
    shared.update(first, provenance={"kind": "decision", "superseded_by": old})
    shared.delete(first)
    agent.feedback(new, helpful=True, comment="fixed the import")

    found = agent.why(new)
    assert found["memory"]["source_session"] == "s-2"
    assert (found["turn"]["id"], found["turn"]["n"]) == (turns[1], 1)
    assert [row["reason"] for row in found["signals"]] == ["an agent: fixed the import"]
    assert found["recomputed_confidence"] == found["memory"]["confidence"] == 1.0
    assert [each["id"] for each in found["supersedes"]] == [old, first]
    assert found["superseded_by"] == []
    assert [each["id"] for each in person.why(first)["superseded_by"]] == [old]


def test_a_chain_that_is_a_circle_or_names_what_is_gone_ends(agent, shared):
    one = decide(shared, OLD, "s-1", supersedes=["0" * 16])
    two = decide(shared, NEW, "s-2", supersedes=[one])
    shared.update(one, provenance={"kind": "decision", "supersedes": [two, "0" * 16, 7, None]})
    chain = agent.why(two)["supersedes"]
    assert [(each["id"], each["title"]) for each in chain] == [
        (one, "Threshold"),
        ("0" * 16, None),
    ]


def test_a_query_gets_factors_and_near_misses(agent, shared):
    for number in range(7):
        agent.record(f"Cache rule {number}", f"Cache the build number {number}.", kind="decision")
    found = agent.why("cache the build", limit=2)
    assert (len(found["hits"]), len(found["near_misses"])) == (2, 3)
    scores = [each["score"] for each in found["hits"] + found["near_misses"]]
    assert scores == sorted(scores, reverse=True)
    assert found["hits"][0]["why"]["matched"] and "source_session" in found["hits"][0]
    with shared.together():  # counts that wait are written
        pass
    assert {item.access_count for item in shared.list_items()} == {0}


def test_a_turn_tells_its_neighbours(agent, shared):
    turns = tell_session(shared, "s-2", ["hm", NEW])
    assert "[0] user: hm" in agent.why(turns[1])["memory"]["content"]


@pytest.mark.parametrize("each", ["0" * 16, "00000000-0000-0000-0000-000000000000"])
def test_what_looks_like_an_id_is_no_question(agent, each):
    with pytest.raises(NotFound):
        agent.why(each)
