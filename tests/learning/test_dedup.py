"""Dedup: add, merge, skip, replace; of one kind only, and failures never into successes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from corpus_procedures import GOOD
from corpus_same_lessons import DIFFERENT, MISSED, SAME
from hypothesis import given
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.learning import dedup, same_lessons
from rlm.learning.dedup import (
    decide,
    is_same_lesson,
    quality,
    query_similarity,
    title_similarity,
    word_similarity,
)
from rlm.learning.gates import REPEATS
from rlm.learning.lesson_index import LessonIndex
from rlm.retrieval.static import StaticEmbedder
from rlm.store.backend import all_items
from rlm.store.identity import normalize
from rlm.store.open import open_store
from rlm.store.types import LOCAL, Judgment, Lessons, MemoryItem, Run, Scope, Trajectory

pytestmark = pytest.mark.req("PM-12")

STEPS = "- `search_entity(name)` for the IRI\n- query its subclasses\n- name them all"


ASKING = f"{STEPS}\n\n```sparql\nSELECT ?x {{ ?x rdfs:subClassOf+ $ENTITY_1 }}\n```"


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


@all_cases(
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
        (NEW, [memory(kinds=())], "merge"),
        (NEW, [memory(access_count=3, content=STEPS.split("\n- name")[0])], "skip"),
        (NEW, [memory(confidence=0.9)], "merge"),
        (memory(content=NEW.content, confidence=0.6), [memory(confidence=0.3)], "replace"),
        (memory(content=ASKING, confidence=0.6), [memory(confidence=0.9)], "replace"),
        (memory(content=ASKING), [memory(access_count=3)], "replace"),
        (NEW, [memory("Find all subclasses of a class", ASKING)], "merge"),
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
    assert (found.merged is not None) == (action in ("merge", "replace"))


def lesson(title, description, steps, query):
    below = f"\n\n```sparql\n{query}\n```" if query else ""
    content = "\n".join(f"- {step}" for step in steps) + below
    return MemoryItem(
        title, description, content, source_type="success", outcome="success", trust="unverified"
    )


@pytest.fixture(scope="module")
def embedder():
    return StaticEmbedder()


@pytest.mark.parametrize(("one", "other"), SAME, ids=lambda each: each[0])
def test_the_same_lesson_is_found_under_another_title(one, other, embedder):
    pair = lesson(*one), lesson(*other)
    assert is_same_lesson(*pair, embedder) and is_same_lesson(*reversed(pair), embedder)
    assert normalize(pair[0].title) != normalize(pair[1].title)


@pytest.mark.parametrize(("one", "other"), [*DIFFERENT, *MISSED], ids=lambda each: each[0])
def test_lessons_that_differ_in_one_thing_are_two(one, other, embedder):
    pair = lesson(*one), lesson(*other)
    for by in (embedder, None):
        assert not is_same_lesson(*pair, by) and not is_same_lesson(*reversed(pair), by)


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=lambda each: each[0])
def test_nor_are_they_one_where_only_one_has_its_query(one, other, embedder):
    assert not is_same_lesson(lesson(*one), lesson(*other[:3], ""), embedder)


def test_no_two_good_procedures_are_one(embedder):
    known = [lesson(*each, "") for each in GOOD]
    for place, one in enumerate(known):
        assert not [each.title for each in known[:place] if is_same_lesson(one, each, embedder)]


def test_a_title_alone_does_not_make_two_one_nor_two():
    one, other = memory(content=ASKING), memory(content=ASKING.replace("+", ""))
    assert decide(one, [other]).action != "add", "nearly the same query under the same title"
    upward = ASKING.replace("?x rdfs:subClassOf+ $ENTITY_1", "$ENTITY_1 rdfs:subClassOf ?x")
    found = decide(memory(content=upward), [one])
    assert found.action == "add" and found.why != dedup.NEW
    elsewhere = decide(one, [memory(content=ASKING, scope=Scope("prov", ("all_subclasses",)))])
    assert elsewhere.action == "add" and elsewhere.why != dedup.NEW


def test_two_queries_are_the_same_but_for_their_names():
    one = "```sparql\nSELECT DISTINCT ?x WHERE { ?x a $ENTITY_1 . } LIMIT 10\n```"
    assert query_similarity(one, '- `sparql_query("select ?thing { ?thing a $ENTITY_2 }")`') == 1.0
    assert query_similarity(one, "```sparql\nSELECT ?x { $ENTITY_1 a ?x }\n```") < 0.7
    assert query_similarity(one, "- no query") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("?s a pv:C ; pv:p ?l }", "?s a pv:C . ?t pv:p ?l }"),
        ("VALUES ?s { pv:a } ?s pv:p ?l }", "VALUES ?s { pv:b } ?s pv:p ?l }"),
        ("?s a pv:C OPTIONAL { ?s pv:p ?l } }", "?s a pv:C ; pv:p ?l }"),
        ("{ ?s a pv:A } UNION { ?s a pv:B } }", "?s a pv:A, pv:B }"),
        ("?s pv:p ?l }", "?l pv:p ?s }"),
        ("?s pv:p ?a . ?b pv:q ?s }", "?s pv:p ?a . ?s pv:q ?b }"),
    ],
)
def test_two_queries_that_differ_are_never_the_same(one, other):
    texts = [f"- run it\n\n```sparql\nSELECT ?s {{ {body}\n```" for body in (one, other)]
    assert query_similarity(*texts) < 1.0


def test_two_with_the_same_words_and_other_calls_are_both_kept(store):
    ask = '- `sparql_query("SELECT ?x WHERE {{ {} }}")`'
    first, second = (
        memory(content=ask.format(part))
        for part in ("?x a $ENTITY_1", "$ENTITY_1 rdfs:seeAlso ?y . ?y rdfs:label ?x")
    )
    store.add(first)
    plan = dedup.apply(store, [second])
    assert (plan.add, plan.outcomes[0]["why"]) == ([second], dedup.OTHER)
    store.add(second)
    (outcome,) = dedup.apply(store, [second]).outcomes
    assert (outcome["action"], outcome["why"]) == ("skip", dedup.THERE_ALREADY)


def test_six_of_one_kind_do_not_pile_up(store):
    """As six runs over different ontologies left them: the same title, queries with other names."""
    asks = [
        "SELECT ?p { ?p rdfs:domain $ENTITY_1 }",
        "SELECT DISTINCT ?p WHERE { ?p rdfs:domain $ENTITY_1 }",
        "SELECT ?prop WHERE { ?prop rdfs:domain $ENTITY_1 . }",
        "SELECT ?p { ?p rdfs:domain $ENTITY_1 FILTER(isIRI(?p)) }",
        "SELECT ?x WHERE { ?x rdfs:domain $ENTITY_1 } LIMIT 100",
        "SELECT ?p { ?p rdfs:domain $ENTITY_1 } ORDER BY ?p",
    ]
    for query in asks:
        item = memory("List the properties with a given domain", f"- `sparql_query(\"{query}\")`",
                      kinds=("properties_by_domain",))  # fmt: skip
        plan = dedup.apply(store, [item])
        assert plan.outcomes[0]["why"] != dedup.NEW or not store.list_items()
        kept(store, plan)
    assert len(store.list_items()) == 1


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
    assert 0.0 <= title_similarity(one, other) <= 1.0 == title_similarity(one, one)
    items = [MemoryItem(text, "d", text) for text in (one, other)]
    assert 0.0 <= word_similarity(*items) <= 1.0 == word_similarity(items[0], items[0])


STEP = st.sampled_from(["search the label", "`describe_entity(iri)`", "list each IRI", "check its types",
                        "x" * 90, "y" * 180,
                        '`sparql_query("ASK { $ENTITY_1 a ?x }")`', "page with `sparql_slice`"])  # fmt: skip
MADE = st.builds(
    lambda steps, sure, run: memory(
        content="\n".join(f"- {step}" for step in steps),
        confidence=sure,
        provenance={"trajectory_id": run},
    ),
    st.lists(STEP, min_size=1, max_size=4, unique=True),
    st.sampled_from([0.3, 0.6, 0.9]),
    st.sampled_from(["t-1", "t-2"]),
)


@given(MADE, MADE)
def test_of_two_that_are_one_the_better_survives_whole(old, new):
    found = decide(new, [old])
    if found.merged is None:
        return
    survivor, other = (new, old) if found.action == "replace" else (old, new)
    assert (found.merged.title, found.merged.content) == (survivor.title, survivor.content)
    assert found.merged.memory_id == survivor.memory_id
    assert quality(survivor) >= quality(other)
    assert found.merged.provenance["merged_from"] == [other.provenance["trajectory_id"]]


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


def test_a_merge_leaves_the_words_and_notes_the_source(store):
    kept(store, dedup.apply(store, [memory()]))
    plan = dedup.apply(store, [replace(NEW, provenance={"trajectory_id": "t-2"})])
    assert [outcome["action"] for outcome in plan.outcomes] == ["merge"]
    kept(store, plan)
    (row,) = store.list_items()
    assert (row.memory_id, row.content) == (memory().memory_id, STEPS)
    assert row.provenance["merged_from"] == ["t-2"]


def test_a_better_one_takes_the_place_of_one_that_says_less(store):
    old = memory("Query the subclasses of a class at every level", "- query its subclasses")
    kept(store, dedup.apply(store, [old]))
    better = memory(content=ASKING)
    plan = dedup.apply(store, [replace(better, title=old.title, memory_id="")])
    assert plan.archive == [old.memory_id] and [made.content for made in plan.add] == [ASKING]
    kept(store, plan)
    (row,) = store.list_items()
    assert row.content == ASKING and row.provenance["merged_from"]
    assert store.get(old.memory_id).archived_at, "and can be restored"


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


# -- a store


def find_same(store, **more):
    index = LessonIndex(store, all_items(store))
    return list(same_lessons.find_same(store, index, **more))


def test_the_lessons_of_a_store_that_are_one_are_found(store):
    one, other = (lesson(*each) for each in SAME[0])
    alone = lesson(*SAME[1][0])
    person = replace(lesson(*SAME[2][0]), source_type="human", trust="trusted")
    said_again = lesson(*SAME[2][1])
    store.add_many([one, other, alone, person, said_again])
    before = {item.memory_id: item for item in store.list_items()}
    found = find_same(store)
    assert {item.memory_id: item for item in store.list_items()} == before, "nothing is written"
    merged = {frozenset((g.kept.memory_id, *(i.memory_id for i in g.others))) for g in found}
    assert frozenset((one.memory_id, other.memory_id)) in merged
    assert person.memory_id not in {item.memory_id for group in found for item in group.others}
    for gone in (item for group in found for item in group.others):
        store.delete(gone.memory_id)
    left = {item.memory_id for item in store.list_items()}
    assert {alone.memory_id, person.memory_id} <= left and len(left) == 5 - len(found)
    assert find_same(store) == []
    for gone in (item for group in found for item in group.others):
        store.restore(gone.memory_id)
    again = find_same(store, keep=[gone.memory_id])
    assert gone.memory_id not in {item.memory_id for group in again for item in group.others}


def test_copies_beyond_what_one_search_returns_are_found_at_once(store):
    store.add_many(memory(content=f"{STEPS}\n- note {n}") for n in range(90))
    [group] = find_same(store)
    assert len(group.others) == 89


def test_decisions_in_like_words_are_not_one_lesson(store):
    kind = {"provenance": {"kind": "decision"}}
    store.add_many(memory(content=f"{STEPS}\n- note {n}", **kind) for n in range(3))
    store.add(memory(content=f"{STEPS}\n- not decided"))
    assert find_same(store) == []


def test_the_cost_of_one_lesson_does_not_grow_with_the_store(store):
    store.add_many(
        memory(f"Find thing {n} of kind {n}", f"- look for {n} in {n}") for n in range(300)
    )
    assert len(dedup.find_candidates(store, NEW)) <= dedup.CANDIDATES + 1
