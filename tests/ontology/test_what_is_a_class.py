"""What counts as a class, as a property and as an individual; which ontology a file is."""

from __future__ import annotations

from pathlib import Path

import pytest

import rlm.ontology

HEAD = """@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix kiln: <http://kiln.test/> .
"""
METACLASSES = """
kiln:Kind a rdfs:Class ; rdfs:subClassOf rdfs:Class .
kiln:MainKind rdfs:subClassOf kiln:Kind .
kiln:Kiln a kiln:Kind . kiln:Muffle a kiln:MainKind ; rdfs:subClassOf kiln:Kiln .
kiln:Link a kiln:Kind ; rdfs:subClassOf rdf:Property .
kiln:fires a kiln:Link ; kiln:inverseOf kiln:firedBy . kiln:firedBy a kiln:Link .
kiln:inverseOf a kiln:Link .
kiln:old1 a kiln:Muffle .
"""
USED = """
kiln:Glaze rdfs:subClassOf [ a owl:Restriction ; owl:onProperty kiln:hasTint ;
  owl:someValuesFrom kiln:Tint ] .
kiln:Slip rdfs:subClassOf [ a owl:Restriction ; owl:onProperty kiln:mass ;
  owl:allValuesFrom xsd:decimal ] .
kiln:mass a owl:DatatypeProperty ; rdfs:range kiln:gram .
kiln:hasTint a owl:ObjectProperty ; rdfs:domain kiln:Coat ; rdfs:range kiln:Hue .
kiln:Pot owl:equivalentClass [ owl:intersectionOf ( kiln:Clay
  [ owl:complementOf kiln:Raw ] [ a owl:Restriction ; owl:onProperty kiln:hasTint ;
    owl:maxQualifiedCardinality 1 ; owl:onClass kiln:Sheen ] ) ] .
<http://kiln.test> a owl:Ontology , kiln:Book .
kiln:pot7 a kiln:Pot .
"""
SHAPED = """
kiln:Kiln a owl:Class , sh:NodeShape . kiln:Muffle a owl:Class , sh:NodeShape .
kiln:heat a owl:DatatypeProperty , sh:PropertyShape .
kiln:old1 a kiln:Kiln . kiln:Shape a sh:NodeShape .
kiln:Pun a owl:Class , kiln:Kiln .
"""


@pytest.fixture
def opened(tmp_path):
    kept = []

    def open_text(text: str) -> rlm.ontology.Ontology:
        path = Path(tmp_path / "kiln.ttl")
        path.write_text(HEAD + text)
        kept.append(rlm.ontology.open(path))
        return kept[-1]

    yield open_text
    for each in kept:
        each.close()


def names(page: dict) -> set[str]:
    return {row["name"].removeprefix("kiln:") for row in page["rows"]}


def test_instances_of_a_class_of_classes_are_declared_classes(opened):
    onto = opened(METACLASSES)
    stats = onto.graph_stats()
    assert (stats["classes"], stats["declared_classes"]) == (5, 4)
    assert names(onto.terms(kind="undeclared")) == {"MainKind"}
    assert onto.describe_entity("kiln:Muffle")["kind"] == "class"
    assert stats["individuals"] == 1 and names(onto.terms(kind="individuals")) == {"old1"}
    assert names(onto.instances("kiln:Kind")) == {"Kiln", "Link", "Muffle"}


def test_instances_of_a_class_of_properties_are_declared_properties(opened):
    onto = opened(METACLASSES)
    assert names(onto.terms(kind="properties")) == {"fires", "firedBy", "inverseOf"}
    assert onto.graph_stats()["declared_properties"] == 3


def test_a_property_that_is_called_inverse_of_gives_inverses(opened):
    onto = opened(METACLASSES)
    assert names(onto.related("kiln:fires", relation="inverses")) == {"firedBy"}
    assert names(onto.related("kiln:firedBy", relation="inverses")) == {"fires"}


def test_whatever_is_used_as_a_class_is_one(opened):
    onto = opened(USED)
    used = {"Glaze", "Tint", "Slip", "Coat", "Hue", "Pot", "Clay", "Raw", "Sheen", "Book"}
    assert names(onto.terms(kind="classes")) == used
    for name in used:
        assert onto.describe_entity(f"kiln:{name}")["kind"] == "class"
    assert names(onto.terms(kind="undeclared")) == used  # used, and still not declared


def test_what_stands_where_only_a_property_can_is_a_property(opened):
    onto = opened(
        "kiln:Pot a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty kiln:madeof ;"
        " owl:someValuesFrom kiln:Pot ] ; owl:hasKey ( kiln:mark ) . kiln:of owl:propertyChainAxiom"
        " ( kiln:part kiln:whole ) . kiln:in owl:propertyDisjointWith kiln:out ."
    )
    used = {"madeof", "mark", "of", "part", "whole", "in", "out"}
    assert names(onto.terms(kind="properties")) == used == names(onto.terms(kind="undeclared"))
    assert onto.graph_stats()["individuals"] == 0
    assert onto.describe_entity("kiln:madeof")["kind"] == "property"
    found = onto.lint(rule="undeclared")["rows"]
    assert {row["term"] for row in found} == {f"kiln:{name}" for name in used}


def test_an_ontology_is_no_individual(opened):
    onto = opened(USED)
    assert names(onto.terms(kind="individuals")) == {"pot7"}
    assert onto.graph_stats()["individuals"] == 1
    assert onto.describe_entity("<http://kiln.test>")["kind"] == "ontology"


def test_an_individual_is_what_has_a_class_for_a_type(opened):
    """No document, variable of a rule or subject that nobody typed, however it is asked for."""
    onto = opened("""
        @prefix swrl: <http://www.w3.org/2003/11/swrl#> .
        kiln:Pot a owl:Class ; rdfs:seeAlso <http://kiln.test/pots.html> .
        kiln:pot7 a kiln:Pot . kiln:named a owl:NamedIndividual . kiln:thing a owl:Thing .
        <http://a.test/> owl:versionInfo "3" . <http://kiln.test/pots.html> rdfs:label "Pots" .
        kiln:x a swrl:Variable . kiln:bag a rdf:Bag .""")
    assert onto.graph_stats()["individuals"] == onto.tree()["instances"] == 3
    assert names(onto.terms(kind="individuals")) == {"pot7", "named", "thing"}
    kinds = {name: onto.describe(name)["kind"] for name in ("kiln:pot7", "kiln:thing", "kiln:x",
             "kiln:bag", "http://a.test/", "http://kiln.test/pots.html")}  # fmt: skip
    unknown = dict.fromkeys(list(kinds)[2:], "of no known kind")
    assert kinds == {"kiln:pot7": "individual", "kiln:thing": "individual", **unknown}
    (hit,) = onto.search("Pots", search_in="label")
    assert (hit["uri"], hit["kind"]) == ("http://kiln.test/pots.html", "of no known kind")
    assert onto.values("kiln:x")["kind"] == "of no known kind"
    assert onto.compare("kiln:x", "kiln:pot7")["kinds"] == ["of no known kind", "individual"]


RULES = """
@prefix swrl: <http://www.w3.org/2003/11/swrl#> . @prefix swrlb: <http://www.w3.org/2003/11/swrlb#> .
kiln:Pot a owl:Class . kiln:Jar a owl:Class . kiln:x a swrl:Variable .
kiln:rule a swrl:Imp ; swrl:body [ a swrl:AtomList ; rdf:rest () ; rdf:first [ a swrl:ClassAtom ;
  swrl:classPredicate kiln:Pot ; swrl:argument1 kiln:x ] ] ; swrl:head [ a swrl:AtomList ; rdf:rest
  () ; rdf:first [ a swrl:BuiltinAtom ; swrl:builtin swrlb:equal ] ] .
"""


def test_the_syntax_of_rules_is_no_part_of_what_a_file_is_about(opened):
    onto = opened(RULES)
    stats = onto.graph_stats()
    assert (stats["classes"], stats["properties"], stats["individuals"]) == (2, 0, 0)
    assert names(onto.terms()) == {"Pot", "Jar"} == names(onto.tree())
    assert stats["key_classes"] == ["kiln:Jar", "kiln:Pot"]
    assert "swrl" not in onto.card()


def test_a_class_is_no_individual_because_it_is_a_shape(opened):
    onto = opened(SHAPED)
    assert names(onto.terms(kind="individuals")) == {"old1", "Shape", "Pun"}
    assert onto.graph_stats()["individuals"] == 3
    assert onto.describe_entity("kiln:Kiln")["kind"] == "class"
    assert onto.describe_entity("kiln:Pun")["kind"] == "class, individual"


# -- which ontology a file is

UNDECLARED = """
<http://kiln.test/> owl:versionInfo "3.2" ; dcterms:title "Kilns" . kiln:Kiln a owl:Class .
kiln:heat a owl:DatatypeProperty ; dcterms:title "heat" . <http://a.test/> owl:versionInfo "1" .
"""


def test_of_a_namespace_that_nothing_declares_as_an_ontology_the_file_speaks(opened, capsys):
    from rlm.cli import main

    onto = opened(UNDECLARED)
    said = onto.metadata()
    assert (said["ontologies"], said["title"]) == (["http://kiln.test/"], "Kilns")
    assert said["version"] == "3.2" and said["note"].startswith("no owl:Ontology is declared")
    assert {row["property"] for row in said["rows"]} == {"owl:versionInfo", "dcterms:title"}
    assert onto.describe("<http://kiln.test/>")["kind"] == "ontology"
    assert onto.stats()["ontology_declared"] is False
    main(["ontology", "stats", str(onto.engine.source)])
    assert "http://kiln.test/ (not declared)" in capsys.readouterr().out


def test_a_concept_scheme_with_a_title_is_an_individual(opened):
    onto = opened(
        UNDECLARED + "<http://kiln.test/> a <http://www.w3.org/2004/02/skos/core#ConceptScheme> ."
    )
    assert onto.metadata()["ontologies"] == [] and onto.stats()["individuals"] == 1
    assert onto.describe("<http://kiln.test/>")["kind"] == "individual"


def test_what_two_names_of_the_namespace_say_is_of_no_ontology(opened):
    onto = opened(UNDECLARED + '<http://kiln.test> owl:versionInfo "2" .')
    assert onto.metadata()["ontologies"] == [] and "note" not in onto.metadata()


BUNDLE = """
<http://a.test/part> a owl:Ontology ; dcterms:title "A part"@en ; rdfs:comment "One half." .
<http://m.test/whole> a owl:Ontology ; rdfs:label "The whole" ; owl:versionInfo "7.1" ;
  owl:imports <http://a.test/part> , <http://z.test/part> .
<http://z.test/part> a owl:Ontology ; rdfs:comment "The other half." .
kiln:Kiln a owl:Class .
"""


def test_title_and_description_are_those_of_the_one_that_imports_the_others(opened, capsys):
    from rlm.cli import main

    onto = opened(BUNDLE)
    said = onto.metadata()
    assert (said["title"], said["version"]) == ("The whole", "7.1")
    assert main(["ontology", "card", str(onto.engine.source)]) == 0
    card = capsys.readouterr().out
    assert card.startswith("The whole\n") and "half" not in card


def test_without_imports_it_is_the_one_that_most_terms_belong_to(opened):
    onto = opened(
        """<http://a.test/> a owl:Ontology ; dcterms:title "Some list" .
        <http://kiln.test> a owl:Ontology ; dcterms:title "Kilns" .
        kiln:Kiln a owl:Class . kiln:Muffle a owl:Class . <http://a.test/X> a owl:Class ."""
    )
    assert onto.metadata()["title"] == "Kilns"


def test_where_it_cannot_be_told_the_card_says_how_many_there_are(opened, capsys):
    from rlm.cli import main

    onto = opened(
        """<http://a.test/> a owl:Ontology ; dcterms:title "One" .
        <http://b.test/> a owl:Ontology ; dcterms:title "Two" . kiln:Kiln a owl:Class ."""
    )
    assert onto.metadata()["title"] == ""
    main(["ontology", "card", str(onto.engine.source)])
    assert capsys.readouterr().out.startswith("2 ontologies in one file: One, Two\n")
