"""What is injected: what is like the question, or of its kind; else nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rlm import agent
from rlm.context import ASSESS_SHORT, MEMORY_CHARS, MODEL_MEMORY_CHARS, build_context
from rlm.errors import ConfigError
from rlm.llm import ScriptedClient
from rlm.store.gate import RECALLED_HEADING
from rlm.store.types import MemoryItem, Scope

HARBOUR = Path(__file__).parent.parent.parent / "ontology" / "harbour.ttl"


def lesson(title, description, content, kind="", ontology=None, **more):
    scope = Scope(ontology, (kind,) if kind else (), ("sparql_query",))
    return MemoryItem(
        title,
        description,
        content,
        "success",
        scope=scope,
        confidence=0.6,
        outcome="success",
        **more,
    )


RANK = lesson(
    "Rank components by price",
    "When one end of a numeric property is wanted.",
    "- bind class and price\n```sparql\nSELECT ?x WHERE { ?x a <class> ; pv:price ?p }\n"
    "ORDER BY ?p LIMIT 1\n```",
    "superlative",
    "harbour",
)
OTHERS = [
    lesson(
        "Aggregate members of a class",
        "For a figure per group.",
        "- GROUP BY it",
        "count",
        "harbour",
    ),
    lesson(
        "Read label and comment",
        "For the sense of a term.",
        "- describe it",
        "definition",
        "harbour",
    ),
    lesson("Bake bread", "For dough.", "- knead it"),
]


def prompt_of(question, store, **choices):
    """The system message that a language model got, and what was injected."""
    client = ScriptedClient(["FINAL(42)", "{}"] * 4, is_language_model=True)
    result = agent.run(question, HARBOUR, store=store, client=client, **choices)
    injected = [each["title"] for each in result.memories_used if each["injected"]]
    return client.calls[0][0]["content"], injected


def test_the_kind_of_a_question_is_met_in_other_words(store):
    store.add_many([RANK, *OTHERS])
    prompt, injected = prompt_of("Cheapest Oscillator", store, memory_chars=MEMORY_CHARS)
    assert injected[:1] == ["Rank components by price"]
    assert f"### 1. Rank components by price [{RANK.memory_id}]" in prompt
    assert "ORDER BY ?p LIMIT 1\n```" in prompt and "Uses: none" in prompt
    prompt, injected = prompt_of("Cheapest Oscillator", store)  # a model sees whether it fits
    assert injected == [] and f"first where a title fits the question:\n1. {RANK.title} [" in prompt


def test_what_a_model_is_only_named_does_not_hold_back_what_is_like_the_question(store):
    trusted = replace(
        lesson("Dates", "For days.", "- cranes, dates", ontology="harbour"), confidence=1.0
    )
    like = lesson(
        "Count the cranes of a berth", "For counts.", "- count cranes", ontology="harbour"
    )
    store.add_many([trusted, replace(like, confidence=0.5), *OTHERS])
    prompt, injected = prompt_of("How many cranes are there?", store)
    assert injected == [like.title, OTHERS[0].title] and f". {trusted.title} [" in prompt
    assert prompt_of("How many cranes are there?", store, memory_chars=MEMORY_CHARS)[1] == []


@pytest.mark.parametrize("question", ["What is the heaviest cargo?", "Which crane lifts the most?"])
def test_a_superlative_that_no_list_has_finds_its_kind(store, question):
    store.add_many([RANK, *OTHERS])
    _, injected = prompt_of(question, store, memory_chars=MEMORY_CHARS)
    assert injected[:1] == ["Rank components by price"]


def test_where_nothing_fits_nothing_is_injected(store):
    store.add_many([RANK, *OTHERS])
    prompt, injected = prompt_of("Which language do the dockers speak at home?", store)
    assert injected == [] and "## Relevant Prior" not in prompt and "Uses:" not in prompt


REPLACE = lesson(
    "Find the replacement of a deprecated harbour term",
    "For what to use instead of a class.",
    "- read dcterms:isReplacedBy with `sparql_query`",
    "listing",
    "harbour",
)


@pytest.mark.parametrize(
    "question", ["List all ancestors of the tug boat", "Which version of harbour is this?"]
)
def test_words_that_any_question_has_find_no_lesson_of_the_graph(store, question):
    store.add_many([REPLACE, *OTHERS])
    assert prompt_of(question, store)[1] == []


def test_what_the_caller_said_of_the_kind_needs_no_likeness(store):
    store.add_many([RANK, *OTHERS])
    _, injected = prompt_of("Zzz qqq superlative?", store, task_types=("superlative",))
    assert injected == ["Rank components by price"]


@pytest.mark.parametrize(("chars", "whole"), [(None, True), (MEMORY_CHARS, False), (2_400, True)])
def test_a_language_model_gets_a_long_lesson_whole_unless_told_otherwise(store, chars, whole):
    assert MODEL_MEMORY_CHARS == 2_400
    long = "\n".join(f"- step {n} of a long way to the cheapest oscillator" for n in range(30))
    store.add(lesson("Find the cheapest oscillator", "For prices.", long))
    prompt, _ = prompt_of("Which is the cheapest oscillator?", store, memory_chars=chars)
    assert ("- step 29 of a long way" in prompt) is whole
    assert ("Whole with mem_get(" in prompt) is not whole


def test_a_number_of_characters_that_cannot_be_is_refused(store):
    for chars in (-1, 20_001, True, "many"):
        with pytest.raises(ConfigError, match="memory_chars is"):
            agent.run("Which?", HARBOUR, store=store, memory_chars=chars)


FAR = lesson("Where a ship lies now", "For berths.", "- take the last call", "path", "harbour")
ELSEWHERE = lesson("Where a ship was built", "For yards.", "- read it", "path", "shipyards")


def test_a_language_model_is_named_the_other_lessons_of_the_graph(store):
    """It knows better than their likeness which apply, and gets them whole with one call."""
    store.add_many([RANK, *OTHERS, FAR, ELSEWHERE])
    question = "Which ship is the heaviest of all that lie in a berth now?"
    prompt, injected = prompt_of(question, store)
    titles = prompt.partition("earnt over this graph")[2].partition("\n\n")[0]
    assert FAR.title not in injected and f". {FAR.title} [{FAR.memory_id}]" in titles
    assert not any(title in titles for title in injected)
    assert ELSEWHERE.title not in titles and "Bake bread" not in titles
    assert "earnt over this graph" not in prompt_of(question, store, memory_chars=MEMORY_CHARS)[0]


def test_titles_alone_take_no_more_than_the_room_for_memories(store):
    lessons = [
        lesson(f"Ship number {n} of the harbour", "For it.", "- read it", "", "harbour")
        for n in range(12)
    ]
    built = build_context("ship", memory_chars=300, further=lessons)
    assert built.text.count("Ship number") == 4 and built.memory_ids == ()
    assert "\nLearnt over this graph; " in built.text, "nothing was shown before"
    assert len(built.named_ids) == 4
    assert len(built.text) <= 300 + len(RECALLED_HEADING) + len(ASSESS_SHORT) + 3
    assert build_context("ship", memory_chars=60, further=lessons).text == ""


def test_a_lesson_that_was_only_named_is_credited_when_it_is_used(store):
    store.add_many([RANK, *OTHERS])
    reply = f"Uses: 1\n```repl\nprint(mem_get('{RANK.memory_id}'))\n```"
    verdict = '{"is_success": true, "reason": "it is so", "confidence": "high"}'
    replies = [reply, "Uses: 1\nFINAL(It is not said.)", verdict, '{"items": []}']
    client = ScriptedClient(replies, is_language_model=True)
    result = agent.run("Cheapest Oscillator", HARBOUR, store=store, client=client)
    followed = [each["title"] for each in result.memories_used if each["followed"]]
    assert followed == ["Rank components by price"] and result.judgment["is_success"]
    assert store.get(RANK.memory_id).confidence == pytest.approx(0.7)
