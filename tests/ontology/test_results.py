"""What an endpoint answers, read: JSON results and N-Triples, good and bad."""

from __future__ import annotations

import json

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import EndpointError
from rlm.ontology.remote.results import (
    read_boolean,
    read_rows,
    read_triples,
    readable_text,
)

XSD = "http://www.w3.org/2001/XMLSchema#"


def results(*bindings, names=("x",)):
    return json.dumps(
        {"head": {"vars": list(names)}, "results": {"bindings": list(bindings)}}
    ).encode()


def test_every_kind_of_term():
    one = {
        "i": {"type": "uri", "value": "http://e/a"},
        "b": {"type": "bnode", "value": "genid-77"},
        "p": {"type": "literal", "value": "plain"},
        "s": {"type": "literal", "value": "plain", "datatype": XSD + "string"},
        "l": {"type": "literal", "value": "Boot", "xml:lang": "de-AT"},
        "n": {"type": "typed-literal", "value": "3", "datatype": XSD + "integer"},
        "stray": {"type": "uri", "value": "http://e/not-in-the-head"},
    }
    variables, rows, more = read_rows(results(one, {"b": one["b"]}, {}, names="ibpslnu"), 10)
    assert variables == list("ibpslnu")
    assert not more
    assert rows == [
        {
            "i": {"t": "iri", "v": "http://e/a"},
            "b": {"t": "bnode", "v": "b0"},
            "p": {"t": "lit", "v": "plain"},
            "s": {"t": "lit", "v": "plain"},
            "l": {"t": "lit", "v": "Boot", "lang": "de-at"},
            "n": {"t": "lit", "v": "3", "dt": XSD + "integer"},
        },
        {"b": {"t": "bnode", "v": "b0"}},
        {},
    ]


def test_a_triple_as_a_term_and_only_so_deep():
    part = {"type": "uri", "value": "http://e/a"}
    deep = {"type": "triple", "value": {"subject": part, "predicate": part, "object": part}}
    _, [row], _ = read_rows(results({"x": deep}), 10)
    assert row["x"] == {"t": "triple", "v": [{"t": "iri", "v": "http://e/a"}] * 3}
    for _ in range(50):
        deep = {"type": "triple", "value": {"subject": part, "predicate": part, "object": deep}}
    with pytest.raises(EndpointError, match="deep"):
        read_rows(results({"x": deep}), 10)


def test_rows_beyond_the_limit_are_told():
    many = [{"x": {"type": "literal", "value": str(n)}} for n in range(5)]
    _, rows, more = read_rows(results(*many), 3)
    assert [row["x"]["v"] for row in rows] == ["0", "1", "2"]
    assert more
    assert not read_rows(results(*many), 5)[2]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"head": {"vars": ["x"]}}',
        b'{"results": {"bindings": []}}',
        b'{"head": {}, "results": {"bindings": []}}',
        b'{"head": {"vars": "x"}, "results": {"bindings": []}}',
        b'{"head": {"vars": [1]}, "results": {"bindings": []}}',
        b'{"head": {"vars": ["x"]}, "results": {"bindings": {}}}',
        b'{"head": {"vars": ["x"]}, "results": []}',
        results("row"),
        results({"x": "http://e/a"}),
        results({"x": {"type": "uri"}}),
        results({"x": {"type": "uri", "value": 1}}),
        results({"x": {"type": "alien", "value": "a"}}),
        results({"x": {"type": "literal", "value": "a", "xml:lang": 1}}),
        results({"x": {"type": "triple", "value": "a"}}),
        results({"x": {"type": "triple", "value": {"subject": None}}}),
        results(names=[str(n) for n in range(2000)]),
    ],
)
def test_what_is_no_result_is_an_error(body):
    with pytest.raises(EndpointError, match="the answer is"):
        read_rows(body, 10)


def test_ask():
    assert read_boolean(b'{"head": {}, "boolean": true}') is True
    assert read_boolean(b'{"head": {}, "boolean": false}') is False
    for body in (b"{}", b'{"boolean": "true"}', b'{"boolean": 1}', results()):
        with pytest.raises(EndpointError):
            read_boolean(body)


# -- N-Triples
# -------------------------------------------------------------------------------------------

TEXT = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)
IRIS = st.builds(
    lambda tail: pyoxigraph.NamedNode("http://e/" + tail), st.text("aZ09-._~/?é漢😀", max_size=10)
)
LITERALS = st.one_of(
    st.builds(pyoxigraph.Literal, TEXT),
    st.builds(lambda text, iri: pyoxigraph.Literal(text, datatype=iri), TEXT, IRIS),
    st.builds(lambda text: pyoxigraph.Literal(text, language="en-gb"), TEXT),
)
BNODES = st.builds(pyoxigraph.BlankNode, st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True))


def as_term(node, names):
    if isinstance(node, pyoxigraph.NamedNode):
        return {"t": "iri", "v": node.value}
    if isinstance(node, pyoxigraph.BlankNode):
        return {"t": "bnode", "v": names.setdefault(node.value, f"b{len(names)}")}
    if node.language:
        return {"t": "lit", "v": node.value, "lang": node.language}
    plain = node.datatype.value == XSD + "string"
    return {"t": "lit", "v": node.value, **({} if plain else {"dt": node.datatype.value})}


@given(
    st.lists(
        st.builds(pyoxigraph.Triple, IRIS | BNODES, IRIS, IRIS | BNODES | LITERALS), max_size=5
    )
)
def test_what_a_real_serialiser_writes_is_read_back(triples):
    body = pyoxigraph.serialize(triples, format=pyoxigraph.RdfFormat.N_TRIPLES)
    names: dict[str, str] = {}
    expected = []
    for triple in dict.fromkeys(map(str, triples)):
        found = next(t for t in triples if str(t) == triple)
        expected.append(
            tuple(as_term(node, names) for node in (found.subject, found.predicate, found.object))
        )
    got, more = read_triples(body, 100)
    assert not more
    assert {_shape(t) for t in got} == {_shape(t) for t in expected}
    assert len(got) == len(expected)


def _shape(triple):
    return json.dumps(
        [{**term, "v": "_"} if term["t"] == "bnode" else term for term in triple], sort_keys=True
    )


LINES = st.lists(
    st.sampled_from(
        [
            "<http://e/a>",
            "<a b>",
            "<http://e/\\u00e9>",
            "_:b",
            '"x"',
            '"x\\"',
            '"\\n"',
            "@en",
            "^^",
            ".",
            "#c",
            " ",
            '"',
            "\n",
        ]
    ),
    max_size=9,
).map("".join)


@given(LINES)
def test_it_takes_nothing_that_a_real_parser_refuses(text):
    try:
        got, _ = read_triples(text.encode(), 100)
    except EndpointError:
        return
    real = {str(quad) for quad in pyoxigraph.parse(text, format=pyoxigraph.RdfFormat.N_TRIPLES)}
    assert len(got) == len(real)


def test_escapes_comments_and_line_ends():
    body = (
        b"# a comment\r\n\r\n"
        b'<http://e/a> <http://e/p> "t\\tq\\"b\\\\ \\u00e9\\U0001F600" . # why\r\n'
        b"  _:x\t<http://e/p>_:x .\n<http://e/a><http://e/p><http://e/\\u00e9>.\r"
        b'<http://e/a> <http://e/p> "Boot"@de-AT .'
    )
    triples, more = read_triples(body, 10)
    assert not more
    assert [t[2] for t in triples] == [
        {"t": "lit", "v": 't\tq"b\\ é😀'},
        {"t": "bnode", "v": "b0"},
        {"t": "iri", "v": "http://e/é"},
        {"t": "lit", "v": "Boot", "lang": "de-at"},
    ]
    assert triples[1][0] == triples[1][2]


def test_repeated_triples_count_once_and_more_is_told():
    line = b"<http://e/a> <http://e/p> <http://e/%d> .\n"
    body = line % 1 + line % 1 + line % 2 + line % 1
    assert (len(read_triples(body, 2)[0]), read_triples(body, 2)[1]) == (2, False)
    assert (len(read_triples(body, 1)[0]), read_triples(body, 1)[1]) == (1, True)


@pytest.mark.parametrize(
    "body",
    [
        b"@prefix e: <http://e/> .",
        b"<http://e/a> a <http://e/b> .",
        b"<http://e/a> _:p <http://e/b> .",
        b'"x" <http://e/p> <http://e/b> .',
        b"<http://e/a> <http://e/p> <http://e/b>",
        b"<http://e/a> <http://e/p> <http://e/b> . <http://e/a> <http://e/p> <http://e/c> .",
        b'<http://e/a> <http://e/p> "no end .',
        b'<http://e/a> <http://e/p> "bad \\q escape" .',
        b'<http://e/a> <http://e/p> "\\uD800" .',
        b'<http://e/a> <http://e/p> "\\U00110000" .',
        b"<<( <http://e/a> <http://e/p> <http://e/b> )>> <http://e/p> <http://e/b> .",
        b"<http://e/a> <http://e/p> " + b"<<( <http://e/a> <http://e/p> " * 50_000,
        b"\xff\xfe<",
        b'{"head": {}}',
        b"<?xml version='1.0'?><rdf:RDF/>",
    ],
)
def test_what_is_no_n_triples_is_an_error(body):
    with pytest.raises(EndpointError, match=r"the answer (is not|has)"):
        read_triples(body, 10)


def test_a_long_literal_takes_linear_time():
    body = b'<http://e/a> <http://e/p> "' + b'\\"\\\\x' * 400_000 + b'" .'
    [(_, _, value)], _ = read_triples(body, 10)
    assert len(value["v"]) == 1_200_000
    with pytest.raises(EndpointError):
        read_triples(body[:-3], 10)


# -- strangers' words
# ------------------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_words_of_a_stranger_become_one_printable_line(body):
    line = readable_text(body, 50)
    assert len(line) <= 50
    assert line.isprintable()


def test_words_are_cut_and_hold_no_controls():
    assert readable_text("\x1b[31mno\u202esuch\r\n\tthing\x00".encode()) == "[31mno such thing"
    assert readable_text(b"x" * 1000) == "x" * 299 + "…"
