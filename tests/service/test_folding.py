"""Context folding: a bounded context, budgets, depth and time, and an outcome that is kept."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm import (
    LimitExceeded,
    MemoryItem,
    MemoryStore,
    NotFound,
    Tenant,
    ValidationError,
    clock,
    open_store,
)
from rlm.service import ContextFolding, MemoryManager

NOW = clock.parse_iso("2026-05-01T00:00:00Z")


@pytest.fixture
def folding(shared):
    return ContextFolding(shared, "s-1")


@pytest.mark.req("CX-09")
def test_a_branch_begins_with_the_memories_that_matter_and_its_outcome_is_queued(shared, folding):
    one = MemoryManager(shared).record("Upload big files in parts", "Split the file; send parts.")
    MemoryManager(shared).record("Bake bread", "Knead the dough for ten minutes.")
    opened = folding.branch_create("Fix the upload", "Uploads of big files in parts time out.")
    assert opened.memory_ids == (one.id,) and opened.context.startswith("# Fix the upload\n\n")
    assert "Split the file; send parts." in opened.context and "dough" not in opened.context
    assert 0 < opened.branch.used_tokens <= opened.branch.budget_tokens == 8_192
    ended = folding.branch_return("The timeout was 3 s; it is 30 s now.", "success")
    assert (ended.state, ended.branch_id) == ("returned", opened.branch.branch_id)
    job = shared.lease_job()
    assert (job.agent, job.session_id, job.outcome) == ("branch", ended.branch_id, "success")
    assert job.payload["session"] == "s-1" and "30 s" in job.payload["message"]


def test_a_branch_keeps_nothing_private(shared, folding):
    folding.branch_create("Open <private>Ada's</private> locker", "PIN <private>9911</private>")
    ended = folding.branch_return("It opens. <private>PIN 9911</private>")
    kept = f"{ended} {shared.branches('s-1')} {shared.jobs()}"
    assert "Open  locker" in kept and "It opens." in kept
    assert "9911" not in kept and "Ada" not in kept


def test_a_context_says_nothing_where_nothing_fits(shared, folding):
    MemoryManager(shared).record("Bake bread", "Knead the dough for ten minutes.")
    prompt = (
        "Uploads of large files through the proxy in front end after ten seconds: find out why."
    )
    assert MemoryManager(shared).search(prompt)
    opened = folding.branch_create("Fix the upload", prompt)
    assert opened.context == f"# Fix the upload\n\n{prompt}" and opened.memory_ids == ()


def test_depth_and_number_are_bounded(folding):
    opened = [folding.branch_create(f"part {number}", "go").branch for number in range(3)]
    assert [each.depth for each in opened] == [0, 1, 2]
    with pytest.raises(LimitExceeded, match="depth 3"):
        folding.branch_create("part 4", "go")
    for each in reversed(opened):
        assert folding.branch_return("done").branch_id == each.branch_id
    for number in range(7):
        folding.branch_create(f"more {number}", "go")
        folding.branch_return("done")
    with pytest.raises(LimitExceeded, match="had 10 branches"):
        folding.branch_create("one more", "go")


def test_closing_a_branch_closes_those_below_it(shared, folding):
    outer, inner = (folding.branch_create(name, "go").branch for name in ("outer", "inner"))
    folding.branch_return("done", "mixed", outer.branch_id)
    assert shared.get_branch(inner.branch_id).state == "failed"
    with pytest.raises(NotFound, match="has no open branch"):
        folding.branch_return("again")
    assert len(shared.jobs()) == 1


def test_an_expired_branch_takes_no_result_and_is_no_parent(shared, folding):
    with clock.frozen(NOW):
        first = folding.branch_create("slow", "go", timeout=60).branch
    with clock.frozen(NOW + timedelta(seconds=59)):
        assert shared.get_branch(first.branch_id).state == "open"
    with clock.frozen(NOW + timedelta(seconds=60)):
        assert shared.get_branch(first.branch_id).state == "expired"
        with pytest.raises(LimitExceeded, match="expired at 2026-05-01T00:01:00"):
            folding.branch_return("late", branch_id=first.branch_id)
        with pytest.raises(NotFound):
            shared.spend_branch(first.branch_id, 1)
        assert folding.branch_create("next", "go").branch.parent_id is None
    assert shared.jobs() == []


def test_a_message_beyond_the_budget_leaves_the_branch_open(shared, folding):
    opened = folding.branch_create("small", "go", budget=50).branch
    with pytest.raises(LimitExceeded, match="tokens left"):
        folding.branch_return("x" * 400)
    assert shared.get_branch(opened.branch_id).state == "open" and shared.jobs() == []
    assert folding.branch_return("short").state == "returned"


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"budget": 0}, ValidationError, "use 1 to 32,768"),
        ({"budget": 32_769}, ValidationError, "use 1 to 32,768"),
        ({"budget": "many"}, ValidationError, "budget is 'many'"),
        ({"timeout": 0}, ValidationError, "at most 300 seconds"),
        ({"timeout": 301}, ValidationError, "at most 300 seconds"),
        ({"timeout": float("nan")}, ValidationError, "timeout"),
        ({"prompt": "x" * 4_000, "budget": 100}, LimitExceeded, "raise the budget"),
        ({"prompt": None}, ValidationError, "prompt is NoneType"),
        ({"description": 7}, ValidationError, "description is int"),
    ],
)
def test_what_is_out_of_bounds_opens_nothing(shared, folding, given, error, says):
    with pytest.raises(error, match=says):
        folding.branch_create(**{"description": "d", "prompt": "p", **given})
    assert shared.branches("s-1") == []


def test_another_session_or_tenant_cannot_close_it(shared, folding, store_url):
    opened = folding.branch_create("mine", "go").branch
    absent = r"no branch '.*' in session"
    with pytest.raises(NotFound, match=absent):
        ContextFolding(shared, "s-2").branch_return("x", branch_id=opened.branch_id)
    other = open_store(store_url, tenant=Tenant("o", "t", "p"), embedder="none")
    with other, pytest.raises(NotFound, match=absent):
        ContextFolding(other, "s-1").branch_return("x", branch_id=opened.branch_id)
    assert shared.get_branch(opened.branch_id).state == "open"


@given(
    spare=st.integers(-3, 60),
    prompt=st.integers(0, 800).map(lambda size: "upload " * (size // 7)),
    sizes=st.lists(st.integers(1, 3_000), max_size=6),
)
def test_a_context_never_exceeds_its_budget(spare, prompt, sizes):
    head = f"# upload in parts\n\n{prompt.strip()}"
    budget = -(-len(head) // 4) + spare
    with MemoryStore() as store:
        for number, size in enumerate(sizes):
            content = f"upload parts {number} " + "word " * (size // 5)
            store.add(MemoryItem(f"Upload in parts {number}", "d", content))
        if spare < 0:
            with pytest.raises(LimitExceeded, match="raise the budget"):
                ContextFolding(store, "s").branch_create("upload in parts", prompt, budget)
            return
        opened = ContextFolding(store, "s").branch_create("upload in parts", prompt, budget)
        assert len(opened.context) <= 4 * budget
        assert opened.branch.used_tokens <= budget
