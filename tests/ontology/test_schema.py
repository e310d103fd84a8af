"""Schema constraints: what may be linked with what, what is disjoint, what to avoid; in 400
characters."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_graphs import meta_of, meta_of_file

from rlm.ontology.views.summary import schema_constraints


def lines(turtle: str, budget: int = 400) -> list[str]:
    return schema_constraints(meta_of(turtle), budget).split("\n")


def test_domains_and_ranges_with_unions_and_several() -> None:
    found = lines("""
        ex:p a owl:ObjectProperty ; rdfs:domain ex:A, [ owl:unionOf ( ex:B ex:C ) ] ; rdfs:range foaf:Agent .
        ex:q a owl:ObjectProperty ; rdfs:range ex:A .
        ex:r a owl:DatatypeProperty ; rdfs:domain ex:A ; rdfs:range xsd:date .
        ex:s a owl:ObjectProperty . ex:t a owl:AnnotationProperty ; rdfs:domain ex:A .
        ex:u a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ( ex:A ex:B ex:C ex:D ex:E ex:F ) ] .
    """)
    assert found[0] == "Domain → range (no prefix: ex:)"
    assert set(found[1:]) == {
        "p: A & (B | C) → foaf:Agent",
        "q: any → A",
        "r: A → xsd:date",
        "u: A | B | C | D | … → any",
    }
    assert found[-1] == "r: A → xsd:date"  # object properties first


def test_disjointness_names_the_weightier_first() -> None:
    found = lines("""
        ex:X owl:disjointWith ex:Y . ex:A owl:disjointWith ex:B . ex:x a ex:X . ex:y a ex:Y .
        [] a owl:AllDisjointClasses ; owl:members ( ex:M ex:N ex:O ex:P ex:Q ) .
    """)
    assert found == ["Disjoint: X / Y; A / B; M / N / O / P / …"]


@pytest.mark.parametrize(
    ("turtle", "line"),
    [
        (
            "ex:B rdfs:subClassOf ex:A . ex:b a ex:B .",
            "Avoid `?x a A` for all of its kinds: write a/rdfs:subClassOf*",
        ),
        (
            "ex:A owl:disjointUnionOf ( ex:B ex:C ) . ex:D rdfs:subClassOf ex:A . ex:b a ex:B .",
            "Avoid `?x a A` for all of its kinds: some follow by definition, see"
            ' ontology_view("instances", "A")',
        ),
        (
            "ex:B rdfs:subClassOf ex:A . ex:b a ex:B . ex:A owl:oneOf ( ex:b ex:c ) .",
            "Avoid `?x a A` for all of its kinds: some follow by definition, see"
            ' ontology_view("instances", "A")',
        ),
        (
            "ex:B rdfs:subClassOf ex:A . ex:A owl:equivalentClass ex:C . ex:b a ex:B . ex:c a ex:C .",
            "Avoid `?x a A` for all of its kinds: some follow by definition, see"
            ' ontology_view("instances", "A")',
        ),
        (
            'ex:A rdfs:label "a"@en .',
            'Avoid ?label = "text": labels have a language, compare STR(?label)',
        ),
        (
            "ex:A owl:deprecated true ; dcterms:isReplacedBy ex:B . ex:B a owl:Class .",
            "Avoid 1 deprecated, as A (use B)",
        ),
        (
            (
                "ex:qualifiedUse a owl:ObjectProperty ; ex:unqualifiedForm ex:used . ex:used a"
                " owl:ObjectProperty ."
            ),
            "Avoid qualifiedUse for a plain link (it leads to a node with details): use used",
        ),
    ],
)
def test_mistakes_that_the_graph_invites(turtle: str, line: str) -> None:
    assert line in lines(turtle)


def test_nothing_to_say() -> None:
    assert schema_constraints(meta_of("ex:A a owl:Class .")) == ""


@pytest.mark.parametrize("name", ["prov", "skos", "void"])
def test_real_schemas_are_cut_between_lines(name: str, shared_dir: Path) -> None:
    meta = meta_of_file(shared_dir / "ontologies" / f"{name}.ttl")
    whole = set(schema_constraints(meta, 10_000).split("\n"))
    found = schema_constraints(meta)
    assert 250 < len(found) <= 400
    kept = [line for line in found.split("\n") if not line.startswith("Disjoint")]
    assert len(kept) > 3 and set(kept) <= whole


def test_prov_constraints(shared_dir: Path) -> None:
    found = schema_constraints(meta_of_file(shared_dir / "ontologies" / "prov.ttl"))
    assert "wasDerivedFrom: Entity → Entity" in found
    assert "generated: Activity → Entity" in found
    assert "Disjoint: Activity / Entity" in found
    assert "Avoid qualifiedDerivation for a plain link" in found
