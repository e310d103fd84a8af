"""Many tenants in one Qdrant, in both layouts: nobody ever meets a foreign row, in the answers of
the store or in those of Qdrant itself; and the index follows any sequence of changes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.store.open import open_store
from rlm.store.qdrant import points
from rlm.store.types import MemoryItem, Tenant

pytestmark = pytest.mark.req("CX-08")

TENANTS = [
    Tenant("a", "b_c", "d"),
    Tenant("a_b", "c", "d"),
    Tenant("a", "b", "c_d"),
    Tenant("A", "b", "c"),
    Tenant("a", "b", "c"),
]
WORDS = ["tea", "coffee", "brew", "kettle", "green", "black", "filter", "water"]
ACTIONS = st.lists(
    st.tuples(
        st.integers(0, len(TENANTS) - 1),
        st.sampled_from(
            ["add", "add", "add", "edit", "delete", "restore", "purge", "level", "feed"]
        ),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
        st.sampled_from(["project", "team", "org"]),
    ),
    min_size=4,
    max_size=20,
)


@pytest.fixture(scope="module")
def local_engine(tmp_path_factory):
    """The client's local mode: exact, and without the time that a shard takes."""
    from qdrant_server import Local, serving

    with serving(Local(None)) as server:
        yield server


def act(store, action, words, level):
    """One change, of the memory that these words name if it is there."""
    found = store.list_items(limit=1) or store.list_items(archived=True, limit=1)
    name = found[0].memory_id if found else None
    match action:
        case "add":
            store.add(MemoryItem(title=" ".join(words), description="d", content="c", level=level))
        case "edit" if name and not any(" ".join(words) == item.content for item in found):
            changed = " ".join(words)
            store.update(name, description=changed)
        case "delete" if name:
            store.delete(name)
        case "restore" if name:
            store.restore(name)
        case "purge" if name:
            store.purge(name)
        case "level" if name and store.get(name, level=level) is None:
            store.set_level(name, level)
        case "feed":
            store.remote_index.drain()


def check(store):
    """The store shows only what its tenant may see, and so does each raw answer of Qdrant."""
    tenant = store.tenant
    for hit in store.retrieve(" ".join(WORDS), k=50):
        item = hit.item
        own = {"project": 3, "team": 2, "org": 1}[item.level]
        assert (item.org, item.team, item.project)[:own] == (
            tenant.org,
            tenant.team,
            tenant.project,
        )[:own]
    for space in store.remote_index._spaces():
        if space.build is None or not space.build.is_done:
            continue
        words = points.sparse((word, 1.0) for word in WORDS)
        query = {**points.words_query(space.tenant, words, 99), "with_payload": ["tenant"]}
        answers = store.remote_index.client.query(space.build.collection, [query])
        assert {point["payload"]["tenant"] for point in answers[0]} <= {space.tenant}


@pytest.mark.parametrize(
    "layout, examples",
    [
        ("collections", 2),
        ("shared", 2),
        pytest.param("collections", 60, marks=pytest.mark.slow),
        pytest.param("shared", 60, marks=pytest.mark.slow),
    ],
)
def test_nobody_meets_a_foreign_row_whatever_happens(
    local_engine, tmp_path, monkeypatch, layout, examples
):
    monkeypatch.setenv("RLM_INDEX", f"qdrant:{local_engine.url}")
    monkeypatch.setenv("RLM_INDEX_LAYOUT", layout)
    files = iter(range(10_000))

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )
    @given(ACTIONS)
    def run(actions):
        path = tmp_path / f"{next(files)}.db"
        stores = [open_store(path, tenant=tenant, embedder="none") for tenant in TENANTS]
        try:
            for who, action, words, level in actions:
                act(stores[who], action, words, level)
                if action == "feed":
                    check(stores[who])
            for store in stores:
                store.remote_index.drain()
                check(store)
                for space in store.remote_index._spaces():
                    only = points.memories_only(space.tenant)
                    fields = ("memory_id", "revision")
                    scroll = store.remote_index.client.scroll
                    held = [
                        (point["payload"]["memory_id"], point["payload"]["revision"])
                        for point in scroll(space.build.collection, only, fields)
                    ]
                    live = store.remote_index.outbox.revisions(space.number)
                    assert sorted(held) == sorted((name, n) for name, (n, _) in live.items())
        finally:
            for store in stores:
                store.close()

    run()
