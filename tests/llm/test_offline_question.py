"""Questions and the plans that offline makes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm.offline_question import passage_plan, plan_for


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
    ],
)
def test_counting(question, needle, mode, unit):
    plan = plan_for(question)
    assert (plan.kind, plan.args["needle"], plan.args["mode"], plan.about["unit"]) == ("count", needle, mode, unit)


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


def test_scripts_without_spaces_are_looked_for_by_pairs():
    assert [stem for _, stem, _ in passage_plan("魔法数字").args["terms"]] == ["魔法", "法数", "数字"]


@given(st.text(max_size=300))
def test_every_question_has_a_plan(question):
    plan = plan_for(question)
    assert plan.kind == "none" or plan.program
    assert str(plan.args.get("needle", "x")).strip()
