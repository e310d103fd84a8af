"""Parts of any handle: right, bounded, and measured."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.errors import HandleError, RLMError, ValidationError
from rlm.handles import Meter, Store, View
from rlm.loop.trace import render_value
from rlm.tools import ctx_tools
from rlm.tools.ctx import FIND_CHARS, FIND_HITS, HIT_CHARS, PART_CHARS

STATS_CHARS = 1000
"""What `ctx_stats` returns at most, whatever it is asked about."""


@pytest.fixture
def box(payloads, meter):
    return ctx_tools(payloads, meter)


@pytest.fixture
def call(box):
    return lambda name, *args, **kw: box.functions[name](*args, **kw)


def test_peek_shows_both_ends(call, payloads):
    ref = payloads.put("".join(f"{n:04}" for n in range(1000)))
    assert call("ctx_peek", ref, 8) == "00000001\n[… 3,984 characters …]\n09980999"
    assert call("ctx_peek", ref.key) == call("ctx_peek", ref, n=200)
    assert len(call("ctx_peek", ref)) == 400 + len("\n[… 3,600 characters …]\n")
    assert call("ctx_peek", View(ref.key, 4, 12), 2) == "00\n[… 4 characters …]\n02"


@pytest.mark.parametrize("text", ["", "a", "abcd", "abcde", "abcdefgh"])
def test_a_short_text_is_peeked_at_whole(call, payloads, text):
    assert call("ctx_peek", payloads.put(text), 4) == text


def test_slice_is_a_slice(call, payloads):
    ref = payloads.put("The quick brown fox")
    assert call("ctx_slice", ref, 4, 9) == "quick"
    assert call("ctx_slice", ref, -3, 10**9) == "fox"
    assert call("ctx_slice", ref, 9, 4) == ""
    assert call("ctx_slice", View(ref.key, 4, 9), 0, 3) == "qui"


def test_a_slice_of_more_than_the_cap_is_an_error_that_says_so(call, payloads):
    ref = payloads.put("x" * 501)
    assert len(call("ctx_slice", ref, 1, 10_000)) == PART_CHARS == 500
    with pytest.raises(HandleError, match="ctx_slice of 501 characters, at most 500: ask for less"):
        call("ctx_slice", ref, 0, 501)


def test_find_gives_place_line_and_surroundings(call, payloads):
    ref = payloads.put("alpha\nbeta Zebra\ngamma\n\tzebra  zebra")
    assert call("ctx_find", ref, "ZEBRA") == [
        {"at": 11, "line": 2, "text": "alpha beta Zebra gamma zebra zebra"},
        {"at": 24, "line": 4, "text": "alpha beta Zebra gamma zebra zebra"},
        {"at": 31, "line": 4, "text": "alpha beta Zebra gamma zebra zebra"},
    ]
    assert [hit["at"] for hit in call("ctx_find", ref, "zebra", ignore_case=False)] == [24, 31]
    assert [hit["at"] for hit in call("ctx_find", ref, "zebra", 1)] == [11]
    assert [(hit["at"], hit["line"]) for hit in call("ctx_find", ref, "zebra", start=12)] == [
        (24, 4),
        (31, 4),
    ]
    assert call("ctx_find", ref, "z.bra") == []
    assert [hit["at"] for hit in call("ctx_find", payloads.put("aaaaa"), "aa")] == [0, 2]
    assert [hit["line"] for hit in call("ctx_find", ref, "\n")] == [1, 2, 3]
    assert [hit["at"] for hit in call("ctx_find", View(ref.key, 11, 29), "zebra")] == [0, 13]


def test_the_surroundings_hold_the_hit(call, payloads):
    ref = payloads.put("hay " * 5000 + "needle" + " hay" * 5000)
    [hit] = call("ctx_find", ref, "needle")
    assert "hay needle hay" in hit["text"]
    assert 400 < len(hit["text"]) <= PART_CHARS
    many = payloads.put(("hay " * 500 + "needle ") * 30)
    hits = call("ctx_find", many, "needle", limit=20)
    assert len(hits) == 20
    assert all("needle" in hit["text"] for hit in hits)


def test_stats_of_prose_with_headings(call, payloads):
    ref = payloads.put(
        "# Title\n\nSome words here.\n## Part one\n#notaheading\n####### nor this\ntext\n",
        "notes",
    )
    assert call("ctx_stats", ref) == {
        "key": "notes_0",
        "dtype": "notes",
        "chars": 73,
        "lines": 7,
        "first": ["# Title", "", "Some words here."],
        "headings": [[0, "# Title"], [26, "## Part one"]],
    }


def test_the_longest_stats_raise_no_flag(call, payloads, meter):
    lines = ["# " + 'long "heading" ' * 20] * 3000 + ["a,b;c:" * 80] * 8000
    stats = call("ctx_stats", payloads.put("\n".join(lines), "k" * 42))
    assert len(stats["headings"]) == 8
    assert 700 < meter.report()["max_single_return"] <= STATS_CHARS


def test_stats_of_nothing(call, payloads):
    stats = call("ctx_stats", payloads.put(""))
    assert (stats["chars"], stats["lines"], stats["first"]) == (0, 0, [])


def test_stats_of_rows(call, payloads):
    stats = call("ctx_stats", payloads.put([{"s": f"a{n}", "n": n} for n in range(50)], "results"))
    assert (stats["dtype"], stats["lines"]) == ("results", 52)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("ctx_peek", (501,), "n is 501: use 1 to 500"),
        ("ctx_peek", (0,), "n is 0: use 1 to 500"),
        ("ctx_peek", (10**5000,), "n is too large: use 1 to 500"),
        ("ctx_peek", (True,), "n is True: use a whole number"),
        ("ctx_slice", (0, None), "end is NoneType: use a whole number"),
        ("ctx_slice", ("0", 1), "start is str: use a whole number"),
        ("ctx_find", ("",), "pattern is empty"),
        ("ctx_find", ("x" * 501,), "pattern has 501 characters, at most 500"),
        ("ctx_find", (7,), "pattern is int: use text"),
        ("ctx_find", ("x", 21), "limit is 21: use 1 to 20"),
    ],
)
def test_a_wrong_argument_is_told_what_is_right(call, payloads, name, args, message):
    with pytest.raises((HandleError, ValidationError), match=message):
        call(name, payloads.put("text"), *args)


def test_an_unknown_handle_is_told_the_nearest(call, payloads):
    payloads.put("x", "context")
    for name, args in (
        ("ctx_peek", ()),
        ("ctx_slice", (0, 1)),
        ("ctx_find", ("x",)),
        ("ctx_stats", ()),
    ):
        with pytest.raises(
            HandleError, match="no payload behind 'contex_0': nearest are 'context_0'"
        ):
            call(name, "contex_0", *args)
        with pytest.raises(
            HandleError, match="got a text of 300 characters: pass the handle, or work on the text"
        ):
            call(name, "long text " * 30, *args)


TEXTS = st.text(st.characters() | st.sampled_from('ab"\\\n\x00# \ud800'), max_size=50)


@pytest.mark.req("UT-01")
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    text=st.builds(lambda part, times: part * times, TEXTS, st.integers(0, 400)),
    pattern=TEXTS | st.sampled_from('ab"\n#'),
    numbers=st.tuples(*[st.integers(1, 500) | st.integers(-600, 25_000)] * 2),
    limit=st.integers(0, 22),
)
def test_whatever_is_asked_the_returns_stay_under_their_caps(text, pattern, numbers, limit):
    meter = Meter()
    with Store() as store:
        key = store.put(text).key
        tools = ctx_tools(store, meter).functions
        for target in (key, View(key, 3, 10**6)):
            for name, args, cap in (
                ("ctx_peek", (numbers[0],), 2 * PART_CHARS + 40),
                ("ctx_slice", numbers, PART_CHARS),
                ("ctx_find", (pattern, limit), max(FIND_CHARS, HIT_CHARS * limit)),
                ("ctx_stats", (), STATS_CHARS),
            ):
                try:
                    value = tools[name](target, *args)
                except RLMError:
                    continue
                assert len(render_value(value)) <= cap, name
                if name == "ctx_find":
                    assert all(len(hit["text"]) <= PART_CHARS for hit in value)
    assert meter.report()["max_single_return"] <= max(2 * PART_CHARS + 40, FIND_HITS * HIT_CHARS)
