"""Taking in what hooks left: one small JSON file for each session that ended or went on.

A file is queued, then removed; killed in between, the next worker finds the job and only removes
the file. A file that cannot be used is put aside with the ending `.bad`, never lost.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlm import config
from rlm.errors import NotFound, RLMError, StoreLocked, ValidationError
from rlm.service.distiller import Distiller
from rlm.store.backend import MemoryBackend
from rlm.store.types import OUTCOMES

log = logging.getLogger("rlm.service")

FILE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class SpoolFile:
    """What one file says."""

    path: Path
    agent: str
    session_id: str
    transcript: str
    cwd: str
    outcome: str = "mixed"


def read_spool(folder: str | Path) -> Iterator[SpoolFile]:
    """The files of the spool, the oldest first. What cannot be read is put aside."""
    try:
        files = sorted(Path(folder).expanduser().glob("*.json"))
    except OSError:
        return
    for path in files:
        try:
            yield _read(path)
        except FileNotFoundError:  # another worker was faster
            continue
        except (OSError, ValueError, RecursionError) as exc:
            _put_aside(path, str(exc))


def _read(path: Path) -> SpoolFile:
    if path.stat().st_size > FILE_BYTES:
        raise ValueError("it is too large")
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict):
        raise ValueError("it is no object")

    def text(*names: str) -> str:
        values: list[Any] = [found.get(name) for name in names]
        return next((value for value in values if isinstance(value, str) and value), "")

    session = text("session_id", "conversation_id", "session")
    transcript = text("transcript_path", "path", "transcript")
    if not session or not transcript:
        raise ValueError("it names no session or no transcript")
    outcome = text("outcome")
    agent = text("agent", "host")
    outcome = outcome if outcome in OUTCOMES else "mixed"
    return SpoolFile(path, agent, session, transcript, text("cwd"), outcome)


def _put_aside(path: Path, why: str) -> None:
    log.warning("%s cannot be used (%s): put aside as %s.bad", path, why, path.name)
    try:
        path.rename(path.with_name(path.name + ".bad"))
    except OSError as exc:
        log.warning("%s stays: %s", path, exc)


def project_of(file: SpoolFile, settings: config.Settings) -> str:
    """The project that a session belongs to: that of the folder in which it ran."""
    return config.project_name(settings, Path(file.cwd) if file.cwd else None)


def take_in(
    store: MemoryBackend, folder: str | Path, settings: config.Settings | None = None
) -> int:
    """Queue the sessions of the spool that belong to the store's project; how many files."""
    settings = settings or config.load()
    taken, distiller = 0, Distiller(store)
    for file in read_spool(folder):
        if project_of(file, settings) != store.tenant.project:
            continue
        try:
            distiller.queue_session(
                file.session_id, file.outcome, agent=file.agent or None, path=file.transcript,
                cwd=file.cwd,
            )  # fmt: skip
        except StoreLocked:
            raise
        except (NotFound, ValidationError) as exc:
            _put_aside(file.path, str(exc))
            continue
        except (RLMError, OSError) as exc:
            log.warning("%s stays in the spool: %s", file.path, exc)
            continue
        file.path.unlink(missing_ok=True)
        taken += 1
    return taken
