"""Asking models from the REPL: one, many at once, and runs within runs."""

from __future__ import annotations

import json
import re
import threading

import pytest
from loop_running import code, run, told

from rlm.errors import ModelUnavailable
from rlm.llm import ScriptedClient
from rlm.loop import Limits

LONG = "".join(f"line {n:05d}\n" for n in range(10_000))


def test_a_sub_model_gets_its_prompt_and_the_answer_comes_back():
    sub = ScriptedClient(["blue"])
    result, client = run([code("FINAL(llm_query('What colour?'))")], sub_client=sub)
    assert result.answer == "blue"
    assert sub.calls == [[{"role": "user", "content": "What colour?"}]]
    call = result.iterations[0].code_blocks[0].sub_calls[0]
    assert (call.kind, call.prompt, call.response, call.error) == (
        "llm_query",
        "What colour?",
        "blue",
        None,
    )
    assert result.usage.calls == 2 and len(client.calls) == 1


def test_without_a_sub_client_the_model_itself_is_asked():
    result, client = run([code("FINAL(llm_query('x'))"), "yes"])
    assert result.answer == "yes" and len(client.calls) == 2


def test_views_in_a_prompt_are_read_by_the_sub_model_only():
    sub = ScriptedClient(["ok"], repeat_last=True)
    lines = [
        "v = context[0:50000]",
        "print(v)",
        "llm_query(f'Read: {v}')",
        "llm_query(v)",
        "llm_query(context)",
    ]
    result, client = run([code(*lines) + "\nFINAL(x)"], context=LONG, sub_client=sub)
    prompts = [call[0]["content"] for call in sub.calls]
    assert prompts == ["Read: " + LONG[:50_000], LONG[:50_000], LONG]
    assert "line 00001" not in str(client.calls)
    shown = [call.prompt for call in result.iterations[0].code_blocks[0].sub_calls]
    assert re.fullmatch("Read: \u27e6context_0:0:50000:[0-9a-f]{12}\u27e7", shown[0])


def test_a_failed_call_is_an_error_in_the_code_that_made_it():
    sub = ScriptedClient([ModelUnavailable("the server is gone")])
    result, _ = run(
        [code("try:", "    llm_query('x')", "except Exception as e:", "    FINAL(str(e))")],
        sub_client=sub,
    )
    assert result.answer == "the server is gone"
    assert result.iterations[0].code_blocks[0].sub_calls[0].error == "the server is gone"


def test_a_batch_keeps_its_order_and_one_failure_does_not_lose_the_rest():
    def reply(messages: list[dict[str, str]]) -> str:
        number = int(messages[0]["content"])
        if number == 3:
            raise ModelUnavailable("three is gone")
        return f"answer {number}"

    sub = ScriptedClient([reply], repeat_last=True)
    result, _ = run(
        [code("FINAL(llm_query_batched([str(n) for n in range(20)] + ['']))")], sub_client=sub
    )
    answers = json.loads(result.answer)
    assert answers[:3] == ["answer 0", "answer 1", "answer 2"] and answers[4:20] == [
        f"answer {n}" for n in range(4, 20)
    ]
    assert answers[3] == "[error] three is gone"
    assert answers[20].startswith("[error] ") and "empty" in answers[20]
    assert result.usage.calls == 20  # one turn and nineteen that answered


def test_a_batch_really_is_concurrent():
    together = threading.Barrier(4)

    def reply(_: object) -> str:
        together.wait(timeout=20)  # every call waits until four are under way
        return "ok"

    sub = ScriptedClient([reply], repeat_last=True)
    result, _ = run(
        [code("FINAL(llm_query_batched([f'x{n}' for n in range(8)]))")],
        sub_client=sub,
        limits=Limits(batch_workers=4),
    )
    assert json.loads(result.answer) == ["ok"] * 8


def test_a_batch_stops_at_the_limit_of_calls():
    sub = ScriptedClient(["ok"], repeat_last=True)
    result, _ = run(
        [code("FINAL(llm_query_batched([f'x{n}' for n in range(9)]))")],
        sub_client=sub,
        limits=Limits(max_llm_calls=5),
    )
    answers = json.loads(result.answer)
    assert len(sub.calls) == 4 and answers.count("ok") == 4
    assert sum("max_llm_calls" in answer for answer in answers) == 5


def sub_calls(result):
    return [call for turn in result.iterations for b in turn.code_blocks for call in b.sub_calls]


def test_an_equal_prompt_is_asked_once_in_a_run_and_the_second_time_costs_nothing():
    sub = ScriptedClient(["blue", "red"])
    asks = "print(llm_query('What colour?'))"
    result, client = run([code(asks), code(asks), "FINAL(x)"], sub_client=sub)
    assert len(sub.calls) == 1 and "blue" in told(client)
    first, again = sub_calls(result)
    assert (first.remembered, again.remembered) == (False, True)
    assert again.response == first.response == "blue"
    assert first.input_tokens > 0 and (again.input_tokens, again.output_tokens) == (0, 0)
    assert result.usage.calls == 4  # three turns and one sub-call


def test_the_same_passage_under_another_view_is_the_same_prompt():
    sub = ScriptedClient(["ok"], repeat_last=True)
    lines = ["llm_query(context[0:50000])", "llm_query(context[:50000])", "llm_query(context[1:9])"]
    run([code(*lines), "FINAL(x)"], context=LONG, sub_client=sub)
    assert [call[0]["content"] for call in sub.calls] == [LONG[:50_000], LONG[1:9]]


def test_equal_prompts_of_one_batch_share_a_call_and_its_error():
    def reply(messages: list[dict[str, str]]) -> str:
        if messages[0]["content"] == "b":
            raise ModelUnavailable("b is gone")
        return messages[0]["content"].upper()

    sub = ScriptedClient([reply], repeat_last=True)
    result, _ = run([code("FINAL(llm_query_batched(['a', 'b', 'a', 'c'] * 5))")], sub_client=sub)
    assert json.loads(result.answer) == ["A", "[error] b is gone", "A", "C"] * 5
    asked = [call[0]["content"] for call in sub.calls]
    assert (asked.count("a"), asked.count("c")) == (1, 1)
    assert sum(call.remembered for call in sub_calls(result)) == 13


def test_an_error_is_not_remembered():
    sub = ScriptedClient([ModelUnavailable("gone"), "back"])
    result, _ = run(
        [code("print(llm_query_batched(['x']))"), code("FINAL(llm_query('x'))")], sub_client=sub
    )
    assert result.answer == "back" and len(sub.calls) == 2


def test_recursive_runs_share_what_was_answered():
    sub = ScriptedClient([code("FINAL(llm_query('deep'))"), "found"])
    result, _ = run([code("a = rlm_query('q')", "FINAL([a, llm_query('deep')])")], sub_client=sub)
    assert json.loads(result.answer) == ["found", "found"] and len(sub.calls) == 2


def test_the_cache_can_be_turned_off():
    sub = ScriptedClient(["heads", "tails"])
    result, _ = run(
        [code("FINAL([llm_query('toss'), llm_query('toss')])")],
        sub_client=sub,
        cache_queries=False,
    )
    assert json.loads(result.answer) == ["heads", "tails"]
    assert not any(call.remembered for call in sub_calls(result))


def test_what_was_asked_before_is_answered_although_no_call_is_left():
    sub = ScriptedClient(["blue"])
    result, _ = run(
        [code("a = llm_query('x')", "FINAL([a, llm_query('x')])")],
        sub_client=sub,
        limits=Limits(max_llm_calls=2),
    )
    assert json.loads(result.answer) == ["blue", "blue"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("llm_query(5)", "must be text, not int"),
        ("llm_query('  ')", "is empty"),
        ("llm_query('x', model='other')", "no model 'other'"),
        ("llm_query('x', 'a passage\\n' * 400)", "the passage belongs into it"),
        ("llm_query('x', context)", "the passage belongs into it"),
        ("llm_query_batched(['x'], 'a passage')", "the passage belongs into it"),
        ("llm_query('x', ['a passage', 'another'])", "the passage belongs into it"),
        ("llm_query('x', 5)", "the passage belongs into it"),
        ("llm_query_batched('one')", "a list of prompts"),
        ("SUBMIT()", "at least one field"),
        ("rlm_query('x', [1])", "int"),
    ],
)
def test_wrong_arguments_are_told(call, message):
    _, client = run([code(call), "FINAL(x)"])
    assert message in told(client) and len(told(client)) < 600


def test_a_fault_of_a_client_is_masked_in_the_sandbox():
    def broken(_: object) -> str:
        raise RuntimeError("/secret/path")

    _, client = run(
        [code("llm_query_batched(['x', 'y'])"), "FINAL(x)"],
        sub_client=ScriptedClient([broken], repeat_last=True),
    )
    assert "llm_query_batched failed inside (RuntimeError)" in told(client)
    assert "/secret" not in told(client)


# -- recursion
# -------------------------------------------------------------------------------------------


def test_a_run_within_a_run_has_its_own_repl_and_answers():
    sub = ScriptedClient([code("n = context.count('line 0000')", "print(n)"), "FINAL_VAR(n)"])
    result, client = run(
        [code("n = 'mine'", "x = rlm_query('How many?', context[0:25000])", "FINAL([x, n])")],
        context=LONG,
        sub_client=sub,
    )
    assert json.loads(result.answer) == ["10", "mine"]
    assert (
        "Question: How many?\nContext: context_0 (25000 characters," in sub.calls[0][1]["content"]
    )
    assert result.usage.calls == 3 and len(client.calls) == 1
    call = result.iterations[0].code_blocks[0].sub_calls[-1]
    assert (call.kind, call.response) == ("rlm_query", "10")
    assert result.leakage["context_size"] == len(client.calls[0][1]["content"])


def test_without_a_context_the_helper_works_on_the_same_text():
    sub = ScriptedClient([code("FINAL(len(context))")])
    assert run([code("FINAL(rlm_query('How long?'))")], context=LONG, sub_client=sub)[
        0
    ].answer == str(len(LONG))


def test_beyond_the_deepest_level_a_plain_call_answers_with_a_note():
    sub = ScriptedClient([code("FINAL(rlm_query('deeper', 'the text'))"), "plain"])
    result, _ = run(
        [code("FINAL(rlm_query('deep', context))")], sub_client=sub, limits=Limits(max_depth=1)
    )
    assert result.answer.startswith("[note] ") and result.answer.endswith("plain")
    assert sub.calls[1] == [{"role": "user", "content": "deeper\n\nText:\nthe text"}]
    sub = ScriptedClient(["plain"])
    result, _ = run(
        [code("FINAL(rlm_query('deep', context))")], sub_client=sub, limits=Limits(max_depth=0)
    )
    assert "deepest level" in result.answer and len(sub.calls) == 1


def test_two_levels_deep():
    sub = ScriptedClient(
        [code("FINAL('1' + rlm_query('b', context))"), code("FINAL('2' + context)")]
    )
    result, _ = run(
        [code("FINAL('0' + rlm_query('a', context))")], sub_client=sub, limits=Limits(max_depth=2)
    )
    assert result.answer == "012a text"


def test_a_helper_that_does_not_finish_says_so_and_shares_the_budget():
    sub = ScriptedClient([code("print(1)")], repeat_last=True)
    result, _ = run(
        [code("FINAL(rlm_query('x', context))")] * 2, sub_client=sub, limits=Limits(max_llm_calls=4)
    )
    assert len(sub.calls) == 3
    assert result.answer.startswith("[note] the helper did not finish: ran out of model calls")
