"""OpenAI-compatible chat completions, over real HTTP."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from model_server import ASK, KEY, chat, failure, hang, refusal

from rlm.errors import ModelBadReply, ModelError
from rlm.llm.openai import OpenAIClient
from rlm.llm.prices import Price

CLOSED = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def test_a_question_and_its_answer(server, openai):
    client = openai()
    reply = client.complete(
        [{"role": "system", "content": "Be brief."}, *ASK], max_tokens=9, temperature=0.5
    )
    path, headers, body = server.requests[0]
    assert path == "/v1/chat/completions" and headers["authorization"] == f"Bearer {KEY}"
    assert body == {
        "model": "m-1",
        "messages": [{"role": "system", "content": "Be brief."}, *ASK],
        "max_tokens": 9,
        "temperature": 0.5,
    }
    assert (reply.text, reply.model, reply.input_tokens, reply.output_tokens) == (
        "hi",
        "m-1-0101",
        11,
        7,
    )
    assert (
        reply.stop_reason == "stop"
        and not reply.estimated
        and reply.cost_usd is None
        and reply.seconds > 0
    )


def test_without_a_key_none_is_sent_and_a_slash_at_the_end_is_fine(server, openai):
    openai(base_url=server.url + "/v1/", key=None).complete(ASK)
    path, headers, _ = server.requests[0]
    assert path == "/v1/chat/completions" and "authorization" not in headers


def test_the_connection_is_kept(server, openai):
    client, ports = openai(), []
    server.answers = [lambda h: (ports.append(h.client_address[1]), h.say(200, {}, chat()))]
    for _ in range(3):
        client.complete(ASK)
    assert len(set(ports)) == 1


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("", ""),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        (
            [
                {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                {"type": "text", "text": "b"},
            ],
            "b",
        ),
        (["a", {"type": "output_text", "text": "b"}, {"type": "image_url"}, 3], "ab"),
        ("a\ud800b", "a?b"),
    ],
)
def test_content_comes_in_many_forms(server, openai, content, text):
    server.answers = [chat(content)]
    assert openai().complete(ASK).text == text


@pytest.mark.parametrize(
    ("finish", "stop"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "refusal"),
        (None, "stop"),
        ("eos", "eos"),
    ],
)
def test_why_it_stopped(server, openai, finish, stop):
    choice = {"message": {"content": None, "reasoning_content": "hm"}, "finish_reason": finish}
    server.answers = [chat(choices=[choice])]
    assert openai().complete(ASK).stop_reason == stop


def test_a_refusal_is_its_text(server, openai):
    server.answers = [
        chat(choices=[{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}])
    ]
    reply = openai().complete(ASK)
    assert (reply.text, reply.stop_reason) == ("No.", "refusal")


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {},
        {"prompt_tokens": None, "completion_tokens": None},
        {"prompt_tokens": "3", "completion_tokens": True},
        {"prompt_tokens": -1, "completion_tokens": 1.5},
        [1],
    ],
)
def test_tokens_that_nobody_counted_are_estimated_and_flagged(server, openai, usage):
    server.answers = [chat("123456789", usage=usage)]
    reply = openai().complete([{"role": "user", "content": "12345"}])
    assert (reply.input_tokens, reply.output_tokens, reply.estimated) == (2, 3, True)


def test_the_cost_is_the_tables_or_what_the_server_says(server, openai):
    prices = {"m-1": Price(100_000.0, 1_000_000.0)}
    assert openai(prices=prices).complete(ASK).cost_usd == pytest.approx(1.1 + 7)
    server.answers = [chat(usage={"prompt_tokens": 1, "completion_tokens": 1, "cost": 0.25})]
    assert openai().complete(ASK).cost_usd == 0.25


def test_a_name_that_openai_charges_for_is_not_priced_on_another_server(openai):
    assert openai("gpt-4o").complete(ASK).cost_usd is None


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{"text": "old"}]},
        {"choices": [{"message": "hi"}]},
        {"choices": [{"message": {"content": 3}}]},
        {"choices": [{"message": {"content": {"a": 1}}}]},
    ],
)
def test_an_answer_without_a_message(server, openai, body):
    server.answers = [body]
    assert "answered" in failure(openai(), ModelBadReply)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "tool", "content": "x"}],
        [{"role": "user", "content": None}],
        [{"role": "user"}],
        [{}],
    ],
)
def test_what_is_no_message_is_not_sent(server, openai, messages):
    with pytest.raises(ModelError):
        openai().complete(messages)
    assert server.requests == []


def test_a_lone_surrogate_is_sent_as_a_question_mark(server, openai):
    openai().complete([{"role": "user", "content": "a\ud800b é"}])
    assert server.bodies()[0]["messages"][0]["content"] == "a?b é"


# -- JSON
# -------------------------------------------------------------------------------------------------


def test_json_is_asked_for_by_schema(server, openai):
    server.answers = [chat('{"n": 3}')]
    assert json.loads(openai().complete(ASK, json_schema=CLOSED).text) == {"n": 3}
    asked = server.bodies()[0]["response_format"]
    assert asked == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "schema": CLOSED, "strict": True},
    }


def test_a_schema_with_optional_parts_is_not_strict(server, openai):
    openai().complete(ASK, json_schema={"type": "object", "properties": {"n": {"type": "integer"}}})
    assert server.bodies()[0]["response_format"]["json_schema"]["strict"] is False


def test_a_schema_that_is_no_object_is_wrapped_and_unwrapped(server, openai):
    server.answers = [chat('{"value": [1, "é"]}')]
    wanted = {"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}
    assert openai().complete(ASK, json_schema=wanted).text == '[1, "é"]'
    sent = server.bodies()[0]["response_format"]["json_schema"]["schema"]
    assert (
        sent["type"] == "object"
        and sent["$defs"] == {"a": {}}
        and "$defs" not in sent["properties"]["value"]
    )


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_knows_only_json_object_is_asked_so_and_remembered(server, openai, status):
    # llama-cpp-python answers 500 to a response_format that it does not know
    refused = refusal("body.response_format.type: Input should be 'text' or 'json_object'", status)
    server.answers = [refused, refused, chat('{"n": 3}')]
    client = openai()
    assert client.complete(ASK, json_schema=CLOSED).text == '{"n": 3}'
    client.complete(ASK, json_schema=CLOSED)
    asked = [body["response_format"] for body in server.bodies()]
    plain = {"type": "json_object"}
    assert asked[1:] == [{"type": "json_object", "schema": CLOSED}, plain, plain]
    system = server.bodies()[2]["messages"][0]
    assert system["role"] == "system" and json.dumps(CLOSED) in system["content"]


def test_a_server_that_knows_no_format_is_told_in_words(server, openai):
    refused = refusal("unknown field response_format")
    server.answers = [refused, refused, refused, chat('{"n": 3}')]
    assert (
        openai().complete([{"role": "system", "content": "S."}, *ASK], json_schema=CLOSED).text
        == '{"n": 3}'
    )
    last = server.bodies()[3]
    assert "response_format" not in last and last["messages"][0]["content"].startswith(
        "S.\n\nAnswer with JSON"
    )


def bounded(**limits):
    return {
        "type": "object",
        "properties": {"maxItems": {"type": "array", "items": {"type": "string", **limits}}},
        "required": ["maxItems"],
        "additionalProperties": False,
    }


def test_a_server_that_refuses_limits_in_a_schema_gets_the_schema_without_them(server, openai):
    refused = refusal("Invalid schema for response_format 'answer': 'maxLength' is not permitted.")
    server.answers = [refused, chat('{"maxItems": []}')]
    client = openai()
    client.complete(ASK, json_schema=bounded(maxLength=9))
    client.complete(ASK, json_schema=bounded(maxLength=9))
    asked = [body["response_format"]["json_schema"]["schema"] for body in server.bodies()]
    assert asked == [bounded(maxLength=9), bounded(), bounded()]


# -- what servers accept
# ------------------------------------------------------------------------------------


def test_the_token_limit_has_two_names(server, openai):
    server.answers = [
        refusal(
            "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'"
            " instead."
        ),
        chat(),
    ]
    client = openai()
    client.complete(ASK, max_tokens=5)
    client.complete(ASK, max_tokens=6)
    assert [body.get("max_completion_tokens") for body in server.bodies()] == [None, 5, 6]
    assert [body.get("max_tokens") for body in server.bodies()] == [5, None, None]


def test_openai_itself_gets_the_new_name():
    client = OpenAIClient("gpt-5", key=KEY)
    assert client._form.tokens_field == "max_completion_tokens" and client.at_home()
    assert not client._form.limits  # its strict mode refuses them
    client.close()


def test_a_model_without_temperature_is_asked_without(server, openai):
    server.answers = [
        refusal("Unsupported value: 'temperature' does not support 0.2 with this model."),
        chat(),
    ]
    openai().complete(ASK, temperature=0.2)
    assert [("temperature" in body) for body in server.bodies()] == [True, False]


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8 tokens, you requested 9; reduce max_tokens",
        "temperature must be between 0 and 2",
        "messages: something else",
    ],
)
def test_a_refusal_about_something_else_is_told(server, openai, words):
    server.answers = [refusal(words)]
    assert words in failure(openai(), ModelError, max_tokens=5, temperature=0.2)
    assert len(server.requests) == 1


def test_a_server_that_always_refuses_is_asked_a_few_times_only(server, openai):
    server.answers = [
        refusal("unsupported: response_format temperature max_tokens max_completion_tokens")
    ]
    failure(openai(), ModelError, max_tokens=5, temperature=0.2, json_schema=CLOSED)
    assert len(server.requests) == 6


def test_many_at_once(server, openai):
    server.answers = [lambda h: h.say(200, {}, chat(h.owner.requests[-1][2]["model"]))]
    client = openai()
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: client.complete(ASK).text, range(40)))
    assert replies == ["m-1"] * 40 and len(server.requests) == 40


def test_a_closed_client_says_so(server, openai):
    client = openai()
    client.complete(ASK)
    client.close()
    client.close()
    with pytest.raises(ModelError, match="closed"):
        client.complete(ASK)


def test_one_call_that_hangs_does_not_hold_up_another(server, openai):
    server.answers = [hang, chat("second")]
    client = openai()
    with ThreadPoolExecutor(1) as pool:
        stuck = pool.submit(client.complete, ASK, timeout_s=30)
        while not server.requests:
            pass
        assert client.complete(ASK).text == "second"
        server.over.set()
        assert stuck.result().text == "second"  # dropped, then tried again
