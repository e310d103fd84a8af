"""Rows of a result behind a key: read by number, in whole rows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import HandleError
from rlm.handles import Meter, Ref, Store, from_wire, reader, to_wire

VALUES = st.one_of(st.text(), st.integers(-(10**6), 10**6), st.booleans())
ROWS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3), max_size=30)


@given(ROWS, st.integers(-40, 40), st.none() | st.integers(-40, 40))
def test_any_rows_are_what_a_list_would_give(rows, start, stop):
    with Store() as store:
        ref = store.put(rows, "results", columns=["a", "b", "c"])
        assert ref.rows == len(rows) and ref.columns == ("a", "b", "c")
        assert store.rows(ref, start, stop) == rows[start:stop]
        assert store.rows(ref) == store.get(ref) == rows


@given(ROWS, st.integers(1, 300))
def test_a_page_with_a_bound_has_whole_rows_and_at_least_one(rows, most):
    with Store() as store:
        ref = store.put(rows, "results", columns=["a"])
        found = []
        while len(found) < len(rows):
            page = store.rows(ref, len(found), most_chars=most)
            assert page
            assert len(page) == 1 or sum(len(str(row)) for row in page) <= 8 * most
            found += page
        assert found == rows


def test_what_is_no_result_has_no_rows():
    with Store() as store:
        for ref in (store.put("text"), store.put([{"a": 1}], "results")):
            with pytest.raises(HandleError, match="holds no rows"):
                store.rows(ref)
        ref = store.put([{"a": 1}], "results", columns=["a"], about={"query": "SELECT"})
        assert store.about(ref) == {"query": "SELECT"}


def test_a_result_crosses_the_pipe_with_its_rows_and_columns():
    ref = Ref("results_0", "results", 30, "x", 3, ("a", "b"))
    inner = {"key": "results_0", "dtype": "results", "sz": 30, "prev": "x"}
    wire = {"$ref": {**inner, "rows": 3, "columns": ["a", "b"]}}
    assert to_wire(ref) == wire and from_wire(wire) == ref
    for broken in ({"rows": -1}, {"rows": "3"}, {"columns": "ab"}, {"columns": [1]}, {"more": 1}):
        odd = {"$ref": {**wire["$ref"], **broken}}
        assert from_wire(odd) == odd, "what only looks like a handle is data"
    for missing in ("rows", "columns"):
        odd = {"$ref": {name: value for name, value in wire["$ref"].items() if name != missing}}
        assert from_wire(odd) == odd


def test_pages_are_bounded_and_counted_but_are_no_leak():
    with Store() as store:
        meter = Meter()
        page = reader(store, meter)["rows.page"]
        ref = store.put([{"a": "x" * 100_000} for _ in range(5)], "results", columns=["a"])
        assert len(page(ref, 0, 5)) == 2, "a quarter of a million characters at most"
        report = meter.report()
        assert report["by_tool"]["rows.page"]["calls"] == 1
        assert report["total_chars_returned"] > 200_000 and report["max_single_return"] == 0
        for odd in ("0", True, 1.5):
            with pytest.raises(HandleError, match="use a whole number"):
                page(ref, odd, 1)
        with pytest.raises(HandleError, match="no payload"):
            page("results_9", 0, 1)
