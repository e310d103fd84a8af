"""The programs that offline writes, run on plain strings: they count what is there, at the lines
where it is."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm.offline.text.passages import passages
from rlm.llm.offline.text.reading import blocks, excerpt, extract, fold, locate, report, start_clock
from rlm.llm.offline.text.survey import (
    common,
    edge,
    extreme,
    headings_of,
    measure,
    numbered_lines,
    structure,
)
from rlm.llm.offline.text.table import look
from rlm.llm.offline.text.words import DATE, EMAIL, NUMBER, URL

WORDS = st.text(alphabet="aAbB .\nßİ", max_size=400)


@pytest.fixture
def clock():
    return start_clock(60)


@given(WORDS, st.integers(2, 50))
def test_blocks_are_the_text(text, size):
    clock = start_clock(60)
    found = list(blocks(text, clock, size))
    assert "".join(part[:own] for _, _, part, own in found) == text
    assert clock["chars"] == len(text)
    for at, line, part, _ in found:
        assert text.startswith(part, at)
        assert line == text.count("\n", 0, at) + 1


@given(WORDS, st.sampled_from(["a", "ab", "a b", "B", "ß"]))
def test_a_needle_is_counted_as_by_hand(text, needle):
    body = r"\s+".join(fold(needle).split())
    anywhere = re.findall(body, fold(text))
    whole = re.findall(rf"(?<!\w){body}(?!\w)", fold(text))
    assert locate(text, start_clock(60), needle, "any", 5)["count"] == len(anywhere)
    assert locate(text, start_clock(60), needle, "whole", 5)["count"] == len(whole)


@given(WORDS)
def test_lines_are_counted_as_by_hand(text):
    found = locate(text, start_clock(60), "ab", "any", 100)
    by_hand = [number for number, line in enumerate(text.split("\n"), 1) if "ab" in fold(line)]
    assert [item["line"] for item in found["items"]] == by_hand
    assert found["lines"] == len(by_hand)


@given(WORDS)
def test_measures_are_those_of_str(text):
    assert measure(text, start_clock(60), "words")["count"] == len(text.split())
    assert measure(text, start_clock(60), "lines")["count"] == len(text.split("\n")) - (
        text[-1:] in ("", "\n")
    )
    assert measure(text, start_clock(60), "characters")["count"] == len(text)
    by_hand = [part for part in re.split(r"\n[ \t]*\n", text) if part.strip()]
    assert measure(text, start_clock(60), "paragraphs")["count"] == len(by_hand)


def test_a_needle_across_the_end_of_a_block_is_counted(clock):
    text = "x" * 999_995 + "needle" + "x" * 999_997 + "needle"
    assert locate(text, clock, "needle", "any", 3)["count"] == 2


def test_paragraphs_across_blocks_are_counted_once(clock):
    assert measure(("word " * 20 + "\n") * 30_000, clock, "paragraphs")["count"] == 1


def test_rare_words_weigh_more(clock):
    text = "The ship sailed.\n" * 50 + "The ship met a kraken.\nA kraken is a beast.\n"
    found = passages(
        text,
        clock,
        [["ship", "ship", "stem"], ["kraken", "kraken", "stem"]],
        "",
        "sentence",
        False,
        3,
    )
    assert found["items"][0]["quote"] == "The ship met a kraken."
    assert found["items"][1]["quote"] == "A kraken is a beast."
    assert found["items"][0]["line"] == 51
    assert found["missing"] == []


def test_a_sentence_runs_on_over_lines_where_the_text_is_wrapped(clock):
    text = "First one. The old mill\nburned down when Mr. Smith\nslept. Last one.\n"
    found = passages(text, clock, [["smith", "smith", "stem"]], "", "sentence", True, 1)
    assert (
        " ".join(found["items"][0]["quote"].split())
        == "The old mill burned down when Mr. Smith slept."
    )
    assert found["items"][0]["line"] == 1


@pytest.mark.parametrize(
    ("pattern", "text", "values"),
    [
        (EMAIL, "Write to a.b@x.org, or c+d@y.co.uk.", ["a.b@x.org", "c+d@y.co.uk"]),
        (URL, "See https://x.org/a?b=1. (http://y.org)", ["https://x.org/a?b=1", "http://y.org"]),
        (DATE, "On 3 May 1799, 2024-01-31, May 4, 1800.", ["3 May 1799", "2024-01-31", "May 4, 1800"]),
        (DATE, "Neither 1/2 nor 1.2.3, but 1/2/2003.", ["1/2/2003"]),
        (NUMBER, "1, 2.5 and -3 but not x4 or 5y; 1,000.", ["1", "2.5", "-3", "1,000"]),
    ],
)  # fmt: skip
def test_forms(clock, pattern, text, values):
    assert [item["quote"] for item in extract(text, clock, pattern, 10)["items"]] == values


def test_repeated_values_are_listed_once(clock):
    found = extract({"a": "x@y.org\nx@y.org", "b": "x@y.org"}, clock, EMAIL, 10)
    assert (found["count"], found["distinct"]) == (3, 1)
    assert found["items"] == [{"text": "a", "line": 1, "quote": "x@y.org", "times": 3}]


def test_headings_of_every_kind():
    markdown = "# One\ntext\n\nTwo\n===\n\n## Three ##\n"
    assert [title for *_, title in headings_of(markdown)] == ["One", "Two", "Three"]
    plain = (
        "CHAPTER I\n\nIt was so.\n\n1. Beginnings\n\ntext\n\nTHE END OF IT\n\nChapter one of his"
        " life was over.\n"
    )
    assert [(kind, title) for *_, kind, title in headings_of(plain)] == [
        ("chapter", "CHAPTER I"),
        ("numbered", "1. Beginnings"),
        ("capitals", "THE END OF IT"),
    ]


def test_the_structure_says_what_sections_begin_with(clock):
    text = "# A\n\nThe whale swam. It was white.\n\n# B\n\nThe whale died.\n"
    found = structure(text, clock, "the it was", 10)
    assert [(item["title"], item["line"], item["quote"]) for item in found["items"]] == [
        ("A", 1, "The whale swam."),
        ("B", 5, "The whale died."),
    ]
    assert found["words"][0] == ["whale", 2]


def test_without_headings_paragraphs_from_all_over_are_shown(clock):
    text = "\n\n".join(f"Paragraph number {n} is here. More." for n in range(100))
    quotes = [item["quote"] for item in structure(text, clock, "", 10)["items"]]
    assert quotes[0] == "Paragraph number 0 is here."
    assert len(quotes) >= 6


def test_the_longest_and_the_shortest_line(clock):
    text = "aa\n\n" + "b" * 2_500_000 + "\nc\nddd"
    found = extreme(text, clock, True)["items"][0]
    assert (found["line"], found["length"], found["quote"]) == (3, 2_500_000, "b" * 500)
    assert extreme(text, clock, False)["items"][0] == {
        "text": None,
        "line": 4,
        "length": 1,
        "quote": "c",
    }


def test_edges_and_lines_by_number(clock):
    text = "One. Two.\nthree\n\nfour\nfive\n"
    assert [(item["line"], item["quote"]) for item in edge(text, clock, "lines", 3, True)["items"]] == [
        (3, ""), (4, "four"), (5, "five"),
    ]  # fmt: skip
    assert edge("a\n\n", clock, "lines", 1, True)["items"] == [
        {"text": None, "line": 1, "quote": "a"}
    ]
    assert edge("h\na\nb\n", clock, "rows", 1, False)["items"][0]["quote"] == "a"
    assert edge(text, clock, "sentences", 1, False)["items"][0]["quote"] == "One."
    assert edge(text, clock, "paragraphs", 1, True)["items"][0]["quote"] == "four\nfive"
    assert [(item["line"], item["quote"]) for item in numbered_lines(text, clock, 2, 4)["items"]] == [
        (2, "three"), (3, ""), (4, "four"),
    ]  # fmt: skip
    assert numbered_lines(text, clock, 7, 7)["items"] == []


def test_common_words_and_how_many_there_are(clock):
    found = common("The cat, the CAT—and the dog's dog.", clock, "the and", 3)
    assert found["all"][:2] == [["the", 3], ["cat", 2]]
    assert found["content"][0] == ["cat", 2]
    assert found["distinct"] == 5


def test_a_program_stops_when_its_time_is_over():
    clock = start_clock(-1)
    assert locate("a a a", clock, "a", "whole", 3)["count"] == 0
    assert clock["partial"]


def test_the_look_sees_wrapped_lines():
    assert look(
        "The old mill was for many years\nstanding on the hill by the river\nand it was white.\n"
    )["wrapped"]
    assert not look("a = 1\nb = 2\nc = 3\n")["wrapped"]
    assert look([])["chars"] == 0


def test_a_long_line_is_shown_around_the_place():
    text = "x " * 1_000 + "needle" + " y" * 1_000
    shown = excerpt(text, text.index("needle"))
    assert "needle" in shown
    assert shown[0] == shown[-1] == "…"
    assert len(shown) < 300


@given(st.lists(st.text(max_size=300), max_size=10), st.integers(200, 2_000))
def test_a_report_is_one_line_and_fits(quotes, limit):
    line = report({"count": 1, "items": [{"quote": quote} for quote in quotes]}, limit)
    assert "\n" not in line
    assert len(line) <= limit + 20
    assert json.loads(line.removeprefix("offline-found "))["count"] == 1
