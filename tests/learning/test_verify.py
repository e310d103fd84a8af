"""Answers held against real graphs: what is right, what is missing, what is too much, and a verify
that is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.errors import OntologyError, QueryRefused, ValidationError
from rlm.learning.verify import SHOWN, Verify, check_answer, check_verify
from rlm.ontology.engine.local import LocalEngine

pytestmark = pytest.mark.req("RB-22")

SUBS = "SELECT ?x WHERE { ?x rdfs:subClassOf prov:Agent FILTER(isIRI(?x)) }"
NO_SUBS = "SELECT ?x WHERE { ?x rdfs:subClassOf prov:Person FILTER(isIRI(?x)) }"
NAMES = "prov:Organization", "prov:Person", "prov:SoftwareAgent"
QUESTION = "What are the subclasses of Agent?"


@pytest.fixture
def check(prov):
    meta = prov.meta()

    def check(answer, sparql=SUBS, compare="set", question=QUESTION):
        return check_answer(answer, Verify(sparql, compare), prov, meta, question)

    return check


# -- set
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        "prov:Organization, prov:Person, prov:SoftwareAgent",
        (
            "prov:Agent has 3 direct subclasses:\n- prov:Organization\n- prov:Person\n-"
            " prov:SoftwareAgent"
        ),
        (
            "<http://www.w3.org/ns/prov#Person>, http://www.w3.org/ns/prov#Organization and"
            " prov:SoftwareAgent."
        ),
        "| class |\n|---|\n| prov:Person (Person) |\n| prov:Organization |\n| prov:SoftwareAgent |",
        (
            "In <http://www.w3.org/ns/prov#> they are prov:Person, prov:Organization,"
            " prov:SoftwareAgent."
        ),
        "Person, Organization and SoftwareAgent",
        "The subclasses are Person, Organization, and Software Agent.",
        "prov:Agent has these: Person, Organization, SoftwareAgent.",
        "- Person\n- Organization\n- SoftwareAgent",
        "1. Person - a human\n2. Organization: a company\n3. SoftwareAgent (a program)",
        "They are `Person`, `Organization` and `SoftwareAgent`",
        "They are “Person” and “Organization”, besides “SoftwareAgent”.",
        "**Person** is one, **Organization** another, **SoftwareAgent** the third.",
    ],
)
def test_the_right_set(check, answer):
    found = check(answer)
    assert found.ok and not found.missing and not found.extra, found


@pytest.mark.parametrize(
    ("answer", "missing", "extra"),
    [
        ("prov:Person, prov:Organization", ["prov:SoftwareAgent"], []),
        ("prov:Person, prov:Organization, prov:SoftwareAgent, prov:Plan", [], ["prov:Plan"]),
        (
            "prov:Person, prov:Invented, prov:Organization, prov:SoftwareAgent",
            [],
            ["prov:Invented"],
        ),
        ("prov:Person and prov:Plan", ["prov:Organization", "prov:SoftwareAgent"], ["prov:Plan"]),
        ("Person, Organization", ["prov:SoftwareAgent"], []),
        ("Person, Organization, SoftwareAgent, Bundle", [], ["prov:Bundle"]),
        ("There are none.", list(NAMES), []),
        ("There are three of them.", list(NAMES), []),
        (
            "prov:Person, Organization, SoftwareAgent",
            ["prov:Organization", "prov:SoftwareAgent"],
            [],
        ),  # no mixing
    ],
)
def test_a_wrong_set(check, answer, missing, extra):
    found = check(answer)
    assert not found.ok and found.missing == missing and found.extra == extra and found.reason


def test_what_the_question_names_may_be_repeated(check):
    answer = "prov:Agent: prov:Person, prov:Organization, prov:SoftwareAgent"
    for question in (
        "Subclasses of prov:Agent?",
        "subclasses of agents",
        "Subclasses of <http://www.w3.org/ns/prov#Agent>",
    ):
        assert check(answer, question=question).ok, question
    assert check(answer, question="What are the subclasses of Agnet?").open, "a reader decides"
    assert check(answer, question="What is there?").extra == ["prov:Agent"]
    supers = (
        "SELECT ?x WHERE { prov:SoftwareAgent rdfs:subClassOf ?x FILTER(isIRI(?x) && ?x !="
        " owl:Thing) }"
    )
    assert check(
        "prov:Agent", supers, question="superclasses of prov:SoftwareAgent, is it prov:Agent?"
    ).ok
    plain = "prov:Agent, prov:Person, prov:Organization, prov:SoftwareAgent"
    assert not check(
        plain, question="What is beside a software agent?"
    ).ok  # the longest name is meant


def test_a_name_of_several_terms_is_no_name(prov, tmp_path, graph_cache):
    (tmp_path / "two.ttl").write_text(
        "@prefix e: <http://e.example/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#>"
        " .\n@prefix owl: <http://www.w3.org/2002/07/owl#> . e:A a owl:Class . e:P a owl:Class"
        ' .\ne:x1 a owl:Class ; rdfs:subClassOf e:A ; rdfs:label "bank" . e:x2 a owl:Class ;'
        ' rdfs:label "bank" .\ne:x3 a owl:Class ; rdfs:subClassOf e:P ; rdfs:label "river side"@en'
        ' , "Ufer"@de .\n'
    )
    with LocalEngine(tmp_path / "two.ttl", cache_dir=graph_cache) as engine:
        meta = engine.meta()

        def check(answer, of):
            query = f"PREFIX e: <http://e.example/> SELECT ?x {{ ?x rdfs:subClassOf e:{of} }}"
            return check_answer(answer, Verify(query, "set"), engine, meta, "which?")

        assert check("bank", "A").missing == ["e:x1"]
        assert check("x1", "A").ok and check("e:x1", "A").ok
        assert check("river side", "P").ok and check("Ufer", "P").ok and check("Riversides", "P").ok


def test_labels_and_alternative_labels_of_another_graph(harbour):
    meta = harbour.meta()
    query = "SELECT ?x WHERE { ?x rdfs:subClassOf harbour:CargoVessel }"
    expected = [row["x"]["v"] for row in harbour.query(query).rows]
    assert len(expected) >= 3
    for forms in (
        map(meta.label, expected),
        (meta.alternatives[iri][0][0] for iri in expected if iri in meta.alternatives),
    ):
        said = "\n".join(f"- {name}" for name in forms)
        found = check_answer(said, Verify(query, "set"), harbour, meta, "kinds of freighter")
        assert not found.extra and len(found.missing) <= len(expected) - said.count("\n") - 1, found


def test_an_empty_set_must_be_said(check):
    for answer in ("None.", "prov:Person has no subclasses.", "There are no subclasses of Person."):
        assert check(answer, NO_SUBS, question="Subclasses of Person?").ok, answer
        assert check(answer, NO_SUBS, "contains_all", question="Subclasses of Person?").ok
    assert not check("prov:Person is a class.", NO_SUBS, question="Subclasses of Person?").ok
    assert check("None but prov:Plan", NO_SUBS, question="Subclasses of Person?").extra == [
        "prov:Plan"
    ]


def test_values_that_are_no_iris_compare_by_their_text(check):
    query = 'SELECT ?v WHERE { VALUES ?v { "Blue Whale" "red fox" } }'
    assert (
        check("- blue whale\n- Red  Fox", query).ok
        and check("A blue whale and a red fox.", query).ok
    )
    assert check("red fox", query).missing == ["Blue Whale"]
    assert check("a b", 'SELECT ("a\u200e b" AS ?v) {}').ok  # as it is shown
    assert check("redfoxes and blue whales", query).missing == ["Blue Whale", "red fox"]
    assert check("- blue whale\n- red fox\n- a dog", query).extra == ["a dog"]
    assert check("- blue whale\n- red fox\n- a dog", query, "contains_all").ok
    numbers = "SELECT ?v WHERE { VALUES ?v { 1998 2003 } }"
    assert check("There are 2: 1998 and 2003", numbers).ok
    assert check("1998, 2003, 2004", numbers).extra == ["2004"]
    assert check("1998 and 12003", numbers).missing == ["2003"]
    namespaces = 'SELECT ?n WHERE { VALUES ?n { "http://www.w3.org/ns/prov#" } }'
    assert check("prov: <http://www.w3.org/ns/prov#>", namespaces).ok
    assert (
        check("http://www.w3.org/ns/prov# and http://www.w3.org/2002/07/owl#", namespaces).extra
        != []
    )


def test_an_explanation_leaves_open_what_a_missing_term_decides(check):
    by = "prov:Person, prov:Organization and prov:SoftwareAgent, by prov:wasAssociatedWith"
    found = check(by)
    assert (found.ok, found.open, found.expected) == (False, True, sorted(NAMES))
    assert not check("prov:Person and prov:Organization, by prov:wasAssociatedWith").open
    none = check("None. prov:Person is only the range of prov:actedFor.", NO_SUBS)
    assert (none.ok, none.open) == (False, True)
    assert check("It depends", "ASK { prov:Person a owl:Class }", "boolean").expected == ["yes"]
    assert not check("There are 4", "SELECT (3 AS ?n) {}", "count").open


def test_contains_all_forgives_what_is_more(check):
    assert check(
        "prov:Person, prov:Organization, prov:SoftwareAgent, prov:Plan", compare="contains_all"
    ).ok
    assert check("prov:Person, prov:Plan", compare="contains_all").missing == [
        "prov:Organization",
        "prov:SoftwareAgent",
    ]


def test_long_lists_are_bounded(check):
    found = check("prov:Nothing", "SELECT ?x WHERE { ?x a owl:Class FILTER(isIRI(?x)) }")
    assert (
        len(found.missing) == SHOWN + 1
        and found.missing[-1].startswith("… and ")
        and len(found.reason) < 400
    )


@settings(max_examples=40)
@given(
    st.sets(st.sampled_from([*NAMES, "prov:Plan", "prov:Bundle", "prov:Entity"])),
    st.sampled_from([", ", "\n- ", " and "]),
)
def test_a_set_is_right_only_when_it_is_the_same(prov, names, joint):
    found = check_answer(
        "Found: " + joint.join(sorted(names)), Verify(SUBS, "set"), prov, prov.meta(), QUESTION
    )
    assert found.ok == (names == set(NAMES))
    assert set(found.missing) == set(NAMES) - names and set(found.extra) == names - set(NAMES)


# -- count, boolean, absent
# --------------------------------------------------------------------------------


def test_count(check):
    count = "SELECT (COUNT(DISTINCT ?x) AS ?n) WHERE { ?x rdfs:subClassOf prov:Agent }"
    for query in (count, SUBS):
        assert check("prov:Agent has three direct subclasses.", query, "count").ok
        assert check("3", query, "count").ok
        wrong = check("There are 4.", query, "count")
        assert not wrong.ok and wrong.missing == ["3"] and wrong.extra == ["4"]
        assert not check("prov:Person, prov:Organization, prov:SoftwareAgent", query, "count").ok
        assert not check("3 or 4", query, "count").ok
    assert check("It has none.", NO_SUBS, "count").ok and check("0", NO_SUBS, "count").ok


def test_boolean(check):
    yes = "ASK { prov:Person rdfs:subClassOf prov:Agent }"
    no = "ASK { prov:Person rdfs:subClassOf prov:Plan }"
    row = "SELECT (EXISTS { prov:Person rdfs:subClassOf prov:Agent } AS ?b) WHERE {}"
    for query in (yes, row):
        assert check("Yes, prov:Person is a subclass of prov:Agent.", query, "boolean").ok
        assert (
            not check("No.", query, "boolean").ok and not check("Who knows?", query, "boolean").ok
        )
    assert check("No, it is not.", no, "boolean").ok and not check("Yes", no, "boolean").ok


def test_absent(check):
    query, asked = "ASK { prov:Submarine ?p ?o }", "What is prov:Submarine?"
    assert check("There is no prov:Submarine in this ontology.", query, "absent", asked).ok
    assert check(
        "No term is called Submarine.",
        "SELECT ?x { ?x rdfs:label 'Submarine' }",
        "absent",
        "What is a Submarine?",
    ).ok
    assert not check("prov:Submarine is a class of vessels.", query, "absent", asked).ok
    assert not check("A submarine is a vessel. It has no subclasses.", query, "absent", asked).ok
    named = check("There is no prov:Submarine; take prov:Agent.", query, "absent", asked)
    assert not named.ok and named.extra == ["prov:Agent"]
    near = check(
        "There is no prov:Activty, only prov:Activity.",
        "ASK { prov:Activty ?p ?o }",
        "absent",
        "prov:Activty?",
    )
    assert near.extra == ["prov:Activity"]
    zero = "SELECT (COUNT(*) AS ?n) WHERE { prov:Submarine ?p ?o }"
    assert check("No such thing exists.", zero, "absent", asked).ok


def test_a_query_about_what_is_there_is_denied_by_none(check):
    query = "PREFIX p: <http://www.w3.org/ns/prov#> SELECT ?x { ?x rdfs:domain p:Location ; a ?y }"
    asked = "Which properties start from a place?"
    assert check(
        "No properties do: prov:Location is the domain of none.", query, "absent", asked
    ).ok
    assert check("None have it as their rdfs:domain.", query, "absent", asked).ok
    assert not check("None but prov:Plan.", query, "absent", asked).ok
    assert not check("Plan does. There are none else.", query, "absent", asked).ok


def test_a_fraction_may_be_rounded_to_two_digits(check):
    third = "SELECT (10 / 3 AS ?n) {}"
    assert check("On average 3.33.", third, "count", "How many?").ok
    assert check("The 3 of them have 3.333 each.", third, "count", "How many?").open
    for wrong in ("3.3", "3", "3.34", "3.32", "10"):
        assert not check(wrong, third, "count", "How many?").ok, wrong
    noise = 'SELECT ("111.30000000000001"^^xsd:double AS ?n) {}'
    assert check("111.3 metres", noise, "count", "How far?").ok
    assert not check("111.4 metres", noise, "count", "How far?").ok


@pytest.mark.parametrize("compare", ["set", "contains_all", "count", "boolean", "absent"])
def test_no_answer_is_never_right(check, compare):
    query = {"boolean": "ASK { prov:X a prov:Y }", "absent": "ASK { prov:X a prov:Y }"}.get(
        compare, NO_SUBS
    )
    for answer in ("", " \n", "Not answered: there is no such class, none, 0, no."):
        assert not check(answer, query, compare).ok


# -- a verify that is wrong
# --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sparql", "compare", "error", "said"),
    [
        ("SELECT ?x WHERE {", "set", OntologyError, "."),
        ("DELETE WHERE { ?s ?p ?o }", "set", QueryRefused, "refused"),
        (SUBS, "subset", ValidationError, "'subset': use one of set, contains_all"),
        (SUBS, "boolean", ValidationError, "no ASK"),
        ("ASK { ?s ?p ?o }", "set", ValidationError, "needs a SELECT"),
        ("ASK { ?s ?p ?o }", "count", ValidationError, "needs a SELECT"),
        ("ASK { prov:Agent ?p ?o }", "absent", ValidationError, "finds something"),
        (
            'SELECT ("sNaN"^^xsd:decimal AS ?n) {}',
            "count",
            ValidationError,
            "counts sNaN, which no answer",
        ),
        ('SELECT ("sNaN"^^xsd:decimal AS ?n) {}', "absent", ValidationError, "finds something"),
        ("DESCRIBE prov:Agent", "set", ValidationError, "CONSTRUCT or DESCRIBE"),
        (
            "SELECT ?x WHERE { ?s rdfs:subClassOf ?x FILTER(isBlank(?x)) }",
            "set",
            ValidationError,
            "isIRI",
        ),
        ("SELECT ?a WHERE { ?a ?b ?c . ?d ?e ?f }", "set", ValidationError, "more than"),
    ],
)
def test_a_verify_that_cannot_be_used_says_why(check, prov, sparql, compare, error, said):
    with pytest.raises(error, match=said):
        check("prov:Person", sparql, compare)
    with pytest.raises(error, match=said):
        check_verify(Verify(sparql, compare), prov)
