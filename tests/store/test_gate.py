"""Memories through the gate: secrets, texts that are none, scopes."""

from __future__ import annotations

from typing import Any

import pytest
from test_secrets import SECRET_LIST

from rlm.errors import RLMError, ValidationError
from rlm.store import gate
from rlm.store.identity import canonical_json
from rlm.store.types import DEFAULT_SCOPE, LOCAL, MemoryItem, Scope


@pytest.mark.req("SPEC-02.34")
@pytest.mark.parametrize(
    "place", ["title", "description", "content", "task_query", "tags", "provenance"]
)
def test_one_secret_among_many_does_not_pass(place: str) -> None:
    secrets = [secret for secret in SECRET_LIST if len(secret) <= 64 or place != "tags"]
    items = []
    for number, secret in enumerate(secrets):
        value = {"tags": [secret], "provenance": {"source": secret}}.get(place, f"use {secret}")
        items.append(MemoryItem(title=f"plain {number}", description="d", content="c"))
        setattr(items[-1], place, value)
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
def test_a_scope_is_cleaned() -> None:
    secret = SECRET_LIST[0]
    kept = admitted(Scope(secret, ("a\u202eb",), ("search_entity", secret)))
    assert secret not in canonical_json(kept.to_dict()) and kept.scope.task_types == ("ab",)


def test_a_scope_of_lists_is_the_same_as_one_of_tuples() -> None:
    listed = admitted(Scope("prov", ["b", "a"], ["t"]))  # type: ignore[arg-type]
    assert listed.to_dict() | {"created_at": ""} == admitted(
        Scope("prov", ("b", "a"), ("t",))
    ).to_dict() | {"created_at": ""}
    assert admitted(Scope(None, [], [])).scope is DEFAULT_SCOPE  # type: ignore[arg-type]


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
def test_an_odd_scope_is_refused(scope: Any) -> None:
    with pytest.raises(ValidationError, match="scope"):
        admitted(scope)
