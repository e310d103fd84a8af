"""Questions and the plans that offline makes of them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm.offline.text.plan import passage_plan
from rlm.llm.offline.text.question import plan_for
from rlm.llm.offline.text.terms import forms_of, terms_of


@pytest.mark.parametrize(
    ("question", "needle", "mode", "unit"),
    [
        ('How many times does "cat" occur?', "cat", "whole", "times"),
        ("How many times does the word whale appear in the text?", "whale", "whole", "times"),
        ("How often is the old mill mentioned?", "old mill", "whole", "times"),
        ("Count the occurrences of Ishmael.", "Ishmael", "whole", "times"),
        ("How many times does the letter e occur?", "e", "any", "times"),
        ("How many lines contain ERROR?", "ERROR", "whole", "lines"),
        ("How many ERROR lines are there?", "ERROR", "whole", "lines"),
        ("How many lines contain 'a b'?", "a b", "whole", "lines"),
        ("How many documents mention 'tax'?", "tax", "whole", "documents"),
        ("How many commas are there?", ",", "any", "times"),
        ("Wie oft kommt „Anna“ vor?", "Anna", "whole", "times"),
        ("Combien de fois « mer » apparaît ?", "mer", "whole", "times"),
        ('How many times does "Cat" occur, case-sensitive?', "Cat", "exact", "times"),
        ('How many times does "(" occur?', "(", "any", "times"),
        ('How many times does "a" occur?', "a", "whole", "times"),
    ],
)
def test_counting(question, needle, mode, unit):
    plan = plan_for(question)
    assert (plan.kind, plan.args["needle"], plan.args["mode"], plan.about["unit"]) == (
        "count",
        needle,
        mode,
        unit,
    )


@pytest.mark.parametrize(
    ("question", "needle"),
    [
        ("Where is Anna mentioned?", "Anna"),
        ("Find Captain Ahab in the book", "Captain Ahab"),
        ("Which line mentions the harpoon?", "harpoon"),
        ("On which line does 'x = 1' appear?", "x = 1"),
        ("Does the text mention Napoleon?", "Napoleon"),
        ("Search for all mentions of the white whale.", "white whale"),
        ("“Ungeheuer”?", "Ungeheuer"),
        ("它在哪里提到「魔法」?", "魔法"),
    ],
)
def test_finding(question, needle):
    plan = plan_for(question)
    assert (plan.kind, plan.args["needle"]) == ("find", needle)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Summarise the text", "summary"),
        ("What is this document about?", "summary"),
        ("Give me an outline.", "summary"),
        ("Show the table of contents", "summary"),
        ("Summarise what it says about trade", "passages"),
        ("Quote the sentence about the cat", "passages"),
        ("What does the text say about Anna?", "passages"),
        ("Who is Anna?", "passages"),
        ("When did the mill burn down?", "passages"),
        ("How many soldiers were in the fort?", "passages"),
        ("What is the magic number?", "passages"),
        ("What is the e-mail address of Anna?", "passages"),
        ("List all e-mail addresses", "extract"),
        ("Extract every URL.", "extract"),
        ("Which dates are mentioned?", "extract"),
        ("What numbers are in the text?", "extract"),
        ("How many words are there?", "measure"),
        ("How many lines does the file have?", "measure"),
        ("How many paragraphs?", "measure"),
        ("How many characters?", "measure"),
        ("How many chapters are there?", "headings"),
        ("How many different words are there?", "distinct"),
        ("How many documents are there?", "texts"),
        ("What are the 5 most common words?", "common"),
        ("List all the sections", "headings"),
        ("Which chapters are there?", "headings"),
        ("Show the headings", "headings"),
        ("list all links", "extract"),
        ("How many empty lines are there?", "measure"),
        ("Show the first 3 rows", "edge"),
        ("show the last 5 lines", "edge"),
        ("What is the longest line?", "extreme"),
        ("What is the last paragraph?", "edge"),
        ("How does the story end?", "edge"),
        ("What is on line 12?", "lines"),
        ("Translate it into French", "none"),
        ("Write a poem", "none"),
        ("Why?", "none"),
        ("", "none"),
        ("?!…", "none"),
    ],
)
def test_other_kinds(question, kind):
    assert plan_for(question).kind == kind


def test_words_that_say_nothing_are_not_looked_for():
    plan = passage_plan("What does the document say about the burning of Anna's old mills?")
    assert [stem for _, stem, _ in plan.args["terms"]] == ["burn", "anna", "old", "mill"]


def test_scripts_without_spaces_are_looked_for_in_long_parts():
    assert passage_plan("魔法数字是什么?").args["terms"] == [["魔法数字", "魔法数字", "longest"]]


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Where is the well?", ["well"]),
        ("What does it say about wells?", ["well"]),
        ("Who is May?", ["may"]),
        ("Where did May live?", ["may", "live"]),
        ("How well did the mill work?", ["mill", "work"]),
        ("What can you do?", []),
        ("What is the answer?", ["answer"]),
    ],
)
def test_words_that_say_little_count_when_they_are_all_there_is(question, terms):
    assert [stem for _, stem, _ in terms_of(question)] == terms


@pytest.mark.parametrize(
    ("needle", "forms"),
    [
        ("errors", ["error"]), ("ERROR", ["errors"]), ("policies", ["policy"]), ("city", ["cities"]),
        ("boxes", ["box"]), ("class", ["classes"]), ("men", ["man"]), ("status", ["statuses"]), ("failed", []),
        ("user logins", ["login"]), ("x1", []), ("狗", []), ("", []),
    ],
)  # fmt: skip
def test_the_other_number_of_a_word(needle, forms):
    assert forms_of(needle) == forms


@pytest.mark.parametrize(
    ("question", "needle", "unit"),
    [
        ("How many errors are there?", "errors", "lines"),
        ("How many requests were there?", "requests", "lines"),
        ("How many timeouts?", "timeouts", "lines"),
        ("Count the timeouts in the log", "timeouts", "lines"),
        ("What is the number of errors?", "errors", "lines"),
        ("How many ERROR lines are there in the log?", "ERROR", "lines"),
    ],
)
def test_how_many_of_something_in_a_log_counts_its_lines(question, needle, unit):
    plan = plan_for(question, {"log": True})
    assert (plan.kind, plan.args["needle"], plan.about["unit"]) == ("count", needle, unit)


@pytest.mark.parametrize(
    "question",
    ["How many errors were there on Monday?", "How many requests failed?", "How many lines were written by Anna?",
     "How many different errors are there?", "How many words did Anna write?"],
)  # fmt: skip
def test_how_many_with_a_condition_counts_nothing_else(question):
    assert plan_for(question).kind == "passages"


@pytest.mark.parametrize(
    ("question", "needle", "keep", "last"),
    [
        ("What is the first error?", "error", 1, False),
        ("What is the last ERROR?", "ERROR", 1, True),
        ("Show the last 5 ERROR lines", "ERROR", 5, True),
        ("When did the first login occur?", "login", 1, False),
        ("Quote the first line with timeout", "timeout", 1, False),
        ("Which line has the last mention of Anna?", "Anna", 1, True),
        ("list all ERROR lines", "ERROR", 40, False),
        ("Show me every timeout", "timeout", 40, False),
    ],
)
def test_the_first_the_last_and_all(question, needle, keep, last):
    plan = plan_for(question)
    assert (plan.kind, plan.args["needle"], plan.args["keep"]) == ("find", needle, keep)
    assert bool(plan.args.get("last")) == last


@pytest.mark.parametrize(
    ("question", "args"),
    [
        ("How many rows are there?", ("", "rows", [])),
        ("Which columns are there?", ("", "columns", [])),
        ("What columns does the file have?", ("", "columns", [])),
        ("What is the sum of the price?", ("unit_price", "sum", [])),
        ("What is the average unit price in Berlin?", ("unit_price", "mean", ["berlin"])),
        ("Which city has the highest qty?", ("qty", "max", [])),
        ("minimum of qty", ("qty", "min", [])),
    ],
)
def test_questions_to_a_table(question, args):
    columns = (
        ["unit_price", "city", "qty"]
        if "unit" in question
        else ["unit_price", "city", "qty", "price"]
    )
    plan = plan_for(question, {"columns": columns})
    column = args[0] if columns[-1] != "price" or args[0] != "unit_price" else "price"
    assert (plan.kind, plan.args["column"], plan.args["wanted"], plan.args["where"]) == (
        "table",
        column,
        *args[1:],
    )


def test_a_table_is_not_asked_for_what_it_cannot_reckon():
    assert plan_for("What is the total qty by city?", {"columns": ["city", "qty"]}).kind != "table"
    assert plan_for("What is the total weight?", {"columns": ["city", "qty"]}).kind != "table"
    assert plan_for("How many rows are there?").kind == "measure"


def test_a_question_made_to_take_long_does_not():
    begun = time.process_time()
    assert plan_for("'s " * 6_000).kind == "none"
    assert time.process_time() - begun < 3


@given(st.text(max_size=300))
def test_every_question_has_a_plan(question):
    plan = plan_for(question)
    assert plan.kind == "none" or plan.program
    assert str(plan.args.get("needle", "x")).strip()
