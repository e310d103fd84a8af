"""Of all settings those that a hook needs, read in a tenth of the time.

`rlm.config`, which takes variables, defaults and the config file from here, brings dataclasses and
pathlib along: 20 of the 45 ms that a hook took. It checks the whole file; this looks at nothing
that a hook does not need.
"""

from __future__ import annotations

import os

from rlm.errors import ConfigError

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

DEFAULT_CONFIG = "~/.config/rlm/config.toml"
HOOK_SETTINGS = {
    "memory_db": ("~/.claude/rlm-memory.db", "RLM_MEMORY_DB"),
    "org": ("local", "RLM_ORG"),
    "team": ("local", "RLM_TEAM"),
    "project": ("", "RLM_PROJECT"),
    "cache_dir": ("~/.cache/rlm", "RLM_CACHE_DIR"),
    "spool": ("~/.claude/rlm-spool", "RLM_SPOOL"),
    "disabled": ("", "RLM_DISABLED"),
}
"""By name the default and the variable."""


class HookSettings:
    """The fields of `rlm.config.Settings` that are named above: from the environment, the content
    of the config file, the default. ConfigError for a value that is no text."""

    memory_db: str
    org: str
    team: str
    project: str
    cache_dir: str
    spool: str
    disabled: str

    def __init__(self, found: Mapping[str, Any]) -> None:
        for name, (default, variable) in HOOK_SETTINGS.items():
            value = os.environ.get(variable) or found.get(name, default)
            if not isinstance(value, str):
                raise ConfigError(f"{name} in the config file: {value!r} is not text")
            setattr(self, name, value)


def load() -> HookSettings:
    """The settings in force. ConfigError where there is a config file that cannot be used."""
    return HookSettings(read_config_file(os.environ.get("RLM_CONFIG")))


def read_config_file(named: str | None) -> dict[str, Any]:
    """What the config file holds; nothing where none is named and none is in the default place.

    ConfigError for one that is missing or is no TOML.
    """
    path = os.path.expanduser(named or DEFAULT_CONFIG)
    if not os.path.isfile(path):
        if named:
            why = f"RLM_CONFIG names {named}, which is not a file: create it or unset RLM_CONFIG"
            raise ConfigError(why)
        return {}
    import tomllib  # only when there is a file: everything starts faster without it

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise ConfigError(f"{path} cannot be read as TOML: {exc}") from exc
