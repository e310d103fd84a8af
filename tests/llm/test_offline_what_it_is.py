"""What a thing is (an instance, a subclass, its types), the kinds of properties, and names that are
none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graph_runs import ask, listed, opened, procedure, query_step, uses

from rlm.llm.offline.asked import Asked, generalised, understand
from rlm.llm.types import OFFLINE_UNANSWERED

TURTLE = """
<http://ex.example/unit> a owl:Ontology ; rdfs:label "Unit" .
ex:Craft a owl:Class . ex:Vessel a owl:Class ; rdfs:subClassOf ex:Craft .
ex:Tug a owl:Class , ex:Tariff ; rdfs:subClassOf ex:Vessel ; rdfs:label "tug" .
ex:Ferry a owl:Class ; rdfs:subClassOf ex:Vessel . ex:Tariff a owl:Class .
ex:Float a owl:Class ; rdfs:subClassOf ex:Vessel . ex:Hull a owl:Class ; rdfs:subClassOf ex:Vessel .
ex:Raft a owl:Class ; rdfs:subClassOf ex:Float , ex:Hull . ex:Kon a ex:Raft .
ex:Otter a owl:NamedIndividual , ex:Tug ; rdfs:label "Otter" . ex:Badger a ex:Tug . ex:Silvermouth a ex:Ferry .
ex:Otters a owl:Class ; rdfs:label "otters" .
ex:tows a owl:ObjectProperty ; rdfs:domain ex:Tug . ex:towedBy a owl:ObjectProperty .
ex:length a owl:DatatypeProperty ; rdfs:domain ex:Tug . ex:towed a owl:DatatypeProperty .
ex:note a owl:AnnotationProperty . ex:any a rdf:Property .
"""


@pytest.fixture(scope="module")
def craft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = opened(tmp_path_factory.mktemp("craft"), TURTLE)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is Otter a Tug?", "Yes: ex:Otter is an instance of ex:Tug."),
        ("Is Otter a craft?", "Yes: ex:Otter is an instance of ex:Craft (ex:Tug → ex:Vessel → ex:Craft)."),
        ("Is Kon a craft?", "Yes: ex:Kon is an instance of ex:Craft (ex:Raft, and so on up)."),
        ("Is Otter directly a Vessel?",
         "No: ex:Otter is no direct instance of ex:Vessel; it is a direct instance of ex:Tug."),
        ("Is Otter an instance of Ferry?", "No: ex:Otter is no instance of ex:Ferry; it is an instance of ex:Tug."),
        ("Is Tug a Craft?", "Yes: ex:Tug is a subclass of ex:Craft."),
        # both a class and an individual
        ("Is Tug a Tariff?", "Yes: ex:Tug is an instance of ex:Tariff."),
        ("Is Tug an instance of Vessel?", "No: ex:Tug is no instance of ex:Vessel; it is a subclass of it."),
        ("Is Silvermouht a Ferry?", "Yes (“Silvermouht” is taken for “Silvermouth”, the nearest name): "
         "ex:Silvermouth is an instance of ex:Ferry."),
        ("Is Unicorn a Ferry?", "No. There is no class or individual called “Unicorn” in this ontology."),
        # the ontology is none
        ("Is Otter a Unit?", "There is no class called “Unit” in this ontology."),
        ("What type is Otter?", "1 type of ex:Otter:\n- ex:Tug\nBy their superclasses also: ex:Craft, ex:Vessel"),
        ("What instances does Tug have, and how many are there?", "2 instances of “Tug”:\n- ex:Badger\n- ex:Otter"),
        ("Is towed an object property?",
         "No. There is no object property called “towed”, but a datatype property: ex:towed."),
        ('What is "the size of each ship"?', "There is no term called “the size of each ship” in this ontology."),
    ],
)  # fmt: skip
def test_what_a_thing_is(craft: Any, question: str, answer: str) -> None:
    assert ask(craft, question).answer == answer


@pytest.mark.parametrize(
    "question",
    ["What is the length of each tug?", "What is part of the hull?", "Is Tug not a vessel?"],
)
def test_a_piece_of_the_question_is_no_name_that_is_absent(craft: Any, question: str) -> None:
    assert ask(craft, question).answer.startswith(OFFLINE_UNANSWERED)


@pytest.mark.req("RB-22")
@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("List all object properties", {"ex:tows", "ex:towedBy"}),
        ("List the annotation properties", {"ex:note"}),
        ("How many data properties are there, and which are they?", {"ex:length", "ex:towed"}),
        ("Find object properties with “tow” in the name", {"ex:tows", "ex:towedBy"}),
        ("Which object properties have the domain Tug?", {"ex:tows"}),
    ],
)
def test_one_kind_of_property_is_listed_alone_and_no_procedure_for_all_is_followed(
    craft: Any, question: str, names: set[str]
) -> None:
    kinds = "rdf:Property owl:ObjectProperty owl:DatatypeProperty owl:AnnotationProperty"
    every = f"SELECT DISTINCT ?x WHERE {{ VALUES ?t {{ {kinds} }} ?x a ?t FILTER(isIRI(?x)) }}"
    domain = "SELECT DISTINCT ?x WHERE { ?x rdfs:domain $ENTITY_1 FILTER(isIRI(?x)) }"
    wrong = [procedure("List all properties of the ontology", query_step(every)),
             procedure("List the properties with a given domain", query_step(domain))]  # fmt: skip
    result = ask(craft, question, wrong)
    assert (listed(result.answer), uses(result)) == (names, ["none"])


def test_a_procedure_for_the_kind_is_followed(craft: Any) -> None:
    right = procedure(
        "List all object properties", query_step("SELECT ?x WHERE { ?x a owl:ObjectProperty }")
    )
    assert uses(ask(craft, "List all object properties", [right])) == ["1"]
    tugs = procedure(
        "Check an instance", query_step("ASK { $ENTITY_1 a/rdfs:subClassOf* $ENTITY_2 }")
    )
    assert uses(ask(craft, "Is Otter an instance of Tug?", [tugs])) == ["1"]
    below = procedure(
        "Check whether a class is a subclass",
        query_step("ASK { $ENTITY_1 rdfs:subClassOf+ $ENTITY_2 }"),
    )
    result = ask(craft, "Is Otter a Tug?", [below])  # what it says is no is looked at once more
    assert (uses(result), result.answer) == (["1"], "Yes: ex:Otter is an instance of ex:Tug.")


def test_titles_and_scopes_tell_the_kinds_apart() -> None:
    told = {}
    for question in (
        "List all properties", "List all object properties", "List the data properties", "Is Tug a Vessel?",
        "Is Otter an instance of Tug?", "Which properties have the domain Tug?",
        "Which annotation properties have the domain Tug?", "How many object properties have the domain Tug?",
        "How many properties have the domain Tug?",
        "Which annotation properties does Tug have, including inherited ones?",
    ):  # fmt: skip
        asked = understand(question)
        assert asked is not None
        told[question] = (asked.task_type, generalised(question, asked))
        assert len(told[question][1]) <= 45
    assert len({title for _, title in told.values()}) == len(told)
    assert told["List all object properties"] == (
        "list_object_properties",
        "List all object properties",
    )
    assert told["Is Otter an instance of Tug?"][0] == "is_instance"


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What type of thing is a trademark a kind of?", Asked("superclasses", ("trademark",))),
        ("Which class is Tug a subclass of?", Asked("superclasses", ("Tug",))),
        ("Which class is deprecated?", None),
        ("What is Otter an instance of?", Asked("describe", ("Otter",), of="types")),
        ("What is the type of Otter?", Asked("describe", ("Otter",), of="types")),
        ("Of which class is Otter an instance?", Asked("describe", ("Otter",), of="types")),
        ("How many instances does Tug have and what are they?", Asked("instances", ("Tug",))),
        ("How many classes are there, and which are they?", Asked("search", what="class")),
        ("Which classes are there and how many?", Asked("search", what="class")),
    ],
)  # fmt: skip
def test_what_is_read(question: str, asked: Asked | None) -> None:
    assert understand(question) == asked
