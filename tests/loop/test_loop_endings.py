"""Every way in which a run can end, and what is kept then."""

from __future__ import annotations

import pytest
from loop_running import code, run, told

from rlm.errors import ConfigError, ModelAuthError, ModelUnavailable
from rlm.handles import Store
from rlm.llm import ScriptedClient
from rlm.loop import Limits, rlm_run


@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        (["FINAL(42)"], "42"),
        ([code("x = 6 * 7"), "FINAL_VAR(x)"], "42"),
        ([code("x = 6 * 7") + "\nFINAL_VAR(x)"], "42"),
        ([code("print(1)") + "\nFINAL(42)"], "42"),
        ([code("FINAL(6 * 7)")], "42"),
        ([code("x = 42", "FINAL_VAR('x')")], "42"),
        ([code("x = 'the_answer'", "FINAL_VAR(x)")], "the_answer"),
        ([code("x = 'two words'", "FINAL_VAR(x)")], "two words"),
        ([code('answer["content"] = "42"'), code('answer["ready"] = True')], "42"),
        ([code('answer = {"content": 42, "ready": True}')], "42"),
        ([code('answer["content"] = "42"'), "FINAL_VAR(answer)"], "42"),
        ([code("SUBMIT(answer='42', sparql='SELECT')")], "42"),
        ([code("SUBMIT('42')")], "42"),
        ([code("SUBMIT(a=1, b=[2])")], '{"a": 1, "b": [2]}'),
        ([code("FINAL(['a', {'b': None}])")], '["a", {"b": null}]'),
        ([code("FINAL(context)")], "a text"),
        ([code("x = context[2:]"), "FINAL_VAR(x)"], "text"),
        (["```python\nFINAL(42)\n```"], "42"),
        ([code("FINAL('a')", "1 / 0")], "a"),
    ],
)
def test_a_run_that_converges(replies, answer):
    result, client = run(replies)
    assert result.answer == answer
    assert result.converged and result.reason == f"answered in turn {len(replies)}"
    assert len(result.iterations) == len(client.calls) == len(replies)
    assert result.iterations[-1].final_answer == answer
    assert all(iteration.final_answer is None for iteration in result.iterations[:-1])


def test_submitted_fields_are_kept():
    result, _ = run([code("SUBMIT(answer=context, sparql='SELECT', rows=[1, 2])")])
    assert result.submitted == {"answer": "a text", "sparql": "SELECT", "rows": [1, 2]}
    assert run(["FINAL(x)"])[0].submitted is None


def test_a_long_view_as_the_answer_is_text_and_bounded():
    text = "0123456789" * 20_000
    result, _ = run([code("x = context[10:60010]"), "FINAL_VAR(x)"], context=text)
    assert result.answer == text[10:60_010]
    result, _ = run([code("FINAL(context)")], context=text)
    assert result.answer.startswith(text[:100_000]) and result.answer.endswith(
        "[… 100000 more characters …]"
    )
    result, _ = run([code("FINAL('ex:Car\\n' * 20_000)")])
    assert result.answer.endswith("\nex:Car\n[… 40006 more characters …]")  # no half of a name
    result, _ = run([code("FINAL(f'see: {context[:30000]}')")], context=text)
    assert result.answer == "see: " + text[:30_000]


def test_the_blocks_after_an_answer_are_not_run():
    result, _ = run([code("FINAL(1)") + "\n" + code("print(2)")])
    assert [block.code for block in result.iterations[0].code_blocks] == ["FINAL(1)"]


def test_the_result_unpacks_into_answer_iterations_and_namespace():
    result, _ = run([code("n = 3", "def f(): pass") + "\nFINAL(x)"], ns={"given": [1, {"a": None}]})
    answer, iterations, ns = result
    assert answer == "x" and iterations is result.iterations
    assert ns["n"] == 3 and ns["given"] == [1, {"a": None}]
    assert ns["context"] == "Ref('context_0', context, 6 chars)"
    assert isinstance(ns["f"], str)


# -- ends without an answer
# ------------------------------------------------------------------------------


def test_out_of_iterations_one_last_call_asks_for_the_answer():
    result, client = run(
        [code("x = 1"), code("x = 2"), "FINAL(perhaps 2)"], limits=Limits(max_iters=2)
    )
    assert result.answer == "perhaps 2" and not result.converged
    assert "ran out of iterations" in result.reason
    assert len(result.iterations) == 2 and len(client.calls) == 3
    assert "This is the last turn." in told(client) and "This is the last turn." not in told(
        client, 1
    )
    assert result.last_call is not None and result.last_call.final_answer == "perhaps 2"


def test_the_last_call_may_name_a_variable_or_just_say_it():
    assert run([code("x = 5"), "FINAL_VAR(x)"], max_iters=1)[0].answer == "5"
    assert run([code("x = 5"), "It is five."], max_iters=1)[0].answer == "It is five."


def test_what_answer_held_is_kept_when_the_last_call_fails():
    result, _ = run([code('answer["content"] = "so far"'), ModelUnavailable("gone")], max_iters=1)
    assert result.answer == "so far" and not result.converged
    assert "the last call failed: gone" in result.reason


def test_a_model_that_fails_ends_the_run_with_what_there_is():
    result, _ = run([code('answer["content"] = "half"'), ModelUnavailable("the server is gone")])
    assert result.answer == "half" and not result.converged
    assert result.reason == "the model failed: the server is gone"
    assert isinstance(result.error, ModelUnavailable) and len(result.iterations) == 1


def test_a_key_that_is_refused_at_once_raises_and_later_does_not():
    with pytest.raises(ModelAuthError):
        run([ModelAuthError("no")])
    result, _ = run([code("1"), ModelAuthError("no more")])
    assert result.reason == "the model failed: no more"


def test_turns_without_code_are_told_so_and_end_the_run():
    result, client = run(["I think it is blue."] * 3, limits=Limits(max_errors=3))
    assert "no code and no final answer" in told(client, 1)
    assert result.answer == "I think it is blue." and not result.converged
    assert "max_errors" in result.reason and len(result.iterations) == 3


def test_one_turn_that_works_forgives_the_errors_before():
    bad, good = code("1 / 0"), code("print(1)")
    result, _ = run([bad, bad, good, bad, bad, "FINAL(1)"], limits=Limits(max_errors=3))
    assert result.converged
    result, _ = run([bad, bad, bad], limits=Limits(max_errors=3))
    assert not result.converged and "max_errors" in result.reason


def test_a_missing_variable_is_told_and_the_run_goes_on():
    result, client = run(
        [
            "FINAL_VAR(nothing)",
            code("FINAL_VAR('nothing')"),
            code("nothing = 1"),
            "FINAL_VAR(nothing)",
        ]
    )
    for call in (1, 2):
        assert "there is no variable 'nothing'" in told(client, call)
        assert "context" in told(client, call)
    assert result.answer == "1" and result.converged


def test_a_final_var_that_is_no_name_is_told():
    _, client = run(["FINAL_VAR(a + b)", "FINAL(1)"])
    assert "that is no name of a variable" in told(client)


# -- interruption
# ----------------------------------------------------------------------------------------


def interrupt(_: object) -> str:
    raise KeyboardInterrupt


def test_ctrl_c_while_the_model_thinks_keeps_what_there_is():
    result, _ = run([code('answer["content"] = "half"', "x = 1"), interrupt])
    assert result.interrupted and result.reason == "interrupted" and not result.converged
    assert result.answer == "half" and len(result.iterations) == 1
    assert result.ns["x"] == "1"


def test_ctrl_c_in_a_block_keeps_the_turn_as_far_as_it_came():
    reply = code("print('one')") + "\n" + code("llm_query('x')")
    result, _ = run([reply], sub_client=ScriptedClient([interrupt]))
    assert result.interrupted and len(result.iterations) == 1
    assert [block.result.stdout for block in result.iterations[0].code_blocks] == ["one\n"]


def test_ctrl_c_in_a_recursive_run_ends_the_whole_run():
    result, _ = run([code("rlm_query('x', context)")], sub_client=ScriptedClient([interrupt]))
    assert result.interrupted


def test_ctrl_c_in_the_callback_ends_the_run():
    result, client = run([code("1")] * 5, on_step=interrupt)
    assert result.interrupted and len(client.calls) == 1


# -- callbacks and arguments
# -----------------------------------------------------------------------------


def test_every_step_is_told_and_what_the_callback_raises_is_ours():
    seen = []
    run(
        [code("1"), "FINAL(x)"],
        on_step=lambda iteration: seen.append((iteration.number, iteration.final_answer)),
    )
    assert seen == [(1, None), (2, "x")]

    def refuse(_: object) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        run([code("1"), "FINAL(x)"], on_step=refuse)


@pytest.mark.parametrize(
    ("context", "lines", "expected"),
    [
        ("one text", ["print(context)"], "one text"),
        (b"bytes \xff\x00", ["print(context)"], "bytes \ufffd\x00"),
        (["a", "bb"], ["print(len(context), context[1])"], "2 bb"),
        ({"x": "a", "y": "bb"}, ["print(sorted(context), context['y'])"], "['x', 'y'] bb"),
        ("", ["print(len(context))"], "0"),
    ],
)
def test_kinds_of_context(context, lines, expected):
    result, _ = run([code(*lines) + "\nFINAL(x)"], context=context)
    assert result.iterations[0].code_blocks[0].result.stdout.strip() == expected


def test_a_handle_can_be_the_context_and_stays_in_its_store():
    with Store() as store:
        ref = store.put("x" * 30_000, "report")
        result, client = run([code("print(len(context))") + "\nFINAL(x)"], context=ref, store=store)
        assert "Context: report_0 (30000 characters, 1 lines)" in told(client)
        assert result.iterations[0].code_blocks[0].result.stdout == "30000\n"
        assert store.size(ref) == 30_000


def test_tools_and_variables_are_there_and_their_names_are_checked():
    def shout(text: str) -> str:
        """Say it loudly."""
        return text.upper()

    result, client = run([code("FINAL(shout(given))")], tools={"shout": shout}, ns={"given": "hey"})
    assert result.answer == "HEY"
    assert "- `shout(text)`: Say it loudly." in client.calls[0][0]["content"]
    with pytest.raises(ConfigError, match="FINAL"):
        run(["FINAL(x)"], tools={"FINAL": shout})
    with pytest.raises(ConfigError, match="context"):
        run(["FINAL(x)"], ns={"context": 1})


def test_a_context_of_another_kind_is_refused():
    with pytest.raises(ConfigError, match="int"):
        rlm_run("What?", 5, client=ScriptedClient([]))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="NoneType"):
        run(["FINAL(x)"], context=["a", None])
