"""Endpoints named in the config file, with their secrets from the environment."""

from __future__ import annotations

import base64

import pytest
from endpoint_server import TOKEN, BadServer

from rlm import config
from rlm.errors import ConfigError, OntologyError
from rlm.ontology.remote.endpoints import find_endpoint, from_settings, open_endpoint

PLAIN = '[endpoints.boats]\nurl = "https://data.example.org/sparql"\n'


@pytest.fixture
def written(tmp_path):
    """Writes a config file; returns the environment that names it."""

    def write(text, **variables):
        path = tmp_path / "config.toml"
        path.write_text(text)
        return {"RLM_CONFIG": str(path), **variables}

    return write


def test_a_table_and_its_defaults(written):
    env = written('model = "offline"\n' + PLAIN)
    assert config.load(env).model == "offline"
    found = find_endpoint("boats", env)
    assert found.address.url == "https://data.example.org/sparql"
    assert (
        found.settings.method,
        found.settings.timeout_s,
        found.settings.max_bytes,
        found.settings.allow_private,
    ) == (
        "auto",
        30.0,
        8 << 20,
        False,
    )
    assert found.authorization == ""
    assert find_endpoint("https://data.example.org/sparql", env) == found


def test_every_option(written):
    text = (
        PLAIN
        + 'method = "post"\ntimeout_s = 5\nmax_bytes = 1000\nallow_private = true\ndefault_graph ='
        ' "urn:g"\n'
    )
    found = find_endpoint("boats", written(text))
    assert (found.settings.method, found.settings.timeout_s, found.settings.max_bytes) == (
        "post",
        5.0,
        1000,
    )
    assert (found.settings.allow_private, found.settings.default_graph) == (True, "urn:g")


def test_secrets_come_from_the_environment_and_are_not_shown(written):
    env = written(
        PLAIN.replace("boats", "my-boats") + 'auth = "bearer"\n',
        RLM_ENDPOINT_MY_BOATS_TOKEN=f" {TOKEN}\n",
    )
    found = find_endpoint("my-boats", env)
    assert found.authorization == f"Bearer {TOKEN}"
    assert TOKEN not in repr(found) + repr(config.endpoints(env))
    env = written(
        PLAIN + 'auth = "basic"\n',
        RLM_ENDPOINT_BOATS_USER="anna",
        RLM_ENDPOINT_BOATS_PASSWORD="pä ss:1",
    )
    found = find_endpoint("boats", env)
    assert base64.b64decode(found.authorization.removeprefix("Basic ")).decode() == "anna:pä ss:1"
    assert "RLM_ENDPOINT_BOATS_PASSWORD" in found.access


@pytest.mark.parametrize(
    ("auth", "variables", "said"),
    [
        ("bearer", {}, "RLM_ENDPOINT_BOATS_TOKEN is not set"),
        ("bearer", {"RLM_ENDPOINT_BOATS_TOKEN": "se cret"}, "holds characters"),
        ("bearer", {"RLM_ENDPOINT_BOATS_TOKEN": "se\ncret"}, "holds characters"),
        ("bearer", {"RLM_ENDPOINT_BOATS_TOKEN": "sécret"}, "holds characters"),
        ("basic", {"RLM_ENDPOINT_BOATS_PASSWORD": "secret"}, "RLM_ENDPOINT_BOATS_USER is not set"),
        ("basic", {"RLM_ENDPOINT_BOATS_USER": "anna"}, "RLM_ENDPOINT_BOATS_PASSWORD is not set"),
        (
            "basic",
            {"RLM_ENDPOINT_BOATS_USER": "a:b", "RLM_ENDPOINT_BOATS_PASSWORD": "secret"},
            "colon",
        ),
    ],
)
def test_secrets_that_are_missing_or_cannot_be(written, auth, variables, said):
    with pytest.raises(ConfigError, match=said) as caught:
        find_endpoint("boats", written(PLAIN + f'auth = "{auth}"\n', **variables))
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("key", ["token", "user", "password"])
def test_a_secret_in_the_file_is_an_error(written, key):
    with pytest.raises(
        ConfigError, match=f"set RLM_ENDPOINT_BOATS_{key.upper()} in the environment"
    ) as caught:
        config.endpoints(written(PLAIN + f'{key} = "hunter2"\n'))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "endpoints = 3\n",
        "[endpoints]\nboats = 3\n",
        "[endpoints.boats]\n",
        "[endpoints.Boats]\nurl = 'https://h/'\n",
        "[endpoints.'a b']\nurl = 'https://h/'\n",
        "[endpoints.a-b]\nurl = 'https://h/'\n[endpoints.a_b]\nurl = 'https://h/'\n",
        PLAIN + "urll = 'x'\n",
        PLAIN + "method = 'put'\n",
        PLAIN + "auth = 'digest'\n",
        PLAIN + "timeout_s = 0\n",
        PLAIN + "timeout_s = nan\n",
        PLAIN + "timeout_s = true\n",
        PLAIN + "max_bytes = -1\n",
        PLAIN + "max_bytes = 1.5\n",
        PLAIN + "allow_private = 1\n",
        PLAIN + "default_graph = 1\n",
    ],
)
def test_a_table_that_cannot_be_used(written, text):
    env = written(text)
    with pytest.raises(ConfigError, match="endpoint"):
        config.endpoints(env)


@pytest.mark.parametrize("url", ["ftp://h/", "https://anna:hunter2@h/", "h"])
def test_a_url_that_cannot_be_used_names_the_endpoint(written, url):
    with pytest.raises(ConfigError, match="endpoint 'boats'") as caught:
        find_endpoint("boats", written(f'[endpoints.boats]\nurl = "{url}"\n'))
    assert "hunter2" not in str(caught.value)


def test_credentials_do_not_go_over_plain_http():
    given = config.EndpointSettings("boats", "http://data.example.org/", auth="bearer", token=TOKEN)
    with pytest.raises(ConfigError, match="use https"):
        from_settings(given)


def test_a_name_that_is_not_there(written):
    env = written(PLAIN)
    with pytest.raises(OntologyError, match="no endpoint is called 'boat'; known: boats"):
        find_endpoint("boat", env)
    with pytest.raises(
        OntologyError, match=r"only endpoints of the config are asked: add \[endpoints.NAME\]"
    ):
        find_endpoint("https://other.example/", env)
    with pytest.raises(OntologyError, match=r"there are none: add \[endpoints.boats\]"):
        find_endpoint("boats", {"RLM_CONFIG": written("")["RLM_CONFIG"]})


def test_an_endpoint_is_opened_by_its_name(written):
    with BadServer() as server:
        env = written(f'[endpoints.boats]\nurl = "{server.url}"\nallow_private = true\n')
        with open_endpoint("boats", env) as engine:
            assert (engine.name, engine.source) == ("boats", server.url)
            assert server.requests == []
            assert len(engine.query("SELECT ?x WHERE { ?x ?y ?z }").rows) == 1
