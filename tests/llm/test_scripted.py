"""The test double: says its lines, notes what it heard."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from rlm.errors import ModelError, ModelUnavailable
from rlm.llm import ScriptedClient


def ask(client: ScriptedClient, text: str = "hello"):
    return client.complete([{"role": "user", "content": text}])


def test_texts_errors_and_functions_in_order():
    client = ScriptedClient(
        ["one", ModelUnavailable("gone"), lambda messages: messages[-1]["content"] * 2]
    )
    reply = ask(client)
    assert (reply.text, reply.model, reply.stop_reason, reply.cost_usd) == (
        "one",
        "scripted",
        "stop",
        0.0,
    )
    assert (reply.input_tokens, reply.output_tokens, reply.estimated) == (2, 1, True)
    with pytest.raises(ModelUnavailable, match="gone"):
        ask(client)
    assert ask(client, "ab").text == "abab"


def test_what_it_heard_is_a_copy():
    client, messages = ScriptedClient(["one", "two"]), [{"role": "user", "content": "a"}]
    client.complete(messages)
    messages[0]["content"] = "changed"
    messages.append({"role": "assistant", "content": "b"})
    client.complete(messages, json_schema={}, temperature=1.0, max_tokens=1, timeout_s=1)
    assert [len(call) for call in client.calls] == [1, 2] and client.calls[0][0]["content"] == "a"


def test_the_end_of_the_script_is_told():
    client = ScriptedClient(["one"])
    ask(client)
    with pytest.raises(ModelError, match=r"1 replies and this is call 2.*repeat_last"):
        ask(client)
    with pytest.raises(ModelError, match="0 replies"):
        ask(ScriptedClient([], repeat_last=True))


def test_the_last_line_can_be_repeated():
    client = ScriptedClient(["one", "two"], repeat_last=True, model="parrot")
    assert [ask(client).text for _ in range(4)] == ["one", "two", "two", "two"]
    assert client.model == "parrot" and "4 calls" in repr(client)


def test_every_reply_is_given_once_to_many_threads():
    client = ScriptedClient([str(n) for n in range(200)])
    with ThreadPoolExecutor(8) as pool:
        found = [reply.text for reply in pool.map(lambda _: ask(client), range(200))]
    assert sorted(found, key=int) == [str(n) for n in range(200)] and len(client.calls) == 200
    client.close()
