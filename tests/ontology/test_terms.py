"""Short names for IRIs, and terms as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlm.ontology
from rlm.errors import OntologyError
from rlm.ontology.terms import (
    WELL_KNOWN,
    XSD,
    Prefixes,
    iri,
    literal,
    local_name,
    term_plain,
    term_text,
)

OWN = Prefixes({"ex": "http://example.org/", "deep": "http://example.org/deep#"})


@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("rdfs:label", "http://www.w3.org/2000/01/rdf-schema#label"),
        ("ex:a", "http://example.org/a"),
        ("ex:a/b", "http://example.org/a/b"),
        (r"ex:a\,b", "http://example.org/a,b"),
        ("ex:", "http://example.org/"),
        ("<http://x.org/y>", "http://x.org/y"),
        ("http://x.org/y", "http://x.org/y"),
        ("urn:isbn:123", "urn:isbn:123"),
        ("  ex:a ", "http://example.org/a"),
        ("odd://host/x", "odd://host/x"),
    ],
)
def test_a_name_becomes_an_iri(name, whole):
    assert OWN.expand(name) == whole


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rdsf:label", "or rdfs: (<http://www.w3.org/2000/01/rdf-schema#>)?"),
        ("EX:a", "did you mean ex:"),
        ("zzzzzzzz:a", "bound are ex:, deep:, rdf:"),
        (":a", "the prefix ':' of ':a' is not bound"),
        ("Person", "no IRI and no prefix:name"),
        ("", "no IRI and no prefix:name"),
        ("<a b>", "may not contain ' '"),
        ("<http://x/> . } DROP ALL #>", "may not contain"),
        ("ex:a>", "may not contain '>'"),
        ("<a>", "no absolute IRI"),
        ("ex:a\nb", "may not contain"),
    ],
)
def test_what_is_no_name_is_told_with_a_suggestion(name, said):
    with pytest.raises(OntologyError) as caught:
        OWN.expand(name)
    assert said in str(caught.value)


def test_the_longest_namespace_that_leaves_a_plain_name_is_taken():
    assert OWN.shrink("http://example.org/deep#x") == "deep:x"
    assert OWN.shrink("http://example.org/x") == "ex:x"
    assert OWN.shrink("http://example.org/a/b") == "<http://example.org/a/b>"
    assert OWN.shrink("http://example.org/a.") == "<http://example.org/a.>"
    assert OWN.shrink("http://example.org/") == "<http://example.org/>"
    assert OWN.shrink("http://else.org/x") == "<http://else.org/x>"


def test_the_files_own_prefix_wins_and_the_empty_one_comes_last():
    own = Prefixes(
        {
            "": "http://www.w3.org/ns/prov#",
            "o": "http://www.w3.org/2002/07/owl#",
            "rdf": "http://mine/",
        }
    )
    assert (
        own.shrink("http://www.w3.org/2002/07/owl#Class") == "owl:Class"
    )  # the machinery keeps its name
    assert own.shrink("http://www.w3.org/ns/prov#Agent") == "prov:Agent"
    assert own["rdf"] == "http://mine/" and own[""] == "http://www.w3.org/ns/prov#"
    assert Prefixes({"": "http://a/"}).shrink("http://a/b") == ":b"


@given(st.sampled_from(sorted(WELL_KNOWN)), st.text(max_size=20))
def test_a_short_name_leads_back_to_its_iri(prefix, rest):
    whole = WELL_KNOWN[prefix] + rest
    short = OWN.shrink(whole)
    if not short.startswith("<"):
        assert OWN.expand(short) == whole
    else:
        assert short == f"<{whole}>"


@pytest.mark.parametrize(
    ("whole", "local"),
    [
        ("http://a/b#c", "c"),
        ("http://a/b/c", "c"),
        ("http://a/b/", "b"),
        ("urn:x:y", "y"),
        ("x", "x"),
        ("#", "#"),
    ],
)
def test_the_local_name(whole, local):
    assert local_name(whole) == local


@pytest.mark.parametrize(
    ("term", "text", "plain"),
    [
        (iri("http://example.org/a"), "ex:a", "http://example.org/a"),
        ({"t": "bnode", "v": "b0"}, "_:b0", "_:b0"),
        (literal('two\n"lines"'), '"two\\n\\"lines\\""', 'two\n"lines"'),
        (literal("Käse", lang="de"), '"Käse"@de', "Käse"),
        ({"t": "lit", "v": "x", "lang": "ar", "dir": "rtl"}, '"x"@ar--rtl', "x"),
        (literal("12", datatype=XSD + "integer"), "12", "12"),
        (literal("many", datatype=XSD + "integer"), '"many"^^xsd:integer', "many"),
        (literal("true", datatype=XSD + "boolean"), "true", "true"),
        (literal("2020-01-01", datatype=XSD + "date"), '"2020-01-01"^^xsd:date', "2020-01-01"),
        (literal("x", datatype=XSD + "string"), '"x"', "x"),
        (
            {
                "t": "triple",
                "v": [iri("http://example.org/a"), iri("http://example.org/b"), literal("c")],
            },
            '<<( ex:a ex:b "c" )>>',
            '<<( <http://example.org/a> <http://example.org/b> "c" )>>',
        ),
    ],
)
def test_a_term_as_text(term, text, plain):
    assert term_text(term, OWN) == text
    assert term_plain(term) == plain


def test_an_iri_that_looks_like_text_stays_apart_from_text():
    assert term_text(literal("ex:a"), OWN) != term_text(iri("http://example.org/a"), OWN)


@pytest.mark.parametrize("order", [("ns3", "rdfs"), ("rdfs", "ns3")])
def test_of_two_prefixes_for_one_namespace_the_well_known_is_taken(order):
    prefixes = Prefixes(dict.fromkeys(order, WELL_KNOWN["rdfs"]))
    assert prefixes.shrink(WELL_KNOWN["rdfs"] + "subClassOf") == "rdfs:subClassOf"
    assert prefixes.expand("ns3:label") == WELL_KNOWN["rdfs"] + "label"


@pytest.mark.parametrize(
    ("local", "short"), [("a.b", True), ("v1.2.3", False), ("a.b.c", False), ("DCC.S1", True)]
)
def test_a_short_name_is_one_that_the_engine_can_read(local, short):
    shown = OWN.shrink(f"http://example.org/{local}")
    assert shown == (f"ex:{local}" if short else f"<http://example.org/{local}>")


_PIECES = st.sampled_from(
    ("http://a/", "http://a/b#", "http://a/b/", "http://www.w3.org/2002/07/owl#", "http://a/bc")
)


@given(
    st.dictionaries(st.sampled_from(("", "p", "q", "r", "owl", "rdf")), _PIECES),
    _PIECES,
    st.text("ab.c#/", max_size=4),
)
def test_a_short_form_is_the_one_that_looking_at_every_prefix_finds(given_, start, rest):
    prefixes, iri = Prefixes(given_, well_known=False), start + rest
    assert prefixes.shrink(iri) == _by_looking(prefixes, iri)


def _by_looking(prefixes, iri):
    best, chosen = "", None
    for prefix, namespace in prefixes.items():
        longer = len(namespace) > len(best) or (
            namespace == best and prefix in ("rdf", "rdfs", "owl", "xsd")
        )
        if (
            longer
            and iri.startswith(namespace)
            and Prefixes({"p": namespace}, well_known=False).shrink(iri)[0] == "p"
        ):
            best, chosen = namespace, prefix
    return f"<{iri}>" if chosen is None else f"{chosen}:{iri[len(best) :]}"


def test_a_file_that_binds_nothing_is_read_with_the_prefixes_that_people_know(tmp_path):
    names = {
        "gr:Offering": "http://purl.org/goodrelations/v1#Offering",
        "crm:E21_Person": "http://www.cidoc-crm.org/cidoc-crm/E21_Person",
    }
    is_class = (
        "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/2002/07/owl#Class>"
    )
    lines = [f"<{iri}> {is_class} .\n" for iri in names.values()]
    (tmp_path / "x.nt").write_text("".join(lines))
    with rlm.ontology.open(tmp_path / "x.nt", cache_dir=tmp_path) as onto:
        assert [onto.describe(name)["curie"] for name in names] == list(names)
        with pytest.raises(OntologyError, match="or write the whole IRI, as <http://"):
            onto.describe("zzzz:Thing")
    (tmp_path / "y.ttl").write_text(
        f"@prefix good: <http://purl.org/goodrelations/v1#> . {lines[0]}"
    )
    with rlm.ontology.open(tmp_path / "y.ttl", cache_dir=tmp_path) as onto:
        assert onto.describe("gr:Offering")["curie"] == "good:Offering"  # its own comes first
