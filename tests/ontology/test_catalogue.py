"""The views of the catalogue: what each of them says, bounded in a REPL, whole in Python."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offline_runs import Asked
from small_graphs import HEADER

import rlm.ontology
from rlm.errors import OntologyError
from rlm.handles import Meter
from rlm.ontology.views.views import CATALOGUE
from rlm.tools.views import VIEW_CHARS, fit, view_tools

ZOO = """
<http://example.org/zoo> a owl:Ontology ; dcterms:title "The zoo" ; owl:versionInfo "2.1" ;
  owl:imports <http://example.org/base> .
ex:Animal a owl:Class ; rdfs:label "animal"@en , "Tier"@de ; ex:synonym "beast"@en ;
  skos:definition "What eats."@en ; skos:example "a lion" .
ex:Lion a owl:Class ; rdfs:label "lion"@en ; rdfs:subClassOf ex:Animal ,
  [ a owl:Restriction ; owl:onProperty ex:eats ; owl:someValuesFrom ex:Meat ] ,
  [ a owl:Restriction ; owl:onProperty ex:eats ; owl:allValuesFrom [ owl:unionOf ( ex:Meat ex:Fish ) ] ] ;
  owl:disjointWith ex:Meat .
ex:Cub a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( ex:Lion [ a owl:Restriction ;
  owl:onProperty ex:age ; owl:someValuesFrom [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
  owl:withRestrictions ( [ xsd:maxInclusive 2 ] ) ] ] ) ] .
ex:Two a owl:Class ; rdfs:subClassOf [ a owl:Restriction ; owl:onProperty [ owl:inverseOf ex:eats ] ;
  owl:qualifiedCardinality 2 ; owl:onClass [ owl:complementOf ex:Lion ] ] , [ owl:oneOf ( ex:leo ex:nala ) ] .
ex:Meat a owl:Class . ex:Fish a owl:Class ; rdfs:subClassOf ex:Animal .
ex:Old a owl:Class ; owl:deprecated true ; obo:IAO_0100001 ex:Lion .
ex:eats a owl:ObjectProperty , owl:TransitiveProperty ; rdfs:domain ex:Animal ; schema:inverseOf ex:eatenBy .
ex:eatenBy a owl:ObjectProperty . ex:eatsMuch a owl:ObjectProperty ; rdfs:subPropertyOf ex:eats .
ex:age a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:range xsd:integer .
ex:synonym a owl:AnnotationProperty .
ex:leo a ex:Lion ; rdfs:label "Leo" ; ex:age 7 ; ex:eats ex:steak . ex:nala a ex:Cub . ex:steak a ex:Meat .
ex:LionShape a sh:NodeShape ; sh:targetClass ex:Lion ;
  sh:property [ sh:path ex:age ; sh:minCount 1 ; sh:maxCount 1 ; sh:datatype xsd:integer ] .
"""


@pytest.fixture(scope="module")
def onto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[rlm.ontology.Ontology]:
    folder = tmp_path_factory.mktemp("zoo")
    prefixes = HEADER + "@prefix sh: <http://www.w3.org/ns/shacl#> .\n"
    (folder / "zoo.ttl").write_text(prefixes + ZOO, "utf-8")
    with rlm.ontology.open(folder / "zoo.ttl", cache_dir=folder / "cache") as opened:
        yield opened


@pytest.fixture(scope="module")
def view(onto: rlm.ontology.Ontology) -> Callable[..., dict[str, Any]]:
    """`ontology_view` as a REPL has it."""
    tool = view_tools(onto, Meter()).functions["ontology_view"]
    return lambda *args, **options: tool(*args, **options)


def names(found: dict[str, Any], key: str = "name") -> list[Any]:
    return [row[key] for row in found["rows"]]


def test_a_tree_has_counts_and_says_what_a_definition_gives(view: Any) -> None:
    found = view("tree", "Animal")
    assert (found["below"], found["instances"], found["total"]) == (3, 2, 3)
    assert names(found) == ["ex:Fish", "ex:Lion", "ex:Cub"]
    assert found["rows"][2] == {"name": "ex:Cub", "depth": 2, "by": "definition", "instances": 1}
    assert names(view("tree", "Cub", direction="up", depth=9)) == ["ex:Lion", "ex:Animal"]
    assert names(view("tree", "eats")) == ["ex:eatsMuch"]
    assert "ex:Animal" in names(view("tree"))


@pytest.mark.parametrize(
    ("term", "options", "expected"),
    [
        ("Lion", {"relation": "superclasses"}, ["ex:Animal"]),
        ("Cub", {"relation": "superclasses", "all": True}, ["ex:Lion", "ex:Animal"]),
        ("Cub", {"relation": "properties", "all": True}, ["ex:eats"]),
        ("Cub", {"relation": "disjoint", "all": True}, ["ex:Meat"]),
        ("Lion", {"relation": "disjoint"}, ["ex:Meat"]),
        ("eats", {"relation": "inverses"}, ["ex:eatenBy"]),
        ("eats", {"relation": "subproperties"}, ["ex:eatsMuch"]),
        ("age", {"relation": "range"}, ["xsd:integer"]),
        ("Old", {"relation": "replaced_by"}, ["ex:Lion"]),
        ("Lion", {"relation": "replaces"}, ["ex:Old"]),
        ("leo", {"relation": "types"}, ["ex:Lion"]),
    ],
)
def test_what_is_related_to_a_term(view: Any, term: str, options: Any, expected: Any) -> None:
    assert names(view("related", term, **options)) == expected


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("transitive", ["ex:eats"]),
        ("functional", ["ex:age"]),
        ("datatype", ["ex:age"]),
        ("deprecated", ["ex:Old"]),
        ("defined", ["ex:Cub"]),
        ("imports", ["<http://example.org/base>"]),
        ("ontologies", ["<http://example.org/zoo>"]),
    ],
)
def test_terms_of_one_kind(view: Any, kind: str, expected: list[str]) -> None:
    assert names(view("terms", kind=kind)) == expected


def test_restrictions_are_in_manchester_notation(view: Any) -> None:
    found = view("restrictions", "Lion")
    assert names(found, "text") == ["ex:eats only (ex:Meat or ex:Fish)", "ex:eats some ex:Meat"]
    assert names(found, "property") == ["ex:eats", "ex:eats"]
    assert names(view("restrictions", "Cub"), "text") == [
        "ex:Lion and (ex:age some xsd:integer[<= 2])"
    ]
    assert names(view("restrictions", "Two"), "text") == [
        "inverse ex:eats exactly 2 (not ex:Lion)",
        "{ex:leo, ex:nala}",
    ]
    inherited = view("restrictions", "Cub", inherited=True)
    assert inherited["total"] == 3 and inherited["rows"][1]["source"] == "ex:Lion"


def test_instances_values_and_labels(view: Any) -> None:
    found = view("instances", "Animal")
    assert (found["direct"], found["all"], names(found)) == (0, 2, ["ex:leo", "ex:nala"])
    assert names(view("instances", "Lion", all=False)) == ["ex:leo"]
    said = {row["property"]: row["value"] for row in view("values", "leo")["rows"]}
    assert said == {
        "ex:age": "7", "ex:eats": "ex:steak", "rdf:type": "ex:Lion", "rdfs:label": '"Leo"'
    }  # fmt: skip
    assert names(view("values", "leo", property="age"), "value") == ["7"]
    assert "note" not in view("values", "leo") | view("values", "eatsMuch")
    assert view("values", "eats")["note"] == (
        "what is stated of it; its own values: SELECT ?v (COUNT(*) AS ?n) { ?x ex:eats ?v } GROUP BY ?v"
        " ORDER BY DESC(?n)"
    )
    texts = view("labels", "Animal")
    assert texts["languages"] == {"en": 3, "": 1, "de": 1}
    assert {(row["kind"], row["text"]) for row in texts["rows"]} == {
        ("label", "animal"), ("label", "Tier"), ("synonym", "beast"), ("definition", "What eats."),
        ("example", "a lion"),
    }  # fmt: skip
    assert names(view("labels", "Animal", lang="de"), "text") == ["Tier"]


def test_the_file_and_its_shapes(view: Any) -> None:
    found = view("metadata")
    assert (found["title"], found["version"]) == ("The zoo", "2.1")
    assert found["imports"] == ["http://example.org/base"]
    assert {"prefix": "ex:", "namespace": "http://example.org/zoo#", "terms": 12} in (
        view("prefixes")["rows"]
    )
    asked = ["ex:age: min 1, max 1, datatype xsd:integer"]
    shape = {"shape": "ex:LionShape", "targets": ["class ex:Lion"], "asks": asked}
    assert view("shapes")["rows"] == view("shapes", "age")["rows"] == [shape]
    assert view("shapes", "Meat")["total"] == 0


@pytest.mark.parametrize(
    ("one", "two", "relation"),
    [("Cub", "Animal", "below"), ("Animal", "Cub", "above"), ("Cub", "Meat", "disjoint"),
     ("Fish", "Lion", "siblings"), ("eats", "eatenBy", "inverse"), ("Two", "Old", "unrelated"),
     ("nala", "Lion", "instance of"), ("Cub", "nala", "has instance"), ("leo", "Cub", "unrelated"),
     ("leo", "nala", "unrelated")],
)  # fmt: skip
def test_two_terms_side_by_side(view: Any, one: str, two: str, relation: str) -> None:
    assert view("compare", one, other=two)["relation"] == relation


def test_two_things_of_one_class_are_siblings(tmp_path: Path) -> None:
    zoo = "ex:leo a ex:Lion , owl:NamedIndividual . ex:kiara a ex:Lion . ex:fin a owl:NamedIndividual ."
    (tmp_path / "pride.ttl").write_text(HEADER + zoo)
    with rlm.ontology.open(tmp_path / "pride.ttl", cache_dir=tmp_path) as pride:
        assert pride.compare("ex:leo", "ex:kiara")["relation"] == "siblings"
        assert pride.compare("ex:leo", "ex:fin")["relation"] == "unrelated"


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (("trees",), {}, "view is 'trees'; it can be tree, related"),
        (("tree", "Lyon"), {}, "did you mean ex:Lion"),
        (("tree", "leo"), {}, "ex:leo is no class and no property"),
        (("tree",), {"depth": 0}, "depth is 0"),
        (("tree",), {"offset": -1}, "offset is -1"),
        (("related", "Lion"), {"relation": "inverses"}, "which has no inverses"),
        (("related",), {}, "needs a term"),
        (("terms", "Lion"), {}, "of the whole graph"),
        (("terms",), {"kind": "cats"}, "kind is 'cats'; it can be classes"),
        (("terms",), {"sort": "up"}, "does not take 'sort'"),
        (("instances", "eats"), {}, "no class"),
        (("labels", "Lion"), {"lang": "?"}, "language tag"),
        (("lint",), {"rule": "x"}, "rule is 'x'; it can be cycle"),
    ],
)
def test_what_cannot_be_asked_is_told(view: Any, given: Any, options: Any, message: str) -> None:
    with pytest.raises(OntologyError, match=message):
        view(*given, **options)


# -- bounds


def test_following_next_offset_misses_no_row(tmp_path: Path) -> None:
    many = "".join(f"ex:C{n} a owl:Class ; rdfs:subClassOf ex:Top ." for n in range(150))
    (tmp_path / "many.ttl").write_text(HEADER + "ex:Top a owl:Class ." + many, "utf-8")
    with rlm.ontology.open(tmp_path / "many.ttl", cache_dir=tmp_path) as onto:
        tool = view_tools(onto, Meter()).functions["ontology_view"]
        for given in (("tree", "Top"), ("related", "Top"), ("terms",)):
            seen: list[str] = []
            offset: int | None = 0
            while offset is not None:
                page = tool(*given, offset=offset, limit=40)
                assert len(json.dumps(page)) <= VIEW_CHARS and page["rows"]
                seen += names(page)
                offset = page["next_offset"]
            assert len(seen) == len(set(seen)) == page["total"] >= 150


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.dictionaries(
            st.sampled_from("abc"), st.text(max_size=1500) | st.lists(st.text(max_size=80)), min_size=1
        ),
        max_size=30,
    ),
    st.text(max_size=900),
    st.integers(0, 50),
)  # fmt: skip
def test_any_listing_fits_and_goes_on_where_it_ends(rows: Any, name: str, offset: int) -> None:
    from rlm.ontology.views.listing import Window

    window = Window(max(1, len(rows)), offset)
    found = fit(window.page_of(rows, offset + len(rows) + 3, name=name), VIEW_CHARS)
    assert len(json.dumps(found, ensure_ascii=False)) <= VIEW_CHARS
    if rows:
        assert found["rows"] and found["next_offset"] == offset + len(found["rows"])


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_view_of_a_hostile_graph_is_bounded(name: str, hostile: Any) -> None:
    _onto, tool = hostile
    options = {"compare": {"other": "ex:Odd"}}.get(name, {})
    for term in ("ex:Odd", "ex:A", ""):
        try:
            found = tool(name, term, **options)
        except OntologyError:
            continue
        assert len(json.dumps(found, ensure_ascii=False)) <= VIEW_CHARS


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A circle, a term that is everything at once, a label of 10 MB, 20,000 languages."""
    folder = tmp_path_factory.mktemp("hostile")
    tags = (f"x{a}{b}-{c}{d}" for a in "abcdefghij" for b in "abcdefghij"
            for c in "abcdefghij" for d in range(20))  # fmt: skip
    labels = " , ".join(f'"l"@{tag}' for tag in tags)
    text = f"""
        ex:A rdfs:subClassOf ex:B . ex:B rdfs:subClassOf ex:C . ex:C rdfs:subClassOf ex:A .
        ex:Odd a owl:Class , owl:ObjectProperty , ex:Odd ; ex:Odd ex:Odd ; rdfs:domain ex:Odd ;
          rdfs:subClassOf ex:Odd , ex:A ; rdfs:subPropertyOf ex:Odd ; owl:inverseOf ex:Odd ;
          owl:equivalentClass ex:Odd , [ owl:intersectionOf ( ex:Odd ) ] ; owl:disjointWith ex:Odd ;
          rdfs:label {labels} ; rdfs:comment "{"x" * 10_000_000}" .
    """
    (folder / "hostile.ttl").write_text(HEADER + text, "utf-8")
    with rlm.ontology.open(folder / "hostile.ttl", cache_dir=folder / "cache") as onto:
        yield onto, view_tools(onto, Meter()).functions["ontology_view"]


def test_a_circle_and_twenty_thousand_languages_are_told(hostile: Any) -> None:
    onto, _tool = hostile
    assert onto.labels("ex:Odd")["total"] == 20_001
    assert onto.meta.languages.keys() >= {"xaa-a0"} and len(onto.meta.languages) == 20_000
    assert set(onto.meta.below("http://example.org/zoo#A")) >= {
        "http://example.org/zoo#B", "http://example.org/zoo#Odd"}  # fmt: skip
    assert "a cycle of 3 by subclass" in onto.lint(rule="cycle")["rows"][0]["message"]
    kinds = onto.describe_entity("ex:Odd")["kind"]
    assert kinds == "class, object property, individual"


# -- diff


def test_blank_nodes_are_compared_by_what_they_say(tmp_path: Path) -> None:
    """However they are called, in whatever order, nested, in circles, in lists of any length. The
    order of a list tells, unless it is one that OWL takes as a set."""
    members = [f"ex:m{n}" for n in range(300)]
    swapped = [members[1], members[0], *members[2:]]

    def lists(of: list[str], steps: list[str]) -> str:
        enumeration = f"ex:All owl:equivalentClass [ owl:oneOf ( {' '.join(of)} ) ] ."
        return f"{enumeration} ex:All ex:steps ( {' '.join(steps)} ) ."

    circle = "ex:x ex:p _:a . _:a ex:q _:b . _:b ex:q _:a ; ex:r ex:y ."
    other = "_:n ex:r ex:y ; ex:q _:m . ex:x ex:p _:m . _:m ex:q _:n ."
    texts = {
        "one": circle + lists(members, members),
        "same": lists(swapped, members) + other,
        "last": circle + lists([*members[:-1], "ex:other"], members),
        "order": circle + lists(members, swapped),
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.ttl").write_text(HEADER + "ex:All a owl:Class ." + text, "utf-8")
    with rlm.ontology.open(tmp_path / "one.ttl", cache_dir=tmp_path) as onto:
        assert onto.diff(tmp_path / "same.ttl")["same"]
        for name in ("last", "order"):
            found = onto.diff(tmp_path / f"{name}.ttl")
            assert found["triples"]["added"] == found["triples"]["removed"] == 1, name


def test_shared_and_circular_nodes_do_not_explode(tmp_path: Path) -> None:
    """Each node leads to the next by two statements: as a tree that is 2^60 nodes."""
    chain = "".join(f"_:n{n} ex:p _:n{n + 1} ; ex:q _:n{n + 1} ." for n in range(60))
    ring = "_:r ex:p _:s ; ex:q _:s . _:s ex:p _:r ; ex:q _:r . ex:B rdfs:subClassOf _:r ."
    text = f"ex:A a owl:Class ; rdfs:subClassOf _:n0 . ex:B a owl:Class . {chain} {ring}"
    for name, end in (("one", "ex:x"), ("two", "ex:y")):
        (tmp_path / f"{name}.ttl").write_text(HEADER + text + f" _:n60 ex:p {end} .", "utf-8")
    with rlm.ontology.open(tmp_path / "one.ttl", cache_dir=tmp_path) as onto:
        found = onto.diff(tmp_path / "two.ttl")
        assert found["triples"]["added"] == found["triples"]["removed"] == 1
        assert onto.restrictions("ex:A")["total"] == onto.restrictions("ex:B")["total"] == 1


def test_shapes_within_shapes_are_told_and_a_circle_of_them_ends(tmp_path: Path) -> None:
    (tmp_path / "s.ttl").write_text(HEADER + """
        @prefix sh: <http://www.w3.org/ns/shacl#> .
        ex:S a sh:NodeShape ; sh:targetClass ex:C ; sh:node _:a ; sh:or (
          [ sh:property [ sh:path ex:p ; sh:minCount 1 ] ] [ sh:not [ sh:property [ sh:path ex:q ] ] ] ) .
        _:a sh:node _:a ; sh:property _:a .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "s.ttl", cache_dir=tmp_path) as onto:
        (row,) = onto.shapes()["rows"]
    assert row["asks"] == ["node (node …, …), or (((ex:p: min 1)), (not ((ex:q))))"]


def test_a_term_that_replaces_another_is_not_unrelated_to_it(tmp_path: Path) -> None:
    (tmp_path / "r.ttl").write_text(HEADER + "ex:New a owl:Class . ex:Old a owl:Class ;"
                                    " owl:deprecated true ; dcterms:isReplacedBy ex:New .")  # fmt: skip
    with rlm.ontology.open(tmp_path / "r.ttl", cache_dir=tmp_path) as onto:
        assert onto.compare("ex:Old", "ex:New")["relation"] == "replaced by"
        assert onto.compare("ex:New", "ex:Old")["relation"] == "replaces"


def test_what_replaces_is_followed_and_may_be_said_from_either_side(tmp_path: Path) -> None:
    (tmp_path / "r.ttl").write_text(HEADER + """
        ex:Raft a owl:Class ; owl:deprecated true ; dcterms:isReplacedBy ex:Punt .
        ex:Punt a owl:Class ; owl:deprecated true . ex:Pram a owl:Class ; dcterms:replaces ex:Punt .
        ex:Dory a owl:Class ; dcterms:replaces ex:Skiff , ex:Pram .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "r.ttl", cache_dir=tmp_path) as onto:

        def names(term: str, relation: str, **more: bool) -> list[str]:
            return [row["name"] for row in onto.related(term, relation=relation, **more)["rows"]]

        assert names("ex:Raft", "replaced_by") == ["ex:Punt"]
        assert names("ex:Raft", "replaced_by", all=True) == ["ex:Punt", "ex:Pram"]
        assert names("ex:Pram", "replaces", all=True) == ["ex:Punt", "ex:Raft"]
        assert names("ex:Dory", "replaces", all=True) == ["ex:Skiff"]  # Pram is still in use
        assert onto.describe("ex:Punt")["use"] == ["ex:Pram"]


def test_one_thing_of_two_names_and_a_complement_are_not_unrelated(tmp_path: Path) -> None:
    (tmp_path / "c.ttl").write_text(HEADER + """
        ex:Wet a owl:Class . ex:Dry a owl:Class ; owl:complementOf ex:Wet .
        ex:Arid a owl:Class ; owl:equivalentClass [ a owl:Class ; owl:complementOf ex:Wet ] .
        ex:tim a ex:Dry ; owl:sameAs ex:timothy . ex:tm owl:sameAs ex:timothy . ex:ann a ex:Dry .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "c.ttl", cache_dir=tmp_path) as onto:
        for one, two in (("ex:Wet", "ex:Dry"), ("ex:Wet", "ex:Arid")):
            assert onto.compare(one, two)["relation"] == "complement"
            assert onto.compare(two, one)["relation"] == "complement"
        assert onto.compare("ex:tim", "ex:timothy")["relation"] == "same as"
        assert onto.compare("ex:tm", "ex:tim")["relation"] == "same as"
        assert onto.compare("ex:ann", "ex:tim")["relation"] == "siblings"
        assert onto.compare("ex:ann", "ex:ann")["relation"] == "same"
    asked = Asked(tmp_path / "c.ttl")
    assert asked.ask("Is ex:Wet disjoint with ex:Arid?")[0].startswith("Yes")
    asked.engine.close()


def test_what_an_ontology_of_the_same_file_is_imported_as_is_an_import(tmp_path: Path) -> None:
    """It is here, so that nothing is to be fetched; and still it is imported."""
    path = tmp_path / "two.ttl"
    path.write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
        "<http://a.org/core> a owl:Ontology ; owl:versionIRI <http://a.org/core/1> .\n"
        "<http://a.org/all> a owl:Ontology ; owl:imports <http://a.org/core/1>, <http://b.org/> .\n"
    )
    with rlm.ontology.open(path) as both:
        assert both.metadata()["imports"] == ["http://a.org/core/1", "http://b.org/"]
        assert both.stats()["imports_not_fetched"] == ["http://b.org/"]
        assert names(both.terms(kind="imports")) == ["<http://a.org/core/1>", "<http://b.org/>"]
