"""`rlm.service.consolidate`: merged, pruned, promoted and proposed; and each of it taken back."""

from __future__ import annotations

import random
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rlm import MemoryItem, NotFound, StoreError, ValidationError, clock, open_store
from rlm.learning import same_lessons
from rlm.learning.lesson_index import LessonIndex
from rlm.service import accept, consolidate, proposals, refuse, undo
from rlm.service.consolidation import BATCH
from rlm.store import Tenant
from rlm.store.backend import all_items

NOW = datetime(2026, 11, 18, tzinfo=UTC)
LONG_AGO = "2026-03-01T00:00:00.000000Z"
FIX = "- Run `make generate`.\n- Then run the tests again."


def lesson(title="Regenerate the client after a schema change", content=FIX, **fields):
    stated = {"source_type": "success", "trust": "unverified", "description": "For stale clients."}
    return MemoryItem(title=title, content=content, **{**stated, **fields})


def weak(title="Guess the port", **fields):
    stated = {"content": "- Try 8080 first.", "confidence": 0.1, "created_at": LONG_AGO}
    return lesson(title, **{**stated, **fields})


def help_often(store, memory_id, times=4):
    for _ in range(times):
        store.adjust_confidence(memory_id, 0.1, kind="task_succeeded")


@pytest.fixture(autouse=True)
def today():
    with clock.frozen(NOW):
        yield


@pytest.fixture
def opened(store_url):
    """Open one store for any tenant."""
    stores = []

    def open_for(project="api", team="web", org="acme"):
        stores.append(open_store(store_url, tenant=Tenant(org, team, project), embedder="none"))
        return stores[-1]

    yield open_for
    for store in stores:
        store.close()


@pytest.fixture
def store(opened):
    return opened()


def everything(store):
    """All that a tenant sees, archive and signals included."""
    items = [*store.list_items(limit=2**31), *store.list_items(limit=2**31, archived=True)]
    return {
        (item.level, item.memory_id): (item.to_dict(), store.signals(item.memory_id))
        for item in items
    }


def operations(report):
    return sorted(change.operation for change in report.changes)


# -- merging and pruning


@pytest.mark.req("CX-11")
def test_similar_memories_are_merged_and_the_originals_are_archived_and_linked(store):
    one = store.add(lesson())
    two = store.add(lesson(content=f"{FIX}\n- Commit both."))
    before = everything(store)
    report = consolidate(store)
    [change] = report.changes
    [gone] = change.memories
    assert {gone, change.into} == {one, two} and change.operation == "merge"
    assert store.get(gone).archived_at and not store.get(change.into).archived_at
    assert store.get(gone).provenance["consolidated_into"] == change.into
    line = store.graph.evolution(gone)[0]
    assert line.id == change.log_id and line.node_ids == (change.into, gone) and line.reasoning
    assert undo(store, change.log_id).restored == [gone]
    assert everything(store) == before
    assert consolidate(store).changes == [], "what was taken back is not merged again"


@pytest.mark.req("CX-11")
def test_weak_memories_are_pruned_to_the_archive_and_come_back(store):
    gone = store.add(weak())
    before = everything(store)
    report = consolidate(store)
    assert operations(report) == ["prune"] and store.get(gone).archived_at
    assert store.retrieve("guess the port") == []
    undo(store, report.log_id)
    assert everything(store) == before
    assert [hit.item.memory_id for hit in store.retrieve("guess the port")] == [gone]


@pytest.mark.parametrize(
    "item",
    [
        weak(confidence=0.3),
        weak(created_at="2026-11-01T00:00:00Z"),
        weak(last_used="2026-11-01T00:00:00Z"),
        weak(success_count=1),
        weak(source_type="human", trust="trusted"),
        weak(trust="trusted"),
        weak(trust="quarantined"),
        weak(source_type="pack"),
        weak(level="team"),
        weak(provenance={"kind": "decision"}),
        weak(provenance={"kind": "decision", "superseded_by": "ffff"}),
    ],
    ids=["believed", "new", "used", "helped", "person", "trusted", "held", "pack", "team",
         "decision", "superseded"],
)  # fmt: skip
def test_what_is_not_pruned(store, item):
    store.add(item)
    assert consolidate(store, dry_run=True).changes == consolidate(store).changes == []


def test_one_that_a_person_called_helpful_is_not_pruned(store):
    memory_id = store.add(weak(confidence=0.0))
    store.adjust_confidence(memory_id, 0.1, kind="helpful")
    assert consolidate(store).changes == []


@pytest.mark.parametrize("kept", [{"source_type": "human", "trust": "trusted"},
                                  {"provenance": {"kind": "decision"}}])  # fmt: skip
def test_decisions_and_a_persons_words_are_not_merged_by_likeness(store, kept):
    store.add_many(lesson(content=f"{FIX}\n- Note {n}.", **kept) for n in range(3))
    assert consolidate(store).changes == []


def many(store, count=60):
    """Lessons of which none says what another says."""
    return store.add_many(lesson(f"Mend part{n}", f"- Open file{n} at{n}.") for n in range(count))


def test_only_what_is_new_or_changed_is_compared(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as store:
        ids = many(store)
        assert consolidate(store).changes == []
        twins = [store.add(lesson("Bake bread", f"- Heat it.\n- Wait {n}.")) for n in (1, 2)]
        mark = store.changed_since(0)[1]
        store.graph.log_event("memory_compared", [], reasoning=f"up to {mark}")
        assert consolidate(store).changes == [], "compared before"
        new = store.add(lesson("Mend part7", "- Open file7 at7.\n- Save it."))
        changed = store.update(ids[3], title="Mend part4").memory_id
        first, second = consolidate(store).changes
        assert {frozenset((*each.memories, each.into)) for each in (first, second)} == {
            frozenset((ids[7], new)), frozenset((ids[4], changed))
        }  # fmt: skip
        [rest] = consolidate(store, everything=True).changes
        assert {*rest.memories, rest.into} == set(twins)
        undo(store, rest.log_id)
        assert consolidate(store, everything=True).changes == [], "what was taken back stays"


def test_a_run_that_ended_early_is_gone_on_with(tmp_path):
    """The mark is set at the end: what the rest of a killed run was to compare is not forgotten."""
    with open_store(tmp_path / "m.db", embedder="none") as store:
        many(store)
        consolidate(store)
        store.add(lesson("Mend part7", "- Open file7 at7.\n- Save it."))
        with pytest.raises(KeyboardInterrupt):
            consolidate(store, on_progress=interrupt)
        assert operations(consolidate(store, dry_run=True)) == ["merge"], "a dry run sets no mark"
        assert operations(consolidate(store)) == ["merge"]


def interrupt(done):
    raise KeyboardInterrupt


@pytest.mark.parametrize("embedder", ["none", None])
def test_the_index_finds_what_search_finds(tmp_path, embedder):
    with open_store(tmp_path / "m.db", **({"embedder": embedder} if embedder else {})) as store:
        texts = [
            ("Restart the worker", "- Run `make stop`.\n- Run `make start`."),
            ("Restart the worker process", "- Run `make stop`.\n- Then run `make start`."),
            ("Restart a worker", "- Run `make stop`.\n- Run `make start` after it."),
            ("Count the parts", "```sparql\nSELECT (COUNT(?p) AS ?n) WHERE { ?p a <urn:P> }\n```"),
            ("How many parts", "```sparql\nSELECT (COUNT(?x) AS ?c) WHERE { ?x a <urn:P> }\n```"),
            ("The and of", "- Something with no title."),
        ]
        store.add_many(lesson(title, content) for title, content in texts)
        ids = [*store.changed_since(0)[0], *many(store)]
        by_search = same_lessons.find_same(store, same_lessons.BySearch(store, ids))
        by_index = same_lessons.find_same(store, LessonIndex(store, all_items(store)))
        merged = [
            {group.kept.memory_id: {each.memory_id for each in group.others} for group in found}
            for found in (by_search, by_index)
        ]
        assert merged[0] == merged[1] and len(merged[0]) == 2


# -- promoting


@pytest.mark.req("CX-10")
def test_a_strong_memory_is_proposed_and_a_person_accepts(opened):
    store, other = opened("api"), opened("site")
    memory_id = store.add(lesson())
    help_often(store, memory_id)
    before = everything(store)
    report = consolidate(store)
    assert operations(report) == ["propose"]
    assert everything(store) == before, "a proposal changes no memory"
    [proposal] = proposals(store)
    assert (proposal.item.memory_id, proposal.level) == (memory_id, "team")
    assert "helped 4 times" in proposal.why
    assert other.get(memory_id) is None
    assert accept(store, proposal, by="ada") and proposals(store) == []
    assert other.get(memory_id).level == "team" and len(other.signals(memory_id)) == 4
    assert [hit.item.memory_id for hit in other.retrieve("schema change")] == [memory_id]
    assert consolidate(store).changes == [], "for the organisation it has to help more often"
    line = store.graph.evolution(memory_id)[0]
    assert "accepted by ada" in line.reasoning
    assert undo(store, line.id).moved == {memory_id: "project"}
    assert everything(store) == before and other.get(memory_id) is None
    assert consolidate(store).changes == [], "what was taken back is not proposed again"


@pytest.mark.req("CX-10")
def test_promotion_by_setting_takes_only_what_is_trusted(opened, monkeypatch):
    store = opened()
    trusted = store.add(lesson(trust="trusted"))
    unverified = store.add(lesson("Pin the compiler", "- Use version 12."))
    for each in (trusted, unverified):
        help_often(store, each, 12)
    monkeypatch.setenv("RLM_PROMOTE", "automatic")
    report = consolidate(store)
    assert operations(report) == ["promote", "propose"]
    assert store.get(trusted).level == "team" and store.get(unverified).level == "project"
    assert operations(consolidate(store)) == ["promote"], "it helped often enough for the org"
    assert store.get(trusted).level == "org" and (store.get(trusted).team, opened("x", "ops").get(
        trusted).level) == ("", "org")  # fmt: skip
    assert consolidate(store).changes == []
    monkeypatch.setenv("RLM_PROMOTE", "perhaps")
    with pytest.raises(Exception, match="RLM_PROMOTE is 'perhaps'"):
        consolidate(store)


@pytest.mark.req("CX-10")
def test_what_recurs_across_projects_of_a_team_is_proposed(opened):
    same = lesson(confidence=0.6)
    store = opened("api")
    memory_id = store.add(same)
    for project, team, org in (("site", "web", "acme"), ("jobs", "web", "acme"),
                               ("api", "ops", "acme"), ("api", "web", "rival")):  # fmt: skip
        opened(project, team, org).add(same)
    opened("held", "web").add(replace(same, trust="quarantined"))
    opened("packed", "web").add(replace(same, source_type="pack"))
    gone = opened("gone", "web")
    gone.delete(gone.add(same))
    [change] = consolidate(store).changes
    assert list(change.memories) == [memory_id]
    assert change.why == "2 other projects of the team hold the same"
    assert consolidate(opened("api", "web", "rival")).changes == [], "nobody else is in that team"


def test_only_what_a_project_holds_itself_is_counted_elsewhere(opened):
    secret = opened("site").add(lesson("Rotate the payment key", "- On the first of the month."))
    store = opened("api")
    assert store.held_elsewhere([secret]) == {}
    mine = store.add(lesson())
    assert store.held_elsewhere([mine, secret, "", "%", "../x"]) == {}
    store.delete(store.add(lesson("Rotate the payment key", "- On the first of the month.")))
    assert store.held_elsewhere([secret]) == {}


def test_a_refused_promotion_is_not_proposed_again(store):
    memory_id = store.add(lesson())
    help_often(store, memory_id)
    consolidate(store)
    [proposal] = proposals(store)
    refuse(store, proposal)
    assert proposals(store) == [] and consolidate(store).changes == []
    refusal = store.graph.evolution(memory_id)[0]
    undo(store, refusal.id)
    assert [each.log_id for each in proposals(store)] == [proposal.log_id]


def test_what_is_about_one_place_only_or_is_there_already_is_not_promoted(opened):
    store = opened()
    memory_id = store.add(lesson(scope={"transferable": False}))
    help_often(store, memory_id)
    there = lesson("Pin the compiler", "- Use version 12.")
    both = store.add(replace(there, level="team"))
    store.add(there)
    help_often(store, both)
    assert store.get(both).level == "project" and consolidate(store).changes == []


# -- the plan, and taking back


def fill(store, numbers):
    """A store of copies, weak and strong memories, decisions and a person's words."""
    for n in numbers:
        chance = random.Random(n)
        topic = chance.choice(["schema", "invoice"])
        item = lesson(
            f"Fix the {topic} after a change",
            f"- Open the {topic} and change it.\n- Test it in round {n}.",
            confidence=chance.choice([0.05, 0.2, 0.5, 0.95]),
            created_at=chance.choice([LONG_AGO, "2026-11-10T00:00:00Z"]),
            source_type=chance.choice(["success"] * 6 + ["failure", "human", "pack"]),
            trust=chance.choice(["unverified"] * 3 + ["trusted", "quarantined"]),
            level=chance.choice(["project", "project", "team"]),
            success_count=chance.choice([0, 0, 4]),
            provenance=chance.choice([{}, {}, {"kind": "decision"}, {"merged_from": ["t-1"]}]),
            tags=chance.choice([[], ["x"]]),
        )
        store.add(item)


@pytest.mark.req("CX-11")
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(numbers=st.lists(st.integers(0, 10_000), max_size=15), automatic=st.booleans())
def test_a_plan_is_what_is_done_once_and_undo_is_exact(numbers, automatic, tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "m.db"
    with open_store(path, embedder="none") as store:
        fill(store, numbers)
        before = everything(store)
        dry = consolidate(store, dry_run=True, automatic=automatic)
        assert everything(store) == before and store.graph.evolution() == []
        done = consolidate(store, automatic=automatic)
        plain = [replace(change, log_id=None) for change in done.changes]
        assert plain == dry.changes and done.skipped == []
        log = store.graph.evolution(limit=2**31)
        lines = {line.id: line for line in log if line.operation != "memory_compared"}
        assert lines.keys() == {each.log_id for each in done.changes} | (
            {done.log_id} if done.log_id else set()
        )
        after = everything(store)
        met = any(each.operation == "promote" for each in done.changes)  # its like, one level up
        again = consolidate(store, automatic=False, dry_run=met)
        assert {each.operation for each in again.changes} <= {"propose", *(["merge"] * met)}
        assert everything(store) == after
        if done.log_id:
            assert undo(store, done.log_id).skipped == {}
        assert everything(store) == before
        left = consolidate(store, automatic=automatic).changes
        assert [each for each in left if each.operation != "propose"] == []


def test_what_somebody_changed_since_is_left_alone_and_named(store):
    ids = [store.add(weak(f"Guess {word}")) for word in ("the port", "a host", "one user", "keys")]
    report = consolidate(store)
    back, edited, purged, plain = ids
    store.restore(back)
    renamed = store.update(edited, content="- Ask somebody.").memory_id
    store.purge(purged)
    state = everything(store)
    undone = undo(store, report.log_id)
    assert undone.skipped.keys() == {back, edited, purged} and undone.restored == [plain]
    assert not store.get(plain).archived_at and "pruned_because" not in store.get(plain).provenance
    del state["project", plain]
    assert state.items() <= everything(store).items() and store.get(renamed).archived_at


def test_one_that_was_archived_again_by_hand_stays_in_the_archive(store):
    memory_id = store.add(weak())
    report = consolidate(store)
    store.restore(memory_id)
    with clock.frozen(NOW + timedelta(minutes=1)):
        store.delete(memory_id)
        undone = undo(store, report.log_id)
    assert undone.restored == [] and "archived it again" in undone.skipped[memory_id]


def test_a_promotion_that_others_changed_is_left_alone(opened):
    store = opened()
    memory_id = store.add(lesson(trust="trusted"))
    help_often(store, memory_id)
    [change] = consolidate(store, automatic=True).changes
    opened("site").delete(memory_id)
    undone = undo(store, change.log_id)
    assert undone.moved == {} and "archived it in the team" in undone.skipped[memory_id]
    assert store.get(memory_id).level == "team"


def test_a_promotion_stays_where_the_project_has_the_same_words_again(store):
    memory_id = store.add(lesson(trust="trusted"))
    help_often(store, memory_id)
    [change] = consolidate(store, automatic=True).changes
    store.add(lesson())
    undone = undo(store, change.log_id)
    assert undone.moved == {} and "the same words again" in undone.skipped[memory_id]
    assert store.get(memory_id, level="team") and store.get(memory_id, level="project")


@pytest.mark.parametrize("make", [weak, lesson])
def test_what_somebody_brought_back_by_hand_is_left_alone(store, make):
    store.add_many(make(content=f"{FIX}\n- Note {n}.") for n in range(2))
    gone = [each for change in consolidate(store).changes for each in change.memories]
    for each in gone:
        store.restore(each)
    assert gone and consolidate(store).changes == []


def test_a_later_change_can_be_undone_before_an_earlier_one_and_after_it(store):
    first = store.add(weak())
    one = consolidate(store)
    second = store.add(weak("Guess the host"))
    two = consolidate(store)
    before = everything(store)
    undo(store, one.log_id)
    assert store.get(second).archived_at and not store.get(first).archived_at
    undo(store, two.log_id)
    assert not store.get(second).archived_at and before.keys() == everything(store).keys()


def test_undo_says_what_it_cannot_undo(opened):
    store = opened("api")
    memory_id = store.add(weak())
    report = consolidate(store)
    [change] = report.changes
    with pytest.raises(NotFound, match="no line 999"):
        undo(store, 999)
    with pytest.raises(NotFound) as foreign:
        undo(opened("site"), change.log_id)
    assert str(foreign.value).replace(str(change.log_id), "999") == (
        "no line 999 in the evolution log: `rlm graph history` lists them"
    )
    node = store.graph.create_node("fact", "Water is wet")
    made = store.graph.evolution(node)[0].id
    with pytest.raises(ValidationError, match="no change that this takes back"):
        undo(store, made)
    with pytest.raises(ValidationError, match=f"rlm memory undo {report.log_id}"):
        store.graph.undo(report.log_id)
    undo(store, change.log_id)
    with pytest.raises(ValidationError, match="undone already"):
        undo(store, change.log_id)
    with pytest.raises(ValidationError, match="cannot be undone itself"):
        undo(store, store.graph.evolution(memory_id)[0].id)
    for wrong in (0, -1, True, "1", None):
        with pytest.raises((ValidationError, NotFound)):
            undo(store, wrong)


def test_a_run_that_fails_in_the_middle_leaves_whole_changes_and_the_next_goes_on(tmp_path):
    with open_store(tmp_path / "m.db", embedder="none") as store:
        items = [weak(f"w{n}", content=f"- c{n}", description=f"d{n}") for n in range(BATCH + 10)]
        ids = store.add_many(items)
        planned = [
            each for change in consolidate(store, dry_run=True).changes for each in change.memories
        ]
        assert sorted(planned) == sorted(ids)
        refused = planned[BATCH + 5]
        store.db.connection.execute(
            "CREATE TEMP TRIGGER refuse BEFORE UPDATE OF archived_at ON memory_items WHEN"
            f" new.memory_id = '{refused}' BEGIN SELECT RAISE(ABORT, 'the disk failed'); END"
        )
        with pytest.raises(StoreError, match="the disk failed"):
            consolidate(store)
        gone = {each for each in ids if store.get(each).archived_at}
        lines = store.graph.evolution(operation="memory_prune", limit=2**31)
        assert gone == set(planned[:BATCH]) == {line.node_ids[0] for line in lines}
        left = {*ids} - gone
        assert all("pruned_because" not in store.get(each).provenance for each in left)
        store.db.connection.execute("DROP TRIGGER refuse")
        assert {each for change in consolidate(store).changes for each in change.memories} == left


def test_a_plan_holds_ids_and_not_the_memories(tmp_path):
    bulk, count = "x" * 8_000, 500
    known = {"kind": "decision", "note": bulk}
    with open_store(tmp_path / "m.db", embedder="none") as store:
        store.add_many(weak(f"w{n}", content=f"- c{n}", provenance=known) for n in range(count))
        tracemalloc.start()
        try:
            assert consolidate(store, dry_run=True).changes == []
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 0.5 * count * len(bulk)
