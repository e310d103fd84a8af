"""What a prompt is told of earlier runs: bounded, never whole, failures marked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.context import EACH, MEMORY_CHARS, bullets, format_memories_for_injection
from rlm.context import pack_memories as pack
from rlm.store.gate import RECALLED_HEADING
from rlm.store.types import MemoryItem

STEPS = (
    "- Use rdfs:label for names\n- Add a FILTER without case\n- Put a LIMIT\n- Check other labels"
)


def item(title="SPARQL search", content=STEPS, **more):
    return MemoryItem(
        title=title,
        description=more.pop("description", "A template for search."),
        content=content,
        **more,
    )


ITEMS = st.builds(
    item,
    title=st.text(min_size=1, max_size=120),
    content=st.text(max_size=900),
    description=st.text(max_size=400),
    source_type=st.sampled_from(["success", "failure"]),
)


@pytest.mark.req("PM-07")
def test_an_entry_has_title_description_and_at_most_three_steps():
    text = format_memories_for_injection(
        [item(), item("Property discovery", "1. describe\n2. list\n3. ranges\n4. more")]
    )
    assert text.startswith(RECALLED_HEADING) and "assess which of these strategies" in text
    assert "### 1. SPARQL search" in text and "### 2. Property discovery" in text
    assert (
        "A template for search." in text
        and "- Use rdfs:label for names" in text
        and "- describe" in text
    )
    first = text[text.index("### 1.") : text.index("### 2.")]
    assert sum(line.startswith("- ") for line in first.splitlines()) == 3
    assert "Check other labels" not in text
    assert format_memories_for_injection([]) == ""


@pytest.mark.req("UT-08")
def test_at_most_two_procedures_and_each_is_short():
    long = "\n".join(
        f"- {word} " + "and more of the same words " * 30 for word in ("first", "then", "last")
    )
    text = pack([item(f"Way {n}", long, description="Why. " * 60) for n in range(1, 6)])
    assert "### 2. Way 2" in text and "Way 3" not in text
    assert 500 < len(text) <= MEMORY_CHARS == 600
    assert all(200 < len("###" + entry.strip()) <= EACH for entry in text.split("###")[1:])


def test_a_failure_is_something_to_avoid():
    assert "### 1. Avoid: SPARQL search" in pack([item(source_type="failure")])
    assert "Avoid" not in pack([item()])


@given(memories=st.lists(ITEMS, max_size=4), budget=st.integers(0, 900))
def test_the_budget_is_never_exceeded(memories, budget):
    assert len(pack(memories, budget)) <= budget


@given(memory=ITEMS)
def test_an_entry_never_holds_a_long_content_whole(memory):
    if len(memory.content) > 300 and len(memory.content.split()) > 5:
        assert memory.content not in pack([memory])


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("- a\n* b\n+ c", ["a", "b", "c"]),
        ("1. a\n2) b\n", ["a", "b"]),
        ("First do this. Then that!", ["First do this.", "Then that!"]),
        ("", []),
    ],
)
def test_the_steps_of_a_procedure(content, found):
    assert bullets(content) == found


def test_a_step_that_fits_is_whole_and_the_description_gives_way():
    call = (
        'Ask `sparql_query("SELECT DISTINCT ?x WHERE { ?x rdfs:subClassOf+ $ENTITY_1'
        ' FILTER(isIRI(?x)) }")`'
    )
    steps = ["Link: `search_entity(name)`", call, "Page with `sparql_slice`; name every IRI"]
    item = MemoryItem(
        "Find all subclasses of a class", "word " * 40, "\n".join(f"- {step}" for step in steps)
    )
    packed = pack([item, item])
    assert all(packed.count(step) == 2 for step in steps)
    assert packed.count("word") > 2
