"""Writing the cache beside the work: a worker parses the file to disk, another answers from memory.

A thread waits for that worker, because nobody else does: the entry is there as soon as it is whole,
whether or not the engine is asked anything more. Whatever goes wrong costs the entry and nothing
else; the folder that was built in is removed in every case.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rlm.ontology.engine.cache import Cache, CacheEntry
from rlm.ontology.engine.worker import Gone, Worker

FRAME_BYTES = 1 << 20
DELAY_S = 1.0
"""The cache gives way to the first questions, unless somebody waits for it."""


class CacheWriter:
    """One build. `ended` is called once, in the thread: with the entry, or None and the reason."""

    def __init__(
        self,
        cache: Cache,
        building: Path,
        order: dict[str, Any],
        key: str,
        ended: Callable[[CacheEntry | None, str], None],
    ) -> None:
        """Takes over the folder `building`, which is removed when it was not kept."""
        self._cache, self._building, self._order = cache, building, order
        self._key, self._ended = key, ended
        self._worker: Worker | None = None
        self._stopped, self._wanted = False, threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"rlm-cache-{key[:8]}", daemon=True)
        atexit.register(self.stop)
        self._thread.start()

    def wait(self, wait_s: float) -> bool:
        """Whether it has ended, after at most so long."""
        self._wanted.set()
        self._thread.join(wait_s)
        return not self._thread.is_alive()

    def stop(self, wait_s: float = 0.0) -> None:
        """Let it end within `wait_s`, else end it: no process and no half an entry is left."""
        if threading.current_thread() is self._thread:
            return
        self._stopped = wait_s <= 0
        if self.wait(wait_s):
            return
        self._stopped = True
        if self._worker is not None:
            self._worker.interrupt()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._build()
        finally:
            self._cache.discard(self._building)
            atexit.unregister(self.stop)

    def _build(self) -> None:
        entry, why = None, ""
        try:
            self._wanted.wait(DELAY_S)
            if self._stopped:
                return
            worker = self._start_worker()
            try:
                answer = worker.receive(time.monotonic() + float(self._order["timeout_s"]))
            finally:
                worker.kill()
            if answer["op"] != "built":
                why = str(answer.get("message", answer["op"]))
            elif not self._stopped and answer["facts"]["sha256"] == self._order["sha256"]:
                entry = self._cache.keep(self._building, self._key, answer["facts"])
        except (Gone, OSError) as exc:
            why = "" if self._stopped else str(exc)
        finally:
            self._ended(entry, why)

    def _start_worker(self) -> Worker:
        self._worker = Worker(self._order, frame_bytes=FRAME_BYTES)
        if self._stopped:  # it may have been said before there was anybody to end
            self._worker.interrupt()
        return self._worker
