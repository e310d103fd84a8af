"""Each limit ends a run, with what there is kept and a reason in words."""

from __future__ import annotations

import time

import pytest
from loop_running import code, run, told

from rlm.errors import ConfigError
from rlm.llm import Reply, ScriptedClient
from rlm.loop import Limits
from rlm.loop.prompts import DROPPED, HISTORY_CHARS, History
from rlm.sandbox import SandboxLimits

KEEP = 'answer["content"] = "so far"'


class Dear(ScriptedClient):
    """Every call costs ten cents."""

    def complete(self, messages, **options):  # type: ignore[no-untyped-def]
        reply = super().complete(messages, **options)
        return Reply(reply.text, self.model, 100, 100, 0.1, "stop", 0.0)


def test_tokens():
    result, client = run([code(KEEP)] * 5, limits=Limits(max_tokens=1))
    assert len(client.calls) == 1
    assert result.answer == "so far" and not result.converged and "(max_tokens)" in result.reason


def test_cost():
    from rlm.loop import rlm_run

    client = Dear([code(KEEP)] * 5)
    result = rlm_run("What?", "a text", client=client, limits=Limits(max_cost_usd=0.25))
    assert len(client.calls) == 3
    assert result.answer == "so far" and "$0.3000 spent" in result.reason
    assert result.usage.cost_usd == pytest.approx(0.3)


def test_model_calls_count_turns_and_sub_calls():
    sub = ScriptedClient(["yes"], repeat_last=True)
    loop = code(KEEP, "for i in range(10):", "    print(i, llm_query(f'x{i}'))")
    result, client = run([loop] * 3, sub_client=sub, limits=Limits(max_llm_calls=4))
    assert len(client.calls) == 1 and len(sub.calls) == 3
    block = result.iterations[0].code_blocks[0]
    assert "ToolError" in block.result.stderr and "max_llm_calls" in block.result.stderr
    assert result.answer == "so far" and "(max_llm_calls)" in result.reason
    assert result.usage.calls == 4


def test_no_last_call_is_made_beyond_a_limit():
    result, client = run([code(KEEP)] * 3, limits=Limits(max_iters=2, max_llm_calls=2))
    assert len(client.calls) == 2 and result.last_call is None
    assert "ran out of iterations" in result.reason and result.answer == "so far"


def test_wall_time_stops_a_block_and_the_run():
    started = time.monotonic()
    result, client = run(
        [code(KEEP) + "\n" + code("while True: pass") + "\n" + code("print(1)")] * 2,
        limits=Limits(wall_s=1.5),
        sandbox=SandboxLimits(block_s=30),
    )
    assert len(client.calls) == 1
    assert [block.result.error for block in result.iterations[0].code_blocks] == [None, "timeout"]
    assert result.answer == "so far" and "ran out of time" in result.reason
    assert time.monotonic() - started < 20  # the blocks alone might take a second each, without end


def test_the_deadline_is_passed_to_the_model():
    seen = []

    class Watch(ScriptedClient):
        def complete(self, messages, **options):  # type: ignore[no-untyped-def]
            seen.append(options["timeout_s"])
            return super().complete(messages, **options)

    from rlm.loop import rlm_run

    rlm_run(
        "What?",
        "a",
        client=Watch([code("llm_query('x')"), "y", "FINAL(x)"]),
        limits=Limits(wall_s=60),
    )
    assert len(seen) == 3 and all(0 < left <= 60 for left in seen) and seen[0] > seen[-1]
    seen.clear()
    rlm_run("What?", "a", client=Watch(["FINAL(x)"]))
    assert seen == [None]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_iters": 0},
        {"max_iters": 1.5},
        {"max_iters": True},
        {"wall_s": 0},
        {"max_tokens": -1},
        {"max_cost_usd": 0.0},
        {"max_depth": -1},
        {"max_output_chars": 0},
        {"wall_s": float("nan")},
    ],
)
def test_limits_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        Limits(**wrong)


# -- what the model is shown
# -----------------------------------------------------------------------------


def test_output_is_cut_with_a_note_and_the_names_are_listed():
    result, client = run(
        [code("abc = 1", "print('x' * 5000 + 'END')"), "FINAL(x)"],
        limits=Limits(max_output_chars=1000),
    )
    shown = told(client)
    assert "[… 4003 characters cut …]" in shown and "END" in shown
    assert len(shown) < 1400
    assert "\nVariables: abc\nTurn 2 of 30." in shown
    assert result.iterations[0].code_blocks[0].result.stdout.count("x") == 5000


def test_many_blocks_share_the_room_of_a_few():
    _, client = run(
        [(code("print('x' * 1000)") + "\n") * 30, "FINAL(x)"], limits=Limits(max_output_chars=1000)
    )
    assert told(client).count("Output of block") == 30
    assert len(told(client)) < 30 * 550


def test_an_error_is_shown_beside_the_output():
    _, client = run([code("print('before')", "1 / 0"), "FINAL(x)"])
    assert "Output of block 1:\nbefore\nError in block 1 (error):\n" in told(client)
    assert "ZeroDivisionError" in told(client)


def test_more_blocks_than_allowed_are_not_run_and_told():
    result, client = run(
        ["".join(code(f"print({n})") + "\n" for n in range(9)), "FINAL(x)"],
        limits=Limits(max_blocks=3),
    )
    assert len(result.iterations[0].code_blocks) == 3
    assert "Note: The reply had 9 blocks; only the first 3 were run" in told(client)


def test_the_history_drops_old_outputs_before_it_grows_too_long():
    history = History("system", "first", budget_chars=1500)
    for number in range(10):
        history.add(f"reply {number}", f"output {number} " + "x" * 200)
    messages = history.messages()
    assert sum(len(message["content"]) for message in messages) <= 1500
    assert [message["content"] for message in messages[:2]] == ["system", "first"]
    assert messages[3]["content"].startswith(DROPPED) and "turn 1" in messages[3]["content"]
    assert messages[-1]["content"].startswith("output 9") and messages[-3]["content"].startswith(
        "output 8"
    )
    assert [message["role"] for message in messages] == [
        "system",
        *["user", "assistant"] * 10,
        "user",
    ]


def test_a_reply_of_many_megabytes_does_not_stay_in_the_prompt():
    huge = "x" * 5_000_000
    result, client = run([huge + "\n" + code("print(1)"), "FINAL(x)"])
    assert result.iterations[0].response.startswith(huge)
    assert sum(len(message["content"]) for message in client.calls[-1]) < HISTORY_CHARS
