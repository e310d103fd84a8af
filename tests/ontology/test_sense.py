"""The sense card: within its budget on anything, and about what the ontology is about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_graphs import EX, meta_of, meta_of_file

from rlm.context import build_context
from rlm.ontology.meta.graph_meta import GraphMeta, Individuals, IRISet
from rlm.ontology.source import open_engine
from rlm.ontology.views.summary import list_line, schema_constraints, sense_card
from rlm.ontology.views.views import Views

_WORDS = st.text(alphabet="abcdefXYZ_019-é ", min_size=1, max_size=40)
_IRIS = st.builds(
    lambda space, name: space + name.replace(" ", "_"),
    st.sampled_from(
        [
            "http://example.org/zoo#",
            "http://a.b/" + "long/" * 30,
            "urn:x:",
            "http://www.w3.org/2002/07/owl#",
        ]
    ),
    _WORDS,
)
_SETS = st.dictionaries(_IRIS, st.lists(_IRIS, max_size=4).map(IRISet), max_size=6)
_GROUPS = st.dictionaries(
    _IRIS, st.lists(st.lists(_IRIS, min_size=1, max_size=6), max_size=3), max_size=4
)
METAS = st.builds(
    GraphMeta,
    triple_count=st.integers(0, 10**12),
    namespaces=st.dictionaries(
        st.sampled_from(["", "ex", "very-long-prefix-name"]), st.just("http://example.org/zoo#")
    ),
    classes=st.dictionaries(_IRIS, st.integers(0, 10**9), max_size=30),
    properties=st.dictionaries(_IRIS, st.integers(0, 10**9), max_size=30),
    kinds=st.dictionaries(
        _IRIS, st.sampled_from(["object", "datatype", "annotation"]), max_size=10
    ),
    individuals=st.integers(0, 10**9).map(lambda n: Individuals(n, ())),
    labels=st.dictionaries(
        _IRIS, st.lists(st.tuples(_WORDS, st.sampled_from(["", "en"])), min_size=1, max_size=2)
    ),
    languages=st.dictionaries(
        st.sampled_from(["", "en", "de", "fr", "zh-hant-cn-x-private"]), st.integers(1, 10**9)
    ),
    title=st.text(max_size=400),
    description=st.text(max_size=400),
    subs=_SETS,
    doms=_SETS,
    rngs=_SETS,
    dom_groups=_GROUPS,
    disjoint_groups=st.lists(st.lists(_IRIS, min_size=2, max_size=6), max_size=5),
    deprecated=st.lists(_IRIS, max_size=4).map(IRISet),
    replaced_by=_SETS,
    plain_forms=st.dictionaries(_IRIS, _IRIS, max_size=3),
)


@settings(max_examples=30)
@given(METAS, st.integers(0, 700) | st.just(600))
def test_never_over_budget(meta: GraphMeta, budget: int) -> None:
    assert len(sense_card(meta, budget)) <= budget
    assert len(schema_constraints(meta, budget)) <= budget


@pytest.mark.parametrize("name", ["prov", "skos", "void"])
def test_real_cards(name: str, shared_dir: Path) -> None:
    card = sense_card(meta_of_file(shared_dir / "ontologies" / f"{name}.ttl"))
    assert 300 < len(card) <= 600
    assert not any(
        word in card for word in ("owl:Thing", "rdfs:label", "rdfs:comment", "Working Group")
    )
    assert f"Prefixes: {name}: <http" in card
    own = {
        "prov": "prov:Entity, prov:Activity, prov:Agent",
        "skos": "skos:Concept",
        "void": "void:Dataset",
    }[name]
    assert f"Key classes: {own}" in card


ZOO = """
ex: a owl:Ontology ; dcterms:title "Zoo" ; dcterms:description "Animals and where they live. By many people."@en .
ex:Animal a owl:Class ; rdfs:label "animal"@en .
ex:Lion a owl:Class ; rdfs:subClassOf ex:Animal ; rdfs:label "lion"@en .
ex:ZOO_000776 a owl:Class ; rdfs:label "enclosure"@en .
ex:Old a owl:Class ; owl:deprecated true ; rdfs:label "old"@en .
ex:livesIn a owl:ObjectProperty ; rdfs:domain ex:Animal ; rdfs:range ex:ZOO_000776 ; rdfs:label "lives in"@en .
ex:note a owl:AnnotationProperty ; rdfs:label "note"@en . ex:leo a ex:Lion ; rdfs:label "Leo" ; ex:note "x" .
"""


def test_the_whole_card() -> None:
    assert sense_card(meta_of(ZOO)).split("\n") == [
        "Zoo: Animals and where they live.",
        "22 triples, 4 classes, 4 properties (2 declared: 1 object, 1 annotation), 1 individuals, 1 deprecated",
        'Key classes: ex:Animal, ex:Lion, ex:ZOO_000776 "enclosure"',
        "Key properties: ex:livesIn",
        f"Prefixes: ex: <{EX}>",
        "Labels: en 6, no language 2",
    ]


def test_a_small_budget_keeps_whole_lines_and_names() -> None:
    meta, whole = meta_of(ZOO), sense_card(meta_of(ZOO)).split("\n")
    for budget in range(len(whole[0]), 400, 7):
        for line in sense_card(meta, budget).split("\n"):
            assert line in whole or any(
                line.startswith(head) for head in ("Key classes: ", "Key properties: ")
            )
            assert not line.endswith((",", '"enclos', "ex:"))
    assert sense_card(meta, 0) == ""


@pytest.mark.parametrize(
    ("turtle", "line"),
    [
        ("ex:A a owl:Class .", "Labels: none; search by local name"),
        ('ex:X_00123 a owl:Class ; rdfs:label "cat" .', "names are numbers: search by label"),
        (
            'ex:A a owl:Class . ex:B a owl:Class . ex:C a owl:Class ; rdfs:label "C" .',
            "2 terms have none: try the local name",
        ),
        ('ex:A a owl:Class ; rdfs:label "lion" .', 'e.g. ex:A is "lion"'),
        (
            'ex:A a owl:Class ; rdfs:label "a"@en, "b"@de, "c"@fr, "d"@it, "e"@es, "f"@pt .',
            ", 2 more",
        ),
    ],
)
def test_how_the_labels_look(turtle: str, line: str) -> None:
    assert line in sense_card(meta_of(turtle))


def test_a_line_takes_no_more_items_than_fit() -> None:
    """Each costs a name, and there may be thousands."""
    numbers = iter(range(1, 100))
    assert list_line("As ", (f"n{n}" for n in numbers), 12, more=", …") == "As n1, n2, …"
    assert next(numbers) == 5


def test_the_language_of_the_card() -> None:
    meta = meta_of('ex:X_00123 a owl:Class ; rdfs:label "cat"@en, "Katze"@de .')
    assert 'ex:X_00123 "cat"' in sense_card(meta)
    assert 'ex:X_00123 "Katze"' in sense_card(meta, lang="de")
    meta = meta_of(
        "ex:p rdfs:domain ex:X_00123 ; rdfs:range ex:X_00124 ."
        ' ex:X_00123 a owl:Class ; rdfs:label "cat"@en, "Katze"@de .'
    )
    assert 'X_00123 "Katze" → ' in schema_constraints(meta, lang="de")


def test_use_and_position_decide_what_is_key() -> None:
    used = "".join(f"ex:i{n} a ex:Used ." for n in range(50))
    meta = meta_of(
        used
        + """
        ex:Used a owl:Class . ex:Top a owl:Class . ex:A rdfs:subClassOf ex:Top . ex:B rdfs:subClassOf ex:Top .
        ex:Lonely a owl:Class . ex:Linked a owl:Class . ex:p rdfs:domain ex:Linked . ex:q rdfs:range ex:Linked .
    """
    )
    assert "Key classes: ex:Used, ex:Linked, ex:Top, ex:A, ex:B, ex:Lonely" in sense_card(meta)


COMPANY = """
ex:Employee a owl:Class . ex:Manager a owl:Class ; rdfs:subClassOf ex:Employee . ex:Supplier a owl:Class .
ex:Note a owl:Class . ex:worksIn a owl:ObjectProperty ; rdfs:range ex:Department . ex:Department a owl:Class .
""" + "".join(
    f"""
data:e{n} a ex:{"Manager" if n < 3 else "Employee"} ; rdfs:label "e{n}" ; ex:hired "2020-01-0{n % 9 + 1}"^^xsd:date ;
    ex:worksIn data:d{n % 2} {f'; ex:phone "1{n}"' if n % 2 else ""} .
data:s{n} a ex:Supplier ; rdfs:label "s{n}" ; ex:country "{n}" ; ex:rating {n} .
data:d{n % 2} a ex:Department ; rdfs:label "d{n % 2}" ; ex:floor {n % 2} .
"""
    for n in range(12)
)


@pytest.mark.req("UT-08")
def test_the_card_of_a_graph_with_instances_says_what_they_have() -> None:
    prefix = "@prefix data: <http://example.org/data/> .\n"
    bound = {"ex": EX, "data": "http://example.org/data/"}
    card = sense_card(meta_of(prefix + COMPANY, bound)).split("\n")
    assert card[2] == f"Prefixes: ex: <{EX}>, data: <http://example.org/data/>"
    assert card[3] == "Labels: rdfs:label, in no language; 6 terms have none"
    start = card.index("Instances have (n %: so many do; no type: text):")
    assert card[start + 1 :] == [
        "ex:Employee 12 (ex:Manager 3): ex:hired date, ex:worksIn → ex:Department, ex:phone 50 %",
        "ex:Supplier 12: ex:country, ex:rating integer",
        "ex:Department 2: ex:floor integer",
    ]


def test_a_number_above_a_thousand_does_not_hide_that_kinds_are_left_out() -> None:
    kinds = {"Ferry": 900, "SeagoingFerry": 1_200, "InlandWaterwayFerry": 9}
    turtle = "ex:SeagoingFerry rdfs:subClassOf ex:Ferry . ex:InlandWaterwayFerry rdfs:subClassOf ex:Ferry ."
    turtle += "".join(
        f"ex:{kind}{n} a ex:{kind} ; ex:length {n} ."
        for kind, number in kinds.items()
        for n in range(number)
    )
    assert "ex:Ferry 2,109 (ex:SeagoingFerry 1,200, …): ex:length" in sense_card(meta_of(turtle))


def test_a_large_class_is_sampled_and_says_a_share() -> None:
    many = "".join(
        f"ex:i{n} a ex:Thing {'; ex:p ex:j' if n % 4 == 0 else '; ex:q 1'} ." for n in range(2_000)
    )
    assert "ex:Thing 2,000: ex:q integer 75 %, ex:p → any 25 %" in sense_card(
        meta_of("ex:Thing a owl:Class ." + many)
    )


def test_the_kind_of_values_is_true_of_all_of_them() -> None:
    """The nearest class of all; several datatypes are named, and no link passes for a text."""
    values = "ex:Skep rdfs:subClassOf ex:Hive . ex:Box rdfs:subClassOf ex:Hive . ex:Hive a owl:Class . ex:Apiary a owl:Class ."
    values += "ex:b a ex:Box . ex:s a ex:Skep, ex:Old . ex:t a ex:Tree . ex:strength rdfs:range xsd:integer ."
    values += "".join(
        f"ex:a{n} a ex:Apiary ; ex:part ex:{'bs'[n % 2]} ; ex:old ex:s ; ex:near ex:{'bt'[n % 2]} ;"
        f""" ex:strength {[n, '"many"'][n % 2]} ; ex:said "x"{["", "@en"][n % 2]} ."""
        for n in range(12)
    )
    line = next(
        ln for ln in sense_card(meta_of(values)).split("\n") if ln.startswith("ex:Apiary 12")
    )
    assert line == (
        "ex:Apiary 12: ex:near → any, ex:old → ex:Skep, ex:part → ex:Hive, ex:said,"
        " ex:strength integer | string"
    )


MANY_CLASSES = "".join(
    f"ex:C{kind} a owl:Class . ex:i{kind}_{n} a ex:C{kind} ; "
    + " ; ".join(f"ex:property{kind}of{p} {n}" for p in range(2 + 8 * (kind == 3)))
    + " ."
    for kind in range(16)
    for n in range(30 - kind)
)


def test_a_class_is_left_out_before_another_loses_properties_and_a_cut_line_says_so() -> None:
    text = build_context("Which C7 are there?", meta_of(MANY_CLASSES)).text
    assert "Key classes" not in text
    shown = [line for line in text.split("\n") if line.startswith("ex:C")]
    cut = [line for line in shown if line.startswith("ex:C3 27: ") and line.endswith(", …")]
    whole = [line for line in shown if line.count("ex:property") == 2]
    assert len(cut) == 1 and sorted([*cut, *whole]) == sorted(shown)
    assert whole[0].startswith("ex:C7 23: ex:property7of0 integer, ex:property7of1 integer")
    others = next(line for line in text.split("\n") if line.startswith("Also "))
    assert others.startswith("Also ex:C10 20, ") and others.endswith(", …")
    assert text.count("nstances have") == 2 and "---\n\nMore instances have:\nex:C" in text


def test_shapes_take_no_room_of_what_instances_have() -> None:
    shapes = "@prefix sh: <http://www.w3.org/ns/shacl#> ." + "".join(
        f"ex:S{n} a sh:NodeShape ; sh:targetClass ex:Box ; sh:closed true ." for n in range(5)
    )
    boxes = "".join(f"ex:b{n} a ex:Box ; ex:width {n} ." for n in range(12))
    text = build_context("", meta_of(f"ex:Box a owl:Class . {boxes} {shapes}")).text
    assert "ex:Box 12: ex:width integer" in text and "sh:" not in text.split("have")[1]


def test_a_thesaurus_is_called_by_its_scheme_or_its_own_namespace() -> None:
    concepts = "".join(f'ex:c{n} a skos:Concept ; skos:prefLabel "c{n}" .' for n in range(5))
    scheme = 'ex:s a skos:ConceptScheme ; dcterms:title "Bee terms" ; rdfs:comment "Of bees." .'
    assert sense_card(meta_of(concepts + scheme)).startswith("Bee terms: Of bees.\n")
    for more in ("", scheme + 'ex:s2 a skos:ConceptScheme ; dcterms:title "Other terms" .'):
        assert sense_card(meta_of(concepts + more)).startswith(f"Graph in <{EX}>\n")


def test_a_vocabulary_with_a_few_individuals_stays_one(shared_dir: Path) -> None:
    card = sense_card(meta_of_file(shared_dir / "ontologies" / "void.ttl"))
    assert "Key properties: " in card and "Instances have" not in card


def test_the_card_and_stats_count_what_is_declared(root: Path) -> None:
    path = root / "ontology" / "prov.ttl"
    declared = path.read_text().count(" a owl:ObjectProperty")
    with open_engine(path) as engine:
        stats, card = Views(engine).graph_stats(), sense_card(engine.meta())
    assert stats["property_kinds"] == {"annotation": 16, "datatype": 9, "object": declared}
    assert (stats["declared_properties"], stats["properties"]) == (84, 123)
    assert "50 classes, 123 properties (84 declared: 59 object, 9 datatype," in card


def test_what_the_task_has_words_of_comes_first(root: Path) -> None:
    meta = meta_of_file(root / "ontology" / "harbour.ttl")
    for task, begins in (
        (
            "Which tug has the greatest draught?",
            "WaterCraft 15 (Tug 2, BulkCarrier 2, …): draught decimal 26 %",
        ),
        ("When did the voyages end?", "Voyage 4: endTime dateTime 50 %"),
        ("Which tariff groups are there?", "TariffGroup 3: "),  # not hasTariffGroup of WaterCraft
        ("Which lighters are there?", "WaterCraft 15 (Barge 1, BulkCarrier 2, …)"),  # alternative
        ("Which ports have a code?", "Harbour 4: harbourCode"),
        ("What is poured loose?", "BulkCargo 2: massTonnes"),  # by its comment; a small class
    ):
        lines = build_context(task, meta).text.split("\n")
        place = next(n for n, line in enumerate(lines) if line.startswith("Instances have"))
        assert lines[place + 1].startswith(begins), lines[place + 1]
