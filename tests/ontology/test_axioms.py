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
