"""One job in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Background(Generic[T]):
    """A job that leaves Python's lock alone, as the store and hashing do, and its result."""

    def __init__(self, job: Callable[[], T]) -> None:
        self._job = job
        self._found: list[T] = []
        self._failed: BaseException | None = None
        self._thread: threading.Thread | None = threading.Thread(target=self._run, daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # there is no memory left for one
            self._thread = None
            self._run()

    def result(self) -> T:
        """What came of it. Raises what the job raised."""
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self._found[0]

    def _run(self) -> None:
        try:
            self._found.append(self._job())
        except BaseException as exc:  # raised again where it is wanted
            self._failed = exc
