"""The settings that a hook needs, read in a tenth of the time, the project of a folder, which store
it is, and where the mirror of a server's store lies.

`rlm.config`, which takes variables, defaults and the config file from here, brings dataclasses and
pathlib along: 20 of the 45 ms that a hook took. It checks the whole file; this looks at nothing
that a hook does not need.

A project is the git repository around a folder. `.git` is read here, because starting git costs
more than a search; nothing is raised for a folder that cannot be read.
"""

from __future__ import annotations

import os
from os import PathLike

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


def default_store() -> str:
    """The store of who names none, neither in the environment nor with an option."""
    named = read_config_file(os.environ.get("RLM_CONFIG")).get("memory_db")
    return named if isinstance(named, str) else HOOK_SETTINGS["memory_db"][0]


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


# -- the store, and its mirror

SERVERS = ("postgresql", "postgres")
"""How the URL of a store begins that a server keeps."""
MIRROR = "mirror"
"""The folder in the cache."""
_PLACE = ("host=", "hostaddr=", "port=", "dbname=", "service=")


def is_url(store: str) -> bool:
    """Whether a store is a server's database, and no file."""
    return store.partition("://")[0] in SERVERS


def mirror_path(cache_dir: str, url: str, tenant: tuple[str, str, str]) -> str:
    """The file that a hook reads in the place of a server's store: one for each database and
    tenant (organisation, team, project). Of the URL only what says where the database is goes into
    its name: not even a hash of the password is kept."""
    name = _digest(*_place(url), tenant)
    return os.path.join(os.path.expanduser(cache_dir), MIRROR, f"{name}.db")


def store_key(store: str) -> str:
    """What tells a store from every other on this machine: the path of its file, or a hash of where
    a server has it. A password is in neither."""
    if "://" in store or store.partition(":")[0] in SERVERS:
        return _digest(*_place(store))
    path = store.removeprefix("sqlite:").removeprefix("json:")
    return os.path.realpath(os.path.expanduser(path))


def _place(url: str) -> tuple[str, list[str]]:
    """Where a server's database is, and nothing else that stands in its URL."""
    authority, slash, rest = url.partition("://")[2].partition("/")
    place, _, given = f"{authority.rpartition('@')[2]}{slash}{rest}".partition("?")
    return place, sorted(each for each in given.split("&") if each.startswith(_PLACE))


def _digest(*parts: object) -> str:
    from hashlib import sha256  # only for such a store: it costs a hook 3 ms

    return sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:32]


# -- the project

Folder = str | PathLike[str]


def project_name(named: str, start: Folder = ".") -> str:
    """The project as a setting names it, else the git repository around `start`, else `local`."""
    return named or git_project(start) or "local"


def git_project(start: Folder = ".") -> str | None:
    """The git repository around `start`: `owner/name` of its origin, else `git_local_name`."""
    common = _git_folder(start)
    return None if common is None else _origin_name(common) or _local_name(common)


def git_local_name(start: Folder = ".") -> str | None:
    """The name of a repository without an origin: its folder's, and a hash of where it lies.

    Folders that are named alike are two projects, and all worktrees of a repository are one.
    """
    common = _git_folder(start)
    return None if common is None else _local_name(common)


def _git_folder(start: Folder) -> str | None:
    """The folder `.git` of the repository around `start`; of a worktree that of its repository."""
    try:
        folder = os.path.realpath(start)
    except OSError:  # the working directory is gone
        return None
    while not os.path.exists(mark := os.path.join(folder, ".git")):
        folder, below = os.path.dirname(folder), folder
        if folder == below:
            return None
    if os.path.isdir(mark):
        return mark
    try:
        return _common_folder(mark)
    except OSError:
        return mark


def _common_folder(mark: str) -> str:
    """`.git` is a file in worktrees and submodules: follow it to the common folder."""
    target = _read(mark).partition("gitdir:")[2].strip()
    folder = os.path.realpath(os.path.join(os.path.dirname(mark), target))
    common = os.path.join(folder, "commondir")
    if not os.path.isfile(common):
        return folder
    return os.path.realpath(os.path.join(folder, _read(common).strip()))


def _origin_name(common: str) -> str | None:
    try:
        lines = _read(os.path.join(common, "config")).splitlines()
    except OSError:
        return None
    in_origin = False
    for line in map(str.strip, lines):
        if line.startswith("["):
            in_origin = line.replace("'", '"') == '[remote "origin"]'
        elif in_origin and line.startswith("url"):
            path = line.partition("=")[2].strip().rstrip("/").removesuffix(".git")
            parts = [p for p in path.replace(":", "/").split("/") if p and "@" not in p]
            return "/".join(parts[-2:]) or None
    return None


def _local_name(common: str) -> str:
    from hashlib import sha256  # only here: it costs a hook 3 ms

    above, name = os.path.split(common)
    folder = os.path.basename(above) if name == ".git" else name
    digest = sha256(common.encode("utf-8", "replace")).hexdigest()
    return f"{folder or 'root'}-{digest[:6]}"


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
