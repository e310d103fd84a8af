"""The extractor with a model, over real HTTP: asked by schema, repaired once, and never the end of
a run."""

from __future__ import annotations

import json
import re

import pytest
from learnt_from import (
    BAD,
    GOOD,
    artifact,
    call,
    data_in,
    lesson,
    lessons,
    query,
    search,
    serving,
    traced,
)

from rlm.learning.evidence import Evidence
from rlm.learning.extract import UNREAD, extract_contrast, extract_memories
from rlm.learning.extract_llm import read_items
from rlm.learning.extract_prompts import (
    CONTRAST,
    FAILURE,
    LESSON_SCHEMA,
    SUCCESS,
    TEXT_LESSON_SCHEMA,
)
from rlm.learning.gates import REPEATS
from rlm.learning.prompts import JUDGE_SCHEMA
from rlm.llm import Usage
from rlm.llm.offline.client import OfflineClient
from rlm.llm.schema import is_strict
from rlm.loop.trace import ToolCall, Trace
from rlm.loop.types import CodeBlock, RLMIteration, SubCall
from rlm.sandbox import REPLResult
from rlm.tools import RecalledTexts

pytestmark = pytest.mark.req("PM-05")

QUESTION = "What are all the subclasses of Agent?"
ANSWER = "prov:Agent has prov:Person, prov:Organization and prov:SoftwareAgent."
ALL_SUBS = "SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf+ prov:Agent FILTER(isIRI(?x)) }"


@pytest.fixture(scope="module")
def trace(prov):
    return traced(prov, search("Agent"), query(ALL_SUBS))


@pytest.fixture
def learn(prov, trace):
    """Extract with a server that says these replies, the last one again and again; the items and
    what it was asked."""

    def run(*replies, judgment=GOOD, **options):
        with serving(lambda body, number: replies[min(number, len(replies)) - 1]) as (
            client,
            bodies,
        ):
            options = {
                "ontology": "prov",
                "prefixes": prov.meta().prefixes,
                "trace": trace,
                **options,
            }
            items = extract_memories(artifact(QUESTION, ANSWER), judgment, client=client, **options)
        return items, bodies

    return run


def test_a_lesson_becomes_an_item(learn):
    usage = Usage()
    items, bodies = learn(
        lessons(lesson()),
        usage=usage,
        provenance={"trajectory_id": "t-1", "run_id": "r-1"},
        session="s",
    )
    (item,) = items
    assert (item.title, item.content) == (
        "Find all subclasses of a class",
        "- Search for the class with `search_entity(name)`.\n- Query its subclasses.",
    )
    assert (item.source_type, item.outcome, item.confidence, item.trust) == (
        "success",
        "success",
        0.6,
        "unverified",
    )
    assert item.provenance == {"source": "extracted", "trajectory_id": "t-1", "run_id": "r-1"}
    assert (item.session_id, item.scope.task_types, item.scope.ontology) == (
        "s",
        ("all_subclasses",),
        None,
    )
    (body,) = bodies
    assert body["temperature"] == 1.0
    assert body["response_format"]["json_schema"]["schema"] == LESSON_SCHEMA and is_strict(
        LESSON_SCHEMA
    )
    assert usage.calls == 1


def test_success_failure_and_contrast_are_asked_in_different_words(learn):
    (_, good), (failed, bad) = (
        learn(lessons(lesson())),
        learn(lessons(lesson("guessing IRIs")), judgment=BAD),
    )
    assert (
        SUCCESS in good[0]["messages"][0]["content"] and FAILURE in bad[0]["messages"][0]["content"]
    )
    assert (failed[0].outcome, failed[0].source_type, failed[0].confidence) == (
        "failure",
        "failure",
        0.5,
    )


def test_the_run_is_data_between_marks(learn):
    _, (body,) = learn(lessons(lesson()))
    system, user = (message["content"] for message in body["messages"])
    assert "Agent" not in system and user.count("</run-") == 1
    data = data_in(body)
    assert data["task"] == QUESTION and data["final_answer"] == ANSWER
    assert [made["tool"] for step in data["steps"] for made in step["calls"]] == [
        "search_entity",
        "sparql_query",
        "sparql_slice",
    ]


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "no JSON",
        "[1]",
        "{}",
        '{"items": [{"title": "x"}]}',
        '{"items": "x"}',
        "[" * 9000,
        "x" * 50_000,
    ],
)
def test_a_reply_that_cannot_be_read_is_asked_for_once_more(learn, broken):
    items, bodies = learn(broken, lessons(lesson("Find each subclass of a class")))
    assert [item.title for item in items] == ["Find each subclass of a class"]
    assert len(bodies) == 2 and len(bodies[1]["messages"]) == 4
    assert len(bodies[1]["messages"][2]["content"]) <= 2_000


def test_words_around_the_json_are_no_fault(learn):
    items, bodies = learn(f"Here: {lessons(lesson('Find each subclass of a class'))} I hope so.")
    assert [item.title for item in items] == ["Find each subclass of a class"] and len(bodies) == 1


def test_a_reply_that_was_cut_off_is_asked_for_in_short(learn):
    items, bodies = learn(("length", '{"items": [{"title": "Find all'), lessons(lesson()))
    assert [item.trust for item in items] == ["unverified"]
    assert "cut off" in bodies[1]["messages"][3]["content"]


@pytest.mark.parametrize(
    "words",
    [
        (
            "This model's maximum context length is 4096 tokens. However, you requested 5200 tokens"
            " (1200 in the messages)"
        ),
        "'max_tokens' is too large: 4000. This model's maximum context length is 4096 tokens",
        "the request exceeds the available context size, try increasing it",
    ],
)
def test_what_is_too_long_for_a_model_is_asked_in_little(learn, words):
    """vLLM refuses more tokens than are left in the window; llama.cpp a prompt that fills it."""
    items, (whole, little) = learn((400, words), lessons(lesson("Find each subclass of a class")))
    assert [item.title for item in items] == ["Find each subclass of a class"]
    assert (whole["max_tokens"], little["max_tokens"]) == (4_000, 600)
    items, bodies = learn((400, words))  # it is too long as well: nothing is learnt
    assert items == [] and len(bodies) == 2
    long = Trace(
        [
            ToolCall("sparql_query", {"query": f"{number} " + ALL_SUBS * 9}, key="r")
            for number in range(30)
        ]
    )
    _, (whole, little) = learn((400, words), lessons(lesson()), trace=long)
    sizes = [
        sum(len(message["content"]) for message in body["messages"]) for body in (whole, little)
    ]
    assert sizes[1] < 5_500 < 7_000 < sizes[0]


def test_no_text_in_a_reply_is_without_bounds():
    """A small model may write one text for ever: with bounds the server ends it."""

    def unbounded(schema):
        if not isinstance(schema, dict):
            return []
        kind = schema.get("type")
        free = (kind == "string" and not {"maxLength", "enum"} & schema.keys()) or (
            kind == "array" and "maxItems" not in schema
        )
        inner = [*schema.get("properties", {}).values(), schema.get("items")]
        return [schema] * free + [found for part in inner for found in unbounded(part)]

    assert [unbounded(s) for s in (LESSON_SCHEMA, TEXT_LESSON_SCHEMA, JUDGE_SCHEMA)] == [[]] * 3


@pytest.mark.parametrize("replies", [("no", "no"), ("{", '{"items": [{"title": "x"}]}')])
def test_two_replies_that_cannot_be_read_leave_what_the_calls_say_in_quarantine(learn, replies):
    (item,), bodies = learn(*replies)
    assert "subClassOf+ $ENTITY_1" in item.content and len(bodies) == 2
    assert (item.trust, item.quarantine_reason) == ("quarantined", UNREAD)


@pytest.mark.parametrize("replies", [(lessons(),), ("no", lessons()), (500,), ("no", 401)])
@pytest.mark.parametrize("judgment", [GOOD, BAD])
def test_an_empty_list_is_respected_and_a_model_that_cannot_be_asked_teaches_nothing(
    learn, replies, judgment
):
    items, bodies = learn(*replies, judgment=judgment)
    assert items == [] and len(bodies) <= 2


def test_the_offline_model_is_not_asked(prov, trace):
    (item,) = extract_memories(
        artifact(QUESTION, ANSWER),
        GOOD,
        client=OfflineClient(),
        trace=trace,
        prefixes=prov.meta().prefixes,
    )
    assert "subClassOf+ $ENTITY_1" in item.content


def test_nobody_asks_about_a_run_in_which_nothing_was_done(prov):
    with serving(lambda body, number: lessons(lesson())) as (client, bodies):
        assert extract_memories(artifact(QUESTION, ANSWER), GOOD, client=client) == []
        assert bodies == []


def test_of_forty_lessons_the_first_three_are_read(learn):
    items, bodies = learn(lessons(*(lesson(f"Find things {n} of a class") for n in range(40))))
    assert [item.title[:13] for item in items] == [f"Find things {n}" for n in range(3)]
    assert len(bodies) == 1


def test_a_title_is_whole_words_and_steps_are_whole(learn):
    long = lesson(
        "Find the properties that are inherited from every superclass of the class in question",
        ["Search the class."] * 3 + ["Read its properties one by one " + "and on " * 60] * 2,
        description="When " + "very " * 60 + "long.",
    )
    (item,), bodies = learn(lessons(long))  # told once that it is too long
    assert len(bodies) == 2 and "at most 600" in bodies[1]["messages"][3]["content"]
    assert item.title == "Find the properties that are inherited from every superclass"
    assert len(item.description) <= 240 and item.description.endswith("very")
    assert len(item.content) <= 600 and len(item.content.splitlines()) == 4


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("Craft at a berth now: the last known stay, no transit",
         "Craft at a berth now: the last known stay"),
        ("Craft at a berth now: the last stay, not a planned one",
         "Craft at a berth now: the last stay"),
        ("Berths, quays or terminals: only those that are long enough count",
         "Berths, quays or terminals: only those that are long enough"),
    ],
)  # fmt: skip
def test_a_title_is_not_cut_behind_the_first_words_of_a_clause(learn, said, kept):
    (item,), (body,) = learn(lessons(lesson(said)))
    assert item.title == kept
    assert "10 words, at most 80 characters; the rest is cut off" in body["messages"][0]["content"]


# -- the query of a lesson


def test_the_query_that_found_the_answer_is_shown_and_joined_whole(learn):
    said = lesson(steps=["Find the class.", "Run the query below."], query=1)
    (item,), (body,) = learn(lessons(said))
    template = "SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf+ $ENTITY_1 FILTER(ISIRI(?x)) }"
    (call,) = (
        call for step in data_in(body)["steps"] for call in step["calls"] if "query_no" in call
    )
    assert (call["query_no"], call["query"]) == (1, ALL_SUBS)
    assert item.content.endswith(f"- Run the query below.\n\n```sparql\n{template}\n```")
    assert (item.trust, item.scope.ontology) == ("unverified", None)
    assert "sparql_query" in item.scope.tools


def test_only_the_lesson_that_wants_the_query_has_it_and_only_one(learn):
    wants = [lesson(f"{word} subclasses of a class", query=int(word != "Count")) for word in
             ("Count", "Find", "List")]  # fmt: skip
    items, _ = learn(lessons(*wants))
    assert ["```sparql" in item.content for item in items] == [False, True, False]


def test_a_failure_has_no_query_joined(learn):
    (item,), (body,) = learn(lessons(lesson("guessing IRIs", query=1)), judgment=BAD)
    assert "```" not in item.content and "query_no" not in body["messages"][1]["content"]


@pytest.mark.parametrize("number", [0, -1, 2, True, None, "1"])
def test_a_number_of_no_query_joins_none(learn, number):
    (item,), _ = learn(lessons(lesson(query=number)))
    assert "```" not in item.content


def test_of_several_queries_the_model_says_which(prov):
    comments = "SELECT ?t ?c WHERE { ?t rdfs:comment ?c }"
    trace = traced(prov, query(ALL_SUBS), query(comments))
    with serving(lambda body, number: lessons(lesson(query=1))) as (client, _):
        (item,) = extract_memories(
            artifact(QUESTION, ANSWER), GOOD, client=client, trace=trace, ontology="prov",
            prefixes=prov.meta().prefixes, query=comments,
        )  # fmt: skip
    assert "subClassOf+" in item.content and "rdfs:comment" not in item.content


def test_a_query_keeps_what_the_question_does_not_name(prov):
    """A factor, a code and a status are how to ask; a year of the question is a gap."""
    question = "How many activities of Someone ended in 2023?"
    asked = (
        "SELECT (COUNT(?a) AS ?n) WHERE { ?a prov:wasAssociatedWith prov:Someone ; a prov:Kind7 ; prov:value ?v ;"
        ' prov:status "A" ; prov:endedAtTime ?t FILTER(YEAR(?t) = 2023 && ?v * 0.3048 > 10'
        ' && ?t != "none") }'
    )
    meta = prov.meta()
    trace = Trace([ToolCall("sparql_query", {"query": asked}, key="r")])
    with serving(lambda body, number: lessons(lesson(query=1, general=False))) as (client, _):
        (item,) = extract_memories(
            artifact(question, "There are 7."), GOOD, client=client, trace=trace, ontology="prov",
            prefixes=meta.prefixes, terms={*meta.classes, *meta.properties}, all_terms=False,
        )  # fmt: skip
    kept = ("0.3048", '"A"', '"none"', "> 10", "prov:Kind7", "$ENTITY_1", "= $NUMBER_1")
    assert [part for part in kept if part not in item.content] == [], item.content


def test_a_query_of_one_ontology_keeps_its_words_and_loses_its_things(prov):
    question = "Which activities of prov:Someone are there?"
    asked = "SELECT ?a WHERE { ?a prov:wasAssociatedWith prov:Someone ; a prov:Activity } LIMIT 20"
    meta = prov.meta()
    trace = Trace(
        [ToolCall("sparql_query", {"query": asked}, key="r", iris=frozenset(("prov:A",)))]
    )
    with serving(lambda body, number: lessons(lesson(query=1, general=False))) as (client, _):
        (item,) = extract_memories(
            artifact(question, "prov:A"), GOOD, client=client, trace=trace, ontology="prov",
            prefixes=meta.prefixes, query=asked, terms={*meta.classes, *meta.properties},
            all_terms=True,
        )  # fmt: skip
    assert (
        "SELECT ?a WHERE { ?a prov:wasAssociatedWith $ENTITY_1 ; a prov:Activity } LIMIT 20"
        in item.content
    )
    assert (item.scope.ontology, item.trust) == ("prov", "unverified"), item.quarantine_reason


@pytest.mark.parametrize(
    "step",
    [
        'Run `sparql_query("SELECT ?x WHERE { ?x")`.',
        "Run `SELECT ?x WHERE { ?x a ?y` first.",
        'Run `sparql_query("DELETE WHERE { ?s ?p ?o }")`.',
        "Run `DELETE WHERE { ?s ?p ?o }` with `sparql_query`.",
        "Run `CLEAR ALL` with `sparql_query`.",
        "Run `SELECT ?x WHERE ?x rdfs:label ?y`.",
        "Run `SELECT * WHERE { SERVICE <http://www.w3.org/> { ?s ?p ?o } }`.",
    ],
)
def test_a_lesson_whose_query_may_not_run_waits_in_quarantine(learn, step):
    (item,), _ = learn(
        lessons(lesson(steps=["Search for the class with `search_entity(name)`.", step]))
    )
    assert item.trust == "quarantined" and step in item.content
    assert re.search("query that (does not parse|may not run)|namespace", item.quarantine_reason)


def test_a_piece_of_a_query_in_a_step_is_no_query(learn):
    step = "Write `SELECT (COUNT(DISTINCT ?x) AS ?n)` for a number."
    (item,), _ = learn(
        lessons(lesson(steps=["Search for the class with `search_entity(name)`.", step]))
    )
    assert item.trust == "unverified", item.quarantine_reason


def test_nor_is_a_lesson_without_its_query_recalled(learn):
    said = lesson(steps=["Run the query below with `sparql_query`.", "Compare the rows."], query=0)
    (item,), _ = learn(lessons(said))
    assert item.trust == "quarantined" and "query that is not there" in item.quarantine_reason


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('Run `sparql_query("{}")`.', "Run `sparql_query` with the query below."),
        ("Run\n```sparql\n{}\n```", "Run the query below"),
        ("Run `{}`.", "Run the query below."),
    ],
)
def test_a_copied_query_is_not_said_twice(learn, written, said):
    copied = ALL_SUBS.replace("?x", "?class").replace("prov:Agent", "$ENTITY_1")
    steps = ["Find the class.", written.replace("{}", copied)]
    (item,), _ = learn(lessons(lesson(steps=steps, query=1)))
    assert f"- {said}" in item.content
    assert item.content.count("subClassOf+") == 1 and item.trust == "unverified"


def test_a_query_of_the_model_s_own_stays_where_it_may_run(learn):
    own = "ASK { $ENTITY_1 rdfs:subClassOf owl:Thing }"
    (item,), _ = learn(lessons(lesson(steps=["Find it.", f"Check\n```sparql\n{own}\n```"])))
    assert item.content == f"- Find it.\n- Check `{own}`" and item.trust == "unverified"


@pytest.mark.parametrize("step", ["`mem_get('0123456789abcdef')`", "As 0123456789abcdef says."])
def test_a_step_that_points_at_a_memory_is_left_out(learn, step):
    (item,), _ = learn(
        lessons(lesson(steps=["Search for the class with `search_entity(name)`.", step], query=0))
    )
    assert item.content == "- Search for the class with `search_entity(name)`."


# -- texts


def test_a_run_over_a_text_is_asked_about_texts_and_shows_its_code_and_sub_calls():
    turn = RLMIteration(
        2,
        code_blocks=[
            CodeBlock(
                "parts = llm_query_batched(prompts)",
                REPLResult(stdout="17 parts"),
                [SubCall("llm_query", "m", "Does this part name a payer?", "Yes: the tenant.")],
            )
        ],
    )
    made = artifact("Who pays for repairs?", "The tenant.")
    with serving(lambda body, number: lessons(said)) as (client, bodies):
        said = {
            "title": "Let sub-models read clauses",
            "description": "For duties that a contract spreads over many clauses.",
            "steps": [
                "Split the text at its headings.",
                "Ask about each with `llm_query_batched`.",
            ],
        }
        (item,) = extract_memories(
            made,
            GOOD,
            client=client,
            evidence=[Evidence.of_run(made["task"], made["final_answer"], [turn])],
        )
    (body,) = bodies
    system, (shown,) = body["messages"][0]["content"], data_in(body)["steps"]
    assert "too long to read at once" in system and "ontolog" not in system
    assert "SPARQL" not in system and "query_no" not in body["messages"][1]["content"]
    assert body["response_format"]["json_schema"]["schema"] == TEXT_LESSON_SCHEMA
    assert "llm_query_batched" in shown["code"] and shown["output"] == "17 parts"
    assert shown["asked_of_a_sub_model"][0]["said"] == "Yes: the tenant."
    assert (item.trust, item.tags, item.scope.tools) == (
        "unverified", ["text"], ("llm_query_batched",),
    )  # fmt: skip


def test_the_prompts_are_short():
    from rlm.learning.extract_prompts import JudgedRun, extract_messages

    run = JudgedRun(Evidence.of_artifact(artifact("q", "a")), GOOD)
    for over_text in (True, False):
        system = extract_messages([run], over_text=over_text)[0]["content"]
        assert len(system) < 4_000


def test_terms_of_the_ontology_need_its_name_in_the_scope(learn):
    named = lesson(
        steps=['`sparql_query("SELECT ?x WHERE { ?x prov:used $ENTITY_1 }")`', "name every IRI"]
    )
    (item,), _ = learn(lessons(named))
    assert (item.scope.ontology, item.scope.transferable, item.trust) == (
        "prov",
        False,
        "unverified",
    )
    items, _ = learn(lessons(named), ontology=None)
    assert [item.trust for item in items] == ["quarantined"], "it is kept, and nothing in its place"


def test_a_retelling_is_kept_apart_and_nothing_takes_its_place(learn):
    story = lesson(
        "Subclasses of Agent", ["Searched for Agent.", "Found prov:Person and prov:SoftwareAgent."]
    )
    items, _ = learn(lessons(story))
    assert [item.trust for item in items] == ["quarantined"]
    assert items[0].quarantine_reason


def test_what_was_recalled_is_marked_so_that_it_is_not_stored_again(learn):
    recalled = RecalledTexts()
    recalled.note(
        "Look for the class by its label, then read its subclasses from the map of the graph, level"
        " by level."
    )
    again = lesson(
        steps=[
            "Look for the class by its label, then read its subclasses from the map of the graph."
        ]
    )
    items, _ = learn(lessons(again), recalled=recalled)
    assert items[-1].quarantine_reason == REPEATS


def test_several_runs_are_shown_together_successes_first(prov, trace):
    other = traced(prov, call("graph_stats"))
    with serving(lambda body, number: lessons(lesson())) as (client, bodies):
        found = extract_contrast(
            [artifact(QUESTION, "nothing"), artifact(QUESTION, ANSWER)], [BAD, GOOD], client=client,
            traces=[other, trace], ontology="prov", prefixes=prov.meta().prefixes,
        )  # fmt: skip
    (body,) = bodies
    assert CONTRAST in body["messages"][0]["content"]
    assert [run["judged_a_success"] for run in data_in(body)] == [True, False]
    assert [item.outcome for item in found] == ["success"]


def test_a_reply_in_a_fence_is_read_and_one_with_line_ends_in_its_texts():
    assert (
        read_items(json.dumps({"items": [lesson("a b")]}).replace("a b", "a\nb"))[0]["title"]
        == "a\nb"
    )
    assert read_items(f"```json\n{json.dumps({'items': [lesson()]})}\n```") == [lesson()]


def test_a_lesson_that_gives_the_number_of_the_answer_retells(prov, trace):
    said = lesson(steps=["Count with `sparql_query`.", "It comes to 4383 classes."])
    with serving(lambda body, number: lessons(said)) as (client, _):
        (item,) = extract_memories(
            artifact(QUESTION, "There are 4383 of them."), GOOD, client=client, trace=trace,
            ontology="prov", prefixes=prov.meta().prefixes,
        )  # fmt: skip
    assert item.quarantine_reason == "retells this run: it names '4383'"
