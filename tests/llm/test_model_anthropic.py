"""Anthropic's Messages API, over real HTTP."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_server import ASK, KEY, failure, refusal, said

from rlm.errors import ModelBadReply, ModelError, ModelUnavailable
from rlm.llm.anthropic import MAX_TOKENS, conversation
from rlm.llm.types import ROLES

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.fixture(autouse=True)
def answers(server):
    server.answers = [said()]


def test_a_question_and_its_answer(server, anthropic):
    reply = anthropic().complete(
        [{"role": "system", "content": "Be brief."}, *ASK], temperature=0.5
    )
    path, headers, body = server.requests[0]
    assert path == "/v1/messages"
    assert (
        headers["x-api-key"] == KEY
        and headers["anthropic-version"]
        and "authorization" not in headers
    )
    assert body == {
        "model": "m-1",
        "max_tokens": MAX_TOKENS,
        "messages": ASK,
        "system": "Be brief.",
        "temperature": 0.5,
    }
    assert (reply.text, reply.model, reply.input_tokens, reply.output_tokens) == (
        "hi",
        "m-1-0101",
        11,
        7,
    )
    assert reply.stop_reason == "stop" and reply.cost_usd is None and not reply.estimated


def test_the_v1_in_a_base_url_is_not_doubled(server, anthropic):
    anthropic(base_url=server.url + "/v1/").complete(ASK)
    assert server.requests[0][0] == "/v1/messages"


def test_text_blocks_are_joined_and_thoughts_left_out(server, anthropic):
    thought, text = {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "a"}
    server.answers = [said(thought, text, {"type": "text", "text": "b"}, {"type": "text"})]
    assert anthropic().complete(ASK).text == "ab"


def test_the_prompt_cache_counts_as_input(server, anthropic):
    usage = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 2,
        "cache_read_input_tokens": 4,
        "output_tokens": 8,
    }
    server.answers = [said(usage=usage), said(usage=None)]
    client = anthropic()
    assert client.complete(ASK).input_tokens == 7
    reply = client.complete(ASK)
    assert (reply.input_tokens, reply.output_tokens, reply.estimated) == (2, 1, True)


@pytest.mark.parametrize(
    ("reason", "stop"),
    [
        ("end_turn", "stop"),
        ("max_tokens", "length"),
        ("refusal", "refusal"),
        ("tool_use", "stop"),
        (None, "stop"),
    ],
)
def test_why_it_stopped(server, anthropic, reason, stop):
    server.answers = [said(stop_reason=reason)]
    assert anthropic().complete(ASK).stop_reason == stop


def test_json_is_the_input_of_a_forced_tool(server, anthropic):
    server.answers = [
        said(
            {"type": "text", "text": "Here:"},
            {"type": "tool_use", "name": "answer", "input": {"n": 3}},
        )
    ]
    assert json.loads(anthropic().complete(ASK, json_schema=SCHEMA).text) == {"n": 3}
    body = server.bodies()[0]
    assert body["tool_choice"] == {"type": "tool", "name": "answer"}
    assert [(tool["name"], tool["input_schema"]) for tool in body["tools"]] == [("answer", SCHEMA)]


def test_a_schema_that_is_no_object_is_wrapped_and_unwrapped(server, anthropic):
    server.answers = [said({"type": "tool_use", "name": "answer", "input": {"value": [1, 2]}})]
    assert anthropic().complete(ASK, json_schema={"type": "array"}).text == "[1, 2]"
    assert server.bodies()[0]["tools"][0]["input_schema"]["type"] == "object"


def test_a_model_that_cannot_be_forced_gets_a_format_and_is_remembered(server, anthropic):
    server.answers = [
        refusal("tool_choice: forced tool use is not supported for this model"),
        said({"type": "text", "text": '{"n": 3}'}),
    ]
    client = anthropic()
    assert client.complete(ASK, json_schema=SCHEMA).text == '{"n": 3}'
    client.complete(
        ASK, json_schema={**SCHEMA, "maxItems": 3}
    )  # a limit that this format does not take
    for body in server.bodies()[1:]:
        assert "tools" not in body and "tool_choice" not in body
        assert body["output_config"]["format"]["schema"] == {
            **SCHEMA,
            "additionalProperties": False,
        }


def test_and_where_there_is_no_format_words(server, anthropic):
    server.answers = [
        refusal("tool_choice"),
        refusal("output_config: Extra inputs are not permitted"),
        said(),
    ]
    anthropic().complete(ASK, json_schema=SCHEMA)
    last = server.bodies()[2]
    assert "output_config" not in last and json.dumps(SCHEMA) in last["system"]


def test_a_model_without_temperature_is_asked_without(server, anthropic):
    server.answers = [refusal("`temperature` is deprecated for this model."), said()]
    anthropic().complete(ASK, temperature=0.0)
    assert ["temperature" in body for body in server.bodies()] == [True, False]


def test_a_refusal_about_something_else_is_told(server, anthropic):
    server.answers = [refusal("max_tokens: 16000 > 8192, which is the maximum")]
    assert "8192" in failure(anthropic(), ModelError, temperature=0.0, json_schema=SCHEMA)


def test_an_overloaded_server_is_tried_again(server, anthropic, naps):
    overloaded = (
        529,
        {},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    )
    server.answers = [overloaded, said()]
    assert anthropic().complete(ASK).text == "hi" and len(naps.slept) == 1
    server.answers = [overloaded]
    assert "Overloaded" in failure(anthropic(), ModelUnavailable)


@pytest.mark.parametrize("body", [{}, {"content": None}, {"content": "hi"}, {"content": ["hi"]}])
def test_an_answer_without_content(server, anthropic, body):
    server.answers = [body]
    assert "answer" in failure(anthropic(), ModelBadReply)


messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(ROLES), "content": st.sampled_from(["", " ", "a", "b c", "d\n"])}
    ),
    min_size=1,
    max_size=12,
)


@given(messages)
def test_a_conversation_is_as_anthropic_takes_it(sent):
    system, turns = conversation(sent)
    roles = [turn["role"] for turn in turns]
    assert roles[0] == roles[-1] == "user"
    assert all(one != two for one, two in pairwise(roles))
    assert all(turn["content"].strip() for turn in turns)
    for message in sent:  # nothing that was said is lost
        if message["content"].strip():
            where = (
                system
                if message["role"] == "system"
                else "\n".join(turn["content"] for turn in turns)
            )
            assert message["content"] in where
