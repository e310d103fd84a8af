"""What judge and extractor see of a run: whole queries, row counts, ends of outputs, sub-calls."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm.learning.claims import find_unseen_numbers, find_unseen_quotes
from rlm.learning.evidence import CHARS, Evidence
from rlm.learning.prompts import render_data
from rlm.loop.trace import ToolCall
from rlm.loop.types import CodeBlock, RLMIteration, SubCall
from rlm.sandbox import REPLResult

pytestmark = pytest.mark.req("PM-04")

PREFIXES = "PREFIX prov: <http://www.w3.org/ns/prov#>\nPREFIX x: <http://x.example/>\n"
QUERY = "SELECT ?x (COUNT(?y) AS ?n) WHERE { ?x a x:Ship ; x:calls ?y } GROUP BY ?x ORDER BY ?n"


def turn(number, *blocks):
    return RLMIteration(number, [], "", list(blocks))


def block(code="x = 1", stdout="", stderr="", error=None, sub_calls=()):
    return CodeBlock(code, REPLResult(stdout, stderr, {}, 0.0, error=error), list(sub_calls))


def show(*turns, calls=(), answer="3", chars=CHARS):
    return Evidence.of_run("How many?", answer, turns, calls).show(chars)


def test_a_query_is_whole_with_its_rows_and_stands_once():
    code = f'r = sparql_query("""{PREFIXES}{QUERY}""")\nprint(r)'
    calls = [ToolCall("sparql_query", {"query": PREFIXES + QUERY}, rows=90, block=1)]
    (step,) = show(turn(1, block(code, "90 rows")), calls=calls)["steps"]
    assert step["calls"] == [{"tool": "sparql_query", "query": QUERY, "rows": 90}]
    assert QUERY not in step["code"] and "[query of call 1]" in step["code"]


@pytest.mark.parametrize("said", ["a craft", 'a "craft"', "isn't a craft", 'isn\'t a "craft"'])
def test_what_stands_elsewhere_is_left_out_however_it_was_printed(said):
    rule = f"- Count what {said} of the harbour, by its comment.\n- Query `?craft`."
    literal = rule.replace("\n", " ")
    row = {"x": "harbour:Berth", "c": '"{}"@en'.format(literal.replace('"', '\\"'))}
    printed = "\n".join(map(str, (rule, [rule], row, "7 rows")))
    turns = [turn(1, block(stdout=printed))]
    (step,) = Evidence.of_run("How many?", "7", turns, known=[rule, literal]).show()["steps"]
    assert "craft" not in step["output"] and "harbour:Berth" in step["output"]
    assert step["output"].endswith("7 rows") and step["output"].count("[…]") == 3


def test_calls_stand_with_the_block_that_made_them():
    turns = [turn(1, block("a()"), block("b()")), turn(2, block("c()"))]
    calls = [
        ToolCall("f", {"n": 1}, block=2),
        ToolCall("g", {}, ok=False, error="KeyError: 7", block=3),
    ]
    first, second, third = show(*turns, calls=calls)["steps"]
    assert "calls" not in first and second["calls"] == [{"tool": "f", "arguments": "n=1"}]
    assert third["calls"] == [{"tool": "g", "error": "KeyError: 7"}]
    assert [first["turn"], second["turn"], third["turn"]] == [1, 1, 2]


def test_of_a_loop_the_first_call_is_shown_and_the_query_before_it():
    asked = [ToolCall("sparql_query", {"query": QUERY}, rows=9, block=1)]
    asked += [
        ToolCall("sparql_query", {"query": f"ASK {{ x:Ship{n} a x:Tug }}"}, rows=1, block=1)
        for n in range(30)
    ]
    asked.append(ToolCall("describe_entity", {"uri": "x:Tug"}, block=1))
    (step,) = show(turn(1, block("for s in r: ...", "")), calls=asked)["steps"]
    first, loop, last = step["calls"]
    assert first["query"] == QUERY and "calls_left_out" not in step
    assert loop["query"] == "ASK { x:Ship0 a x:Tug }" and loop["further_calls_alike"] == 29
    assert last["tool"] == "describe_entity"


def test_no_name_of_a_long_line_is_broken():
    names = [f"https://ships.example/harbour/Vessel_{n}" for n in range(300)]
    (step,) = show(turn(1, block("print(names)", " ".join(names))), answer=names[170])["steps"]
    shown = step["output"].replace("[…]", " ").split()
    assert names[170] in shown and {*shown} <= {*names}


def test_an_output_keeps_its_end_and_an_error_its_name():
    long = "begin " + "x" * 5_000 + " the end: 41"
    failed = block("y(", "", "  File \"<block 2>\"\nSyntaxError: '(' was never closed", "error")
    refused = block(
        "print(1", "", "SyntaxError: '(' was never closed (line 1)\n    print(1", "refused"
    )
    first, second, third = show(turn(1, block("print(1)", long), failed, refused))["steps"]
    assert third["error"] == "SyntaxError: '(' was never closed (line 1)"
    assert first["output"].startswith("begin") and first["output"].endswith("the end: 41")
    assert second["error"] == "SyntaxError: '(' was never closed"


def test_of_a_long_output_the_lines_behind_the_answer_stay():
    noise = [f"D{n}:{n} Maria: we went to the park again, it was nice" for n in range(400)]
    noise[170] = "D170:170 John: Laura wrote me a letter to say thank you"
    noise[240] = "D240:240 John: and then there was a note by Cindy"
    (step,) = show(
        turn(1, block("print(hits)", "\n".join(noise))), answer="Laura and Cindy wrote to him."
    )["steps"]
    assert noise[170] in step["output"] and noise[240] in step["output"]
    assert step["output"].endswith(noise[-1]) and step["output"].startswith(noise[0])


def test_sub_calls_are_shown_and_the_rest_counted():
    asked = [SubCall("llm_query", "m", f"Read part {n}", f"It says {n}") for n in range(20)]
    asked[1] = SubCall("llm_query", "m", "Read part 1", "", error="timeout")
    (step,) = show(turn(1, block("llm_query_batched(p)", "done", sub_calls=asked)))["steps"]
    shown = step["asked_of_a_sub_model"]
    assert shown[0] == {"kind": "llm_query", "asked": "Read part 0", "said": "It says 0"}
    assert shown[1]["error"] == "timeout" and step["further_sub_calls"] == 20 - len(shown)


def test_of_many_sub_calls_those_behind_the_answer_and_failed_ones_are_shown():
    asked = [
        SubCall("llm_query", "m", f"Section {n}", f"The budget of unit {n} is {n * 137} crowns")
        for n in range(10, 40)
    ]
    asked[20] = SubCall("llm_query", "m", "Section 30", "", error="overloaded")
    answer = "The budget of unit 23 is 3151 crowns."
    (step,) = show(turn(1, block("ask()", "done", sub_calls=asked)), answer=answer)["steps"]
    shown = step["asked_of_a_sub_model"]
    assert "3151" in str(shown) and "overloaded" in str(shown) and len(shown) == 5
    assert step["further_sub_calls"] == 25

    said = "words " * 300 + "\nthe budget is 3151 crowns\n" + "words " * 300
    asked = [SubCall("llm_query", "m", "q", said)]
    (step,) = show(
        *[turn(n, block("f()", "o" * 900, sub_calls=asked)) for n in range(1, 7)], answer=answer
    )["steps"][-1:]
    assert "3151" in step["asked_of_a_sub_model"][0]["said"]


texts = st.text(max_size=3_000)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(texts, texts, texts), max_size=25), texts, st.integers(3_500, 6_000))
def test_evidence_is_bounded_whatever_the_run_holds(blocks, answer, chars):
    turns = [
        turn(n, block(code, out, err, "error" if err else None))
        for n, (code, out, err) in enumerate(blocks, 1)
    ]
    calls = [
        ToolCall("sparql_query", {"query": code}, block=n)
        for n, (code, _, _) in enumerate(blocks, 1)
    ]
    found = show(*turns, calls=calls, answer=answer, chars=chars)
    assert len(render_data(found)) <= chars
    json.dumps(found)


def query_of(n):
    return f"SELECT ?x{n} WHERE {{ " + "?x a x:Ship . " * 42 + "}"


@pytest.mark.parametrize("steps", [3, 4, 5, 6, 8, 10])
@pytest.mark.parametrize("behind", [1, 3])
def test_a_query_is_whole_or_left_out_and_the_one_behind_the_answer_goes_last(steps, behind):
    turns = [
        turn(n, block(f"print(sparql_query('{query_of(n)}'))", f"row {'o' * 80}\n" * 40))
        for n in range(1, steps + 1)
    ]
    turns[behind - 1].code_blocks[0].result = REPLResult("x:Gull is longest\n" * 40)
    calls = [
        ToolCall("sparql_query", {"query": query_of(n)}, rows=7, block=n) for n in range(1, 11)
    ]
    found = show(*turns, calls=calls, answer="x:Gull")
    shown = [
        (step["turn"], call["query"]) for step in found["steps"] for call in step.get("calls", ())
    ]
    assert all(query == query_of(n) for n, query in shown)
    left_out = sum(step.get("calls_left_out", 0) for step in found["steps"])
    assert len(shown) + left_out == steps and len(shown) >= min(steps, 4)
    assert {behind, steps} <= {n for n, _ in shown}
    assert all("?x a x:Ship" not in step["code"] for step in found["steps"])
    assert 5_000 < len(render_data(found)) <= CHARS


def test_evidence_is_bounded_with_many_calls_and_sub_calls():
    asked = [SubCall("llm_query", "m", "p" * 500, "It says 33 " * 90)] * 30
    turns = [turn(n, block("f()", "o 33\n" * 900, sub_calls=asked)) for n in range(1, 26)]
    calls = [ToolCall("f", {"query": query_of(n)}, block=1 + n % 25) for n in range(500)]
    assert len(render_data(show(*turns, calls=calls, answer="33 " * 500))) <= CHARS


def test_the_latest_steps_are_shortened_last():
    turns = [turn(n, block("f()", "o" * 900)) for n in range(1, 9)]
    steps = show(*turns)["steps"]
    assert len(steps[-1]["output"]) > len(steps[0]["output"])


# -- numbers and quotations


@pytest.mark.parametrize(
    ("answer", "seen", "left"),
    [
        ("There are 42 ships.", {"41"}, ["42"]),
        ("There are 42 ships.", {"42"}, []),
        ("There are 1,234 ships.", {"1234"}, []),
        ("The mean is 58.75.", {"58.7512"}, []),
        ("The mean is 58.7.", {"58.75"}, []),
        ("About 46% of them.", {"0.4583"}, []),
        ("About 4.17 tonnes.", {"4168.4"}, []),  # kilos
        ("About 4.17 tonnes.", {"4168"}, []),
        ("4.18 tonnes, or 4.16.", {"4168"}, ["4.18", "4.16"]),
        ("A berth of 14.2 km.", {"14211"}, []),
        ("14,250 m in all.", {"14.25"}, []),
        ("68.75 % of them.", {"0.6875"}, []),
        ("1,234.50 in all.", {"123450"}, []),  # cents
        ("300 ships at 4 berths, 4.2 each.", {"3", "4168"}, ["300", "4", "4.2"]),  # by chance
        ("4.17 or 4.168.", {"4168", *map(str, range(5000, 5100))}, ["4.17"]),
        ("Ships: a, b and c. That is 3.", set(), []),
        ("- a\n- b\n- c\n- d\nThat makes 4.", set(), []),
        ("Of the 250 suppliers 227 have one.", {"250"}, ["227"]),
        ("See http://x.example/a12#34, x:A55 and `v77`.", set(), []),
        ("It was built on 2021-03-04, at 12:30.", {"2021", "4"}, []),
        ("In 1998 there were 7.", {"7"}, []),
    ],
)
def test_numbers_that_nothing_shows(answer, seen, left):
    assert find_unseen_numbers(answer, seen, "How many in 1998?") == left


def test_quotations_that_stand_nowhere():
    text = "He said that the   quick brown fox\njumps over the lazy dog, and left."
    for said in (
        "“the quick brown fox jumps over the lazy dog”",
        '"The quick brown fox … over the lazy dog"',
        'They call it "a fox".',
        'It is "a fox"; in the language of the country it is called "Fuchs", they say.',
    ):
        assert find_unseen_quotes(said, [text]) == []
    made_up = "the quick brown fox sleeps under the lazy dog"
    assert find_unseen_quotes(f'It says: "{made_up}".', [text]) == [made_up]
