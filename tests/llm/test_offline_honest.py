"""`offline` says no number that it did not count, and no “none” where it did not look: through `rlm
run`, over files of our own."""

from __future__ import annotations

import re

import pytest

from rlm.cli import main

HEAD = """@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix mill: <http://mill.test/> .
"""
MILLS = """
<http://mill.test/wheels> a owl:Ontology ; owl:versionInfo "3.0" ; dcterms:title "Wheels of mills" .
mill:Kind a rdfs:Class ; rdfs:subClassOf rdfs:Class .
mill:Wheel a mill:Kind . mill:Stone a mill:Kind . mill:Sail a mill:Kind .
mill:w1 a mill:Wheel . mill:w2 a mill:Wheel .
mill:Hopper rdfs:subClassOf [ a owl:Restriction ; owl:onProperty mill:feeds ;
  owl:someValuesFrom mill:Grain ] .
mill:feeds a owl:ObjectProperty .
mill:Stone a sh:NodeShape ; sh:property [ sh:path mill:weight ; sh:maxCount 1 ] ,
  [ sh:path mill:quarry ; sh:minCount 1 ] .
"""


@pytest.fixture
def ask(tmp_path, capsys):
    path = tmp_path / "mill.ttl"

    def run(text: str, question: str) -> str:
        path.write_text(HEAD + text)
        db = str(tmp_path / "m.db")
        main(["run", question, "--ontology", str(path), "--model", "offline", "--db", db])
        return capsys.readouterr().out

    return run


MANY = "\n".join(
    f"mill:K{n} a owl:Class{' ; owl:deprecated true' * (n >= 300)} ." for n in range(10_500)
)


def test_what_is_deprecated_and_what_is_not_is_counted_whole(ask):
    left = ask(MANY, "How many classes are not deprecated?")
    assert left.startswith("300 classes that are not deprecated")
    old = ask(MANY, "How many deprecated classes are there?")
    assert old.startswith("10200 deprecated classes")


def test_a_list_names_how_many_there_are_in_all(ask):
    told = ask(MANY, "Which classes are deprecated?")
    assert told.startswith("10200 deprecated classes:") and "… and 9700 more" in told


def test_classes_of_a_class_of_classes_are_counted_and_exist(ask):
    assert ask(MILLS, "How many classes are there?").startswith("4 declared classes")
    assert ask(MILLS, "Is there a class called Hopper?").startswith("Yes")
    assert ask(MILLS, "Is there a class called Grain?").startswith("Yes")
    assert ask(MILLS, "How many individuals are there?").startswith("2 individuals")


def test_without_a_domain_the_shapes_are_told(ask):
    told = ask(MILLS, "Which properties does Stone have?")
    assert re.match(r"No property .* rdfs:domain; SHACL shapes ask for 2:", told)
    assert "- mill:quarry: min 1" in told and "- mill:weight: max 1" in told
    counted = ask(MILLS, "How many properties does Stone have?")
    assert "SHACL shapes ask for 2." in counted
    assert "SHACL shapes ask for 2:" in ask(MILLS, "What restrictions does Stone have?")


def test_an_ontology_is_not_what_a_plural_means(ask):
    told = ask(MILLS, "How many wheels are there?")
    assert told.startswith("2 instances of mill:Wheel")


def test_of_several_ontologies_each_version_is_told_with_its_own(ask):
    two = f'{MILLS}\n<http://other.test/> a owl:Ontology ; owl:versionInfo "9" .'
    told = ask(two, "What is the version of this ontology?")
    assert '"3.0" (of' in told and '"9" (of <http://other.test/>)' in told


def test_an_answer_that_nothing_checked_is_not_called_a_success(tmp_path, capsys):
    path = tmp_path / "mill.ttl"
    path.write_text(HEAD + MILLS)
    main(["run", "How many wheels are there?", "--ontology", str(path), "--model", "offline"])
    err = capsys.readouterr().err
    assert "not checked: " in err and "success" not in err


def test_an_unknown_identifier_of_obo_is_a_missing_term(tmp_path, capsys):
    path = tmp_path / "mill.obo"
    path.write_text("format-version: 1.2\nontology: mill\n\n[Term]\nid: ML:0000001\nname: mill\n")
    code = main(["ontology", "tree", str(path), "ML:9999999"])
    assert code == 2 and "there is no term ML:9999999" in capsys.readouterr().err


def test_instances_of_a_type_of_owl_are_counted(ask):
    """A file has such a type without declaring it: no view of classes knows it."""
    said = ask(MILLS, "How many instances does owl:ObjectProperty have?")
    assert said.startswith("1 instance of owl:ObjectProperty.")


def test_of_two_terms_of_one_name_both_are_told(ask):
    """The one of the file's own namespace was taken, whichever had been meant."""
    two = """<http://mill.test/> a owl:Ontology . mill:K1 a owl:Class ; rdfs:label "Grinder" ;
      owl:deprecated true . <http://other.test/K2> a owl:Class ; rdfs:label "grinder" .
      mill:K3 a owl:Class ; rdfs:label "Hopper" ; owl:deprecated true ."""
    told = ask(two, "Is grinder deprecated?")
    assert "No: <http://other.test/K2> is not deprecated." in told
    assert "Yes: mill:K1 is deprecated." in told
    assert ask(two, "Is hopper deprecated?").startswith("Yes: mill:K3 is deprecated")
