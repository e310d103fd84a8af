"""From a name to a client, by what the environment holds."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys

import pytest
from model_server import ASK, KEY

from rlm import config
from rlm.errors import ConfigError, ModelAuthError, ModelError
from rlm.llm import ScriptedClient, open_client
from rlm.llm.anthropic import ANTHROPIC_URL, AnthropicClient
from rlm.llm.open import DEFAULT_ANTHROPIC_MODEL, DEFAULT_OPENAI_MODEL
from rlm.llm.openai import OPENAI_URL, OpenAIClient
from rlm.llm.prices import price_of

LOCAL = "http://127.0.0.1:9/v1"
OPENAI = {"OPENAI_API_KEY": "sk-openai"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-anthropic"}


def opened(spec: str | None = None, environ: dict[str, str] | None = None, **options):
    client = open_client(spec, settings=config.load(environ or {}), **options)
    client.close()
    return client


def key_of(client) -> str:
    return client._server._key


def test_how_long_a_call_may_take_is_a_setting():
    for spec, environ in (
        ("m", {"RLM_BASE_URL": LOCAL}),
        ("openai/m", OPENAI),
        ("anthropic/m", ANTHROPIC),
    ):
        assert opened(spec, environ)._timeout_s == 120
        assert opened(spec, {**environ, "RLM_MODEL_TIMEOUT_S": "600"})._timeout_s == 600
    for wrong in ("0", "-1", "nan"):
        with pytest.raises(ConfigError, match=r"model_timeout_s is .*above 0"):
            opened("m", {"RLM_BASE_URL": LOCAL, "RLM_MODEL_TIMEOUT_S": wrong})


@pytest.mark.parametrize(
    ("spec", "environ", "kind", "model", "url", "key"),
    [
        ("openai/gpt-5", OPENAI, OpenAIClient, "gpt-5", OPENAI_URL, "sk-openai"),
        ("openai/gpt-5", {"RLM_API_KEY": "k"}, OpenAIClient, "gpt-5", OPENAI_URL, "k"),
        (
            "openai/gpt-5",
            {**OPENAI, "RLM_API_KEY": "k"},
            OpenAIClient,
            "gpt-5",
            OPENAI_URL,
            "sk-openai",
        ),
        ("openai/m", {"RLM_BASE_URL": LOCAL}, OpenAIClient, "m", LOCAL, ""),
        (
            "openai/a/b",
            {"RLM_BASE_URL": LOCAL, "RLM_API_KEY": "k"},
            OpenAIClient,
            "a/b",
            LOCAL,
            "k",
        ),
        # a provider's own key goes to the provider and to nobody else
        ("openai/m", {**OPENAI, "RLM_BASE_URL": LOCAL}, OpenAIClient, "m", LOCAL, ""),
        ("m", {**OPENAI, **ANTHROPIC, "RLM_BASE_URL": LOCAL}, OpenAIClient, "m", LOCAL, ""),
        ("org/m", {"RLM_BASE_URL": LOCAL}, OpenAIClient, "org/m", LOCAL, ""),
        ("anthropic/c", ANTHROPIC, AnthropicClient, "c", ANTHROPIC_URL, "sk-anthropic"),
        (
            "anthropic/c",
            {**ANTHROPIC, "RLM_BASE_URL": LOCAL},
            AnthropicClient,
            "c",
            ANTHROPIC_URL,
            "sk-anthropic",
        ),
        (None, {"RLM_MODEL": "m", "RLM_BASE_URL": LOCAL}, OpenAIClient, "m", LOCAL, ""),
        (None, OPENAI, OpenAIClient, DEFAULT_OPENAI_MODEL, OPENAI_URL, "sk-openai"),
        (
            None,
            {**OPENAI, **ANTHROPIC},
            AnthropicClient,
            DEFAULT_ANTHROPIC_MODEL,
            ANTHROPIC_URL,
            "sk-anthropic",
        ),
        ("", OPENAI, OpenAIClient, DEFAULT_OPENAI_MODEL, OPENAI_URL, "sk-openai"),
    ],
)
def test_a_name_and_an_environment_make_a_client(spec, environ, kind, model, url, key):
    client = opened(spec, environ)
    assert (type(client), client.model, client._server.url, key_of(client)) == (
        kind,
        model,
        url,
        key,
    )


def test_a_client_says_whether_a_language_model_answers(tmp_path):
    script = tmp_path / "script.json"
    script.write_text('["one"]')
    assert opened("openai/m", OPENAI).is_language_model
    assert opened("anthropic/m", ANTHROPIC).is_language_model
    assert not opened(f"scripted:{script}").is_language_model
    assert ScriptedClient(["one"], is_language_model=True).is_language_model


def test_an_address_in_the_call_beats_the_environment():
    environ = {**OPENAI, **ANTHROPIC, "RLM_BASE_URL": "http://127.0.0.1:8/v1", "RLM_API_KEY": "k"}
    for spec in ("openai/m", "anthropic/m", "m"):
        client = opened(spec, environ, base_url=LOCAL)
        assert client._server.url == LOCAL.removesuffix("/v1" if spec == "anthropic/m" else "")
        assert key_of(client) == "k"


@pytest.mark.parametrize(
    ("spec", "environ", "kind", "words"),
    [
        ("openai/gpt-5", {}, ModelAuthError, ("OPENAI_API_KEY", "--model offline", "openai/gpt-5")),
        ("anthropic/c", {}, ModelAuthError, ("ANTHROPIC_API_KEY", "--model offline")),
        # the key of a server of one's own is not the provider's
        (
            "anthropic/c",
            {"RLM_BASE_URL": LOCAL, "RLM_API_KEY": "k"},
            ModelAuthError,
            ("ANTHROPIC_API_KEY",),
        ),
        (
            "google/gemini",
            OPENAI,
            ConfigError,
            ("'google'", "openai/NAME", "anthropic/NAME", "offline"),
        ),
        ("gpt-5", OPENAI, ConfigError, ("openai/gpt-5", "RLM_BASE_URL")),
        ("openai/", OPENAI, ConfigError, ("openai/NAME",)),
        ("scripted", {}, ConfigError, ("scripted:FILE",)),
        ("scripted:", {}, ConfigError, ("scripted:FILE",)),
        (None, {"RLM_BASE_URL": LOCAL}, ConfigError, ("RLM_MODEL", "--model")),
    ],
)
def test_what_cannot_be_opened_says_what_to_do(spec, environ, kind, words):
    with pytest.raises((ConfigError, ModelError)) as caught:
        opened(spec, environ)
    assert type(caught.value) is kind and all(word in str(caught.value) for word in words)


def test_the_default_models_have_a_price():
    assert price_of(DEFAULT_OPENAI_MODEL) and price_of(DEFAULT_ANTHROPIC_MODEL)


@pytest.mark.skipif(
    importlib.util.find_spec("rlm.llm.offline.client") is None, reason="offline is built apart"
)
@pytest.mark.parametrize("spec", ["offline", None])
def test_without_a_key_it_is_offline(spec):
    client = opened(spec)
    assert client.model == "offline" and not client.is_language_model


@pytest.mark.parametrize(
    "text",
    [json.dumps(["one", "two\n"]), json.dumps(["one", "two\n"], indent=2), '"one"\n\n"two\\n"\n'],
)
def test_a_script_is_read_from_a_file(tmp_path, text):
    path = tmp_path / "script.jsonl"
    path.write_text(text)
    client = opened(f"scripted:{path}")
    assert isinstance(client, ScriptedClient)
    assert [client.complete(ASK).text for _ in range(2)] == ["one", "two\n"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "no reply"),
        ("", "no reply"),
        ("[1]", "reply 1 is int"),
        ('"a"\nb', ":2: neither"),
        ("{}", "is dict"),
    ],
)
def test_a_script_that_cannot_be_read(tmp_path, text, words):
    path = tmp_path / "script.jsonl"
    path.write_text(text)
    with pytest.raises(ConfigError, match=words):
        opened(f"scripted:{path}")


def test_a_script_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        opened(f"scripted:{tmp_path / 'no.json'}")


def test_a_real_call_by_name(server, monkeypatch):
    monkeypatch.setenv("RLM_BASE_URL", server.url + "/v1")
    monkeypatch.setenv("RLM_MODEL", "m-1")
    monkeypatch.setenv("RLM_API_KEY", KEY)
    client = open_client()
    assert (
        client.complete(ASK).text == "hi"
        and server.requests[0][1]["authorization"] == f"Bearer {KEY}"
    )
    client.close()


# -- settings
# ---------------------------------------------------------------------------------------------

SECRETS = {
    "embed_key": "RLM_EMBED_KEY",
    "index_key": "RLM_INDEX_KEY",
    "api_key": "RLM_API_KEY",
    "openai_api_key": "OPENAI_API_KEY",
    "anthropic_api_key": "ANTHROPIC_API_KEY",
}


def test_keys_come_from_the_environment_and_are_not_shown():
    loaded = config.load({variable: f"secret-{name}" for name, variable in SECRETS.items()})
    assert [getattr(loaded, name) for name in SECRETS] == [f"secret-{name}" for name in SECRETS]
    assert "secret" not in repr(loaded) + str(loaded)
    assert set(SECRETS) == config.ENVIRONMENT_ONLY


@pytest.mark.parametrize("name", SECRETS)
def test_a_key_in_a_file_is_refused_and_not_shown(tmp_path, name):
    path = tmp_path / "config.toml"
    path.write_text(f'{name} = "hush"')
    with pytest.raises(ConfigError, match="environment") as caught:
        config.load({"RLM_CONFIG": str(path)})
    assert "hush" not in str(caught.value)


def test_model_and_address_may_stand_in_a_file(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text(f'model = "m"\nsub_model = "s"\nbase_url = "{LOCAL}"\n')
    loaded = config.load({"RLM_CONFIG": str(path), "RLM_SUB_MODEL": "t"})
    assert (loaded.model, loaded.sub_model, loaded.base_url) == ("m", "t", LOCAL)


def test_importing_the_room_does_not_import_httpx():
    code = (
        "import sys, rlm.llm; print({'httpx', 'ssl', 'rlm.llm.openai', 'rlm.llm.anthropic'} &"
        " set(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
