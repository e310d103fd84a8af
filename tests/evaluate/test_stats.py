"""Intervals that hold where there is little to go by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.evaluate.stats import (
    bootstrap_change,
    bootstrap_mean,
    change,
    mean,
    paired_difference,
    wilson,
)

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


@pytest.mark.parametrize(
    ("successes", "count", "low", "high"),
    [(10, 10, 0.722, 1.0), (0, 10, 0.0, 0.278), (15, 20, 0.531, 0.888), (1, 2, 0.095, 0.905)],
)
def test_wilson_is_what_the_books_say(successes, count, low, high):
    assert wilson(successes, count) == pytest.approx((low, high), abs=0.001)


@given(st.integers(1, 500), st.data())
def test_wilson_holds_the_share_and_stays_within_bounds(count, data):
    successes = data.draw(st.floats(0, count))
    low, high = wilson(successes, count)
    assert 0 <= low <= successes / count <= high <= 1 and low < high


def test_wilson_of_nothing_is_everything():
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize(("base", "better"), [(0.5, 0.0), (0.7, 0.2), (0.9, 0.05), (0.95, 0.0)])
def test_the_interval_of_a_difference_holds_the_truth_as_often_as_it_says(base, better):
    """Tasks differ in difficulty, so the two arms go together, as they do in an evaluation."""
    rng = np.random.default_rng(7)
    held, times, tasks = 0, 500, 20
    for _ in range(times):
        luck = rng.random(tasks)
        first, second = (luck < base + better).astype(float), (luck < base).astype(float)
        low, high = paired_difference(first.tolist(), second.tolist())
        held += low <= better <= high
    assert held / times >= 0.94


@given(PAIRS)
def test_a_difference_lies_in_its_interval_which_is_never_a_point(pairs):
    first, second = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    low, high = paired_difference(first, second)
    assert -1 <= low <= mean(first) - mean(second) <= high <= 1 and low < high
    assert paired_difference(second, first) == pytest.approx((-high, -low))


@settings(max_examples=20)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=40))
def test_a_bootstrap_holds_its_mean_and_repeats(values):
    low, high = bootstrap_mean(values)
    assert min(values) <= low <= high <= max(values)
    assert (low, high) == bootstrap_mean(values)


def test_a_relative_change_is_of_the_means():
    first, second = [2.0, 2.0, 3.0], [4.0, 5.0, 5.0]
    assert change(first, second) == pytest.approx(-0.5)
    low, high = bootstrap_change(first, second)
    assert -0.7 < low <= -0.5 <= high < -0.3
    assert change([], []) == 0 and bootstrap_change([], []) == bootstrap_change([1.0], [0.0]) == (
        0,
        0,
    )
    assert bootstrap_mean([]) == (0, 0)
