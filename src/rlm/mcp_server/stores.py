"""Stores that wait open, so that a call finds one ready.

A store is lent to one call at a time: calls of one tenant do not wait for each other's reads. A
store is opened for one tenant, to read or to write, and lent only for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from rlm.errors import RLMError
from rlm.store.types import Tenant

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

MOST_IDLE = 16
"""So many stores wait open, two for each project that is busy; each has its own connection and its
own copy of the sign codes."""

Opener = Callable[[Tenant, bool], "MemoryBackend"]
"""Opens a store for a tenant; True: to read only."""


class StorePool:
    """Lends stores, and closes those that waited longest when there are many."""

    def __init__(self, open_store: Opener) -> None:
        self._open = open_store
        self._lock = threading.Lock()
        self._idle: list[tuple[Tenant, bool, MemoryBackend]] = []
        self._closed = False

    @contextmanager
    def lend(self, tenant: Tenant, *, read_only: bool = False) -> Iterator[MemoryBackend]:
        """A store for this tenant and for nobody else, until the block ends."""
        store = self._take(tenant, read_only) or self._open(tenant, read_only)
        try:
            yield store
        finally:
            self._give_back(tenant, read_only, store)

    def _take(self, tenant: Tenant, read_only: bool) -> MemoryBackend | None:
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if self._idle[place][:2] == (tenant, read_only):
                    return self._idle.pop(place)[2]
        return None

    def _give_back(self, tenant: Tenant, read_only: bool, store: MemoryBackend) -> None:
        with self._lock:
            self._idle.append((tenant, read_only, store))
            most = 0 if self._closed else MOST_IDLE
            leaving = self._idle[: max(0, len(self._idle) - most)]
            del self._idle[: len(leaving)]
        for *_, each in leaving:
            _close(each)

    def close(self) -> None:
        """Close what waits; what is lent is closed when it comes back."""
        with self._lock:
            self._closed, leaving, self._idle = True, self._idle, []
        for *_, store in leaving:
            _close(store)


def _close(store: MemoryBackend) -> None:
    with suppress(RLMError):  # every change is in the file already: only counts may be lost
        store.close()
