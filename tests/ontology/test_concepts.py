"""A thesaurus: concepts stand in a tree and are related; its scheme says what the file is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from small_graphs import views_of

from rlm.errors import OntologyError
from rlm.ontology.views.views import Views

THESAURUS = """
ex:s a skos:ConceptScheme ; dcterms:title "Bee terms" ; skos:hasTopConcept ex:animal .
ex:animal a skos:Concept ; skos:prefLabel "animals"@en , "Tiere"@de .
ex:insect a skos:Concept ; skos:broader ex:animal .
ex:animal skos:narrower ex:mite . ex:mite a skos:Concept .
ex:bee a skos:Concept ; skos:prefLabel "bees"@en ; skos:broader ex:insect , ex:guest . ex:guest a skos:Concept .
ex:lonely a skos:Concept . ex:hive ex:in ex:garden .
"""


@pytest.fixture(scope="module")
def views(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    found = views_of(THESAURUS, tmp_path_factory.mktemp("thesaurus"))
    with found.engine:
        yield found


def test_narrower_concepts_are_a_tree(views: Views) -> None:
    found = views.tree("animals", depth=1)
    assert (found["name"], found["kind"], found["below"]) == ("ex:animal", "concept", 3)
    assert found["rows"] == [
        {"name": "ex:insect", "depth": 1, "below": 1},
        {"name": "ex:mite", "depth": 1},
    ]
    assert found["more_below"] == 1
    up = views.tree("ex:bee", direction="up", depth=3)
    assert {(row["name"], row["depth"]) for row in up["rows"]} == {
        ("ex:guest", 1), ("ex:insect", 1), ("ex:animal", 2), ("ex:s", 3),
    }  # fmt: skip
    assert [row["name"] for row in views.tree("ex:s", depth=1)["rows"]] == ["ex:animal"]
    assert views.tree("ex:lonely")["total"] == 0
    with pytest.raises(OntologyError, match="no class and no property"):
        views.tree("ex:hive")


def test_broader_and_narrower_are_relations(views: Views) -> None:
    def names(term: str, relation: str, **more: bool) -> list[str]:
        return [row["name"] for row in views.related(term, relation=relation, **more)["rows"]]

    assert names("ex:animal", "narrower") == ["ex:insect", "ex:mite"]
    assert names("ex:animal", "narrower", all=True) == ["ex:bee", "ex:insect", "ex:mite"]
    assert names("bees", "broader", all=True) == ["ex:animal", "ex:guest", "ex:insect"]
    assert names("ex:mite", "broader") == ["ex:animal"] and names("ex:mite", "narrower") == []


def test_the_scheme_says_what_the_file_is(views: Views) -> None:
    found = views.metadata()
    assert found["title"] == "Bee terms" == views.graph_stats()["title"]
    assert found["ontologies"] == [] and len(found["schemes"]) == 1
    assert {"property": "dcterms:title", "value": '"Bee terms"'} in found["rows"]


def test_lint_says_how_many_terms_it_looked_at(views: Views) -> None:
    assert views.lint()["judged"] == 0
