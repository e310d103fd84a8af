"""The project that work in a folder belongs to: the name of the git repository around it.

Reads `.git` itself, because starting git costs more than a search, and with `os.path`, because
pathlib costs a hook 3 ms. Nothing here raises for a folder that cannot be read.
"""

from __future__ import annotations

import os.path
from os import PathLike

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
