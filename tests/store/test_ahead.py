"""One step ahead: the same results in the same order, and errors where the caller can see them."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.store.sqlite.ahead import one_ahead


@given(st.lists(st.integers(), max_size=20))
def test_it_is_map(pieces):
    assert list(one_ahead(lambda n: n * 2, pieces)) == [n * 2 for n in pieces]


def test_the_next_is_made_while_this_one_is_used():
    started = threading.Event()
    results = one_ahead(lambda n: started.set() if n == 1 else n, [0, 1])
    assert next(results) == 0
    assert started.wait(5), "the second piece is begun before it is asked for"


def test_an_error_is_raised_at_its_place():
    results = one_ahead(lambda n: 1 // n, [1, 0, 1])
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_stopping_early_leaves_no_thread():
    before = threading.active_count()
    results = one_ahead(lambda n: n, [1, 2, 3])
    next(results)
    results.close()
    assert threading.active_count() == before
