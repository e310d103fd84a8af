"""From a name to an IRI, also for individuals that no list in memory has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlm.errors import OntologyError
from rlm.ontology.meta.graph_meta import Individuals
from rlm.ontology.source import open_engine
from rlm.ontology.views.resolve import MOST_CHARS, find_named, occurs, resolve, resolve_property

GRAPH = """
@prefix ex: <http://example.org/yard#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix more: <http://example.org/more/> .
ex:Crane a owl:Class ; rdfs:label "crane"@en .
ex:Big_1 a ex:Crane ; rdfs:label "The old \\"giant\\""@de, "north crane"@en ; ex:beside ex:only_object .
ex:Two a ex:Crane ; skos:altLabel "South crane" . more:Two a ex:Crane . ex:crane a ex:Crane ; rdfs:label "pet"@en .
more:Three a ex:Crane ; rdfs:label "pet"@en .
"""


@pytest.fixture(scope="module")
def yard(tmp_path_factory):
    path = tmp_path_factory.mktemp("yard") / "yard.ttl"
    path.write_text(GRAPH)
    with open_engine(path, cache_dir=path.parent / "cache") as engine:
        whole = engine.meta()
        terms = whole.classes.keys() | whole.properties.keys()
        labels = {iri: texts for iri, texts in whole.labels.items() if iri in terms}
        yield engine, replace(whole, individuals=Individuals(5, ()), labels=labels, alternatives={})


@pytest.mark.parametrize(
    ("name", "local"),
    [("Big_1", "Big_1"), ('The old "giant"', "Big_1"), ("North Crane", "Big_1"), ("north crane", "Big_1"),
     ("south crane", "Two"), ("Crane", "Crane"), ("ex:Big_1", "Big_1")],
)  # fmt: skip
def test_an_individual_has_a_local_name_and_labels(yard, name, local):
    assert resolve(*yard, name) == f"http://example.org/yard#{local}"


def test_a_name_in_its_own_letters_comes_before_one_in_others(tmp_path):
    (tmp_path / "case.ttl").write_text(
        GRAPH
        + "ex:I a owl:Class . ex:i a ex:I . ex:Tool a owl:Class ; rdfs:label 'winch' . ex:winch a ex:Tool ."
    )
    with open_engine(tmp_path / "case.ttl", cache_dir=tmp_path) as engine:
        names = {
            name: resolve(engine, engine.meta(), name) for name in ("i", "I", "winch", "WINCH")
        }
    local = {name: iri.rpartition("#")[2] for name, iri in names.items()}
    assert local == {"i": "i", "I": "I", "winch": "Tool", "WINCH": "Tool"}


def test_a_name_of_several_is_told_and_of_none_too(yard):
    for name in ("Two", "pet"):
        with pytest.raises(
            OntologyError,
            match=rf"'{name}' is the name of 2 terms \(.*more:T\w+.*\): write which one",
        ):
            resolve(*yard, name)
    for name in (
        "Nobody",
        "no } body",
        'x" . ?s ?p "',
        "a\nb\\",
        "x" * (MOST_CHARS + 1),
        "only object",
    ):
        assert find_named(*yard, name) == []
        with pytest.raises(OntologyError, match="there is no term"):
            resolve(*yard, name)


def test_what_is_only_an_object_occurs(yard):
    engine, _ = yard
    assert occurs(engine, "http://example.org/yard#only_object") and occurs(
        engine, "http://example.org/yard#beside"
    )
    assert not occurs(engine, "http://example.org/yard#beside_it")


def test_an_iri_that_looks_like_a_curie_is_found_as_it_stands(tmp_path):
    (tmp_path / "twin.ttl").write_text(
        GRAPH + "<dtmi:dtdl:class:Part> a owl:Class . <dtmi:has> a owl:ObjectProperty ."
    )
    with open_engine(tmp_path / "twin.ttl", cache_dir=tmp_path) as engine:
        meta = engine.meta()
        assert resolve(engine, meta, "dtmi:dtdl:class:Part") == "dtmi:dtdl:class:Part"
        assert resolve(engine, meta, "<dtmi:dtdl:class:Part>") == "dtmi:dtdl:class:Part"
        assert resolve_property(engine, meta, "dtmi:has") == "dtmi:has"
        with pytest.raises(OntologyError, match="'dtmi:' of 'dtmi:none' is not bound"):
            resolve(engine, meta, "dtmi:none")


def test_an_identifier_of_obo_is_found_as_obo_files_write_it(tmp_path):
    obo = "@prefix obo: <http://purl.obolibrary.org/obo/> . obo:GO_0008150 a owl:Class ."
    (tmp_path / "go.ttl").write_text(GRAPH + obo)
    with open_engine(tmp_path / "go.ttl", cache_dir=tmp_path) as engine:
        meta = engine.meta()
        assert resolve(engine, meta, "GO:0008150") == "http://purl.obolibrary.org/obo/GO_0008150"
        with pytest.raises(OntologyError, match="there is no term GO:1"):
            resolve(engine, meta, "GO:1")
        with pytest.raises(OntologyError, match="'HP:' of 'HP:1' is not bound"):
            resolve(engine, meta, "HP:1")
