"""A handle shows what it stands for, and nothing of it."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.handles import Ref, Store, View

ANY = st.text(st.characters())


@pytest.mark.req("UT-01")
def test_a_handle_prints_as_the_seed_has_it():
    with Store() as store:
        ref = store.put("x" * 3000, "results")
    assert (ref.key, ref.dtype, ref.sz, ref.prev) == ("results_0", "results", 3000, "x" * 80)
    assert repr(ref) == str(ref) == f"{ref}" == "Ref('results_0', results, 3000 chars)"
    assert (
        repr(View("context", 5, 25))
        == str(View("context", 5, 25))
        == "View('context', 5:25, 20 chars)"
    )


@pytest.mark.req("UT-01")
@given(
    ANY.filter(lambda text: len(text) > 3 and text not in "Ref('text_0', text, 0123456789 chars)")
)
def test_no_way_of_printing_shows_the_payload(payload):
    with Store() as store:
        ref = store.put(payload)
        bare = f"Ref('text_0', text, {len(payload)} chars)"
        for shown in (
            repr(ref),
            str(ref),
            f"{ref}",
            f"{ref!s:>1}",
            str((ref,))[1:-2],
            repr([ref])[1:-1],
            repr({1: ref})[4:-1],
        ):
            assert shown == bare
        assert payload not in repr(store)


@given(ANY)
def test_the_preview_is_one_short_line_that_a_terminal_can_show(payload):
    with Store() as store:
        prev = store.put(payload).prev
    assert len(prev) <= 80
    assert prev.isprintable()
    assert prev == " ".join(prev.split()) or len(prev) == 80


def test_the_preview_is_the_beginning_on_one_line():
    with Store() as store:
        assert store.put("  one\n\ttwo \x1b[31m three").prev == "one two [31m three"


def test_a_handle_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Ref("a", "text", 1, "").sz = 2  # type: ignore[misc]
