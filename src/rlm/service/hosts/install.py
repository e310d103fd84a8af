"""Putting our entries into people's settings files, and taking them out.

All files of a host are read and planned before one is written: a file that cannot be read as what
it should be stops everything, and is left as it is. Before the first change a file is copied to the
folder `setup` beside our config file, with a note of how we left it. Whoever removes us gets that
copy back where the file is still as we left it; where somebody has edited it since, only our
entries are cut out, and the copy says which empty lists were there before us.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from rlm import config
from rlm.errors import ConfigError
from rlm.service.hosts import jsonc, tomltext
from rlm.service.hosts.entries import (
    SettingsFile,
    hook_entries,
    is_our_hook,
    is_our_server,
    server_entry,
    settings_files,
)
from rlm.store.lock import part_file


@dataclass(frozen=True)
class FileChange:
    """What is to become of one file; None is no file."""

    file: SettingsFile
    before: bytes | None
    after: bytes | None
    original: bytes | None
    """What the file would be without us."""
    note: str = ""

    @property
    def changes(self) -> bool:
        return self.before != self.after


def plan(host: str, scope: str, folder: Path, *, remove: bool = False) -> list[FileChange]:
    """What `apply` would do. ConfigError names a file that cannot be edited."""
    return [_plan_file(file, remove=remove) for file in settings_files(host, scope, folder)]


def apply(changes: list[FileChange], *, remove: bool = False) -> None:
    """Write the files that change, each whole, with a copy of what was there before."""
    for change in changes:
        if change.changes:
            _require_writable(change.file.path)
    for change in changes:
        if change.changes and not remove:
            _Backup(change.file.path).save(change.original, change.after)
        if change.changes:
            _write(change.file.path, change.after)
        if remove:
            _Backup(change.file.path).forget()


def our_entries(file: SettingsFile) -> dict[str, Any]:
    """Our entries in a file: by event, or `server`. ConfigError where it cannot be read."""
    text = _decode(file.path, _read(file.path))
    if not text.strip("\ufeff \t\r\n"):
        return {}
    with _name_in_errors(file.path):
        if file.holds == "server":
            found = _find_server(file, text)
            return {"server": found} if is_our_server(found) else {}
        root = jsonc.parse(text)
        return {str(path[1]): _value(root, path) for path in _our_hooks(root)}


# -- planning


def _plan_file(file: SettingsFile, *, remove: bool) -> FileChange:
    before = _read(file.path)
    text = _decode(file.path, before)
    with _name_in_errors(file.path):
        if before is not None and not _is_blank(text):
            _require_object(file, text)
        original = _original(file, before, text)
        if remove:
            return FileChange(file, before, original, original)
        if _is_installed(file, text):
            return FileChange(file, before, before, original)
        bare = "" if original is None else original.decode("utf-8")
        note = _foreign_server(file, bare)
        after = original if note else _add(file, bare, text).encode()
    return FileChange(file, before, after, original, note)


def _original(file: SettingsFile, before: bytes | None, text: str) -> bytes | None:
    """The file without us: the copy where nobody has edited it since, else with ours cut out."""
    backup = _Backup(file.path)
    if before is None:
        return None
    if backup.fits(before):
        return backup.content
    if _is_blank(text):
        return before
    bare = _without_ours(file, text, backup)
    made_by_us = backup.known and backup.content is None
    return (
        None if made_by_us and not file.is_toml and not jsonc.parse(bare).items else bare.encode()
    )


def _without_ours(file: SettingsFile, text: str, backup: _Backup) -> str:
    if file.is_toml:
        ours = is_our_server(tomltext.find(tomltext.parse(text), file.server_path))
        return tomltext.cut(text, file.server_path) if ours else text

    def was_there(path: jsonc.Path) -> bool:
        found = jsonc.find(backup.root, path) if backup.root else None
        return found is not None and all(isinstance(key, str) for key in path)

    if file.holds == "server":
        ours = is_our_server(_find_server(file, text))
        return jsonc.cut(text, file.server_path, was_there) if ours else text
    while path := next(_our_hooks(jsonc.parse(text)), None):
        text = jsonc.cut(text, path, was_there)
    unused = backup.root is not None or not _events(jsonc.parse(text))
    if backup.known and unused and not was_there(("version",)):
        text = jsonc.cut(text, ("version",), was_there)  # Cursor's, without which it reads no hooks
    return text


def _our_hooks(root: jsonc.JsonNode) -> Iterator[jsonc.Path]:
    """Where our handlers stand: `hooks.EVENT[n]`, or `hooks.EVENT[n].hooks[m]`."""
    for event in _events(root):
        for place, group in enumerate(event.node.items):
            if is_our_hook(group.node.value):
                yield ("hooks", event.key, place)
            inner = jsonc.find(group.node, ("hooks",))
            for number, handler in enumerate(inner.items if inner else ()):
                if is_our_hook(handler.node.value):
                    yield ("hooks", event.key, place, "hooks", number)


def _events(root: jsonc.JsonNode) -> list[jsonc.Item]:
    hooks = jsonc.find(root, ("hooks",))
    return hooks.items if hooks and hooks.kind == "object" else []


def _is_installed(file: SettingsFile, text: str) -> bool:
    """Whether the file holds exactly what we would put in."""
    if _is_blank(text):
        return False
    if file.holds == "server":
        found = _find_server(file, text)
        return bool(found == server_entry(file.host, found))
    root = jsonc.parse(text)
    entries = hook_entries(file.host)
    wanted = [(event, _handler_of(entry)) for event, entry in entries.items()]
    return [(path[1], _value(root, path)) for path in _our_hooks(root)] == wanted


def _handler_of(entry: dict[str, Any]) -> Any:
    return entry["hooks"][0] if "hooks" in entry else entry


def _add(file: SettingsFile, text: str, before: str) -> str:
    """The text with our entries; of nothing a new file. `before` has those that were there."""
    is_server = file.holds == "server"
    found = _find_server(file, before) if is_server and not _is_blank(before) else None
    if file.is_toml:
        return tomltext.insert(text, file.server_path, server_entry(file.host, found))
    blank = _is_blank(text)
    text = "{\n}\n" if blank else text
    if is_server:
        path, name = file.server_path
        return jsonc.insert(text, (path,), server_entry(file.host, found), name)
    if file.host == "cursor" and jsonc.find(jsonc.parse(text), ("version",)) is None:
        text = jsonc.insert(text, (), 1, "version")
    for event, entry in hook_entries(file.host).items():
        text = jsonc.insert(text, ("hooks", event), entry)
    return text


def _foreign_server(file: SettingsFile, text: str) -> str:
    """Why a server of our name is left alone; '' where there is none."""
    if file.holds != "server" or _is_blank(text) or _find_server(file, text) is None:
        return ""
    name = ".".join(file.server_path)
    return f"{file.path} has another {name}, which was left: rename it to have ours beside it"


def _find_server(file: SettingsFile, text: str) -> Any:
    if file.is_toml:
        return tomltext.find(tomltext.parse(text), file.server_path)
    return _value(jsonc.parse(text), file.server_path)


def _value(root: jsonc.JsonNode, path: jsonc.Path) -> Any:
    found = jsonc.find(root, path)
    return None if found is None else found.value


def _require_object(file: SettingsFile, text: str) -> None:
    if file.is_toml:
        tomltext.parse(text)
    elif jsonc.parse(text).kind != "object":
        raise jsonc.NotJSON("it is no object")


# -- files


@contextmanager
def _name_in_errors(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into an error that names it."""
    try:
        yield
    except (jsonc.NotJSON, tomltext.NotTOML) as exc:
        what = "TOML" if path.suffix == ".toml" else "JSON"
        why = f"{path} cannot be edited as {what} ({exc}): nothing was changed"
        raise ConfigError(f"{why}; correct that place and try again") from exc


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as exc:
        raise ConfigError(f"{path} cannot be read: {exc.strerror}; nothing was changed") from exc


def _decode(path: Path, data: bytes | None) -> str:
    try:
        return "" if data is None else data.decode("utf-8")
    except UnicodeDecodeError as exc:
        why = f"{path} is not UTF-8 text (byte {exc.start + 1}): nothing was changed"
        raise ConfigError(f"{why}; save it as UTF-8 and try again") from exc


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _require_writable(path: Path) -> None:
    target = path.resolve()
    if target.exists():
        mode = target.stat().st_mode
        writable = bool(mode & 0o222) and os.access(target, os.W_OK)
    else:
        above = next(each for each in target.parents if each.exists())
        writable = above.is_dir() and os.access(above, os.W_OK)
    if not writable:
        raise ConfigError(f"{path} cannot be written: nothing was changed; check its permissions")


def _write(path: Path, data: bytes | None) -> None:
    """Through a symbolic link to the file itself, with its permissions kept."""
    target = path.resolve()
    if data is None:
        target.unlink(missing_ok=True)
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
    with part_file(target) as part:
        part.write_bytes(data)
        part.chmod(mode)


class _Backup:
    """The copy of one file as it was before us."""

    def __init__(self, path: Path) -> None:
        name = sha256(str(path.absolute()).encode("utf-8", "replace")).hexdigest()[:16]
        self._folder = config.config_path().parent / "setup"
        self._note = self._folder / f"{name}.json"
        self._copy = self._folder / f"{name}-{path.name}"
        self._path = path

    @property
    def content(self) -> bytes | None:
        """What the file held; None where there was none."""
        try:
            return self._copy.read_bytes()
        except FileNotFoundError:
            return None

    @property
    def known(self) -> bool:
        """Whether we have changed this file and were not removed since."""
        return self._note.exists()

    @property
    def root(self) -> jsonc.JsonNode | None:
        """The copy, read; None where there is none or it says nothing."""
        try:
            return jsonc.parse((self.content or b"").decode("utf-8"))
        except ValueError:
            return None

    def fits(self, now: bytes) -> bool:
        """Whether the file is as we left it."""
        try:
            noted = json.loads(self._note.read_bytes())["left_sha256"]
        except (OSError, ValueError, KeyError, TypeError):
            return False
        return bool(noted == sha256(now).hexdigest())

    def save(self, original: bytes | None, left: bytes | None) -> None:
        note = {"path": str(self._path), "left_sha256": sha256(left or b"").hexdigest()}
        if original is None:
            self._copy.unlink(missing_ok=True)
        else:
            _write(self._copy, original)
        _write(self._note, json.dumps(note).encode())

    def forget(self) -> None:
        self._note.unlink(missing_ok=True)
        self._copy.unlink(missing_ok=True)
