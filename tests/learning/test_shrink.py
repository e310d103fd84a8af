"""Few runs prove little, many prove what they show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.learning.insights import LEAST_RUNS, PRIOR_RUNS, SURE, mean_gap, rate_gap, shrink

pytestmark = pytest.mark.req("RB-19")
RATES = st.floats(0, 1)


@given(RATES, RATES, st.integers(1, 10**6))
def test_what_is_shrunk_lies_between_prior_and_observed(observed, prior, runs):
    made = shrink(observed * runs, runs, prior)
    low, high = sorted((prior, observed * runs / runs))
    assert low <= made <= high


@given(st.floats(0, 1000), st.floats(0, 1000), st.integers(1, 10**4), st.integers(1, 10**4))
def test_more_data_moves_toward_what_was_observed(observed, prior, runs, more):
    few, many = (abs(shrink(observed * n, n, prior) - observed) for n in (runs, runs + more))
    assert many <= few + 1e-6


@given(RATES)
def test_no_data_is_the_prior(prior):
    assert shrink(0, 0, prior) == prior


def test_the_prior_counts_as_so_many_runs():
    assert shrink(PRIOR_RUNS, PRIOR_RUNS, 0.0) == pytest.approx(0.5)
    assert shrink(3, 3, 0.5) == pytest.approx((3 + 0.5 * PRIOR_RUNS) / (3 + PRIOR_RUNS))


def test_three_lucky_runs_crown_nothing_and_thirty_do():
    def gap(runs, base=0.6, base_runs=40):
        return rate_gap(shrink(runs, runs, base), runs, base, base_runs)

    assert 0 < gap(3) < SURE <= gap(30)
    assert LEAST_RUNS > 3


@given(st.floats(1, 30), st.integers(0, 100), st.integers(0, 100), st.floats(0, 10))
def test_a_mean_that_equals_its_base_is_no_gap(mean, runs, others, spread):
    assert mean_gap(mean, runs, mean, others, spread) == 0
    assert (
        mean_gap(mean + 1, runs, mean, others, spread)
        > 0
        > mean_gap(mean - 1, runs, mean, others, spread)
    )
