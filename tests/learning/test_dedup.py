"""Dedup: add, merge, skip, replace; of one kind only, and failures never into successes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.context import is_shown_whole
from rlm.learning import dedup
from rlm.learning.dedup import content_similarity, decide, title_similarity
from rlm.learning.gates import REPEATS
from rlm.store.open import open_store
from rlm.store.types import LOCAL, Judgment, Lessons, MemoryItem, Run, Scope, Trajectory

pytestmark = pytest.mark.req("PM-12")

STEPS = "- `search_entity(name)` for the IRI\n- query its subclasses\n- name them all"


def memory(
    title="Find all subclasses of a class", content=STEPS, *, kinds=("all_subclasses",), **fields
):
    fields = {"source_type": "success", "outcome": "success", "trust": "unverified", **fields}
    fields.setdefault("tags", list(kinds))
    scope = fields.pop("scope", Scope(None, kinds))
    return MemoryItem(title, "d", content, scope=scope, **fields)


def failure(**fields):
    return memory(source_type="failure", outcome="failure", **fields)


NEW = memory(
    title="Find all the subclasses of a class",
    content=STEPS.replace("name them all", "list each IRI"),
)


@pytest.fixture(params=["sqlite", "json"])
def store(request, tmp_path):
    name = tmp_path / "m.db" if request.param == "sqlite" else f"json:{tmp_path / 'm.json'}"
    with open_store(name, embedder="none") as opened:
        yield opened


@pytest.mark.parametrize(
    ("new", "old", "action"),
    [
        (NEW, [], "add"),
        (NEW, [memory()], "merge"),
        (NEW, [memory(access_count=3)], "skip"),
        (NEW, [failure()], "replace"),
        (NEW, [failure(access_count=3)], "replace"),
        (memory(), [memory()], "skip"),
        (memory(), [memory(archived_at="2026-01-01T00:00:00Z")], "skip"),
        (NEW, [memory(archived_at="2026-01-01T00:00:00Z")], "add"),
        (NEW, [memory(source_type="human", trust="trusted")], "skip"),
        (NEW, [memory(source_type="pack")], "skip"),
        (NEW, [failure(trust="trusted")], "add"),
        (NEW, [failure(level="org")], "add"),
        (NEW, [failure(level="team"), failure()], "replace"),
        (NEW, [memory(level="team")], "skip"),
        (NEW, [memory(title="Describe a term")], "add"),
        (NEW, [memory(kinds=("subclasses",))], "add"),
        (NEW, [memory(kinds=())], "add"),
        (NEW, [memory(kinds=("describe",), tags=NEW.tags)], "add"),
        (NEW, [memory(scope=Scope("prov", ("all_subclasses",)))], "add"),
        (NEW, [memory(content="- do something quite different with other words")], "add"),
        (NEW, [memory(trust="quarantined")], "add"),
        (failure(content=NEW.content), [memory()], "add"),
        (failure(content=NEW.content), [failure()], "merge"),
        (memory(content=NEW.content, trust="quarantined"), [memory()], "add"),
        (memory(content=NEW.content, trust="quarantined"), [memory(trust="quarantined")], "skip"),
        (
            memory(
                content=NEW.content, trust="quarantined", provenance={"quarantine_reason": REPEATS}
            ),
            [],
            "skip",
        ),
    ],
)
def test_what_is_done_with_a_new_one(new, old, action):
    found = decide(new, old)
    assert found.action == action and found.why
    assert (found.merged is not None) == (action == "merge")


def test_seven_tenths_of_a_title_are_the_same_title():
    known = memory("abcdefghij", content=NEW.content)
    assert decide(memory("abcdefg123"), [known]).action == "merge"
    assert decide(memory("abcdef1234"), [known]).action == "add"


def test_two_different_queries_are_two_procedures():
    ask = '- `sparql_query("SELECT ?x WHERE {{ {} }}")`\n- answer with every IRI'
    one, other = (
        ask.format(part)
        for part in ("?x rdfs:subClassOf $ENTITY_1", "$ENTITY_1 rdfs:subClassOf ?x")
    )
    assert content_similarity(one, one) == 1.0
    assert content_similarity(one, other) == 0.0
    assert (
        decide(
            memory(content=one), [memory(title="Find all subclasses of classes", content=other)]
        ).action
        == "add"
    )


def test_two_with_the_same_words_and_other_calls_are_told_apart(store):
    ask = '- `sparql_query("SELECT ?x WHERE {{ {} }}")`'
    first, second = (
        memory(content=ask.format(part))
        for part in ("?x a $ENTITY_1", "?x a $ENTITY_1 FILTER(ISIRI(?x))")
    )
    store.add(first)
    plan = dedup.apply(store, [second])
    (made,) = plan.add
    assert (
        made.description == f"d; other calls than {first.memory_id[:8]}."
        and made.memory_id == second.memory_id
    )
    store.add(made)
    (outcome,) = dedup.apply(store, [second]).outcomes
    assert (outcome["action"], outcome["why"]) == ("skip", dedup.THERE_ALREADY)


def test_counts_of_different_things_are_different():
    one = memory(
        "Count the classes", "- `graph_stats()`", kinds=("count",), tags=["count", "classes"]
    )
    other = memory(
        "Count the classes.", "- `graph_stats()`", kinds=("count",), tags=["count", "properties"]
    )
    assert decide(one, [other]).action == "add"


def test_the_most_alike_is_the_target():
    near, far = (
        memory(title="Find all the subclasses of a class."),
        memory(title="Find the subclasses of classes"),
    )
    assert decide(NEW, [far, near]).target is near


@given(st.text(max_size=60), st.text(max_size=60))
def test_similarity_is_between_0_and_1_and_equal_texts_have_1(one, other):
    for measure in (title_similarity, content_similarity):
        assert 0.0 <= measure(one, other) <= 1.0
        assert measure(one, one) == 1.0


STEP = st.sampled_from(["search the label", "`describe_entity(iri)`", "list each IRI", "check its types",
                        "x" * 90, "y" * 180,
                        '`sparql_query("ASK { $ENTITY_1 a ?x }")`', "page with `sparql_slice`"])  # fmt: skip


@given(
    st.lists(STEP, min_size=1, max_size=3, unique=True),
    st.lists(STEP, min_size=1, max_size=3, unique=True),
)
def test_a_merged_one_still_fits_a_prompt_and_loses_nothing_of_the_old(old, new):
    def made(steps, run):
        return memory(
            content="\n".join(f"- {step}" for step in steps),
            provenance={"trajectory_id": run},
            tags=[run],
        )

    before = made(old, "t-1")
    merged = dedup.merge(before, made(new, "t-2"))
    assert merged.content.startswith(before.content)
    assert merged.tags == ["t-1", "t-2"]
    assert merged.provenance == {"trajectory_id": "t-1", "merged_from": ["t-2"]}
    assert merged.content == before.content or is_shown_whole(merged)


# -- plans
# -----------------------------------------------------------------------------------------------


def kept(store, plan):
    """Do what a plan says, in one transaction, as the agent does."""
    run = Run()
    lessons = Lessons(changes=tuple(plan.update), archived=tuple(plan.archive))
    store.save_artifacts(
        run,
        Trajectory("q", run_id=run.run_id),
        Judgment(True, "r"),
        memories=plan.add,
        lessons=lessons,
    )


def test_a_plan_writes_nothing_and_can_be_kept(store):
    assert store.tenant == LOCAL
    plan = dedup.apply(store, [memory()])
    assert store.list_items() == []
    assert [outcome["action"] for outcome in plan.outcomes] == ["add"]
    kept(store, plan)
    again = dedup.apply(store, [memory()])
    assert (again.add, again.update, again.archive) == ([], [], [])
    assert again.outcomes[0]["memory_id"] == memory().memory_id


def test_a_merge_changes_the_row_and_says_its_new_id(store):
    kept(
        store,
        dedup.apply(
            store, [memory(content="- `search_entity(name)` for the IRI\n- query its subclasses")]
        ),
    )
    plan = dedup.apply(store, [NEW])
    assert [outcome["action"] for outcome in plan.outcomes] == ["merge"]
    kept(store, plan)
    (row,) = store.list_items()
    assert row.memory_id == plan.outcomes[0]["memory_id"]
    assert row.content.endswith("- list each IRI")


def test_a_replacement_archives_the_failure(store):
    old = failure()
    kept(store, dedup.apply(store, [old]))
    plan = dedup.apply(store, [NEW])
    assert plan.archive == [old.memory_id]
    kept(store, plan)
    assert [row.memory_id for row in store.list_items()] == [NEW.memory_id]


def test_what_somebody_archived_does_not_come_back(store):
    kept(store, dedup.apply(store, [memory()]))
    store.delete(memory().memory_id)
    assert dedup.apply(store, [memory()]).outcomes[0]["action"] == "skip"


def test_items_of_one_run_are_compared_with_one_another(store):
    plan = dedup.apply(store, [memory(), memory(), NEW])
    assert [outcome["action"] for outcome in plan.outcomes] == ["add", "skip", "merge"] or len(
        plan.add
    ) == 1
    replaced = dedup.apply(store, [failure(), NEW])
    assert [item.memory_id for item in replaced.add] == [NEW.memory_id] and replaced.archive == []


def test_a_plan_does_not_count_as_a_use(store):
    memory_id = store.add(memory())
    dedup.apply(store, [NEW])
    assert store.get(memory_id).access_count == 0
