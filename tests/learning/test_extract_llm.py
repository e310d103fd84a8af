"""The extractor with a model, over real HTTP: asked by schema, repaired once, and never the end of
a run."""

from __future__ import annotations

import json

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

from rlm.learning.extract import extract_contrast, extract_memories
from rlm.learning.extract_llm import read_items
from rlm.learning.gates import REPEATS
from rlm.learning.prompts import CONTRAST, FAILURE, JUDGE_SCHEMA, LESSON_SCHEMA, SUCCESS
from rlm.llm import Usage
from rlm.llm.offline.client import OfflineClient
from rlm.llm.schema import is_strict
from rlm.loop.trace import ToolCall, Trace
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
        "- Search for the class.\n- Query its subclasses.",
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
    assert [made["tool"] for made in data["steps"][-1]["calls"]] == [
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
    (item,), bodies = learn((400, words))  # it is too long as well: the calls of the run speak
    assert "subClassOf+ $ENTITY_1" in item.content and len(bodies) == 2
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
    assert sizes[1] < 4_500 < 6_500 < sizes[0]


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

    assert unbounded(LESSON_SCHEMA) == unbounded(JUDGE_SCHEMA) == []


@pytest.mark.parametrize("replies", [("no", "no"), (500,), (lessons(),), ("no", 401)])
def test_when_the_model_fails_the_calls_of_the_run_speak(learn, replies):
    (item,), bodies = learn(*replies)
    assert "subClassOf+ $ENTITY_1" in item.content and item.trust == "unverified"
    assert len(bodies) <= 2


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


def test_at_most_three_items_and_bounded_ones(learn):
    long = lesson(
        "Find " + "very " * 30 + "long",
        ["Search the class."] * 20 + ["x" * 9000],
        description="d" * 900,
    )
    items, _ = learn(lessons(*(lesson(f"Find things {number} of a class") for number in range(9))))
    assert len(items) == 3
    (item, *_), _ = learn(lessons(long, lesson()))
    assert (
        len(item.title.split()) <= 10
        and len(item.description) <= 300
        and len(item.content.splitlines()) == 6
    )


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
    assert [item.trust for item in items] == [
        "unverified",
        "quarantined",
    ], "the calls speak, and it is kept"


def test_a_retelling_is_kept_apart_and_the_calls_speak(learn):
    story = lesson(
        "Subclasses of Agent", ["Searched for Agent.", "Found prov:Person and prov:SoftwareAgent."]
    )
    items, _ = learn(lessons(story))
    assert [item.trust for item in items] == ["unverified", "quarantined"]
    assert items[1].quarantine_reason
    assert len(learn(lessons(*[story] * 5))[0]) == 3, (
        "a run leaves three items at most, whoever wrote them"
    )


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
