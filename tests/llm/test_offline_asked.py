"""Questions about an ontology and what the offline planner takes them to ask for."""

from __future__ import annotations

import itertools
import re
import sys
from collections import Counter
from dataclasses import replace

import corpus_questions as corpus
import pytest
from corpus_questions_fresh import FRESH, MISSED
from hypothesis import example, given
from hypothesis import strategies as st

from rlm.llm.offline.asked import (
    COUNTED,
    FAMILIES,
    KINDS,
    Asked,
    family_of,
    generalised,
    grammar,
    understand,
)
from rlm.llm.offline.asked.frames import framed
from rlm.llm.offline.asked.gates import GATES
from rlm.llm.offline.asked.kinds import MAX_CHARS, MAX_LEFT, hidden
from rlm.llm.offline.asked.notation import respelled
from rlm.llm.offline.asked.properties import BY_DOMAIN, BY_RANGE, NAMED, SEARCH
from rlm.llm.offline.asked.rules import (
    HAS_ANY,
    IS_SUBCLASS,
    NAMESPACES,
    PATH,
    ROOTS,
    SUBCLASSES,
    SUPERCLASSES,
)
from rlm.llm.offline.asked.terms import ABOUT, DESCRIBE, EXISTS, INSTANCES

ALL = [*corpus.ALL, *FRESH]
RULES = (
    *(
        *NAMESPACES,
        *ROOTS,
        *SUBCLASSES,
        *SUPERCLASSES,
        *PATH,
        *IS_SUBCLASS,
        *HAS_ANY,
        *BY_DOMAIN,
        *BY_RANGE,
    ),
    *(*NAMED, *SEARCH, *INSTANCES, *EXISTS, *ABOUT, *DESCRIBE),
)


def wanted(row: corpus.Row) -> Asked | None:
    return Asked(row.kind, row.mentions, **row.more) if row.kind else None


def _of_any(asked: Asked | None) -> Asked | None:
    """Without the one kind of property that is asked for: `test_offline_what_it_is` is about these."""
    return replace(asked, only="") if asked else None


@pytest.mark.parametrize("kind", [*KINDS, ""])
def test_the_questions_of_the_corpus_are_understood(kind):
    rows = [row for row in ALL if row.kind == kind]
    missed = {
        row.question: found
        for row in rows
        if _of_any(found := understand(row.question)) != wanted(row)
    }
    assert rows and not missed


def test_what_is_not_understood_is_not_taken_for_another_kind():
    assert not [
        row.question
        for row in MISSED
        if (found := understand(row.question)) and found.kind != row.kind
    ]


def test_the_corpus_has_every_kind_in_many_ways():
    kinds = Counter(row.kind for row in ALL)
    assert min(kinds[kind] for kind in KINDS) >= 15
    assert {row.more["of"] for row in corpus.ALL if row.kind == "count"} == set(COUNTED)
    assert len({row.question for row in [*ALL, *MISSED]}) == len(ALL) + len(MISSED)


def test_every_kind_has_a_family():
    assert set(FAMILIES.values()) == {
        "orientation",
        "entity_description",
        "hierarchy",
        "property_discovery",
        "pattern_search",
        "relationship_discovery",
        "counting",
        "instances",
    }
    assert [family_of(kind) for kind in ("roots", "exists", "search")] == [
        "hierarchy",
        "entity_description",
        "pattern_search",
    ]
    assert family_of("absent") == ""


def test_titles_are_short_and_the_same_for_the_same_kind():
    titles: dict[Asked, set[str]] = {}
    for row in corpus.ALL:
        if asked := understand(row.question):
            search = asked.kind == "search"
            alike = replace(
                asked,
                mentions=(),
                text="x" if asked.text else "",
                what=asked.what if search else "",
            )
            alike = alike if search else replace(alike, where="contains")
            titles.setdefault(alike, set()).add(generalised(row.question, asked))
    assert all(len(found) == 1 for found in titles.values())
    every = [title for found in titles.values() for title in found]
    assert len(set(every)) >= len(KINDS) - 1 + len(COUNTED)
    assert len({each.task_type for each in titles}) == len(
        {(each.kind, each.task_type) for each in titles}
    )
    assert generalised("", Asked("search", what="class")) == "List all classes of the ontology"
    assert Asked("search", what="class").task_type == "list_classes"
    assert all(0 < len(title) <= 45 for title in every)
    assert (
        generalised("Find all subclasses of Activity.", Asked("all_subclasses", ("Activity",)))
        == "Find all subclasses of a class"
    )
    assert generalised("?", None) == ""


NAMES = [
    "prov:Entity",
    "wasDerivedFrom",
    "http://www.w3.org/ns/prov#Agent",
    "http://example.org/a(b)?c=d",
    "bill of lading",
    "search and rescue vessel",
    "ship in distress",
    "Bluetooth 5.2 radio",
    "Ærøskøbing færge",
    "数据集",
    "Klöße",
    "has_part",
    "St. John's wort",
    "Which?",
    "subclass of anything",
    "how many",
]


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("What is {}?", "describe"),
        ("List all subclasses of {}.", "all_subclasses"),
        ("Which properties have range {}?", "properties_by_range"),
        ("What properties can {} have?", "properties_by_domain"),
        ("Is there a class called {} in this ontology?", "exists"),
        ("Name the instances of the class {}, please", "instances"),
        ("What is {} a kind of?", "superclasses"),
    ],
)
def test_a_quoted_name_survives_whatever_is_in_it(form, kind):
    for name, quotes in itertools.product(NAMES, ("''", '""', "``", "“”", "‘’", "<>")):
        if (quotes == "<>" and not name.startswith("http")) or (
            quotes == "''" and re.search(r"['?!]", name)
        ):
            # angle brackets are for IRIs; an apostrophe or the end of a sentence ends a single
            # quote
            continue
        asked = understand(form.format(f"{quotes[0]}{name}{quotes[1]}"))
        assert asked is not None, (name, quotes)
        assert (asked.kind, asked.mentions) == (kind, (name,)), (name, quotes)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("List all direct subclasses of Food.", "subclasses"),
        ("List all subclasses of Food.", "all_subclasses"),
        ("List the subclasses of Food.", "subclasses"),
        ("Which classes are below Food?", "all_subclasses"),
        ("Which classes are directly below Food?", "subclasses"),
        ("What are vessels?", "describe"),
        ("What are the vessels?", "instances"),
        ("Which vessels are there?", "instances"),
        ("What kinds of vessel are there?", "subclasses"),
        ("What is Tug a kind of?", "superclasses"),
        ("Find berth", "search"),
        ("Show me prov:Bundle", "describe"),
        ("Tell me everything about berths", "describe"),
        ("Find everything about berths", "search"),
        ("Is Tug a class?", "exists"),
        ("Is Tug a vessel?", "is_subclass"),
        ("Are there any subclasses of Tug?", "subclasses"),
        ("What is the domain of hasPart?", "describe"),
        ("Which properties have domain Part?", "properties_by_domain"),
        ("Which properties link Ship with Berth?", "path"),
        ("Which properties link to Berth?", "properties_by_range"),
        ("properties starting with has", "search"),
        ("properties starting from Ship", "properties_by_domain"),
        ("How many vessels are there?", "count"),
        ("List all classes", "search"),
    ],
)
def test_of_two_kinds_the_likelier_one(question, kind):
    asked = understand(question)
    assert asked is not None and asked.kind == kind


def test_each_rule_needs_only_what_its_matches_have():
    """A form is not compiled when words are missing, nor its group looked at. No question may be
    lost by that."""
    groups = (
        ABOUT,
        NAMESPACES,
        ROOTS,
        NAMED,
        SUPERCLASSES,
        SUBCLASSES,
        PATH,
        BY_RANGE,
        BY_DOMAIN,
        INSTANCES,
        SEARCH,
    )
    groups += (IS_SUBCLASS, HAS_ANY, EXISTS)
    assert set(GATES) == {id(group) for group in groups}
    for row in corpus.ALL:
        text = row.question.strip(" ?.!")
        words = grammar.Words(text)
        for group in (*groups, DESCRIBE):
            for rule in group:
                if grammar.pattern(rule.form).fullmatch(text):
                    assert words.fit(rule.form) and words.any_of(GATES.get(id(group), ())), (
                        text,
                        rule.form,
                    )


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        ("Wich subclases does Tug have?", "subclasses", "Tug"),
        ("Waht are the supreclasses of Tug?", "superclasses", "Tug"),
        ("which proprties have the domian Tug", "properties_by_domain", "Tug"),
        ("List the instnces of Clases", "instances", "Clases"),
        ("List the instances of 'clases'", "instances", "clases"),
        ("Describe the domian", "describe", "domian"),
    ],
)
def test_slips_are_put_right_in_the_words_of_a_question_and_not_in_names(question, kind, name):
    asked = understand(question)
    assert asked is not None and asked.kind == kind
    assert kind == "describe" or asked.mentions == (name,)


def test_plain_questions_need_no_pattern_of_the_rules():
    """Most questions are understood without the rules, whose patterns take long to compile."""
    kinds = [row for row in ALL if row.kind]
    grammar.pattern.cache_clear()
    plain = sum(
        framed(respelled(text), names) is not None
        for text, names in (hidden(row.question) for row in kinds)
    )
    assert plain > 0.85 * len(kinds)
    assert grammar.pattern.cache_info().currsize == 0
    assert not [row.question for row in ALL if not row.kind and framed(*hidden(row.question))]


def test_few_patterns_are_compiled_for_a_question():
    grammar.pattern.cache_clear()
    assert understand("Find all subclasses of Activity.") is not None
    assert grammar.pattern.cache_info().currsize == 0
    assert understand("Explain Delegation further") is not None
    assert 0 < grammar.pattern.cache_info().currsize <= 20 < len(RULES)


def calls_for(question: str) -> int:
    """How many functions are called to understand a question."""
    number = 0

    def note(frame: object, event: str, arg: object) -> None:
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        understand(question)
    finally:
        sys.setprofile(before)
    return number


@pytest.mark.parametrize(
    "piece",
    [
        "what is ",
        "all the ",
        "subclasses of ",
        "a and ",
        "'",
        "<",
        "? ",
        "x",
        "prov:A ",
        "in the ",
        "\n",
    ],
)
def test_work_does_not_grow_beyond_the_longest_question(piece):
    short, long = piece * (MAX_CHARS // len(piece) + 1), piece * (100_000 // len(piece))
    assert calls_for(long) == calls_for(short) <= 20
    assert understand(long) is None


@pytest.mark.parametrize(
    "lead", ["", "What ", "Which properties ", "How many ", "How is ", "Is ", "Find ", "List "]
)
def test_no_repeated_words_keep_it_busy(lead):
    """These end at all: with nested repeats in a pattern they would not."""
    for piece in (
        "all ", "all direct ", "of ", "a and ", "is a ", "the ontology ", "in the ", "and including ", "that are ",
        "properties ", "class ", "subclasses of ", "directly or indirectly ", "in it ", "use in use ", "prefixes ",
        "x's ", "between a and ", "from a to ", "with the ", "'a ", "a, ", "are there ", "name name ", "owl ", "-",
    ):  # fmt: skip
        question = (lead + piece * MAX_LEFT)[: MAX_LEFT - 1]
        understand(question)  # what is compiled for it is kept
        assert calls_for(question) < 20_000, piece


@given(st.text(max_size=400))
@example("\ue000\ue0010\ue001")
@example("'s")
@example("What is 's?")
@example("What is \ue0007\ue001?")
@example("<a:b>" * 60)
@example("''''''''``````")
def test_no_text_is_too_strange(question):
    asked = understand(question)
    assert asked is None or asked.kind in KINDS


_WORDS = sorted({word for row in ALL for word in row.question.split()})


@given(st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join))
def test_words_of_questions_in_any_order(question):
    asked = understand(question)
    if asked is not None:
        assert asked.kind in KINDS
        assert all(name and name.strip() == name for name in asked.mentions)
        assert asked.kind != "count" or asked.of in COUNTED
        assert 0 < len(generalised(question, asked)) <= 45
        assert not any("\ue000" in part for part in (*asked.mentions, asked.text))


@pytest.mark.parametrize("lead", ["Please ", "Hi, ", "Question: "])
def test_courtesy_changes_nothing(lead):
    rows = [row for row in corpus.ALL if row.kind]
    assert not [
        row.question for row in rows if _of_any(understand(lead + row.question)) != wanted(row)
    ]


def test_what_follows_the_question_about_the_form_of_the_answer():
    for tail in (
        " Give their IRIs.",
        " List the CURIEs only.",
        " Answer with yes or no.",
        " Thanks!",
    ):
        assert understand("Which classes specialise Influence?" + tail) == Asked(
            "subclasses", ("Influence",)
        )
