"""Questions about several names at once: read as one name that may be several, answered name by
name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graph_runs import FINDING, ask, listed, opened, procedure, query_step, uses
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.learning.verify import Verify, check_answer
from rlm.llm.offline.asked import Asked, understand
from rlm.llm.offline.graph.planner import _Planner
from rlm.llm.offline.graph.prompt import Seen, Turn
from rlm.llm.types import OFFLINE_UNANSWERED

TWO = ("Tug", "Ferry")
READ = [
    ("subclasses of Tug and Ferry", "subclasses", TWO),
    ("What are the subclasses of Tug and of Ferry?", "subclasses", TWO),
    ("all subclasses of Tug & Ferry", "all_subclasses", TWO),
    ("subclasses of 'Tug' and 'Ferry'", "subclasses", TWO),
    ("Describe both Tug and Ferry", "describe", TWO),
    ("Tug and Ferry", "describe", TWO),
    ("tug and ferry", "describe", ("tug", "ferry")),
    ("What are the instances of tug, ferry and barge?", "instances", ("tug", "ferry", "barge")),
    ("List the instances of Tug, Ferry, and Barge.", "instances", (*TWO, "Barge")),
    ("superclasses of object and entity", "superclasses", ("object", "entity")),
    ("What is below Tug and Ferry?", "all_subclasses", TWO),
    ("describe prov:Agent, prov:Entity", "describe", ("prov:Agent", "prov:Entity")),
    ("Which properties have Tug and Ferry as range?", "properties_by_range", TWO),
    ("properties of Person, Place and Event", "properties_by_domain", ("Person", "Place", "Event")),
    ("What is Research and Development?", "describe", ("Research", "Development")),
]


@pytest.mark.parametrize(("question", "kind", "parts"), READ, ids=[each[0] for each in READ])
def test_joined_names_are_one_name_that_may_be_several(
    question: str, kind: str, parts: tuple[str, ...]
) -> None:
    asked = understand(question)
    assert asked is not None and (asked.kind, asked.several, len(asked.mentions)) == (
        kind,
        parts,
        1,
    )
    assert asked.mentions[0].replace(" & ", " and ") == ", ".join(parts[:-1]) + f" and {parts[-1]}"


def test_a_count_of_several_and_a_quoted_name_with_and_in_it() -> None:
    assert understand("How many subclasses do Tug and Ferry have?") == Asked(
        "count", ("Tug and Ferry",), of="subclasses", several=TWO
    )
    assert understand("Which properties have Tug or Ferry as domain?") == Asked(
        "properties_by_domain", ("Tug or Ferry",), several=TWO
    )
    assert understand('Describe "Tug and Ferry"') == Asked("describe", ("Tug and Ferry",))


@pytest.mark.parametrize(
    "question",
    [
        "What do Tug and Ferry have in common?",
        "common subclasses of Tug and Ferry",
        "Compare Tug and Ferry",
        "Which classes have Tug and Ferry as superclasses?",
        "Which class is a subclass of Tug and Ferry?",
        "Is Tug a subclass of Vessel or Boat?",
        "list the subclasses of tug and the superclasses of ferry",
        "Which properties have domain Tug and Ferry as range?",
        "Describe Tug and list its subclasses",
        "Write a poem about Tug and Ferry",
        "what sort of thing is a Schute, class-wise: its superclass?",
    ],
)
def test_what_is_one_question_of_two_names_is_not_split(question: str) -> None:
    assert understand(question) is None


_WORD = st.from_regex(r"[A-Z][b-df-hj-np-tv-z]{2,6}[a-z]\d?", fullmatch=True)


@given(st.lists(_WORD, min_size=2, max_size=9, unique=True))
@settings(max_examples=25)
def test_all_joined_names_are_kept_in_order(names: list[str]) -> None:
    asked = understand(f"subclasses of {', '.join(names[:-1])} and {names[-1]}")
    assert asked is not None and asked.several == tuple(names)


# -- answered
# --------------------------------------------------------------------------------------------------

TURTLE = """
@prefix dct: <http://purl.org/dc/terms/> .
<http://ex.example/> a owl:Ontology ; dct:title "Boats" ; dct:description "What floats, and who owns it."@en .
ex:Vessel a owl:Class . ex:Tug a owl:Class ; rdfs:subClassOf ex:Vessel .
ex:Ferry a owl:Class ; rdfs:subClassOf ex:Vessel .
ex:SeaTug a owl:Class ; rdfs:subClassOf ex:Tug . ex:OldTug rdfs:subClassOf ex:Tug .
ex:CarFerry a owl:Class ; rdfs:subClassOf ex:Ferry .
ex:Both a owl:Class ; rdfs:label "Search and Rescue" . ex:Cutter a owl:Class ; rdfs:subClassOf ex:Both .
ex:Search a owl:Class . ex:Rescue a owl:Class . ex:Barge a owl:Class .
ex:p a owl:ObjectProperty ; rdfs:label "has part" ; rdfs:domain ex:Tug .
ex:q a owl:ObjectProperty ; rdfs:subPropertyOf ex:p .
"""
BELOW = "SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf $ENTITY_1 FILTER(isIRI(?x)) }"


@pytest.fixture(scope="module")
def boats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    engine = opened(tmp_path_factory.mktemp("boats"), TURTLE)
    yield engine
    engine.close()


@pytest.mark.req("RB-22")
def test_the_union_is_answered_name_by_name_and_verified(boats: Any) -> None:
    question = "What are the subclasses of Tug, Unicorn, Ferry and Barge?"
    result = ask(boats, question)
    sections = result.answer.split("\n\n")
    assert [section.split("\n")[0] for section in sections] == [
        "2 direct subclasses of “Tug”:",
        "There is no class called “Unicorn” in this ontology.",
        "1 direct subclass of “Ferry”:",
        "None: there are no direct subclasses of “Barge”.",
    ]
    union = Verify(
        "SELECT ?x { VALUES ?c { ex:Tug ex:Ferry ex:Barge } ?x rdfs:subClassOf ?c }", "set"
    )
    assert check_answer(result.answer, union, boats, boats.meta(), question).ok
    half = Verify("SELECT ?x { ?x rdfs:subClassOf ex:Tug }", "set")
    assert not check_answer(result.answer, half, boats, boats.meta(), question).ok
    assert len(result.iterations) == 3


def test_a_name_with_and_in_it_comes_before_its_parts(boats: Any) -> None:
    assert listed(ask(boats, "What are the subclasses of search and rescue?").answer) == {
        "ex:Cutter"
    }


def test_numbers_are_told_one_by_one_and_no_more_than_five(boats: Any) -> None:
    result = ask(
        boats, "How many subclasses do Vessel, Tugs, Ferry, Barge, Search, Rescue and Cutter have?"
    )
    first, *numbers = result.answer.split("\n\n")
    assert first.startswith("Only the first five names")
    assert [each.split()[0] for each in numbers] == ["2", "2", "1", "0", "0"]


def test_a_procedure_for_one_name_is_followed_for_each_and_left_where_it_falls_short(
    boats: Any,
) -> None:
    question = "subclasses of Tug and Ferry"
    right = procedure("List the direct subclasses of a class", FINDING, query_step(BELOW))
    less = procedure(
        "List subclasses", FINDING, query_step(BELOW.replace("?x rdfs", "?x a owl:Class ; rdfs"))
    )
    without, with_it = ask(boats, question), ask(boats, question, [right])
    assert with_it.answer == without.answer and uses(with_it) == ["none", "1"]
    misled = ask(
        boats, question, [less]
    )  # it leaves out what is not declared: seen, and done without it
    assert misled.answer == without.answer and uses(misled) == ["none", "1", "none"]


@pytest.mark.parametrize("step", ["join", "each"])
def test_what_could_not_be_looked_up_is_not_said_to_be_absent(step: str) -> None:
    asked = understand("subclasses of Tug and Ferry")
    turns = (
        Turn("join", 0, {"parts": [None, {}]}),
        Turn(step, 0, None, "QueryTimeout: 30 s are over"),
    )
    seen = Seen(frozenset(), (), turns)
    assert asked is not None
    assert (
        _Planner("", asked, seen)
        .reply()
        .startswith(f'FINAL("""{OFFLINE_UNANSWERED} what the tools returned')
    )


def test_two_absent_names_are_said_to_be_absent(boats: Any) -> None:
    answer = ask(boats, "Describe unicorn and dragon").answer
    assert (
        answer == "There is no term called “unicorn and dragon” (nor “unicorn” or “dragon”) in this"
        " ontology."
    )


# -- what else is asked of properties, and of the ontology
# -----------------------------------------------------


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the domain of has part?", Asked("describe", ("has part",), what="property")),
        ("What is the inverse of has input?", Asked("describe", ("has input",), what="property")),
        ("How many instances has object?", Asked("count", ("object",), of="instances")),
        ("sub properties of X", Asked("describe", ("X",), of="subproperties", what="property")),
        ("Which properties are subproperties of has part?",
         Asked("describe", ("has part",), of="subproperties", what="property")),
        ("What is the superproperty of hasPart?", Asked("describe", ("hasPart",), what="property")),
        ("What is this ontology about?", Asked("describe")),
        ("What is the longest path in the hierarchy?", None),
        ("What's the license?", None),
        ("What is a license?", Asked("describe", ("license",))),
    ],
)  # fmt: skip
def test_what_is_asked_of_properties_and_of_the_whole(question: str, asked: Asked | None) -> None:
    assert understand(question) == asked


def test_subproperties_and_the_ontology_itself(boats: Any) -> None:
    result = ask(boats, "What are the subproperties of has part?")
    assert result.answer.startswith(
        "1 direct subproperty of ex:p:\n- ex:q\nex:p is an object property"
    )
    whole = ask(boats, "What is this ontology about?").answer.split("\n")
    assert whole[0].startswith("Boats: ") and whole[1] == "What floats, and who owns it."
