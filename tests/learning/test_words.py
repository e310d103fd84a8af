"""What an answer says in plain words: none, no such thing, yes or no, a number."""

from __future__ import annotations

import time
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.learning.grounding import iris_in
from rlm.learning.words import number_in, says_absent, says_none, truth_of

pytestmark = pytest.mark.req("RB-22")


@all_cases(
    ("answer", "number"),
    [
        ("3", 3),
        ("3.", 3),
        ("**3**", 3),
        ("`3`", 3),
        ("There are 3 subclasses.", 3),
        ("Count: 3", 3),
        ("Count:3", 3),
        ("12: so many lines look like headings.", 12),
        ("1,234 classes", 1234),
        ("1\u202f234 classes", 1234),
        ("12'345 triples", 12345),
        ("1_000", 1000),
        ("three", 3),
        ("Twenty classes.", 20),
        ("seventeen", 17),
        ("There are no subclasses.", 0),
        ("None.", 0),
        ("none", 0),
        ("No.", 0),
        ("It has no instances", 0),
        ("zero", 0),
        ("Nothing was found.", 0),
        ("No, there are 4 of them.", 4),
        ("It has one subclass.", 1),
        ("One of them has 5.", 5),
        ("prov:Q42 has 3 parts", 3),
        ("<http://a.example/2020/x> has 3 parts", 3),
        ("http://a.example/7 has 3", 3),
        ('The class "Type 9" has 3 members', 3),
        ("`H_0007` has 3 members", 3),
        ("There are 3 subclasses:\n1. prov:A\n2. prov:B\n3. prov:C", 3),
        ("1. prov:A\n2. prov:B\nThat is 2.", 2),
        ("Of the 50 properties, 12 have this domain.", 12),
        ("12 out of 50", 12),
        ("45 (32 object, 13 datatype)", 45),
        ("The ontology (version 2) has 30 classes", 30),
        ("Since 2013-04-30 it has 7 classes", 7),
        ("(3)", 3),
        ("At 12:30 there were 5", 5),
        ("5 classes, which is 20% of all", 5),
        ("3.0", 3),
        ("the 2nd has 4", 4),
        ("PROV-2 has 8 classes", 8),
        ("OWL2 has 8 classes", 8),
    ],
)
def test_the_number_of_an_answer(answer, number):
    assert number_in(answer) == Decimal(number)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "many",
        "I do not know",
        "3 or 4",
        "3-4",
        "between 3 and 5",
        "about 3",
        "at least 3",
        "more than 10",
        "10+",
        "three to four",
        "prov:Q42",
        "Yes",
        "No, it is not like that",
        "about twenty",
        "up to 5",
    ],
)
def test_what_is_no_plain_number(answer):
    assert number_in(answer) is None


def test_a_number_of_the_question_is_repeated_and_not_meant():
    question = "How many classes have more than 2 subclasses?"
    assert number_in("The classes with more than 2 subclasses are 5.", question) == 5
    assert number_in("2", question) == 2


@all_cases(
    ("answer", "truth"),
    [
        ("Yes", True),
        ("Yes, it is.", True),
        ("**Yes**, prov:A is a subclass of prov:B.", True),
        ("true", True),
        ("True.", True),
        ("It is.", True),
        ("It is a subclass of Agent.", True),
        ("There is such a class.", True),
        ("prov:Agent is a class.", True),
        ("The class exists.", True),
        ("Correct.", True),
        ("The answer is yes.", True),
        ("Answer: Yes", True),
        ("Yes. No subclasses are listed.", True),
        ("No.", False),
        ("No", False),
        ("no, it is not", False),
        ("It is not.", False),
        ("It isn't.", False),
        ("False", False),
        ("There is no such class.", False),
        ("prov:A is not a subclass of prov:B.", False),
        ("It does not exist", False),
        ("The answer is no.", False),
        ("There are none", False),
        ("It has no such part", False),
        ("`No`", None),
        ("", None),
        ("Yes and no.", None),
        ("Yes or no", None),
        ("Maybe.", None),
        ("It is unclear.", None),
        ("I cannot tell.", None),
        ("42", None),
        ("Yes. Actually, no.", None),
        ("No. Yes, it is.", None),
        ("prov:Agent", None),
        ("It might be.", None),
        ("I do not know.", None),
    ],
)
def test_yes_or_no(answer, truth):
    assert truth_of(answer) is truth


@pytest.mark.parametrize(
    "answer",
    [
        "There is no class called Submarine in this ontology.",
        "There is no prov:Foo here.",
        "No such class.",
        "prov:Foo does not exist.",
        "prov:Foo doesn't exist in PROV",
        "I could not find anything named Foo.",
        "Foo was not found.",
        "Not found: Foo.",
        "Foo is not defined in this ontology.",
        "Nothing is called Foo.",
        "No class matches 'Foo'.",
        "The ontology has no class Foo.",
        "I can't find it.",
        "It doesn’t exist.",
        "None of the terms is called so.",
        "I searched the labels.\nNothing matched. So there is no Foo.",
        '"Foo" is not in the graph',
        "No term in this graph has the name 'Foo'.",
        "The graph does not contain a Foo",
        "Unknown class: Foo",
        "There is no entity “Foo” in this ontology: the search found nothing like it.",
        "No match for Foo.",
    ],
)
def test_saying_that_there_is_no_such_thing(answer):
    assert says_absent(answer) and says_none(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Foo is a class.",
        "Foo is a class. It has no subclasses.",
        "Foo has no subclasses.",
        "There is no doubt: a class.",
        "",
        "3",
        "Foo has no instances",
        "There are no direct subclasses of it",
        "Yes",
        "Foo is a kind of Bar, no less.",
        "There is no path between them",
        "Foo has no label",
    ],
)
def test_saying_something_else(answer):
    assert not says_absent(answer)


@pytest.mark.parametrize(
    ("answer", "none"),
    [
        ("None.", True),
        ("It has no subclasses.", True),
        ("There are no instances of prov:Agent.", True),
        ("0", True),
        ("The list is empty.", True),
        ("There is no path.", True),
        ("Nothing.", True),
        ("Zero subclasses", True),
        ("It does not have any.", True),
        ("10", False),
        ("prov:A and prov:B", False),
        ("There is no doubt: A, B", False),
        ("Foo, Bar", False),
        ("", False),
    ],
)
def test_saying_that_there_are_none(answer, none):
    assert says_none(answer) is none


@settings(max_examples=80)
@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    assert truth_of(text) in (True, False, None)
    number_in(text, text)
    says_none(text)


@settings(max_examples=60)
@given(
    st.integers(0, 10**9),
    st.sampled_from(["{}", "{:,}", "There are {:,} of them.", "**{}**", "{} classes", "= {}"]),
)
def test_a_number_comes_back_as_it_went(number, frame):
    assert number_in(frame.format(number)) == number


@pytest.mark.parametrize(
    "part",
    ["a", "--a", "a:", "http://", "x(", ")", "1,", "no ", '"', "`'", "<a:", "is not ", "1. "],
)
def test_a_long_answer_is_read_in_no_time(part):
    """Where a pattern goes back and forth it takes several times as long."""
    text = part * (40_000 // len(part))
    started = time.process_time()
    assert iris_in("http://x/" + text, {}) is not None and iris_in(text, {}) is not None
    assert truth_of(text) in (True, False, None) and says_none(text) in (True, False)
    number_in(text)
    assert time.process_time() - started < 2
