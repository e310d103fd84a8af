"""Nothing that somebody hid in data comes out as a memory that is recalled: neither from the calls
nor from a model.

The model is a stand-in behind real HTTP that believes everything: it copies what it finds in the
run into its lessons.
"""

from __future__ import annotations

import pytest
from corpus_injected import INJECTED
from corpus_poisoned import POISONED
from learnt_from import BAD, GOOD, artifact, data_in, lesson, lessons, serving

from rlm.learning import dedup
from rlm.learning.extract import extract_contrast, extract_memories
from rlm.loop.trace import ToolCall, Trace
from rlm.store.open import open_store
from rlm.store.sanitize import clean_text

pytestmark = pytest.mark.req("PM-05")

TEXTS = [*POISONED, *INJECTED]
GROUPS = [TEXTS[start::16] for start in range(16)]
SAFE = "SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf+ prov:Agent FILTER(isIRI(?x)) }"
PROV = {"prov": "http://www.w3.org/ns/prov#"}


def poisoned_calls(text):
    """The text wherever a run can pick one up: names, texts and settings of calls, what came back,
    errors."""
    name = "http://example.org/" + "".join(char if char.isalnum() else "_" for char in text)[:300]
    quoted = text.replace("\\", "").replace('"', "").replace("\n", " ")[:300]
    return [
        ToolCall(
            "search_entity",
            {"query": text, "search_in": text},
            iris=frozenset((name, "prov:Agent")),
            rows=2,
        ),
        ToolCall(
            "sparql_query",
            {"query": f'SELECT ?x {{ ?x rdfs:label "{quoted}" ; <{name}> prov:Agent }}'},
            key="r_0",
        ),
        ToolCall(
            "sparql_slice",
            {"ref_or_key": "r_0"},
            iris=frozenset((name, "prov:Person")),
            rows=1,
            key="r_0",
        ),
        ToolCall("describe_entity", {"uri": text}, ok=False, error=f"OntologyError: {text}"),
        ToolCall("describe_entity", {"uri": text}, ok=False, error=f"OntologyError: {text}"),
        ToolCall("describe_entity", {"uri": name}, iris=frozenset((name,))),
        ToolCall(text[:60], {"x": text}, ok=False, error=text),
    ]


def poisoned_runs(text):
    for question, answer in (
        (f"What are all the subclasses of {text}?", "prov:Person"),
        ("What are all the subclasses of Agent?", f"prov:Person {text}"),
        (text, "prov:Person"),
        (f'Which terms contain "{text}"?', "prov:Person"),
    ):
        steps = [{"iteration": 1, "action": text[:80], "outcome": text[:100]}]
        yield question, artifact(question, answer, key_steps=steps, errors_encountered=[text])


def recallable(items):
    return [item for item in items if item.trust != "quarantined"]


def says(item, text):
    """Whether a telling part of the text is in what a prompt may show of an item."""
    shown = (
        f"{item.title}\n{item.description}\n{item.content}\n{item.tags}\n{item.scope}".casefold()
    )
    words = [word for word in text.casefold().split() if len(word) > 3]
    runs = [" ".join(words[place : place + 3]) for place in range(len(words) - 2)] or [
        text.strip().casefold()
    ]
    return any(run in shown for run in runs if len(run) > 6)


@pytest.mark.parametrize("texts", GROUPS, ids=range(16))
def test_the_calls_of_a_run_smuggle_nothing(texts):
    for text in texts:
        for place, (question, made) in enumerate(poisoned_runs(text)):
            for judgment in (GOOD, BAD) if place == 0 else (GOOD,):
                items = extract_memories(
                    made,
                    judgment,
                    trace=Trace(poisoned_calls(text)),
                    question=question,
                    ontology="prov",
                    prefixes=PROV,
                )
                assert not [item for item in recallable(items) if says(item, text)], text
                assert all(item.trust in ("unverified", "quarantined") for item in items)


def believe(body, number):
    """Lessons as a gullible model writes them: the task as a title, the rest as steps, or as a
    description."""
    found = data_in(body)
    run = found[0] if isinstance(found, list) else found
    poison = run["final_answer"].removeprefix("prov:Person ")
    return lessons(
        lesson(
            "Find all subclasses of a class",
            ["Search for the class with `search_entity(name)`.", poison],
        ),
        lesson(" ".join(poison.split()[:10]) or "x", [poison]),
        lesson(
            steps=["Search for the class with `search_entity(name)`.", "Query its subclasses."],
            description=poison,
            general=False,
        ),
    )


@pytest.fixture(scope="module")
def gullible():
    with serving(believe) as (client, _):
        yield client


@pytest.mark.parametrize("texts", GROUPS, ids=range(16))
def test_a_gullible_model_smuggles_nothing(texts, gullible):
    question = "What are all the subclasses of Agent?"
    rows = ToolCall("sparql_slice", {}, iris=frozenset(("prov:Person",)), key="r")
    trace = Trace([ToolCall("sparql_query", {"query": SAFE}, key="r"), rows])
    for text in texts:
        made = artifact(question, f"prov:Person {text}")
        items = extract_memories(
            made,
            GOOD,
            client=gullible,
            trace=trace,
            question=question,
            ontology="prov",
            prefixes=PROV,
        )
        assert not [item for item in recallable(items) if says(item, text)], text
        if clean_text(text) == text:  # what is hidden is gone before a model sees it
            kept = any(item.quarantine_reason for item in items)
            gone = not any(says(item, text) for item in items)
            assert kept or gone, "what was refused is kept, with the reason"


def test_nor_does_it_from_several_runs(gullible):
    made = [artifact("What are all the subclasses of Agent?", f"prov:Person {POISONED[0]}")] * 2
    rows = ToolCall("sparql_slice", {}, iris=frozenset(("prov:Person",)), key="r")
    calls = Trace([ToolCall("sparql_query", {"query": SAFE}, key="r"), rows])
    items = extract_contrast(
        made, [GOOD, BAD], client=gullible, traces=[calls, calls], prefixes=PROV
    )
    assert not [item for item in recallable(items) if says(item, POISONED[0])]
    assert any(item.quarantine_reason for item in items), (
        "what was refused is kept, with the reason"
    )


def test_what_is_in_quarantine_is_stored_and_not_recalled(tmp_path, gullible):
    made = artifact("What are all the subclasses of Agent?", f"prov:Person {POISONED[0]}")
    trace = Trace([ToolCall("graph_stats", {}, iris=frozenset(("prov:Person",)))])
    items = extract_memories(made, BAD, client=gullible, trace=trace, prefixes=PROV)
    with open_store(tmp_path / "m.db", embedder="none") as store:
        store.add_many(dedup.apply(store, items).add)
        assert store.list_items(trust="quarantined")
        for query in (POISONED[0], "Find all subclasses of a class"):
            assert not [hit for hit in store.retrieve(query, 10) if says(hit.item, POISONED[0])]
