"""Many memories through the gate at once are what they are one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import strategies as st
from test_secrets import CLEAN, KEYS, PLACED, SECRET_LIST

from rlm.errors import RLMError, ValidationError
from rlm.store import gate
from rlm.store.identity import canonical_json
from rlm.store.types import DEFAULT_SCOPE, LOCAL, MemoryItem, Scope

DIRTY = st.sampled_from(
    [
        *SECRET_LIST,
        *(text.format(secret) for _, text, secret in PLACED),
        *KEYS,
        "a\x1b[31mb",
        "x\u202ey",
        "e\u0301",
        "a\r\nb",
        "tab\there",
        "two  spaces",
        " lead",
        "trail ",
        "no\u00a0break",
        "line\u2028sep",
        "full\u3000width",
        "ff\x0cff",
        "\x1funit",
    ]
)
SAFE = st.sampled_from(
    ["find the class", "- search\n- describe", "Ärger im Café", "数据库 索引", "", *CLEAN[:8]]
)
# Halves of a secret: what one text begins, another may end.
HALVES = st.sampled_from(
    ["password:", "api_key =", "-----BEGIN PRIVATE KEY-----", "Bearer", "https://me:", "AKIA"]
)
TEXT = SAFE | SAFE | SAFE | DIRTY | HALVES | st.text(max_size=12)


@st.composite
def memories(draw: st.DrawFn) -> MemoryItem:
    item = MemoryItem(title="t", description="", content="c", source_type="success")
    item.title = draw(TEXT)
    item.description = draw(TEXT)
    item.content = draw(TEXT)
    item.task_query = draw(st.none() | TEXT)
    item.tags = draw(st.lists(TEXT, max_size=3))
    item.provenance = draw(
        st.dictionaries(st.sampled_from(["source", "run_id", "note", "password"]), TEXT, max_size=3)
    )
    return item


def outcome(made: Iterator[MemoryItem]) -> tuple[list[dict[str, Any]], str | None]:
    found: list[dict[str, Any]] = []
    try:
        for item in made:
            found.append(item.to_dict())
    except ValidationError as exc:
        return found, str(exc)
    return found, None


@pytest.mark.req("SPEC-02.34")
@pytest.mark.parametrize(
    "place", ["title", "description", "content", "task_query", "tags", "provenance"]
)
def test_one_secret_among_many_does_not_pass(place: str) -> None:
    secrets = [secret for secret in SECRET_LIST if len(secret) <= 64 or place != "tags"]
    items = [
        MemoryItem(title=f"plain {n}", description="d", content=f"step {n}")
        for n in range(70 * len(secrets))
    ]
    for number, secret in enumerate(secrets):
        value = {"tags": [secret], "provenance": {"source": secret}}.get(place, f"use {secret}")
        setattr(items[70 * number + 66], place, value)
    stored = canonical_json([item.to_dict() for item in gate.admit_items(items, LOCAL, origin="x")])
    assert not [secret for secret in secrets if secret in stored]


@pytest.mark.parametrize(
    ("field", "value"),
    [("title", 7), ("tags", "abc"), ("tags", [3]), ("provenance", ["x"]), ("content", None)],
)
def test_what_is_no_text_is_named_and_comes_in_its_turn(field: str, value: object) -> None:
    items = [MemoryItem(title=f"plain {n}", description="d", content="c") for n in range(5)]
    setattr(items[3], field, value)
    made: list[MemoryItem] = []
    with pytest.raises(ValidationError, match=field.rstrip("s")):
        for item in gate.admit_items(items, LOCAL, origin="x"):
            made.append(item)
    assert len(made) == 3


def test_something_else_than_a_memory_is_refused() -> None:
    with pytest.raises(RLMError, match="expected a MemoryItem, got int"):
        list(gate.admit_items([3], LOCAL, origin="x"))  # type: ignore[list-item]


def admitted(scope: Any) -> MemoryItem:
    item = MemoryItem(title="t", description="d", content="c")
    item.scope = scope
    return gate.admit_item(item, LOCAL, origin="x")


@pytest.mark.req("SPEC-02.34")
@pytest.mark.parametrize("times", [1, 2])
def test_a_scope_is_cleaned_however_often_it_comes(times: int) -> None:
    secret = SECRET_LIST[0]
    for _ in range(times):
        kept = admitted(Scope(secret, ("a\u202eb",), ("search_entity", secret)))
        assert secret not in canonical_json(kept.to_dict()) and kept.scope.task_types == ("ab",)


def test_a_scope_of_lists_is_the_same_as_one_of_tuples() -> None:
    listed = admitted(Scope("prov", ["b", "a"], ["t"]))  # type: ignore[arg-type]
    assert listed.to_dict() | {"created_at": ""} == admitted(
        Scope("prov", ("b", "a"), ("t",))
    ).to_dict() | {"created_at": ""}
    assert admitted(Scope(None, [], [])).scope is DEFAULT_SCOPE  # type: ignore[arg-type]


def test_a_scope_that_equals_another_as_it_likes_is_taken_for_itself() -> None:
    class Same(Scope):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    class Equal(tuple[str, ...]):
        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 1

    for first, second in (
        (Same("a", ("x",)), Same("b", ("y",), (), False)),
        (Scope("a", Equal(("x",))), Scope("a", Equal(("y",)))),
    ):
        assert admitted(first).scope == Scope(first.ontology, tuple(first.task_types), (), True)
        kept = admitted(second)
        assert kept.scope.task_types == ("y",) and kept.memory_id != admitted(first).memory_id


@pytest.mark.parametrize(
    "scope",
    [
        *(
            {"tools": []},
            None,
            Scope(transferable=1),
            Scope(ontology=0),
            Scope(ontology=False),
            Scope("p", "ab"),
        ),
        *(
            Scope("p", (1,)),
            Scope("p", ([],)),
            Scope("p", [[]]),
            Scope("p", None),
            Scope("p", {"a"}),
        ),
        Scope("p", ("x" * 20_001,)),
    ],
)
def test_an_odd_scope_is_refused_also_after_one_that_equals_it(scope: Any) -> None:
    admitted(Scope()), admitted(Scope("p", ("a", "b")))
    with pytest.raises(ValidationError, match="scope"):
        admitted(scope)
