"""Answers over an ontology say what the file states: no label, kind or total of their own making."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from graph_runs import ask, listed, opened

GRAPH = (
    """
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> . @prefix iao: <http://purl.obolibrary.org/obo/IAO_> .
ex:Work a owl:Class ; oio:hasDefinition "What somebody made." ; oio:hasNarrowSynonym "book" .
ex:Long a owl:Class ; rdfs:label "long" ; iao:0000115 "%s" ; rdfs:subClassOf ex:Work ; oio:hasExactSynonym "bulk" .
ex:Gone a owl:Class ; owl:deprecated true . ex:Past a owl:Class, owl:DeprecatedClass .
ex:byMaker a rdf:Property ; rdfs:domain ex:Work ; rdfs:range ex:Long .
ex:Event a owl:Class . other:Event a owl:Class .
"""
    % ("word " * 90)
    + "".join(f"ex:made{n:02} a owl:ObjectProperty ; rdfs:range ex:Work .\n" for n in range(45))
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with opened(tmp_path_factory.mktemp("stated"), GRAPH) as made:
        yield made


def test_a_description_states_what_the_file_states(engine: Any) -> None:
    lines = ask(engine, "What is Work?").answer.split("\n")
    assert lines[0] == "ex:Work is a class." and "Definition: What somebody made." in lines
    assert "Narrow synonyms: “book”" in lines
    (range_of,) = (line for line in lines if line.startswith("Range of: "))
    shown, _, more = range_of.removeprefix("Range of: ").partition(" and ")
    assert len(shown.split(", ")) + int(more.removesuffix(" more")) == 45
    assert ask(engine, "What is byMaker?").answer.startswith("ex:byMaker is a property.\n")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What is the definition of Work?", "Definition of ex:Work: What somebody made."),
        ("What is the label of Work?", "ex:Work has no label that is stated."),
        (
            "What are the synonyms of Work?",
            "ex:Work has no other label that is stated. Narrow synonyms: “book”.",
        ),
        ("Is there a class Work?", "Yes. ex:Work is a class."),
        (
            "How many root classes are there?",
            "5 roots of the class hierarchy (2 of them deprecated).",
        ),
        (
            "What are the subclasses of Event?",
            "Of several called “Event” this is “Event” of “ex”; there is also “Event” of “other”.",
        ),
    ],
)
def test_the_first_line(engine: Any, question: str, first: str) -> None:
    assert ask(engine, question).answer.split("\n")[0] == first


def test_a_definition_that_is_cut_says_so(engine: Any) -> None:
    said = ask(engine, "What is the definition of Long?").answer.split("\n")[0]
    assert said.endswith("… (cut: `rlm ontology describe` has the whole)")


def test_deprecated_roots_stand_by_themselves(engine: Any) -> None:
    answer = ask(engine, "What are the root classes?").answer
    kept, _, gone = answer.partition("\nDeprecated:\n")
    assert listed(kept) == {"ex:Work", "ex:Event", "other:Event"} and listed(gone) == {
        "ex:Gone",
        "ex:Past",
    }
    assert kept.startswith("5 roots of the class hierarchy (2 of them deprecated):\n")


def test_a_search_shows_the_name_that_has_the_text(engine: Any) -> None:
    lines = ask(engine, "Which terms start with b?").answer.split("\n")
    assert "- ex:Long, also “bulk”" in lines and "- ex:byMaker" in lines
