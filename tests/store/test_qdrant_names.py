"""Names of collections and ids of points: no two spaces meet. Vectors of words: they give BM25."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.errors import ConfigError
from rlm.retrieval import bm25
from rlm.retrieval.tokens import tokens
from rlm.store.document import ITEM_WEIGHTS
from rlm.store.qdrant.names import MAX_CHARS, check_layout, collection_name, point_id, seal_id
from rlm.store.qdrant.points import MEAN_CHARS, document_words, sparse

PART = st.one_of(
    st.text(st.sampled_from("aAbé_.-/~ 0f"), max_size=6),
    st.text(st.characters(blacklist_categories=("Cs",)), max_size=30),
    st.text("ab_", min_size=150, max_size=260),
)
SPACE = st.one_of(
    st.tuples(st.just("org"), st.tuples(PART, st.just(""), st.just(""))),
    st.tuples(st.just("team"), st.tuples(PART, PART, st.just(""))),
    st.tuples(st.just("project"), st.tuples(PART, PART, PART)),
)
FORBIDDEN = set('<>:"/\\|?*\0\x1f')


@pytest.mark.req("CX-08")
def test_they_are_named_as_the_seed_names_them():
    parts = ("acme", "web", "shop")
    names = [
        collection_name("collections", level, parts, 256) for level in ("org", "team", "project")
    ]
    assert names == ["acme_memories", "acme_web_memories", "acme_web_shop_memories"]
    assert collection_name("shared", "team", parts, 256) == "rlm_team_256_memories"


@pytest.mark.req("CX-08")
@settings(max_examples=200, deadline=None)
@given(SPACE, SPACE)
def test_two_spaces_never_share_a_collection(one, other):
    first, second = (collection_name("collections", *space, 256) for space in (one, other))
    assert (first == second) == (one == other)
    for name in (first, second):
        assert len(name) <= MAX_CHARS and not FORBIDDEN & set(name)
        assert name.isascii() and name == name.lower()


@pytest.mark.parametrize(
    "one, other",
    [
        (("a_b", "c", ""), ("a", "b_c", "")),
        (("a._b", "c", ""), ("a_b", "c", "")),
        (("A", "b", ""), ("a", "b", "")),
        (("a", "", ""), ("a", "_", "")),
        (("x" * 300, "a", ""), ("x" * 300, "b", "")),
    ],
)
def test_names_that_look_alike_are_told_apart(one, other):
    assert collection_name("collections", "team", one, 0) != collection_name(
        "collections", "team", other, 0
    )


def test_a_point_belongs_to_one_memory_of_one_space():
    ids = {point_id(tenant, memory) for tenant in ("s-1", "s-11") for memory in ("1", "11", "a")}
    assert len(ids) == 6
    assert point_id("s-1", "a") == point_id("s-1", "a") != seal_id("s-1")


WORDS = ["brew", "green", "tea", "kettle", "water", "filter", "coffee"]
COLUMN = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@settings(deadline=None)
@given(
    st.tuples(*[COLUMN] * len(ITEM_WEIGHTS)),
    st.dictionaries(st.sampled_from(tokens(" ".join(WORDS))), st.floats(0.1, 9), min_size=1),
)
def test_the_product_of_a_query_and_a_point_is_bm25(columns, weights):
    point, query = document_words(columns), sparse(weights.items())
    held = dict(zip(point["indices"], point["values"], strict=True))
    pairs = zip(query["indices"], query["values"], strict=True)
    product = sum(held.get(place, 0.0) * weight for place, weight in pairs)
    counts, chars = bm25.weigh(columns, ITEM_WEIGHTS, frozenset(weights))
    wanted = bm25.contributions(counts, chars / MEAN_CHARS, weights)
    assert product == pytest.approx(sum(wanted.values()))


def test_an_unknown_layout_is_told():
    with pytest.raises(ConfigError, match=r"'flat'.*collections or shared"):
        check_layout("flat")
