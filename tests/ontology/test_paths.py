"""find_path: every path that there is, the shortest first, none twice, none that says nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from small_graphs import EX, views_of

from rlm.errors import OntologyError, QueryTimeout
from rlm.ontology.engine.protocol import Answer
from rlm.ontology.views import paths
from rlm.ontology.views.views import Views

FAMILY = """
ex:Person a owl:Class ; rdfs:isDefinedBy ex:file .
ex:Dog a owl:Class ; rdfs:isDefinedBy ex:file ; rdfs:subClassOf owl:Thing .
ex:Person rdfs:subClassOf owl:Thing .
ex:ann a ex:Person ; ex:knows ex:bob ; ex:born 1970 ; ex:job _:j . ex:bob a ex:Person ; ex:knows ex:cid ; ex:born 1970 .
_:j a ex:Job ; ex:at ex:acme . ex:cid a ex:Person ; ex:knows ex:ann ; ex:likes ex:bob . ex:rex a ex:Dog .
"""


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Views]:
    views = views_of(FAMILY, tmp_path_factory.mktemp("family"))
    yield views
    views.engine.close()


def texts(found: dict[str, list[dict[str, str]]]) -> list[str]:
    return [path["text"] for path in found["paths"]]


def test_shortest_first_both_directions_and_labelled(family: Views) -> None:
    found = family.find_path("ex:ann", "ex:bob", max_depth=2)
    assert texts(found) == [
        "ex:ann -ex:knows-> ex:bob",
        "ex:ann <-ex:knows- ex:cid -ex:likes-> ex:bob",
        "ex:ann <-ex:knows- ex:cid <-ex:knows- ex:bob",
    ]
    assert found["paths"][1]["edges"] == [
        {"from": "ex:ann", "predicate": "ex:knows", "direction": "in", "to": "ex:cid"},
        {"from": "ex:cid", "predicate": "ex:likes", "direction": "out", "to": "ex:bob"},
    ]
    assert [path["length"] for path in found["paths"]] == [1, 2, 2]
    assert (found["complete"], found["more"]) == (True, False)


def test_what_joins_comes_before_what_parts(tmp_path: Path) -> None:
    data = (
        "ex:A owl:disjointWith ex:B ; skos:related ex:B . ex:A owl:disjointWith ex:C . ex:C"
        " owl:disjointWith ex:B ."
    )
    with views_of(data, tmp_path).engine as engine:
        found = texts(Views(engine).find_path("ex:A", "ex:B"))
    first = ["ex:A -skos:related-> ex:B", "ex:A -owl:disjointWith-> ex:B"]
    assert found == [*first, "ex:A -owl:disjointWith-> ex:C -owl:disjointWith-> ex:B"]


def test_through_a_blank_node(family: Views) -> None:
    assert texts(family.find_path("ex:ann", "ex:acme")) == ["ex:ann -ex:job-> [] -ex:at-> ex:acme"]


def test_ways_that_say_nothing_are_not_taken(family: Views) -> None:
    """No shared type, no shared literal, not through owl:Class, owl:Thing or the file that defines
    both."""
    assert texts(family.find_path("ex:Person", "ex:Dog", max_depth=4)) == []
    assert not any(
        "born" in text or "rdf:type" in text
        for text in texts(family.find_path("ex:ann", "ex:bob", 3))
    )


def test_a_type_is_taken_to_the_class_that_was_asked_for(family: Views) -> None:
    assert texts(family.find_path("ex:ann", "ex:Person", max_depth=1)) == [
        "ex:ann -rdf:type-> ex:Person"
    ]
    assert texts(family.find_path("ex:Dog", "ex:rex", max_depth=1)) == ["ex:Dog <-rdf:type- ex:rex"]


def test_what_is_said_when_there_is_no_path(family: Views) -> None:
    assert "try max_depth=3" in family.find_path("ex:ann", "ex:rex")["note"]
    assert "max_depth=9" not in family.find_path("ex:ann", "ex:rex", 8)["note"]
    assert family.find_path("ex:ann", "ex:ann")["note"] == "source and target are the same"


def test_limits(family: Views) -> None:
    found = family.find_path("ex:ann", "ex:bob", max_depth=2, limit=1)
    assert (texts(found), found["more"]) == (["ex:ann -ex:knows-> ex:bob"], True)
    for wrong in (0, 9, True, "2"):
        with pytest.raises(OntologyError, match="from 1 to 8"):
            family.find_path("ex:ann", "ex:bob", wrong)  # type: ignore[arg-type]
    with pytest.raises(OntologyError, match="did you mean ex:ann"):
        family.find_path("ex:anne", "ex:bob")


class _SlowFromLength2:
    """The engine of `family`, out of time as soon as a query has two statements."""

    def __init__(self, views: Views) -> None:
        self._engine, self.name, self.source, self.meta = (
            views.engine,
            "slow",
            "slow",
            views.engine.meta,
        )
        self.close = views.engine.close

    def query(self, sparql: str, **options: object) -> Answer:
        if "?p1" in sparql:
            raise QueryTimeout("too slow")
        return self._engine.query(sparql, **options)  # type: ignore[arg-type]


def test_out_of_time_keeps_what_was_found_and_says_so(family: Views) -> None:
    found = paths.find_path(_SlowFromLength2(family), family.meta, "ex:ann", "ex:bob", max_depth=3)
    assert (len(found["paths"]), found["complete"]) == (1, False)
    assert "up to length 1" in found["note"]


def test_no_path_is_missed_or_given_twice(tmp_path: Path) -> None:
    """Against a walk over the same triples in Python, for all pairs of a random graph, blank nodes
    included."""
    rng = random.Random(7)
    names = [f"ex:n{i}" for i in range(7)] + ["_:b0", "_:b1"]
    triples = {(rng.choice(names), f"ex:p{rng.randrange(3)}", rng.choice(names)) for _ in range(16)}
    views = views_of("".join(f"{s} {p} {o} .\n" for s, p, o in sorted(triples)), tmp_path)
    present = {node for s, _, o in triples for node in (s, o) if node.startswith("ex:")}

    def walk(trail: list[str], text: str, end: str, left: int) -> Iterator[tuple[int, str]]:
        if trail[-1] == end:
            yield len(trail) - 1, text
        elif left:
            for s, p, o in triples:
                for here, there, arrow in ((s, o, f" -{p}-> "), (o, s, f" <-{p}- ")):
                    if here == trail[-1] and there not in trail:
                        name = "[]" if there.startswith("_:") else there
                        yield from walk([*trail, there], text + arrow + name, end, left - 1)

    compared = 0
    with views.engine as engine:  # type: ignore[attr-defined]
        assert engine
        for start, end in permutations(sorted(present), 2):
            expected = sorted(set(walk([start], start, end, 3)))
            found = views.find_path(start, end, max_depth=3, limit=25)
            if len(expected) <= 25:
                assert [(path["length"], path["text"]) for path in found["paths"]] == expected
                assert not found["more"]
                compared += len(expected)
            else:
                assert len(found["paths"]) == 25 and found["more"]
    assert compared > 50, EX


@pytest.mark.parametrize(
    ("one", "two"), [("prov:Activity", "prov:Agent"), ("prov:Plan", "prov:Association")]
)
def test_paths_of_a_real_schema(one: str, two: str, shared_dir: Path, tmp_path: Path) -> None:
    from rlm.ontology.engine.local import LocalEngine

    with LocalEngine(shared_dir / "ontologies" / "prov.ttl", cache_dir=tmp_path) as engine:
        found = Views(engine).find_path(one, two)
        assert any("rdfs:domain" in text and "rdfs:range" in text for text in texts(found))


ANNOTATED = """
ex:aTag a owl:AnnotationProperty . ex:A a owl:Class ; ex:aTag ex:tag ; rdfs:subClassOf ex:Up .
ex:B a owl:Class ; ex:aTag ex:tag ; rdfs:subClassOf ex:Up . ex:Z a owl:Class ; rdfs:seeAlso ex:A ; ex:aTag ex:tag .
ex:M a owl:Class ; dcterms:creator ex:me . ex:N a owl:Class ; dcterms:creator ex:me .
[] a owl:Axiom ; owl:annotatedSource ex:M ; owl:annotatedProperty ex:q ; owl:annotatedTarget ex:N ; ex:aTag "x" .
"""


def test_annotations_are_paths_only_where_one_thing_names_the_other(tmp_path: Path) -> None:
    with views_of(ANNOTATED, tmp_path).engine as engine:
        views = Views(engine)
        up = "ex:A -rdfs:subClassOf-> ex:Up <-rdfs:subClassOf- ex:B"
        assert texts(views.find_path("ex:A", "ex:B", 4)) == [up]
        assert texts(views.find_path("ex:Z", "ex:A", 4)) == ["ex:Z -rdfs:seeAlso-> ex:A"]
        assert texts(views.find_path("ex:M", "ex:N", 4)) == [], "an author, and an axiom's note"


def test_a_graph_of_many_annotations_is_searched_to_the_end(tmp_path: Path) -> None:
    long = (
        "http://example.org/a-vocabulary-with-a-long-name/annotations#and-a-long-name-of-property-"
    )
    notes = "".join(
        f"<{long}{n}> a owl:AnnotationProperty . ex:A <{long}{n}> ex:N{n} .\n" for n in range(90)
    )
    turtle = notes + "ex:A ex:p ex:C1 . ex:C1 ex:p ex:C2 . ex:C2 ex:p ex:C3 . ex:C3 ex:p ex:B ."
    with views_of(turtle, tmp_path).engine as engine:
        assert texts(Views(engine).find_path("ex:A", "ex:B", 4))[0].endswith("ex:C3 -ex:p-> ex:B")


def test_where_not_all_neighbours_are_followed_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "FAR_ROWS", 20)
    hubs = "".join(f"ex:a{n} ex:p ex:Hub1 . ex:c{n} ex:p ex:Hub2 . " for n in range(40))
    ends = "ex:S ex:p ex:A . ex:A ex:p ex:Hub1 . ex:T ex:p ex:B . ex:B ex:p ex:Hub2 . "
    with views_of(f"{hubs}{ends}ex:Link ex:p ex:Hub1 , ex:Hub2 .", tmp_path).engine as engine:
        found = Views(engine).find_path("ex:S", "ex:T", max_depth=8)
        assert not found["complete"] and len(found["paths"]) <= 1
        note = "too many nodes lie on the way: all paths up to length 2 were looked at"
        assert found["note"] == note
        monkeypatch.setattr(paths, "FAR_ROWS", 1_000)
        found = Views(engine).find_path("ex:S", "ex:T", max_depth=8)
        assert found["complete"] and found["paths"][0]["length"] == 6
        monkeypatch.setattr(paths, "MOST_FRONT", 30)
        found = Views(engine).find_path("ex:S", "ex:T", max_depth=8)
        assert not found["complete"] and "too many nodes lie on the way" in found["note"]


RESTRICTED = """
ex:A rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:eats ; owl:someValuesFrom ex:B ] .
ex:B rdfs:subClassOf ex:C . ex:C ex:p ex:D . ex:E ex:p ex:D . ex:E ex:p ex:F . ex:F ex:p ex:G .
ex:A dcterms:creator ex:me . ex:G dcterms:creator ex:me .
"""


def test_a_restriction_is_named_by_its_property(tmp_path: Path) -> None:
    with views_of(RESTRICTED, tmp_path).engine as engine:
        found = Views(engine).find_path("ex:A", "ex:B")
        step = "ex:A -rdfs:subClassOf-> [on ex:eats] -owl:someValuesFrom-> ex:B"
        assert texts(found) == [step]


def test_far_apart_is_reached_over_lists(tmp_path: Path) -> None:
    data = """
        ex:Bee owl:disjointUnionOf ( ex:Queen ex:Worker ex:Drone ) ; rdfs:subClassOf ex:Insect .
        ex:Insect rdfs:subClassOf ex:Animal . ex:Grade owl:oneOf ( ex:a ex:b ) . ex:Drone ex:has ex:b .
        ex:Big owl:unionOf ( ex:Animal ex:Plant ) .
    """
    with views_of(data, tmp_path).engine as engine:
        views = Views(engine)
        (far,) = texts(views.find_path("ex:Drone", "ex:Plant", max_depth=8))
        assert far == (
            "ex:Drone <-owl:disjointUnionOf- ex:Bee -rdfs:subClassOf-> ex:Insect"
            " -rdfs:subClassOf-> ex:Animal <-owl:unionOf- ex:Big -owl:unionOf-> ex:Plant"
        )
        (far,) = texts(views.find_path("ex:Worker", "ex:Grade", max_depth=8))
        assert "<-owl:oneOf- ex:Grade" in far


def test_what_was_not_followed_is_said(tmp_path: Path) -> None:
    data = """
        ex:B rdfs:seeAlso ex:A ; rdfs:subClassOf ex:C . ex:p rdfs:range ex:C ; rdfs:domain ex:D .
        ex:D rdfs:subClassOf [ a owl:Restriction ; owl:onProperty ex:q ; owl:someValuesFrom ex:F ] .
    """
    with views_of(data, tmp_path).engine as engine:
        views = Views(engine)
        assert "not looked for" not in views.find_path("ex:A", "ex:F")["note"]
        said = views.find_path("ex:A", "ex:D", max_depth=4)["note"]
        assert "(not looked for: those of over 2 by annotations as rdfs:seeAlso);" in said
        said = views.find_path("ex:A", "ex:F", max_depth=8)["note"]
        assert (
            "by annotations as rdfs:seeAlso and of over 4 by the property of a restriction" in said
        )


def test_far_apart_is_reached_to_the_stated_depth(tmp_path: Path) -> None:
    with views_of(RESTRICTED, tmp_path).engine as engine:
        views = Views(engine)
        far = "ex:A -ex:eats some-> ex:B -rdfs:subClassOf-> ex:C -ex:p-> ex:D <-ex:p- ex:E"
        found = views.find_path("ex:A", "ex:E", max_depth=8)
        assert texts(found)[0] == far
        assert (
            found["complete"] and found["note"] == "one of the shortest; others were not looked for"
        )
        longer = f"{far} -ex:p-> ex:F -ex:p-> ex:G"
        assert texts(views.find_path("ex:A", "ex:G", max_depth=8))[0] == longer
        assert texts(views.find_path("ex:A", "ex:G", max_depth=4)) == [], "one author of both"


DEFINED = """
ex:Head a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( ex:Person
  [ a owl:Restriction ; owl:onProperty ex:leads ; owl:someValuesFrom ex:Department ] ) ] .
ex:Either a owl:Class ; owl:equivalentClass [ owl:unionOf ( ex:Head ex:Clerk ) ] .
ex:Department rdfs:subClassOf ex:Unit .
"""


@pytest.mark.parametrize(
    ("one", "two", "path"),
    [
        ("Head", "Department", "ex:Head -ex:leads some-> ex:Department"),
        ("Department", "Head", "ex:Department <-ex:leads some- ex:Head"),
        ("Head", "Person", "ex:Head -owl:equivalentClass and-> ex:Person"),
        ("Clerk", "Either", "ex:Clerk <-owl:equivalentClass or- ex:Either"),
        ("Unit", "Head", "ex:Unit <-rdfs:subClassOf- ex:Department <-ex:leads some- ex:Head"),
    ],
)
def test_a_definition_joins_what_it_is_made_of(one: str, two: str, path: str, tmp_path) -> None:
    """Though the list in it makes that five statements or more."""
    with views_of(DEFINED, tmp_path).engine as engine:
        found = Views(engine).find_path(f"ex:{one}", f"ex:{two}")
    assert texts(found) == [path] and found["complete"]
