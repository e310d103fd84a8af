"""Axioms with expressions: what two terms differ in, what a class is implied by, what shapes ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from small_graphs import views_of

from rlm.ontology.views.views import Views

Open = Callable[[str], Any]


@pytest.fixture
def graph(tmp_path: Path) -> Open:
    @contextmanager
    def opened(turtle: str) -> Iterator[Views]:
        views = views_of(turtle, tmp_path)
        with views.engine:
            yield views

    return opened


def test_two_classes_differ_in_their_restrictions(graph: Open) -> None:
    with graph("""
        ex:Nurse rdfs:subClassOf ex:Worker ; owl:disjointWith ex:Forager .
        ex:Forager rdfs:subClassOf ex:Worker , [ owl:onProperty ex:visits ; owl:allValuesFrom ex:Flower ] ;
          owl:hasKey ( ex:number ) .
    """) as views:
        found = views.compare("ex:Nurse", "ex:Forager")
    assert found["only_x"] == ["owl:disjointWith ex:Forager"]
    assert found["only_y"] == ["has key ex:number", "subclass of ex:visits only ex:Flower"]


def test_equivalent_classes_have_the_same_properties(graph: Open) -> None:
    with graph("""
        ex:Yard owl:equivalentClass ex:Apiary . ex:near rdfs:domain ex:Apiary ; rdfs:range ex:Apiary .
    """) as views:
        found = views.compare("ex:Apiary", "ex:Yard")
    assert found["shared"] == ["has property ex:near", "is range of ex:near"]
    assert found["only_x"] == ["owl:equivalentClass ex:Yard"]


SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
ex:Swarm rdfs:subClassOf ex:Colony . ex:Wild owl:equivalentClass [ owl:unionOf ( ex:Colony ex:Tree ) ] .
ex:S a sh:NodeShape ; sh:targetClass ex:Colony ; sh:property ex:P , [ sh:path ex:number ; sh:minCount 1 ;
  sh:message "a number, please" ; sh:severity sh:Warning ] .
ex:P a sh:PropertyShape ; sh:path ex:strength ; sh:maxInclusive 9 .
ex:Off a sh:NodeShape ; sh:targetClass ex:Wild ; sh:nodeKind sh:IRI ; sh:deactivated true .
"""


def test_a_shape_says_its_message_its_severity_and_that_it_is_off(graph: Open) -> None:
    with graph(SHAPES) as views:
        asks = {row["shape"]: row["asks"] for row in views.shapes()["rows"]}
    assert asks["ex:S"] == [
        'ex:number: min 1, message "a number, please", severity sh:Warning',
        "ex:strength: maxInclusive 9",
    ]
    assert asks["ex:Off"] == ["nodeKind sh:IRI, deactivated true"]


def test_a_shape_is_about_the_classes_stated_to_be_below_its_target(graph: Open) -> None:
    with graph(SHAPES) as views:
        found = {name: views.shapes(f"ex:{name}")["rows"] for name in ("Swarm", "Colony", "Tree")}
        swarm, colony = (views.describe_entity(f"ex:{name}") for name in ("Swarm", "Colony"))
    assert [row["shape"] for row in found["Swarm"]] == ["ex:S"] and not found["Tree"]
    assert found["Colony"] == found["Swarm"]
    assert swarm["shapes"] == colony["shapes"] == ["ex:S"]
    assert swarm["shape_paths"] == colony["shape_paths"] == ["ex:number", "ex:strength"]


def test_an_axiom_that_leads_from_an_expression_to_a_name_is_told_of_it(graph: Open) -> None:
    with graph("""
        [ owl:intersectionOf ( ex:Colony [ owl:onProperty ex:in ; owl:someValuesFrom ex:Tree ] ) ]
          rdfs:subClassOf ex:Wild . [ owl:complementOf ex:Tame ] owl:equivalentClass ex:Wild .
        ex:Sub rdfs:subClassOf ex:Wild .
    """) as views:
        rows = views.restrictions("ex:Wild")["rows"]
        below = views.restrictions("ex:Sub", inherited=True)["rows"]
    assert rows == [
        {"text": "not ex:Tame", "by": "equivalent to"},
        {"text": "ex:Colony and (ex:in some ex:Tree)", "by": "superclass of"},
    ]
    assert below == []
