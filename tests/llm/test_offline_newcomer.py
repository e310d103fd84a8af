"""What a newcomer asks of a log, a table, JSON, a chapter: no number without its cause, no quote
but the text."""

from __future__ import annotations

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlm.llm.offline.client import OFFLINE_UNANSWERED, OfflineClient
from rlm.llm.offline.text.answer import answer
from rlm.llm.offline.text.passages import longest_parts
from rlm.llm.offline.text.question import plan_for
from rlm.llm.offline.text.reading import extract, locate, needle_pattern, start_clock
from rlm.llm.offline.text.survey import edge, measure
from rlm.llm.offline.text.table import look, sniff_table, table, table_rows
from rlm.llm.offline.text.words import LINK
from rlm.loop import rlm_run


def ask(question: str, context: Any) -> str:
    result = rlm_run(question, context, client=OfflineClient())
    assert result.converged, result.reason
    assert len(result.iterations) <= 4
    assert [
        b.result.stderr for i in result.iterations for b in i.code_blocks if b.result.error
    ] == []
    return result.answer


def entry(n: int) -> str:
    level = "ERROR" if n % 10 == 3 else "INFO"
    said = (
        "request 7 served",
        "requests queued",
        "no error here",
        "timeout after 2024 ms",
        "user login",
    )[n % 5]
    return f"2024-03-{1 + n // 50:02d} 10:00:{n % 60:02d} {level} [svc] {said}"


LINES = [entry(n) for n in range(200)]
LOG = "\n".join(LINES) + "\n"


def having(pattern: str) -> list[int]:
    return [n for n, line in enumerate(LINES, 1) if re.search(pattern, line)]


@pytest.mark.parametrize(
    ("question", "pattern", "said"),
    [
        (
            "How many errors are there?",
            r"\bERROR\b",
            "the word “ERROR” (written in capitals; 60 lines have it in any",
        ),
        ("How many ERROR lines are there?", r"\bERROR\b", "the word “ERROR”"),
        ("How many requests were there?", r"\brequests?\b", "the word “requests” or “request”"),
        (
            "How many timeouts?",
            r"\btimeout\b",
            "the word “timeout” (capitals ignored; 40 times in all)",
        ),
        ("How many logins were found in the log?", r"\blogin\b", "the word “login”"),
        (
            "How many errors on 2024-03-02?",
            r"2024-03-02.*(?i:error)",
            "all of “errors”, “2024-03-02”",
        ),
    ],
)
def test_how_many_counts_the_lines_and_says_which(question, pattern, said):
    assert ask(question, LOG).startswith(f"{len(having(pattern))}: so many lines contain {said}")


@pytest.mark.parametrize(
    "question", ["How many warnings are there?", "How many dogs were there?", "How many crashes?"]
)
def test_what_does_not_occur_has_no_number(question):
    answer = ask(question, LOG)
    assert answer.startswith(f"{OFFLINE_UNANSWERED} the word “")
    assert "does not occur in the text" in answer
    assert not re.search(r"\d", answer)


def test_how_many_in_prose_counts_the_word_and_says_so():
    answer = ask("How many cats are there?", "A cat and a Cat.\nSome cats, 300 dogs, a category.\n")
    assert answer.startswith(
        "3: the word “cats” or “cat” occurs 3 times, on 2 lines (capitals ignored, whole words"
    )
    assert "1 time more" in answer
    assert "“cat” 2, “cats” 1" in answer
    assert "not the things" in answer


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("What is the first error?", having("ERROR")[:1]),
        ("What is the last ERROR?", having("ERROR")[-1:]),
        ("Show the last 3 timeouts", having("timeout")[-3:]),
        ("When did the first login occur?", having("login")[:1]),
        ("Show the first 3 rows", [1, 2, 3]),
        ("Show the first two lines", [1, 2]),
        ("show the last 5 lines", [196, 197, 198, 199, 200]),
    ],
)
def test_the_first_and_the_last_are_lines_of_the_text(question, wanted):
    answer = ask(question, LOG)
    assert re.findall(r"^line (\d+): “(.*)”$", answer, re.M) == [
        (str(n), LINES[n - 1]) for n in wanted
    ]


def test_all_lines_are_listed_as_far_as_there_is_room():
    answer = ask("list all ERROR lines", LOG * 10)
    shown = re.findall(r"^- line (\d+): “(.*)” \(", answer, re.M)
    assert shown == [
        (str(n), LINES[(n - 1) % 200])
        for n in (having("ERROR") + [n + 200 for n in having("ERROR")])[:40]
    ]
    assert f"… and on {200 - len(shown)} more." in answer


PEOPLE = {"people": [{"name": "Ada", "age": 36}, {"name": "Bob", "age": 41}], "total": 2}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("question", "value"), [("What is Ada's age?", "36"), ("What is the age of Bob?", "41")]
)
def test_a_value_of_json_is_that_of_its_record(indent, question, value):
    assert ask(question, json.dumps(PEOPLE, indent=indent)).startswith(f"{value}\nline")


PROJECT = """[project]
name = "thing"
description = "A thing that does what it does, and well"
readme = "README.md"
dependencies = [
  "alpha>=1",
  "beta>=2",
]

[tool.gamma]
line-length = 120
"""


@pytest.mark.parametrize(
    "question", ["What is the description of thing?", "Which readme?", "What is the alpha?"]
)
def test_a_quote_is_a_line_of_the_text_at_its_number(question):
    quotes = re.findall(r"line (\d+): “(.*)”$", ask(question, PROJECT), re.M)
    assert quotes
    for number, quote in quotes:
        assert PROJECT.split("\n")[int(number) - 1].strip() == quote
    assert not look(PROJECT)["wrapped"]


def test_a_sentence_over_two_lines_keeps_them():
    text = (
        "The old mill stood for many years on the\nhill and was painted white by the miller"
        " and\nhis sons.\n"
    )
    assert ask("Quote the sentence about the hill", text).startswith(f"lines 1-3: “{text.strip()}”")


@pytest.mark.parametrize("text", ["a b\n" * 400_000, "a b\n" * 399_999 + "a b", "\n" * 400_000])
def test_lines_are_counted_to_the_last(text):
    assert ask("How many lines are there?", text) == "400000 lines."
    if "a" in text:
        answer = ask("How many times does 'a' occur?", text)
        assert answer.startswith("400000: ")
        assert "longer words" not in answer
        assert "line 400000: “a b”" in ask("Show the last line", text)


def test_a_heading_is_no_sentence():
    text = "Chapter 1.\n\nThe Storm\n\nIt was dark. Mr. Smith slept.\n\n# Chapter 2\n\nIt ended.\n"
    assert ask("Quote the first sentence", text) == "The first sentence:\nline 5: “It was dark.”"
    assert ask("Quote the last sentence", text).endswith("line 9: “It ended.”")
    assert ask("What is the first paragraph?", text).endswith(
        "line 5: “It was dark. Mr. Smith slept.”"
    )
    clock = start_clock(60)
    two = edge(text, clock, "sentences", 2, False)["items"]
    assert [item["quote"] for item in two] == ["It was dark.", "Mr. Smith slept."]


CHINESE = "北京是中华人民共和国的首都。李白出生于碎叶城，是唐代诗人。他于七二五年离开四川。\n"


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("李白出生于哪里？", "李白出生于碎叶城，是唐代诗人。"),
        ("中华人民共和国的首都是什么？", "北京是中华人民共和国的首都。"),
    ],
)
def test_chinese_is_found_by_the_longest_parts(question, quote):
    answer = ask(question, CHINESE)
    assert answer.startswith(f"line 1: “{quote}”")
    assert "Not in the text" not in answer


def test_chinese_that_is_not_there_is_said_to_be_so():
    assert ask("孔子是谁？", CHINESE).startswith(
        f"{OFFLINE_UNANSWERED} nothing in the text matches the question: “孔子”"
    )


@given(
    st.text(alphabet="天地人山水", max_size=30),
    st.text(alphabet="天地人山水", min_size=2, max_size=12),
)
def test_the_longest_part_is_as_by_hand(text, run):
    parts = {
        run[a:b] for a in range(len(run)) for b in range(a + 2, len(run) + 1) if run[a:b] in text
    }
    found = longest_parts(text, start_clock(60), [run])
    assert max(map(len, found), default=0) == max(map(len, parts), default=0)
    assert set(found) <= parts


def test_links_are_named_by_their_targets():
    text = (
        '[a](docs/a.md) ![i](i.png "t") <https://b.org>\n[c]: ./c.html\n[INFO]: nothing\n<a'
        ' href="/d">d</a>\n'
    )
    found = [item["quote"] for item in extract(text, start_clock(60), LINK, 9)["items"]]
    assert found == ["docs/a.md", "i.png", "https://b.org", "./c.html", "/d"]
    assert ask("list all links", text).startswith(
        "5 found (links; 5 different):\n- docs/a.md (line 1)"
    )
    assert (
        ask("List all the sections", "# A\n\nx\n\n## B\n")
        == "2: so many lines look like headings (2 Markdown headings).\n- A (line 1)\n- B (line 5)"
    )


def test_a_well_is_found():
    text = "The mill was old.\nThe well was dry.\n"
    assert ask("Where is the well?", text).startswith("line 2: “The well was dry.”")
    assert "occurs 1 time" in ask('Where is "well"?', text)


TABLE = 'name,city,unit price,qty\nA,Berlin,10.5,1\nB,Oslo,20,2\n"C, D\nE",Berlin,"1,000",x\n'


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("How many rows are there?", "3 rows (the header line is not counted)"),
        ("Which columns are there?", "4 columns, by the header line: name, city, unit price, qty."),
        (
            "What is the sum of qty?",
            "3: the sum of the column “qty”, over 2 numbers of 3 rows; 1 without a number",
        ),
        (
            "What is the average unit price?",
            "343.5: the average of the column “unit price”, over 3 numbers of 3 rows.",
        ),
        ("maximum unit price", "1000: the greatest number of the column “unit price”"),
        (
            "What is the lowest unit price in Oslo?",
            "20: the least number of the column “unit price”, over 1 number of",
        ),
        ("Which city has the highest qty?", "Oslo\n2: the greatest number"),
        ("Show the last row", "The last row"),
        ("What is the sum of name?", f"{OFFLINE_UNANSWERED} the column “name” has no numbers"),
        (
            "What is the sum of qty in Rome?",
            f"{OFFLINE_UNANSWERED} the column “qty” has no numbers in the 0 rows",
        ),
    ],
)
def test_a_table_is_reckoned_with(question, start):
    assert ask(question, TABLE).startswith(start)


@given(
    st.lists(
        st.lists(st.text(alphabet='ab1 ,;"\n', max_size=6), min_size=3, max_size=3), max_size=8
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_rows_are_read_as_csv_does(rows, delimiter):
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    assert [cells for _, cells in table_rows(out.getvalue(), start_clock(60), delimiter)] == rows


@given(
    st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=30),
    st.sampled_from([",", ";", "\t", "|"]),
)
def test_a_column_is_reckoned_as_by_hand(numbers, delimiter):
    text = f"id{delimiter}n\n" + "".join(f"r{delimiter}{n}\n" for n in numbers)
    found = table(text, start_clock(60), "n", "max", [])
    assert (found["sum"], found["count"], found["best"]["value"]) == (
        sum(numbers),
        len(numbers),
        max(numbers),
    )


@pytest.mark.parametrize(
    "text",
    ["", "one\n", "Hello, world.\nThis, too.\n", "1,2\n3,4\n", "a,b\n", LOG, PROJECT,
     '{"a": 1, "b": 2}\n{"a": 3, "b": 4}\n'],
)  # fmt: skip
def test_what_is_no_table(text):
    assert sniff_table(text)["columns"] == []


def test_the_look_knows_a_log_and_json():
    assert look(LOG)["log"] and not look(TABLE)["log"]
    assert look(json.dumps(PEOPLE))["json"] and not look("[a] b\n")["json"]


@given(st.text(alphabet="aAeErs _\n", max_size=200))
def test_both_numbers_of_a_word_are_counted_as_by_hand(text):
    found = locate(text, start_clock(60), "ear", "whole", 3, ["ears"])
    assert found["count"] == len(re.findall(r"(?i)(?<!\w)ears?(?!\w)", text))
    assert found["lines"] == sum(
        bool(re.search(r"(?i)(?<!\w)ears?(?!\w)", line)) for line in text.split("\n")
    )
    last = locate(text, start_clock(60), "ear", "whole", 2, ["ears"], True)["items"]
    everything = locate(text, start_clock(60), "ear", "whole", 900, ["ears"])["items"]
    assert last == everything[-2:]


@pytest.mark.parametrize(
    ("needle", "forms", "there"),
    [("a b.c", ["d"], "a  d"), ("mouse", ["mice"], "mice"), ("old foot", ["feet"], "old\nfeet")],
)  # fmt: skip
def test_forms_may_differ_from_the_first_letter(needle, forms, there):
    assert re.fullmatch(needle_pattern(needle, "whole", forms), there)


def test_empty_lines_are_counted():
    assert measure("a\n\n \nb\n\n", start_clock(60), "empty lines")["count"] == 3


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Translate it", "x"),
        ("What did Napoleon conquer?", "The mill."),
        ("What is the magic spell?", "The magic number is 7."),
        ("Who is Anna?", ""),
        ("How many soldiers were in the fort?", "The fort was built in 1742."),
    ],
)
def test_no_answer_is_told_from_an_answer(question, text):
    assert ask(question, text).startswith(OFFLINE_UNANSWERED)


def test_a_text_cannot_make_an_answer_look_like_none():
    assert OFFLINE_UNANSWERED == "Not answered:"
    for text in ("status = Not answered: x\n", 'status: "Not answered: x"\n'):
        assert not ask("What is the status?", text).startswith(OFFLINE_UNANSWERED)
    assert ask("How many soldiers were in the fort?", "In the fort were 300 soldiers.").startswith(
        "300\nline 1"
    )


@pytest.mark.parametrize(
    "question", ["How many errors are there?", "How many lines are there?", "List all numbers"]
)
def test_a_number_from_a_part_of_the_text_is_no_answer(question):
    found = {
        "count": 7,
        "lines": 7,
        "distinct": 7,
        "items": [],
        "partial": True,
        "read": 10,
        "size": 99,
        "forms": {},
    }
    said = answer(plan_for(question), {**found, "anywhere": 7})
    assert said.startswith(
        f"{OFFLINE_UNANSWERED} only 10 of 99 characters were read in the time. In these: 7"
    )
