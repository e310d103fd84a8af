"""`offline` over texts: find, count, quote, and nothing more."""

from __future__ import annotations

import pytest

from rlm import agent
from rlm.llm.offline.client import OfflineClient, examples
from rlm.llm.offline.texts import read_text_question, report
from rlm.llm.types import is_unanswered

TEXT = (
    "The quay was built in 1890.\nA ferry calls at the quay.\nThe ferry is red. Quayside is not.\n"
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Where is the quay mentioned?",
            "“quay” occurs 2 times:\nline 1: “The quay was built in 1890.”",
        ),
        ("Find red", "“red” occurs 1 time:\nline 3: “The ferry is red. Quayside is not.”"),
        ("How often is the ferry mentioned?", "“ferry” occurs 2 times."),
        ("How many times does submarine occur?", "“submarine” occurs 0 times."),
        ("How many lines mention the ferry?", "2 lines with “ferry”."),
        ("How many lines are there?", "3 lines."),
        ("How many words does the text have?", "19 words."),
        ("How many characters are there?", f"{len(TEXT)} characters."),
        ("What does it say about the ferry?", "line 2: “A ferry calls at the quay.”"),
        ("Quote the line that mentions quay built", "line 1: “The quay was built in 1890.”"),
        ("Where is the submarine mentioned?", "None: the text has no line with “submarine”."),
    ],
)
def test_forms_over_a_text(question, answer):
    form, words = read_text_question(question)
    assert report(form, words, TEXT).startswith(answer)


def test_several_texts_are_told_apart():
    assert report("find", "b", {"one": "a\nb", "two": "b"}).splitlines()[1:] == [
        "one, line 2: “b”",
        "two, line 1: “b”",
    ]
    assert report("size", "texts", ["a", "b"]) == "2 texts."


@pytest.mark.parametrize(
    "question", ["Summarise the text.", "Why is the ferry red?", "Translate it."]
)
def test_what_needs_a_reader_is_refused(question):
    assert read_text_question(question) is None


def test_a_run_over_a_long_text_in_the_sealed_repl(tmp_path):
    text = "Call me in the morning.\n" * 50_000 + "The magic number is 4711.\n"
    result = agent.run(
        "What is the magic number?", None, tmp_path / "m.db", context=text, model="offline"
    )
    assert result.answer.startswith("line 50001: “The magic number is 4711.”")
    assert (result.converged, result.iterations) == (True, 2)
    refused = agent.run("Why is that so?", None, tmp_path / "m.db", context=text, model="offline")
    assert is_unanswered(refused.answer) and not refused.answered


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How often is yeast mentioned?", "“yeast” occurs 102000 times."),
        ("How many lines mention yeast?", "51000 lines with “yeast”."),
        (
            "Where is yeast mentioned?",
            "“yeast” occurs 102000 times; the first 10 lines:\nline 1: “",
        ),
        ("Where is yeast 50000 mentioned?", "all of the words “yeast 50000” occurs 1 time:"),
    ],
)
def test_hits_are_counted_to_the_last(tmp_path, question, answer):
    text = "".join(f"Yeast and sugar make beer, {number} yeast\n" for number in range(51_000))
    text += "No ferment.\n" * 250_000  # too long to be taken in as a whole
    result = agent.run(question, None, tmp_path / "m.db", context=text, model="offline")
    assert result.answer.startswith(answer)


def test_lines_are_those_where_a_hit_begins():
    text = "The\nquay, the quay and the quay.\nNot here.\n\n" + "the quay\n" * 20
    assert report("count_lines", "the quay", text) == "22 lines with “the quay”."
    found = report("find", "the quay", {"one": text, "two": text}).splitlines()
    assert found[0] == "“the quay” occurs 46 times; the first 10 lines:"
    assert found[1:4] == [
        "one, line 1: “The”",
        "one, line 2: “quay, the quay and the quay.”",
        "one, line 5: “the quay”",
    ]
    assert (len(found), found[-1]) == (11, "one, line 12: “the quay”")
    assert report("find", "here", "here and here").startswith("“here” occurs 2 times:")


def test_a_text_beside_an_ontology_is_asked_what_the_ontology_is_not(tmp_path):
    asked = agent.run("Where is the ferry mentioned?", "ontology/harbour.ttl", tmp_path / "m.db",
                      context=TEXT, model="offline")  # fmt: skip
    assert asked.answer.startswith("“ferry” occurs 2 times")


# -- what it says of itself


def test_a_prompt_that_is_no_question_of_the_loop():
    reply = OfflineClient().complete([{"role": "user", "content": "Write a poem."}])
    assert reply.text.startswith("offline is no language model")


def test_a_schema_gets_the_least_json_that_it_allows():
    schema = {"type": "object", "required": ["ok", "items"],
              "properties": {"ok": {"type": "boolean"}, "items": {"type": "array"}}}  # fmt: skip
    reply = OfflineClient().complete([{"role": "user", "content": "?"}], json_schema=schema)
    assert reply.text == '{"ok": false, "items": []}'


def test_the_list_of_forms_has_an_example_for_each():
    assert 60 < len(examples()) < 150
    assert all(example for _, example in examples())
