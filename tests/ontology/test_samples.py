"""The sample ontologies parse, declare what they use, and hold what questions will be asked about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from graphlib import TopologicalSorter
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import OWL, RDF, RDFS, BNode, Graph, Literal, Namespace, URIRef
from rdflib.collection import Collection
from rdflib.term import Node

PROV = Namespace("http://www.w3.org/ns/prov#")
HARBOUR = Namespace("https://example.org/harbour#")
SKOS = Namespace("http://www.w3.org/2004/02/skos/core#")
WEATHER = Namespace("https://example.org/rlm/weather#")
SAMPLES = {"prov": PROV, "harbour": HARBOUR, "skos": SKOS}
KINDS = (OWL.ObjectProperty, OWL.DatatypeProperty)
SHAPE = (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range)
FORMS = (
    "inverse",
    "qualifiedForm",
    "unqualifiedForm",
    "category",
    "component",
    "sharesDefinitionWith",
)


@pytest.fixture(scope="module")
def graphs(root: Path) -> dict[str, Graph]:
    return {name: Graph().parse(root / "ontology" / f"{name}.ttl") for name in SAMPLES}


@pytest.fixture(scope="module")
def harbour(root: Path) -> ox.Store:
    store = ox.Store()
    store.load(path=str(root / "ontology" / "harbour.ttl"))
    return store


@pytest.fixture(scope="module")
def original(shared_dir: Path) -> Graph:
    return Graph().parse(shared_dir / "ontologies" / "prov.ttl")


@pytest.fixture(scope="module")
def original_skos(shared_dir: Path) -> Graph:
    return Graph().parse(shared_dir / "ontologies" / "skos.ttl")


def terms_of(graph: Graph, space: Namespace) -> set[URIRef]:
    """Everything of the namespace that is used anywhere, as subject, predicate, object or datatype."""
    return {
        term
        for triple in graph
        for term in triple
        if isinstance(term, URIRef) and term.startswith(space) and str(term) != str(space)
    }


def classes_of(graph: Graph) -> set[Node]:
    return {node for node in graph.subjects(RDF.type, OWL.Class) if isinstance(node, URIRef)}


def shown(graph: Graph, node: Node) -> object:
    """A term as something to compare: a union by its members, a list by its order, a blank node by
    its content."""
    if not isinstance(node, BNode):
        return str(node)
    if (members := graph.value(node, OWL.unionOf)) is not None:
        return ("union", frozenset(map(str, Collection(graph, members))))
    if (node, RDF.first, None) in graph:
        return ("list", tuple(map(str, Collection(graph, node))))
    return ("node", frozenset((str(p), str(o)) for p, o in graph.predicate_objects(node)))


def shape_of(
    graph: Graph, predicates: Iterable[Node], space: Namespace = PROV
) -> set[tuple[object, ...]]:
    return {
        (subject, predicate, shown(graph, value))
        for predicate in predicates
        for subject, value in graph.subject_objects(predicate)
        if isinstance(subject, URIRef) and subject.startswith(space) and str(subject) != str(space)
    }


def sentences(graph: Graph) -> set[str]:
    """The sentences of more than six words in comments, definitions and notes; lower case, without
    punctuation."""
    found = set()
    said = (RDFS.comment, PROV.definition, PROV.editorsDefinition, PROV.editorialNote)
    for predicate in (*said, SKOS.definition, SKOS.scopeNote, SKOS.example):
        for text in graph.objects(None, predicate):
            for part in re.split(r"[.;:?!]\s|\n", str(text)):
                words = re.findall(r"\w+", part.lower())
                if len(words) > 6:
                    found.add(" ".join(words))
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_both_parsers_read_the_same_number_of_triples(root, graphs, name):
    path = root / "ontology" / f"{name}.ttl"
    parsed = set(ox.parse(path=str(path)))
    assert len(parsed) == len(graphs[name])
    assert f" {len(parsed):,} |" in (root / "ontology" / "README.md").read_text("utf-8")


@pytest.mark.parametrize(("name", "space"), SAMPLES.items())
def test_every_term_that_is_used_is_declared(graphs, name, space):
    graph = graphs[name]
    declared = set(graph.subjects(RDF.type)) | set(graph.subjects(OWL.inverseOf))
    assert terms_of(graph, space) - declared == set()
    other = {URIRef(p) for p in graph.predicates() if p.startswith(("http://purl.org/", str(SKOS)))}
    assert other - declared == set()


@pytest.mark.parametrize(("name", "space"), SAMPLES.items())
def test_every_term_has_one_english_label_and_schema_terms_a_comment(graphs, name, space):
    graph = graphs[name]
    for term in terms_of(graph, space):
        english = [text for text in graph.objects(term, RDFS.label) if text.language == "en"]
        assert len(english) == 1, term
        assert str(english[0]).strip() == str(english[0]) != "", term
    schema = classes_of(graph) | {node for kind in KINDS for node in graph.subjects(RDF.type, kind)}
    assert {
        node for node in schema if node.startswith(space) and not graph.value(node, RDFS.comment)
    } == set()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("predicate", [RDFS.subClassOf, RDFS.subPropertyOf])
def test_the_hierarchy_has_no_cycle(graphs, name, predicate):
    above: dict[Node, set[Node]] = {}
    for child, parent in graphs[name].subject_objects(predicate):
        above.setdefault(child, set()).add(parent)
    assert list(TopologicalSorter(above).static_order())


@pytest.mark.parametrize("name", SAMPLES)
def test_the_licence_is_stated(root, graphs, name):
    (ontology,) = graphs[name].subjects(RDF.type, OWL.Ontology)
    licence = graphs[name].value(ontology, URIRef("http://purl.org/dc/terms/license"))
    assert str(licence) == "https://www.apache.org/licenses/LICENSE-2.0"
    assert "Apache-2.0" in (root / "ontology" / f"{name}.ttl").read_text("utf-8")


def test_prov_has_the_structure_of_the_original(graphs, original):
    assert terms_of(graphs["prov"], PROV) == terms_of(original, PROV)
    assert classes_of(graphs["prov"]) == classes_of(original) - {OWL.Thing}
    for predicate in (
        *SHAPE,
        OWL.inverseOf,
        OWL.disjointWith,
        OWL.propertyChainAxiom,
        *(PROV[form] for form in FORMS),
    ):
        ours, theirs = (shape_of(graph, [predicate]) for graph in (graphs["prov"], original))
        assert ours == theirs, predicate
        assert ours
    assert shape_of(graphs["prov"], [RDF.type]) == shape_of(original, [RDF.type])


def alike(ours: set[str], theirs: set[str]) -> list[tuple[str, str]]:
    """Pairs of sentences that are much the same, or share more than six words in a row."""
    found = []
    for mine in ours:
        for other in theirs:
            both = SequenceMatcher(None, mine.split(), other.split(), autojunk=False)
            near = both.real_quick_ratio() > 0.7 and both.quick_ratio() > 0.7 and both.ratio() > 0.7
            shared = set(mine.split()) & set(other.split())
            if near or (len(shared) > 3 and both.find_longest_match().size > 6):
                found.append((mine, other))
    return found


def test_prov_says_nothing_in_the_words_of_the_original(graphs, original):
    ours, theirs = sentences(graphs["prov"]), sentences(original)
    assert len(ours) > 80
    assert len(theirs) > 80
    assert alike(ours, theirs) == []
    assert alike(set(list(theirs)[:3]), theirs)


def test_skos_has_the_structure_of_the_original(graphs, original_skos):
    ours = graphs["skos"]
    assert terms_of(ours, SKOS) == terms_of(original_skos, SKOS)
    assert {node for node in classes_of(ours) if node.startswith(SKOS)} == classes_of(original_skos)
    for predicate in (*SHAPE, RDF.type, OWL.inverseOf, OWL.disjointWith):
        assert shape_of(ours, [predicate], SKOS) == shape_of(original_skos, [predicate], SKOS), (
            predicate
        )
        assert shape_of(ours, [predicate], SKOS)


def test_skos_says_nothing_in_the_words_of_the_original(graphs, original_skos):
    ours, theirs = sentences(graphs["skos"]), sentences(original_skos)
    assert len(ours) > 20
    assert len(theirs) > 20
    assert alike(ours, theirs) == []


def test_the_scheme_in_skos_uses_the_terms_as_they_are_meant(graphs):
    graph = graphs["skos"]
    concepts = set(graph.subjects(RDF.type, SKOS.Concept))
    assert len(concepts) == 12
    assert {len(list(graph.objects(node, SKOS.notation))) for node in concepts} == {1}
    (scheme,) = graph.subjects(RDF.type, SKOS.ConceptScheme)
    tops = set(graph.objects(scheme, SKOS.hasTopConcept))
    assert tops == {node for node in concepts if graph.value(node, SKOS.broader) is None}
    for node in concepts:
        assert tops & set(graph.transitive_objects(node, SKOS.broader)), node
        languages = sorted(label.language for label in graph.objects(node, SKOS.prefLabel))
        assert languages == ["de", "en"], node
    (strength,) = graph.objects(None, SKOS.memberList)
    assert set(Collection(graph, strength)) <= concepts
    own = {node for node in classes_of(graph) if node.startswith(WEATHER)}
    assert {above for node in own for above in graph.objects(node, RDFS.subClassOf)} <= classes_of(
        graph
    )


def ask(store: ox.Store, pattern: str) -> list[tuple[str, ...]]:
    prefixes = (
        f"PREFIX : <{HARBOUR}> PREFIX rdf: <{RDF}> PREFIX rdfs: <{RDFS}> PREFIX owl: <{OWL}> PREFIX"
        f" skos: <{SKOS}> "
    )
    answer = store.query(prefixes + pattern)
    return [tuple(str(term.value).removeprefix(str(HARBOUR)) for term in row) for row in answer]


@pytest.mark.parametrize(
    ("kind", "query", "expected"),
    [
        ("describe", "SELECT ?o { :Berth1 ?p ?o }", 7),
        ("direct subclasses", "SELECT ?c { ?c rdfs:subClassOf :CargoVessel }", 4),
        ("all subclasses", "SELECT ?c { ?c rdfs:subClassOf+ :Vessel }", 13),
        ("superclasses", "SELECT ?c { :FeederShip rdfs:subClassOf+ ?c FILTER isIRI(?c) }", 4),
        ("by domain", "SELECT ?p { ?p rdfs:domain :PortCall }", 4),
        (
            "by domain, unions too",
            "SELECT ?p { ?p rdfs:domain/(owl:unionOf/rdf:rest*/rdf:first)? :PortCall }",
            5,
        ),
        ("by range", "SELECT ?p { ?p rdfs:range :Harbour }", 5),
        (
            "search",
            'SELECT ?c { ?c rdfs:label ?l FILTER regex(?l, "ferry", "i") FILTER(lang(?l) = "en") }',
            3,
        ),
        ("search, opaque", 'SELECT ?c { ?c rdfs:label|skos:altLabel "ro-pax"@en }', 1),
        ("path of two", "SELECT ?m { :GreyPetrel ?p ?m . ?m ?q :EastYard }", 1),
        (
            "roots",
            (
                "SELECT ?c { ?c a owl:Class FILTER(isIRI(?c)) MINUS { ?c rdfs:subClassOf ?d FILTER"
                " isIRI(?d) } }"
            ),
            6,
        ),
        ("instances", "SELECT ?i { ?i a :Tug }", 2),
        (
            "instances, subclasses too",
            "SELECT DISTINCT ?i { ?i a/rdfs:subClassOf* :WaterCraft }",
            15,
        ),
        ("no instances", "SELECT ?i { ?i a/rdfs:subClassOf* :SailingVessel }", 0),
        ("does not exist", "SELECT ?p { :Submarine ?p ?o }", 0),
        ("deprecated", "SELECT ?c { ?c owl:deprecated true }", 2),
    ],
)
def test_harbour_answers_every_kind_of_question(harbour, kind, query, expected):
    assert len(ask(harbour, query)) == expected, kind


def test_harbour_is_as_awkward_as_it_says(graphs):
    graph = graphs["harbour"]
    classes = classes_of(graph)
    properties = {node for kind in KINDS for node in graph.subjects(RDF.type, kind)}
    individuals = {s for s, kind in graph.subject_objects(RDF.type) if kind in classes} - classes
    assert (len(classes), len(properties), len(individuals)) == (45, 66, 61)
    assert 300 <= sum(1 for s, _, _ in graph if s in individuals) <= 400
    assert (HARBOUR.Tug, RDF.type, OWL.NamedIndividual) in graph
    assert (HARBOUR.Tug, RDF.type, HARBOUR.TariffGroup) in graph
    assert (HARBOUR.Tug, RDF.type, OWL.Class) in graph
    assert len(list(graph.objects(HARBOUR.connectedTo, RDFS.domain))) == 2
    assert len(list(graph.subjects(RDF.type, OWL.Restriction))) >= 5
    assert len(list(graph.subject_objects(OWL.unionOf))) >= 5
    assert len(list(graph.subject_objects(OWL.disjointWith))) >= 4
    assert len(list(graph.subject_objects(SKOS.altLabel))) >= 30
    bare = {
        p for p in properties if not graph.value(p, RDFS.domain) and not graph.value(p, RDFS.range)
    }
    assert bare == {HARBOUR.relatedTo, HARBOUR.remark}
    german = {s for s, text in graph.subject_objects(RDFS.label) if text.language == "de"}
    assert classes | properties <= german


def test_the_links_of_harbour_keep_domains_and_ranges(graphs):
    graph = graphs["harbour"]

    def allowed(property_: Node, side: Node) -> list[set[Node]]:
        return [
            set(Collection(graph, union)) if (union := graph.value(node, OWL.unionOf)) else {node}
            for node in graph.objects(property_, side)
        ]

    def types(node: Node) -> set[Node]:
        return {
            above
            for kind in graph.objects(node, RDF.type)
            for above in graph.transitive_objects(kind, RDFS.subClassOf)
        }

    for subject, predicate, value in graph:
        if not str(predicate).startswith(HARBOUR):
            continue
        assert all(types(subject) & able for able in allowed(predicate, RDFS.domain)), (
            subject,
            predicate,
        )
        for able in allowed(predicate, RDFS.range):
            kinds = {value.datatype} if isinstance(value, Literal) else types(value)
            plain = isinstance(value, Literal) and value.datatype is None and not value.language
            assert kinds & able or (
                plain and any(str(node).endswith("#string") for node in able)
            ), (subject, predicate)
            if isinstance(value, Literal):
                assert not value.ill_typed, value
