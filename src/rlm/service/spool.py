"""The spool: from a hook to the worker, one small JSON file for each session that ended or went on.

A hook leaves it by rename, in place of an earlier one of its session, and says which store it
belongs to: the spool is one for all. The worker of that store queues it, then removes it; killed in
between, the next worker finds the job and only removes the file. A file that cannot be used is put
aside with the ending `.bad`, never lost. What only the worker needs is imported where it is used: a
hook is a process for every turn.
"""

from __future__ import annotations

import json
import os
import time

from rlm.hook_settings import default_store, project_name, store_key

TYPE_CHECKING = False  # importing typing costs every hook 3 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike
    from typing import Any

    from rlm.config import Settings
    from rlm.store.backend import MemoryBackend

FILE_BYTES = 1 << 20
_STAMP_DIGITS = 20


def leave(folder: str, name: str, document: Mapping[str, Any]) -> None:
    """Leave a file for the session of this name, in place of an earlier one. Raises OSError."""
    os.makedirs(folder, 0o700, exist_ok=True)
    stamp = f"{time.time_ns():0{_STAMP_DIGITS}}.json"
    earlier = [each for each in os.listdir(folder) if _is_of(each, name)]
    replace_file(os.path.join(folder, f"{name}-{stamp}"), json.dumps(document), sync=True)
    for each in earlier:
        _remove(os.path.join(folder, each))


def _is_of(file: str, name: str) -> bool:
    stamp = file.removeprefix(f"{name}-").removesuffix(".json")
    return len(stamp) == _STAMP_DIGITS and stamp.isdecimal()


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:  # another process was faster
        return


def replace_file(path: str, text: str, *, sync: bool) -> None:
    """Write a file whole: nobody sees a part of it. Raises OSError."""
    folder, name = os.path.split(path)
    os.makedirs(folder, 0o700, exist_ok=True)
    part = os.path.join(folder, f".{name}.{os.getpid()}.part")
    try:
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        _remove(part)
        raise


class SpoolFile:
    """What one file says. ValueError where it cannot be used, `tenant` as the hook noted it;
    `ours`: it belongs to the store of the settings. One of an older version names no store."""

    def __init__(self, path: str, settings: Settings) -> None:
        from rlm.store.types import Tenant

        if os.path.getsize(path) > FILE_BYTES:
            raise ValueError("it is too large")
        with open(path, "rb") as file:
            found = json.load(file)
        if not isinstance(found, dict):
            raise ValueError("it is no object")

        def text(name: str) -> str:
            value = found.get(name)
            return value if isinstance(value, str) else ""

        self.path, self.agent, self.cwd = path, text("agent"), text("cwd")
        self.session_id, self.transcript = text("session_id"), text("transcript_path")
        if not self.session_id or not self.transcript:
            raise ValueError("it names no session or no transcript")
        project = text("project") or project_name(settings.project, self.cwd or ".")
        self.tenant = Tenant(text("org") or settings.org, text("team") or settings.team, project)
        self.ours = (text("store") or store_key(default_store())) == store_key(settings.memory_db)


def list_spool(folder: str | PathLike[str]) -> list[str]:
    """The paths of the files that wait, by name; none without the folder."""
    try:
        names = sorted(each for each in os.listdir(folder) if each.endswith(".json"))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names]


def read_spool(folder: str | PathLike[str], settings: Settings) -> Iterator[SpoolFile]:
    """What the files of the spool say. What cannot be used is put aside."""
    for path in list_spool(folder):
        try:
            yield SpoolFile(path, settings)
        except FileNotFoundError:  # another worker was faster
            continue
        except (OSError, ValueError, RecursionError) as exc:
            _put_aside(path, str(exc))


def count_elsewhere(folder: str | PathLike[str], settings: Settings) -> int:
    """How many files wait for another store than that of the settings. Changes nothing."""
    count = 0
    for path in list_spool(folder):
        try:
            count += not SpoolFile(path, settings).ours
        except (OSError, ValueError, RecursionError):
            continue
    return count


def _put_aside(path: str, why: str) -> None:
    _warn(f"{path} cannot be used ({why}): put aside with the ending .bad")
    try:
        os.rename(path, f"{path}.bad")
    except OSError as exc:
        _warn(f"{path} stays: {exc}")


def _warn(what: str) -> None:
    import logging

    logging.getLogger("rlm.service").warning(what)


def take_in(
    store: MemoryBackend, folder: str | PathLike[str], settings: Settings | None = None
) -> int:
    """Queue the sessions of the spool that belong to the store's tenant, which is that of the
    settings; how many files."""
    from rlm import config
    from rlm.errors import NotFound, ValidationError
    from rlm.service.distiller import Distiller

    taken, distiller = 0, Distiller(store)
    for file in read_spool(folder, settings or config.load()):
        if file.tenant != store.tenant or not file.ours:
            continue
        try:
            distiller.queue_session(
                file.session_id, agent=file.agent or None, path=file.transcript, cwd=file.cwd
            )
        except (NotFound, ValidationError) as exc:
            _put_aside(file.path, str(exc))
        except OSError as exc:
            _warn(f"{file.path} stays in the spool: {exc}")
        else:
            _remove(file.path)
            taken += 1
    return taken
