"""A memory as data: its id, its round trip, and what makes two of them the same."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm import clock
from rlm.errors import ValidationError
from rlm.store.identity import memory_id, normalize, normalize_scope
from rlm.store.types import MemoryItem, Scope

NAMES = st.lists(st.text(min_size=1, max_size=12), max_size=4)
SCOPES = st.builds(
    Scope,
    st.none() | st.text(min_size=1, max_size=8),
    NAMES.map(tuple),
    NAMES.map(tuple),
    st.booleans(),
)
ITEMS = st.builds(
    MemoryItem,
    title=st.text(min_size=1, max_size=40),
    description=st.text(max_size=40),
    content=st.text(min_size=1, max_size=80),
    source_type=st.sampled_from(["success", "failure", "human", "pack"]),
    tags=NAMES,
    scope=SCOPES,
    provenance=st.dictionaries(st.text(max_size=8), st.text(max_size=8), max_size=3),
    session_id=st.none() | st.text(max_size=8),
    access_count=st.integers(0, 99),
)


@pytest.mark.req("PM-01")
@given(ITEMS)
def test_a_memory_survives_the_way_to_a_dict_and_back(item):
    again = MemoryItem.from_dict(item.to_dict())
    assert again == item
    assert again.to_dict() == item.to_dict()


@pytest.mark.req("PM-01")
def test_a_memory_fills_its_own_id_and_time():
    with clock.frozen(datetime(2026, 5, 6, tzinfo=UTC)):
        item = MemoryItem(
            title="T", description="D", content="C", source_type="success", session_id="s-1"
        )
    assert len(item.memory_id) == 16
    assert item.id == item.memory_id == memory_id("T", "C", Scope().to_dict())
    assert item.created_at == "2026-05-06T00:00:00.000000Z"
    assert item.session_id == "s-1"


def test_the_seeds_dict_with_an_id_is_read():
    data = {
        "id": "test-uuid",
        "title": "SPARQL Query Pattern",
        "description": "d",
        "content": "c",
        "tags": ["sparql"],
    }
    item = MemoryItem.from_dict(data)
    assert (item.id, item.provenance) == ("test-uuid", {"alias": "test-uuid"})
    assert item.memory_id == memory_id("SPARQL Query Pattern", "c", Scope().to_dict())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"title": "T", "content": "C"}, "needs a description"),
        (
            {"title": "T", "description": "", "content": "C", "colour": 1},
            "unknown memory field 'colour'",
        ),
        (
            {"title": "T", "description": "", "content": "C", "scope": {"place": 1}},
            "unknown scope key 'place'",
        ),
        (
            {"title": "T", "description": "", "content": "C", "scope": {"tools": "x"}},
            "use a list of text",
        ),
        ({"title": 7, "description": "", "content": "C"}, "must be text"),
    ],
)
def test_dicts_that_are_no_memory(data, message):
    with pytest.raises(ValidationError, match=message):
        MemoryItem.from_dict(data)


@pytest.mark.req("RB-06")
@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing_more(text):
    once = normalize(text)
    assert normalize(once) == once
    assert normalize(f"  {text}\n") == once


@pytest.mark.req("RB-06")
@given(st.text(alphabet="aB \t\n\x0b\x0c\r\x1c\x1f\x7f\x00é", max_size=12))
def test_any_white_space_is_one_space(text):
    assert normalize(text) == " ".join(text.casefold().split())


@pytest.mark.req("RB-06")
@given(title=st.text(max_size=30), content=st.text(max_size=30), scope=SCOPES, data=st.data())
def test_the_id_sees_through_case_space_and_order(title, content, scope, data):
    plain = scope.to_dict()
    shuffled = {key: plain[key] for key in data.draw(st.permutations(sorted(plain)))}
    shuffled["tools"] = list(reversed(shuffled["tools"]))
    sparse = {key: value for key, value in shuffled.items() if value not in (None, [], "")}
    assert memory_id(f" {title} ", content, plain) == memory_id(title, f"{content}\n", shuffled)
    assert memory_id(title, content, sparse) == memory_id(title, content, plain)


@pytest.mark.req("RB-06")
def test_ids_never_change():
    """These are in people's files and packs."""
    assert (
        memory_id("Describe an Entity", "Search, then describe.", {"transferable": True})
        == "13402000b2fe79d2"
    )
    assert normalize_scope({"tools": ["b", "a", "a"], "ontology": None, "transferable": False}) == (
        '{"tools":["a","b"],"transferable":false}'
    )
    assert normalize("Ｆｕｌｌ　Width ﬁ ẞ") == "full width fi ss"


def test_different_words_or_scopes_are_different_memories():
    ids = {
        memory_id("a", "b", {}),
        memory_id("b", "a", {}),
        memory_id("a", "b", {"ontology": "prov"}),
        memory_id("a b", "", {}),
        memory_id("a", "b", {"transferable": False}),
    }
    assert len(ids) == 5
