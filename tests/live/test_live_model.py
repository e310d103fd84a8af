"""The OpenAI-compatible client against a real model: text, tokens, JSON, limits, and what goes
wrong."""

from __future__ import annotations

import json

import httpx
import pytest
from live_server import CALL_S, CONTEXT_TOKENS, MODEL, free_port

from rlm.errors import CassetteDiverged, ModelError, ModelUnavailable
from rlm.llm import RecordingClient, ReplayClient, open_client

pytestmark = [pytest.mark.live, pytest.mark.req("RB-23")]

GREET = [
    {"role": "system", "content": "You are a friendly helper."},
    {"role": "user", "content": "Say hello to Ann."},
]
COUNT = [{"role": "user", "content": "Count from one to one hundred, in words."}]


def test_a_completion_has_text_and_the_tokens_that_the_server_counted(live, server):
    reply = live.complete(GREET, max_tokens=24, temperature=0.0, timeout_s=CALL_S)
    assert reply.text.strip()
    assert reply.model == MODEL
    assert not reply.estimated
    assert reply.input_tokens > 0
    assert 0 < reply.output_tokens <= 24
    assert reply.cost_usd is None
    assert reply.seconds > 0

    body = {"messages": GREET, "max_tokens": 1}
    found = httpx.post(
        f"{server.url}/chat/completions", json=body, timeout=CALL_S, trust_env=False
    ).json()
    assert reply.input_tokens == found["usage"]["prompt_tokens"]


def test_the_token_limit_holds(live):
    reply = live.complete(COUNT, max_tokens=6, temperature=0.0, timeout_s=CALL_S)
    assert reply.stop_reason == "length"
    assert 0 < reply.output_tokens <= 6
    assert len(live.complete(COUNT, max_tokens=20, temperature=0.0, timeout_s=CALL_S).text) > len(
        reply.text
    )


def test_an_answer_held_to_a_schema_fits_it(live):
    # No model says these words of itself: what comes out shows that the schema reached the sampler.
    wanted = {
        "type": "object",
        "properties": {
            "creature": {"enum": ["zorblat", "quixnar"]},
            "is_tame": {"type": "boolean"},
            "legs": {"type": "integer"},
            "colours": {
                "type": "array",
                "items": {"enum": ["blue", "red"]},
                "minItems": 1,
                "maxItems": 3,
            },
        },
        "required": ["creature", "is_tame", "legs", "colours"],
        "additionalProperties": False,
    }
    ask = [{"role": "user", "content": "What is the weather today?"}]
    reply = live.complete(
        ask, json_schema=wanted, max_tokens=120, temperature=0.0, timeout_s=CALL_S
    )
    found = json.loads(reply.text)
    assert found.keys() == wanted["properties"].keys()
    assert found["creature"] in ("zorblat", "quixnar")
    assert type(found["is_tame"]) is bool
    assert type(found["legs"]) is int
    assert 1 <= len(found["colours"]) <= 3
    assert set(found["colours"]) <= {"blue", "red"}
    assert reply.stop_reason == "stop"
    assert not reply.estimated


def test_a_schema_that_is_not_of_an_object_is_met_too(live):
    wanted = {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}
    reply = live.complete(
        GREET, json_schema=wanted, max_tokens=60, temperature=0.0, timeout_s=CALL_S
    )
    found = json.loads(reply.text)
    assert [type(value) for value in found] == [bool, bool]


def test_after_json_the_client_writes_prose_again(live):
    live.complete(
        GREET, json_schema={"enum": ["zorblat"]}, max_tokens=40, temperature=0.0, timeout_s=CALL_S
    )
    reply = live.complete(GREET, max_tokens=24, temperature=0.0, timeout_s=CALL_S)
    assert reply.text.strip()
    assert "zorblat" not in reply.text


def test_a_wrong_path_says_to_check_the_base_url(server):
    client = open_client(MODEL, base_url=server.root)  # without its /v1
    with pytest.raises(
        ModelError, match=r"answered 404: Not Found: check .* the base URL"
    ) as caught:
        client.complete(GREET, max_tokens=4, timeout_s=CALL_S)
    client.close()
    assert server.root in str(caught.value)
    assert MODEL in str(caught.value)


def test_a_wrong_port_says_that_nobody_is_there():
    url = f"http://127.0.0.1:{free_port()}/v1"
    client = open_client(MODEL, base_url=url)
    with pytest.raises(
        ModelUnavailable, match=r"cannot be reached .*is it running, and is its address right"
    ) as caught:
        client.complete(GREET, max_tokens=4, timeout_s=2)
    client.close()
    assert url in str(caught.value)


def test_a_prompt_beyond_the_models_window_is_refused_in_the_servers_words(live):
    long = [{"role": "user", "content": "sheep " * (2 * CONTEXT_TOKENS)}]
    with pytest.raises(ModelError, match=rf"maximum context length is {CONTEXT_TOKENS} tokens"):
        live.complete(long, max_tokens=4, timeout_s=CALL_S)


def test_an_answer_that_takes_too_long_is_given_up_and_the_client_goes_on(live):
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.05 s"):
        live.complete(COUNT, max_tokens=64, temperature=0.0, timeout_s=0.05)
    assert live.complete(GREET, max_tokens=4, temperature=0.0, timeout_s=CALL_S).text


def test_a_recorded_call_is_replayed_without_the_server(live, tmp_path):
    tape = tmp_path / "calls.jsonl"
    recording = RecordingClient(live, tape)
    said = recording.complete(GREET, max_tokens=12, temperature=0.0, timeout_s=CALL_S)
    with pytest.raises(ModelUnavailable) as failed:
        recording.complete(COUNT, max_tokens=64, timeout_s=0.05)
    recording.close()  # the client of the server too: it cannot answer any more
    with pytest.raises(ModelError, match="closed"):
        live.complete(GREET, max_tokens=12)

    replay = ReplayClient(tape)
    assert replay.model == MODEL
    assert replay.complete(GREET, max_tokens=12, temperature=0.0) == said
    with pytest.raises(ModelUnavailable) as again:
        replay.complete(COUNT, max_tokens=64)
    assert str(again.value) == str(failed.value)
    assert replay.left == 0
    with pytest.raises(CassetteDiverged, match="max_tokens is 12 there and 13 here"):
        ReplayClient(tape).complete(GREET, max_tokens=13, temperature=0.0)
