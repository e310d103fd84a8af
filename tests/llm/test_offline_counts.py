"""A number that `offline` tells is that of its list, in the same words; and it denies nothing where
it did not look."""

from __future__ import annotations

import re

import pytest
from offline_runs import ROOT, Asked, listed

from rlm.llm.types import is_unanswered

PLAIN = """
@prefix p: <http://plain.test/> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
<http://plain.test/> owl:versionInfo "7" .
p:Event a rdfs:Class . p:Actor a rdfs:Class .
p:did a rdf:Property ; owl:inverseOf p:doneBy . p:doneBy a rdf:Property . p:note a rdf:Property .
[] a owl:ObjectProperty ; owl:inverseOf p:did .
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    made = tmp_path_factory.mktemp("plain") / "plain.ttl"
    made.write_text(PLAIN)
    asked = Asked(made, "p")
    yield asked
    asked.engine.close()


SORTS = (
    "classes",
    "properties",
    "object properties",
    "datatype properties",
    "annotation properties",
)


@pytest.mark.parametrize("what", SORTS)
def test_a_number_is_that_of_the_list_in_the_same_words(plain, what):
    ontologies = [plain, *(Asked(ROOT / "ontology" / f"{n}.ttl", n) for n in ("harbour", "skos"))]
    for asked in ontologies:
        counted, told = (asked.ask(f"{ask} {what} are there?")[0] for ask in ("How many", "Which"))
        number, noun = re.match(r"(\d+) ([a-z ]+)", counted).groups()
        heading = told.splitlines()[0]
        assert heading.startswith(
            f"{number} {noun}" if listed(told) else f"None: there are no {noun}"
        )
        assert counted.splitlines()[1:] == told.splitlines()[len(listed(told)) + 1 :]
    for asked in ontologies[1:]:
        asked.engine.close()


def test_a_kind_that_no_type_gives_is_told_as_such(plain):
    told = plain.ask("How many object properties are there?")[0]
    assert told.startswith("2 object properties.\n2 of them by their inverse or a trait")
    for question in (
        "How many datatype properties are there?",
        "Which datatype properties are there?",
    ):
        assert "Of 1 more the kind is not stated" in plain.ask(question)[0]


def test_what_no_ontology_says_is_not_denied_where_none_is_declared(plain, tmp_path):
    assert '"7"' in plain.ask("What version is it?")[0]  # said of the namespace
    bare = tmp_path / "bare.ttl"
    bare.write_text(PLAIN.replace('<http://plain.test/> owl:versionInfo "7" .', ""))
    asked = Asked(bare, "p")
    told = asked.ask("What version is it?")[0]
    assert is_unanswered(told) and "declares no owl:Ontology" in told
    asked.engine.close()


def test_what_an_ontology_does_not_say_is_denied_by_name():
    asked = Asked(ROOT / "ontology" / "skos.ttl", "skos")
    told = asked.ask("Who is the publisher of this ontology?")[0]
    assert told == "None: <https://example.org/rlm/ontology/skos> has no publisher."
    asked.engine.close()
