"""Phrases and snippets: what must stand together, and the part of a text that answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.retrieval.excerpt import SNIPPET_CHARS, excerpt, holds_phrases, split_phrases


@pytest.mark.parametrize(
    ("query", "phrases"),
    [
        ("green tea", ()),
        ('"green tea"', (("green", "tea"),)),
        ('why "Green, TEA" and “black tea”', (("green", "tea"), ("black", "tea"))),
        ('an open "quote', ()),
        ('"" "!?"', ()),
        ("", ()),
    ],
)
def test_phrases_are_what_stands_in_quotes(query, phrases):
    assert split_phrases(query)[1] == phrases


@pytest.mark.parametrize(
    ("text", "phrase", "held"),
    [
        ("We drink green tea.", "green tea", True),
        ("GREEN-TEA!", "green tea", True),
        ("Green\n   tea", "green tea", True),
        ("tea, green", "green tea", False),
        ("green teas", "green tea", False),
        ("evergreen tea", "green tea", False),
        ("green tea", "green tea house", False),
        ("Grüner Tee", "gruner tee", True),
        ("我在东京工作", "东京", True),
        ("to be or not to be", "not to be", True),
    ],
)
def test_words_of_a_phrase_stand_together(text, phrase, held):
    assert holds_phrases([text], split_phrases(f'"{phrase}"')[1]) is held


def test_a_snippet_marks_words_and_where_it_was_cut():
    text = "Long ago. " * 40 + "They say that Green-Tea cools faster. " + "And so on. " * 40
    snippet = excerpt(text, "cooling tea")
    assert "«Tea» «cools» faster" in str(snippet)
    assert str(snippet).startswith("…") and str(snippet).endswith("…")
    assert text[snippet.start :].startswith(snippet.text)
    assert [snippet.text[a:b] for a, b in snippet.marks] == ["Tea", "cools"]
    assert snippet.to_dict()["marks"] == [list(mark) for mark in snippet.marks]


def test_a_phrase_decides_where_the_snippet_is():
    text = "tea tea tea green. " + "Filler words here. " * 30 + "Then green tea came."
    phrases = split_phrases('"green tea"')[1]
    assert "«green» «tea» came." in str(excerpt(text, "green tea", phrases))


def test_a_short_text_is_shown_whole():
    assert str(excerpt("Tea is hot", "milk")) == "Tea is hot"
    assert str(excerpt("parse GraphMeta now", "graph")) == "parse «GraphMeta» now"
    assert str(excerpt("", "x")) == ""


@given(text=st.text(max_size=600), query=st.text(max_size=40))
def test_any_text_gives_a_part_of_it(text, query):
    plain, phrases = split_phrases(query)
    snippet = excerpt(text, plain, phrases)
    assert len(snippet.text) <= SNIPPET_CHARS
    assert text[snippet.start : snippet.start + len(snippet.text)] == snippet.text
    ends = [place for mark in snippet.marks for place in mark]
    assert ends == sorted(ends) and all(0 <= place <= len(snippet.text) for place in ends)
