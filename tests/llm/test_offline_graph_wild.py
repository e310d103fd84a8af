"""`offline` over ontologies as they are found: odd names, odd shapes, more than one look shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from graph_runs import FINDING, ask, listed, opened, procedure, query_step, uses

from rlm.learning.grounding import iris_in
from rlm.llm.offline.asked.kinds import Asked
from rlm.llm.offline.graph.steps import links
from rlm.loop import RLMResult
from rlm.store.types import MemoryItem


def asked(
    folder: Path, turtle: str, question: str, memories: Sequence[MemoryItem] = ()
) -> RLMResult:
    """One run; no tool returns too much, whatever the ontology is like."""
    engine = opened(folder, turtle)
    try:
        result = ask(engine, question, memories)
    finally:
        engine.close()
    assert result.leakage["max_single_return"] <= 1_000
    return result


# -- namespaces
# --------------------------------------------------------------------------------------------


def spaces(number: int, bound: int = 0) -> tuple[str, list[str]]:
    """A graph whose terms are in so many namespaces with long names, and more that are bound only."""
    iris = [
        f"http://p{n}.example/a/rather/long/path/of/a/namespace/number/{n}#"
        for n in range(number + bound)
    ]
    used = "".join(f"p{n}:C a owl:Class . " for n in range(number))
    return "".join(f"@prefix p{n}: <{iri}> . " for n, iri in enumerate(iris)) + used, iris


@pytest.mark.parametrize("number", [8, 12, 30])
@pytest.mark.parametrize(
    "memories", [(), (procedure("List the namespaces", "`graph_stats()`"),)], ids=["", "taught"]
)
def test_namespaces_are_never_cut(
    tmp_path: Path, number: int, memories: Sequence[MemoryItem]
) -> None:
    turtle, iris = spaces(number)
    result = asked(tmp_path, turtle, "List the namespaces.", memories)
    assert "…" not in result.answer and set(iris) <= iris_in(result.answer, {})
    assert len(result.iterations) == (2 if memories else 3)


def test_namespaces_of_numbered_terms_end_in_an_underscore(tmp_path: Path) -> None:
    turtle, _ = spaces(20)
    for name in ("RO", "OBI"):
        turtle += (
            f"@prefix {name}: <http://obo.example/obo/{name}_> . {name}:0001 a owl:Class ."
            f" {name}:0002 a owl:Class . "
        )
    answer = asked(tmp_path, turtle, "List the namespaces.").answer
    assert (
        "- RO: http://obo.example/obo/RO_" in answer
        and "- OBI: http://obo.example/obo/OBI_" in answer
    )


def test_namespaces_that_are_not_shown_are_counted(tmp_path: Path) -> None:
    turtle, iris = spaces(5, bound=40)
    answer = asked(tmp_path, turtle, "List the namespaces.").answer
    shown = iris_in(answer, {})
    assert set(iris[:5]) <= shown
    assert (
        f"{45 + 6 - len(shown)} more are bound and not shown." in answer
    )  # six are in the head of every test


# -- roots, instances, subclasses
# --------------------------------------------------------------------------

ROOTS = (
    "SELECT DISTINCT ?x WHERE { VALUES ?t { owl:Class rdfs:Class } ?x a ?t FILTER(isIRI(?x)) "
    "MINUS { ?x rdfs:subClassOf ?y FILTER(isIRI(?y) && ?y NOT IN (?x, owl:Thing)) } }"
)


@pytest.mark.parametrize(
    "memories", [(), (procedure("List the roots", query_step(ROOTS)),)], ids=["", "taught"]
)
def test_the_top_and_the_bottom_are_no_roots(
    tmp_path: Path, memories: Sequence[MemoryItem]
) -> None:
    turtle = (
        "owl:Thing a owl:Class . owl:Nothing a owl:Class . ex:A a owl:Class ; rdfs:subClassOf"
        " owl:Thing ."
    )
    assert listed(asked(tmp_path, turtle, "What are the root classes?", memories).answer) == {
        "ex:A"
    }
    assert asked(tmp_path, turtle, "How many root classes are there?", memories).answer.startswith(
        "1 "
    )


FLEET = (
    "ex:Ship a owl:Class . ex:Ferry a owl:Class ; rdfs:subClassOf ex:Ship . ex:None a owl:Class ."
    " ex:f a ex:Ferry ."
)
TYPED = "SELECT DISTINCT ?x WHERE { ?x a $ENTITY_1 FILTER(isIRI(?x)) }"
COUNTED = TYPED.replace("DISTINCT ?x", "(COUNT(DISTINCT ?x) AS ?n)")
PROBE = "`probe_relationships(iri, predicate='rdf:type', direction='in', limit=25)`"


@pytest.mark.parametrize("step", [query_step(TYPED), PROBE], ids=["query", "probe"])
def test_instances_of_subclasses_come_in_the_same_turn(tmp_path: Path, step: str) -> None:
    taught = [procedure("List the instances of a class", FINDING, step)]
    result = asked(tmp_path, FLEET, "What are the instances of Ship?", taught)
    assert listed(result.answer) == {"ex:f"} and "(it has none of its own)" in result.answer
    assert len(result.iterations) == 2 and uses(result) == ["1"]
    assert asked(tmp_path, FLEET, "What are the instances of None?", taught).answer.startswith(
        "None: there are no"
    )


def test_so_does_their_number(tmp_path: Path) -> None:
    taught = [procedure("Count the instances of a class", FINDING, query_step(COUNTED))]
    result = asked(tmp_path, FLEET, "How many instances does Ship have?", taught)
    assert (
        result.answer == "1 instance of a subclass of “Ship” (it has none of its own)."
        and len(result.iterations) == 2
    )


def test_more_than_a_look_shows_is_asked_for_in_the_same_turn(tmp_path: Path) -> None:
    many = "ex:Many a owl:Class . " + "".join(f"ex:m{n} a ex:Many . " for n in range(40))
    result = asked(
        tmp_path, many, "What are the instances of Many?", [procedure("Instances", FINDING, PROBE)]
    )
    assert len(listed(result.answer)) == 40 and len(result.iterations) == 2


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What are the subclasses of A?", {"ex:B"}),
        ("List all subclasses of A.", {"ex:B"}),
        ("List all superclasses of A.", {"ex:B"}),
    ],
)
def test_a_class_is_none_of_its_own_subclasses(
    tmp_path: Path, question: str, names: set[str]
) -> None:
    circle = (
        "ex:A a owl:Class ; rdfs:subClassOf ex:A, ex:B . ex:B a owl:Class ; rdfs:subClassOf ex:A ."
    )
    assert listed(asked(tmp_path, circle, question).answer) == names
    query = "SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf+ $ENTITY_1 FILTER(isIRI(?x)) }"
    taught = asked(
        tmp_path,
        circle,
        "List all subclasses of A.",
        [procedure("All", FINDING, query_step(query))],
    )
    assert listed(taught.answer) == {"ex:B"}


# -- names
# -------------------------------------------------------------------------------------------------

SYNONYM = "<http://www.geneontology.org/formats/oboInOwl#hasExactSynonym>"
SEARCH = (
    "SELECT ?x ?l ?t WHERE { ?x rdfs:label|skos:prefLabel|skos:altLabel|a ?l OPTIONAL { ?x a ?t } "
    "FILTER(CONTAINS(LCASE(STR(?x)), $TEXT_1) || CONTAINS(LCASE(?l), $TEXT_1)) }"
)


@pytest.mark.parametrize(
    "memories", [(), (procedure("Search", query_step(SEARCH)),)], ids=["", "taught"]
)
def test_a_search_reads_synonyms(tmp_path: Path, memories: Sequence[MemoryItem]) -> None:
    turtle = (
        f'ex:G_1 a owl:Class ; rdfs:label "one" ; {SYNONYM} "Metabolism" . ex:G_2 a owl:Class ;'
        ' rdfs:label "two" .'
    )
    answer = asked(
        tmp_path, turtle, 'Which terms contain "metabolism" in their name?', memories
    ).answer
    assert listed(answer) == {"ex:G_1"}


def test_a_search_through_labels_of_many_lines(tmp_path: Path) -> None:
    words = "word " * 60
    turtle = "".join(f'ex:N{n} a owl:Class ; rdfs:label "{words}hay {n}" . ' for n in range(12))
    turtle += f'ex:Long a owl:Class ; rdfs:label "{"x " * 400}hay" .'
    answer = asked(tmp_path, turtle, 'Find terms with "hay" in their name.').answer
    assert listed(answer) == {"ex:Long", *(f"ex:N{n}" for n in range(12))}


@pytest.mark.parametrize(
    "label", ["data: raw", "A/B test, two-sided", "void (crack)", "C++ [lang]", "Hund"]
)
def test_a_label_is_said_as_it_is(tmp_path: Path, label: str) -> None:
    turtle = (
        f'ex:C1 a owl:Class ; rdfs:label "one"@en, "{label}"@de . ex:C2 a owl:Class ;'
        " rdfs:subClassOf ex:C1 ."
    )
    answer = asked(tmp_path, turtle, f'What are the subclasses of "{label}"?').answer
    assert answer == f"1 direct subclass of “{label}”:\n- ex:C2"


@pytest.mark.parametrize(
    ("name", "question", "forms"),
    [
        (
            "estimation",
            "What are the subclasses of model estimation?",
            ["model estimation", "estimation"],
        ),
        ("Node", "What are the instances of Node kind?", ["Node kind", "Node"]),
        ("Node kind", "What are the instances of Node kind?", ["Node kind", "Node"]),
        ("Node", "What are the instances of Node?", ["Node"]),
        ("Peptide", "Every superclass of Peptide properties?", ["Peptide properties", "Peptide"]),
    ],
)
def test_a_word_beside_a_name_may_be_a_part_of_it(
    name: str, question: str, forms: list[str]
) -> None:
    line = links(Asked("instances", (name,)), question)
    assert (
        line
        == f"terms = [{' or '.join(f'link({form!r}, {chr(39)}class{chr(39)})' for form in forms)}]"
    )


def test_another_number_is_another_thing(tmp_path: Path) -> None:
    turtle = 'ex:X_0000001 a owl:Class ; rdfs:label "cell" .'
    assert asked(tmp_path, turtle, "What is X_0000003?").answer.startswith(
        "There is no term called “X_0000003”"
    )
    assert "ex:X_0000001" in asked(tmp_path, turtle, "What is X_0000001?").answer


def test_of_two_with_one_label_it_says_which(tmp_path: Path) -> None:
    turtle = (
        'ex:Old a owl:Class ; owl:deprecated true ; rdfs:label "boat" . ex:New a owl:Class ;'
        ' rdfs:label "boat" . ex:K a owl:Class ; rdfs:subClassOf ex:New .'
    )
    answer = asked(tmp_path, turtle, "What are the subclasses of boat?").answer
    first = "Of several called “boat” this is “New” of “ex”; there is also “Old” of “ex”.\n"
    assert listed(answer) == {"ex:K"} and answer.startswith(first)


def test_a_thing_of_many_is_found_by_its_label(tmp_path: Path) -> None:
    turtle = "".join(f'ex:u{n} a ex:Unit ; rdfs:label "unit number {n}" . ' for n in range(1_200))
    assert (
        "ex:u1111 is an individual" in asked(tmp_path, turtle, 'What is "unit number 1111"?').answer
    )


@pytest.mark.parametrize("taught", [False, True])
def test_a_name_with_dots_in_it(tmp_path: Path, taught: bool) -> None:
    """oxigraph does not read `ex:DCC.S1.1`."""
    turtle = (
        "<http://ex.example/DCC.S1.1> a owl:Class . ex:B a owl:Class ; rdfs:subClassOf"
        " <http://ex.example/DCC.S1.1> ."
    )
    query = "SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf+ $ENTITY_1 FILTER(isIRI(?x)) }"
    memories = [procedure("All subclasses", FINDING, query_step(query))] if taught else []
    result = asked(tmp_path, turtle, "List all subclasses of DCC.S1.1", memories)
    assert listed(result.answer) == {"ex:B"} and (len(result.iterations) == 2) is taught


# -- vocabularies that say things in their own way
# ---------------------------------------------------------


SCHEMA_ORG = """
@prefix s: <https://schema.org/> . @prefix h: <http://schema.org/> . s:Thing a rdfs:Class . s:Tune a rdfs:Class .
s:Person a rdfs:Class ; rdfs:subClassOf s:Thing . s:name s:domainIncludes s:Thing . s:age rdfs:range s:Thing .
s:knows a rdf:Property ; s:domainIncludes s:Person ; s:rangeIncludes s:Person . s:likes h:domainIncludes s:Person .
"""
BY_DOMAIN = procedure(
    "By domain",
    FINDING,
    query_step("SELECT ?x WHERE { ?x rdfs:domain $ENTITY_1 FILTER(isIRI(?x)) }"),
)


def test_what_a_domain_may_include(tmp_path: Path) -> None:
    by = "with the domain “Person” (by domainIncludes of schema.org)"
    for question, memories, first, names in (
        (
            "Which properties have the domain Person?",
            [],
            f"2 properties {by} (3 with those of its superclasses):",
            "kl",
        ),
        (
            "How many properties have the domain Person?",
            [BY_DOMAIN],
            f"2 properties {by} (3 with",
            "",
        ),
        (
            "Which properties have the range Person?",
            [],
            "1 property with the range “Person” (by rangeIncludes of",
            "k",
        ),
        (
            "Which properties does Person have, including inherited ones?",
            [],
            f"3 properties {by}:",
            "kln",
        ),
        ("Which properties have the domain Person or Thing?", [], f"2 properties {by}", "kln"),
        (
            "Which properties have the domain Tune?",
            [],
            "None: there are no properties with the domain “Tune”.",
            "",
        ),
    ):
        answer = asked(tmp_path, SCHEMA_ORG, question, memories).answer
        assert (
            answer.startswith(first)
            and "".join(sorted(name[2] for name in listed(answer))) == names
        )
    answer = asked(
        tmp_path,
        f"{SCHEMA_ORG} s:shoe rdfs:domain s:Person .",
        question.replace("Tune", "Person"),
        [BY_DOMAIN],
    ).answer
    assert answer.startswith(
        "3 properties with the domain “Person” (some by domainIncludes of schema.org)"
    )


def test_concepts_are_instances(tmp_path: Path) -> None:
    turtle = (
        'ex:red a skos:Concept ; skos:prefLabel "red"@en, "rot"@de . ex:crimson a skos:Concept ;'
        " skos:broader ex:red ."
    )
    assert listed(asked(tmp_path, turtle, "What are the instances of Concept?").answer) == {
        "ex:crimson",
        "ex:red",
    }
    assert (
        "ex:crimson -skos:broader-> ex:red"
        in asked(tmp_path, turtle, "How is crimson connected to rot?").answer
    )


def test_the_machinery_is_not_said_to_be_no_class(tmp_path: Path) -> None:
    answer = asked(tmp_path, "ex:A a owl:Class .", "What are the instances of owl:Class?").answer
    assert listed(answer) == {"ex:A"} and "no class" not in answer
