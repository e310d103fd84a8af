"""The bounded views over the real engine: what they find, how they rank it, what they say when
there is nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph, URIRef
from small_graphs import EX, views_of

from rlm.errors import OntologyError
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.meta import graph_meta
from rlm.ontology.meta.builder import build_meta
from rlm.ontology.views.search import NameIndex, distance, nearest
from rlm.ontology.views.views import Views

ZOO = """
ex: a owl:Ontology ; dcterms:title "Zoo" .
ex:Animal a owl:Class ; rdfs:label "animal"@en, "Tier"@de ;
  rdfs:comment "Something that lives."@en, "Etwas, das lebt."@de .
ex:Lion a owl:Class ; rdfs:subClassOf ex:Animal ; rdfs:label "lion"@en ; skos:altLabel "king of beasts"@en .
ex:SeaLion a owl:Class ; rdfs:subClassOf ex:Animal ; rdfs:label "sea lion"@en .
ex:OldLion a owl:Class ; rdfs:label "lion"@en ; owl:deprecated true ; dcterms:isReplacedBy ex:Lion .
ex:Dandelion a owl:Class ; owl:disjointWith ex:Animal .
ex:ZOO_000776 a owl:Class ; rdfs:label "enclosure" .
ex:livesIn a owl:ObjectProperty ; rdfs:domain ex:Animal ; rdfs:range ex:ZOO_000776 ; owl:inverseOf ex:houses .
ex:age a owl:DatatypeProperty, owl:FunctionalProperty ;
  rdfs:domain [ owl:unionOf ( ex:Lion ex:SeaLion ) ] ; rdfs:range xsd:integer .
ex:leo a ex:Lion ; rdfs:label "Léo" ; ex:livesIn ex:den ; ex:age 4 ; ex:meets ex:lea, ex:sam, _:visit .
_:visit a ex:Visit ; ex:guest ex:lea .
ex:lea a ex:Lion ; ex:livesIn ex:den ; ex:note "a very long note %s" .
ex:sam a ex:SeaLion ; rdfs:label "Sam" . ex:den a ex:ZOO_000776 ; rdfs:label "the den" .
""" % ("word " * 200)


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    views = views_of(ZOO, tmp_path_factory.mktemp("zoo"))
    yield views
    views.engine.close()


@pytest.fixture(scope="module")
def prov(tmp_path_factory: pytest.TempPathFactory, shared_dir: Path) -> Iterator[Views]:
    with LocalEngine(
        shared_dir / "ontologies" / "prov.ttl", cache_dir=tmp_path_factory.mktemp("cache")
    ) as engine:
        yield Views(engine)


def hits(found: list[dict[str, object]]) -> list[tuple[object, object, object]]:
    return [(hit["curie"], hit["match_type"], hit["match_in"]) for hit in found]


# -- search


def test_search_ranks_by_how_it_matched_and_puts_the_deprecated_last(zoo: Views) -> None:
    assert hits(zoo.search_entity("Lion")) == [
        ("ex:Lion", "exact", "label"),
        ("ex:OldLion", "exact", "label"),
        ("ex:SeaLion", "word", "label"),
        ("ex:Dandelion", "substring", "localname"),
    ]
    old = zoo.search_entity("Lion")[1]
    assert (old["deprecated"], old["use"]) == (True, ["ex:Lion"])
    assert zoo.search_entity("lion")[0] == {
        "uri": EX + "Lion",
        "curie": "ex:Lion",
        "label": "lion",
        "kind": "class",
        "match_type": "exact",
        "match_in": "label",
    }


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("lions", ("ex:Lion", "word", "label")),
        ("SEA", ("ex:SeaLion", "prefix", "label")),
        ("sealion", ("ex:SeaLion", "exact", "label")),
        ("tier", ("ex:Animal", "exact", "label")),
        ("king of beasts", ("ex:Lion", "exact", "alternative")),
        ("leo", ("ex:leo", "exact", "label")),
        ("LÉO", ("ex:leo", "exact", "label")),
        ("lives in", ("ex:livesIn", "exact", "localname")),
        ("anmial", ("ex:Animal", "fuzzy", "label")),
        ("sae lion", ("ex:SeaLion", "fuzzy", "label")),
        ("se lion", ("ex:SeaLion", "fuzzy", "label")),
        ("enclosures", ("ex:ZOO_000776", "word", "label")),
        ("ex:lea", ("ex:lea", "exact", "iri")),
        (f"<{EX}lea>", ("ex:lea", "exact", "iri")),
    ],
)
def test_search_forgives_case_plural_diacritics_spaces_and_slips(
    zoo: Views, query: str, first: tuple[str, ...]
) -> None:
    assert hits(zoo.search_entity(query))[0] == first


def test_what_is_deprecated_comes_after_what_is_not(tmp_path: Path) -> None:
    views = views_of(
        """ex:Alion a owl:Class ; rdfs:label "lion" ; owl:deprecated true . ex:Blion a owl:Class ; rdfs:label "lion" .
        ex:Clion a owl:Class ; rdfs:label "lions den" .""",
        tmp_path,
    )
    with views.engine as engine:  # type: ignore[attr-defined]
        assert engine
        assert [hit["curie"] for hit in views.search_entity("lion")] == [
            "ex:Blion",
            "ex:Alion",
            "ex:Clion",
        ]
        assert nearest(views.meta, "ex:lino") == [EX + "Blion", EX + "Alion"]
        assert views.meta.by_label["lion"] == [EX + "Blion", EX + "Alion"]


def test_search_in_one_field_only(zoo: Views) -> None:
    assert hits(zoo.search_entity("dandelion", search_in="label")) == []
    assert hits(zoo.search_entity("dandelion", search_in="localname")) == [
        ("ex:Dandelion", "exact", "localname")
    ]
    assert {how for _, _, how in hits(zoo.search_entity("zoo", search_in="iri"))} == {"iri"}
    assert hits(zoo.search_by_label("king")) == [("ex:Lion", "prefix", "alternative")]
    assert zoo.search_by_label("king")[0]["matched"] == "king of beasts"


@pytest.mark.parametrize(
    "wrong", [{"limit": 0}, {"limit": True}, {"search_in": "title"}, {"query": "  "}]
)
def test_search_refuses_what_makes_no_sense(zoo: Views, wrong: dict[str, object]) -> None:
    with pytest.raises(OntologyError):
        zoo.search_entity(**{"query": "lion", **wrong})  # type: ignore[arg-type]


def test_search_is_capped_and_survives_odd_text(zoo: Views, prov: Views) -> None:
    assert len(prov.search_entity("prov", limit=10_000)) == 25
    for text in ('"', "\\", "}", "?", "'); DROP", "\ud7ff", "%", "*", "-", "x" * 5000):
        zoo.search_entity(text)
    assert zoo.search_entity("quite unlike anything") == []


def test_individuals_beyond_the_sample_are_asked_for(tmp_path: Path) -> None:
    many = (
        "".join(f'ex:i{n:03} a ex:C ; rdfs:label "thing {n}"@en .\n' for n in range(40))
        + "ex:zebra a ex:C ."
    )
    views = views_of(many, tmp_path)
    with pytest.MonkeyPatch.context() as patch, views.engine as engine:  # type: ignore[attr-defined]
        import pyoxigraph as ox

        patch.setattr(graph_meta, "INDIVIDUALS", 5)
        store = ox.Store()
        store.load(path=tmp_path / "graph.ttl", format=ox.RdfFormat.TURTLE)
        small = Views(engine, build_meta(store, {"ex": EX}))
        assert not small.meta.individuals.complete
        assert hits(small.search_entity("Thing 39")) == [("ex:i039", "exact", "label")]
        assert small.search_entity("i039")[0]["label"] == "thing 39"
        assert hits(small.search_entity("zebra")) == [("ex:zebra", "exact", "localname")]
        assert small.describe_entity("ex:i039")["label"] == "thing 39"
        assert small.probe_relationships("ex:C", limit=25)["incoming"][-1]["label"] == "thing 24"


def test_a_slip_finds_an_individual_beyond_the_sample(tmp_path: Path) -> None:
    """A category among its products, of which only some are kept."""
    products = "".join(
        f'ex:i{n:03} a ex:C ; rdfs:label "Potentiometer, wire-wound, no. {n}"@en .\n'
        for n in range(40)
    )
    views = views_of(products + 'ex:z1 a ex:Category ; rdfs:label "Potentiometer"@en .', tmp_path)
    with pytest.MonkeyPatch.context() as patch, views.engine as engine:  # type: ignore[attr-defined]
        import pyoxigraph as ox

        patch.setattr(graph_meta, "INDIVIDUALS", 30)
        store = ox.Store()
        store.load(path=tmp_path / "graph.ttl", format=ox.RdfFormat.TURTLE)
        small = Views(engine, build_meta(store, {"ex": EX}))
        assert "z1" not in str(small.meta.individuals.sample)
        found = hits(small.search_entity("pontiometer", limit=25))
        assert found[0] == ("ex:z1", "fuzzy", "label") and len(found) == 25
        assert small.search_entity("pontio") == [] and small.search_entity("xy") == []


def test_every_name_finds_its_own_term(prov: Views) -> None:
    """Whatever is searched by its full label comes first or shares the first place."""
    index = NameIndex(prov.meta)
    assert len(index.entries) > 500
    for iri in (*prov.meta.classes, *prov.meta.properties):
        found = prov.search_entity(prov.meta.label(iri), limit=25)
        assert any(hit["uri"] == iri and hit["match_type"] == "exact" for hit in found), iri


# -- describe and probe


def test_describe_a_class(zoo: Views) -> None:
    found = zoo.describe_entity("ex:Animal")
    assert found["uri"] == EX + "Animal"
    assert (found["label"], found["kind"], found["types"]) == ("animal", "class", ["owl:Class"])
    assert found["comment"] == "Something that lives."
    assert found["subclasses"] == ["ex:Lion", "ex:SeaLion"]
    assert (found["subclass_count"], found["instances"], found["disjoint_with"]) == (
        2,
        0,
        ["ex:Dandelion"],
    )
    assert found["properties"] == ["ex:livesIn"]
    lion = zoo.describe_entity("ex:Lion")
    assert (lion["superclasses"], lion["instances"], lion["examples"]) == (
        ["ex:Animal"],
        2,
        ["ex:lea", "ex:leo"],
    )
    assert (lion["properties"], lion["inherited_property_count"]) == (["ex:age"], 1)


def test_describe_in_another_language(zoo: Views) -> None:
    german = Views(zoo.engine, zoo.meta, lang="de").describe_entity("ex:Animal")
    assert (german["label"], german["comment"]) == ("Tier", "Etwas, das lebt.")


def test_describe_a_property(zoo: Views) -> None:
    lives = zoo.describe_entity("ex:livesIn")
    assert (lives["domain"], lives["range"], lives["inverse_of"]) == (
        ["ex:Animal"],
        ["ex:ZOO_000776 (enclosure)"],
        ["ex:houses"],
    )
    assert (lives["uses"], lives["kind"]) == (2, "object property")
    assert lives["classes_say"] == ["ex:Animal: Something that lives."]  # a rule often stands there
    age = zoo.describe_entity("ex:age")
    assert (age["domain"], age["domain_is_union"], age["traits"]) == (
        ["ex:Lion", "ex:SeaLion"],
        True,
        ["functional"],
    )
    assert "domain_is_union" not in lives


def test_describe_an_individual_with_a_blank_node(zoo: Views) -> None:
    found = zoo.describe_entity("ex:leo")
    assert (found["label"], found["types"], found["comment"], found["kind"]) == (
        "Léo",
        ["ex:Lion"],
        "",
        "individual",
    )
    assert found["outgoing_sample"] == [
        {"predicate": "ex:age", "object": "4"},
        {"predicate": "ex:livesIn", "object": "ex:den", "label": "the den"},
        {"predicate": "ex:meets", "object": "ex:lea"},
        {"predicate": "ex:meets", "object": "ex:sam"},
        {"predicate": "ex:meets", "object": "[ a ex:Visit ; ex:guest ex:lea ]"},
    ]
    assert found["outgoing_count"] == 7
    assert len(zoo.describe_entity("ex:leo", limit=2)["outgoing_sample"]) == 2


def test_long_values_are_cut(zoo: Views) -> None:
    note = next(
        link
        for link in zoo.describe_entity("ex:lea")["outgoing_sample"]
        if link["predicate"] == "ex:note"
    )
    assert len(note["object"]) < 170 and note["object"].endswith('…"')


def test_probe_gives_true_counts_and_bounded_lists(zoo: Views) -> None:
    found = zoo.probe_relationships("ex:leo", limit=2)
    assert (
        len(found["outgoing"]),
        found["outgoing_count"],
        found["incoming"],
        found["incoming_count"],
    ) == (
        2,
        7,
        [],
        0,
    )
    assert found["outgoing_predicates"]["ex:meets"] == 3
    both = zoo.probe_relationships("ex:lea")
    assert both["incoming_count"] == 2
    assert {link["subject"] for link in both["incoming"]} == {
        "ex:leo",
        "[ a ex:Visit ; ex:guest ex:lea ]",
    }
    one = zoo.probe_relationships("ex:leo", predicate="ex:meets", direction="out")
    assert (one["outgoing_count"], set(one["outgoing_predicates"]), "incoming" in one) == (
        3,
        {"ex:meets"},
        False,
    )


@pytest.mark.parametrize("name", ["Activity", "Entity", "wasGeneratedBy", "hadRole", "Influence"])
def test_probe_counts_agree_with_rdflib(prov: Views, shared_dir: Path, name: str) -> None:
    graph = Graph().parse(shared_dir / "ontologies" / "prov.ttl")
    node = URIRef(f"http://www.w3.org/ns/prov#{name}")
    found = prov.probe_relationships(f"prov:{name}", limit=25)
    assert found["outgoing_count"] == len(set(graph.predicate_objects(node)))
    assert found["incoming_count"] == len(set(graph.subject_predicates(node)))
    assert len(found["incoming"]) == min(25, found["incoming_count"])


# -- names


@pytest.mark.parametrize(
    "name", ["ex:Lion", EX + "Lion", f"<{EX}Lion>", " ex:Lion ", "Lion", "enclosure"]
)
def test_every_way_to_write_a_name(zoo: Views, name: str) -> None:
    assert zoo.describe_entity(name)["uri"] in (EX + "Lion", EX + "ZOO_000776")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("ex:Lyon", "did you mean ex:Lion"),
        ("ex:Lions", "did you mean ex:Lion"),
        ("ex:Enclosuer", r"did you mean ex:ZOO_000776 \(enclosure\)"),
        ("http://example.org/other#Animal", "did you mean ex:Animal"),
        ("exx:Lion", "prefix 'exx:'.*did you mean ex:"),
        ("Tiger", "no term Tiger"),
        ("", "no name given"),
        ("ex:a b", "may not contain"),
        ("lion", r"name of 2 terms \(ex:Lion, ex:OldLion\)"),
    ],
)
def test_an_unknown_name_says_what_is_near(zoo: Views, name: str, hint: str) -> None:
    with pytest.raises(OntologyError, match=hint):
        zoo.describe_entity(name)


def test_an_unknown_property_or_direction(zoo: Views) -> None:
    with pytest.raises(OntologyError, match=r"no property ex:meet .*did you mean ex:meets\?"):
        zoo.probe_relationships("ex:leo", predicate="ex:meet")
    with pytest.raises(OntologyError, match="both, out or in"):
        zoo.probe_relationships("ex:leo", direction="up")


def test_a_node_that_is_only_an_object_exists(zoo: Views) -> None:
    assert zoo.describe_entity("ex:houses")["incoming_count"] == 1


@given(
    st.text(alphabet="abcd", max_size=7), st.text(alphabet="abcd", max_size=7), st.integers(0, 4)
)
def test_distance_is_the_edit_distance_up_to_its_limit(one: str, two: str, most: int) -> None:
    def slow(a: str, b: str) -> int:  # optimal string alignment, from its definition
        table = {
            (i, j): max(i, j)
            for i in range(len(a) + 1)
            for j in range(len(b) + 1)
            if not i or not j
        }
        for i in range(1, len(a) + 1):
            for j in range(1, len(b) + 1):
                best = min(
                    table[i - 1, j] + 1,
                    table[i, j - 1] + 1,
                    table[i - 1, j - 1] + (a[i - 1] != b[j - 1]),
                )
                if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                    best = min(best, table[i - 2, j - 2] + 1)
                table[i, j] = best
        return table[len(a), len(b)]

    assert distance(one, two, most) == min(slow(one, two), most + 1)


def test_nothing_is_near_to_nonsense(zoo: Views) -> None:
    assert nearest(zoo.meta, "ex:qqqqqq") == []
    assert nearest(zoo.meta, "") == []


# -- numbers


def test_predicate_frequency_counts_every_statement(zoo: Views) -> None:
    found = zoo.predicate_frequency(limit=3)
    assert [(each["predicate"], each["count"]) for each in found][:2] == [
        ("rdf:type", 15),
        ("rdfs:label", 9),
    ]
    assert len(zoo.predicate_frequency(limit=500)) <= 25


def test_graph_stats(zoo: Views, prov: Views) -> None:
    found = zoo.graph_stats()
    assert (found["title"], found["classes"], found["properties"], found["individuals"]) == (
        "Zoo",
        7,
        9,
        4,
    )
    assert found["deprecated"] == 1
    assert found["roots"] == [
        "ex:Animal",
        "ex:Dandelion",
        "ex:ZOO_000776",
    ]  # what is deprecated and alone is counted
    assert (found["deprecated_roots"], found["declared_properties"]) == (1, 2)
    assert sum(found["property_kinds"].values()) == 2, "the others are only used"
    assert prov.graph_stats()["triples"] == 1664


def test_no_answer_floods_a_prompt(prov: Views) -> None:
    calls = [
        prov.graph_stats(),
        prov.predicate_frequency(100),
        prov.search_entity("influence", 100),
    ]
    for iri in prov.meta.classes:
        calls += [prov.describe_entity(iri, 100), prov.probe_relationships(iri, limit=100)]
    for answer in calls:
        assert len(json.dumps(answer)) < 12_000
