"""Handles on the pipe, and in a prompt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.errors import HandleError
from rlm.handles import Ref, Store, View, expand, from_wire, mark, to_wire

KEYS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
    lambda key: key.isprintable() and not {"\u27e6", "\u27e7"} & set(key)
)
COUNT = st.integers(0, 2**53)
HANDLES = st.builds(Ref, KEYS, st.sampled_from(["text", "text-lossy"]), COUNT, KEYS) | st.builds(
    View, KEYS, COUNT, COUNT
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | HANDLES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
@pytest.mark.req("UT-01")
def test_a_value_with_handles_crosses_the_pipe(value):
    assert from_wire(json.loads(json.dumps(to_wire(value)))) == value


def test_the_two_forms():
    ref, view = Ref("results_0", "results", 3000, "?s ?p"), View("context", 5, 25)
    assert to_wire([ref]) == [
        {"$ref": {"key": "results_0", "dtype": "results", "sz": 3000, "prev": "?s ?p"}}
    ]
    assert to_wire((view,)) == [{"$ref": {"key": "context", "start": 5, "stop": 25}}]


@pytest.mark.parametrize(
    "data",
    [
        {"$ref": "#/definitions/node"},
        {"$ref": {"key": "a"}},
        {"$ref": {"key": "a", "start": -1, "stop": 2}},
        {"$ref": {"key": "a", "start": True, "stop": 2}},
        {"$ref": {"key": "a", "start": 0, "stop": 2, "more": 1}},
        {"$ref": {"key": ["a"], "start": 0, "stop": 2}},
        {"$ref": {"key": "a", "dtype": "x\ny", "sz": 1, "prev": ""}},
        {"$ref": {"key": "a", "dtype": "text", "sz": 1, "prev": "p" * 81}},
        {"$ref": {"key": "a", "start": 0, "stop": 2}, "other": 1},
    ],
)
def test_what_only_looks_like_a_handle_is_data(data):
    assert from_wire(data) == data


def test_a_value_that_is_nested_too_deeply_is_refused():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for convert in (to_wire, from_wire):
        with pytest.raises(HandleError, match="nested too deeply"):
            convert(deep)


@pytest.fixture
def store():
    with Store() as opened:
        opened.put("The quick brown fox", "context")
        yield opened


def marked(store, key, start, stop):
    return mark(store, View(key, start, stop))


def test_marks_become_their_passages(store):
    assert expand(store, f"Read: {marked(store, 'context_0', 4, 9)}!") == "Read: quick!"
    assert (
        expand(store, marked(store, "context_0", 0, 3) + marked(store, "context_0", 16, 99))
        == "Thefox"
    )
    assert expand(store, marked(store, "context_0", 9, 4)) == ""
    assert expand(store, "nothing") == "nothing"


@pytest.mark.parametrize(
    "prompt",
    [
        "\u27e6nobody:0:3:0123456789ab\u27e7",
        "\u27e6context_0:0:3:0123456789ab\u27e7",
        "\u27e6context_0:0:3\u27e7",
        (
            "\u27e6context_0:-1:4:0123456789ab\u27e7 \u27e6context_0\u27e7"
            " \u27e6context_0:1:x:0123456789ab\u27e7"
        ),
        "\u27e6context_0:0:\u0663:0123456789ab\u27e7",
    ],
)
def test_what_only_looks_like_a_mark_stays(store, prompt):
    assert expand(store, prompt) == prompt


def test_a_text_cannot_have_a_passage_put_into_itself(store):
    """A seal is a hash of its payload, so nobody who wrote the payload can have put it in."""
    text = "see " + marked(store, "context_0", 0, 3)
    store.put(text, "quoting")
    assert expand(store, marked(store, "quoting_0", 0, 99)) == text  # not looked at again
    assert store.seal("quoting_0") != store.seal("context_0") and len(store.seal("context_0")) == 12


def test_passages_together_are_bounded(store):
    twice = f"{marked(store, 'context_0', 0, 10)} and {marked(store, 'context_0', 0, 10)}"
    assert expand(store, twice, max_chars=20) == "The quick  and The quick "
    with pytest.raises(HandleError, match="have 20 characters, at most 19: use shorter slices"):
        expand(store, twice, max_chars=19)
    assert (
        expand(store, marked(store, "context_0", 0, 999_999_999_999), max_chars=19)
        == "The quick brown fox"
    )
