"""Words, tokens, grams and queries, held against the real FTS5.

No code point is excluded from the comparison: the tables of unicode61 are copied as measured and do
not depend on the Unicode version of the Python that runs. Only lone surrogates are left out, as
they cannot be encoded and so never reach SQLite; a test of their own says what becomes of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.retrieval.tokens import (
    STOPWORDS,
    Query,
    fts5_match,
    grams,
    parse_query,
    tokens,
    words,
)

CHECK = settings(deadline=None, database=None, max_examples=100)

NASTY = [
    "",
    " \t\n\x0b\x1c\x85\u2028",
    "\0",
    "before\0after",
    "\ud800 lone \udfff",
    '"',
    '""" OR "',
    "a AND b OR NOT c NEAR(d, 2)",
    "title : x",
    "{title content} : y",
    "- + ^ * ( ) { } [ ] : ; ' \\ / ~ ` ? ! % _",
    "col:*",
    "^start",
    "pre*",
    "NEAR NEAR NEAR",
    "NOT",
    "'; DROP TABLE notes; --",
    "👩‍👩‍👧‍👦 🤖 🚀 🫠",
    "a\u0301\u0323 \u0301 n\u0303 \u0e34",
    "ﷺ ﬁne İstanbul ŉ ẞ ß ǆ Ⅷ ½ ²",
    "नमस्ते दुनिया",
    "使用Python编程",
    "\ufffe\uffff\ufffd\U0010ffff",
    "x" * 40_000,
    "漢" * 25_000,
    "w " * 30_000,
]

MIXED = st.text(
    st.sampled_from(
        "aeiousdtgyABZ019_-'\" \0\n\u0301\u0308\u0304\u0302é\u00dfİŞſΣςĄøत漢字かกิ한🤖🚀²½"
    )
)
ANY_TEXT = st.one_of(st.text(), MIXED)


@pytest.fixture(scope="module")
def db() -> Iterator[apsw.Connection]:
    connection = apsw.Connection(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE notes USING fts5(title, content, tokenize = 'porter unicode61');"
        "CREATE VIRTUAL TABLE seen USING fts5vocab(notes, instance)"
    )
    yield connection
    connection.close()


def fts5_words(db: apsw.Connection, text: str, name: str = "unicode61") -> list[str]:
    tokenizer = db.fts5_tokenizer(name, ["unicode61"] if name == "porter" else [])
    found = tokenizer(
        text.encode(),
        apsw.FTS5_TOKENIZE_DOCUMENT,
        None,
        include_offsets=False,
        include_colocated=False,
    )
    return [word for word in found if isinstance(word, str)]


# words and tokens


@pytest.mark.req("RB-04")
@CHECK
@given(ANY_TEXT)
@example("Don't re-use MAX_RETRIES")
@example("e\u0301a\u0323\u0301 \u0301x")
@example("aतing")
def test_tokens_are_those_of_fts5(db: apsw.Connection, text: str) -> None:
    assert words(text) == fts5_words(db, text)
    assert tokens(text) == fts5_words(db, text, "porter")


@pytest.mark.req("RB-04")
@CHECK
@given(ANY_TEXT)
@example("before\0after the NUL")
def test_tokens_are_those_in_a_real_index(db: apsw.Connection, text: str) -> None:
    """By way of a table, where FTS5 also sees NUL bytes; U+FFFD stands for letters that it cut in
    half."""
    with db:
        db.execute("INSERT INTO notes(content) VALUES (?)", (text,))
        indexed = db.execute("SELECT CAST(term AS BLOB) FROM seen ORDER BY offset").fetchall()
        db.execute("DELETE FROM notes")
    assert tokens(text) == [
        term.decode(errors="replace") for (term,) in indexed if isinstance(term, bytes)
    ]


@pytest.mark.req("RB-04")
@CHECK
@given(ANY_TEXT)
def test_words_read_again_are_the_same_words(text: str) -> None:
    """What is handed to FTS5 in quotes has already been folded, and is folded there again."""
    assert words(" ".join(words(text))) == words(text)


def test_lone_surrogates_separate() -> None:
    assert words("left\ud83dright \udc00") == ["left", "right"]


# grams


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GraphMeta", "graph meta"),
        ("HTTPServer2", "http server 2"),
        ("camelCase parseURLs userIDs", "camel case parse urls user ids"),
        ("snake_caseName", "case name"),
        ("utf8 sha256sum", "utf 8 sha 256 sum"),
        ("pos2", "pos 2"),
        ("V2", "v 2"),
        ("getX GetX getX", "get x"),
        ("naïveBayes", "naive bayes"),
        ("数据库", "数据 据库"),
        ("字", "字"),
        ("数据 库", "数据 库"),
        ("ひらがなカナ", "ひら らが がな なカ カナ"),
        ("か\u3099く", "がく"),
        ("데이터", "데이 이터"),
        ("กินข้าว", "กน นข ขา าว"),
        ("ພາສາ", "ພາ າສ ສາ"),
        ("ខ្មែរ", "ខម មរ"),
        ("မြန်မာ", "မန နမ"),
        ("使用Python3编程", "使用 python3 python 3 编程"),
        ("ship it🤖", "it 🤖"),
        ("🤖🧠", "🤖 🧠"),
    ],
)
def test_grams(text: str, expected: str) -> None:
    assert grams(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Open the order page, then press Cancel. It takes 3 to 5 days; see step 2.",
        "NASA and the WHO publish PDFs, URLs and APIs.",
        "snake_case MAX_RETRIES kebab-case 3rd 10am 2FA 2024-01-05T10:00:00Z",
        "“Curly quotes” — and a café in São Paulo, ÉCOLE",
        "Привет мир, नमस्ते, Γειά",
        "a1b2c3d4e5f6a7b8c9d0",
        "Deploy 🚀 now",
    ],
)
def test_ordinary_text_has_no_grams(text: str) -> None:
    assert grams(text) == ""


@CHECK
@given(ANY_TEXT)
@example("数据库" * 3000)
@example(" ".join(f"nameOf{number}" for number in range(2000)))
@example("a" * 5000 + "漢")
def test_grams_are_words_to_fts5_each_once_and_bounded(db: apsw.Connection, text: str) -> None:
    found = grams(text)
    assert found == " ".join(fts5_words(db, found))
    assert len(set(found.split())) == len(found.split())
    assert len(found) <= 4096


def test_repeats_take_no_room() -> None:
    assert grams("getX " * 3000 + "lateName") == "get x late name"


def test_what_is_too_long_or_too_late_gives_no_grams() -> None:
    assert grams("x" * 5000 + "漢 getX") == "漢 get x"
    assert grams("x " * 50_000 + "lateName") == ""


def test_long_text_fills_its_grams() -> None:
    text = "".join(map(chr, range(0x4E00, 0x8000)))
    assert 4090 <= len(grams(text)) <= 4096


# queries


@CHECK
@given(ANY_TEXT | st.text(st.characters(categories=["Cs", "L", "S"])), st.integers(-1, 12))
def test_any_string_is_a_query(text: str, max_terms: int) -> None:
    query = parse_query(text, max_terms)
    assert len(query.terms) <= max(max_terms, 0)
    assert len(set(query.terms)) == len(query.terms)
    assert len(query.stops) <= max(max_terms, 0)
    assert list(query.spelled) == [*query.terms, *query.stops]
    assert set(query.counts) == set(query.terms)
    assert [tokens(word) for word in query.spelled.values()] == [[term] for term in query.spelled]
    assert vars(query) == vars(parse_query(text, max_terms))


@CHECK
@given(ANY_TEXT)
def test_any_string_can_be_matched_and_finds_itself(db: apsw.Connection, text: str) -> None:
    expression = fts5_match(parse_query(text))
    assert (expression is None) == (not words(text) and not grams(text))
    if expression is None:
        return
    with db:
        db.execute("INSERT INTO notes(title, content) VALUES (?, ?)", (text, grams(text)))
        found = db.execute("SELECT count(*) FROM notes WHERE notes MATCH ?", (expression,)).get
        db.execute("DELETE FROM notes")
    assert found == 1


@all_cases("text", NASTY, ids=lambda text: ascii(text[:16]))
@all_cases("columns", [(), ("content",), ("title", "content")], ids=len)
def test_nasty_strings_match_without_an_error(
    db: apsw.Connection, text: str, columns: tuple[str, ...]
) -> None:
    sql = "SELECT rowid FROM notes WHERE notes MATCH ?"
    for wanted in (
        parse_query(text),
        parse_query(text, max_terms=5000),
        text,
        [text],
        [text, text],
    ):
        expression = fts5_match(wanted, columns)
        if expression is not None:
            assert db.execute(sql, (expression,)).fetchall() == []


def test_terms_are_distinct_stems_in_order_with_counts() -> None:
    query = parse_query("How do I cancel the Orders? Cancelling an order in GraphMeta")
    assert query.terms == ("cancel", "order", "graphmeta", "graph", "meta")
    assert query.spelled["order"] == "orders"
    assert query.counts == {"cancel": 2, "order": 2, "graphmeta": 1, "graph": 1, "meta": 1}


def test_stopwords_stay_when_nothing_else_is_left() -> None:
    assert parse_query("what is this").terms == ("what", "is", "thi")
    assert parse_query("what is this order").terms == ("order",)
    assert vars(parse_query(" ... ")) == vars(Query(" ... ", (), {}, {}))


def test_stopwords_are_remembered_beside_the_terms() -> None:
    query = parse_query("How do I cancel orders in GraphMeta or another graph?")
    assert query.terms == ("cancel", "order", "graphmeta", "graph", "meta")
    assert query.stops == ("how", "do", "i", "in", "or", "anoth")
    assert query.spelled["anoth"] == "another"
    assert query.parts == {"meta"}
    assert not query.only_stops
    assert fts5_match(query) == '"cancel" OR "orders" OR "graphmeta" OR "graph" OR "meta"'


def test_a_query_of_stopwords_says_so() -> None:
    query = parse_query("what is this")
    assert (query.stops, query.only_stops) == ((), True)
    assert not parse_query("").only_stops
    assert parse_query("what is this", 1).stops == ()
    assert parse_query("how to do it: cancel", -1).stops == ()


def test_too_many_terms_keep_the_frequent_then_the_long_then_the_early() -> None:
    assert parse_query("pen window cat dog cat calendar", 3).terms == ("window", "cat", "calendar")
    assert parse_query("bbb aaa ccc", 2).terms == ("bbb", "aaa")
    assert len(parse_query(" ".join(f"w{number}" for number in range(500))).terms) == 64


def test_only_the_start_of_a_long_text_is_read() -> None:
    query = parse_query("cancel " * 2857 + " refund")
    assert len(query.text) == 20_000
    assert query.terms == ("cancel",)


def test_stopwords_are_words_and_leave_what_decides() -> None:
    assert 130 <= len(STOPWORDS) <= 180
    assert all(words(word) == [word] for word in STOPWORDS)
    deciding = [
        "not",
        "no",
        "without",
        "all",
        "first",
        "last",
        "most",
        "between",
        "before",
        "after",
    ]
    assert STOPWORDS.isdisjoint(deciding)
    assert set(words("don't i've what how which who when where why please the")) <= STOPWORDS


def test_match_expressions() -> None:
    assert fts5_match(parse_query("cancel AND orders")) == '"cancel" OR "orders"'
    assert (
        fts5_match(["a", 'say "hi"'], ("title", "content"))
        == '{title content} : ("a" OR "say ""hi""")'
    )
    assert fts5_match("Cancel the order") == '"cancel" OR "order"'
    assert fts5_match([]) is None
    assert fts5_match(parse_query("?!"), ("title",)) is None


def test_a_column_filter_looks_nowhere_else(db: apsw.Connection) -> None:
    sql = "SELECT count(*) FROM notes WHERE notes MATCH ?"
    with db:
        db.execute("INSERT INTO notes(title, content) VALUES ('refunds', 'cancelling')")
        found = [
            db.execute(sql, (fts5_match("refund OR cancelled", columns),)).get
            for columns in [(), ("title",), ("content",)]
        ]
        missed = db.execute(sql, (fts5_match("refund", ("content",)),)).get
        db.execute("DELETE FROM notes")
    assert found == [1, 1, 1]
    assert missed == 0


# speed: the best of several runs, so that a busy machine does not fail them


@pytest.mark.parametrize(
    "text",
    ["x" * 2**20, "漢字" * 2**19, "\u0300\u0323" * 2**19, "aB1 " * 2**18, "🤖a" * 2**19],
    ids=["one word", "han", "marks", "identifiers", "emoji"],
)
def test_a_megabyte_query_is_cut_before_it_is_read(text: str) -> None:
    query = parse_query(text)
    assert len(query.text) <= 20_000
    assert len(query.terms) <= 64
