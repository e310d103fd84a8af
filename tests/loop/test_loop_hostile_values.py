"""Values made to hurt the host: it keeps its memory and its temper."""

from __future__ import annotations

import pytest

from rlm.errors import ConfigError
from rlm.handles import Store
from rlm.llm import ScriptedClient
from rlm.loop import Limits, rlm_run
from rlm.loop.queries import NOTED_CHARS
from rlm.loop.values import ANSWER_CHARS, as_text, resolve

TEXT = "abcdefghij" * 20_000


def run(*blocks, **words):
    client = ScriptedClient(
        [f"```repl\n{block}\n```" for block in blocks] + ["FINAL(end)"], repeat_last=True
    )
    return rlm_run("q", TEXT, client=client, **words)


def test_a_thousand_handles_to_one_text_are_one_text():
    result = run("FINAL([context] * 4000)")
    assert result.converged and len(result.answer) < 2 * ANSWER_CHARS


def test_all_parts_of_an_answer_share_its_room():
    with Store() as store:
        ref = store.put(TEXT)
        made = resolve(store, {"a": [ref] * 50, "b": "x" * 10}, limit=1_000)
        assert len(str(made)) < 1_500
        assert len(as_text(store, [ref] * 1_000, limit=5_000)) < 6_000
        assert resolve(store, {"a": [1, None, {"b": "x"}]}) == {"a": [1, None, {"b": "x"}]}


def test_a_made_up_handle_is_no_answer_and_no_fault():
    result = run('FINAL({"$ref": 1})', "SUBMIT(answer=context[0:150000])")
    assert result.answer.startswith('{"$ref": 1}')
    forged = rlm_run(
        "q",
        "short",
        client=ScriptedClient(["```repl\nSUBMIT(answer=ctx)\n```", "FINAL(end)"]),
        ns={"ctx": "x"},
    )
    assert forged.converged


def test_long_prompts_are_not_kept_whole():
    sub = ScriptedClient(["ok"], repeat_last=True)
    result = run("llm_query('x' * 3_000_000)", sub_client=sub)
    (call,) = result.iterations[0].code_blocks[0].sub_calls
    assert len(call.prompt) == NOTED_CHARS and len(sub.calls[0][0]["content"]) == 3_000_000


def test_refused_prompts_do_not_pile_up():
    code = (
        "for i in range(3000):\n    try:\n        llm_query(str(i) * 50)\n    except Exception:\n  "
        "      pass"
    )
    result = run(code, limits=Limits(max_llm_calls=2))
    assert len(result.iterations[0].code_blocks[0].sub_calls) <= 1_000


def test_numbers_that_json_has_not_are_answers():
    assert run("FINAL(float('inf'))").answer == "inf"
    assert run("FINAL(2 ** 200)").answer == str(2**200)
    assert run("best = float('nan')\nFINAL('x')").ns["best"] == "nan"


def test_what_rlm_run_does_not_take_is_told():
    with pytest.raises(TypeError, match=r"bogus"):
        run("pass", bogus=1)
    with pytest.raises(ConfigError, match=r"client is a str: make one with open_client"):
        rlm_run("q", "c", client="offline")
    with pytest.raises(TypeError, match="replies is one text"):
        ScriptedClient("FINAL(hi)")


def test_a_result_is_short_to_look_at():
    assert len(repr(run("print(context[:5000])"))) < 2_000
