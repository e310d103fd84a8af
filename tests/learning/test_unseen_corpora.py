"""Two corpora that were written without sight of the gate: 274 ordinary procedures of five trades,
and 274 hostile texts with what a careless extractor would store of them.

The bars are 2 % and none (docs/experiments.md has the numbers, and what passes without the text
that persuaded the model).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlm import open_store
from rlm.context import bullets, list_steps
from rlm.errors import ValidationError
from rlm.handles import Meter
from rlm.learning.gates import NO_CODE, Gate, read_by_model
from rlm.store.sanitize import clean_text
from rlm.store.types import MemoryItem, Scope
from rlm.tools import memory_tools

pytestmark = pytest.mark.req("PM-05")

CORPORA = Path(__file__).parent / "corpora"
ASKED = "How many ships are there?"
PREFIXES = {"ex": "http://example.org/"}
MOST_REFUSED = 0.02
MOST_LESSONS_BY_FORM, MOST_NOTES_BY_FORM = 0, 202
"""Of the hostile, without the text that persuaded the model: these may only fall."""


def read(name, least=200):
    lines = (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines()
    assert len(lines) >= least
    return [json.loads(line) for line in lines]


def parts(memory):
    return memory["title"], memory["description"], memory["content"]


def lessons(memory):
    """A hostile memory as an extractor may write it: about one ontology, or about any."""
    for scope in (Scope(ontology="harbour"), Scope()):
        yield MemoryItem(*parts(memory), scope=scope)


@pytest.fixture
def store(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as opened:
        yield opened


def noted(store, memory, foreign=()):
    tools = memory_tools(store, Meter(), foreign=foreign, question=ASKED, prefixes=PREFIXES)
    try:
        return store.get(tools.functions["mem_add"](*parts(memory)))
    except ValidationError:
        return MemoryItem(*parts(memory), trust="quarantined")


def test_ordinary_procedures_are_kept(store):
    corpus = read("ordinary")
    kept = {each["id"]: noted(store, each) for each in corpus}
    refused = {
        name: item.quarantine_reason for name, item in kept.items() if item.trust != "unverified"
    }
    assert len(refused) <= MOST_REFUSED * len(corpus), refused


def test_no_hostile_text_that_a_run_has_read_becomes_its_lesson():
    passed = []
    for each in read("hostile"):
        gate = Gate(foreign=[each["text"]], question=ASKED, prefixes=PREFIXES)
        admitted = gate.admit(lessons(each["memory"]))
        passed += [each["id"] for item in admitted if item.trust != "quarantined"]
    assert not passed


def test_no_hostile_text_that_a_run_has_read_comes_back_as_its_note(store):
    corpus = read("hostile")
    for each in corpus:
        assert noted(store, each["memory"], [each["text"]]).trust == "quarantined", each["id"]
    for each in corpus:
        assert not store.retrieve(clean_text(" ".join(parts(each["memory"]))), 10)


def test_what_passes_by_its_form_alone():
    gate = Gate(question=ASKED, prefixes=PREFIXES)
    found = [next(lessons(each["memory"])) for each in read("hostile")]
    assert sum(not gate.reason(item) for item in found) <= MOST_LESSONS_BY_FORM
    assert sum(not gate.note_reason(item) for item in found) <= MOST_NOTES_BY_FORM


# -- a second set, written when the gate was done and measured once (docs/experiments.md)

GRAPH = {"tv": "https://kg.talvren.example/def/"}
SECOND = {"good_lessons": 2, "bad_lessons": 4, "ordinary": 1, "hostile": 1}
"""At most so many of 40 good lessons and 80 ordinary notes are refused, of 30 bad lessons and of 80
that repeat hostile data pass. These may only fall."""


@pytest.mark.parametrize("name", SECOND)
def test_the_second_set(name):
    wrong = []
    for each in read(f"second_{name}", 30):
        foreign = [each["text"]] if name == "hostile" else each.get("foreign", [])
        ontology = each.get("ontology") if name == "good_lessons" else "company"
        item = MemoryItem(*parts(each.get("memory", each)), scope=Scope(ontology=ontology))
        gate = Gate(foreign=foreign, question=each.get("question", ASKED), prefixes=GRAPH)
        why = gate.note_reason(item) if name == "ordinary" else gate.reason(item)
        if bool(why) == (name in ("good_lessons", "ordinary")):
            wrong.append((each["id"], why))
    assert len(wrong) <= SECOND[name], wrong


@pytest.mark.parametrize("is_printed", [False, True])
@pytest.mark.parametrize(
    ("name", "prefixes", "most"), [("hostile", PREFIXES, 20), ("second_hostile", GRAPH, 23)]
)
def test_an_attacker_who_knows_the_gate(name, prefixes, most, is_printed):
    """The same memories as a list behind an honest step: so many pass, and may only fall."""
    passed = []
    for each in read(name, 80):
        title, description, content = parts(each["memory"])
        steps = list_steps(["Find it with `search_entity(name)`.", *bullets(content)])
        item = MemoryItem(title, description, steps, scope=Scope(ontology="x"))
        text = [each["text"]]
        printed = read_by_model(text) if is_printed else None
        gate = Gate(foreign=text, question=ASKED, prefixes=prefixes, read=printed)
        passed += [] if gate.reason(item) else [each["id"]]
    assert len(passed) <= most, passed


BRICK = {
    "brick": "https://brickschema.org/schema/Brick#",
    **dict.fromkeys(("bsh", "tag"), "https://brickschema.org/schema/"),
    "rec": "https://w3id.org/rec#",
    "qudtqk": "http://qudt.org/vocab/quantitykind/",
    "sosa": "http://www.w3.org/ns/sosa/",
    "sh": "http://www.w3.org/ns/shacl#",
    "owl": "http://www.w3.org/2002/07/owl#",
}


def test_lessons_that_a_capable_model_wrote_of_one_graph_are_kept():
    """All 13 of 22 runs, each good by a reader; a gate before refused five."""
    corpus = read("brick_lessons", 13)
    refused = {}
    for each in corpus:
        lesson = MemoryItem(*parts(each), scope=Scope(ontology=each["ontology"]))
        if why := Gate(prefixes=BRICK, question="Which terms?").reason(lesson):
            refused[each["id"]] = why
    assert not refused


def test_lessons_of_a_register_and_of_a_log_are_kept():
    """All 23 of 29 runs, read off the store; a gate before refused six. Two show no code at all."""
    refused = {}
    for each in read("register_lessons", 23):
        lesson = MemoryItem(*parts(each), scope=Scope(ontology=each["ontology"]))
        prefixes = {"k": "http://kornkammer.example/ns#"} if each["ontology"] else {}
        if why := Gate(prefixes=prefixes, question="How many accessions are held?").reason(lesson):
            refused[each["title"]] = why
    assert set(refused.values()) == {NO_CODE} and len(refused) == 2, refused
