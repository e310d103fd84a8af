"""`offline` where a term is called like a word of the forms, or two terms have one name: the term is
meant, or it is said what may be."""

from __future__ import annotations

import pytest
from offline_runs import ROOT, Asked

from rlm.llm.types import is_unanswered

ARCHIVE = """
@prefix a: <http://archive.test/own#> . @prefix o: <http://other.test/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://archive.test/own> a owl:Ontology ; rdfs:label "The archive" .
rdfs:Class a owl:Class .
a:Type a owl:Class . a:DocumentType a owl:Class ; rdfs:subClassOf a:Type .
a:Relation a owl:Class . a:FamilyRelation a owl:Class ; rdfs:subClassOf a:Relation .
a:Title a owl:Class ; rdfs:comment "What a record is called." .
a:Property a owl:Class ; rdfs:comment "What is measured." .
a:Person a owl:Class ; rdfs:comment "One who lives." . o:Person a owl:Class ; owl:deprecated true .
a:isOld a owl:DatatypeProperty . a:label a owl:DatatypeProperty .
a:p7 a owl:ObjectProperty ; rdfs:label "obsolete has draft" ; owl:deprecated true ;
  <http://purl.obolibrary.org/obo/IAO_0100001> a:isOld .
"""


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    made = tmp_path_factory.mktemp("archive") / "archive.ttl"
    made.write_text(ARCHIVE)
    asked = Asked(made, "a")
    yield asked
    asked.engine.close()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Is Person a Type?", "No: a:Person is not a subclass of a:Type."),
        ("Is DocumentType a Type?", "Yes: a:DocumentType is a subclass of a:Type."),
        ("Is Family Relation a Relation?", "Yes: a:FamilyRelation is a subclass of a:Relation."),
        ("What is Property?", "a:Property is a class.\nWhat is measured."),
        ("What is Title?", "a:Title is a class.\nWhat a record is called."),
        # where the file has no such term, or the word is not spelt as a name
        ("Is DocumentType a class?", "Yes: a:DocumentType is: class."),
        ("Is DocumentType a Class?", "Yes: a:DocumentType is: class."),
        ("Is isOld a class?", "No: a:isOld is no class; it is: datatype property."),
        ("Is Type a class?", "Yes: a:Type is: class."),
        ("What is the Label of Type?", "None: a:Type has no label."),
        ("What is the title?", '- rdfs:label: "The archive"'),
        ("Which properties are there?", "3 declared properties:"),
        ("Is there a property called Zorb?", "No: there is no property called “Zorb”"),
        ("What should I use instead of has draft?", "1 replacement of a:p7:\n- a:isOld"),
    ],
)
def test_a_term_called_like_a_word_of_the_forms_is_meant(archive, question, answer):
    assert archive.ask(question)[0].startswith(answer)


@pytest.mark.parametrize("question", ["Is Person a type?", "Is isOld a property?"])
def test_spelt_small_it_may_be_either_and_is_refused(archive, question):
    answer, _ = archive.ask(question)
    assert is_unanswered(answer) and "may mean a:" in answer


def test_a_name_of_nothing_is_not_denied_a_kind(archive):
    for question in ("Is Zorb a property?", "Is Zorb a class?", "Is Zorb an individual?"):
        assert archive.ask(question)[0] == "There is no term called “Zorb” in this ontology."


def test_of_two_terms_of_one_name_the_other_is_named(archive):
    for question in ("What is Person?", "What are the superclasses of Person?"):
        told = archive.ask(question)[0]
        assert "a:Person" in told and told.endswith("o:Person is called “Person” too.")
    assert "too." not in archive.ask("What is DocumentType?")[0]


def test_whether_there_is_such_a_class_does_not_depend_on_its_capital(tmp_path):
    made = tmp_path / "deeds.ttl"
    made.write_text(ARCHIVE + "a:Deed a owl:Class . a:deed a owl:ObjectProperty .")
    asked = Asked(made, "a")
    for question, answer in (
        ("Is there a class called deed?", "Yes: a:Deed is: class."),
        ("Is there a property called Deed?", "Yes: a:deed is: object property."),
        ("Is deed a class?", "No: a:deed is no class; it is: object property. a:Deed is: class."),
        ("Is there an individual called deed?", "No: a:deed is no individual; it is: object"),
    ):
        assert asked.ask(question)[0].startswith(answer)
    asked.engine.close()


def test_what_stands_in_quotes_is_a_name_whatever_its_words(archive):
    told = archive.ask('Is there a class called "forest fire of no kind"?')[0]
    assert told == "No: there is no class called “forest fire of no kind” in this ontology."
    told = archive.ask('Zorble "forest fire" quickly?')[0]
    assert "No form has a place for: Zorble “forest fire” quickly." in told


@pytest.mark.parametrize("which", ["deepest", "biggest", "main"])
def test_a_superlative_is_no_name(which):
    asked = Asked(ROOT / "ontology" / "harbour.ttl", "harbour")
    answer, _ = asked.ask(f"What is the {which} class?")
    assert is_unanswered(answer) and "no term called" not in answer, answer
    asked.engine.close()
