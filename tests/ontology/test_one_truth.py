"""Whatever is said of an ontology agrees: stats, describe, trees, lists, and rdflib with the same
reading, on real files and on generated ones."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from offline_runs import Asked, listed
from rdflib import OWL, RDF, RDFS, Graph, URIRef
from rdflib_reading import TOPS, Reading, languages, read
from small_graphs import EX, HEADER

import rlm.ontology
from rlm.ontology.meta.builder import build_meta
from rlm.ontology.meta.graph_meta import NONE, GraphMeta

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
PACKAGES = ("brickschema", "owlready2", "pyshacl", "buildingmotif", "ontopy", "oaklib")
FORMATS = {".ttl": ox.RdfFormat.TURTLE, ".rdf": ox.RdfFormat.RDF_XML, ".owl": ox.RdfFormat.RDF_XML}
DECLARED = {
    "classes": (OWL.Class, RDFS.Class),
    "object properties": (OWL.ObjectProperty,),
    "datatype properties": (OWL.DatatypeProperty,),
}
VOCABULARIES = tuple(str(each) for each in (RDF, RDFS, OWL))
MOST_BYTES = 6_000_000


def agree(meta: GraphMeta, theirs: Reading, graph: Graph) -> None:
    """GraphMeta against the second reading, term by term."""
    supers = {iri: set(tops) for iri, tops in meta.supers.items()}
    assert supers == {iri: tops for iri, tops in theirs.supers.items() if tops}
    for iri, tops in meta.supers.items():
        stated = {top for top in tops if not meta.follows_by_definition(iri, top)}
        assert stated == theirs.stated.get(iri, set()), iri
    assert {i: set(o) for i, o in meta.equivalents.items()} == dict(theirs.same)
    for iri in meta.classes:
        assert set(meta.below(iri)) == theirs.below(iri), iri
        assert set(meta.above(iri)) == theirs.above(iri), iri
        assert meta.classes[iri] == len(theirs.instances.get(iri, ())), iri
        assert meta.instances(iri) == len(theirs.all_instances(iri)), iri
    for iri in (*meta.classes, *meta.properties, *theirs.disjoint):
        assert meta.disjoint_with(iri) == theirs.disjoint.get(iri, set()), iri
    assert {i: set(o) for i, o in meta.inverses.items()} == dict(theirs.inverses)
    assert {i: set(o) for i, o in meta.traits.items()} == dict(theirs.traits)
    above = {i: set(o) for i, o in meta.super_properties.items()}
    assert above == dict(theirs.super_properties)
    assert meta.deprecated == theirs.deprecated
    assert meta.languages == languages(graph, meta.text_roles.get("label", []))
    for iri in meta.roots:
        assert theirs.above(iri) <= theirs.below(iri), "only a circle stands above a root"
    known = {*meta.supers, *meta.subs, *meta.equivalents, *meta.declared}.difference(TOPS)
    known = {iri for iri in known if not iri.startswith(VOCABULARIES)} or known
    listed, todo = set(meta.roots), list(meta.roots)
    while todo:
        todo += (fresh := meta.subs.get(todo.pop(), NONE) - listed)
        listed |= fresh
    assert known - listed == set(), "no class is lost between the roots and what is below them"


def agree_views(onto: rlm.ontology.Ontology) -> None:
    """What the views say is what GraphMeta holds, and what each other say."""
    meta, stats = onto.meta, onto.graph_stats()
    assert stats["classes"] == onto.terms(kind="classes")["total"] == len(meta.own_classes)
    assert stats["properties"] == onto.terms(kind="properties")["total"]
    for kind in ("classes", "properties"):
        assert stats[f"declared_{kind}"] == onto.terms(kind=kind, only="declared")["total"]
    assert stats["deprecated"] == onto.terms(kind="deprecated")["total"]
    roots = len(stats["roots"]) + stats["more_roots"] + stats.get("deprecated_roots", 0)
    assert roots == onto.terms(kind="roots")["total"]
    for kind, number in stats["property_kinds"].items():
        if kind != "property":
            assert onto.terms(kind=kind)["total"] == number
    for trait, number in stats["traits"].items():
        assert onto.terms(kind=trait)["total"] == number
    for iri in list(meta.classes)[:: max(1, len(meta.classes) // 12)]:
        name = f"<{iri}>"
        said, tree = onto.describe_entity(name), onto.tree(name, depth=1)
        assert said["all_subclass_count"] == tree["below"] == len(meta.below(iri))
        own = sum(
            row.get("by") != "equivalence" for row in onto.tree(name, depth=1, limit=10_000)["rows"]
        )
        assert said["subclass_count"] == own == len(meta.subs.get(iri, NONE))
        assert onto.related(name, relation="subclasses")["total"] == own
        whole = onto.tree(name, depth=100, limit=10_000)
        if whole["next_offset"] is None:
            assert len({row["name"] for row in whole["rows"]} - {meta.curie(iri)}) == tree["below"]
        assert onto.related(name, all=True)["total"] == tree["below"]
        things = onto.instances(name, limit=10_000)
        assert said["instances"] == things["direct"]
        assert said["all_instances"] == things["all"] == things["total"] == tree["instances"]
        assert len(things["rows"]) == min(things["total"], 10_000)
        assert len(onto.instances(name, all=False)["rows"]) == min(100, things["direct"])


def disjoint_with(theirs: Reading, iri: str) -> set[str]:
    """What is stated to be; where nothing is, what follows from the classes above and below."""
    if stated := theirs.disjoint.get(iri):
        return stated
    tops = {iri} | theirs.above(iri) | equivalent_to(theirs, iri)
    others = {other for top in tops for other in theirs.disjoint.get(top, ())}
    others = others.union(*(equivalent_to(theirs, other) for other in others))
    return others.union(*map(theirs.below, others)) - {iri}


def equivalent_to(theirs: Reading, iri: str) -> set[str]:
    """What is equivalent, through others too."""
    found = {iri}
    while more := {end for each in found for end in theirs.same.get(each, ())} - found:
        found |= more
    return found - {iri}


def agree_answers(path: Path, theirs: Reading, graph: Graph) -> None:
    """What `offline` answers is what the second reading holds: lists name by name, and numbers."""
    asked = Asked(path)
    meta = asked.engine.meta()

    def ask(question: str, iris: Collection[str], *, counts: bool = False) -> None:
        answer, _ = asked.ask(question)
        if counts:
            otherwise = re.search(r"\n(\d+) of them by their inverse", answer)
            number = len(iris) + int(otherwise[1] if otherwise else 0)
            assert answer.split()[0].strip(":") in (str(number), "None" * (not iris)), question
        elif "\n… and " not in answer:
            assert listed(answer) == sorted(map(meta.curie, iris)), question

    classes = [iri for iri in meta.classes if iri not in TOPS]
    for iri in classes[:: max(1, len(classes) // 5)]:
        name = meta.curie(iri)
        ask(f"What are the subclasses of {name}?", theirs.subs.get(iri, ()))
        ask(f"List all subclasses of {name}.", theirs.below(iri))
        ask(f"How many subclasses does {name} have in total?", theirs.below(iri), counts=True)
        ask(f"What are the superclasses of {name}?", theirs.supers.get(iri, ()))
        ask(f"List all superclasses of {name}.", theirs.above(iri))
        ask(f"How many instances does {name} have?", theirs.all_instances(iri), counts=True)
        ask(f"Which classes are disjoint with {name}?", disjoint_with(theirs, iri))
        ask(f"What is equivalent to {name}?", equivalent_to(theirs, iri))
    properties = list(meta.declared_properties)
    for iri in properties[:: max(1, len(properties) // 5)]:
        ask(f"What is the inverse of {meta.curie(iri)}?", theirs.inverses.get(iri, ()))
        above = theirs.super_properties.get(iri, ())
        ask(f"What are the superproperties of {meta.curie(iri)}?", above)
    for trait in ("functional", "transitive", "symmetric", "inverse functional"):
        having = [iri for iri, traits in theirs.traits.items() if trait in traits]
        ask(f"Which properties are {trait}?", having)
    ask("How many terms are deprecated?", theirs.deprecated, counts=True)
    for noun, types in DECLARED.items():
        things = {each for kind in types for each in graph.subjects(RDF.type, kind)}
        named = [str(each) for each in things if isinstance(each, URIRef)]
        if noun == "classes":  # those of RDF and OWL are none of a file but their own
            named = [iri for iri in named if not iri.startswith(VOCABULARIES)] or named
        ask(f"How many {noun} are there?", named, counts=True)
    asked.engine.close()


def real_files() -> Iterator[Path]:
    root = Path(__file__).parents[2]
    yield from sorted((root / "ontology").glob("*.ttl"))
    yield from sorted((root.parent / "shared" / "ontologies").glob("*.ttl"))
    folders = [Path(folder) for folder in filter(None, [os.environ.get("RLM_TEST_ONTOLOGIES")])]
    for package in PACKAGES:
        spec = find_spec(package)
        folders += (
            [Path(place) for place in (spec.submodule_search_locations or ())] if spec else []
        )
    for folder in folders:
        files = (file for file in sorted(folder.rglob("*")) if file.suffix in FORMATS)
        yield from (file for file in files if 2_000 < file.stat().st_size < MOST_BYTES)


def _param(path: Path) -> object:
    """The sample files by default, all others in the slow tests."""
    is_sample = path.parent.name == "ontology"
    name = "/".join(path.parts[-2:])
    return pytest.param(path, id=name, marks=() if is_sample else pytest.mark.slow)


@pytest.mark.parametrize("path", [_param(path) for path in real_files()])
def test_a_real_ontology_is_read_as_rdflib_reads_it(path: Path, tmp_path: Path) -> None:
    store, graph = ox.Store(), Graph()
    try:
        store.load(path=path, format=FORMATS[path.suffix], base_iri="urn:base/")
        graph.parse(
            data=store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=ox.DefaultGraph()),
            format="nt",
        )
    except SyntaxError:
        pytest.skip("not RDF in the format of its name")
    agree(build_meta(store), read(graph), graph)
    with rlm.ontology.open(path, cache_dir=tmp_path) as onto:
        agree_views(onto)
    agree_answers(path, read(graph), graph)


# -- generated

NAMES = st.sampled_from([f"ex:{letter}" for letter in "ABCDEF"])
PROPERTIES = st.sampled_from([f"ex:{letter}" for letter in "pqr"])
THINGS = st.sampled_from([f"ex:{letter}" for letter in "xyz"])


def _join(kind: str) -> st.SearchStrategy[str]:
    parts = st.lists(EXPRESSIONS, min_size=1, max_size=3).map(" ".join)
    return parts.map(lambda text: f"[ owl:{kind} ( {text} ) ]")


SOME = st.builds("[ a owl:Restriction ; owl:onProperty {} ; owl:someValuesFrom {} ]".format,
                 PROPERTIES, NAMES)  # fmt: skip
EXPRESSIONS: st.SearchStrategy[str] = st.deferred(
    lambda: NAMES | SOME | _join("intersectionOf") | _join("unionOf")
)
LISTS = st.lists(NAMES, max_size=3).map(lambda names: f"( {' '.join(names)} )")
AXIOMS = st.one_of(
    st.builds("{} rdfs:subClassOf {} .".format, NAMES, EXPRESSIONS),
    st.builds("{} owl:equivalentClass {} .".format, NAMES, EXPRESSIONS),
    st.builds("{} owl:{} {} .".format, NAMES,
              st.sampled_from(["intersectionOf", "unionOf", "disjointUnionOf"]), LISTS),
    st.builds("{} owl:equivalentClass [ owl:oneOf ( {} ) ] .".format, NAMES, THINGS | NAMES),
    st.builds("{} owl:oneOf ( {} {} ) .".format, NAMES, THINGS, THINGS),
    st.builds("{} owl:disjointWith {} .".format, NAMES, NAMES),
    st.builds("[] a owl:{} ; owl:members {} .".format,
              st.sampled_from(["AllDisjointClasses", "AllDifferent"]), LISTS),
    st.builds("{} a {} .".format, THINGS | NAMES | st.just("[]"), NAMES),
    st.builds("{} a {} , {} .".format, THINGS, NAMES, NAMES | st.just("owl:NamedIndividual")),
    st.builds("{} a owl:NamedIndividual .".format, THINGS),
    st.builds("{} a owl:{} .".format, PROPERTIES | NAMES,
              st.sampled_from(["TransitiveProperty", "FunctionalProperty", "Class"])),
    st.builds("{} {} {} .".format, PROPERTIES,
              st.sampled_from(["owl:inverseOf", "schema:inverseOf", "rdfs:subPropertyOf"]), PROPERTIES),
    st.builds("{} {} .".format, NAMES | PROPERTIES,
              st.sampled_from(["owl:deprecated true", "schema:supersededBy ex:A", 'rdfs:label "a"@en-GB'])),
)  # fmt: skip


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(AXIOMS, max_size=14))
@example(
    [
        "ex:A rdfs:subClassOf ex:C .",
        "ex:A owl:equivalentClass ex:B .",
        "ex:B owl:equivalentClass ex:C .",
    ]
)
@example(["ex:B rdfs:subClassOf ex:A .", "ex:x a ex:A , ex:B .", "ex:y a owl:NamedIndividual ."])
def test_a_generated_ontology_is_read_as_rdflib_reads_it(axioms: list[str]) -> None:
    text = HEADER + "\n".join(axioms)
    store, graph = ox.Store(), Graph()
    store.load(text, format=ox.RdfFormat.TURTLE)
    graph.parse(
        data=store.dump(format=ox.RdfFormat.N_TRIPLES, from_graph=ox.DefaultGraph()), format="nt"
    )
    agree(build_meta(store), read(graph), graph)


# -- what is told apart


def test_a_defined_class_stands_below_its_parts_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "wine.ttl").write_text(HEADER + """
        ex:Wine a owl:Class . ex:White a owl:Class ; owl:intersectionOf ( ex:Wine [
          a owl:Restriction ; owl:onProperty ex:colour ; owl:hasValue ex:white ] ) .
        ex:Dry a owl:Class ; rdfs:subClassOf ex:Wine .
        ex:Any a owl:Class ; owl:equivalentClass [ owl:unionOf ( ex:Wine ex:Beer ) ] .
        ex:Vino owl:equivalentClass ex:Wine . ex:Grape rdfs:subClassOf ex:Vino .
        ex:one a ex:White . ex:two a ex:Dry , ex:White . ex:three a ex:Grape . ex:four a ex:Wine .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "wine.ttl", cache_dir=tmp_path) as onto:
        rows = {row["name"]: row for row in onto.tree("Wine")["rows"]}
        assert rows["ex:White"]["by"] == "definition" and "by" not in rows["ex:Dry"]
        assert {row["name"] for row in onto.related("Wine", all=True)["rows"]} == {
            "ex:White", "ex:Dry", "ex:Grape"}  # fmt: skip
        assert onto.instances("Wine")["all"] == 4 and onto.instances("Wine")["direct"] == 1
        said = onto.describe_entity("White")
        assert said["superclasses"] == said["superclasses_by_definition"] == ["ex:Wine"]
        assert said["restrictions"] == ["equivalent to ex:Wine and (ex:colour value ex:white)"]
        assert onto.terms(kind="roots")["rows"][0]["name"] == "ex:Any"
        assert onto.meta.roots == [EX + "Any"]
        assert onto.compare("White", "Wine")["relation"] == "below"
        assert onto.compare("Vino", "Wine")["relation"] == "equivalent"


def test_a_class_without_parents_stands_below_those_of_its_equivalents(tmp_path: Path) -> None:
    (tmp_path / "e.ttl").write_text(HEADER + """
        ex:Agent a owl:Class ; owl:equivalentClass foaf:Agent .
        ex:Prop a owl:Class ; rdfs:subClassOf ex:Artefact ; owl:equivalentClass foaf:Agent .
        ex:Person a owl:Class ; rdfs:subClassOf ex:Agent ; owl:equivalentClass foaf:Person .
        ex:Child a owl:Class ; rdfs:subClassOf foaf:Person . ex:anna a foaf:Person .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "e.ttl", cache_dir=tmp_path) as onto:
        tree = onto.tree(depth=20)
        assert {row["name"] for row in tree["rows"]} == {
            onto.meta.curie(iri) for iri in onto.meta.classes
        }
        assert onto.meta.roots == [EX + "Artefact"] and tree["below"] == 6
        (row,) = onto.related("foaf:Person", relation="superclasses")["rows"]
        assert row == {"name": "ex:Agent", "by": "definition"}
        assert onto.describe("foaf:Person")["superclasses_by_definition"] == ["ex:Agent"]
        rows = {row["name"]: row for row in onto.tree("ex:Agent", depth=1)["rows"]}
        assert rows.keys() == {"ex:Person", "foaf:Person"}
        assert rows["ex:Person"]["instances"] == rows["foaf:Person"]["instances"] == 1
        (top,) = onto.related("ex:Agent", relation="superclasses")["rows"]
        assert top["name"] == "ex:Artefact"  # by an equivalent of an equivalent


def test_what_a_class_is_enumerated_by_is_of_it(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(HEADER + """
        ex:Mark a owl:Class . ex:Grade a owl:Class ; rdfs:subClassOf ex:Mark ;
          owl:equivalentClass [ a owl:Class ; owl:oneOf ( ex:good ex:fair ex:poor ex:dire ) ] .
        ex:good a ex:Grade . ex:fair a owl:NamedIndividual . ex:poor rdfs:label "bad" . ex:high a ex:Mark . ex:odd rdfs:label "odd" .
        ex:Size a rdfs:Datatype ; owl:oneOf ( "S" "M" ) . ex:Flag a owl:Class ; owl:oneOf ( ex:good ) .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "g.ttl", cache_dir=tmp_path) as onto:
        agree_views(onto)
        rows = onto.instances("Grade")["rows"]
        assert [(row["name"], row.get("by")) for row in rows] == [
            ("ex:dire", "definition"),
            ("ex:fair", "definition"),
            ("ex:good", None),
            ("ex:poor", "definition"),
        ]
        assert onto.instances("Grade", limit=2, offset=2)["rows"] == rows[2:]
        assert onto.instances("Mark")["total"] == onto.tree("Mark")["instances"] == 5
        assert onto.stats()["individuals"] == 5 and list(onto.meta.untyped) == [EX + "odd"]
        assert onto.compare("fair", "Grade")["relation"] == "instance of"
        assert onto.compare("Mark", "poor")["relation"] == "has instance"
        said = onto.describe("good")
        assert said["types"] == ["ex:Grade", "ex:Flag"]
        assert said["types_by_definition"] == ["ex:Flag"]
        assert onto.related("poor", relation="types")["rows"] == [
            {"name": "ex:Grade", "by": "definition", "kind": "class"}
        ]
        uses = {iri.removeprefix(EX): use.instances for iri, use in onto.meta.class_use.items()}
        assert uses == {"Mark": 5, "Grade": 4}
    asked = Asked(tmp_path / "g.ttl")
    assert asked.ask("Is poor a Grade?")[0].startswith("Yes")
    assert asked.ask("How many instances does Mark have?")[0].startswith("5")
    asked.engine.close()


def test_a_tree_shows_what_stands_below_an_equivalent(tmp_path: Path) -> None:
    (tmp_path / "e.ttl").write_text(HEADER + """
        ex:Boat a owl:Class . ex:Craft a owl:Class ; owl:equivalentClass ex:Boat , ex:Vessel .
        ex:Dory a owl:Class ; rdfs:subClassOf ex:Vessel . ex:Raft a owl:Class ; rdfs:subClassOf ex:Boat .
        ex:Kayak a owl:Class ; rdfs:subClassOf ex:Dory .
    """)  # fmt: skip
    with rlm.ontology.open(tmp_path / "e.ttl", cache_dir=tmp_path) as onto:
        agree_views(onto)
        tree = onto.tree("Boat", depth=5)
        assert [(row["name"], row["depth"], row.get("by")) for row in tree["rows"]] == [
            ("ex:Dory", 1, "equivalence"),
            ("ex:Kayak", 2, None),
            ("ex:Raft", 1, None),
        ]
        assert tree["below"] == tree["total"] == onto.related("Boat", all=True)["total"] == 3
        roots = onto.tree(depth=5)["rows"]
        assert [row["name"] for row in roots if "repeated" in row] == ["ex:Dory", "ex:Dory"]
        assert [row["name"] for row in roots if row["depth"] == 2] == 3 * ["ex:Dory", "ex:Raft"]
        up = onto.tree("Kayak", direction="up", depth=5)["rows"]
        assert [row["name"] for row in up] == ["ex:Dory", "ex:Vessel"]
    asked = Asked(tmp_path / "e.ttl")
    told = asked.ask("How is Kayak connected to Vessel?")[0]
    assert (
        told
        == "Connected in 2 steps:\n- ex:Kayak -rdfs:subClassOf-> ex:Dory -rdfs:subClassOf-> ex:Vessel"
    )
    assert "owl:equivalentClass" in asked.ask("How is Dory connected to Boat?")[0]
    asked.engine.close()


def test_equivalences_are_counted_by_axioms(tmp_path: Path) -> None:
    (tmp_path / "q.ttl").write_text(
        HEADER
        + """
        ex:A owl:equivalentClass ex:B , [ owl:unionOf ( ex:D ex:E ) ] .
        ex:p owl:equivalentProperty ex:q .
    """
    )
    with rlm.ontology.open(tmp_path / "q.ttl", cache_dir=tmp_path) as onto:
        assert onto.stats()["equivalences"] == 3


def test_a_term_of_owl_that_is_only_named_is_not_declared(tmp_path: Path) -> None:
    (tmp_path / "n.ttl").write_text(
        HEADER
        + """
        ex:p a owl:ObjectProperty ; rdfs:subPropertyOf owl:topObjectProperty .
        ex:q a owl:AnnotationProperty ; rdfs:subPropertyOf rdfs:comment .
        ex:A a owl:Class ; rdfs:subClassOf ex:q .
    """
    )
    with rlm.ontology.open(tmp_path / "n.ttl", cache_dir=tmp_path) as onto:
        agree_views(onto)
        assert onto.terms(kind="properties", only="declared")["total"] == 2


def test_the_views_have_the_names_of_their_commands(root: Path) -> None:
    with rlm.ontology.open(root / "ontology" / "harbour.ttl") as onto:
        assert onto.describe("Vessel") == onto.describe_entity("Vessel")
        assert onto.path("Vessel", "Berth") == onto.find_path("Vessel", "Berth")
        assert onto.search("vessel") == onto.search_entity("vessel")
        assert onto.relations("Vessel") == onto.probe_relationships("Vessel")
        assert onto.stats() == onto.graph_stats()
        assert onto.card().startswith("Harbour: ")
        (row,) = onto.query("SELECT ?c WHERE { ?c rdfs:label 'vessel'@en }").text_rows(
            onto.meta.prefixes
        )
        assert row == {"c": "harbour:Vessel"}
