"""The pack ledger of the JSON store does what SQLite's does, whatever happens in between."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm.store import gate
from rlm.store.open import open_store
from rlm.store.types import MemoryItem, NewPack

TITLES = ("Alpha", "Beta", "Gamma")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("import"), st.sampled_from("pq"), st.booleans(), st.sets(st.sampled_from(TITLES), min_size=1)),
        st.tuples(st.just("rollback"), st.sampled_from("pq")),
        st.tuples(st.sampled_from(["add", "delete", "restore", "purge", "approve", "describe", "doubt"]), st.sampled_from(TITLES)),
    ),
    min_size=2,
    max_size=9,
)  # fmt: skip


def memory(title, **kw):
    return MemoryItem(title=title, description="d", content=f"Steps of {title}", **kw)


def take(store, step):
    """One step, and what it said; numbers of imports and times aside."""
    name, *given_ = step
    if name == "import":
        pack, trusted, titles = given_
        trust = "trusted" if trusted else "quarantined"
        lines = [memory(t, source_type="pack", trust=trust) for t in sorted(titles)]
        admitted = list(gate.admit_items(lines, store.tenant, origin="pack:x"))
        digest = f"{pack}{sorted(titles)}{trusted}"
        return store.add_pack(NewPack(pack, digest, pack, None, trust), [admitted])[1]
    if name == "rollback":
        rows = [row.pack_no for row in store.packs() if row.name == given_[0]]
        return [(n, sorted(kept)) for n, kept in map(store.rollback_pack, rows)]
    item = memory(given_[0])
    item.rekey()
    known = store.get(item.memory_id)
    if name == "add":
        return store.add(memory(given_[0], trust="trusted"))
    if known is None:
        return None
    if name == "describe":
        return store.update(item.memory_id, description="edited").description
    if name == "doubt":
        return store.update(item.memory_id, confidence=0.3).confidence
    done = getattr(store, name)(item.memory_id)
    return done if isinstance(done, bool) else done.trust


def state(store):
    live = {i.memory_id: (i.trust, i.description) for i in store.list_items(limit=99)}
    gone = {i.memory_id for i in store.list_items(limit=99, archived=True)}
    return live, gone, [(p.name, p.added_count, bool(p.rolled_back_at)) for p in store.packs()]


@given(steps=STEPS)
@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_both_ledgers_do_the_same(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("ledgers")
    with (
        open_store(folder / "m.db", embedder="none") as one,
        open_store(f"json:{folder / 'm.json'}", embedder="none") as two,
    ):
        for step in steps:
            assert take(one, step) == take(two, step), step
            assert state(one) == state(two), step


def test_an_import_for_the_team_is_seen_by_its_other_projects(opener, make_item):
    from rlm.store.types import Tenant

    mine = opener(Tenant("o", "t", "a"))
    item = make_item(source_type="pack", level="team", trust="trusted")
    admitted = list(gate.admit_items([item], mine.tenant, origin="pack:x"))
    number, _ = mine.add_pack(NewPack("p", "x", "p", None, "trusted"), [admitted], level="team")
    mine.close()
    other = opener(Tenant("o", "t", "b"))
    assert [row.pack_no for row in other.packs()] == [number]
    assert other.rollback_pack(number)[0] == 1
