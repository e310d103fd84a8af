"""Runs of the loop with a real model that is too weak for them: they end well, with a reason and a
log."""

from __future__ import annotations

import json

import pytest
from live_server import CONTEXT_TOKENS, MODEL, Brief, LiveServer

from rlm.errors import ModelUnavailable
from rlm.llm import RecordingClient, ReplayClient, ScriptedClient, open_client
from rlm.loop import Limits, RLMLogger, read_log, rlm_run

pytestmark = [pytest.mark.live, pytest.mark.req("RB-23")]

FLOCK = "Ann has three sheep.\nBob has four sheep.\nCarl has no sheep, he has a dog.\n" * 4
QUERY = "How many sheep are there?"
SHORT_PROMPT = (
    "Answer the question about the text in the variable context. Write Python in ```repl blocks."
)
THOUGHT = {
    "type": "object",
    "properties": {"thought": {"type": "string", "maxLength": 40}},
    "required": ["thought"],
    "additionalProperties": False,
}
"""Of an answer in this form no line begins with FINAL or a fence: a run of such answers has no end
of its own."""


def test_a_run_that_never_converges_is_kept_as_such(live, tmp_path):
    seen = []
    with RLMLogger(tmp_path / "logs") as logger:
        result = rlm_run(
            QUERY,
            FLOCK,
            client=Brief(live, 60, schema=THOUGHT),
            max_iters=3,
            logger=logger,
            on_step=lambda iteration: seen.append(iteration.number),
        )
    assert not result.converged
    assert result.reason == "ran out of iterations: 3 without an answer (max_iters)"
    assert result.error is None
    assert [turn.number for turn in result.iterations] == seen == [1, 2, 3]
    for turn in result.iterations:
        assert json.loads(turn.response).keys() == {"thought"}
        assert turn.final_answer is None
        assert any("no code and no final answer" in note for note in turn.notes)
        assert all("Ann has three sheep" not in message["content"] for message in turn.prompt)
    assert result.last_call is not None
    assert result.answer == result.last_call.response
    usage = result.usage.to_dict()
    assert usage["calls"] == 4
    assert usage["estimated_calls"] == 0
    assert usage["input_tokens"] > usage["output_tokens"] > 0

    metadata, lines = read_log(logger.path)
    assert metadata["root_model"] == MODEL
    assert metadata["query"] == QUERY
    assert metadata["context_size"] == len(FLOCK)
    assert metadata["ended"] == {
        "converged": False,
        "reason": result.reason,
        "iterations": 3,
        "usage": usage,
    }
    assert [line["response"] for line in lines] == [
        turn.response for turn in (*result.iterations, result.last_call)
    ]
    assert [line.get("last_call", False) for line in lines] == [False, False, False, True]


def test_a_run_left_to_the_model_ends_and_its_cassette_gives_the_same_run(live, tmp_path):
    tape = tmp_path / "run.jsonl"
    recording = RecordingClient(Brief(live, 40), tape)
    asked = {"max_iters": 2, "system_prompt": SHORT_PROMPT}
    first = rlm_run(QUERY, FLOCK, client=recording, **asked)
    recording.close()
    assert first.iterations
    assert first.reason
    assert first.converged == any(turn.final_answer is not None for turn in first.iterations)

    replay = ReplayClient(tape)
    second = rlm_run(QUERY, FLOCK, client=replay, **asked)
    assert replay.left == 0
    assert (second.answer, second.converged, second.reason) == (
        first.answer,
        first.converged,
        first.reason,
    )
    assert second.usage.to_dict() == first.usage.to_dict()
    assert [turn.prompt for turn in second.iterations] == [turn.prompt for turn in first.iterations]
    assert [turn.response for turn in second.iterations] == [
        turn.response for turn in first.iterations
    ]


def test_a_batch_comes_back_in_order_and_one_failure_does_not_lose_the_rest(live, tmp_path):
    long = "sheep " * (2 * CONTEXT_TOKENS)
    program = "\n".join(
        [
            "```repl",
            "prompts = [f'Say something about the number {n}.' for n in range(6)]",
            "prompts[2] = f'Summarise: {context[:len(context)]}'",  # more than the model can read
            "answers = llm_query_batched(prompts)",
            "print(len(answers))",
            "```",
        ]
    )
    root = ScriptedClient([program, "FINAL_VAR(answers)"])
    with RLMLogger(tmp_path) as logger:
        result = rlm_run(
            "Ask.",
            long,
            client=root,
            sub_client=Brief(live, 10),
            logger=logger,
            limits=Limits(batch_workers=4),
        )
    assert result.converged, result.reason
    block = result.iterations[0].code_blocks[0]
    assert block.result.error is None, block.result.stderr
    prompts, answers = result.ns["prompts"], result.ns["answers"]
    assert json.loads(result.answer) == answers
    said = {call.prompt: call for call in block.sub_calls}
    assert len(said) == len(answers) == 6
    for place, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        if place == 2:
            continue
        call = said[prompt]
        assert answer == call.response
        assert answer.strip()
        assert call.error is None
        assert call.model == MODEL
        assert call.input_tokens > 0
        assert 0 < call.output_tokens <= 10
    assert answers[2].startswith("[error] the model server ")
    assert f"maximum context length is {CONTEXT_TOKENS} tokens" in answers[2]
    assert [call.error is not None for call in block.sub_calls].count(True) == 1
    assert result.usage.calls == 2 + 5  # the two of the script, and those that were answered

    _, lines = read_log(logger.path)
    assert {call["prompt"] for call in lines[0]["code_blocks"][0]["result"]["rlm_calls"]} == set(
        said
    )


def test_a_server_that_is_killed_in_the_middle_ends_the_run_with_what_there_is(server, tmp_path):
    with LiveServer(tmp_path / "server.log") as doomed, RLMLogger(tmp_path) as logger:
        assert doomed.url != server.url
        client = open_client(MODEL, base_url=doomed.url)
        result = rlm_run(
            QUERY,
            FLOCK,
            client=Brief(client, 40, schema=THOUGHT),
            max_iters=3,
            system_prompt=SHORT_PROMPT,
            logger=logger,
            on_step=lambda iteration: doomed.close(),
        )
        client.close()
    assert not result.converged
    assert isinstance(result.error, ModelUnavailable)
    assert result.reason.startswith(f"the model failed: the model server {doomed.url}")
    assert len(result.iterations) == 1
    assert result.answer == result.iterations[0].response
    metadata, lines = read_log(logger.path)
    assert metadata["ended"]["converged"] is False
    assert [line["response"] for line in lines] == [result.answer]
