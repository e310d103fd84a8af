"""What bad input gets: every run ends, with a trajectory that is stored and a reason that a person
understands."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from loop_running import code, completion, drop, model_server, run, send, told

from rlm.http import Retry
from rlm.llm.chat import Wire
from rlm.llm.openai import OpenAIClient
from rlm.loop import Limits, RLMLogger, RLMResult, read_log, rlm_run
from rlm.sandbox import SandboxLimits


def stored(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return read_log(next(folder.glob("*.jsonl")))


# -- replies
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("I cannot do that.", "no code and no final answer"),
        ("", "no code and no final answer"),
        ("```json\n{}\n```", "no code and no final answer"),
        ("```repl\nprint('ran')", "never closed"),
        ("```repl\nprint('ran')\n```\n" * 10_000, "only the first 50 were run"),
        ("FINAL_VAR(missing)", "there is no variable 'missing'"),
        ("\ud800\udfff\ud83d and \udcff", "no code and no final answer"),
        ("```repl\nprint('\udcff ran')\n```", "ran"),
        ("```repl\nprint('x' * 200_000_000)\n```", "199980001 characters cut"),
        ("```repl\nwhile True: pass\n```", "time of this block is over"),
        ("```repl\nprint('\x00')\n```", "block 1"),
        ("```repl\n" + "(" * 100_000 + "\n```", "Error in block 1 (refused)"),
    ],
    ids=[
        "no code", "empty", "other language", "unclosed fence", "ten thousand blocks", "missing variable", "surrogates",
        "surrogate in code", "a 200 MB print", "an endless loop", "a NUL", "deep nesting",
    ],
)  # fmt: skip
def test_odd_replies_are_told_and_stored(reply, note, tmp_path):
    limits, sandbox = Limits(max_iters=1), SandboxLimits(block_s=0.5 if "while" in reply else 20)
    with RLMLogger(tmp_path) as logger:
        result, client = run(
            [reply, "FINAL(no idea)"], limits=limits, sandbox=sandbox, logger=logger
        )
    assert note in told(client)
    assert not result.converged and result.answer == "no idea"
    metadata, iterations = stored(tmp_path)
    assert metadata["ended"]["reason"] == result.reason and "ran out of iterations" in result.reason
    assert len(iterations) == 2 and iterations[1]["last_call"]
    for message in client.calls[-1]:
        message["content"].encode("utf-8")


def test_a_worker_that_was_killed_is_replaced_and_the_context_is_there_again():
    kill = code("x = [0] * 10", "sum(range(10 ** 12))")  # a loop in C, which hears no signal
    result, client = run([kill, code("print(len(context))"), code("x"), "FINAL(1)"])
    assert result.iterations[0].code_blocks[0].result.error == "timeout"
    assert "variables are lost" in told(client, 1)
    assert "Output of block 2:\n6" in told(client, 2)
    assert "NameError" in told(client, 3)
    assert result.converged


# -- servers
# ---------------------------------------------------------------------------------------------

FAST = Wire(retry=Retry(tries=2, first_s=0.001))


def run_over_http(url: str, folder: Path, **options: Any) -> RLMResult:
    client = OpenAIClient("local", base_url=url, wire=FAST)
    try:
        with RLMLogger(folder) as logger:
            return rlm_run("What?", "a text", client=client, logger=logger, **options)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (
            lambda handler: send(handler, b"<!DOCTYPE html><html>Welcome</html>", "text/html"),
            "a web page",
        ),
        (drop, "dropped the connection"),
        (lambda handler: send(handler, b'{"choices": ['), "not JSON"),
        (lambda handler: send(handler, b'{"choices": []}'), "without a message"),
        (lambda handler: send(handler, b"\xff\xfe{}"), "not UTF-8"),
    ],
    ids=["html", "drops", "broken json", "no choices", "not utf-8"],
)
def test_a_server_that_breaks_ends_the_run_with_what_there_is(fault, words, tmp_path):
    good = completion(code('answer["content"] = "half"'))
    with model_server([lambda handler: send(handler, good), fault]) as url:
        result = run_over_http(url, tmp_path)
    assert not result.converged and result.answer == "half"
    assert words in result.reason and "the model server http://127.0.0.1" in result.reason
    metadata, iterations = stored(tmp_path)
    assert len(iterations) == 1 and words in metadata["ended"]["reason"]
    assert result.usage.input_tokens == 10


def test_a_server_that_hangs_ends_at_the_deadline(tmp_path):
    released = threading.Event()
    good = completion(code('answer["content"] = "half"'))
    try:
        with model_server(
            [lambda handler: send(handler, good), lambda _: released.wait(30) and None]
        ) as url:
            result = run_over_http(url, tmp_path, limits=Limits(wall_s=1.0))
            released.set()
    finally:
        released.set()
    assert not result.converged and result.answer == "half"
    assert "ran out of time" in result.reason
    assert stored(tmp_path)[0]["ended"]["converged"] is False


def test_a_dropped_connection_is_tried_again(tmp_path):
    answers = [drop, lambda handler: send(handler, completion("FINAL(42)"))]
    with model_server(answers) as url:
        assert run_over_http(url, tmp_path).answer == "42"
