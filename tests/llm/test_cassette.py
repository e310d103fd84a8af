"""Cassettes: what is recorded is replayed, whatever the order, and a difference is shown."""

from __future__ import annotations

import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import ASK, KEY, ModelServer, chat, refusal

from rlm.errors import (
    CassetteDiverged,
    ModelAuthError,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
)
from rlm.llm import RecordingClient, ReplayClient, Reply, ScriptedClient
from rlm.llm.openai import OpenAIClient


def user(*texts: str) -> list[dict[str, str]]:
    return [
        {"role": "user" if place % 2 == 0 else "assistant", "content": text}
        for place, text in enumerate(texts)
    ]


def record(path: Path, *asked: list[dict[str, str]], **options) -> list[Reply]:
    """A cassette in which every request is answered with its number."""
    client = RecordingClient(
        ScriptedClient([f"reply {n}" for n in range(1, len(asked) + 1)]), path, **options
    )
    try:
        return [client.complete(messages) for messages in asked]
    finally:
        client.close()


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def test_a_replay_gives_what_was_recorded(tape):
    replies = record(tape, user("a"), user("b"))
    client = ReplayClient(tape)
    assert client.model == "scripted" and client.notice is None and client.left == 2
    assert [client.complete(user("b")), client.complete(user("a"))] == replies[::-1]
    assert client.left == 0


@pytest.mark.parametrize("real", [True, False])
def test_a_cassette_passes_on_whether_a_language_model_spoke(tape, real):
    client = RecordingClient(ScriptedClient(["one"], is_language_model=real), tape)
    client.complete(user("a"))
    client.close()
    assert client.is_language_model is real and ReplayClient(tape).is_language_model is real


@pytest.mark.parametrize(("model", "real"), [("gpt-9", True), ("offline", False)])
def test_an_older_cassette_tells_it_by_the_name_of_the_model(tape, model, real):
    client = RecordingClient(ScriptedClient(["one"], model=model), tape)
    client.complete(user("a"))
    client.close()
    line = json.loads(tape.read_text())
    del line["language_model"]
    tape.write_text(json.dumps(line) + "\n")
    assert ReplayClient(tape).is_language_model is real


def test_one_line_a_call_written_at_once_for_the_owner_only(tape):
    client = RecordingClient(ScriptedClient(["one", "two"]), tape)
    client.complete(
        user("a"), max_tokens=5, temperature=0.0, json_schema={"type": "object"}, timeout_s=3
    )
    (line,) = [json.loads(line) for line in tape.read_text().splitlines()]  # not closed yet
    assert line["call"] == 1 and line["reply"]["text"] == "one"
    params = {"max_tokens": 5, "temperature": 0.0, "json_schema": {"type": "object"}}
    assert line["request"] == {"messages": user("a"), "params": params}
    assert stat.S_IMODE(tape.stat().st_mode) == 0o600
    client.complete(user("a"))
    client.close()
    client.close()
    assert len(tape.read_text().splitlines()) == 2
    with pytest.raises(ModelError, match="closed"):
        client.complete(user("a"))


def test_equal_requests_are_answered_in_the_order_of_their_start(tape):
    """The second to start ends first, so its line comes first."""
    first_may_end = []

    def first(_):
        first_may_end.append(client.complete(user("same")).text)
        return "first"

    client = RecordingClient(ScriptedClient([first, "second"]), tape)
    assert client.complete(user("same")).text == "first" and first_may_end == ["second"]
    client.close()
    assert [json.loads(line)["call"] for line in tape.read_text().splitlines()] == [2, 1]
    replay = ReplayClient(tape)
    assert [replay.complete(user("same")).text for _ in range(2)] == ["first", "second"]


def test_calls_at_the_same_time_replay_whatever_the_order(tape):
    asked = [user(f"question {n}") for n in range(60)]
    scripted = ScriptedClient([lambda messages: messages[0]["content"].upper()], repeat_last=True)
    client = RecordingClient(scripted, tape)
    with ThreadPoolExecutor(8) as pool:
        recorded = list(pool.map(client.complete, asked))
    client.close()
    replay = ReplayClient(tape)
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(replay.complete, asked[::-1])) == recorded[::-1]
    assert replay.left == 0


def test_two_models_on_one_cassette(tape):
    main = RecordingClient(ScriptedClient(["plan"], model="big"), tape)
    sub = main.beside(ScriptedClient(["part"], model="small"))
    assert (main.model, sub.model) == ("big", "small")
    main.complete(user("a"))
    sub.complete(user("b"))
    sub.close()
    main.close()
    replay = ReplayClient(tape)
    assert replay.model == "big"
    assert [replay.complete(user(text)).model for text in "ba"] == ["small", "big"]


def test_errors_are_recorded_and_replayed_as_what_they_were(tape):
    errors = [ModelRateLimited("slow down", retry_after_s=7.0), ModelUnavailable("gone")]
    client = RecordingClient(ScriptedClient(errors), tape)
    for error in errors:
        with pytest.raises(type(error)):
            client.complete(user("a"))
    client.close()
    replay = ReplayClient(tape)
    with pytest.raises(ModelRateLimited, match="slow down") as caught:
        replay.complete(user("a"))
    assert caught.value.retry_after_s == 7.0
    with pytest.raises(ModelUnavailable, match="gone"):
        replay.complete(user("a"))


def test_the_time_out_is_no_part_of_a_request(tape):
    record(tape, user("a"))
    assert ReplayClient(tape).complete(user("a"), timeout_s=1.5).text == "reply 1"


def test_no_key_on_the_tape(tape, server: ModelServer):
    server.answers = [chat(), refusal(f"bad key {KEY}", 401)]
    client = RecordingClient(OpenAIClient("m-1", base_url=server.url, key=KEY), tape)
    client.complete(ASK)
    with pytest.raises(ModelAuthError):
        client.complete(ASK)
    assert KEY not in repr(client)
    client.close()
    assert len(tape.read_text().splitlines()) == 2 and KEY[3:] not in tape.read_text()


# -- divergence
# -------------------------------------------------------------------------------------------


def divergence(tape: Path, messages: list[dict[str, str]], **options) -> str:
    with pytest.raises(CassetteDiverged) as caught:
        ReplayClient(tape).complete(messages, **options)
    assert str(tape) in str(caught.value) and "call 1 of the replay" in str(caught.value)
    return str(caught.value)


def test_the_first_character_that_differs_is_shown(tape):
    record(
        tape, user("unlike"), user("Count the words.", "ok", "x" * 100 + "seven dogs" + "y" * 100)
    )
    message = divergence(tape, user("Count the words.", "ok", "x" * 100 + "seven cats" + "y" * 100))
    assert "recorded call 2" in message and "line 1 of message 3 (user) differs:" in message
    assert "xxxseven dogsyyy" in message and "xxxseven catsyyy" in message and len(message) < 700


def test_the_line_that_differs_is_shown_with_the_heading_above_it(tape):
    prompt = "You answer.\n\n## Relevant Prior Experience\n1. {}\n\n## Guide\nthe end"
    record(tape, user(prompt.format("Count by class")))
    message = divergence(tape, user(prompt.format("List the roots")))
    assert "line 4 of message 1 (user), below '## Relevant Prior Experience', differs:" in message
    assert "recorded: '1. Count by class'" in message
    assert "asked:    '1. List the roots'" in message


def test_what_is_quoted_of_a_prompt_is_scrubbed(tape):
    record(tape, user("key one"))
    replay = ReplayClient(tape, scrub=lambda text: text.replace("two", "***"))
    with pytest.raises(CassetteDiverged, match=r"asked:    'key \*\*\*'"):
        replay.complete(user("key two"))


def test_what_else_went_into_prompts_is_kept_and_comes_back(tape):
    client = RecordingClient(ScriptedClient(["one"]), tape)
    assert [client.keep("look", lambda n=n: {"found": [n]}) for n in (1, 2)] == [
        {"found": [1]},
        {"found": [2]},
    ]
    handle = object()
    assert client.keep("other", lambda: handle) is handle  # no JSON: not on the cassette
    client.complete(user("a"))
    client.close()
    replay = ReplayClient(tape)
    assert replay.left == 1 and replay.complete(user("a")).text == "one"
    assert [replay.keep("look", lambda: "new") for _ in range(3)] == [
        {"found": [1]},
        {"found": [2]},
        "new",
    ]
    assert replay.keep("other", lambda: handle) is handle
    with pytest.raises(CassetteDiverged, match="it was looked up anew: look, other"):
        replay.complete(user("b"))


def test_a_message_more_another_role_or_another_parameter(tape):
    record(tape, user("a", "b"))
    more = divergence(tape, user("a", "b", "new"))
    assert "its parameters there, line 1 of message 3 (user) here, differs" in more
    assert "asked:    'new'" in more
    role = divergence(tape, [{"role": "system", "content": "a"}])
    assert "line 1 of message 1 (user) there, line 1 of message 1 (system) here" in role
    message = divergence(tape, user("a", "b"), temperature=0.5)
    assert "its parameters differs" in message and '{"temperature": 0.5}' in message


def test_once_more_than_recorded(tape):
    record(tape, user("a"), user("a"))
    replay = ReplayClient(tape)
    replay.complete(user("a"))
    replay.complete(user("a"))
    with pytest.raises(
        CassetteDiverged, match=r"call 3 of the replay.*recorded 2 times, and this is one more"
    ):
        replay.complete(user("a"))


def test_an_empty_cassette(tape):
    record(tape)
    assert "nothing is recorded" in divergence(tape, user("a"))
    assert ReplayClient(tape).model == "replay"


# -- damage
# -----------------------------------------------------------------------------------------------


def test_a_torn_last_line_is_left_out_with_a_notice(tape):
    record(tape, user("a"), user("b"))
    whole = tape.read_bytes()
    second = whole.index(b"\n") + 1
    for end in (second + 1, second + 40, len(whole) - 2):
        tape.write_bytes(whole[:end])
        client = ReplayClient(tape)
        assert client.notice and f"{tape}:2: the last line is torn" in client.notice
        assert client.complete(user("a")).text == "reply 1"
        with pytest.raises(CassetteDiverged, match="torn"):
            client.complete(user("b"))


def test_a_last_line_that_lacks_only_its_end_is_whole(tape):
    record(tape, user("a"))
    tape.write_bytes(tape.read_bytes().rstrip(b"\n"))
    client = ReplayClient(tape)
    assert client.notice is None and client.complete(user("a")).text == "reply 1"


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"",
        b"3",
        b"[]",
        b'{"a": "\xff"}',
        b"[" * 100_000,
        b'{"call": 2, "key": "k", "request": {"messages": [], "params": {}}, "reply": {}}',
        b'{"call": 2, "key": "k", "request": {"messages": ["x"], "params": {}}, "reply": {}}',
    ],
)
def test_damage_elsewhere_is_an_error_with_its_line(tape, line):
    record(tape, user("a"), user("b"))
    first, second = tape.read_bytes().splitlines()
    tape.write_bytes(b"\n".join([first, line, second, b""]))
    with pytest.raises(ModelError, match=f"{tape.name}:2: not a line of a cassette"):
        ReplayClient(tape)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"hello"', '"hullo"'),
        ('"text": "reply 1"', '"text": 3'),
        ('"input_tokens": 2', '"input_tokens": "2"'),
        ('"call": 1', '"call": "1"'),
        ('"model": "scripted", ', ""),
        ('"reply"', '"answer"'),
    ],
)
def test_a_line_that_was_changed_is_damage(tape, old, new):
    record(tape, user("hello"))
    text = tape.read_text()
    assert old in text
    tape.write_text(text.replace(old, new))
    with pytest.raises(ModelError, match=r"run\.jsonl:1: "):
        ReplayClient(tape)


def test_a_recording_is_not_overwritten_by_mistake(tape):
    record(tape, user("a"))
    with pytest.raises(ModelError, match="holds a recording"):
        record(tape, user("b"))
    assert ReplayClient(tape).complete(user("a")).text == "reply 1"
    record(tape, user("b"), overwrite=True)
    replay = ReplayClient(tape)
    assert replay.left == 1 and replay.complete(user("b")).text == "reply 1"


def test_files_that_cannot_be(tmp_path):
    with pytest.raises(ModelError, match="cannot be written"):
        RecordingClient(ScriptedClient([]), tmp_path / "no" / "folder.jsonl")
    with pytest.raises(ModelError, match="cannot be read"):
        ReplayClient(tmp_path / "missing.jsonl")


# -- whatever is said
# -------------------------------------------------------------------------------------

texts = st.text(max_size=20)
requests = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "user", "assistant"]), "content": texts}
    ),
    min_size=1,
    max_size=3,
)
options = st.fixed_dictionaries(
    {},
    optional={
        "max_tokens": st.integers(1, 9),
        "temperature": st.floats(0, 2),
        "json_schema": st.dictionaries(texts, texts, max_size=2),
    },
)


@settings(max_examples=30)
@given(st.data(), st.lists(st.tuples(requests, options, texts), max_size=6))
def test_whatever_is_recorded_is_replayed(tmp_path_factory, data, calls):
    tape = tmp_path_factory.mktemp("tape") / "t.jsonl"
    client = RecordingClient(ScriptedClient([text for _, _, text in calls]), tape)
    recorded = [
        (messages, given, client.complete(messages, **given)) for messages, given, _ in calls
    ]
    client.close()
    # equal requests keep their order; all others may come in any
    order = data.draw(st.permutations(range(len(calls))))
    order = sorted(order, key=lambda n: (order.index(min(_equal(calls, n), key=order.index)), n))
    replay = ReplayClient(tape)
    for number in order:
        messages, given_options, reply = recorded[number]
        assert replay.complete(messages, **given_options) == reply
    assert replay.left == 0


def _equal(calls, number: int) -> list[int]:
    return [n for n, call in enumerate(calls) if call[:2] == calls[number][:2]]
