"""No call of the service tells an id of another tenant from one that nobody has."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from session_telling import tell_session

from rlm import RLMError, Tenant, clock, open_store
from rlm.service import ConfidenceEvaluator, ContextFolding, MemoryManager, check_stability

TENANTS = {
    "mine": Tenant("acme", "web", "shop"),
    "project": Tenant("acme", "web", "blog"),
    "team": Tenant("acme", "apps", "shop"),
    "org": Tenant("other", "web", "shop"),
}
CALLS = {
    "get": lambda manager, each: manager.get(each),
    "update": lambda manager, each: manager.update(each, description="mine now"),
    "feedback": lambda manager, each: manager.feedback(each, helpful=False),
    "outcome": lambda manager, each: manager.outcome([each], succeeded=False),
    "why": lambda manager, each: manager.why(each),
    "on_feedback": lambda m, each: ConfidenceEvaluator(m.store).on_feedback(each, helpful=True),
    "on_usage": lambda m, each: ConfidenceEvaluator(m.store).on_usage(each, task_succeeded=True),
    "on_code_stability": lambda m, each: ConfidenceEvaluator(m.store).on_code_stability(each, True),
    "recompute": lambda m, each: ConfidenceEvaluator(m.store).recompute(each),
    "branch_return": lambda m, each: ContextFolding(m.store, "s").branch_return("x", "mixed", each),
}


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def stores(request, tmp_path_factory):
    """One store, four tenants; all but mine hold a memory, a turn, a branch and a shared level."""
    path = tmp_path_factory.mktemp("tenancy") / "memory.db"
    if request.param == "postgres":
        path = request.getfixturevalue("postgres_server").new_store()
    opened = {
        name: open_store(path, tenant=each, embedder="none") for name, each in TENANTS.items()
    }
    for name, store in opened.items():
        if name == "mine":
            continue
        manager = MemoryManager(store)
        manager.record(f"Secret plan {name}", f"The secret plan of {name}.", kind="decision")
        tell_session(store, "s", [f"the secret plan of {name}"])
        ContextFolding(store, "s").branch_create("secret plan", name)
    yield opened
    for store in opened.values():
        store.close()


@pytest.fixture(scope="module")
def foreign(stores):
    """Every id that is not mine."""
    found = []
    for name, store in stores.items():
        if name != "mine":
            found += [item.memory_id for item in store.list_items(level="project")]
            found += [node.id for node in store.graph.query_nodes()]
            found += [edge.id for edge in store.graph.list_edges()]
            found += [branch.branch_id for branch in store.branches("s")]
    return found


def answer(call, manager, each):
    """What a call says, with the id taken out."""
    try:
        value = CALLS[call](manager, each)
    except RLMError as exc:
        return type(exc), str(exc).replace(repr(each)[:80], "ID").replace(repr(each), "ID")
    return value


@pytest.mark.req("CX-04")
@pytest.mark.parametrize("call", CALLS)
def test_a_foreign_id_and_an_absent_id_get_the_same_answer(stores, foreign, call):
    manager = MemoryManager(stores["mine"])
    for each in foreign:
        absent = "".join("0" if letter in "0123456789abcdef" else letter for letter in each)
        assert answer(call, manager, each) == answer(call, manager, absent)


ODD = st.one_of(
    st.none(),
    st.integers(),
    st.binary(max_size=4),
    st.sampled_from([[], {}, ["0" * 16], {"id": "*"}, float("nan"), True]),
    st.sampled_from(["", "*", "%", "_", "..", "../shop", "NULL", "null", "' OR 1=1 --", "\0"]),
    st.text(max_size=60),
    st.text(alphabet=st.characters(categories=["Cs", "Cc", "Zs"]), max_size=8),
)


@example("x" * 3_000_000)
@given(odd=ODD)
def test_an_odd_id_is_an_error_of_ours_and_finds_nothing(stores, odd):
    manager = MemoryManager(stores["mine"])
    for call in ("get", "update", "feedback", "outcome"):
        kind, text = answer(call, manager, odd)
        assert issubclass(kind, RLMError) and len(text) < 400 and "secret" not in text


@given(query=st.text(max_size=80).map(lambda text: f"secret plan {text}"))
def test_no_search_finds_what_is_not_mine(stores, query):
    manager = MemoryManager(stores["mine"], person=True)
    assert manager.search(query, limit=50) == []
    assert manager.why(query)["hits"] == manager.why(query)["near_misses"] == []
    opened = ContextFolding(stores["mine"], clock.new_uuid()).branch_create("secret plan", query)
    assert opened.memory_ids == ()


def test_background_jobs_touch_only_their_own(stores, foreign):
    mine, later = stores["mine"], clock.now() + timedelta(days=400)
    assert ConfidenceEvaluator(mine).decay_all(later) == [] == check_stability(mine, later)
    for name, store in stores.items():
        for item in store.list_items():
            assert (item.confidence, store.signals(item.memory_id)) == (0.6, []), name


def test_levels_are_shared_as_far_as_they_reach(stores):
    team = MemoryManager(stores["project"]).record("Team rule", "Review all.", scope="team")
    org = MemoryManager(stores["team"]).record("Org rule", "Sign all.", scope="org")
    mine, other = MemoryManager(stores["mine"]), MemoryManager(stores["org"])
    assert {each.id for each in mine.search("rule")} == {team.id, org.id}
    assert [each.id for each in MemoryManager(stores["team"]).search("rule")] == [org.id]
    assert other.search("rule") == []
