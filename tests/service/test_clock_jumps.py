"""A clock that jumps, back by a day or ahead by a year, holds up and loses nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from transcript_making import ClaudeTranscript

from rlm import MemoryItem, clock
from rlm.llm import ScriptedClient
from rlm.service import Caps, ConfidenceEvaluator, Distiller

NOW = clock.parse_iso("2026-11-18T12:00:00Z")
DAY, YEAR = timedelta(days=1), timedelta(days=365)
NOTHING = '{"decisions": [], "items": []}'


def queue(store, folder, session="s1", rule="Always round half up."):
    made = ClaudeTranscript(session).user("Look").says("I see.").user(rule).says("Done.")
    Distiller(store).queue_session(path=made.write(folder))


@pytest.mark.parametrize("jump", [-DAY, -YEAR, DAY, YEAR])
def test_a_lease_that_a_killed_worker_left_runs_out_whatever_the_clock_says(shared, tmp_path, jump):
    with clock.frozen(NOW):
        queue(shared, tmp_path)
        assert shared.lease_job(900).attempts == 1
        assert shared.lease_job(900) is None
    with clock.frozen(NOW + jump):
        assert Distiller(shared).process().distilled == 1


@pytest.mark.parametrize("jump", [DAY, YEAR])
def test_what_was_queued_or_put_off_by_a_clock_that_was_ahead_is_still_due(shared, tmp_path, jump):
    with clock.frozen(NOW + jump):
        queue(shared, tmp_path, "queued")
        queue(shared, tmp_path, "failed")
        retry_at = (clock.now() + timedelta(hours=6)).isoformat()
        shared.fail_job(shared.lease_job(), "busy", retry_at=retry_at)
    with clock.frozen(NOW):
        assert Distiller(shared).process().distilled == 2


def test_a_worker_whose_clock_jumps_in_mid_session_finishes_it_or_leaves_it_to_another(
    shared, tmp_path
):
    with clock.frozen(NOW):
        queue(shared, tmp_path)
        slow = shared.lease_job(900)
    with clock.frozen(NOW - DAY):
        assert Distiller(shared).process().distilled == 1
        with pytest.raises(Exception, match="no longer leased"):
            shared.finish_job(slow, [MemoryItem("Late", "", "Too late.")])
    assert [item.title for item in shared.list_items()] == ["Always round half up."]


@pytest.mark.parametrize("jump", [-DAY, YEAR])
def test_the_caps_of_a_day_hold_and_lock_nobody_out(shared, tmp_path, jump):
    client = ScriptedClient([NOTHING], repeat_last=True)

    def distil(day, count):
        with clock.frozen(day):
            for number in range(count):
                queue(shared, tmp_path, f"{day:%Y%m%d}-{len(client.calls)}-{number}")
            return Distiller(shared, client, Caps(calls=2)).process()

    assert distil(NOW, 3).capped == 1 and len(client.calls) == 2
    assert distil(NOW + jump, 3).capped == 1 and len(client.calls) == 4, "another day, its own cap"
    assert distil(NOW, 1).capped == 1 and len(client.calls) == 4, "back: today was spent"
    assert distil(NOW + DAY + DAY, 1).capped == 0 and len(client.calls) == 5


def test_months_that_did_not_pass_are_given_back(shared):
    """The clock is a year ahead while memories decay; then it is right again."""
    with clock.frozen(NOW):
        fresh = shared.add(MemoryItem("Fresh", "", "New.", confidence=0.3))
        old = shared.add(
            MemoryItem("Old", "", "Old.", created_at=(NOW - timedelta(days=65)).isoformat())
        )
        evaluator = ConfidenceEvaluator(shared)
        evaluator.decay_all()
        before = {each: shared.get(each).confidence for each in (fresh, old)}
        assert before == pytest.approx({fresh: 0.3, old: 0.7})
    for _ in range(2):
        with clock.frozen(NOW + YEAR):
            evaluator.decay_all()
            assert shared.get(fresh).confidence == 0.0 and evaluator.decay_all() == []
        with clock.frozen(NOW):
            assert {each.memory_id for each in evaluator.decay_all()} == {fresh, old}
            assert evaluator.decay_all() == []
        after = {each: shared.get(each).confidence for each in (fresh, old)}
        assert after == pytest.approx(before)
        assert after == pytest.approx({each: evaluator.recompute(each) for each in after})
    with clock.frozen(NOW + timedelta(days=31)):
        evaluator.decay_all()
        assert shared.get(fresh).confidence == pytest.approx(0.25), "a month that did pass counts"
