"""Prompts carry handles, never payloads: every prompt of a run is read for characters of the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_running import code, run

from rlm.handles import Store
from rlm.llm import ScriptedClient
from rlm.loop import Limits, RLMLogger
from rlm.loop.prompts import first_message
from rlm.loop.values import place_context

CANARY = "zebra-7f3a"


@pytest.mark.req("UT-01")
def test_the_payload_never_reaches_a_prompt(tmp_path):
    text = f"{CANARY} at the start\n" + f"line with {CANARY}\n" * 20_000 + f"{CANARY} at the end"
    replies = [
        code("print(context, len(context))", "print([context], {'c': context})", "print(context.splitlines())"),
        code("v = context[0:30000]", "print(v, repr(v))", "x = context[5:15000]", "SHOW_VARS()", "y = x"),
        code("print(SHOW_VARS())", "s = llm_query(f'Sum up: {v}')", "print(s)", "raise ValueError('no')"),
        "FINAL_VAR(nothing)",
        "no code",
        code("print(rlm_query('sub', v))"),
        "still nothing",
    ]  # fmt: skip
    sub = ScriptedClient(["a summary", code("print(context)"), "FINAL(done)"])
    with RLMLogger(tmp_path) as logger:
        result, client = run(
            replies, context=text, sub_client=sub, logger=logger, limits=Limits(max_iters=6)
        )
    assert len(client.calls) == 7 and len(result.iterations) == 6
    for number, prompt in enumerate(client.calls, 1):
        assert CANARY not in str(prompt), f"the prompt of call {number} holds the text"
    assert CANARY not in str(sub.calls[1:]), "the prompt of the recursive run holds the text"
    assert CANARY in sub.calls[0][0]["content"], (
        "a sub-call must read the passage that it was given"
    )
    assert CANARY not in logger.path.read_text("utf-8")


@pytest.mark.req("UT-01")
def test_only_what_was_printed_reaches_the_prompt():
    _, client = run(
        [code(f"print(context.count({CANARY!r}), context[:5])"), "FINAL(x)"],
        context=f"{CANARY} " * 9_000,
    )
    assert CANARY not in client.calls[-1][-1]["content"]
    assert "Output of block 1:\n9000 zebra\n" in client.calls[-1][-1]["content"]


@settings(max_examples=50)
@given(
    st.one_of(st.text(), st.lists(st.text(), max_size=9), st.dictionaries(st.just("k"), st.text()))
)
def test_the_first_message_depends_on_names_and_sizes_alone(context):
    def masked(value):
        return "x" * len(value) if isinstance(value, str) else value

    if isinstance(context, list):
        other = [masked(part) for part in context]
    elif isinstance(context, dict):
        other = {name: masked(part) for name, part in context.items()}
    else:
        other = masked(context)
    with Store() as one, Store() as two:
        shown, hidden = (
            first_message("What?", place_context(s, c)[1])
            for s, c in ((one, context), (two, other))
        )
    assert re.sub(r"\d+ lines", "", shown) == re.sub(r"\d+ lines", "", hidden)


def test_the_first_message_has_its_markers():
    with Store() as store:
        _, card = place_context(store, "a\nb\n")
        assert first_message("Which\none?", card).startswith(
            "Question: Which\n  one?\nContext: context_0 (4 characters, 2 lines)\n"
        )
        _, card = place_context(store, {"x": "abc", "y": "d"})
        assert (
            "Context: context (4 characters, 2 lines) in 2 texts, a dict\n- context['x']: context_1"
            " (3 characters)" in (first_message("Which?", card))
        )
        _, card = place_context(store, ["t"] * 1000)
        assert "- … and 995 more" in first_message("Which?", card)
        assert len(first_message("Which?", card)) < 600


def test_a_long_question_is_behind_a_handle():
    result, client = run([code("FINAL(len(question))")], query="why " * 5_000)
    assert result.answer == "19999" or result.answer == "20000"
    assert len(client.calls[0][1]["content"]) < 5_000
    assert "`question`" in client.calls[0][1]["content"]


def test_the_prompt_that_a_run_begins_with_is_measured():
    result, client = run(["FINAL(x)"], guidance="## Relevant Prior Experience\nCount first.")
    told = "## Relevant Prior Experience\nCount first." + client.calls[0][1]["content"]
    assert result.leakage["context_size"] == len(told), "our own instructions are no context"
    assert client.calls[0][0]["content"].endswith("Count first.")
    result, client = run(["FINAL(x)"], system_prompt="Only this.")
    assert client.calls[0][0]["content"] == "Only this."


def test_what_the_sandbox_read_is_metered():
    result, _ = run(
        [code("a = context[0:1500]", "b = context.count('x')") + "\nFINAL(x)"], context="x" * 30_000
    )
    assert result.leakage["total_chars_returned"] == 1500
    assert result.leakage["by_tool"]["text.read"] == {"calls": 1, "chars": 1500}
    assert result.leakage["flags"] == []


@pytest.mark.parametrize("engine", ["process", "monty"])
@pytest.mark.parametrize(
    ("code_line", "shown"),
    [
        ("a = part + 'x'; print(a.count('TLM'), 'TLM' in a, 'GO' not in a, len(a))", "3750 True True 30001"),
        ("a = f'head {part}'; print(len(a), a[:10], len(a.splitlines()))", "30005 head TLM 0 3750"),
        ("import re; print(len(re.findall('TLM', 'head ' + part)))", "3750"),
        ("a = '%s' % part; print(len(a), sum(1 for x in a if x == 'T'))", "30000 3750"),
        ("a = str(part); a += 'zz'; print(len(a), a[-4:-3])", "30002 9"),
        ("a = ''.join([part, context[30000:60000]]); print(len(a), a.count('TLM'))", "60000 7500"),
        ("a = '{} {}'.format(part, 1).strip(); print(len(a), a.count('TLM'))", "30002 3750"),
        ("a = f'{part}'; print(len(list(a)), len(set(a)), len(list(enumerate(a))), a[:0] == '')", "30000 15 30000 True"),
        ("from collections import Counter; print(Counter(f'{part}')['T'], part == f'{part}')", "3750 True"),
        ("a = f'{part.lower()}'; print(len(a), a.count('tlm'))", "30000 3750"),
        ("a = f'x{part}'; h = f'{part}'; print(h in a, h not in a, part in a, a.find(h), len(a.replace(h, '')))", "True False True 1 1"),
        ("a = '-'.join(f'{part}'); print(len(a), a[:7])", "59999 T-L-M-"),
        ("a = f'x{part}'; h = f'{part}'; print(a.count(h), len(a.split(h)), a.endswith(part), h in [h])", "1 2 True True"),
        ("import json; print(len(json.dumps([part])), len(json.loads(json.dumps(str(part)))))", "33754 30000"),
    ],
)  # fmt: skip
def test_a_text_that_is_joined_from_long_slices_is_searched_and_counted(engine, code_line, shown):
    text = "".join(f"TLM {n % 10:03}\n" for n in range(9_000))
    replies = [code(f"part = context[0:30000]\n{code_line}"), "FINAL(x)"]
    result, _ = run(replies, context=text, engine=engine)
    block = result.iterations[0].code_blocks[0].result
    assert (block.stderr, block.stdout.strip()) == ("", shown)


@pytest.mark.parametrize(
    "code_line",
    [
        "import io, csv; print(len(list(csv.reader(io.StringIO(str(context))))))",
        "import io; print(len(io.StringIO(context).readlines()))",
        "import textwrap; print(len(textwrap.indent(context, '').splitlines()))",
    ],
)
def test_functions_that_need_all_of_a_text_take_it(code_line):
    result, _ = run([code(code_line), "FINAL(x)"], context="TLM 1\n" * 9_000)
    assert result.iterations[0].code_blocks[0].result.stdout == "9000\n"


def test_too_much_text_joined_says_what_to_do():
    replies = [code("a = 'x' + context", "print(len(a))", "a.count('T')"), "FINAL(x)"]
    result, _ = run(replies, context="TLM 1\n" * 900_000)
    block = result.iterations[0].code_blocks[0].result
    assert block.stdout == "5400001\n" and "search and count in the slices" in block.stderr


@pytest.mark.parametrize("first", ["", "a = f'{context}'; len(a)"])
def test_a_loop_over_a_long_string_looks_for_marks_once(first):
    loop = "n = 0\nfor i in range(200_000):\n    n += t[i] == 'T' and i < len(t)\nprint(n)"
    lines = [first, "t = (context.replace('GO', '€') + '€') * 10", loop]
    result, _ = run([code(*lines), "FINAL(x)"], context="TLM 1 GO" * 10_000)
    block = result.iterations[0].code_blocks[0].result
    assert (block.error, block.stdout) == (None, "28572\n")
