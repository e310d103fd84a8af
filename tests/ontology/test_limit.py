"""LIMIT enforcement changes how many solutions a query has, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from corpus_queries import ASKS, DATA, GRAPHS, NAMED, PREFIXES, QUERIES, SELECTS, WORDS, Query
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import DefaultGraph, NamedNode, QueryBoolean, QuerySolutions, RdfFormat, Store
from rdflib.plugins.sparql.parser import parseQuery

from all_cases import all_cases
from rlm.errors import QueryRefused
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.worker import Worker
from rlm.ontology.query.guard import enforce_limit

LIMITS = (0, 1, 2, 3, 5, 1000)


def _id(query: Query) -> str:
    return query.name


@pytest.fixture(scope="module")
def data() -> Store:
    store = Store()
    store.load(DATA.encode(), RdfFormat.TURTLE)
    for graph, text in NAMED.items():
        store.load(text.encode(), RdfFormat.TURTLE, to_graph=NamedNode(graph))
    assert len(list(store.quads_for_pattern(None, None, None, DefaultGraph()))) > 30
    return store


def _rows(store: Store, text: str) -> list[tuple[str, ...]]:
    solutions = store.query(text)
    assert isinstance(solutions, QuerySolutions)
    return [tuple(str(solution[name]) for name in solutions.variables) for solution in solutions]


def _triples(store: Store, text: str) -> set[str]:
    return {str(triple) for triple in store.query(text)}


def test_the_corpus_is_large_enough() -> None:
    names = [query.name for query in QUERIES]
    assert len(names) >= 60
    assert len(set(names)) == len(names)
    assert all(query.by_hand for query in GRAPHS)


@pytest.mark.req("UT-04")
@all_cases("query", SELECTS + WORDS, ids=_id)
def test_rows_are_the_first_of_the_unlimited_query(query: Query, data: Store) -> None:
    whole = _rows(data, query.text)
    for limit in (*LIMITS, len(whole), max(len(whole) - 1, 0)):
        assert _rows(data, enforce_limit(query.text, limit)) == whole[:limit], limit


@pytest.mark.req("UT-04")
@pytest.mark.parametrize("query", GRAPHS, ids=_id)
def test_graphs_are_those_of_a_limit_put_by_hand(query: Query, data: Store) -> None:
    for limit in LIMITS:
        limited = enforce_limit(query.text, limit)
        assert _triples(data, limited) == _triples(data, query.limited_by_hand(limit)), limit
    assert _triples(data, enforce_limit(query.text, 1000)) == _triples(data, query.text)


@pytest.mark.req("UT-04")
@pytest.mark.parametrize("query", ASKS, ids=_id)
def test_ask_is_left_alone(query: Query, data: Store) -> None:
    assert enforce_limit(query.text, 0) == query.text
    assert isinstance(data.query(query.text), QueryBoolean)


@all_cases("query", [query for query in QUERIES if not query.lenient], ids=_id)
def test_the_limited_query_is_sparql_to_another_parser(query: Query) -> None:
    before = parseQuery(query.text)
    for limit in (0, 10):
        after = parseQuery(enforce_limit(query.text, limit))  # raises for what is no SPARQL
        assert after[1].name == before[1].name


@all_cases("query", QUERIES, ids=_id)
def test_everything_else_stays_in_the_text(query: Query) -> None:
    limited = enforce_limit(query.text, 4242)
    if query.own is None and query not in ASKS:
        assert (
            limited.replace("LIMIT 4242 ", "", 1) == query.text
            or limited.replace(" LIMIT 4242", "", 1) == query.text
        )
    elif query.own is not None and query.own > 4242:
        assert len(limited) <= len(query.text)
    else:
        assert limited == query.text


@given(st.sampled_from(QUERIES), st.integers(0, 10**25), st.integers(0, 10**25))
def test_enforcing_twice_is_enforcing_the_smaller(query: Query, first: int, second: int) -> None:
    once = enforce_limit(query.text, first)
    assert enforce_limit(once, first) == once
    assert enforce_limit(once, second) == enforce_limit(query.text, min(first, second))


@given(st.integers(0, 10**40), st.integers(0, 2000), st.sampled_from(["", "0", "000"]))
def test_an_own_limit_gives_way_to_a_smaller_one_only(own: int, limit: int, zeros: str) -> None:
    limited = enforce_limit(f"SELECT * {{ ?s ?p ?o }} LIMIT {zeros}{own} OFFSET 3", limit)
    assert (
        limited
        == f"SELECT * {{ ?s ?p ?o }} LIMIT {limit if limit < own else zeros + str(own)} OFFSET 3"
    )


def test_a_limit_of_more_digits_than_an_int_may_have() -> None:
    assert enforce_limit("SELECT * {} LIMIT " + "9" * 15_000, 10) == "SELECT * {} LIMIT 10"


def test_where_the_limit_goes() -> None:
    assert enforce_limit("SELECT * {} # end", 5) == "SELECT * {} LIMIT 5 # end"
    assert enforce_limit("SELECT * {}VALUES ?x {1}", 5) == "SELECT * {}LIMIT 5 VALUES ?x {1}"
    assert enforce_limit("SELECT * {} OFFSET 2 LIMIT 50", 5) == "SELECT * {} OFFSET 2 LIMIT 5"
    assert enforce_limit("DESCRIBE <urn:x>", 5) == "DESCRIBE <urn:x> LIMIT 5"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * {} LIMIT",
        "SELECT * {} LIMIT ?x",
        "SELECT * {} LIMIT -1",
        "SELECT * {} LIMIT 1.5",
        "SELECT * {} LIMIT 1e3",
        "SELECT * {} LIMIT 5 LIMIT 6",
        "SELECT * {} LIMIT5",
        "SELECT * {} LIMIT 5VALUES ?x {1}",
        "SELECT * {} LIMIT (5)",
        "INSERT DATA {}",
        "",
    ],
)
def test_what_cannot_be_limited_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        enforce_limit(text, 3)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(QueryRefused, match="-1"):
        enforce_limit("SELECT * {}", -1)


def test_prefixes_are_read() -> None:
    assert enforce_limit(PREFIXES + "SELECT * {}", 1).startswith(PREFIXES)


# -- on its way to the worker


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    folder = tmp_path_factory.mktemp("limit")
    (folder / "birds.ttl").write_text(DATA, "utf-8")
    with LocalEngine(folder / "birds.ttl", cache_dir=folder / "cache") as opened:
        yield opened


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the worker is sent. It cuts rows too, so the answer does not tell which query it was
    asked."""
    noted: list[dict[str, Any]] = []
    send = Worker.send

    def note(worker: Worker, message: dict[str, Any]) -> None:
        if message.get("op") == "query":
            noted.append(message)
        send(worker, message)

    monkeypatch.setattr(Worker, "send", note)
    return noted


@pytest.mark.req("UT-04")
def test_the_worker_is_sent_a_query_with_its_limit(
    engine: LocalEngine, data: Store, sent: list[dict[str, Any]]
) -> None:
    for query in SELECTS + WORDS:
        whole = len(_rows(data, query.text))
        for limit in (0, 2, 1000):
            sent.clear()
            engine.query(query.text, limit=limit)
            [order] = sent
            assert len(_rows(data, order["text"])) == min(whole, limit + 1), (query.name, limit)


@pytest.mark.req("UT-04")
def test_the_worker_stops_at_so_many_triples(
    engine: LocalEngine, sent: list[dict[str, Any]]
) -> None:
    """Where a LIMIT would count solutions, the text stays and the number goes beside it."""
    for query in GRAPHS:
        sent.clear()
        answer = engine.query(query.text, limit=2)
        [order] = sent
        assert (order["text"], order["rows"]) == (query.text, 2) and len(answer) <= 2
