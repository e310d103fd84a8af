"""Values for variables of a query over a file: returned or not, they mean what the value itself
would mean there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from corpus_queries import DATA, PREFIXES

from rlm.errors import QueryRefused
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import Answer
from rlm.ontology.query.bind import bind_hidden, bind_values
from rlm.ontology.query.guard import check_query
from rlm.ontology.terms import Term, iri, literal

EX = "http://example.org/"
BOB, DUCK = iri(EX + "bob"), iri(EX + "Duck")
SEVEN = literal("7", datatype="http://www.w3.org/2001/XMLSchema#integer")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    folder = tmp_path_factory.mktemp("bind")
    (folder / "birds.ttl").write_text(DATA, "utf-8")
    with LocalEngine(folder / "birds.ttl", cache_dir=folder / "cache") as opened:
        yield opened


def rows(answer: Answer) -> Counter[str]:
    return Counter(
        str(sorted((name, str(term)) for name, term in row.items())) for row in answer.rows
    )


HIDDEN: list[tuple[str, str, Term, str]] = [
    ("SELECT ?o { ?s ex:knows ?o }", "s", BOB, "SELECT ?o { ex:bob ex:knows ?o }"),
    ("SELECT ?s { ?s ex:age ?a }", "a", SEVEN, "SELECT ?s { ?s ex:age 7 }"),
    ("SELECT ?s { ?s ex:name ?n }", "n", literal("Cyd", lang="en"), "SELECT ?s { ?s ex:name 'Cyd'@en }"),
    ("SELECT ?s { ?s ex:name ?n }", "n", literal('x" } #'), "SELECT ?s { ?s ex:name 'x\" } #' }"),
    ("SELECT DISTINCT ?c { ?s a ?c ; ex:age ?a }", "s", BOB, "SELECT DISTINCT ?c { ex:bob a ?c }"),
    ("SELECT (COUNT(?o) AS ?n) { ?s ex:knows ?o }", "s", BOB, "SELECT (COUNT(?o) AS ?n) { ex:bob ex:knows ?o }"),
    ("SELECT ?c (SUM(?a) AS ?t) { ?s a ?c ; ex:age ?a } GROUP BY ?c HAVING(SUM(?a) > 5)", "s", BOB,
     "SELECT ?c (SUM(?a) AS ?t) { ex:bob a ?c ; ex:age ?a } GROUP BY ?c HAVING(SUM(?a) > 5)"),
    ("SELECT ?s { ?s ex:age ?a FILTER(?a < ?most) }", "most", SEVEN, "SELECT ?s { ?s ex:age ?a FILTER(?a < 7) }"),
    ("SELECT ?s { ?s ex:age ?a FILTER EXISTS { ?s a ?c } }", "c", DUCK,
     "SELECT ?s { ?s ex:age ?a FILTER EXISTS { ?s a ex:Duck } }"),
    ("SELECT ?s { ?s ex:age ?a FILTER NOT EXISTS { ?s a ?c } }", "c", DUCK,
     "SELECT ?s { ?s ex:age ?a FILTER NOT EXISTS { ?s a ex:Duck } }"),
    ("SELECT ?s { ?s ex:age ?a MINUS { ?s a ?c } }", "c", DUCK, "SELECT ?s { ?s ex:age ?a MINUS { ?s a ex:Duck } }"),
    ("SELECT ?s ?h { ?s ex:age ?a OPTIONAL { ?s ex:knows ?h . ?h a ?c } }", "c", DUCK,
     "SELECT ?s ?h { ?s ex:age ?a OPTIONAL { ?s ex:knows ?h . ?h a ex:Duck } }"),
    ("SELECT ?s { { ?s ex:knows ?k } UNION { ?k ex:knows ?s } }", "k", BOB,
     "SELECT ?s { { ?s ex:knows ex:bob } UNION { ex:bob ex:knows ?s } }"),
    ("SELECT ?n { { SELECT ?s { ?s a ?c } ORDER BY ?s LIMIT 1 } ?s ex:name ?n }", "c", DUCK,
     "SELECT ?n { { SELECT ?s { ?s a ex:Duck } ORDER BY ?s LIMIT 1 } ?s ex:name ?n }"),
    ("SELECT ?x { ?k ex:knows+ ?x }", "k", BOB, "SELECT ?x { ex:bob ex:knows+ ?x }"),
    ("SELECT ?b { ?s ex:age ?a BIND(?a * 2 AS ?b) }", "s", BOB, "SELECT ?b { ex:bob ex:age ?a BIND(?a * 2 AS ?b) }"),
    ("SELECT ?a { ?s ex:age ?a } VALUES ?s { ex:ada ex:bob }", "s", BOB, "SELECT ?a { ex:bob ex:age ?a }"),
    ("SELECT ?n { ?s ex:name ?n ; ex:age ?a } ORDER BY ?a OFFSET 0 LIMIT 9 # ?s", "s", BOB,
     "SELECT ?n { ex:bob ex:name ?n }"),
    ("SELECT ?s { { SELECT ?s (COUNT(?o) AS ?n) { ?s ex:knows ?o } GROUP BY ?s } }", "n",
     literal("2", datatype=SEVEN["dt"]), "SELECT ?s { VALUES ?s { ex:ada } }"),
    ("SELECT (EXISTS { ?s a ?c } AS ?e) { ?s ex:age ?a }", "a", SEVEN,
     "SELECT (EXISTS { ?s a ?c } AS ?e) { ?s ex:age 7 }"),
    ("SELECT (?a AS ?b) { ?s ex:age ?a }", "a", SEVEN, "SELECT (7 AS ?b) { ?s ex:age 7 }"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "name", "value", "by_hand"), HIDDEN, ids=[case[0] for case in HIDDEN]
)
def test_a_variable_that_is_not_returned_can_be_bound(
    engine: LocalEngine, query: str, name: str, value: Term, by_hand: str
) -> None:
    bound = engine.query(PREFIXES + query, bindings={name: value})
    wanted = engine.query(PREFIXES + by_hand)
    assert bound.variables == wanted.variables
    assert rows(bound) == rows(wanted)


RETURNED: list[tuple[str, str, Term]] = [
    ("SELECT ?s ?o { ?s ex:knows ?o }", "s", BOB),
    ("SELECT * { ?s ex:knows ?o OPTIONAL { ?o ex:home ?h } }", "o", iri(EX + "dan")),
    ("SELECT ?c (COUNT(?s) AS ?n) { ?s a ?c } GROUP BY ?c", "c", DUCK),
    ("SELECT ?s ?c { ?s ex:age ?a MINUS { ?s a ?c } }", "c", DUCK),
    ("ASK { ?s ex:knows ?o }", "s", iri(EX + "eve")),
]


@pytest.mark.parametrize(("query", "name", "value"), RETURNED, ids=[case[0] for case in RETURNED])
def test_a_value_beside_the_query_means_the_same_as_one_in_its_text(
    engine: LocalEngine, query: str, name: str, value: Term
) -> None:
    beside = engine.query(PREFIXES + query, bindings={f"?{name}": value})
    inside = engine.query(bind_values(PREFIXES + query, {name: value}))
    assert (rows(beside), beside.boolean) == (rows(inside), inside.boolean)
    assert bind_hidden(check_query(PREFIXES + query), {name: value}) == (
        PREFIXES + query,
        {name: value},
    )


def test_a_variable_of_the_same_name_in_a_subselect_is_another_one(engine: LocalEngine) -> None:
    """Which is why values of what is returned go beside the query: in the text they would reach it."""
    query = PREFIXES + "SELECT ?s ?n { ?s ex:age 7 { SELECT (COUNT(?s) AS ?n) { ?s ex:age ?a } } }"
    assert engine.query(query, bindings={"s": BOB}).rows == engine.query(query).rows
    assert engine.query(bind_values(query, {"s": BOB})).rows != engine.query(query).rows


def test_both_kinds_of_variable_at_once_and_the_limit_still_holds(engine: LocalEngine) -> None:
    query = PREFIXES + "SELECT ?s { ?s ex:knows ?o ; a ?c }"
    found = engine.query(query, bindings={"?s": BOB, "$o": iri(EX + "cyd"), "c": DUCK})
    assert [row["s"] for row in found.rows] == [BOB] and not found.truncated
    cut = engine.query(PREFIXES + "SELECT ?s { ?s a ?c }", bindings={"c": DUCK}, limit=1)
    assert len(cut) == 1 and cut.truncated
    long = literal("x" * 30_000)
    assert len(engine.query(PREFIXES + "SELECT ?s { ?s ex:name ?n }", bindings={"n": long})) == 0


def test_what_cannot_be_bound_is_told(engine: LocalEngine) -> None:
    for query, name, value, said in (
        ("SELECT ?o { ?s ?p ?o }", "x", BOB, r"no variable \?x to bind"),
        ("SELECT ?o { ?s ?p ?o }", "s } #", BOB, "no name of a variable"),
        ("SELECT ?o { ?s ?p ?o }", "s", iri("http://e/> } #"), "not an absolute IRI"),
        ("SELECT ?o { ?s ?p ?o }", "s", {"t": "what", "v": "x"}, "'iri' or a 'lit'"),
        (
            "SELECT ?s { ?s <http://e/age> ?a BIND(?a * 2 AS ?b) }",
            "b",
            SEVEN,
            r"gets its value in the query \(AS \?b\)",
        ),
        # with * it would be one column more
        ("SELECT * { ?s ?p ?o FILTER(?o != ?x) }", "x", BOB, "add it to SELECT"),
    ):
        with pytest.raises(QueryRefused, match=said):
            engine.query(query, bindings={name: value})
    [row] = engine.query(PREFIXES + "SELECT ?h { ?s ex:home ?h }").rows
    assert (
        len(engine.query(PREFIXES + "SELECT ?h ?c { ?h ex:city ?c }", bindings={"h": row["h"]}))
        == 1
    )
    with pytest.raises(QueryRefused, match="add it to SELECT"):
        engine.query(PREFIXES + "SELECT ?c { ?h ex:city ?c }", bindings={"h": row["h"]})
