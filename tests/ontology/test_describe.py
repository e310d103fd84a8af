"""What a description says: true totals, definitions wherever they stand, and nothing that the file
does not state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_graphs import views_of

from rlm.errors import OntologyError
from rlm.handles import Meter
from rlm.ontology.views.views import Views
from rlm.tools import view_tools

GRAPH = (
    """
@prefix oio: <http://www.geneontology.org/formats/oboInOwl#> . @prefix schema: <https://schema.org/> .
ex:Work a owl:Class ; oio:hasDefinition "What somebody made." ; rdfs:comment "A remark." ; oio:hasExactSynonym "opus" ;
  oio:hasRelatedSynonym "job" ; oio:hasNarrowSynonym "book", "film" ; oio:hasBroadSynonym "thing" .
ex:Other a owl:Class ; rdfs:label "other"@en ; ex:meaning "By its label." . ex:meaning rdfs:label "Definition"@en .
ex:Third a owl:Class ; schema:description "By schema." .
ex:either a owl:ObjectProperty ; rdfs:domain [ owl:unionOf ( ex:Work ex:Other ) ] ; rdfs:range ex:Other .
ex:one a rdf:Property ; rdfs:domain ex:Work ; rdfs:range ex:Other .
ex:two a rdf:Property ; schema:domainIncludes ex:Other ; schema:rangeIncludes ex:Third .
ex:three a owl:TransitiveProperty ; rdfs:domain ex:Third .
"""
    + "".join(f"ex:made{n:02} a owl:ObjectProperty ; rdfs:range ex:Work .\n" for n in range(45))
    + "ex:Work a " + ", ".join(f"ex:T{n:02}" for n in range(20)) + " .\n"
)  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    views = views_of(GRAPH, tmp_path_factory.mktemp("described"))
    yield views
    views.engine.close()


def test_lists_are_cut_and_their_totals_are_true(small: Views) -> None:
    found = small.describe_entity("ex:Work")
    assert len(found["range_of"]) == 12 and found["left_out"] == {"range_of": 33, "types": 9}
    assert "left_out" not in small.describe_entity("ex:Third")
    fitted = view_tools(small, Meter()).functions["describe_entity"]("ex:Work")
    assert len(json.dumps(fitted, ensure_ascii=False)) <= 1000
    assert len(fitted["range_of"]) + fitted["left_out"]["range_of"] == 45


def test_a_definition_is_found_wherever_it_stands(small: Views) -> None:
    told = {
        name: small.describe_entity(f"ex:{name}")["comment"] for name in ("Work", "Other", "Third")
    }
    assert told == {"Work": "What somebody made.", "Other": "By its label.", "Third": "By schema."}
    assert [small.meta.comments[small.meta.prefixes.expand(f"ex:{name}")] for name in told] == list(
        told.values()
    )


def test_other_names_say_how_near_they_are(small: Views) -> None:
    found = small.describe_entity("ex:Work")
    near = {key: found[key] for key in found if key.endswith("_synonyms")}
    assert found["alternatives"] == ["opus"]
    assert near == {
        "related_synonyms": ["job"],
        "narrow_synonyms": ["book", "film"],
        "broad_synonyms": ["thing"],
    }


def test_a_label_that_is_not_stated_is_said_to_be_none(small: Views) -> None:
    assert (
        small.describe_entity("ex:Work")["label"],
        small.describe_entity("ex:Work")["unlabelled"],
    ) == ("Work", True)
    assert "unlabelled" not in small.describe_entity("ex:Other")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("one", "property"),
        ("two", "property"),
        ("three", "object property"),
        ("either", "object property"),
    ],
)
def test_a_kind_that_is_guessed_is_not_stated(small: Views, name: str, kind: str) -> None:
    assert small.describe_entity(f"ex:{name}")["kind"] == kind
    assert small.meta.kinds[small.meta.prefixes.expand(f"ex:{name}")] in ("object", "property")


def test_properties_that_name_a_class_as_one_of_several_are_counted(small: Views) -> None:
    work, other, third = (
        small.describe_entity(f"ex:{name}") for name in ("Work", "Other", "Third")
    )
    assert (work["property_count"], work["properties_by"], "range_of_by" in work) == (
        2,
        {"a union": 1},
        False,
    )
    assert other["properties_by"] == {"schema:domainIncludes": 1, "a union": 1}
    assert (third["range_of_by"], "properties_by" in third) == ({"schema:rangeIncludes": 1}, False)


def test_a_definition_by_an_expression_says_how_and_no_list_is_shown_raw(tmp_path: Path) -> None:
    views = views_of(
        """
        ex:Bee owl:disjointUnionOf ( ex:Queen ex:Drone ) ; owl:hasKey ( ex:number ) ;
          owl:equivalentClass [ owl:intersectionOf ( ex:Insect ex:Winged ) ] .
        ex:livesIn a owl:ObjectProperty ; owl:propertyChainAxiom ( ex:memberOf ex:housedIn ) .
        ex:Queen rdfs:subClassOf [ owl:complementOf ex:Drone ] .
        """,
        tmp_path,
    )
    with views.engine:
        told = {name: views.describe_entity(f"ex:{name}") for name in ("Bee", "livesIn", "Queen")}
    assert told["Bee"]["restrictions"] == [
        "equivalent to ex:Insect and ex:Winged",
        "disjoint union of ex:Queen, ex:Drone",
        "has key ex:number",
    ]
    assert told["livesIn"]["restrictions"] == ["implied by the chain ex:memberOf o ex:housedIn"]
    assert told["Queen"]["restrictions"] == ["not ex:Drone"]
    assert "rdf:first" not in json.dumps(told)


def test_comments_stand_beside_a_definition(small: Views) -> None:
    assert small.describe_entity("ex:Work")["further_comments"] == ["A remark."]
    assert "further_comments" not in small.describe_entity("ex:Third")


def test_the_label_is_that_of_trees_and_lists_and_a_datatype_is_one(tmp_path: Path) -> None:
    views = views_of(
        """
        ex:Many a owl:Class ; rdfs:label "one"@en , "  spaces "@en , "line\\nbreak"@de .
        ex:Mass a rdfs:Datatype ; rdfs:label "mass" .
        """,
        tmp_path,
    )
    with views.engine:
        assert (
            views.describe_entity("ex:Many")["label"] == views.tree()["rows"][0]["label"] == "one"
        )
        assert views.describe_entity("ex:Mass")["kind"] == views.values("ex:Mass")["kind"]
        assert views.describe_entity("ex:Mass")["kind"] == "datatype"


def test_a_short_name_is_not_taken_for_a_word_of_a_vocabulary(tmp_path: Path) -> None:
    turtle = "@prefix sh: <http://www.w3.org/ns/shacl#> . ex:S sh:not ex:Bed . ex:Bed a owl:Class ."
    views = views_of(turtle, tmp_path)
    with views.engine:
        with pytest.raises(OntologyError, match="search_entity"):
            views.describe_entity("ex:Nope")
        with pytest.raises(OntologyError, match="did you mean ex:Bed"):
            views.describe_entity("ex:Ded")


def test_stats_have_the_labels_of_names_that_are_numbers(tmp_path: Path) -> None:
    views = views_of('obo:PATO_0000001 a owl:Class ; rdfs:label "quality" .', tmp_path)
    with views.engine:
        found = views.graph_stats()
    assert found["roots"] == ["obo:PATO_0000001"]
    assert found["labels"] == {"obo:PATO_0000001": "quality"}
