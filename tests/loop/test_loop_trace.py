"""What is kept of the calls of a run."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.handles import Meter, Store, View
from rlm.loop.trace import FIRST_CALLS, MOST_CALLS, QUERY_CHARS, Trace, names_in
from rlm.tools import Toolbox

IRI = "http://example.org/a#Thing"


@pytest.fixture
def trace():
    return Trace()


def watched(trace, function):
    box = Toolbox()
    box.add(function, Meter())
    return trace.watch(box.functions)[function.__name__]


def test_a_call_is_kept_with_its_arguments_by_name_and_the_names_it_returned(trace):
    def search(query: str, limit: int = 10):
        return [{"uri": IRI, "curie": "ex:Thing", "label": "a thing: really"}]

    assert watched(trace, search)("thing", limit=3)[0]["curie"] == "ex:Thing"
    (call,) = trace.calls
    assert (call.tool, call.args, call.ok, call.rows) == (
        "search",
        {"query": "thing", "limit": 3},
        True,
        1,
    )
    assert call.iris == {IRI, "ex:Thing"}


def test_a_count_of_a_class_is_that_with_its_subclasses(trace):
    def sparql_peek(resource: str):
        return {"uri": resource, "count": 0, "count_with_subclasses": 3}

    watched(trace, sparql_peek)("ex:Bee")
    (call,) = trace.calls
    assert (call.rows, call.value) == (3, 3)


def test_a_failed_call_is_kept_and_still_raises(trace):
    def describe(uri: str):
        raise LookupError(f"no term {uri}")

    with pytest.raises(LookupError):
        watched(trace, describe)("ex:None")
    with pytest.raises(TypeError):
        watched(trace, describe)("ex:None", wrong=1)
    assert [(call.ok, call.iris) for call in trace.calls] == [(False, frozenset())] * 2
    assert trace.calls[0].error == "LookupError: no term ex:None"


def test_a_handle_is_kept_by_its_key_and_never_its_payload(trace):
    with Store() as handles:
        ref = handles.put([{"x": "ex:Secret"}] * 40, "results")

        def sparql_query(query: str):
            return ref

        def sparql_slice(ref_or_key):
            return {"rows": [{"x": "ex:One"}], "total": 40, "has_more": True}

        watched(trace, sparql_query)("q" * 50_000)
        watched(trace, sparql_slice)(ref)
        watched(trace, sparql_slice)(View(ref.key, 0, ref.sz))
    asked, read, again = trace.calls
    assert asked.key == read.key == again.key == ref.key and read.rows == 40
    assert len(asked.args["query"]) == QUERY_CHARS
    assert "ex:Secret" not in repr(trace) and read.iris == {"ex:One"}


def test_of_very_many_calls_the_first_and_the_last_are_kept(trace):
    def tick(n: int):
        return f"ex:n{n}"

    tool = watched(trace, tick)
    for n in range(MOST_CALLS + 50):
        tool(n)
    numbers = [call.args["n"] for call in trace.calls]
    assert len(numbers) == MOST_CALLS and trace.dropped == 50
    assert numbers[:FIRST_CALLS] == list(range(FIRST_CALLS)) and numbers[-1] == MOST_CALLS + 49
    assert len(set().union(*(call.iris for call in trace.all_calls()))) == MOST_CALLS + 50


def test_many_threads_lose_no_call(trace):
    def tick(n: int):
        return n

    tool = watched(trace, tick)
    threads = [threading.Thread(target=lambda: [tool(n) for n in range(20)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(trace.calls) == 160 and {call.value for call in trace.calls} == set(range(20))


@given(st.text())
def test_any_text_can_be_read_for_names(text):
    assert all(":" in name for name in names_in(text))


def test_names_are_found_as_they_stand():
    text = f'see <{IRI}>, prov:Activity. and "http://e.org/x" at 12:30 (skos:Concept); note: this'
    assert names_in(text) == {IRI, "prov:Activity", "http://e.org/x", "skos:Concept"}
