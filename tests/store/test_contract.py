"""The contract: what every backend does, whatever it keeps its rows in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm import clock
from rlm.errors import NotFound, NotSupported, StoreError, StoreReadOnly, ValidationError
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.lock import part_file
from rlm.store.types import (
    Hit,
    Judgment,
    Lessons,
    MemoryItem,
    Run,
    Scope,
    Signal,
    Tenant,
    Trajectory,
)

pytestmark = pytest.mark.req("RB-20")

SEED_001 = [
    MemoryItem(
        title="SPARQL query pattern for entity search",
        description="Use rdfs:label with FILTER for case-insensitive search.",
        content="- Step 1\n- Step 2",
        source_type="success",
        task_query="Find entities by name",
        tags=["sparql", "search", "entity"],
    ),
    MemoryItem(
        title="Property exploration strategy",
        description="Systematically explore properties using describe then probe.",
        content="- Action A\n- Action B",
        source_type="success",
        task_query="What properties does X have?",
        tags=["properties", "exploration"],
    ),
    MemoryItem(
        title="Debugging failed SPARQL queries",
        description="Check syntax, namespaces, and endpoint first.",
        content="- Check 1\n- Check 2",
        source_type="failure",
        task_query="Query failed with error",
        tags=["sparql", "debugging", "error"],
    ),
]


def test_it_is_a_backend(backend):
    assert isinstance(backend, MemoryBackend)
    assert backend.tenant == Tenant()


def test_add_returns_the_stable_id_and_get_gives_everything_back(backend, make_item):
    made = make_item(
        tags=["a", "b"],
        scope=Scope("prov", ("hierarchy",), ("search_entity",), False),
        provenance={"source": "human", "curriculum_id": "c1"},
        task_query="Find all subclasses",
        session_id="s-1",
        confidence=0.7,
    )
    assert backend.add(made) == made.memory_id
    got = backend.get(made.memory_id)
    for name in (
        "title",
        "description",
        "content",
        "tags",
        "scope",
        "provenance",
        "task_query",
        "session_id",
    ):
        assert getattr(got, name) == getattr(made, name), name
    assert (got.confidence, got.outcome, got.trust, got.level) == (
        0.7,
        "success",
        "trusted",
        "project",
    )
    assert (got.org, got.team, got.project) == ("local", "local", "local")


@pytest.mark.req("RB-05")
def test_the_same_memory_twice_is_one(backend, make_item):
    first = backend.add(make_item())
    again = backend.add(make_item(title="FIND a class  by its LABEL", description="other words"))
    assert first == again
    assert backend.stats()["memories"] == 1


def test_an_unknown_id_is_none(backend):
    assert backend.get("0" * 16) is None


def test_it_is_all_there_when_opened_again(opener, make_item):
    first = opener()
    kept = first.add(make_item())
    first.close()
    second = opener()
    assert second.get(kept).title == make_item().title
    assert second.retrieve("class label")[0].item.memory_id == kept


@pytest.mark.req("PM-06", "RB-03")
def test_the_seeds_own_questions_find_the_seeds_answers(backend):
    backend.add_many(SEED_001)
    first = backend.retrieve("How do I search for entities?", k=2)
    assert len(first) <= 2
    assert first[0].item.title.startswith("SPARQL query pattern")
    assert any(
        "sparql" in hit.item.tags for hit in backend.retrieve("My SPARQL query is broken", k=2)
    )
    properties = backend.retrieve("What properties does prov:Activity have?", k=2)
    assert properties[0].item.title == "Property exploration strategy"
    assert backend.retrieve("SPARQL entity search", k=1)[0].item.title.startswith(
        "SPARQL query pattern"
    )
    assert first[0].item.access_count == 1


def test_hits_unpack_and_are_sorted(backend):
    backend.add_many(SEED_001)
    hits = backend.retrieve("sparql query", k=3)
    for found, score in hits:
        assert isinstance(found, MemoryItem)
        assert 0 < score <= 1.1
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(isinstance(hit, Hit) and hit.why is None for hit in hits)


def test_explain_says_every_factor(backend):
    backend.add_many(SEED_001)
    for hit in backend.retrieve("debugging SPARQL", k=3, explain=True):
        why = hit.why
        product = why.similarity * why.confidence * why.recency * why.level_weight
        assert why.score == pytest.approx(hit.score) == pytest.approx(product, rel=1e-5)
        assert why.confidence == hit.item.confidence
        if why.lexical:
            assert set(why.matched) <= {"debugging", "sparql"}
            assert sum(why.matched.values()) == pytest.approx(1.0)
        assert hit.item.title not in str(why)


def test_filters(backend, make_item):
    backend.add(
        make_item("Query a class in prov", scope=Scope(ontology="prov"), source_type="success")
    )
    backend.add(
        make_item("Query a class in skos", scope=Scope(ontology="skos"), source_type="failure")
    )
    backend.add(make_item("Query a class anywhere", source_type="human"))
    titles = lambda **kw: {hit.item.title for hit in backend.retrieve("query a class", k=9, **kw)}  # noqa: E731
    assert len(titles()) == 3
    assert titles(scope=Scope(ontology="prov")) == {
        "Query a class in prov",
        "Query a class anywhere",
    }
    assert titles(outcome="failure") == {"Query a class in skos"}
    with pytest.raises(ValidationError, match="unknown outcome 'great'"):
        backend.retrieve("query", outcome="great")


@pytest.mark.req("RB-02")
def test_lists_filter_by_scope_and_provenance(backend, make_item):
    backend.add(
        make_item(
            "One", scope=Scope(ontology="prov"), provenance={"curriculum_id": "c1", "run_id": "r-1"}
        )
    )
    backend.add(
        make_item("Two", tags=["x"], provenance={"curriculum_id": "c2"}, source_type="failure")
    )
    names = lambda **kw: [found.title for found in backend.list_items(**kw)]  # noqa: E731
    assert names() == ["Two", "One"]
    assert names(ontology="prov") == ["One"]
    assert names(provenance={"curriculum_id": "c2"}) == ["Two"]
    assert names(provenance={"curriculum_id": "c1", "run_id": "r-1"}) == ["One"]
    assert names(tag="x") == names(source_type="failure") == names(outcome="failure") == ["Two"]
    assert names(limit=1, offset=1) == ["One"]


def test_quarantined_memories_never_come_back(backend, make_item):
    backend.add(make_item("Trust me and run this", trust="quarantined"))
    assert backend.retrieve("trust me and run this") == []
    assert backend.stats()["quarantined"] == 1
    assert [found.title for found in backend.list_items(trust="quarantined")] == [
        "Trust me and run this"
    ]


def test_a_person_lifts_a_memory_out_of_quarantine(backend, make_item):
    held = backend.add(make_item(trust="quarantined", source_type="pack"))
    backend.add(make_item(source_type="human"))
    assert backend.get(held).trust == "trusted"
    assert backend.retrieve("find class label")[0].item.memory_id == held


def test_recalled_text_is_not_stored_as_something_new(backend, make_item):
    told = (
        "## Relevant Prior Experience\nBefore taking action, briefly assess which apply\n### 1."
        " Search first"
    )
    held = backend.add(make_item("Search first", content=told))
    assert backend.get(held).trust == "quarantined"
    assert "recalled" in backend.get(held).quarantine_reason
    assert backend.retrieve("search first") == []


def test_update_keeps_what_is_not_changed(backend, make_item):
    kept = backend.add(make_item(tags=["old"], confidence=0.4))
    changed = backend.update(kept, tags=["new"], confidence=0.9)
    assert changed.memory_id == kept
    got = backend.get(kept)
    assert (got.tags, got.confidence, got.title) == (["new"], 0.9, make_item().title)


def test_new_words_give_a_new_id_and_only_the_new_words_are_found(backend, make_item):
    old = backend.add(make_item("Count the rows", content="count them"))
    new = backend.update(
        old, title="Weigh the parcels", description="parcels", content="weigh them"
    ).memory_id
    assert new != old
    assert backend.get(old) is None
    assert backend.get(new).provenance["edited_from"] == old
    assert [hit.item.memory_id for hit in backend.retrieve("weigh parcels")] == [new]
    assert backend.retrieve("count rows") == []


def test_an_edit_may_not_make_two_memories_the_same(backend, make_item):
    one, two = backend.add(make_item("One")), backend.add(make_item("Two"))
    with pytest.raises(ValidationError, match=f"the same as {one}"):
        backend.update(two, title="one")
    assert backend.get(two).title == "Two"


@pytest.mark.parametrize("name", ["memory_id", "org", "level", "nonsense"])
def test_update_refuses_what_is_fixed(backend, make_item, name):
    kept = backend.add(make_item())
    with pytest.raises(ValidationError, match=f"'{name}' cannot be changed"):
        backend.update(kept, **{name: "x"})
    with pytest.raises(NotFound, match="no memory 'nope'"):
        backend.update("nope", title="x")


def test_delete_archives_restore_brings_back_purge_is_final(backend, make_item):
    kept = backend.add(make_item())
    assert backend.delete(kept) is True
    assert backend.delete(kept) is False
    assert backend.retrieve("class label") == []
    assert backend.get(kept).archived_at
    assert [found.memory_id for found in backend.list_items(archived=True)] == [kept]
    assert backend.restore(kept) is True
    assert backend.restore(kept) is False
    assert backend.retrieve("class label")[0].item.memory_id == kept
    assert backend.purge(kept) is True
    assert backend.get(kept) is None
    assert backend.purge(kept) is backend.delete("nope") is backend.restore("nope") is False


def test_adding_an_archived_memory_again_restores_it(backend, make_item):
    kept = backend.add(make_item())
    backend.delete(kept)
    backend.add(make_item())
    assert backend.get(kept).archived_at is None
    assert backend.retrieve("class label")


@pytest.mark.req("CX-04")
def test_tenants_do_not_see_each_other(opener, make_item):
    mine = opener(Tenant("acme", "red", "p1"))
    kept = mine.add(make_item("Secret recipe for red"))
    mine.close()
    theirs = opener(Tenant("acme", "blue", "p1"))
    assert theirs.retrieve("secret recipe") == []
    assert theirs.get(kept) is None
    assert theirs.delete(kept) is theirs.purge(kept) is False
    assert theirs.list_items() == []
    assert theirs.stats()["memories"] == 0
    with pytest.raises(NotFound):
        theirs.update(kept, title="Mine now")
    assert theirs.add(make_item("Secret recipe for red")) == kept, (
        "two tenants may hold the same memory"
    )
    again = opener(Tenant("acme", "red", "p1"))
    assert again.get(kept).team == "red"


@pytest.mark.req("CX-04")
def test_tenants_do_not_see_each_others_runs(opener, make_item):
    same = make_item("Same words")
    shared = make_item("Shared words", level="team")
    for number, tenant in enumerate(
        (Tenant("acme", "red", "p1"), Tenant("acme", "blue", "p1")), start=1
    ):
        store = opener(tenant)
        assert (
            store.recent_runs()
            == list(store.learning_rows())
            == store.signals(same.memory_id)
            == []
        )
        assert store.stats()["runs"] == store.stats()["trajectories"] == 0
        store.add_many([same, shared])
        run, made = Run("r-1", model=f"m{number}"), Trajectory(f"q{number}", trajectory_id="t-1")
        store.save_artifacts(run, made, retrieved=[(same, number / 10)])
        store.adjust_confidence(same.memory_id, number / 100, kind="not_helpful")
        store.adjust_confidence(shared.memory_id, number / 100, kind="not_helpful")
        ((kept_run, kept),) = store.recent_runs()
        assert (kept_run.model, kept.task_query) == (f"m{number}", f"q{number}")
        (row,) = store.learning_rows()
        assert [use.score for use in row.given] == [number / 10]
        for memory_id in (same.memory_id, shared.memory_id):
            (signal,) = store.signals(memory_id)
            assert signal["delta"] == pytest.approx(number / 100)
            assert list(signal) == ["at", "kind", "delta", "before", "after", "reason"]
        store.close()
    near = opener(Tenant("acme", "red", "p2"))
    assert near.recent_runs() == near.signals(same.memory_id) == []
    assert len(near.signals(shared.memory_id)) == 1, "what the team shares, it sees the history of"


@pytest.mark.req("CX-04", "CX-05")
def test_the_cascade_goes_from_project_to_team_to_org(opener, make_item):
    near = opener(Tenant("acme", "red", "p1"))
    same = "Deploy the service"
    for level in ("org", "team", "project"):
        near.add(make_item(same, level=level))
    near.add(make_item("Deploy the service by hand", level="team"))
    hits = near.retrieve("deploy the service", k=9, explain=True)
    assert next((hit.item.title, hit.item.level) for hit in hits) == (
        same,
        "project",
    ), "the nearest keeps a duplicate"
    assert len(hits) == 2
    assert {hit.why.level: hit.why.level_weight for hit in hits} == {"project": 1.0, "team": 0.9}
    near.close()
    other = opener(Tenant("acme", "red", "p2"))
    assert {hit.item.level for hit in other.retrieve("deploy the service", k=9)} == {"team"}
    other.close()
    far = opener(Tenant("acme", "blue", "p9"))
    assert {hit.item.level for hit in far.retrieve("deploy the service", k=9)} == {"org"}


@pytest.mark.req("RB-18")
def test_usage_is_recorded_and_counts_as_use(backend):
    backend.add_many(SEED_001)
    hits = backend.retrieve("sparql entity search", k=2)
    backend.record_usage("t-1", hits)
    assert backend.get(hits[0].item.memory_id).last_used
    with pytest.raises(TypeError):
        backend.record_usage("t-1", hits, tenant=Tenant("other"))


@pytest.mark.req("CX-05")
def test_recent_use_lifts_a_memory_by_at_most_a_tenth(backend, make_item):
    a = backend.add(make_item("Parse dates with care", content="a"))
    before = backend.retrieve("parse dates", explain=True)[0]
    backend.record_usage("t-1", [before])
    after = backend.retrieve("parse dates", explain=True)[0]
    assert before.item.memory_id == after.item.memory_id == a
    assert before.why.recency == 1.0
    assert after.why.recency == pytest.approx(1.1, abs=1e-4)
    assert after.score == pytest.approx(before.score * after.why.recency)


def test_recent_runs_come_newest_first(backend):
    for number in range(3):
        run = Run(model=f"m{number}", created_at=f"2026-01-0{number + 1}T00:00:00Z")
        trajectory = Trajectory(f"q{number}", final_answer="a", iteration_count=number, converged=number > 0,
                                artifact={"reason": "r"}, created_at=f"2026-01-0{number + 1}T00:00:00Z")  # fmt: skip
        backend.save_artifacts(run, trajectory)
    found = backend.recent_runs(2)
    assert [(run.model, made.task_query, made.iteration_count, made.converged) for run, made in found] == [
        ("m2", "q2", 2, True), ("m1", "q1", 1, True),
    ]  # fmt: skip
    (only,) = backend.recent_runs(trajectory_id=found[1][1].trajectory_id)
    assert only == found[1] and only[1].artifact == {"reason": "r"}
    assert backend.recent_runs(trajectory_id="t-none") == []


@pytest.mark.req("RB-19")
def test_learning_rows_say_what_a_run_was_given_and_what_came_of_it(backend, make_item):
    first, second, third = (make_item(f"Memory {n}") for n in "abc")
    backend.add_many([first, second, third])
    artifact = {
        "kind": "subclasses", "curriculum_id": "c1", "task_id": "t1", "task_hash": "h", "reason": "answered",
        "injected": [first.memory_id, second.memory_id], "uses": {"followed": [2], "abandoned": [1], "said": True},
        "usage": {"input_tokens": 10, "output_tokens": 5}, "steps": [{"action": "x" * 80}],
    }  # fmt: skip
    run = Run(model="offline", ontology_name="prov")
    made = Trajectory("Subclasses?", iteration_count=3, converged=True, artifact=artifact)
    backend.save_artifacts(
        run,
        made,
        Judgment(True, "as the query says", "high"),
        retrieved=[(first, 0.9), (second, 0.5), (third, 0.1)],
    )
    backend.save_artifacts(Run(), Trajectory("Bare", artifact={}), retrieved=[(third, 0.3)])
    bare, row = backend.learning_rows()
    assert (row.trajectory_id, row.run_id, row.created_at) == (
        made.trajectory_id,
        run.run_id,
        made.created_at,
    )
    assert (row.task_query, row.iteration_count, row.converged) == ("Subclasses?", 3, True)
    assert (row.is_success, row.confidence, row.model, row.ontology_name) == (
        True,
        "high",
        "offline",
        "prov",
    )
    assert (row.kind, row.curriculum_id, row.task_id, row.task_hash) == (
        "subclasses",
        "c1",
        "t1",
        "h",
    )
    assert (row.reason, row.tokens) == ("answered", 15)
    assert [(g.memory_id, g.rank, g.score, g.injected, g.followed) for g in row.given] == [
        (first.memory_id, 1, 0.9, True, False), (second.memory_id, 2, 0.5, True, True),
        (third.memory_id, 3, 0.1, False, None),
    ]  # fmt: skip
    assert [g.memory_id for g in row.injected] == [first.memory_id, second.memory_id]
    assert (bare.is_success, bare.confidence, bare.model, bare.kind, bare.tokens) == (
        None,
        None,
        None,
        None,
        None,
    )
    assert [(g.memory_id, g.injected, g.followed) for g in bare.given] == [
        (third.memory_id, True, None)
    ]


@pytest.mark.parametrize(
    "artifact",
    [
        {
            "kind": 7,
            "injected": "x",
            "uses": [1],
            "usage": {"input_tokens": "many"},
            "reason": None,
        },
        {
            "injected": [None, 3, {}],
            "uses": {"followed": ["1"], "said": True},
            "usage": 3,
            "task_id": ["t"],
        },
        {"injected": [], "uses": {"followed": {"a": 1}}, "usage": {"input_tokens": True}},
    ],
)
def test_an_artifact_of_another_form_loses_no_row(backend, make_item, artifact):
    backend.save_artifacts(
        Run(), Trajectory("q", artifact=artifact), retrieved=[(make_item(), 1.0)]
    )
    (row,) = backend.learning_rows()
    assert row.task_query == "q" and row.kind is None and row.task_id is None and row.tokens is None
    assert [each.followed for each in row.given] in ([None], [False])


def test_learning_rows_come_the_last_first_within_bounds(backend):
    for number in range(7):
        backend.save_artifacts(
            Run(), Trajectory(f"q{number}", artifact={"curriculum_id": f"c{number % 2}"})
        )
    assert [row.task_query for row in backend.learning_rows()] == [
        f"q{n}" for n in range(6, -1, -1)
    ]
    assert [row.task_query for row in backend.learning_rows(2)] == ["q6", "q5"]
    assert [row.task_query for row in backend.learning_rows(2, curriculum_id="c1")] == ["q5", "q3"]
    assert list(backend.learning_rows(0)) == list(backend.learning_rows(curriculum_id="")) == []
    rows = backend.learning_rows()
    next(rows)
    backend.save_artifacts(Run(), Trajectory("while it is read"))
    assert "q0" in [row.task_query for row in rows]


def test_a_renamed_memory_is_still_the_one_that_was_followed(backend, make_item):
    old = backend.add(make_item("Old words"))
    artifact = {"injected": [old], "uses": {"followed": [1], "said": True}}
    backend.save_artifacts(
        Run(), Trajectory("q", artifact=artifact), retrieved=[(backend.get(old), 1.0)]
    )
    new = backend.update(old, title="New words").memory_id
    (row,) = backend.learning_rows()
    (given,) = row.given
    assert given.injected and given.followed
    assert given.memory_id == new


def test_artifacts_are_saved_whole_or_not_at_all(backend, make_item):
    run = Run(model="scripted", ontology_name="prov")
    good = Trajectory(
        "What is Activity?", final_answer="A class", iteration_count=3, converged=True
    )
    ids = backend.save_artifacts(
        run,
        good,
        Judgment(True, "grounded", "high"),
        memories=[make_item("Learnt", source_type="success")],
    )
    assert backend.get(ids[0]).confidence == 0.6
    assert backend.stats()["trajectories"] == 1
    with pytest.raises(ValidationError, match="title has 50 words"):
        backend.save_artifacts(run, Trajectory("Next"), memories=[make_item("word " * 50)])
    assert backend.stats()["trajectories"] == 1


KILLED_BACKUP = """
import os, pathlib, sys
from rlm.store.open import open_store

with open_store(sys.argv[1], embedder="none") as store:
    pathlib.Path.replace = lambda *paths: os.kill(os.getpid(), 9)
    store.backup(sys.argv[2])
"""


def test_what_a_killed_backup_left_is_removed_by_the_next(file_opener, make_item, tmp_path):
    opener = file_opener
    store, target = opener(embedder="none"), tmp_path / "copies" / "copy [1]"
    store.add(make_item())
    args = [sys.executable, "-c", KILLED_BACKUP, opener.url, str(target)]
    for _ in range(2):
        killed = subprocess.run(args, check=False, timeout=60)
        assert killed.returncode == -9
    assert not target.exists() and len(list(target.parent.iterdir())) == 1
    others = [target.parent / name for name in ("copy [1].mine.part", "copy 1.aaaaaaaa.part")]
    for other in others:
        other.write_text("not ours")
    with part_file(target) as alive:
        store.backup(target)
        assert sorted(target.parent.iterdir()) == sorted([target, alive, *others])
        alive.write_bytes(target.read_bytes())
    assert sorted(target.parent.iterdir()) == sorted([target, *others])


def test_backup_is_a_store_of_its_own(backend, opener, make_item, tmp_path):
    kept = backend.add(make_item())
    if opener.kind == "postgres":
        with pytest.raises(NotSupported, match="pg_dump"):
            backend.backup(tmp_path / "copies" / "copy")
        return
    copy = backend.backup(tmp_path / "copies" / "copy")
    backend.purge(kept)
    from rlm.store.open import open_store

    scheme = opener.url.rpartition(":")[0]  # as the store itself is named
    with open_store(f"{scheme}:{copy}" if scheme else copy) as other:
        assert other.get(kept) is not None


BAD = [
    ({"title": "word " * 50}, "title has 50 words, at most 10"),
    ({"title": "  "}, "title is empty"),
    ({"content": " \n "}, "content is empty"),
    ({"content": "x" * 100_001}, "content has 100,001 characters"),
    ({"confidence": 1.5}, "confidence is 1.5: use a number from 0 to 1"),
    ({"confidence": float("nan")}, "confidence is nan"),
    ({"confidence": "high"}, "confidence is 'high'"),
    ({"source_type": "robot"}, "unknown source_type 'robot'"),
    ({"outcome": "great"}, "unknown outcome 'great'"),
    ({"level": "world"}, "unknown level 'world'"),
    ({"trust": "absolute"}, "unknown trust 'absolute'"),
    ({"tags": "one two"}, "tags is 'one two': use a list"),
    ({"tags": ["x"] * 40}, "40 tags, at most 32"),
    ({"created_at": "yesterday"}, "created_at is 'yesterday': use ISO 8601"),
    ({"provenance": {"x": object()}}, "provenance cannot be written as JSON"),
    ({"access_count": -1}, "access_count is -1"),
]


@pytest.mark.parametrize(("fields", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_gets_a_clear_error_and_loses_nothing(backend, make_item, fields, message):
    kept = backend.add(make_item("Kept"))
    with pytest.raises(ValidationError, match=message):
        backend.add_many([make_item("Good one"), make_item(**fields)])
    assert [found.memory_id for found in backend.list_items()] == [kept]


NASTY = [
    "", " ", '"', '""', "'", "AND", "OR NOT", "a AND (b", "title:x", "*", "x*", "^x", "{a b} : c", "NEAR(a b)",
    "-x", "a-b", "🎉", "👩‍👩‍👧", "\0", "\ud800", "x" * 100_000, "word " * 25_000, "検索",
    "'; DROP TABLE memory_items;--",
    "%s %d {}", "\\", "a\nb\tc", "ﬁ", "١٢٣", "İstanbul", "\u202eabc",
]  # fmt: skip


def test_any_string_is_a_query(backend, make_item):
    backend.add(make_item("Find a class", content="search for 検索 then x and a b c"))
    for query in NASTY:
        assert isinstance(backend.retrieve(query, k=5), list), query[:12]


@given(query=st.text(max_size=200), k=st.integers(-1, 5))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_string_is_a_query(backend, make_item, query, k):
    backend.add(make_item())
    assert len(backend.retrieve(query, k)) <= max(k, 0)


def test_levels_and_kinds_choose(backend, make_item):
    for level in ("project", "team", "org"):
        backend.add(make_item(f"Cache of the {level}", f"cache {level}", level=level))
    backend.add(make_item("Cache decided", "cache on", provenance={"kind": "decision"}))

    def titles(**options):
        return {hit.item.title for hit in backend.retrieve("cache", 10, **options)}

    assert len(titles()) == 4
    assert titles(levels=("team", "org")) == {"Cache of the team", "Cache of the org"}
    assert titles(kinds=("decision",)) == {"Cache decided"}
    assert len(titles(kinds=("procedure",))) == 3 and not titles(kinds=("fact",))
    for chosen in ({"kind": "decision"}, {"provenance": {"kind": "decision"}}):
        assert [each.title for each in backend.list_items(**chosen)] == ["Cache decided"]
    assert len(backend.list_items(kind="procedure")) == 3 and not backend.list_items(kind="fact")


def test_a_query_that_is_not_text_is_refused(backend):
    with pytest.raises(ValidationError, match="task is int"):
        backend.retrieve(3)


def test_retrieval_is_the_same_every_time(backend):
    backend.add_many(SEED_001)

    def ask():
        hits = backend.retrieve("sparql entity", k=3)
        return [(hit.item.memory_id, hit.score) for hit in hits]

    assert ask() == ask() == ask()


def test_times_are_the_clocks(backend, make_item):
    from datetime import UTC, datetime

    with clock.frozen(datetime(2026, 1, 2, tzinfo=UTC)):
        kept = backend.add(make_item())
    assert backend.get(kept).created_at == "2026-01-02T00:00:00.000000Z"


@pytest.mark.parametrize("wrong", [None, 7, "text", {"a": 1}, b"bytes"])
def test_many_memories_are_a_list(backend, wrong):
    with pytest.raises(ValidationError, match="use a list of MemoryItem"):
        backend.add_many(wrong)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((None, Trajectory("t")), "run is NoneType, expected a Run"),
        ((Run(), "t"), "trajectory is str, expected a Trajectory"),
        ((Run(), Trajectory("t"), True), "judgment is bool, expected a Judgment"),
    ],
)
def test_artifacts_are_what_they_should_be(backend, values, message):
    with pytest.raises(ValidationError, match=message):
        backend.save_artifacts(*values)


def test_a_run_moves_confidence_counts_outcomes_and_changes_memories(backend, make_item):
    helpful, wrong, old = (make_item(title) for title in ("Helpful one", "Wrong one", "Old one"))
    backend.add_many([helpful, wrong, old])
    start = backend.get(helpful.memory_id).confidence
    lessons = Lessons(
        signals=(
            Signal(helpful.memory_id, 0.1, "task_succeeded", "it was followed"),
            Signal(wrong.memory_id, -2.0, "not_helpful"),
            Signal("0" * 16, 0.1, "task_succeeded"),
        ),
        changes=(
            (helpful.memory_id, {"description": "Better said."}),
            ("0" * 16, {"description": "gone"}),
        ),
        archived=(old.memory_id, "0" * 16),
        followed=(helpful.memory_id, wrong.memory_id),
    )
    backend.save_artifacts(Run(), Trajectory("q"), Judgment(True, "ok"), lessons=lessons)
    kept = backend.get(helpful.memory_id)
    assert kept.confidence == pytest.approx(start + 0.1) and kept.description == "Better said."
    assert (kept.success_count, kept.failure_count) == (1, 0)
    assert backend.get(wrong.memory_id).confidence == 0.0 and backend.get(old.memory_id).archived_at
    (signal,) = backend.signals(helpful.memory_id)
    assert (signal["kind"], signal["reason"]) == ("task_succeeded", "it was followed")
    assert (
        signal["after"] - signal["before"] == pytest.approx(signal["delta"]) == pytest.approx(0.1)
    )
    backend.save_artifacts(
        Run(), Trajectory("q"), Judgment(False, "no"), lessons=Lessons(followed=(wrong.memory_id,))
    )
    kept = backend.get(wrong.memory_id)
    assert (kept.success_count, kept.failure_count) == (1, 1)


def test_writes_together_happen_all_or_not_at_all(backend, make_item):
    there = backend.add(make_item("There before"))
    with pytest.raises(ZeroDivisionError), backend.together():
        backend.save_artifacts(
            Run(), Trajectory("q"), lessons=Lessons((Signal(there, -0.3, "not_helpful"),))
        )
        backend.add(make_item("New in it"))
        raise ZeroDivisionError
    assert (
        backend.recent_runs() == []
        and len(backend.list_items()) == 1
        and backend.signals(there) == []
    )
    with backend.together():
        backend.save_artifacts(Run(), Trajectory("q"))
        backend.add(make_item("New in it"))
    assert len(backend.recent_runs()) == 1 and len(backend.list_items()) == 2


TOKEN = "ghp_" + "R7tKq2Xw9LmZ4bVn8sYd" * 2


def _with(value, **fields):
    """A copy that holds what its maker would have refused or filled in."""
    for name, given_value in fields.items():
        setattr(value, name, given_value)
    return value


BAD_RUNS = [
    (lambda: (Run(TOKEN), Trajectory("q")), "run_id is"),
    (lambda: (Run(created_at="yesterday"), Trajectory("q")), "created_at is 'yesterday'"),
    (lambda: (Run(model=5), Trajectory("q")), "model is int, expected text"),
    (lambda: (Run(), Trajectory("q", trajectory_id=TOKEN)), "trajectory_id is"),
    (lambda: (Run(), _with(Trajectory("q"), trajectory_id="")), "trajectory_id is ''"),
    (lambda: (Run(), Trajectory("q", trajectory_id=5)), "trajectory_id is 5"),
    (lambda: (Run(), Trajectory(5)), "task_query is int, expected text"),
    (lambda: (Run(), Trajectory("q", final_answer=5)), "final_answer is int, expected text"),
    (
        lambda: (Run(), Trajectory("q", iteration_count=-1)),
        "iteration_count is -1: use an integer from 0 up",
    ),
    (lambda: (Run(), Trajectory("q", iteration_count=TOKEN)), "iteration_count is"),
    (lambda: (Run(), Trajectory("q", artifact=[1])), "artifact is list, expected an object"),
    (
        lambda: (Run(), Trajectory("q", artifact={"x": float("nan")})),
        "artifact cannot be written as JSON",
    ),
    (lambda: (Run(), Trajectory("q", created_at="soon")), "created_at is 'soon'"),
    (
        lambda: (Run(), Trajectory("q"), Judgment(True, "ok", "sure")),
        "judgment confidence is 'sure'; use one of: high",
    ),
    (lambda: (Run(), Trajectory("q"), Judgment(True, "ok", TOKEN)), "judgment confidence is"),
    (lambda: (Run(), Trajectory("q"), Judgment(True, None)), "reason is NoneType, expected text"),
    (
        lambda: (Run(), Trajectory("q"), Judgment(True, "ok", missing="x")),
        "missing is 'x': use a list",
    ),
]


def _nothing_was_kept(backend, caught, tmp_path):
    assert TOKEN not in str(caught.value)
    assert backend.recent_runs() == [] and list(backend.learning_rows()) == []
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert TOKEN.encode() not in kept and b"NaN" not in kept


def test_a_run_passes_the_gate_whatever_keeps_it(backend, make_item, tmp_path):
    for make, message in BAD_RUNS:  # one store for all: none of them may change it
        with pytest.raises(ValidationError, match=message) as caught:
            backend.save_artifacts(*make(), memories=[make_item()])
        _nothing_was_kept(backend, caught, tmp_path)
        assert backend.list_items() == [], message


BAD_USES = [
    (TOKEN, {}, 0.5, "trajectory_id is"),
    ("", {}, 0.5, "trajectory_id is ''"),
    (5, {}, 0.5, "trajectory_id is 5"),
    ("t-1", {"memory_id": TOKEN}, 0.5, "memory_id is"),
    ("t-1", {}, float("nan"), "score is nan: use a finite number"),
    ("t-1", {}, "0.5", "score is '0.5'"),
]


def test_usage_passes_the_gate_whatever_keeps_it(backend, make_item, tmp_path):
    for trajectory_id, fields, score, message in BAD_USES:
        hits = [(_with(make_item(), **fields), score)]
        with pytest.raises(ValidationError, match=message) as caught:
            backend.record_usage(trajectory_id, hits)
        _nothing_was_kept(backend, caught, tmp_path)
        if trajectory_id == "t-1":
            with pytest.raises(ValidationError, match=message):
                backend.save_artifacts(
                    Run(), Trajectory("q", trajectory_id=trajectory_id), retrieved=hits
                )
            _nothing_was_kept(backend, caught, tmp_path)


def test_usage_is_pairs_of_a_memory_and_a_score(backend):
    for wrong in (None, "text", [1], [("m", 0.5)], [(1, 2, 3)]):
        with pytest.raises(ValidationError, match=r"\(MemoryItem, score\)"):
            backend.record_usage("t-1", wrong)


def test_an_origin_passes_the_gate_whatever_keeps_it(opener, tmp_path):
    with pytest.raises(ValidationError, match="origin is") as caught:
        opener(origin=TOKEN)
    assert TOKEN not in str(caught.value) and list(tmp_path.iterdir()) == []


def test_a_trajectory_is_saved_once_and_its_run_stays_as_it_was(backend, make_item):
    first = Trajectory("q", trajectory_id="t-1", created_at="2026-01-01T00:00:00Z")
    backend.save_artifacts(Run("r-1", model="a"), first)
    with pytest.raises(
        ValidationError, match="trajectory 't-1' is saved already: leave its id empty"
    ):
        backend.save_artifacts(
            Run("r-2"), Trajectory("again", trajectory_id="t-1"), memories=[make_item()]
        )
    assert backend.list_items() == []
    backend.save_artifacts(
        Run("r-1", model="b"), Trajectory("r", trajectory_id="t-2", created_at=first.created_at)
    )
    assert [(run.model, made.task_query) for run, made in backend.recent_runs()] == [
        ("a", "q"),
        ("a", "r"),
    ]


def test_what_a_run_says_is_cleaned_and_scrubbed(backend, tmp_path):
    said = f"log in with {TOKEN}"
    run, made = Run(notes=said), Trajectory(said, final_answer=said, artifact={"reason": said})
    backend.save_artifacts(run, made, Judgment(True, said, missing=[said]))
    ((kept_run, kept),) = backend.recent_runs()
    for text in (kept_run.notes, kept.task_query, kept.final_answer, kept.artifact["reason"]):
        assert text.startswith("log in with [redacted:")
    assert TOKEN.encode() not in b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    )
    assert made.final_answer == said, "the caller's own is left alone"


def test_a_memory_that_is_given_twice_to_a_run_is_one_use_the_last(backend, make_item):
    one, two = make_item("One"), make_item("Two")
    backend.add_many([one, two])
    backend.record_usage("t-1", [(one, 0.9), (two, 0.8)])
    backend.save_artifacts(Run(), Trajectory("q", trajectory_id="t-1"), retrieved=[(two, 0.7)])
    (row,) = backend.learning_rows()
    given_to_it = {(use.memory_id, use.rank, use.score) for use in row.given}
    assert len(row.given) == 2 and given_to_it == {(one.memory_id, 1, 0.9), (two.memory_id, 1, 0.7)}


def test_what_a_run_learnt_may_be_what_it_was_given(backend, make_item):
    learnt = make_item("Learnt just now")
    backend.save_artifacts(Run(), Trajectory("q"), memories=[learnt], retrieved=[(learnt, 0.5)])
    assert backend.get(learnt.memory_id).last_used


def test_use_and_outcome_count_on_every_level_that_is_seen(backend, make_item):
    same = [make_item("Same words", level=level) for level in ("project", "org")]
    backend.add_many(same)
    lessons = Lessons(followed=(same[0].memory_id,))
    backend.save_artifacts(
        Run(), Trajectory("q"), Judgment(True, "ok"), retrieved=[(same[0], 1.0)], lessons=lessons
    )
    for level in ("project", "org"):
        (kept,) = backend.list_items(level=level)
        assert kept.success_count == 1 and kept.last_used


def test_an_edit_of_confidence_is_a_signal(backend, make_item):
    kept = backend.add(make_item(confidence=0.5))
    backend.update(kept, confidence=0.75)
    backend.update(kept, description="Only words")
    (signal,) = backend.signals(kept)
    assert (signal["kind"], signal["before"], signal["after"], signal["delta"]) == (
        "edit",
        0.5,
        0.75,
        0.25,
    )


def test_a_memory_is_approved_once_by_a_name_that_is_short(backend, make_item):
    held = backend.add(make_item(trust="quarantined"))
    with pytest.raises(ValidationError, match="approved_by has 201 characters"):
        backend.approve(held, by="x" * 201)
    assert backend.approve(held, by="Ada").provenance["approved_by"] == "Ada"
    assert backend.approve(held, by="Bob").provenance["approved_by"] == "Ada"


def test_a_list_by_what_does_not_exist_is_refused(backend, make_item):
    backend.add(make_item())
    for filters, message in (
        ({"outcome": "zork"}, "unknown outcome 'zork'; use one of: success, failure, mixed"),
        ({"source_type": "zork"}, "unknown source_type 'zork'"),
        ({"trust": "zork"}, "unknown trust 'zork'"),
        ({"level": 5}, "unknown level 5"),
        ({"provenance": {"zork": "x"}}, "unknown provenance key 'zork'"),
        ({"limit": "many"}, "limit is 'many': use an integer"),
        ({"offset": None}, "offset is None: use an integer"),
    ):
        with pytest.raises(ValidationError, match=message):
            backend.list_items(**filters)


AFTER_CLOSE = {
    "add": lambda store, item, path: store.add(item),
    "retrieve": lambda store, item, path: store.retrieve("find"),
    "get": lambda store, item, path: store.get(item.memory_id),
    "list_items": lambda store, item, path: store.list_items(),
    "update": lambda store, item, path: store.update(item.memory_id, tags=["x"]),
    "delete": lambda store, item, path: store.delete(item.memory_id),
    "record_usage": lambda store, item, path: store.record_usage("t-1", [(item, 0.5)]),
    "save_artifacts": lambda store, item, path: store.save_artifacts(Run(), Trajectory("q")),
    "signals": lambda store, item, path: store.signals(item.memory_id),
    "recent_runs": lambda store, item, path: store.recent_runs(),
    "learning_rows": lambda store, item, path: list(store.learning_rows()),
    "stats": lambda store, item, path: store.stats(),
}


def test_a_closed_store_is_closed(backend, opener, make_item, tmp_path):
    kept = make_item()
    backend.add(kept)
    backend.close()
    backend.close()
    for name, use in AFTER_CLOSE.items():
        with pytest.raises(StoreError, match="closed") as caught:
            use(backend, kept, tmp_path)
        assert Path(opener.url.partition("?")[0]).name in str(caught.value), name
    assert [found.memory_id for found in opener().list_items()] == [kept.memory_id]


def test_a_store_that_is_only_read_takes_nothing(opener, make_item, tmp_path):
    if opener.kind != "postgres":
        with pytest.raises(StoreError, match="does not exist"):
            opener(read_only=True)
    kept = make_item()
    first = opener()
    first.add(kept)
    first.close()
    store = opener(read_only=True)
    assert store.retrieve("class label")[0].item.memory_id == kept.memory_id
    for write in (
        lambda: store.add(make_item("Other")),
        lambda: store.delete(kept.memory_id),
        lambda: store.update(kept.memory_id, tags=["x"]),
        lambda: store.record_usage("t-1", [(kept, 0.5)]),
        lambda: store.save_artifacts(Run(), Trajectory("q")),
        lambda: store.adjust_confidence(kept.memory_id, 0.1, kind="not_helpful"),
    ):
        with pytest.raises(StoreReadOnly, match="read-only"):
            write()
    if opener.kind != "postgres":
        assert store.backup(tmp_path / "copy").exists()
    store.close()
    (found,) = opener().list_items()
    assert (found.memory_id, found.access_count, found.tags, found.archived_at) == (
        kept.memory_id,
        0,
        [],
        None,
    )


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("    if x:\n        y()\n", "    if x:\n        y()"),
        ("\n\n  \n\tindented\n\n\n  more  \n\n", "\tindented\n\n\n  more"),
        ("plain", "plain"),
    ],
)
def test_a_content_keeps_its_indentation(opener, make_item, given, kept):
    store = opener()
    made = store.add(make_item(content=given))
    assert store.get(made).content == opener().get(made).content == kept
    assert store.add(make_item(content=given.strip())) == made, "the id looks at words alone"
    made = store.update(made, content="other").memory_id
    assert store.update(made, content=given).content == kept


def test_what_holds_recalled_text_waits_until_a_person_approves_it(opener, make_item):
    store = opener()
    made = store.add(make_item(content=f"{gate.RECALLED_HEADING}\nAsk twice."))
    assert store.get(made).trust == "quarantined" and store.retrieve("ask twice") == []
    approved = store.approve(made, by="me")
    assert approved.trust == opener().get(made).trust == "trusted"
    assert approved.provenance == {"approved_by": "me"} and store.retrieve("ask twice")
