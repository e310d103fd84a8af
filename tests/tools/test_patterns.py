"""What a query leaves in memory once its run is judged: its shape and the words of the schema, and
nothing of what was asked."""

from __future__ import annotations

import json

import pytest

from rlm import agent
from rlm.errors import QueryRefused
from rlm.handles import Meter, Store
from rlm.learning.lesson import template_for
from rlm.learning.verify import Verify
from rlm.llm import ScriptedClient
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.query.lexer import tokenize
from rlm.ontology.query.shape import pattern_of
from rlm.tools import sparql_tools
from rlm.tools.sparql import MOST_CANDIDATES, Patterns

pytestmark = pytest.mark.req("UT-05")

EX = {"ex": "http://example.org/", "rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
MOORED = "SELECT ?v WHERE { ?v harbour:mooredAt harbour:Berth4 }"


@pytest.fixture(scope="module")
def engine(root, tmp_path_factory):
    with LocalEngine(
        root / "ontology" / "harbour.ttl", cache_dir=tmp_path_factory.mktemp("cache")
    ) as opened:
        yield opened


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
         "SELECT ?x { ?x ex:age ?a FILTER(?a > $NUMBER_1 && ?a != 1) } LIMIT 5"),
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


# -- of a run


@pytest.mark.parametrize(
    ("question", "asked", "template", "scope"),
    [
        ("Which classes are below Agent?", "SELECT ?x { ?x rdfs:subClassOf ex:Agent }",
         "SELECT ?x { ?x rdfs:subClassOf $ENTITY_1 }", "general"),
        ("Which agents are there?", "SELECT ?x { ?x a ex:Agent }",
         "SELECT ?x { ?x a $ENTITY_1 }", "general"),
        ("What do agents know?", "SELECT ?y { ?x a ex:Agent ; ex:knows ?y , ex:ada }",
         "SELECT ?y { ?x a ex:Agent ; ex:knows ?y, $ENTITY_1 }", "own"),
    ],
)  # fmt: skip
def test_a_query_of_rdf_s_own_words_is_general_and_any_other_keeps_its_schema(
    question, asked, template, scope
):
    schema = {"http://example.org/Agent", "http://example.org/knows"}
    found = template_for(
        asked, EX, asked={"http://example.org/Agent"}, terms=schema, by_place=False
    )
    assert found.text == template
    assert ("ex:knows" in found.terms) == (scope == "own")


def test_a_query_too_long_for_a_lesson_is_not_joined():
    names = " ".join(f"?v{n}" for n in range(180))
    assert template_for(f"SELECT {names} {{ ?v0 ex:knows ?v1 }}", EX, asked=()) is None


@pytest.fixture
def ask(engine):
    """Ask; what is noted of it."""
    patterns = Patterns()
    box = sparql_tools(engine, Store(), Meter(), patterns=patterns)

    def ask(query, **values):
        box.functions["sparql_query"](query, **values)
        return patterns

    return ask


def test_a_query_is_noted_and_nothing_is_stored(engine, backend):
    patterns = Patterns()
    tools = sparql_tools(engine, Store(), Meter(), memory=backend, patterns=patterns).functions
    tools["sparql_query"](MOORED)
    assert [each.query for each in patterns.candidates] == [MOORED]
    assert backend.list_items() == []


@pytest.mark.parametrize(
    ("answer", "place", "certain"),
    [
        ("Heron One", 0, True),
        ("It is called Heron One, the vessel.", 0, True),
        ("harbour:Berth4 and harbour:Berth2", 1, True),
        ("Yes.", 2, True),
        ("Perhaps", 3, False),
    ],
)
def test_the_query_behind_an_answer_is_the_one_whose_result_holds_it(ask, answer, place, certain):
    queries = [
        "SELECT ?l { ?v harbour:mooredAt harbour:Berth4 ; rdfs:label ?l }",
        "SELECT ?b { ?v harbour:mooredAt ?b }",
        "ASK { ?v harbour:mooredAt harbour:Berth4 }",
        "SELECT ?p { ?p a owl:ObjectProperty }",
    ]
    for query in queries:
        patterns = ask(query)
    assert patterns.behind(answer) == (queries[place], certain)


def test_the_narrower_of_two_results_that_hold_an_answer_is_behind_it(ask):
    ask("SELECT ?s ?l { ?s rdfs:label ?l }")
    narrow = "SELECT ?l { ?v harbour:mooredAt harbour:Berth4 ; rdfs:label ?l }"
    ask(narrow)
    assert ask("SELECT ?s ?l { ?s rdfs:label ?l ; a ?c }").behind("Heron One") == (narrow, True)


@pytest.mark.parametrize(
    ("query", "options"),
    [("SELECT ?v { ?v harbour:mooredAt harbour:Nowhere }", {}), (MOORED, {"store_pattern": False})],
)
def test_what_found_nothing_or_is_not_to_be_kept_is_not_noted(ask, query, options):
    assert ask(query, **options).behind("Heron One") == ("", False)


def test_only_the_last_queries_of_a_run_are_remembered(ask):
    for number in range(MOST_CANDIDATES + 2):
        patterns = ask(f"SELECT ?v{number} {{ ?v{number} harbour:mooredAt ?b }}", limit=1)
    assert len(patterns.candidates) == MOST_CANDIDATES


# -- into memory, after the verdict


def run_over_harbour(root, store, *replies, **options):
    client = ScriptedClient(list(replies), is_language_model=options.pop("speaks", False))
    path = root / "ontology" / "harbour.ttl"
    question = options.pop("question", "What is moored at Berth 4?")
    return agent.run(question, path, store=store, client=client, **options)


ASK_ROWS = f"```repl\nref = sparql_query({MOORED!r})\nprint(sparql_slice(ref)['rows'])\n```"
LOOK = "```repl\nsparql_slice(sparql_query('SELECT ?b { ?v harbour:mooredAt ?b }'))\n```"
RIGHT = Verify(MOORED, "set")


def answer_of(engine):
    return ", ".join(row["v"] for row in engine.query(MOORED).text_rows(engine.prefixes))


def test_after_a_success_the_query_behind_the_answer_is_kept_and_listed(engine, root, db):
    done = f"FINAL({answer_of(engine)})"
    result = run_over_harbour(root, db, LOOK, ASK_ROWS, done, verify=RIGHT)
    assert result.success
    [item] = db.list_items()
    assert [(made["memory_id"], made["action"]) for made in result.new_memories] == [
        (item.memory_id, "add")
    ]
    assert "?v harbour:mooredAt $ENTITY_1" in item.content and "Berth4" not in str(item.content)
    assert (item.trust, item.scope.ontology) == ("unverified", "harbour")


@pytest.mark.parametrize("how", ["failed", "no extraction", "nothing to learn"])
def test_no_query_of_a_run_that_failed_or_is_to_teach_nothing_is_kept(engine, root, db, how):
    said = "harbour:Berth2" if how == "failed" else answer_of(engine)
    options = {"enable_extraction": False} if how == "no extraction" else {}
    replies, speaks = [ASK_ROWS, f"FINAL({said})"], how == "nothing to learn"
    if speaks:
        replies.append('{"items": []}')
    result = run_over_harbour(root, db, *replies, verify=RIGHT, speaks=speaks, **options)
    assert result.success == (how != "failed")
    assert not [item for item in db.list_items() if item.outcome == "success"]
    if how != "failed":
        assert db.list_items() == [] and result.new_memories == []


def test_the_query_is_joined_to_the_lesson_of_a_model(engine, root, db):
    said = {
        "title": "List the vessels at a berth",
        "description": "For what is moored where.",
        "steps": ["Find the berth with `search_entity(name)`.", "Run the query below."],
        "query": 2,
        "general": False,
    }
    replies = [LOOK, ASK_ROWS, f"FINAL({answer_of(engine)})", json.dumps({"items": [said]})]
    result = run_over_harbour(root, db, *replies, verify=RIGHT, speaks=True)
    [item] = db.list_items()
    assert item.title == said["title"] and [made["action"] for made in result.new_memories] == [
        "add"
    ]
    assert item.content.endswith(
        "```sparql\nSELECT ?v WHERE { ?v harbour:mooredAt $ENTITY_1 }\n```"
    )
    assert (item.trust, item.scope.ontology) == ("unverified", "harbour"), item.quarantine_reason


def test_a_lesson_whose_query_only_the_engine_refuses_waits_in_quarantine(engine, root, db, caplog):
    said = {
        "title": "List the vessels at a berth",
        "description": "For what is moored where.",
        "steps": [
            "Find the berth.",
            'Run `sparql_query("SELECT ?v WHERE { ?v harbour:mooredAt }")`.',
        ],
        "query": 0,
        "general": False,
    }
    replies = [ASK_ROWS, f"FINAL({answer_of(engine)})", json.dumps({"items": [said]})]
    run_over_harbour(root, db, *replies, verify=RIGHT, speaks=True)
    [item] = db.list_items(trust="quarantined")
    assert item.quarantine_reason == "holds a query that does not parse"
    assert "does not run" in caplog.text


@pytest.mark.parametrize("right", [True, False])
def test_what_a_model_asks_to_keep_waits_for_the_verdict(engine, root, db, right):
    code = f"""
ref = sparql_query({MOORED!r})
print(sparql_slice(ref)["rows"])
print(mem_extract(ref, "What is moored at Berth 4?", {{"is_success": True}})["action"])
print(len(mem_search("moored")))
"""
    said = answer_of(engine) if right else "harbour:Berth2"
    replies = [f"```repl\n{code}```", f"FINAL({said})", '{"items": []}']
    result = run_over_harbour(root, db, *replies, verify=RIGHT, speaks=True)
    printed = result.result.iterations[0].code_blocks[0].result.stdout.splitlines()
    assert printed[-2:] == ["held", "0"]
    assert len(db.list_items()) == len(result.new_memories) == int(right)
