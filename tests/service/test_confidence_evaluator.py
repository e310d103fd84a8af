"""`ConfidenceEvaluator`: the seed's numbers, each signal a row, decay once a month whoever runs it."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from session_telling import LOCAL

from rlm import MemoryItem, MemoryStore, NotFound, clock, open_store
from rlm.service import ConfidenceEvaluator

START = clock.parse_iso("2026-01-01T00:00:00Z")


def add(store, title="Upload in parts", **more):
    return store.add(MemoryItem(title, "d", f"{title}: split the file.", **more))


@pytest.mark.req("CX-07")
def test_the_numbers_are_the_seeds(shared):
    evaluator = ConfidenceEvaluator(shared)
    one = add(shared, confidence=0.5)
    assert evaluator.on_feedback(one, helpful=True) == pytest.approx(0.8)
    assert evaluator.on_feedback(one, helpful=False, comment="too slow") == pytest.approx(0.6)
    assert evaluator.on_usage(one, task_succeeded=True) == pytest.approx(0.7)
    assert evaluator.on_usage(one, task_succeeded=False) == pytest.approx(0.6)
    assert evaluator.on_code_stability(one, reverted=False) == pytest.approx(0.8)
    rows = shared.signals(one)
    assert [row["kind"] for row in rows] == [
        "helpful", "not_helpful", "task_succeeded", "not_helpful", "unreverted",
    ]  # fmt: skip
    assert rows[1]["reason"] == "an agent: too slow"
    assert evaluator.recompute(one) == pytest.approx(shared.get(one).confidence)


def test_a_week_without_a_revert_counts_once_and_a_revert_costs_nothing(shared):
    evaluator = ConfidenceEvaluator(shared)
    one, two = add(shared, confidence=0.5), add(shared, "Other", confidence=0.5)
    assert [evaluator.on_code_stability(one, reverted=False) for _ in range(3)] == [0.7] * 3
    assert [evaluator.on_code_stability(two, reverted=True) for _ in range(3)] == [0.5] * 3
    assert [row["kind"] for row in shared.signals(two)] == ["reverted"]


@given(start=st.floats(0, 1), months=st.integers(0, 30), said=st.lists(st.booleans(), max_size=4))
def test_helpful_never_lowers_and_the_rows_give_the_confidence(start, months, said):
    with MemoryStore() as store:
        evaluator = ConfidenceEvaluator(store)
        one = add(store, confidence=start, created_at=START.isoformat())
        evaluator.decay_all(START + timedelta(days=30 * months))
        before = store.get(one).confidence
        with clock.frozen(START + timedelta(days=30 * months)):
            for helpful in (True, *said):
                after = evaluator.on_feedback(one, helpful)
                assert after >= before if helpful else after <= before
                before = after
            evaluator.decay_all()
        assert store.get(one).confidence == before
        assert evaluator.recompute(one) == pytest.approx(before)


@pytest.mark.req("CX-07")
@given(runs=st.lists(st.integers(0, 400), min_size=1, max_size=12))
def test_how_often_decay_runs_makes_no_difference(runs):
    days = sorted(runs)
    with MemoryStore() as often, MemoryStore() as once:
        for store in (often, once):
            add(store, created_at=START.isoformat())
        for day in days:
            for _ in range(2):
                ConfidenceEvaluator(often).decay_all(START + timedelta(days=day))
        ConfidenceEvaluator(once).decay_all(START + timedelta(days=days[-1]))
        values = [store.list_items()[0].confidence for store in (often, once)]
        assert values[0] == pytest.approx(values[1])
        assert values[0] == pytest.approx(max(0.0, 0.8 - 0.05 * (days[-1] // 30)))


def test_decay_counts_from_the_last_use_and_goes_on_from_zero(shared):
    evaluator = ConfidenceEvaluator(shared)
    one = add(shared, confidence=0.08, created_at=START.isoformat())
    assert len(evaluator.decay_all(START + timedelta(days=365))) == 1
    assert shared.get(one).confidence == 0.0
    assert evaluator.decay_all(START + timedelta(days=365)) == []
    with clock.frozen(START + timedelta(days=366)):
        assert evaluator.on_feedback(one, helpful=True) == pytest.approx(0.3)
        assert evaluator.decay_all() == []
    assert len(evaluator.decay_all(START + timedelta(days=366 + 31))) == 1
    assert shared.get(one).confidence == pytest.approx(0.25)


def test_what_helped_after_months_is_not_lowered_for_them(shared):
    evaluator = ConfidenceEvaluator(shared)
    one = add(shared, confidence=0.5, created_at=START.isoformat())
    with clock.frozen(START + timedelta(days=300)):
        evaluator.on_feedback(one, helpful=True)
        assert evaluator.decay_all() == [] and shared.get(one).confidence == pytest.approx(0.8)


def test_a_clock_that_went_back_changes_nothing(shared):
    add(shared, created_at=START.isoformat())
    assert ConfidenceEvaluator(shared).decay_all(START - timedelta(days=400)) == []


def test_processes_that_decay_at_once_take_each_month_once(tmp_path):
    path = tmp_path / "memory.db"
    with open_store(path, tenant=LOCAL, embedder="none") as store:
        for number in range(40):
            add(store, f"Upload {number}", created_at=START.isoformat())
        code = (
            "import sys; from rlm import Tenant, clock, open_store\n"
            "from rlm.service import ConfidenceEvaluator\n"
            "store = open_store(sys.argv[1], tenant=Tenant('acme', 'web', 'shop'),"
            " embedder='none')\n"
            "at = clock.parse_iso('2026-03-15T00:00:00Z')\n"
            "print(len(ConfidenceEvaluator(store).decay_all(at)))"
        )
        line = [sys.executable, "-c", code, str(path)]
        running = [subprocess.Popen(line, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        counts = [int(each.communicate(timeout=60)[0]) for each in running]
        assert sum(counts) == 40
        for item in store.list_items():
            assert item.confidence == pytest.approx(0.7)
            assert len(store.signals(item.memory_id)) == 1


@pytest.mark.parametrize("call", ["on_feedback", "on_usage", "on_code_stability"])
def test_a_memory_that_is_not_there_is_not_found(shared, call):
    with pytest.raises(NotFound, match="no memory '0000000000000000' here"):
        getattr(ConfidenceEvaluator(shared), call)("0" * 16, True)
    with pytest.raises(NotFound):
        ConfidenceEvaluator(shared).recompute("0" * 16)


def test_a_session_counts_once_by_its_first_word(shared):
    evaluator, one = ConfidenceEvaluator(shared), add(shared, confidence=0.6)
    for succeeded in (True, False, True):
        assert evaluator.on_usage(one, succeeded, "s1") == pytest.approx(0.7)
    item = shared.get(one)
    assert (item.success_count, item.failure_count) == (1, 0)
    assert evaluator.on_usage(one, False, "s2") == pytest.approx(0.6)
