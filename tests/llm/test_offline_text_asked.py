"""What people ask of a README and its neighbours: whole sentences, no heading for an answer, no
passage that lacks what was asked for."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm.offline.client import OFFLINE_UNANSWERED, OfflineClient
from rlm.llm.offline.text import passages, reading, survey, table
from rlm.llm.offline.text.answer import answer
from rlm.llm.offline.text.named import names_in, of_the_text
from rlm.llm.offline.text.plan import passage_plan
from rlm.llm.offline.text.question import plan_for
from rlm.llm.offline.text.sentences import passage_ends, span_of
from rlm.llm.offline.text.value import number_before, value_in
from rlm.loop import rlm_run

README = """# thing

A tool that keeps notes in one file. It was written by Anna Berg in May 2021, because the old one lost them.
It sets itself up with Python 3.11 or newer. Nothing else is needed.

## Install

```sh
pip install thing   # or from a clone
title = "Compare checksums.",
```

`thing --help` lists the rest. Every command takes `--json` and a path. The default store is
`~/notes.db`. A gate that nobody opens is not passed, and the
old gate was removed by hand.

- **A hypergraph**: nodes in four tiers, edges between any number of them, and a
  log of every change.

| setting | default | what it does |
|---|---|---|
| `lock_s` | 10.0 | How long a write waits. It gives up then. |

It refuses three things:

- more than 600 attempts
- a window of 8,192 tokens or more, since the first prompt of a run takes 2,100

## Box

## Licence

Apache-2.0. See [LICENSE](LICENSE).
"""
SECURITY = "# Security\n\nThe worker is shut in by seccomp.\nWithout seccomp it does not start.\n"
BOTH = {"README.md": README, "docs/SECURITY.md": SECURITY}


def said(question: str, context: Any = README) -> str:
    """The answer by the programs themselves, without the loop around them."""
    found = table.look(context, names_in(question))
    found["texts"] = len(reading.texts_of(context))
    question, only = of_the_text(question, found)
    asked = {name: context[name] for name in only} if only else context
    plan = plan_for(question, found)
    for step in (plan, passage_plan(question, found)):
        if step.kind == "none":
            return f"{OFFLINE_UNANSWERED} no plan"
        program = next(
            getattr(m, step.program)
            for m in (reading, passages, survey, table)
            if hasattr(m, step.program)
        )
        result = program(asked, reading.start_clock(60), **step.args)
        if result["count"] or not plan.about.get("loose"):
            break
    return answer(step, {**result, "texts": len(reading.texts_of(asked))})


@pytest.mark.parametrize(
    ("question", "start"),
    [
        (
            "What is the default store?",
            "~/notes.db\nlines 13-14: “The default store is\n`~/notes.db`.”\n",
        ),
        (
            "What licence has it?",
            "lines 31-33: “## Licence\n\nApache-2.0. See [LICENSE](LICENSE).”\n",
        ),
        (
            "Which Python version is needed?",
            "3.11 or newer\nline 4: “It sets itself up with Python 3.11 or newer.”",
        ),
        ("What is the minimum Python version?", "3.11 or newer\n"),
        ("How do I install it?", "line 9: “pip install thing   # or from a clone”"),
        (
            "What is the hypergraph?",
            "lines 17-18: “- **A hypergraph**: nodes in four tiers, edges between any number",
        ),
        (
            "How long does a write wait before it gives up?",
            "10.0\nline 22: “| `lock_s` | 10.0 | How long a write waits.",
        ),
        (
            "What does it refuse?",
            "lines 24-27: “It refuses three things:\n\n- more than 600 attempts\n- a window",
        ),
        ("How many attempts are there?", "600\nline 26:"),
        (
            "Who wrote the tool?",
            f"{OFFLINE_UNANSWERED} nothing in the text matches the question well",
        ),
        ("Why was it written?", "line 3: “It was written by Anna Berg in May 2021, because"),
        ("When was it written?", "May 2021\nline 3"),
        ("Which words occur most?", "Most common words, all counted: "),
        ("What does the file say about a window?", "line 27: “- a window of 8,192 tokens"),
        ("List all lines with gate", "The word “gate” occurs 2 times, on 2 lines"),
        ("Which settings are there?", "The word “setting” occurs 1 time"),
    ],
)
def test_whole_sentences_are_quoted(question, start):
    assert said(question).startswith(start)


@pytest.mark.parametrize(
    "question",
    [
        "compare the two files",
        "How do the two texts differ?",
        "What is the box?",  # a heading with nothing under it
        "What is a gate?",  # "is not passed" and "was removed" say nothing of what it is
        "How many tokens does the first prompt take?",  # 8,192 is in another clause
        "What is the oldest default store?",
        "What did Napoleon store by default?",
        "Why is the default store a file?",
        "Who needs Python?",
        "When does it list the rest?",
        "What is lock_z?",
        "How large may a text be?",
        "What is Part D?",
    ],
)
def test_what_no_passage_says_is_not_answered(question):
    assert said(question).startswith(OFFLINE_UNANSWERED)


@pytest.mark.parametrize(
    ("question", "start"),
    [
        (
            "What does SECURITY.md say about seccomp?",
            "'docs/SECURITY.md', line 3: “The worker is shut in by seccomp.”",
        ),
        (
            "According to the README, what is the default store?",
            "~/notes.db\n'README.md', lines 13-14",
        ),
        ("How many lines does docs/SECURITY.md have?", "4 lines."),
        ("How many times does seccomp occur in SECURITY.md?", "2: the word “seccomp”"),
        (
            "What is the first line of SECURITY.md?",
            "The first line:\n'docs/SECURITY.md', line 1: “# Security”",
        ),
        ("How many headings have README.md and SECURITY.md?", "5: so many lines"),
        ("Is seccomp mentioned in README.md?", "No. "),
        ("Where is README.md mentioned?", f"{OFFLINE_UNANSWERED} nothing in the text matches"),
        (
            "What does OTHER.md say about seccomp?",
            f"{OFFLINE_UNANSWERED} nothing in the text matches the question well",
        ),
        ("Which file is the longest?", "'README.md' is the longest: "),
        ("What is the difference between README.md and SECURITY.md?", OFFLINE_UNANSWERED),
    ],
)
def test_a_text_that_is_named_is_the_one_that_is_asked(question, start):
    assert said(question, BOTH).startswith(start)


def test_a_value_ends_with_its_line():
    text = (
        "The score is made of three parts, as the old paper says it must be\nwhen all is"
        " told:\n\n{}    b   = 2\n"
    )
    assert said("What is damp?", text.format("    damp  = 1 / 4\n")).startswith(
        "1 / 4\nlines 4-5: “"
    )
    assert said("What is damp?", text.format("    damp  = 1 / 4\n    c   = damp\n")).startswith(
        "lines 4-6: “"
    )


def test_the_only_text_may_be_named_too():
    assert said("What does SECURITY.md say about seccomp?", SECURITY).startswith(
        "line 3: “The worker is shut in"
    )
    assert said("Which file is the longest?").startswith(OFFLINE_UNANSWERED)


def test_in_a_run_too():
    result = rlm_run("What does SECURITY.md say about seccomp?", BOTH, client=OfflineClient())
    assert result.answer.startswith(
        "'docs/SECURITY.md', line 3: “The worker is shut in by seccomp.”"
    )
    assert "README" not in result.answer


def test_a_sentence_over_the_end_of_a_block_is_whole():
    line = "Nothing was heard of the ship on that day nor on the next one\nwhile the wind blew. "
    for lead in range(5):
        text = "x" * lead + line * 13_000
        at = text.find(". ", 999_000) + 2
        text = text[:at] + "The captain of the brig had a red coat\nand a parrot. " + text[at:]
        clock = reading.start_clock(60)
        found = passages.passages(
            text, clock, [["parrot", "parrot", "stem"]], "", "sentence", True, 1
        )
        assert found["items"][0]["quote"] == "The captain of the brig had a red coat\nand a parrot."


@given(st.text(alphabet="ab .\n#|-:`", max_size=200), st.integers(0, 199))
def test_a_passage_holds_its_place_and_stays_in_the_text(text, place):
    if place < len(text):
        start, stop, wide = span_of(
            text, place, len(text), re.compile(passage_ends("sentence", True)), 700, [], True
        )
        assert 0 <= start <= place < stop <= wide <= len(text)


@pytest.mark.parametrize(
    ("quote", "terms", "value"),
    [
        ("A box that holds: rules, a bare process, and a host.", ["box"], ""),
        ("seccomp and Landlock are Linux's.", ["Landlock"], ""),
        ("A procedure that gives orders is not recalled.", ["procedure"], ""),
        ("One of the new emoji is found.", ["new"], ""),
        ("The capital of the old land is Paris, they say.", ["capital"], "Paris"),
    ],
)
def test_a_part_of_what_is_said_is_no_value(quote, terms, value):
    assert value_in(quote, terms, "(?i)x") == value


def test_a_number_counts_in_its_own_clause():
    quote = "Give it a window of 8,192 tokens or more, since the first prompt takes 2,100."
    assert number_before(quote, "token", ["tokens", "prompt", "takes"]) == ""
    assert number_before("It has four brave soldiers.", "soldier", ["soldiers"]) == "four"
