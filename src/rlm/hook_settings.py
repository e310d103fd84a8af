"""Of all settings those that a hook needs, read in a tenth of the time.

`rlm.config`, which takes variables and defaults from here, brings dataclasses and pathlib along: 20
of the 45 ms that a hook took. So a hook only asks it where there is a config file.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """The fields of `rlm.config.Settings` that are named above."""

    memory_db: str
    org: str
    team: str
    project: str
    cache_dir: str
    spool: str
    disabled: str

    def __init__(self, values: Mapping[str, str]) -> None:
        self.__dict__.update({name: values[name] for name in HOOK_SETTINGS})


def from_environment() -> HookSettings:
    """The settings of the environment and the defaults, whatever a file says."""
    env = os.environ
    return HookSettings({n: env.get(name) or value for n, (value, name) in HOOK_SETTINGS.items()})


def names_config_file() -> bool:
    """Whether a config file is named, or there is one in the default place."""
    named = os.environ.get("RLM_CONFIG")
    return bool(named) or os.path.isfile(os.path.expanduser(DEFAULT_CONFIG))
