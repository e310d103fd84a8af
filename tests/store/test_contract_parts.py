"""The contract of the parts that are not memories: the pack ledger, the queue, branches, projects,
ids by prefix, health."""

from __future__ import annotations

import inspect
from datetime import UTC, datetime, timedelta

import pytest

from rlm import clock
from rlm.errors import LimitExceeded, NotFound, StoreError, ValidationError
from rlm.store import gate
from rlm.store.backend import (
    BranchStore,
    ItemStore,
    MemoryBackend,
    PackLedger,
    ProjectStore,
    RunStore,
    SessionQueue,
    StoreHealth,
    TokenStore,
)
from rlm.store.types import Judgment, NewPack, Run, Tenant, Trajectory

PROTOCOL = (
    ItemStore, RunStore, PackLedger, SessionQueue, BranchStore, TokenStore, ProjectStore,
    StoreHealth,
)  # fmt: skip


def test_a_backend_has_every_method_of_the_protocol(backend):
    assert isinstance(backend, MemoryBackend)
    for part in PROTOCOL:
        for name, method in inspect.getmembers(part, inspect.isfunction):
            if not name.startswith("_"):
                own = getattr(type(backend), name)
                stated = list(inspect.signature(method).parameters)
                taken = inspect.signature(own).parameters
                loose = any(p.kind is p.VAR_KEYWORD for p in taken.values())
                assert loose or [n.rstrip("_") for n in taken] == stated, name


# -- packs


def admitted(store, *items):
    return list(gate.admit_items(items, store.tenant, origin="pack:p"))


def pack_item(make_item, n, trust="quarantined", **kw):
    return make_item(f"Line {n}", source_type="pack", trust=trust, **kw)


def pack(trust="quarantined", name="p", sha256="a" * 64):
    return NewPack(name, sha256, f"{name}.jsonl", None, trust)


def test_an_import_is_listed_and_the_same_again_adds_nothing(backend, make_item):
    lines = admitted(backend, *(pack_item(make_item, n, "trusted") for n in range(5)))
    told = []
    number, added = backend.add_pack(
        pack("trusted"), [lines[:3], lines[3:]], on_progress=told.append
    )
    assert (added, told) == (5, [3, 5])
    assert backend.add_pack(pack("trusted"), [lines]) == (number, 0)
    [row] = backend.packs()
    assert (row.pack_no, row.name, row.item_count, row.added_count) == (number, "p", 5, 5)
    assert row.rolled_back_at is None
    assert len(backend.retrieve("line", k=9)) == 5


def test_an_import_that_fails_leaves_nothing(backend, make_item):
    def chunks():
        yield admitted(backend, pack_item(make_item, 1))
        raise ValidationError("line 2 is bad")

    with pytest.raises(ValidationError, match="line 2"):
        backend.add_pack(pack(), chunks())
    assert backend.packs() == [] and backend.list_items() == []


def test_a_rollback_takes_back_what_nobody_changed(backend, make_item):
    lines = admitted(backend, *(pack_item(make_item, n, "trusted") for n in range(4)))
    number, _ = backend.add_pack(pack("trusted"), [lines])
    own = backend.add(make_item("Written by hand"))
    backend.update(lines[0].memory_id, description="edited by hand")
    renamed = backend.update(lines[1].memory_id, title="Another title").memory_id
    archived, kept = backend.rollback_pack(number)
    assert archived == 2
    assert set(kept) == {lines[0].memory_id, renamed}
    assert {item.memory_id for item in backend.list_items()} == {own, *kept}
    assert backend.rollback_pack(number) == (0, [])
    assert backend.packs()[0].rolled_back_at is not None


def test_importing_after_a_rollback_brings_it_back_with_its_counts(backend, make_item):
    lines = admitted(backend, pack_item(make_item, 1, "trusted"))
    number, _ = backend.add_pack(pack("trusted"), [lines])
    backend.record_usage("t", [(lines[0], 0.5)])
    used = backend.get(lines[0].memory_id).last_used
    backend.rollback_pack(number)
    again, added = backend.add_pack(pack("trusted"), [lines])
    assert added == 1 and again != number
    item = backend.get(lines[0].memory_id)
    assert item.archived_at is None and item.last_used == used


def test_better_trust_lifts_quarantine_and_what_a_person_archived_stays(backend, make_item):
    one, two = admitted(backend, *(pack_item(make_item, n) for n in range(2)))
    backend.add_pack(pack(), [[one, two]])
    assert backend.retrieve("line") == []
    backend.delete(two.memory_id)
    better = admitted(backend, *(pack_item(make_item, n, "trusted") for n in range(2)))
    assert backend.add_pack(pack("trusted", sha256="b" * 64), [better])[1] == 1
    assert [hit.item.memory_id for hit in backend.retrieve("line", k=5)] == [one.memory_id]
    assert backend.get(two.memory_id).archived_at is not None


def test_packs_of_another_tenant_are_not_seen(opener, make_item):
    mine, theirs = opener(Tenant("o", "t", "a")), opener(Tenant("o", "t", "b"))
    number, _ = mine.add_pack(pack(), [admitted(mine, pack_item(make_item, 1))])
    theirs = opener(Tenant("o", "t", "b"))
    assert theirs.packs() == []
    assert theirs.rollback_pack(number) == (0, [])
    assert len(mine.packs()) == 1


# -- runs


def test_which_trajectories_were_judged_with_high_confidence(backend):
    for name, confidence in (("t1", "high"), ("t2", "low")):
        backend.save_artifacts(
            Run(run_id=f"r-{name}"),
            Trajectory("q", trajectory_id=name),
            Judgment(True, "yes", confidence),
        )
    assert backend.judged_high(["t1", "t2", "t3", ""]) == {"t1"}


# -- ids


def test_ids_by_their_beginning(backend, make_item):
    ids = sorted(backend.add(make_item(f"Title {n}")) for n in range(12))
    archived = ids[3]
    backend.delete(archived)
    for found in ids:
        assert found in backend.ids_starting("memory", found[:6])
    assert backend.ids_starting("memory", "", limit=5) == ids[:5]
    assert backend.ids_starting("memory", "%") == backend.ids_starting("memory", "_") == []
    assert backend.ids_starting("memory", "", limit=-1) == []
    with pytest.raises(ValidationError, match="unknown kind 'zz'"):
        backend.ids_starting("zz", "")


def test_what_changed_since_a_mark_is_told(backend, make_item):
    one, two = backend.add(make_item("One")), backend.add(make_item("Two"))
    ids, mark = backend.changed_since(0)
    assert ids == sorted((one, two))
    if not mark:
        return  # it keeps no marks
    assert backend.changed_since(mark) == ([], mark)
    three = backend.add(make_item("Three"))
    backend.add(make_item("Held", trust="quarantined"))
    backend.update(one, provenance={"note": "x"})
    backend.delete(two)
    found, later = backend.changed_since(mark)
    assert found == sorted((one, three)) and later > mark
    assert backend.changed_since(later + 99)[0] == found, "an unknown mark: all"
    backend.restore(two)
    assert backend.changed_since(later)[0] == [two]
    with pytest.raises(ValidationError, match="mark"):
        backend.changed_since(-1)


def test_ids_of_nodes_and_edges(opener):
    store = opener()
    node = store.graph.create_node("fact", "x")
    edge = store.graph.create_edge("relation", "r", [{"node_id": node}])
    assert store.ids_starting("node", node[:8]) == [node]
    assert store.ids_starting("edge", edge[:8]) == [edge]


# -- the queue

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_job_goes_from_ready_to_done_with_its_memories(opener, make_item):
    store = opener()
    number = store.queue_session("claude", "s1", {"turns": 3}, outcome="success")
    [waiting] = store.jobs("ready")
    assert (waiting.job_no, waiting.payload, waiting.outcome) == (number, {"turns": 3}, "success")
    job = store.lease_job()
    assert job.job_no == number and job.attempts == 1
    assert store.lease_job() is None
    [kept] = store.finish_job(job, [make_item("What the session taught")])
    assert store.get(kept) is not None
    [done] = store.jobs()
    assert done.state == "done" and done.finished_at is not None


def test_a_session_is_queued_once_and_again_with_newer_words(opener):
    store = opener()
    first = store.queue_session("claude", "s1", {"n": 1})
    assert store.queue_session("claude", "s1", {"n": 2}) == first
    assert store.queue_session("codex", "s1", {"n": 3}) != first
    assert [job.payload["n"] for job in store.jobs()] == [2, 3]


def test_who_lost_the_lease_cannot_finish(opener, make_item):
    store = opener()
    with clock.frozen(NOW):
        store.queue_session("claude", "s1", {})
        slow = store.lease_job(lease_s=60)
    with clock.frozen(NOW + timedelta(seconds=61)):
        fast = store.lease_job(lease_s=60)
        assert fast.job_no == slow.job_no and fast.fence > slow.fence
        with pytest.raises(StoreError, match="no longer leased"):
            store.finish_job(slow, [make_item()])
        assert store.list_items() == []
        store.finish_job(fast, [make_item()])
    assert len(store.list_items()) == 1


@pytest.mark.parametrize("seconds", [1e18, 1e12, float("inf"), "60"])
def test_a_lease_without_end_is_refused(opener, seconds):
    store = opener()
    with pytest.raises(ValidationError, match="lease_s is"):
        store.lease_job(seconds)


def test_a_job_that_fails_waits_or_dies(opener):
    store = opener()
    with clock.frozen(NOW):
        store.queue_session("claude", "s1", {})
        later = (NOW + timedelta(minutes=5)).isoformat()
        store.fail_job(store.lease_job(), "the model is down", retry_at=later)
        assert store.lease_job() is None
    with clock.frozen(NOW + timedelta(minutes=6)):
        job = store.lease_job()
        assert (job.attempts, job.last_error) == (2, "the model is down")
        store.fail_job(job, "again")
    [dead] = store.jobs("dead")
    assert dead.last_error == "again"
    with pytest.raises(ValidationError, match="state"):
        store.jobs("lost")


def test_jobs_of_another_tenant_are_not_leased(opener):
    number = opener(tenant=Tenant("o", "t", "a")).queue_session("claude", "s1", {})
    other = opener(tenant=Tenant("o", "t", "b"))
    assert other.lease_job() is None and other.jobs() == []
    assert other.find_job("claude", "s1") is None and other.drop_job(number) is False
    with pytest.raises(NotFound, match="no job"):
        other.retry_job(number)
    assert other.other_projects("jobs") == {"a": 1}


def test_a_job_over_which_a_worker_died_holds_up_no_other(opener):
    store = opener()
    with clock.frozen(NOW):
        deadly = store.queue_session("claude", "s1", {})
        store.queue_session("claude", "s2", {})
        assert store.lease_job(lease_s=1).job_no == deadly
    with clock.frozen(NOW + timedelta(seconds=2)):
        assert [store.lease_job().session_id for _ in range(2)] == ["s2", "s1"]


def test_a_job_is_found_tried_again_and_dropped(opener):
    store = opener()
    number = store.queue_session("claude", "s1", {"path": "x"})
    store.fail_job(store.lease_job(), "no such file")
    assert store.find_job("claude", "s1").state == "dead"
    assert store.find_job("codex", "s1") is None
    again = store.retry_job(number)
    assert (again.state, again.attempts, again.payload) == ("ready", 0, {"path": "x"})
    job = store.lease_job()
    assert store.drop_job(number) is True and store.drop_job(number) is False
    with pytest.raises(StoreError, match="no longer leased"):
        store.finish_job(job)
    for odd in (-1, "1", None):
        with pytest.raises(ValidationError, match="job_no"):
            store.drop_job(odd)


def test_the_result_of_a_job_is_kept_with_it(opener):
    store = opener()
    store.queue_session("claude", "s1", {"path": "x"})
    store.finish_job(store.lease_job(), result={"turns": 3})
    assert store.jobs()[0].payload == {"path": "x", "result": {"turns": 3}}


def test_what_jobs_cost_is_added_up_for_a_day_and_an_organisation(opener):
    store, other = opener(), opener(tenant=Tenant("else", "t", "b"))
    with clock.frozen(NOW):
        store.queue_session("claude", "s1", {})
        job = store.lease_job()
        store.spend_job(job, calls=1)
        store.spend_job(job, calls=1, tokens=700, cost_usd=0.25)
        store.queue_session("claude", "s1", {"n": 2})  # what was spent stays spent
        assert store.spent_today() == {"calls": 2, "tokens": 700, "cost_usd": 0.25}
        assert other.spent_today() == {"calls": 0, "tokens": 0, "cost_usd": 0}
        with pytest.raises(ValidationError, match="calls"):
            store.spend_job(job, calls=-1)
    with clock.frozen(NOW + timedelta(days=1)):
        assert store.spent_today()["calls"] == 0
        store.spend_job(job, tokens=5)
        assert store.spent_today() == {"calls": 0, "tokens": 5, "cost_usd": 0}


def test_what_a_dropped_job_has_cost_today_still_counts(opener):
    store, spent = opener(), {"calls": 1, "tokens": 900, "cost_usd": 0.5}
    with clock.frozen(NOW):
        number = store.queue_session("claude", "s1", {"path": "x"})
        job = store.lease_job()
        store.spend_job(job, calls=1)
        assert store.drop_job(number) is True and store.drop_job(number) is False
        store.spend_job(job, tokens=900, cost_usd=0.5)  # its call was under way
        assert store.spent_today() == spent
        assert store.jobs() == [] and store.jobs("done") == [] and store.lease_job() is None
        assert store.find_job("claude", "s1") is None
        with pytest.raises(NotFound, match="no job"):
            store.retry_job(number)
        store.queue_session("claude", "s1", {"path": "y"})
        (again,) = store.jobs()
        assert (again.state, again.payload.pop("spent")["tokens"]) == ("ready", 900)
        assert again.payload == {"path": "y"} and store.spent_today() == spent
        assert store.drop_job(again.job_no) and store.spent_today() == spent
    with clock.frozen(NOW + timedelta(days=1)):
        assert store.spent_today()["calls"] == 0 and store.jobs() == []


# -- tokens


def test_a_token_belongs_to_one_project(opener):
    ours = opener(tenant=Tenant("acme", "web", "shop"))
    theirs = opener(tenant=Tenant("acme", "web", "blog"))
    made = ours.add_token("t1", "laptop", "ab" * 32, read_only=True)
    assert made.tenant == Tenant("acme", "web", "shop") and made.read_only
    assert "abab" not in repr(made)
    theirs.add_token("t2", "laptop", "cd" * 32, read_only=False)
    assert ours.tokens() == [made] and [each.token_id for each in theirs.tokens()] == ["t2"]
    assert theirs.find_token("t1") == made and ours.find_token("t3") is None
    for name in ("t1", "phone", "*", "", "../laptop"):
        with pytest.raises(NotFound, match="no token"):
            theirs.revoke_token(name)
    with pytest.raises(ValidationError, match="already"):
        ours.add_token("t4", "laptop", "ef" * 32, read_only=True)
    assert theirs.revoke_token("laptop").token_id == "t2"
    assert ours.tokens() == [made] and theirs.tokens() == []
    assert ours.revoke_token("t1") == made and ours.find_token("t1") is None


# -- branches


def test_branches_have_budgets_and_an_end(opener):
    store = opener()
    root = store.open_branch("s1", "try the other parser", 100)
    child = store.open_branch("s1", "its lexer", 40, root.branch_id)
    assert (root.depth, child.depth, child.parent_id) == (0, 1, root.branch_id)
    assert store.spend_branch(child.branch_id, 30).used_tokens == 30
    with pytest.raises(LimitExceeded, match="10 of 40 tokens left, and 11 were asked for"):
        store.spend_branch(child.branch_id, 11)
    ended = store.end_branch(child.branch_id, "returned", "it works")
    assert (ended.state, ended.result) == ("returned", "it works")
    with pytest.raises(NotFound, match="it is returned"):
        store.spend_branch(child.branch_id, 1)
    assert store.get_branch(child.branch_id) == ended
    assert [branch.branch_id for branch in store.branches("s1")] == [
        root.branch_id,
        child.branch_id,
    ]
    assert store.branches("s2") == [] and store.get_branch("nobody") is None


def test_an_open_branch_expires(opener):
    store, now = opener(), datetime(2026, 5, 1, tzinfo=UTC)
    with clock.frozen(now):
        made = store.open_branch("s1", "x", 10, timeout_s=2)
        forever = store.open_branch("s1", "y", 10)
    with clock.frozen(now + timedelta(seconds=2)):
        assert store.get_branch(made.branch_id).state == "expired"
        assert [each.state for each in store.branches("s1")].count("expired") == 1
        for late in (
            lambda: store.spend_branch(made.branch_id, 1),
            lambda: store.end_branch(made.branch_id, "returned"),
            lambda: store.open_branch("s1", "z", 10, made.branch_id),
        ):
            with pytest.raises(NotFound, match="it is expired"):
                late()
        assert store.end_branch(forever.branch_id, "returned").ended_at.startswith("2026-05-01")
    with pytest.raises(ValidationError, match="timeout_s is 1e\\+300"):
        store.open_branch("s1", "x", 10, timeout_s=1e300)


def test_a_branch_needs_a_parent_of_its_own_session(opener):
    store = opener()
    root = store.open_branch("s1", "x", 10)
    with pytest.raises(NotFound, match=r"no open branch .* in session 's2'"):
        store.open_branch("s2", "y", 10, root.branch_id)
    store.end_branch(root.branch_id, "failed")
    with pytest.raises(NotFound, match="it is failed"):
        store.open_branch("s1", "y", 10, root.branch_id)
    with pytest.raises(ValidationError, match="budget_tokens"):
        store.open_branch("s1", "y", 0)
    other = opener(tenant=Tenant("o", "t", "b"))
    assert other.get_branch(root.branch_id) is None


# -- projects and health


def test_other_projects_and_their_counts(opener, make_item):
    for project, count in (("a", 1), ("b", 3)):
        store = opener(tenant=Tenant("o", "t", project))
        for n in range(count):
            store.add(make_item(f"Title {n}"))
    mine = opener(tenant=Tenant("o", "t", "mine"))
    assert mine.other_projects() == {"b": 3, "a": 1}
    assert mine.other_projects("trajectories") == {}


def test_a_memory_is_moved_to_another_level_and_back_with_all_that_is_known_of_it(
    opener, make_item
):
    mine = opener(tenant=Tenant("o", "t", "a"))
    other = opener(tenant=Tenant("o", "t", "b"))
    memory_id = mine.add(make_item(tags=["x"], provenance={"kind": "fact"}))
    mine.adjust_confidence(memory_id, 0.1, kind="helpful", reason="it was")
    before, signals = mine.get(memory_id), mine.signals(memory_id)
    assert mine.get(memory_id, level="project") == before
    assert mine.get(memory_id, level="team") is None
    for level in ("team", "org", "team"):
        moved = mine.set_level(memory_id, level)
        assert moved == mine.get(memory_id) == other.get(memory_id, level=level)
        assert (moved.level, moved.project) == (level, "")
        assert moved.team == ("t" if level == "team" else "")
        assert other.signals(memory_id) == signals
        assert [hit.item.memory_id for hit in other.retrieve("class label")] == [memory_id]
    assert mine.set_level(memory_id, "project") == before == mine.get(memory_id)
    assert other.get(memory_id) is None and other.retrieve("class label") == []
    assert mine.signals(memory_id) == signals
    assert [hit.item.memory_id for hit in mine.retrieve("class label")] == [memory_id]
    assert all(check.ok for check in mine.check())


def test_a_level_takes_no_memory_that_it_has(opener, make_item):
    mine = opener(tenant=Tenant("o", "t", "a"))
    shared = mine.add(make_item(level="team"))
    own = mine.add(make_item())
    assert own == shared and mine.get(own).level == "project"
    with pytest.raises(ValidationError, match=f"the level team has the memory {own} already"):
        mine.set_level(own, "team")
    assert (mine.get(own).level, mine.get(own, level="team").level) == ("project", "team")
    for call in (lambda: mine.set_level(own, "world"), lambda: mine.get(own, level="../x")):
        with pytest.raises(ValidationError, match="level"):
            call()
    with pytest.raises(NotFound):
        opener(tenant=Tenant("o", "u", "a")).set_level(own, "team")


def test_the_projects_that_hold_the_same_are_counted(opener, make_item):
    ids = {}
    for project in ("a", "b", "c"):
        store = opener(tenant=Tenant("o", "t", project))
        ids[project] = store.add(make_item())
        store.add(make_item("Of the team", level="team"))
    [memory_id] = set(ids.values())
    assert store.held_elsewhere([memory_id, memory_id, "nobody"]) == {memory_id: 2}
    assert opener(tenant=Tenant("o", "t", "new")).held_elsewhere([memory_id]) == {}


def test_a_project_with_a_new_name_keeps_what_it_knew(opener, make_item):
    old = opener(tenant=Tenant("o", "t", "old"))
    kept = old.add(make_item(level="project"))
    shared = old.add(make_item("Of the team", level="team"))
    node = old.graph.create_node("fact", "x")
    new = opener(tenant=Tenant("o", "t", "new"))
    assert new.adopt_project("nobody") is False and new.get(kept) is None
    assert new.adopt_project("old") is True
    assert new.adopt_project("old") is False, "there is no such project any more"
    assert (new.get(kept).project, new.get(shared).project) == ("new", "")
    assert kept in [hit.item.memory_id for hit in new.retrieve("class label")]
    assert new.graph.get_node(node)
    gone = opener(tenant=Tenant("o", "t", "old"))
    assert gone.get(kept) is None


def test_a_project_is_not_adopted_by_one_that_holds_something_or_by_strangers(opener, make_item):
    kept = opener(tenant=Tenant("o", "t", "old")).add(make_item())
    mine = opener(tenant=Tenant("o", "t", "mine"))
    mine.add(make_item("My own"))
    assert mine.adopt_project("mine") is mine.adopt_project("old") is False
    for stranger in (Tenant("x", "t", "new"), Tenant("o", "y", "new")):
        assert opener(tenant=stranger).adopt_project("old") is False
    assert opener(tenant=Tenant("o", "t", "old")).get(kept)


def test_a_sound_store_says_so_and_needs_no_repair(backend, make_item):
    backend.add(make_item())
    checks = backend.check()
    assert checks and all(check.ok for check in checks)
    assert backend.repair() == []
    assert backend.read_only is False


def test_together_is_all_or_nothing(backend, make_item):
    with pytest.raises(ZeroDivisionError), backend.together():
        backend.add(make_item("One"))
        backend.add_pack(pack(), [admitted(backend, pack_item(make_item, 1))])
        raise ZeroDivisionError
    assert backend.list_items() == [] and backend.packs() == []
    with backend.together():
        backend.add(make_item("One"))
        backend.add(make_item("Two"))
    assert len(backend.list_items()) == 2
