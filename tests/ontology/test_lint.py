"""`lint`: every rule finds its fault, and only where it is one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from small_graphs import HEADER, PREFIXES

import rlm.ontology
from rlm.ontology.vocabulary import OIO

GRAPH = """
ex:A a owl:Class ; rdfs:subClassOf ex:B ; rdfs:label "A"@en ; rdfs:comment "An A." .
ex:B a owl:Class ; rdfs:subClassOf ex:A ; rdfs:label "B"@en ; rdfs:comment "A B." .
ex:Bare a owl:Class .
ex:Twin a owl:Class ; rdfs:label "The  Twin"@en ; ex:editorsDefinition "One of two." .
ex:Other a owl:Class ; rdfs:label "the twin"@en, "Zwilling"@de ; rdfs:comment "The other." ;
    owl:equivalentClass ex:Old .
ex:Big a owl:Class ; rdfs:label "B magnitude"@en ; rdfs:comment "Of the band B." .
ex:Small a owl:Class ; rdfs:label "b magnitude"@en ; rdfs:comment "Of another." .
ex:German a owl:Class ; rdfs:label "Hafen"@de ; rdfs:comment "A port." .
ex:Old a owl:Class ; owl:deprecated true ; rdfs:label "old"@en ; dcterms:isReplacedBy ex:A .
ex:Gone a owl:Class ; owl:deprecated true ; rdfs:subClassOf ex:Old .
ex:User a owl:Class ; rdfs:subClassOf ex:Gone ; rdfs:label "user"@en ; rdfs:comment "It uses." .
ex:p a owl:ObjectProperty ; rdfs:domain owl:Nothing ; rdfs:label "p"@en ; rdfs:comment "Of nothing." .
ex:q a owl:ObjectProperty ; rdfs:range ex:C, ex:D ; rdfs:label "q"@en ; rdfs:comment "To nothing." .
ex:C owl:disjointWith ex:D . ex:D a owl:Class ; rdfs:label "D"@en ; rdfs:comment "A D." .
ex:r a owl:ObjectProperty ; rdfs:subPropertyOf ex:r, ex:q ; rdfs:label "r"@en ; rdfs:comment "An r." .
dcterms:created a owl:AnnotationProperty . dcterms:title a owl:AnnotationProperty .
<http://other.example/x1> a owl:Class . <http://other.example/x2> a owl:Class .
"""


def findings(path: Path, text: str) -> set[tuple[str, str]]:
    (path / "l.ttl").write_text(HEADER + text)
    with rlm.ontology.open(path / "l.ttl", cache_dir=path) as onto:
        return {(row["rule"], row["term"]) for row in onto.lint()["rows"]}


def test_each_rule_finds_its_fault_and_nothing_else(tmp_path: Path) -> None:
    assert findings(tmp_path, GRAPH) == {
        ("cycle", "ex:A"),
        ("empty-domain", "ex:p"),
        ("empty-domain", "ex:q"),
        ("deprecated-used", "ex:Gone"),
        ("undeclared", "ex:C"),
        ("undeclared", "ex:editorsDefinition"),
        ("missing-label", "ex:Bare"),
        ("missing-definition", "ex:Bare"),
        ("duplicate-label", "ex:Other"),
        ("language-gap", "ex:German"),
    }


CLASHES = """
ex:Wet owl:disjointWith ex:Dry . ex:Damp rdfs:subClassOf ex:Wet . ex:Sand owl:equivalentClass ex:Dry .
ex:Mud rdfs:subClassOf ex:Damp , ex:Sand . ex:Clay rdfs:subClassOf ex:Mud . ex:Silt rdfs:subClassOf ex:Mud .
ex:NotWet owl:equivalentClass [ owl:complementOf ex:Wet ] . ex:Odd rdfs:subClassOf ex:NotWet , ex:Damp .
ex:Even rdfs:subClassOf ex:Wet , [ owl:complementOf ex:Wet ] . ex:Fine rdfs:subClassOf ex:NotWet , ex:Dry .
[] a owl:AllDisjointClasses ; owl:members ( ex:Red ex:Blue ex:Green ) . ex:Teal rdfs:subClassOf ex:Blue .
ex:None owl:equivalentClass owl:Nothing . ex:Few rdfs:subClassOf ex:None . ex:Zero rdfs:subClassOf owl:Nothing .
ex:x a ex:Red , ex:Teal . ex:y a ex:Teal , ex:Red , ex:Blue . ex:z a ex:Teal , ex:Blue , ex:Wet . ex:w a ex:Mud .
"""


def test_what_nothing_can_be_of_is_found_where_it_begins(tmp_path: Path) -> None:
    (tmp_path / "c.ttl").write_text(HEADER + CLASHES)
    with rlm.ontology.open(tmp_path / "c.ttl", cache_dir=tmp_path) as onto:
        found = onto.lint(rule="unsatisfiable")
    assert found["levels"] == {"error": 7}
    assert {row["term"]: row["message"] for row in found["rows"] if row["term"] != "ex:y"} == {
        "ex:Mud": "nothing can be of it (nor of 2 below it): it would be of ex:Dry and ex:Wet, which are disjoint",
        "ex:Odd": "nothing can be of it: it would be of ex:NotWet and ex:Wet, which are disjoint",
        "ex:Even": "nothing can be of it: it would be of ex:Even and ex:Wet, which are disjoint",
        "ex:None": "nothing can be of it (nor of 1 below it): it is below owl:Nothing",
        "ex:Zero": "nothing can be of it: it is below owl:Nothing",
        "ex:x": "it is of ex:Red and ex:Teal, which are disjoint; so are 1 more",
    }
    (row,) = [row for row in found["rows"] if row["term"] == "ex:y"]
    assert row["message"] == "it is of ex:Blue and ex:Red, which are disjoint"


def test_what_may_be_is_no_clash(tmp_path: Path) -> None:
    found = findings(tmp_path, """
        ex:A owl:disjointWith ex:B . ex:C rdfs:subClassOf ex:A . ex:D rdfs:subClassOf ex:B . ex:x a ex:A , ex:C .
        ex:p owl:propertyDisjointWith ex:q . ex:r rdfs:subPropertyOf ex:p , ex:q . ex:y a ex:D , owl:NamedIndividual .
        ex:E rdfs:subClassOf [ owl:unionOf ( ex:A ex:B ) ] . ex:F rdfs:subClassOf owl:Thing .
    """)  # fmt: skip
    assert not any(rule == "unsatisfiable" for rule, _ in found)


@pytest.mark.parametrize(
    ("foreign", "judged"),
    [
        ("obo:CHEBI_1 a owl:Class . obo:CHEBI_2 a owl:Class .", False),  # of another ontology
        ('obo:CL_1 a owl:Class ; rdfs:label "one" . obo:CL_2 a owl:Class .', False),
        ("skos:note a owl:AnnotationProperty ; rdfs:label 'note' .", False),  # well known
        ("<http://a.example/x> a owl:Class ; rdfs:label 'x' .", True),
        ("<http://a.example/x> a owl:Class ; rdfs:label 'x' . ex:o owl:imports <http://a.example/> .",
         False),
    ],
)  # fmt: skip
def test_terms_of_others_are_not_judged(tmp_path: Path, foreign: str, judged: bool) -> None:
    own = " ".join(f'obo:GO_{n} a owl:Class ; rdfs:label "go {n}" .' for n in range(5))
    found = {term for rule, term in findings(tmp_path, own + foreign)}
    assert {term for term in found if "GO_" in term} == {f"obo:GO_{n}" for n in range(5)}
    assert any("GO_" not in term for term in found) is judged


def test_of_a_small_obo_ontology_its_own_terms_are_judged(tmp_path: Path) -> None:
    """Not what a conversion adds, though that may be more."""
    added = " ".join(f"<{OIO}has{n}> a owl:AnnotationProperty ." for n in range(4))
    own = f"<{PREFIXES['obo']}rope.owl> a owl:Ontology . obo:ROPE_1 a owl:Class . {added}"
    assert {term for _, term in findings(tmp_path, own)} == {"obo:ROPE_1"}


def test_a_duplicate_label_is_quoted_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(f"{HEADER} ex:A a owl:Class ; rdfs:label 'One Of' ."
                                    " ex:B a owl:Class ; rdfs:label 'one of' .")  # fmt: skip
    with rlm.ontology.open(tmp_path / "d.ttl", cache_dir=tmp_path) as onto:
        (row,) = onto.lint(rule="duplicate-label")["rows"]
    assert row["message"] == '"One Of" is also the label of ex:B'


def test_a_deprecated_term_may_be_used_in_expressions_of_deprecated_terms(tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(
        HEADER
        + """
        ex:old a owl:ObjectProperty ; owl:deprecated true .
        ex:Gone a owl:Class ; owl:deprecated true ; rdfs:subClassOf [ owl:unionOf ( ex:New
            [ a owl:Restriction ; owl:onProperty ex:old ; owl:someValuesFrom ex:New ] ) ] .
        ex:New a owl:Class ."""
    )
    with rlm.ontology.open(tmp_path / "d.ttl", cache_dir=tmp_path) as onto:
        assert onto.lint(rule="deprecated-used")["rows"] == []


def test_who_uses_a_deprecated_term_in_an_expression_is_named(tmp_path: Path) -> None:
    (tmp_path / "d.ttl").write_text(HEADER + """
        ex:old a owl:ObjectProperty ; owl:deprecated true . ex:Gone a owl:Class ; owl:deprecated true .
        ex:Gone rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:old ; owl:hasValue 1 ] .
        ex:New a owl:Class ; rdfs:subClassOf [ owl:intersectionOf ( ex:A
            [ a owl:Restriction ; owl:onProperty ex:old ; owl:someValuesFrom ex:Gone ] ) ] .
        [ a owl:AllDisjointClasses ; owl:members ( ex:Gone ex:A ) ] .""")  # fmt: skip
    with rlm.ontology.open(tmp_path / "d.ttl", cache_dir=tmp_path) as onto:
        said = {row["term"]: row["message"] for row in onto.lint(rule="deprecated-used")["rows"]}
    assert said == {
        "ex:old": "deprecated, but owl:onProperty in an expression of ex:New",
        "ex:Gone": "deprecated, but rdf:first in an expression,"
        " owl:someValuesFrom in an expression of ex:New",
    }


def test_the_deprecated_members_of_a_long_list_are_found_in_no_time(tmp_path: Path) -> None:
    members = " ".join(f"ex:c{n}" for n in range(2_000))
    codes = "".join(f"ex:c{n} a ex:Code ; owl:deprecated true . " for n in range(0, 2_000, 2))
    text = f"ex:Code a owl:Class ; owl:equivalentClass [ owl:oneOf ( {members} ) ] . {codes}"
    (tmp_path / "d.ttl").write_text(HEADER + text)
    with rlm.ontology.open(tmp_path / "d.ttl", cache_dir=tmp_path) as onto:
        started = time.monotonic()
        found = onto.lint(rule="deprecated-used", limit=1)
        assert time.monotonic() - started < 3
    assert found["total"] == 1_000
    assert found["rows"][0]["message"] == "deprecated, but rdf:first in an expression of ex:Code"
