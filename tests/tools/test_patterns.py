"""What a query leaves in memory: its shape and the words of the schema, and nothing of what was
asked."""

from __future__ import annotations

import pytest

from rlm.errors import QueryRefused
from rlm.handles import Meter, Store
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.query.lexer import tokenize
from rlm.ontology.query.shape import PATTERN_CHARS, pattern_of
from rlm.tools import RecalledTexts, sparql_tools
from rlm.tools.sparql import PATTERNS_PER_RUN

pytestmark = pytest.mark.req("UT-05")

EX = {"ex": "http://example.org/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
MOORED = "SELECT ?v WHERE { ?v harbour:mooredAt harbour:Berth4 }"


@pytest.fixture(scope="module")
def engine(root, tmp_path_factory):
    with LocalEngine(
        root / "ontology" / "harbour.ttl", cache_dir=tmp_path_factory.mktemp("cache")
    ) as opened:
        yield opened


@pytest.fixture
def ask(engine, db):
    """Ask with a memory; what is said of the pattern."""
    return asking(engine, db)


def asking(engine, db, **options):
    box = sparql_tools(engine, Store(), Meter(), memory=db, **options)

    def ask(query, **values):
        return box.functions["sparql_query"](query, explain=True, **values).get("pattern")

    return ask


def text(query, **options):
    found = pattern_of(query, EX, **options)
    return found and found.text


# -- the pattern
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "pattern"),
    [
        ("SELECT ?x { ?x ex:knows ex:ada }", "SELECT ?x { ?x ex:knows $ENTITY_1 }"),
        ("SELECT ?x { ex:ada ex:knows ?x . ?x ex:knows ex:ada, ex:bob }",
         "SELECT ?x { $ENTITY_1 ex:knows ?x . ?x ex:knows $ENTITY_1, $ENTITY_2 }"),
        ("SELECT ?x { ?x a ex:Duck ; ex:name 'Secret'@en }", "SELECT ?x { ?x a ex:Duck ; ex:name $TEXT_1 }"),
        ("SELECT ?x { ?x ex:age ?a FILTER(?a > 17 && ?a != 1) } LIMIT 5",
         "SELECT ?x { ?x ex:age ?a FILTER(?a > $NUMBER_1 && ?a != 1) } LIMIT $NUMBER_2"),
        ("SELECT ?x { ?x ex:since ?d FILTER(?d > '2023-01-01'^^<http://www.w3.org/2001/XMLSchema#date>) }",
         "SELECT ?x { ?x ex:since ?d FILTER(?d > $TEXT_1) }"),
        ("SELECT ?n { ?s ex:name ?n FILTER REGEX(?n, 'secret', 'i') }",
         "SELECT ?n { ?s ex:name ?n FILTER REGEX(?n, $TEXT_1, 'i') }"),
        ("SELECT ?l { ?c rdfs:label ?l FILTER(LANG(?l) = 'en') }",
         "SELECT ?l { ?c rdfs:label ?l FILTER(LANG(?l) = 'en') }"),
        ("SELECT ?x { ?x a/rdfs:subClassOf* ex:Duck }", "SELECT ?x { ?x a/rdfs:subClassOf* $ENTITY_1 }"),
        ("SELECT ?x ?y { ?x (ex:a|^ex:b)+/ex:c ?y }", "SELECT ?x ?y { ?x (ex:a|^ex:b)+/ex:c ?y }"),
        ("SELECT ?s { ?s ex:age ?a } VALUES ?s { ex:ada ex:bob ex:cyd }",
         "SELECT ?s { ?s ex:age ?a } VALUES ?s { $ENTITY_1 $ENTITY_2 $ENTITY_3 }"),
        ("SELECT ?s { ?s ex:age ?a FILTER(?s IN (ex:ada, ex:bob)) }",
         "SELECT ?s { ?s ex:age ?a FILTER(?s IN ($ENTITY_1, $ENTITY_2)) }"),
        ("SELECT ?s { GRAPH ex:g { ?s ex:age ?a } }", "SELECT ?s { GRAPH $ENTITY_1 { ?s ex:age ?a } }"),
        ("DESCRIBE ex:ada ex:bob ex:cyd ?x WHERE { ?x ex:age 9 }",
         "DESCRIBE $ENTITY_1 $ENTITY_2 $ENTITY_3 ?x WHERE { ?x ex:age $NUMBER_1 }"),
        ("CONSTRUCT { ?s ex:old true } { ?s ex:age ?a }", "CONSTRUCT { ?s ex:old true } { ?s ex:age ?a }"),
        ("ASK { ?s ex:home [ ex:city 'Kiel' ] }", "ASK { ?s ex:home [ex:city $TEXT_1] }"),
        ("SELECT (GROUP_CONCAT(?n; SEPARATOR=' and ') AS ?all) { ?s ex:name ?n }",
         "SELECT (GROUP_CONCAT(?n ; SEPARATOR = ' and ') AS ?all) { ?s ex:name ?n }"),
    ],
)  # fmt: skip
def test_specifics_become_placeholders_and_the_shape_stays(query, pattern):
    assert text(query) == pattern
    tokenize(pattern)  # a query again, once it is filled in


@pytest.mark.parametrize(
    "same",
    [
        "select  ?x\n{?x ex:knows ex:bob} # whom?",
        "PREFIX e: <http://example.org/> SELECT $x { $x e:knows e:cyd }",
        "SELECT ?x { ?x <http://example.org/knows> <http://elsewhere.org/dan> }",
    ],
)
def test_two_questions_of_one_kind_have_one_pattern(same):
    assert text(same) == text("SELECT ?x { ?x ex:knows ex:ada }")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s ?p ?o }",
        "SELECT ?c { ?s a ?c }",
        "DESCRIBE ex:ada",
        "SELECT * { ex:ada ?p 'x' }",
        "BASE <http://example.org/> SELECT ?x { ?x <knows> ?y }",
        "SELECT ?x { ?x ex:knows $ENTITY_1 }",
        "SELECT ?x { ?x ex:knows " + ", ".join(f"?x{n:0200}" for n in range(10)) + " }",
    ],
    ids=["no names", "only a", "no triples", "only a thing", "base", "unfilled", "too long"],
)
def test_what_nobody_would_use_again_has_no_pattern(query):
    assert pattern_of(query, EX) is None


def test_a_known_schema_decides_alone():
    query = "SELECT ?s { ?s ex:age ?a ; ex:list (?a ex:ada ()) ; rdfs:label ?l }"
    assert "ex:ada" in text(query), "by its place it looks like a predicate"
    known = {"http://example.org/age", "http://example.org/list"}
    assert (
        text(query, terms=known, by_place=False)
        == "SELECT ?s { ?s ex:age ?a ; ex:list (?a $ENTITY_1 ()) ; rdfs:label ?l }"
    )
    assert (
        text("SELECT ?x { ex:Duck rdfs:subClassOf ?x }", terms={"http://example.org/Duck"})
        == "SELECT ?x { ex:Duck rdfs:subClassOf ?x }"
    )


def test_what_may_not_run_has_no_pattern_either():
    with pytest.raises(QueryRefused, match="SERVICE"):
        pattern_of("SELECT * { SERVICE <http://x/> { ?s ?p ?o } }", EX)


# -- into memory
# -----------------------------------------------------------------------------------------


def test_a_query_that_found_something_becomes_a_procedure(engine, backend):
    said = asking(engine, backend)(
        "SELECT ?v WHERE { ?v harbour:mooredAt harbour:Berth4 ; rdfs:label 'Heron One'@en }"
        " LIMIT 20"
    )
    [item] = backend.list_items()
    assert said == f"stored as {item.memory_id}"
    assert item.title == "Query with harbour:mooredAt, rdfs:label"
    assert (
        item.description
        == "SELECT query over harbour that found something about moored at, label; "
        "use it for a question of the same shape."
    )
    assert item.content.splitlines()[:2] == [
        (
            "1. Run with sparql_query: SELECT ?v WHERE { ?v harbour:mooredAt $ENTITY_1 ; rdfs:label"
            " $TEXT_1 } LIMIT $NUMBER_1"
        ),
        (
            "2. Put your own values in place of $ENTITY_1 (an IRI), $TEXT_1 (text, language en),"
            " $NUMBER_1 (a number)."
        ),
    ]
    assert "Berth4" not in str(item) and "Heron" not in str(item)
    assert (item.trust, item.origin, item.source_type, item.scope.ontology) == (
        "unverified", "repl", "success", "harbour",
    )  # fmt: skip
    assert [hit.item.memory_id for hit in backend.retrieve("Where is it moored?")] == [
        item.memory_id
    ]


def test_a_pattern_carries_the_name_that_a_person_gave_the_ontology(engine, db):
    asking(engine, db, ontology="port of call")(MOORED)
    [item] = db.list_items()
    assert (
        item.scope.ontology == "port of call" and "query over port of call that" in item.description
    )


def test_over_a_file_the_schema_is_known_and_places_do_not_count(ask, db):
    ask("SELECT ?v { ?v harbour:mooredAt ?b OPTIONAL { ?v harbour:notes (?b harbour:Berth4 ()) } }")
    [item] = db.list_items()
    assert "OPTIONAL { ?v $ENTITY_1 (?b $ENTITY_2 ()) }" in item.content


def test_the_same_pattern_is_stored_once(ask, db):
    first = ask(MOORED)
    assert ask(MOORED.replace("Berth4", "Berth2")) == first.replace("stored", "known")
    assert len(db.list_items()) == 1


def test_a_pattern_that_a_person_removed_stays_removed(ask, db):
    memory_id = ask(MOORED).split()[-1]
    db.delete(memory_id)
    assert ask(MOORED) == f"known as {memory_id}"
    assert db.list_items() == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?v { ?v harbour:mooredAt harbour:Nowhere }",
        "ASK { harbour:Berth4 harbour:mooredAt ?x }",
    ],
)
def test_a_query_that_found_nothing_leaves_nothing(ask, db, query):
    assert ask(query) == "not stored: the query found nothing"
    assert db.list_items() == []


def test_no_pattern_where_none_is_wanted_or_no_memory_is(engine, ask, db):
    assert ask(MOORED, store_pattern=False) is None
    assert db.list_items() == []
    assert asking(engine, None)(MOORED) is None


def test_a_run_stores_a_few_patterns_at_most(ask, db):
    said = [
        ask(f"SELECT ?v ?n{n} {{ ?v harbour:mooredAt ?n{n} }}") for n in range(PATTERNS_PER_RUN + 1)
    ]
    assert all(one.startswith("stored as") for one in said[:-1])
    assert (
        said[-1]
        == f"not stored: {PATTERNS_PER_RUN} patterns were stored in this run, which is the most"
    )
    assert len(db.list_items()) == PATTERNS_PER_RUN


def test_a_pattern_that_was_recalled_is_not_stored_again(engine, db):
    recalled = RecalledTexts()
    query = (
        "SELECT ?vessel ?berth ?terminal WHERE {{ ?vessel harbour:mooredAt ?berth . ?berth"
        " harbour:berthOf ?terminal FILTER(?berth != harbour:{0}) }}"
    )
    recalled.note(f"Steps somebody wrote: {query.format('Berth4')}")
    ask = asking(engine, db, recalled=recalled)
    assert ask(query.format("Berth5")).startswith(
        "not stored: the pattern repeats text that was recalled from memory"
    )
    assert ask(MOORED).startswith("stored as")
    assert len(db.list_items()) == 1


def test_a_store_that_fails_does_not_cost_the_answer(engine, tmp_path):
    from rlm.store.open import open_store

    db = open_store(tmp_path / "closed.db", embedder="none")
    db.close()
    box = sparql_tools(engine, Store(), Meter(), memory=db).functions
    assert box["sparql_query"](MOORED).dtype == "results"
    assert box["sparql_query"](MOORED, explain=True)["pattern"].startswith("not stored: Store")


def test_the_longest_pattern_fits_the_memory(ask, db):
    names = " ".join(f"?v{n}" for n in range(180))
    said = ask(f"SELECT {names} {{ ?v0 harbour:mooredAt ?v1 }}")
    assert said.startswith("stored as")
    assert len(db.list_items()[0].content) < PATTERN_CHARS + 500
