"""A server that fails in every way it can: each becomes one of our errors, with words to act on."""

from __future__ import annotations

import signal
import threading

import pytest
from model_server import (
    ASK,
    KEY,
    ModelServer,
    chat,
    drip_body,
    drip_headers,
    drop,
    end_midway,
    everything,
    failure,
    flood,
    hang,
    refusal,
    reset_midway,
)

from rlm.errors import (
    ConfigError,
    ModelAuthError,
    ModelBadReply,
    ModelError,
    ModelRateLimited,
    ModelUnavailable,
)
from rlm.http import Retry
from rlm.llm.chat import Wire
from rlm.llm.openai import OpenAIClient
from rlm.llm.server import refusal_of_status


def busy(status: int = 429, **headers: str) -> tuple:
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        {"error": {"message": "busy"}},
    )


# -- tried again
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first", [busy(429), busy(500), busy(503), busy(408), drop, reset_midway, end_midway]
)
def test_what_may_pass_is_tried_again(server, openai, naps, first):
    server.answers = [first, first, chat("late")]
    assert openai().complete(ASK).text == "late"
    assert len(server.requests) == 3 and naps.slept == [0.5, 1.0]


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (busy(429), ModelRateLimited, "429: busy"),
        (busy(500), ModelUnavailable, "500: busy"),
        (
            (502, {"Content-Type": "text/html"}, b"<html>Bad gateway</html>"),
            ModelUnavailable,
            "502: a web page",
        ),
        (drop, ModelUnavailable, "dropped the connection"),
        (reset_midway, ModelUnavailable, "dropped the connection"),
    ],
)
def test_but_not_for_ever(server, openai, naps, answer, kind, words):
    server.answers = [answer]
    message = failure(openai(), kind)
    assert words in message and "4 times" in message
    assert len(server.requests) == 4 and naps.slept == [0.5, 1.0, 2.0]


def test_a_server_that_is_not_there(naps):
    with ModelServer() as gone:
        url = gone.url
    client = OpenAIClient("m-1", base_url=url, key=KEY, wire=Wire(retry=naps.retry()))
    assert "is it running" in failure(client, ModelUnavailable)
    assert len(naps.slept) == 3
    client.close()


def test_a_retry_after_is_waited_for_instead(server, openai, naps):
    server.answers = [busy(429, Retry_After="3"), busy(503, Retry_After_Ms="1500"), chat()]
    openai().complete(ASK)
    assert naps.slept == [3.0, 1.5]


def test_a_retry_after_is_capped(server, openai, naps):
    server.answers = [busy(429, Retry_After="90"), chat()]
    openai(timeout_s=100).complete(ASK)
    assert naps.slept == [60.0]


def test_a_retry_after_beyond_the_deadline_is_told_at_once(server, openai, naps):
    server.answers = [busy(429, Retry_After="3600")]
    with pytest.raises(ModelRateLimited) as caught:
        openai(timeout_s=100).complete(ASK)
    assert caught.value.retry_after_s == 3600 and naps.slept == [] and len(server.requests) == 1


def test_no_money_does_not_come_by_waiting(server, openai, naps):
    server.answers = [refusal("You exceeded your current quota", 429, code="insufficient_quota")]
    assert "insufficient_quota" in failure(openai(), ModelRateLimited)
    assert len(server.requests) == 1


def test_a_key_press_goes_straight_through(server, openai):
    server.answers = [busy(500)]

    def press(_: float) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        openai(wire=Wire(retry=Retry(sleep=press))).complete(ASK)
    assert len(server.requests) == 1


def test_a_key_press_while_a_server_hangs(server, openai):
    def press_and_hang(handler):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        hang(handler)

    server.answers = [press_and_hang, chat("after")]
    client = openai()
    with pytest.raises(KeyboardInterrupt):
        client.complete(ASK)
    assert client.complete(ASK).text == "after"


# -- the deadline
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("play", [hang, drip_body, drip_headers])
def test_a_server_that_never_comes_to_an_end(server, openai, play):
    """The server goes on for as long as the test; that the call ends shows that the deadline holds."""
    server.answers = [play]
    assert "did not answer within 0.15 s" in failure(openai(), ModelUnavailable, timeout_s=0.15)
    assert len(server.requests) == 1 and not server.over.is_set()


def test_the_client_can_be_used_after_a_time_out(server, openai):
    server.answers = [chat("one"), drip_headers, chat("three")]
    client = openai()
    assert (
        client.complete(ASK).text == "one"
    )  # so that the second call is on a connection that was kept
    failure(client, ModelUnavailable, timeout_s=0.15)
    assert client.complete(ASK).text == "three"


def test_retries_end_with_the_deadline(server, openai):
    """By a clock that moves when slept by: the third wait would end after it."""
    server.answers = [busy(500)]
    at = [0.0]
    retry = Retry(
        first_s=2.0,
        sleep=lambda s: at.__setitem__(0, at[0] + s),
        random=lambda: 1.0,
        now=lambda: at[0],
    )
    message = failure(openai(wire=Wire(timeout_s=10, retry=retry)), ModelUnavailable)
    assert at[0] == 6.0 and "500" in message and "3 times" in message


def test_no_time_at_all(server, openai):
    assert "within 0 s" in failure(openai(), ModelUnavailable, timeout_s=0)
    assert server.requests == []


@pytest.mark.parametrize("seconds", [1e12, float("inf")])
def test_all_the_time_in_the_world(server, openai, seconds):
    assert openai().complete(ASK, timeout_s=seconds).text == "hi"


# -- not tried again
# --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (busy(400), ModelError, "refused the request"),
        (busy(401), ModelAuthError, "Check RLM_API_KEY"),
        (busy(403), ModelAuthError, "refused the key"),
        (busy(402), ModelAuthError, "paid"),
        (busy(404), ModelError, "name of the model"),
        (busy(413), ModelError, "too long"),
        (busy(418), ModelError, "418"),
        (busy(501), ModelUnavailable, "501"),
        ((404, {"Content-Type": "text/html"}, b"<p>nginx"), ModelUnavailable, "a web page"),
        ((200, {"Content-Type": "text/html"}, b"hello"), ModelUnavailable, "/v1"),
        ((200, {}, b"  <!DOCTYPE html><html>It works!</html>"), ModelUnavailable, "web page"),
        ((200, {}, b'{"choices": ['), ModelBadReply, "not JSON"),
        ((200, {}, b""), ModelBadReply, "nothing"),
        ((200, {}, b"[" * 200_000), ModelBadReply, "RecursionError"),
        ((200, {}, b'{"a": "\xff\xfe"}'), ModelBadReply, "not UTF-8"),
        ((200, {}, b"[1, 2]"), ModelBadReply, "JSON list"),
        ((200, {"Content-Encoding": "gzip"}, b"\x1f\x8b"), ModelBadReply, "gzip"),
        ((200, {}, {"error": "no"}), ModelBadReply, "no"),
        ((200, {}, {"error": {"message": "what?", "type": "odd"}}), ModelBadReply, "what?"),
        ((200, {}, {"error": {"message": "no", "code": 401}}), ModelAuthError, "refused the key"),
        (
            (200, {}, {"error": {"message": "no", "type": "invalid_request_error"}}),
            ModelError,
            "refused",
        ),
        (flood, ModelBadReply, "more than 1,048,576 bytes"),
    ],
)
def test_what_does_not_pass_is_told_at_once(server, openai, naps, answer, kind, words):
    server.answers = [answer]
    assert words in failure(openai(), kind)
    assert len(server.requests) == 1 and naps.slept == []


def test_an_error_with_a_good_status_is_tried_again_where_its_code_says_so(server, openai, naps):
    server.answers = [(200, {}, {"error": {"message": "slow down", "code": 429}}), chat()]
    assert openai().complete(ASK).text == "hi" and len(naps.slept) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(server, openai, status):
    with ModelServer() as other:
        server.answers = [(status, {"Location": other.url + "/v1/chat/completions"}, b"")]
        assert "points elsewhere" in failure(openai(), ModelBadReply)
        assert other.requests == [] and len(server.requests) == 1


# -- none is missing, and no key is shown
# -----------------------------------------------------------------


def test_every_status_has_a_fault():
    for status in (*range(300, 600), 999):
        refusal = refusal_of_status(status, {}, "")
        assert issubclass(refusal.error, ModelError) and str(status) in refusal.problem


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
def test_a_server_that_repeats_the_key_does_not_show_it(server, openai, anthropic, status):
    # a cut before the hiding would leave a part of it
    server.answers = [(status, {}, {"error": {"message": "-" * 280 + KEY, "code": KEY}})]
    for client in (openai(), anthropic()):
        with pytest.raises(ModelError) as caught:
            client.complete(ASK)
        assert "***" in str(caught.value) and KEY[:9] not in everything(caught.value)


@pytest.mark.parametrize(
    "play", [drop, reset_midway, hang, (200, {}, b"no"), (302, {"Location": "http://h"}, b"")]
)
def test_no_key_in_anything_that_is_raised_shown_or_logged(server, openai, anthropic, play, caplog):
    caplog.set_level(0)
    server.answers = [play]
    for client in (openai(), anthropic()):
        with pytest.raises(ModelError) as caught:
            client.complete(ASK, timeout_s=0.15)
        assert server.requests and KEY not in everything(caught.value)
        assert KEY not in repr(client) + str(client) + repr(client._server)
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["sk bad", "sk-\nbad", "sk-é", "sk-\x00"])
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key):
    with pytest.raises(ConfigError) as caught:
        OpenAIClient("m", key=key, key_name="OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in str(caught.value) and key not in everything(caught.value)


def test_white_space_around_a_key_is_no_part_of_it(server, openai):
    openai(key=f" {KEY}\n").complete(ASK)
    assert server.requests[0][1]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "host:80",
        "ftp://h/v1",
        "http://",
        "http://h:port/v1",
        "http://u:secret@h/v1",
        "http://h/v1?key=secret",
        "http://[",
    ],
)
def test_a_url_that_cannot_be_used(url):
    with pytest.raises(ConfigError) as caught:
        OpenAIClient("m", base_url=url)
    assert "secret" not in str(caught.value)
