"""A worker beside a server: sessions that ended are distilled, and the mirror for hooks is kept up
to date, while a coding agent works.

Each round is a process of its own, `rlm worker --once`, that ends by itself and is ended with the
server. It asks no model unless the settings name one: a key that happens to be there is not enough.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlm.cli.session import Session
from rlm.errors import ConfigError
from rlm.llm.types import OFFLINE
from rlm.service.spool import count_elsewhere, list_spool
from rlm.worker import Aside, start_aside

FIRST_S, EVERY_S = 2.0, 600.0
"""A client's first calls are answered before the first round."""
PARENT_S = 1.0
"""How often it is looked whether the parent lives."""
MODES = ("auto", "manual")


@contextmanager
def distil_beside(session: Session) -> Iterator[None]:
    """Distil what is in the spool from time to time, until the block ends."""
    settings = session.settings
    if settings.distill not in MODES:
        why = f"unknown value {settings.distill!r}: choose {' or '.join(MODES)} (RLM_DISTILL)"
        raise ConfigError(why)
    if settings.distill != MODES[0]:
        yield
        return
    worker = _Worker(session)
    worker.start()
    try:
        yield
    finally:
        worker.end()


class _Worker(threading.Thread):
    """Looks at the spool, and runs the worker when something is there or a mirror is due."""

    def __init__(self, session: Session) -> None:
        super().__init__(name="distil", daemon=True)
        self._session, self._spool = session, Path(session.settings.spool).expanduser()
        self._ended, self._lock = threading.Event(), threading.Lock()
        # A store of the settings is the worker's too: a password in its URL stays out of `ps`.
        named = () if session.db is None else ("--db", session.db)
        model = session.settings.model or OFFLINE
        options = (*named, "--model", model, "--beside", str(os.getpid()))
        self._args = ("-m", "rlm", "worker", *options)
        self._process: Aside | None = None

    def run(self) -> None:
        wait = FIRST_S
        while not self._ended.wait(wait):
            wait = EVERY_S
            if self._has_sessions() or self._session.mirror_is_due():
                with self._lock, suppress(OSError):
                    self._process = None if self._ended.is_set() else start_aside(*self._args)
                if self._process is not None:
                    self._process.wait()

    def _has_sessions(self) -> bool:
        others = count_elsewhere(self._spool, self._session.settings)
        return len(list_spool(self._spool)) > others

    def end(self) -> None:
        """Killed at any point, a worker loses nothing and repeats nothing."""
        self._ended.set()
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.kill()
                self._process.wait()


def end_with_parent(parent: int) -> None:
    """End this process when the one that started it is gone, however it went: a client that was
    killed may leave its pipe open in other hands."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_S)
        os._exit(0)

    threading.Thread(target=watch, name="parent", daemon=True).start()
