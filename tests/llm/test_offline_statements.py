"""Which classes and properties carry a label, a definition or the statements of another property:
`offline` asks the file, as for those that carry none."""

from __future__ import annotations

import pytest
from offline_runs import ROOT, Asked, listed

from rlm.llm.types import is_unanswered

ZOO = """
@prefix z: <http://zoo.test/own#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix dcterms: <http://purl.org/dc/terms/> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
dcterms:creator a owl:AnnotationProperty . rdfs:label a owl:AnnotationProperty .
z:seen a owl:AnnotationProperty ; rdfs:label "creation date" .
z:Cat a owl:Class ; rdfs:label "cat" ; dcterms:creator "Ann" ; z:seen "2020" .
z:Dog a owl:Class ; rdfs:label "dog" ; skos:definition "It barks." ; rdfs:seeAlso z:Cat .
z:Cow a owl:Class ; rdfs:comment "It moos." ; owl:equivalentClass z:Ox . z:Ox a owl:Class .
z:keeper a owl:ObjectProperty ; rdfs:domain z:Cat ; z:inverse "keeps" .
z:inverse a owl:AnnotationProperty . z:Rex a z:Dog ; z:keeper z:Tom .
"""


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    made = tmp_path_factory.mktemp("zoo") / "zoo.ttl"
    made.write_text(ZOO)
    asked = Asked(made, "z")
    yield asked
    asked.engine.close()


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Which classes have a label?", ["z:Cat", "z:Dog"]),
        ("Which classes have a comment?", ["z:Cow"]),
        ("Which classes have a definition?", ["z:Dog"]),
        ("Which classes have no definition?", ["z:Cat", "z:Cow", "z:Ox"]),
        ("Which classes have a creator?", ["z:Cat"]),
        ("Which classes have a creation date?", ["z:Cat"]),
        ("Which classes have rdfs:seeAlso?", ["z:Dog"]),
        ("Which classes have an equivalent class?", ["z:Cow", "z:Ox"]),
        ("Which properties have a domain?", ["z:keeper"]),
        ("Which properties have a creator?", []),
    ],
)
def test_what_carries_a_statement_is_listed(zoo, question, names):
    assert listed(zoo.ask(question)[0]) == names


def test_it_is_counted_too(zoo):
    assert zoo.ask("How many classes have a label?")[0] == "2 classes with a label."
    assert zoo.ask("How many classes have a creator?")[0].startswith("1 class with a statement")


def test_what_things_of_a_class_have_is_not_denied_of_the_class(zoo):
    told = zoo.ask("Which classes have a keeper?")[0]
    assert is_unanswered(told) and "ask for its domain" in told


@pytest.mark.parametrize("what", ["properties have an inverse", "classes have a superclass"])
def test_a_property_called_like_a_relation_of_the_schema_does_not_stand_for_it(zoo, what):
    assert is_unanswered(zoo.ask(f"Which {what}?")[0])


def test_the_numbers_are_those_of_sparql():
    asked = Asked(ROOT / "ontology" / "prov.ttl", "prov")
    wanted = asked.names(
        "SELECT DISTINCT ?x WHERE { ?x a owl:Class ; rdfs:comment ?y FILTER(isIRI(?x)) }"
    )
    assert listed(asked.ask("Which classes have a comment?")[0]) == wanted
    asked.engine.close()
