"""The guard lets reading queries pass and stops everything else, whatever way an engine reads the
text."""

from __future__ import annotations

import contextlib
import time

import pytest
from corpus_hostile import CALLS, CLOSED, HOSTILE, PREFIXES, Hostile
from corpus_queries import DATA, QUERIES, Query
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, Store

from all_cases import all_cases
from rlm.errors import QueryRefused
from rlm.ontology.query.guard import check_query
from rlm.ontology.query.lexer import (
    BNODE,
    IRI,
    LANG,
    NUMBER,
    PNAME,
    PUNCT,
    STRING,
    VAR,
    WORD,
    tokenize,
)


def test_the_corpora_are_large_enough() -> None:
    names = [hostile.name for hostile in HOSTILE]
    assert len(names) >= 50
    assert len(set(names)) == len(names)
    assert len(QUERIES) >= 60


@all_cases("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_hostile_queries_are_refused_at_once(hostile: Hostile) -> None:
    started = time.monotonic()
    with pytest.raises(QueryRefused) as caught:
        check_query(hostile.text)
    assert time.monotonic() - started < 10
    message = str(caught.value)
    assert hostile.says.lower() in message.lower()
    assert len(message) < 400
    assert "; " in message  # what is wrong; what to do


@all_cases("query", QUERIES, ids=lambda query: query.name)
def test_good_queries_pass(query: Query) -> None:
    checked = check_query(query.text)
    assert checked.text == query.text
    assert checked.kind in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
    assert checked.kind in query.text.upper()
    for token in checked.tokens:
        assert query.text[token.start : token.end] == token.text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "SELECT * {" + "{" * 39 + "}" * 39 + "}",
        "SELECT * { ?s ?p (((1))) , [ ?a [ ?b 1 ] ] }",
        "SELECT * { VALUES ?x { " + "<urn:a> " * 2_000 + "} }",
        "SELECT ?s { ?s (<urn:p>*)*/<urn:q>+ ?o }",
        "SELECT (SUM(?a)-MIN(?b) AS ?x) { ?s ?a ?b FILTER(!BOUND(?a)||!(?b=1)) }",
        "PREFIX service: <urn:s> SELECT * { GRAPH service:g { ?s service:p ?o } }",
        "PREFIX from: <urn:s> SELECT * { ?s from:p from:o }",
        'VERSION "1.2" SELECT * { <<( ?s ?p ?o )>> ?q ?r . ?s ?p ?o {| ?a ?b |} }',
        "SELECT ('\\u00e9\\U0001F986' AS ?x) (<http://e.test/\\u00e9> AS ?y) {} # \\u00e9",
    ],
)
def test_what_is_unusual_but_harmless_passes(text: str) -> None:
    assert check_query(text).text == text


def test_the_place_is_named() -> None:
    with pytest.raises(QueryRefused, match=r"line 3, column 4: SERVICE .*; ask each endpoint"):
        check_query("SELECT *\n{ ?s ?p ?o\n   SERVICE <urn:x> {} }")
    with pytest.raises(QueryRefused, match=r"line 2, column 1: \{ is never closed"):
        check_query("ASK\n{ ?s ?p ?o")


def test_the_caps_can_be_set() -> None:
    with pytest.raises(QueryRefused, match="12 characters, at most 11"):
        check_query("SELECT * { }", max_chars=11)
    assert check_query("SELECT * { }", max_chars=12, max_depth=1).kind == "SELECT"
    with pytest.raises(QueryRefused, match="deeper than 1 "):
        check_query("SELECT * {{}}", max_depth=1)


def test_every_kind_of_token() -> None:
    text = """SELECT ?a $b1 ex:c.d\\-e%41 :f ex: _:g.h <urn:i#> "j\\"" '''k'l''' @en-GB-x 1 .5 1.5e-3 . << >= a.b:c"""
    found = [(token.kind, token.text) for token in tokenize(text)]
    kinds = [
        WORD,
        VAR,
        VAR,
        PNAME,
        PNAME,
        PNAME,
        BNODE,
        IRI,
        STRING,
        STRING,
        LANG,
        NUMBER,
        NUMBER,
        NUMBER,
    ]
    assert found == list(zip([*kinds, PUNCT, PUNCT, PUNCT, PNAME], text.split(), strict=True))


def test_a_dot_ends_a_name() -> None:
    found = [(token.kind, token.text) for token in tokenize("a.:b ex:c. _:d..")]
    assert found[:3] == [(WORD, "a"), (PUNCT, "."), (PNAME, ":b")]
    assert [text for _, text in found[3:]] == ["ex:c", ".", "_:d", ".", "."]


@given(st.text(max_size=200))
def test_tokens_and_what_is_between_are_the_text(text: str) -> None:
    try:
        tokens = tokenize(text)
    except QueryRefused:
        return
    position = 0
    for token in tokens:
        between = text[position : token.start]
        assert not between.strip(" \t\r\n") or between.lstrip(" \t\r\n").startswith("#")
        assert text.startswith(token.text, token.start)
        assert token.text
        position = token.end


_STRINGS = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40)


@given(_STRINGS, st.sampled_from(['"', "'", '"""', "'''"]))
def test_nothing_inside_a_string_is_seen(content: str, quote: str) -> None:
    inside = content.replace("\\", "\\\\").replace('"', '\\"').replace("'", "\\'")
    assume("\\u" not in inside.lower())
    literal = f"{quote}{inside}{quote}"
    tokens = tokenize(f"SELECT ({literal} AS ?x) {{}}")
    assert [token.kind for token in tokens] == [WORD, PUNCT, STRING, WORD, VAR, PUNCT, PUNCT, PUNCT]
    assert tokens[2].text == literal


@given(_STRINGS)
def test_nothing_inside_a_comment_is_seen(content: str) -> None:
    assume("\\u" not in content.lower())
    assert [token.text for token in tokenize(f"ASK # {content}\n{{}}")] == ["ASK", "{", "}"]


_UNITS = [
    *(
        "(",
        "a.",
        "a",
        ":",
        "ex:a.",
        "ex:",
        "_:a.",
        "_:",
        "'",
        '"',
        '"a\\"',
        "<",
        "<a",
        "<<",
        "< <",
        "1.",
        "1e",
        "%41",
        "@a-",
    ),
    *(
        "#",
        "\\u0041",
        "'\\'",
        "?",
        "ex:a....",
        "1<",
        "PREFIX a:<#>",
        ":a <#> ",
        "a:<a>",
        "ex:%",
        '"""""',
        "....",
        "-",
        "é",
    ),
]


@all_cases("unit", _UNITS)
@all_cases("head", ["SELECT * { ", "SELECT * { <"])
def test_no_repetition_takes_long(head: str, unit: str) -> None:
    """What is quadratic takes several times as long."""
    started = time.process_time()
    with contextlib.suppress(QueryRefused):
        tokenize(head + unit * (20_000 // len(unit)))
    assert time.process_time() - started < 1.0


@given(st.lists(st.sampled_from(_UNITS), min_size=1, max_size=6), st.integers(1, 2_000))
@settings(max_examples=60)
def test_no_mixture_takes_long(units: list[str], times: int) -> None:
    started = time.process_time()
    with contextlib.suppress(QueryRefused):
        tokenize("SELECT * { " + "".join(units) * times)
    assert time.process_time() - started < 4


@pytest.fixture(scope="module")
def engine() -> Store:
    store = Store()
    store.load(DATA.encode(), RdfFormat.TURTLE)
    store.load(b"<http://e.test:> <http://e.test:> <http://e.test:>, 1 .", RdfFormat.TURTLE)
    return store


def _calls_out(engine: Store, text: str) -> bool:
    try:
        list(engine.query(text))
    except SyntaxError:
        return False
    except OSError:
        return True
    except RuntimeError as exc:
        return "service" in str(exc).lower()
    return False


def test_the_calls_are_no_blanks(engine: Store) -> None:
    """Without the guard most of them do call: silent ones hide it, some are never evaluated."""
    calling = {hostile.name for hostile in CALLS if _calls_out(engine, hostile.text)}
    assert {
        "service",
        "read as a name by the grammar",
        "glued to a name",
        "an IRI that opens a comment",
    } <= calling
    assert len(calling) >= 15


_PIECES = [
    *(
        "SERVICE",
        "service ",
        CLOSED,
        "?x",
        ":x",
        "ex:x",
        "odd:",
        "odd:SERVICE",
        "urn:a",
        "1",
        "1<",
        "<",
        "<<",
        ">",
        ">>",
        "<#>",
    ),
    *(
        "<urn:a#>",
        "<'>",
        "#",
        "#>",
        "\n",
        "\r",
        " ",
        "'",
        '"',
        '"""',
        "\\u0022",
        "\\u000a",
        "\\",
        "{}",
        "{?s ?p ?o}",
        "{",
        "}",
    ),
    *(
        "(",
        ")",
        "2)",
        "FILTER(",
        "FILTER(1<",
        "?s ?p ",
        "?s ?p ?o",
        ".",
        ";",
        ",",
        "OPTIONAL",
        "EXISTS",
        "GRAPH",
        "true",
        "@en",
    ),
    *("_:a", "^^", "/", "[", "]", "*", f"VALUES ?x {{{CLOSED}}}", f"BIND({CLOSED} AS ?x)"),
]
_CALLS = [hostile.text.removeprefix(PREFIXES) for hostile in CALLS]


@given(
    st.sampled_from(_CALLS),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(_PIECES), st.integers(0, 3)), max_size=4),
)
@example(_CALLS[0], [])
@settings(max_examples=150)
def test_nothing_that_passes_calls_out(
    engine: Store, call: str, edits: list[tuple[float, str, int]]
) -> None:
    """Calls, cut and patched at random: what the guard lets pass does not make pyoxigraph open a
    connection."""
    for where, piece, cut in edits:
        at = int(where * len(call))
        call = call[:at] + piece + call[at + cut :]
    text = PREFIXES + call
    try:
        check_query(text)
    except QueryRefused:
        return
    assert not _calls_out(engine, text)
