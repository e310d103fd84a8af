"""The three questions of seed 000 §7.3, asked of rows as they lie in a store."""

from __future__ import annotations

import json

import pytest

from rlm.learning.insights import insights
from rlm.store.types import Judgment, MemoryItem, Run, Trajectory

pytestmark = pytest.mark.req("RB-19")


def memory(title, **more):
    more.setdefault("source_type", "success")
    return MemoryItem(title, f"About {title}.", f"- do {title}", **more)


@pytest.fixture
def run(store):
    """Store one judged run: what it was given, what it said it followed, and what came of it."""

    def save(
        *given, ok=True, steps=4, kind="subclasses", followed=None, left=(), task=None, model="small", injected=None,
        reason="",
    ):  # fmt: skip
        shown = (
            [item.memory_id for item in given][:2]
            if injected is None
            else [item.memory_id for item in injected]
        )
        artifact = {"kind": kind, "injected": shown, "reason": reason}
        if followed is not None:
            artifact["uses"] = {"followed": followed, "abandoned": list(left), "said": True}
        if task is not None:
            artifact |= {"curriculum_id": "c1", "task_id": task}
        made = Trajectory("Q?", iteration_count=steps, converged=True, artifact=artifact)
        verdict = None if ok is None else Judgment(ok, "r", "high")
        store.save_artifacts(
            Run(model=model), made, verdict, retrieved=[(item, 0.5) for item in given]
        )

    return save


@pytest.fixture
def kept(store):
    def keep(title, **more):
        item = memory(title, **more)
        store.add(item)
        return item

    return keep


def by_title(found):
    return {each.title: each for each in found.memories}


def test_an_empty_store_has_no_insights(store):
    found = insights(store)
    assert (found.trajectories, found.judged, found.success, found.memories, found.tasks) == (
        0,
        0,
        None,
        (),
        (),
    )
    json.dumps(found.to_dict())


def test_a_memory_that_saves_steps_is_named_and_helps(store, run, kept):
    good = kept("Ask once")
    for _ in range(12):
        run(good, steps=2, followed=[1])
        run(steps=5)
    found = insights(store)
    (best,) = found.fewer_steps
    assert (best.memory_id, best.verdict, best.injected, best.followed, best.said) == (
        good.memory_id, "helps", 12, 12, 12,
    )  # fmt: skip
    assert (
        2 < best.steps_with < best.steps_without <= 5
        and best.steps_seen == 2
        and best.runs_without == 12
    )
    assert not found.failing and found.success == 1


def test_three_lucky_runs_do_not_crown_a_memory(store, run, kept):
    lucky = kept("Lucky")
    for _ in range(3):
        run(lucky, steps=1)
    for number in range(20):
        run(steps=5, ok=number % 2 == 0)
    seen = by_title(insights(store))["Lucky"]
    assert seen.verdict == "unclear" and seen.success_seen == 1 and 0.5 < seen.success_with < 0.85


def test_a_memory_that_fails_is_found_and_harms(store, run, kept):
    bad, fine = kept("Wrong turn"), kept("Right turn")
    for _ in range(8):
        run(bad, ok=False, steps=2)
        run(fine, steps=2)
        run(steps=4)
    found = insights(store)
    assert [each.title for each in found.failing] == ["Wrong turn"]
    worst = found.failing[0]
    assert (
        worst.verdict == "harms"
        and worst.failures == 8
        and worst.success_with < 0.5 < worst.success_without
    )
    assert "Wrong turn" not in [each.title for each in found.fewer_steps], (
        "failing early saves nothing"
    )


def test_steps_are_those_of_runs_that_did_not_fail(store, run, kept):
    item = kept("Gives up early")
    for _ in range(6):
        run(item, ok=False, steps=1)
        run(item, steps=5)
        run(steps=5)
    found = insights(store)
    seen = by_title(found)["Gives up early"]
    assert seen.steps_seen == seen.steps_without == 5 and not found.fewer_steps


def test_what_harms_is_not_praised_for_the_runs_that_it_let_through(store, run, kept):
    item = kept("Fast and wrong")
    for number in range(12):
        run(item, ok=number % 4 == 0, steps=2)
        run(steps=6)
    found = insights(store)
    seen = by_title(found)["Fast and wrong"]
    assert seen.verdict == "harms" and seen.saved > 1 and not found.fewer_steps


def test_one_failure_among_worse_ones_is_no_reproach(store, run, kept):
    item = kept("Better than nothing")
    for number in range(10):
        run(item, ok=number > 0)
        run(ok=number > 6)
    found = insights(store)
    assert by_title(found)["Better than nothing"].failures == 1 and not found.failing


def test_three_runs_are_no_verdict_whatever_they_show(store, run, kept):
    item = kept("Three of three")
    for _ in range(3):
        run(item)
    for _ in range(30):
        run(ok=False)
    assert by_title(insights(store))["Three of three"].verdict == "unclear"


def test_a_memory_that_every_run_of_its_kind_has_is_held_against_all_runs(store, run, kept):
    bad = kept("Always there")
    for _ in range(10):
        run(bad, ok=False, kind="path")
        run(kind="describe")
    seen = by_title(insights(store))["Always there"]
    assert seen.verdict == "harms" and seen.runs_without == 0


def test_a_memory_for_hard_questions_is_not_blamed_for_them(store, run, kept):
    hard = kept("For hard ones")
    for number in range(20):
        run(kind="describe", steps=2)
        run(kind="path", ok=number % 2 == 0, steps=9)
        run(hard, kind="path", ok=number % 2 == 0, steps=9)
    seen = by_title(insights(store))["For hard ones"]
    assert seen.verdict == "unclear" and seen.success_without == pytest.approx(0.5, abs=0.1)
    assert seen.kinds == ("path",)


def test_runs_of_another_model_are_not_compared(store, run, kept):
    item = kept("Beside a slow model")
    for _ in range(10):
        run(item, steps=3)
        run(steps=3)
        run(steps=20, model="slow")
    assert by_title(insights(store))["Beside a slow model"].verdict == "unclear"


def test_what_was_retrieved_and_not_shown_counts_apart(store, run, kept):
    shown, left = kept("Shown"), kept("Left out")
    for _ in range(3):
        run(shown, left, injected=[shown])
    found = by_title(insights(store))
    assert (found["Shown"].retrieved, found["Shown"].injected) == (3, 3)
    assert (found["Left out"].retrieved, found["Left out"].injected, found["Left out"].verdict) == (
        3,
        0,
        "unclear",
    )


def test_a_run_that_was_interrupted_says_nothing_of_its_memories(store, run, kept):
    item = kept("Not to blame")
    for _ in range(6):
        run(item, ok=False, reason="interrupted")
        run(item, ok=False, reason="the model failed: 503")
        run()
    found = insights(store)
    assert found.trajectories == 6 and not found.memories


def test_unjudged_runs_count_for_steps_and_not_for_success(store, run, kept):
    item = kept("Unjudged")
    for _ in range(10):
        run(item, ok=None, steps=2)
        run(ok=None, steps=6)
    found = insights(store)
    seen = by_title(found)["Unjudged"]
    assert (found.judged, found.success, seen.judged, seen.success_seen) == (0, None, 0, None)
    assert seen.verdict == "helps" and seen.steps_with < seen.steps_without


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda store, item: store.update(item.memory_id, confidence=0.2), "low confidence"),
        (lambda store, item: store.update(item.memory_id, confidence=0.25), ""),
        (lambda store, item: store.delete(item.memory_id), "archived"),
        (lambda store, item: store.purge(item.memory_id), "gone"),
        (lambda store, item: store.update(item.memory_id, trust="quarantined"), "quarantined"),
    ],
)
def test_it_says_whether_a_memory_is_out_of_recall(store, run, kept, change, why):
    item = kept("Some memory")
    run(item)
    change(store, item)
    (seen,) = insights(store).memories
    assert (seen.recalled, seen.why_not) == (not why, why)


def test_tasks_are_ranked_by_what_other_tasks_used_again(store, run, kept):
    a = kept("From a", provenance={"source": "extracted", "curriculum_id": "c1", "task_id": "a"})
    b = kept("From b", provenance={"source": "extracted", "curriculum_id": "c1", "task_id": "b"})
    for task in "abcd":
        run(*([] if task == "c" else [a]), task=task)
    run(a)
    run(b, task="b", ok=False)
    tasks = {each.task_id: each for each in insights(store).tasks}
    assert [each.task_id for each in insights(store).tasks] == ["a", "b", "c", "d"]
    assert (
        tasks["a"].memories,
        tasks["a"].recalled,
        tasks["a"].reused,
        tasks["a"].reused_success,
    ) == (1, 1, 3, 1.0)
    assert (tasks["b"].memories, tasks["b"].reused, tasks["b"].reused_success) == (1, 0, None)
    assert (tasks["c"].runs, tasks["c"].memories) == (1, 0)
    assert b.memory_id in {each.memory_id for each in insights(store).memories}


def test_the_json_form_is_bounded_and_whole(store, run, kept):
    for number in range(5):
        run(kept(f"Memory {number}"))
    found = json.loads(json.dumps(insights(store).to_dict(2)))
    assert len(found["memories"]) == 2 and found["trajectories"] == 5
    assert {
        "verdict",
        "success_with",
        "success_without",
        "steps_with",
        "confidence",
        "recalled",
    } <= set(found["memories"][0])


def test_a_memory_that_stood_beside_the_one_that_was_followed_is_neither_praised_nor_blamed(
    store, run, kept
):
    good, idle = kept("Ask once"), kept("Look away")
    for _ in range(12):
        run(good, idle, steps=2, followed=[1])
        run(steps=5)
    found = by_title(insights(store))
    assert found["Ask once"].verdict == "helps"
    assert (
        found["Look away"].verdict,
        found["Look away"].injected,
        found["Look away"].followed,
    ) == ("unused", 12, 0)
    assert [each.title for each in insights(store).fewer_steps] == ["Ask once"]
    for _ in range(6):
        run(good, idle, steps=9, followed=[], ok=False)
    assert by_title(insights(store))["Look away"].verdict == "unused", (
        "a run that used none says nothing of it"
    )
    for _ in range(6):
        run(good, idle, steps=9, followed=[], left=[2], ok=False)
    assert by_title(insights(store))["Look away"].verdict == "harms", "but one that tried it does"


def test_a_run_that_says_it_used_none_speaks_for_no_memory(store, run, kept):
    item = kept("Ask once")
    for ok in (True, True, False):
        run(item, ok=ok, followed=[])
    found = by_title(insights(store))["Ask once"]
    assert (found.injected, found.judged, found.failures, found.success_seen, found.steps_seen) == (
        3,
        0,
        0,
        None,
        None,
    )
    run(item)
    assert by_title(insights(store))["Ask once"].judged == 1, "one that says nothing may have"


def test_what_takes_a_place_and_is_never_used_is_named(store):
    used, idle = (
        MemoryItem(f"{name} way", "How it is done.", "- `graph_stats()`")
        for name in ("Used", "Idle")
    )
    store.add_many([used, idle])
    for number in range(6):
        artifact = {
            "kind": "describe",
            "injected": [used.memory_id, idle.memory_id],
            "uses": {"followed": [1] if number % 2 else [], "abandoned": [], "said": True},
        }
        store.save_artifacts(
            Run(), Trajectory(f"q{number}", iteration_count=3, converged=True, artifact=artifact), Judgment(True, "ok"),
            retrieved=[(used, 1.0), (idle, 0.9)],
        )  # fmt: skip
    found = insights(store)
    assert [each.memory_id for each in found.unused] == [idle.memory_id]
    assert {each.memory_id: each.verdict for each in found.memories}[used.memory_id] != "unused"
    assert found.to_dict()["unused"][0]["followed"] == 0
