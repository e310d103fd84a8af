"""One ranking of memories and of what was said in sessions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from session_telling import tell_session

from rlm import MemoryItem
from rlm.service.memory import Memory
from rlm.service.ranking import (
    FURTHER,
    INSTEAD,
    LATER,
    SUPPORT,
    Found,
    put_later_first,
    rank_found,
)

DAYS = {"old": "2026-01-02T09:00:00Z", "new": "2026-02-02T09:00:00Z"}


def hit(name, score, session=None, turn=None, *, kind="decision", day="old", scope="project"):
    item = MemoryItem(name, "", name, session_id=session, created_at=DAYS[day], level=scope)
    memory = Memory.of_item(item, score)
    fields = memory.to_dict() | {"id": name, "kind": kind, "tags": ()}
    return Found(Memory(**fields), turn=turn, alone=score)


def names(hits):
    return [each.memory.title if isinstance(each, Found) else each.title for each in hits]


def test_a_session_is_stronger_where_more_of_it_fits():
    found = [hit("alone", 0.30, "s-1", 1), hit("best", 0.28, "s-2", 1), hit("next", 0.2, "s-2", 5)]
    first, second, third = rank_found(found)
    assert names([first, second, third]) == ["best", "alone", "next"]
    assert first.memory.score == pytest.approx((0.28 + SUPPORT * 0.2) / (1 + SUPPORT))
    assert third.memory.score == pytest.approx(0.2 / (1 + SUPPORT) * FURTHER)


def test_one_session_does_not_fill_all_places():
    much = [hit(f"piece {number}", 0.3, "s-1", number) for number in range(5)]
    assert names(rank_found([*much, hit("other", 0.2, "s-2", 1)]))[2] == "other"


def test_the_turns_of_a_rule_add_to_its_score_and_are_not_shown_beside_it():
    rule = replace(hit("rule", 0.2, "s-1", 9), settled=(3, 9))
    turns = [hit("said", 0.18, "s-1", 3, kind="turn"), hit("aside", 0.1, "s-1", 4, kind="turn")]
    found = rank_found([rule, *turns, hit("other", 0.22, "s-2", 1)])
    assert names(found) == ["rule", "other", "aside"]
    assert found[0].memory.score == pytest.approx((0.2 + SUPPORT * 0.18) / (1 + SUPPORT))


def test_a_memory_that_was_recorded_needs_no_session():
    found = [hit("note", 0.3, "s-1"), hit("best", 0.3, "s-2", 1), hit("next", 0.29, "s-2", 2)]
    assert names(rank_found(found))[0] == "note" and rank_found(found)[0].memory.score == 0.3


def test_two_memories_of_one_turn_are_both_shown_and_the_turn_is_not():
    found = [hit("one", 0.2, "s-1", 3), hit("two", 0.1, "s-1", 3)]
    turns = [hit("it", 0.4, "s-1", 3, kind="turn"), hit("else", 0.1, "s-1", 4, kind="turn")]
    assert sorted(names(rank_found([*found, *turns]))) == ["else", "one", "two"]


def test_of_two_sessions_that_fit_about_equally_the_later_comes_first():
    old, new = hit("before", 0.30, "s-1"), hit("after", 0.30 * LATER, "s-2", day="new")
    ordered = put_later_first([old, new])
    assert names(ordered) == ["after", "before"]
    assert [each.score for each in ordered] == [0.30, 0.30]


@pytest.mark.parametrize(
    "later",
    [
        hit("weak", 0.29 * LATER, "s-2", day="new"),
        hit("same session", 0.29, "s-1", day="new"),
        hit("no session", 0.29, day="new"),
        hit("how it is done", 0.29, "s-2", day="new", kind="procedure"),
        hit("of the team", 0.29, "s-2", day="new", scope="team"),
        hit("as old", 0.29, "s-2"),
    ],
    ids=lambda found: found.memory.title,
)
def test_nothing_else_passes_what_fits_better(later):
    best = hit("best", 0.30, "s-1")
    assert put_later_first([best, later]) == [best.memory, later.memory]


def test_what_its_session_lends_makes_no_decision_an_amendment():
    asked = hit("which database", 0.33, "s-2", 1, kind="turn", day="new")
    other = hit("eight seconds", 0.22, "s-2", 5, day="new")
    ranked = rank_found([hit("postgres", 0.47, "s-1", 3), asked, other])
    assert ranked[1].memory.score >= LATER * ranked[0].memory.score
    assert names(put_later_first(ranked))[0] == "postgres"


def test_what_is_far_better_than_the_one_between_is_not_passed():
    ranked = [
        hit("best", 0.6, "s-1"),
        hit("middle", 0.3, "s-2"),
        hit("last", 0.29, "s-3", day="new"),
    ]
    assert names(put_later_first(ranked)) == ["best", "last", "middle"]


def test_a_rule_that_was_amended_in_turns_is_found_before_the_older(agent, shared):
    tell_session(shared, "s-1", ["Uploads are tried three times.", "Then uploads fail."])
    asked = "how often are uploads tried before they fail"
    assert agent.search(asked)[0].source_session == "s-1"
    words = ["Uploads of partners are tried six times now.", "Before they fail, uploads wait."]
    tell_session(shared, "s-2", words, at="2026-06-04T10:00:00Z")
    found = agent.search(asked)
    assert found[0].source_session == "s-2" and "s-1" in {each.source_session for each in found}
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)


def test_what_was_settled_comes_before_the_turns_of_its_session():
    found = [hit("report", 0.30, "s-1", 1, kind="turn"), hit("rule", 0.12, "s-1", 3)]
    assert names(rank_found(found)) == ["rule", "report"]
    far = [hit("report", 0.30, "s-1", 1, kind="turn"), hit("else", 0.30 * INSTEAD / 2, "s-1", 3)]
    assert names(rank_found(far)) == ["report", "else"]


def test_a_later_turn_does_not_pass_a_decision():
    old, new = hit("rule", 0.30, "s-1"), hit("talk", 0.29, "s-2", 1, kind="turn", day="new")
    assert names(put_later_first([old, new])) == ["rule", "talk"]


def test_a_question_of_the_past_does_not_come_before_the_rule(agent, shared):
    rule = {"kind": "decision", "turn": 3}
    words = "Uploads are tried three times, then the customer is told."
    shared.add(MemoryItem("Uploads are tried three times", "", words, provenance=rule))
    tell_session(
        shared, "s-2",
        ["How often are uploads tried before the customer is told?", "Let me look."],
    )  # fmt: skip
    tell_session(shared, "s-3", ["Haha ok. How often are you told so?", "Often enough, today."])
    found = agent.search("how often are uploads tried before the customer is told")
    assert found[0].kind == "decision"
    assert "Haha ok" not in found[1].title
