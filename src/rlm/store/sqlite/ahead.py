"""Do the next piece of work while the caller is busy with this one. One thread, one step ahead."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def one_ahead(work: Callable[[Given], Made], pieces: Sequence[Given]) -> Iterator[Made]:
    """`map(work, pieces)`, in order, with the next result in the making while one is used. Errors are raised here."""
    ahead = _Step(work, pieces[0]) if pieces else None
    for place in range(1, len(pieces) + 1):
        assert ahead is not None
        made = ahead.result()
        ahead = _Step(work, pieces[place]) if place < len(pieces) else None
        try:
            yield made
        except GeneratorExit:
            if ahead is not None:
                ahead.wait()
            raise


class _Step(Generic[Given, Made]):
    def __init__(self, work: Callable[[Given], Made], piece: Given) -> None:
        self._error: BaseException | None = None
        self._made: list[Made] = []
        self._thread = threading.Thread(target=self._run, args=(work, piece), daemon=True)
        self._thread.start()

    def _run(self, work: Callable[[Given], Made], piece: Given) -> None:
        try:
            self._made.append(work(piece))
        except BaseException as exc:  # carried to the caller's thread
            self._error = exc

    def wait(self) -> None:
        self._thread.join()

    def result(self) -> Made:
        self.wait()
        if self._error is not None:
            raise self._error
        return self._made[0]
