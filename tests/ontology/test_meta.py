"""GraphMeta on ontologies as people write them: every odd thing once, and real ones against rdflib."""

from __future__ import annotations

import json
from pathlib import Path

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import OWL, RDF, RDFS, BNode, Graph, URIRef
from small_graphs import EX, HEADER, PREFIXES, ex, meta_of, meta_of_file

from rlm.errors import OntologyError
from rlm.ontology.labels import (
    first_sentence,
    is_opaque,
    pick,
    plain,
    split_name,
    stem,
    telling_sentence,
)
from rlm.ontology.meta import graph_meta
from rlm.ontology.meta.builder import build_meta, scan_store
from rlm.ontology.meta.graph_meta import GraphMeta, IRISet
from rlm.ontology.meta.store_reader import StoreReader

SHARED = ("prov", "skos", "void")


# -- classes


def test_blank_classes_are_not_classes_and_restrictions_are_no_superclass() -> None:
    meta = meta_of("""
        ex:Lion a owl:Class ; rdfs:subClassOf ex:Cat, _:r .
        _:r a owl:Restriction ; owl:onProperty ex:eats ; owl:someValuesFrom ex:Meat .
        ex:Cat a rdfs:Class . [] a owl:Class ; owl:unionOf ( ex:Cat ex:Dog ) . ex:leo a [ a owl:Class ] .
    """)
    assert set(meta.classes) == ex("Lion", "Cat", "Meat", "Dog")  # the last two are used as such
    assert meta.supers == {EX + "Lion": ex("Cat")}
    assert meta.subs == {EX + "Cat": ex("Lion")}
    assert meta.roots == [EX + "Cat"]


def test_an_intersection_puts_a_class_below_its_named_parts_and_a_union_does_not() -> None:
    meta = meta_of("""
        ex:Cub a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( ex:Cat [ a owl:Restriction ] ex:Young ) ] .
        ex:Pet a owl:Class ; rdfs:subClassOf [ owl:unionOf ( ex:Cat ex:Dog ) ] .
        ex:Feline a owl:Class ; owl:equivalentClass ex:Cat .
    """)
    assert meta.supers == {EX + "Cub": ex("Cat", "Young")}
    assert meta.equivalents == {EX + "Feline": ex("Cat"), EX + "Cat": ex("Feline")}


def test_owl_thing_is_no_superclass_and_no_root() -> None:
    meta = meta_of(
        "owl:Thing a owl:Class . ex:A a owl:Class ; rdfs:subClassOf owl:Thing . ex:B"
        " rdfs:subClassOf ex:A ."
    )
    assert meta.roots == [EX + "A"]
    assert EX + "A" not in meta.supers
    assert set(meta.classes) == ex("A", "B") | {str(OWL.Thing)}


def test_a_circle_of_subclasses_ends_and_has_one_root() -> None:
    meta = meta_of("""
        ex:B rdfs:subClassOf ex:C . ex:C rdfs:subClassOf ex:A . ex:A rdfs:subClassOf ex:B .
        ex:Below rdfs:subClassOf ex:C . ex:Self a owl:Class ; rdfs:subClassOf ex:Self .
    """)
    assert meta.roots == sorted(ex("A", "Self"))
    assert set(meta.below(EX + "A")) == ex("B", "C", "Below")
    assert meta.above(EX + "Below") == [EX + "C", EX + "A", EX + "B"]


def test_a_superclass_that_another_file_declares_is_a_root() -> None:
    meta = meta_of("ex:Mine a owl:Class ; rdfs:subClassOf foaf:Agent .")
    assert meta.roots == [PREFIXES["foaf"] + "Agent"]
    assert meta.declared == ex("Mine")


def test_data_without_a_schema_has_the_classes_it_uses() -> None:
    meta = meta_of(
        "ex:leo a ex:Lion ; ex:eats ex:gnu ; ex:age 3 . ex:lea a ex:Lion . ex:gnu a ex:Gnu . _:b a"
        " ex:Gnu ."
    )
    assert meta.classes == {EX + "Lion": 2, EX + "Gnu": 2}
    assert meta.kinds == {EX + "eats": "object", EX + "age": "datatype"}
    assert meta.roots == sorted(ex("Lion", "Gnu"))
    assert (meta.individuals.count, list(meta.individuals)) == (3, sorted(ex("leo", "lea", "gnu")))
    assert meta.examples[EX + "Lion"] == sorted(ex("lea", "leo"))


def test_what_has_no_type_at_all_is_held_for_its_name() -> None:
    meta = meta_of("ex:leo ex:likes ex:lea ; rdfs:label 'Leo' . ex:likes rdfs:label 'likes' .")
    assert (meta.individuals.count, list(meta.untyped)) == (0, [EX + "leo"])
    assert meta.label(EX + "leo") == "Leo" and meta.has_all_names


def test_one_name_for_a_class_and_an_individual_is_both() -> None:
    meta = meta_of("ex:Lion a owl:Class, ex:Species . ex:leo a ex:Lion, owl:NamedIndividual .")
    assert meta.kind(EX + "Lion") == "class, individual"
    assert set(meta.individuals) == ex("Lion", "leo")
    assert meta.classes == {EX + "Lion": 1, EX + "Species": 1}


def test_disjointness_in_all_three_forms() -> None:
    meta = meta_of("""
        ex:A owl:disjointWith ex:B . ex:B owl:disjointWith ex:A .
        [] a owl:AllDisjointClasses ; owl:members ( ex:C ex:D ex:E ) .
        ex:F owl:disjointUnionOf ( ex:G ex:H ) .
    """)
    assert meta.disjoint_groups == [sorted(ex(*group)) for group in ("AB", "CDE", "GH")]
    assert meta.disjoint_with(EX + "C") == ex("D", "E")
    assert meta.subs[EX + "F"] == ex("G", "H")


# -- properties


def test_several_domains_and_unions_are_kept_apart() -> None:
    meta = meta_of("""
        ex:p a owl:ObjectProperty ; rdfs:domain ex:A, [ owl:unionOf ( ex:C ex:B ) ] ; rdfs:range ex:A, ex:B .
        ex:q a owl:DatatypeProperty ; rdfs:domain ex:A ; rdfs:range [ owl:onDatatype xsd:integer ] .
    """)
    p = EX + "p"
    assert meta.doms[p] == ex("A", "B", "C")
    assert meta.dom_groups[p] == [[EX + "A"], [EX + "B", EX + "C"]]
    assert (meta.is_union(p), meta.is_union(p, "range")) == (True, False)
    assert meta.rngs[p] == ex("A", "B")
    assert meta.rngs[EX + "q"] == {PREFIXES["xsd"] + "integer"}
    assert EX + "q" not in meta.dom_groups
    assert meta.domain_of[EX + "A"] == ex("p", "q")


def test_included_domains_are_a_union() -> None:
    meta = meta_of("ex:p schema:domainIncludes ex:A, ex:B ; schema:rangeIncludes ex:C .")
    assert meta.dom_groups[EX + "p"] == [sorted(ex("A", "B"))]
    assert meta.kinds[EX + "p"] == "object"


def test_kinds_of_property_are_declared_or_inferred() -> None:
    meta = meta_of("""
        ex:a a owl:ObjectProperty, owl:FunctionalProperty, owl:TransitiveProperty . ex:b a owl:AnnotationProperty .
        ex:c a rdf:Property ; rdfs:range xsd:date . ex:d a rdf:Property ; rdfs:range ex:C . ex:e a rdf:Property .
        ex:f a owl:SymmetricProperty . ex:g owl:inverseOf ex:a . ex:x ex:h "text" .
    """)
    kinds = {iri.removeprefix(EX): kind for iri, kind in meta.kinds.items()}
    assert kinds == {
        "a": "object",
        "b": "annotation",
        "c": "datatype",
        "d": "object",
        "e": "property",
        "f": "object",
        "g": "object",
        "h": "datatype",
    }
    assert meta.traits[EX + "a"] == ["functional", "transitive"]
    assert meta.inverses == {EX + "a": ex("g"), EX + "g": ex("a")}


def test_a_broken_or_circular_list_is_read_as_far_as_it_goes() -> None:
    meta = meta_of("""
        ex:p rdfs:domain [ owl:unionOf _:l ] . _:l rdf:first ex:A ; rdf:rest _:m . _:m rdf:first ex:B ; rdf:rest _:l .
        ex:q rdfs:domain [ owl:unionOf [ rdf:first ex:C ] ] . ex:r rdfs:domain [ owl:unionOf () ] .
        ex:s rdfs:domain _:u . _:u owl:unionOf ( _:u ex:D ) .
    """)
    assert {iri.removeprefix(EX): set(found) for iri, found in meta.doms.items()} == {
        "p": ex("A", "B"),
        "q": ex("C"),
        "s": ex("D"),
    }


def test_deprecated_terms_and_their_successors() -> None:
    meta = meta_of("""
        ex:Old a owl:Class ; owl:deprecated true ; dcterms:isReplacedBy ex:New .
        ex:New a owl:Class ; owl:deprecated false .
        ex:older a owl:DeprecatedProperty ; obo:IAO_0100001 ex:newer .
    """)
    assert meta.deprecated == ex("Old", "older")
    assert meta.replaced_by == {EX + "Old": ex("New"), EX + "older": ex("newer")}


# -- labels


def test_labels_come_from_five_vocabularies_and_in_a_chosen_language() -> None:
    meta = meta_of("""
        ex:A a owl:Class ; rdfs:label "Löwe"@de, "lion"@en-GB, "leo" ; skos:altLabel "big cat"@en .
        ex:B a owl:Class ; skos:prefLabel "panthère"@fr . ex:C a owl:Class ; dcterms:title "gnu" .
        ex:d a ex:C ; foaf:name "Dora" . ex:e a ex:C ; schema:name "Emil"@en . ex:HouseCat_2 a owl:Class .
    """)
    assert [meta.label(EX + "A", lang) for lang in (None, "de", "en-GB", "it")] == [
        "lion",
        "Löwe",
        "lion",
        "leo",
    ]
    names = {name: meta.label(EX + name) for name in ("B", "C", "d", "e", "HouseCat_2")}
    assert names == {
        "B": "panthère",
        "C": "gnu",
        "d": "Dora",
        "e": "Emil",
        "HouseCat_2": "House Cat 2",
    }
    assert meta.by_label["big cat"] == [EX + "A"]
    assert meta.by_label["house cat 2"] == [EX + "HouseCat_2"]
    assert meta.languages == {"": 3, "de": 1, "en": 1, "en-gb": 1, "fr": 1}


def test_a_regional_form_is_taken_for_what_it_is() -> None:
    meta = meta_of('ex:A rdfs:label "colour"@en-GB, "color"@en, "Farbe"@de-AT .')
    assert [meta.label(EX + "A", lang) for lang in ("en", "en-GB", "de", "fr")] == [
        "color",
        "colour",
        "Farbe",
        "Farbe",
    ]


def test_the_order_of_labels_does_not_depend_on_the_file() -> None:
    one, two = '"b"@en', '"a"@en'
    assert meta_of(f"ex:A rdfs:label {one}, {two} .").label(EX + "A") == "a"
    assert meta_of(f"ex:A rdfs:label {two}, {one} .").label(EX + "A") == "a"


@pytest.mark.parametrize(
    ("name", "words"),
    [("wasGeneratedBy", "was Generated By"), ("HTTPServer", "HTTP Server"), ("SIO_000776", "SIO_000776"),
     ("part_of", "part of"), ("a%20b", "a b"), ("X", "X"), ("_", "_")],
)  # fmt: skip
def test_local_names_become_words(name: str, words: str) -> None:
    assert split_name(name) == words


def test_text_helpers() -> None:
    assert plain("Crème-BrûléeDessert") == "creme brulee dessert"
    assert {stem(word) for word in ("activities", "activity")} == {"activity"}
    assert (
        stem("purposes") == stem("purpose")
        and stem("classes") == stem("class")
        and stem("boxes") == stem("box")
    )
    assert (
        first_sentence("A Dr. No film, e.g. One.  It has parts. More.", 200)
        == "A Dr. No film, e.g. One."
    )
    assert first_sentence("One two three four five", 12) == "One two…"
    assert telling_sentence("This document is published by a group.") == ""
    names = ("GO_0008150", "Q42", "C12345", "Activity", "Step2")
    assert [name for name in names if is_opaque(name)] == ["GO_0008150", "Q42", "C12345"]
    assert pick([]) is None


def test_definitions_beat_comments_and_boilerplate_is_no_purpose() -> None:
    meta = meta_of("""
        <http://example.org/zoo> a owl:Ontology ; dcterms:title "Zoo"@en ;
            rdfs:comment "Published by the Zoo Working Group." ; owl:imports <http://example.org/other> .
        ex:A a owl:Class ; rdfs:comment "a comment" ; skos:definition "ein Löwe"@de, "a definition"@en .
        ex:B a owl:Class ; ex:definition "its own" ; rdfs:comment "a comment" . ex:definition a owl:AnnotationProperty .
    """)
    assert meta.comments[EX + "A"] == "a definition"
    assert meta.comments[EX + "B"] == "its own"
    assert meta.about() == "Zoo"
    assert meta.imports == ["http://example.org/other"]
    assert meta.ontology_iris == ["http://example.org/zoo"]


# -- the whole


def test_no_namespace_is_given_the_prefix_of_another_vocabulary() -> None:
    space = "https://some.example/rdf/core/AnEnumerationWithALongName/"
    meta = meta_of(f"<{space}a> a owl:Class . <{space}b> a owl:Class .", {})
    assert meta.curie(f"{space}a") == "rdf1:a" and meta.curie(RDF.type) == "rdf:type"


def test_prefixes_of_the_file_are_kept_and_others_found() -> None:
    turtle = (
        "ex:A a owl:Class . ex:B a owl:Class . ex:p a owl:ObjectProperty . foaf:Agent a owl:Class ."
    )
    both = meta_of(turtle, {"": EX, "z": EX})
    assert (both.curie(EX + "A"), list(both.namespaces)[-1]) == ("z:A", "")
    assert meta_of(turtle, {"": EX}).curie(EX + "A") == "zoo:A"
    bare = meta_of(turtle, {})
    assert (bare.curie(EX + "A"), bare.curie(PREFIXES["foaf"] + "Agent")) == ("zoo:A", "foaf:Agent")
    assert bare.curie("http://elsewhere.net/x/y z") == "<http://elsewhere.net/x/y z>"


def test_a_statement_in_two_graphs_counts_once() -> None:
    store = ox.Store()
    store.load(
        f"<{EX}g1> {{ <{EX}a> a <{EX}C> }} <{EX}g2> {{ <{EX}a> a <{EX}C> ; <{EX}p> 1 }}",
        format=ox.RdfFormat.TRIG,
    )
    meta = build_meta(store)
    assert (meta.triple_count, meta.classes, meta.pred_freq[EX + "p"]) == (2, {EX + "C": 1}, 1)


def test_a_count_that_fails_is_told() -> None:
    class Broken:
        def named_graphs(self) -> list[object]:
            return []

        def query(self, *_: object, **__: object) -> None:
            raise OSError("Corruption: block checksum mismatch")

    with pytest.raises(OSError, match="Corruption"):
        _ = StoreReader(Broken()).subject_count  # type: ignore[arg-type]


def test_individuals_are_sampled_when_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_meta, "INDIVIDUALS", 5)
    many = "".join(f'ex:i{n} a ex:C ; rdfs:label "thing {n}" .' for n in range(20))
    meta = meta_of(many + 'ex:C rdfs:label "class of things" .')
    assert meta.individuals.count == 20
    assert list(meta.individuals) == sorted(ex(*(f"i{n}" for n in range(20))))[:5]
    assert not meta.individuals.complete
    assert meta.labels.keys() == {*meta.individuals, EX + "C"}
    assert meta.languages == {"": 21}, "of all labels, though not all are held"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 9),
            st.sampled_from("abc"),
            st.sampled_from(("", "en", "EN-gb")),
            st.booleans(),
        )
    ),
    st.sets(st.integers(0, 11), max_size=4),
)
def test_texts_looked_up_one_by_one_are_those_that_are_read(
    said: list[tuple[int, str, str, bool]], some: set[int]
):
    store = ox.Store()
    for number, text, lang, named in said:
        literal = ox.Literal(text, language=lang) if lang else ox.Literal(text)
        graph = ox.NamedNode(EX + "graph") if named else ox.DefaultGraph()
        store.add(ox.Quad(ox.NamedNode(f"{EX}{number}"), ox.NamedNode(EX + "p"), literal, graph))
    wanted = {f"{EX}{number}" for number in some}
    reader = StoreReader(store)
    expected = sorted(text for text in reader.texts(EX + "p") if text[0] in wanted)
    assert sorted(reader.texts_of(wanted, EX + "p")) == expected
    assert sorted(reader.texts_of(wanted | {EX + "no iri\n"}, EX + "p")) == expected


def test_an_iri_with_a_line_break_is_one_member_still() -> None:
    store = ox.Store()
    data = f"<{EX}a\\u000Ab> a <{EX}C> . <{EX}c> a <{EX}C> . [] a <{EX}C> ."
    store.bulk_load(input=data.encode(), format=ox.RdfFormat.TURTLE, lenient=True)
    ((type_, names, nameless),) = StoreReader(store).members()
    assert (type_, sorted(names), nameless) == (EX + "C", [f"{EX}a\nb", f"{EX}c"], 1)


def test_an_empty_graph_has_nothing() -> None:
    meta = meta_of("")
    assert meta == GraphMeta(namespaces=meta.namespaces)
    assert meta.summary() == "Graph\n0 triples, 0 classes, 0 properties, 0 individuals"


def scan_of(turtle: str) -> dict[str, object]:
    """What is kept of a graph; `meta_of` gives the GraphMeta of the same."""
    store = ox.Store()
    store.load(HEADER + turtle, format=ox.RdfFormat.TURTLE)
    found, preferred = scan_store(store, graph_meta.INDIVIDUALS)
    return graph_meta.complete_scan(found, PREFIXES, preferred)


def test_json_round_trip_and_what_is_refused() -> None:
    text = 'ex:A a owl:Class ; rdfs:subClassOf ex:B ; rdfs:label "a"@en . ex:a a ex:A ; ex:p ex:b .'
    kept = scan_of(text)
    again = GraphMeta.from_dict(json.loads(json.dumps(kept)))
    assert again == meta_of(text)
    assert isinstance(again.subs[EX + "B"], IRISet) and again.label(EX + "A") == "a"
    for wrong in (
        {},
        {**kept, "version": 99},
        {**kept, "subs": 3},
        {**kept, "labels": {"a": [1]}},
    ):
        with pytest.raises(OntologyError, match="build it again"):
            GraphMeta.from_dict(wrong)


def test_an_iri_set_is_ordered_sliceable_and_still_a_set() -> None:
    names = IRISet(("c", "a", "b"))
    assert (list(names), names[0], names[:2], names & {"a"}, names == {"a", "b", "c"}) == (
        ["a", "b", "c"], "a", ["a", "b"], {"a"}, True,
    )  # fmt: skip
    seen = {"z"}
    seen |= names
    assert type(seen) is set and repr(names) == "{'a', 'b', 'c'}"


_NAMES = st.sampled_from([f"ex:n{n}" for n in range(7)] + ["owl:Thing", "_:b1", "_:b2"])
_PREDICATES = st.sampled_from(
    [
        "rdf:type",
        "rdfs:subClassOf",
        "rdfs:domain",
        "rdfs:range",
        "owl:unionOf",
        "owl:intersectionOf",
        "owl:equivalentClass",
        "owl:disjointWith",
        "rdf:first",
        "rdf:rest",
        "owl:members",
        "owl:inverseOf",
        "rdfs:subPropertyOf",
        "ex:n1",
        "rdfs:label",
        "owl:disjointUnionOf",
    ]
)
_OBJECTS = _NAMES | st.sampled_from(
    ["owl:Class", "owl:ObjectProperty", "rdf:nil", '"text"', '"Text"@en', "owl:Ontology"]
)


@settings(max_examples=40)
@example([("ex:n0", "rdf:type", "owl:Class"), ("ex:n1", "rdfs:subClassOf", "owl:Class")])
@given(st.lists(st.tuples(_NAMES, _PREDICATES, _OBJECTS), max_size=25))
def test_any_graph_gives_a_sound_meta(triples: list[tuple[str, str, str]]) -> None:
    text = "".join(f"{s} {p} {o} .\n" for s, p, o in triples)
    meta = meta_of(text)
    assert GraphMeta.from_dict(json.loads(json.dumps(scan_of(text)))) == meta
    assert not any(iri.startswith("_:") for iri in (*meta.classes, *meta.properties))
    assert {(sub, top) for top in meta.subs for sub in meta.subs[top]} == {
        (sub, top) for sub in meta.supers for top in meta.supers[sub]
    }
    below = set(meta.roots).union(*(meta.below(root) for root in meta.roots))
    known = meta.declared | meta.subs.keys() | meta.supers.keys()
    machinery = (str(OWL), str(RDF), str(RDFS))  # none of their classes is a root of this file
    assert below >= {iri for iri in known if not iri.startswith(machinery)}
    assert meta.triple_count == len({tuple(triple) for triple in triples})
    assert meta.summary()


# -- real ontologies, counted again by rdflib


@pytest.mark.parametrize("name", SHARED)
def test_real_ontologies_agree_with_rdflib(name: str, shared_dir: Path) -> None:
    path = shared_dir / "ontologies" / f"{name}.ttl"
    meta, graph = meta_of_file(path), Graph().parse(path, publicID="urn:base/")
    declared = {
        str(c)
        for kind in (OWL.Class, RDFS.Class)
        for c in graph.subjects(RDF.type, kind)
        if isinstance(c, URIRef)
    }
    assert meta.triple_count == len(graph)
    assert meta.declared == declared
    edges = {
        (str(a), str(b))
        for a, b in graph.subject_objects(RDFS.subClassOf)
        if isinstance(b, URIRef) and b != OWL.Thing
    }
    assert {(a, b) for a in meta.supers for b in meta.supers[a]} == edges
    predicates = [str(p) for p in graph.predicates()]
    assert meta.pred_freq == {p: predicates.count(p) for p in set(predicates)}
    machinery = (str(RDF), str(RDFS), str(OWL))
    assert {p for p in meta.properties if not p.startswith(machinery)} >= {
        p for p in predicates if not p.startswith(machinery)
    }
    assert meta.subject_count == len(set(graph.subjects()))
    for side, found in ((RDFS.domain, meta.doms), (RDFS.range, meta.rngs)):
        expected: dict[str, set[str]] = {}
        for prop, end in graph.subject_objects(side):
            ends = (
                list(graph.items(graph.value(end, OWL.unionOf)))
                if isinstance(end, BNode)
                else [end]
            )
            expected.setdefault(str(prop), set()).update(map(str, ends))
        assert found == expected


def test_prov_as_its_readers_know_it(shared_dir: Path) -> None:
    meta = meta_of_file(shared_dir / "ontologies" / "prov.ttl")
    prov = "http://www.w3.org/ns/prov#"
    assert (meta.triple_count, len(meta.declared)) == (1664, 51)
    assert meta.label(prov + "Activity") == "Activity"
    assert prov + "Entity" in meta.disjoint_with(prov + "Activity")
    several = [
        p
        for p in meta.properties
        if len(meta.dom_groups.get(p, ())) > 1 or len(meta.rng_groups.get(p, ())) > 1
    ]
    assert prov + "hadRole" in several
    assert meta.is_union(prov + "wasInfluencedBy") and not meta.is_union(prov + "used")
    assert len(meta.imports) == 6
    assert meta.comments[prov + "Activity"].startswith(
        "An activity is something that occurs over a period of time"
    )
    assert "Working Group" not in meta.summary()


def test_imports_of_a_store_that_says_no_more_are_missing() -> None:
    store = ox.Store()
    two = (ox.NamedNode(f"http://x.org/{name}") for name in ("all", "core"))
    store.add(ox.Quad(next(two), ox.NamedNode(str(OWL.imports)), next(two)))
    assert build_meta(store).missing_imports == ["http://x.org/core"]
