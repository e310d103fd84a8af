"""OWL/XML, functional syntax and OBO: what a file says is there after the conversion, or a note says
that it is not."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

import rlm.ontology
from rlm.cli import main

FUNCTIONAL = """Prefix(:=<http://knots.test/>)
Prefix(rdfs:=<http://www.w3.org/2000/01/rdf-schema#>)
Ontology(<http://knots.test/>
{}
)
"""
OWL_XML = """<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" ontologyIRI="http://knots.test/">
<Prefix name="" IRI="http://knots.test/"/>
{}
</Ontology>
"""
OBO = """format-version: 1.4
data-version: 2031-07-04
saved-by: a knotter
subsetdef: basic "The first \\"ten\\" knots"
synonymtypedef: nick "what sailors say" EXACT
idspace: terms http://purl.org/dc/terms/
default-namespace: knots
ontology: knots
property_value: dc:creator "Ann Splice" xsd:string
property_value: terms:license https://licence.test/free
property_value: dcterms:title "All knots" xsd:string
property_value: IAO:0000700 K:1

[Term]
id: K:1
name: knot
subset: basic
synonym: "hitch" EXACT nick []
"""


@pytest.fixture
def opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = []

    def open_file(name: str, text: str) -> rlm.ontology.Ontology:
        Path(name).write_text(text)
        kept.append(rlm.ontology.open(name))
        return kept[-1]

    yield open_file
    for each in kept:
        each.close()


def names(page: dict) -> set[str]:
    return {row["name"] for row in page["rows"]}


def write(name: str, kind: str, members: str, noun: str) -> str:
    if name.endswith(".ofn"):
        said = [f"Declaration({noun}(:{each}))" for each in members]
        return FUNCTIONAL.format(
            "\n".join([*said, f"{kind}({' '.join(f':{m}' for m in members)})"])
        )
    every = "".join(f'<{noun} IRI="http://knots.test/{each}"/>' for each in members)
    said = [
        f'<Declaration><{noun} IRI="http://knots.test/{each}"/></Declaration>' for each in members
    ]
    return OWL_XML.format("\n".join([*said, f"<{kind}>{every}</{kind}>"]))


@pytest.mark.parametrize("name", ["knots.ofn", "knots.owx"])
@pytest.mark.parametrize(
    ("kind", "noun", "relation"),
    [
        ("DisjointClasses", "Class", "disjoint"),
        ("EquivalentClasses", "Class", "equivalents"),
        ("EquivalentObjectProperties", "ObjectProperty", "equivalents"),
        ("EquivalentDataProperties", "DataProperty", "equivalents"),
        ("DisjointObjectProperties", "ObjectProperty", "disjoint"),
    ],
)
def test_an_axiom_with_many_members_holds_for_every_two(name, kind, noun, relation, opened):
    onto = opened(name, write(name, kind, "ABCD", noun))
    for one in "ABCD":
        others = {f"knots:{each}" for each in "ABCD" if each != one}
        assert names(onto.related(f"knots:{one}", relation=relation)) == others


def test_the_same_individuals_are_the_same_two_by_two(opened):
    onto = opened("knots.ofn", FUNCTIONAL.format("SameIndividual(:a :b :c)"))
    found = onto.query("SELECT ?x ?y WHERE { ?x owl:sameAs|^owl:sameAs ?y }").rows
    pairs = {(row["x"]["v"][-1], row["y"]["v"][-1]) for row in found}
    assert pairs == set(permutations("abc", 2))


def test_members_that_are_expressions_are_written_once_and_annotations_stay(opened):
    onto = opened(
        "knots.ofn",
        FUNCTIONAL.format(
            "DisjointClasses(:A :B ObjectSomeValuesFrom(:p :C))\n"
            'DisjointClasses(Annotation(rdfs:comment "why") :A :D :E)'
        ),
    )
    assert names(onto.related("knots:A", relation="disjoint")) == {"knots:B", "knots:D", "knots:E"}
    assert names(onto.related("knots:E", relation="disjoint")) == {"knots:A", "knots:D"}
    assert onto.graph_stats()["restrictions"] == 1
    asked = "SELECT ?m WHERE { [] a owl:AllDisjointClasses ; owl:members/rdf:rest*/rdf:first ?m }"
    assert len(onto.query(asked).rows) == 3
    noted = (
        'ASK { ?x owl:annotatedSource knots:D ; owl:annotatedTarget knots:E ; rdfs:comment "why" }'
    )
    assert onto.query(noted).boolean
    assert not onto.query('ASK { ?s ?p ?o FILTER(STRSTARTS(STR(?s), "urn:rlm")) }').boolean


def test_the_header_of_obo_is_said_of_the_ontology(opened):
    onto = opened("knots.obo", OBO)
    said = {(row["property"], row["value"]) for row in onto.metadata()["rows"]}
    assert said >= {
        ("owl:versionInfo", '"2031-07-04"'),
        ("oboInOwl:saved-by", '"a knotter"'),
        ("dc:creator", '"Ann Splice"'),
        ("terms:license", "<https://licence.test/free>"),
        ("terms:title", '"All knots"'),
        ("obo:IAO_0000700", "obo:K_1"),
    }
    assert onto.metadata()["title"] == "All knots" and onto.metadata()["version"] == "2031-07-04"
    told = onto.query("SELECT ?t WHERE { obo:K_1 oboInOwl:inSubset/rdfs:comment ?t }").rows
    assert [row["t"]["v"] for row in told] == ['The first "ten" knots']
    assert onto.query('ASK { ?x rdfs:label "what sailors say" }').boolean
    assert not onto.query('ASK { ?s ?p ?o FILTER(CONTAINS(STR(?s), "RLM_")) }').boolean


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (OBO.replace("ontology: knots\n", ""), "knots.obo:1: the header is left out"),
        (
            f"{OBO}\n[Typedef]\nid: part_of\nname: part of\ntransitive_over: lies_in\n",
            "knots.obo:23: not carried over: transitive_over (1)",
        ),
    ],
)
def test_what_obo_says_and_nothing_can_carry_is_noted(text, note, opened):
    assert any(each.startswith(note) for each in opened("knots.obo", text).engine.notes)


def test_what_has_no_stanza_in_obo_is_not_declared_there(opened):
    loose = f"{OBO}\n[Term]\nid: K:9\nname: bend\nalt_id: K:8\nis_a: K:77 ! a slip\n"
    onto = opened("knots.obo", f"{loose}relationship: drawn_to V:3\n")
    assert names(onto.terms(kind="undeclared")) == {"obo:K_77", "obo:V_3"}
    assert names(onto.related("obo:K_9", relation="superclasses")) == {"obo:K_77"}
    found = {row["term"]: row["rule"] for row in onto.lint()["rows"] if row["level"] == "warning"}
    assert found == {"obo:K_77": "undeclared"}  # V:3 is another ontology's, K:8 deprecated


def test_an_escaped_colon_in_an_identifier_of_obo_is_a_colon(opened):
    value = "relationship: has_value_type xsd\\:float ! it says \\: here\n"
    onto = opened("knots.obo", f"{OBO}\n[Term]\nid: K:9\nname: ply\\: two\n{value}")
    (row,) = onto.restrictions("obo:K_9")["rows"]
    assert row["text"].endswith(" some xsd:float")
    assert onto.describe("obo:K_9")["label"] == "ply: two"


def test_obo_of_which_nothing_can_be_read_is_an_error(capsys, tmp_path):
    path = tmp_path / "bad.obo"
    path.write_text("format-version: 1.2\n\n[Term]\nid: K:1\nname knot\n")
    code = main(["ontology", "stats", str(path)])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "") and "bad.obo:5: not one stanza can be read" in err
    assert "the stanza of K:1 left out" in err
