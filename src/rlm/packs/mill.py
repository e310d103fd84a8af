"""Other processes that do the thinking of a large import while this one writes.

A worker is a fork that takes frames of bytes, hands each to one function and sends back what it returns. It
holds no database and no file of ours but its two pipes, and ends when they close: however this process dies, no
worker outlives it. Each worker has at most one frame, and results come back in the order of the frames.

Forking is safe only where no other thread of ours runs, and is done only on Linux. `workers_for` says how many
are worth it; with none, the caller does the work itself.
"""

from __future__ import annotations

import contextlib
import gc
import os
import struct
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import BinaryIO, NoReturn, Self

from rlm.errors import RLMError

Work = Callable[[bytes], bytes]
WORTH_BYTES = 3 << 18
"""From a file of this size on, starting workers pays."""
_HEAD = struct.Struct("<?Q")


def workers_for(size: int) -> int:
    """How many workers an input of `size` bytes deserves here."""
    if size < WORTH_BYTES or not sys.platform.startswith("linux") or threading.active_count() > 1:
        return 0
    cores = len(os.sched_getaffinity(0))
    return min(cores, 4) if cores > 1 else 0


class Mill:
    """A `with` block around some workers."""

    def __init__(self, work: Work, workers: int) -> None:
        self._all: list[_Worker] = []
        try:
            for _ in range(workers):
                self._all.append(_Worker(work, [*self._all]))
        except OSError:
            if not self._all:
                raise

    def map(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """What the function returns for each frame, in order. What it raises is raised here as RLMError."""
        idle, busy = deque(self._all), deque[_Worker]()
        for frame in frames:
            if not idle:
                done = busy.popleft()
                result = done.receive()
                done.send(frame)  # it goes on while the caller uses the result
                busy.append(done)
                yield result
            else:
                worker = idle.popleft()
                worker.send(frame)
                busy.append(worker)
        for worker in idle:
            worker.close()
        while busy:
            done = busy.popleft()
            result = done.receive()
            done.close()  # it ends while the caller uses the result
            yield result

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._all:
            worker.close()
        for worker in self._all:
            worker.wait()


class _Worker:
    """One forked process and the two pipes to it."""

    def __init__(self, work: Work, others: list[_Worker]) -> None:
        taken, given = os.pipe(), os.pipe()
        for pipe in (taken, given):
            _widen(pipe[1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads of numpy's; they take no lock of ours
            self._pid = os.fork()
        if self._pid == 0:
            _serve(work, taken[0], given[1], [taken[1], given[0]], others)
        os.close(taken[0])
        os.close(given[1])
        self._to, self._from = os.fdopen(taken[1], "wb"), os.fdopen(given[0], "rb")

    def send(self, frame: bytes) -> None:
        try:
            self._to.write(_HEAD.pack(True, len(frame)))
            self._to.write(frame)
            self._to.flush()
        except BrokenPipeError as exc:
            raise RLMError("a worker process of the import died: was it killed?") from exc

    def receive(self) -> bytes:
        good, body = _read_frame(self._from)
        if not good:
            raise RLMError(f"a worker process of the import failed: {body.decode('utf-8', 'replace')}")
        return body

    def close(self) -> None:
        for pipe in (self._from, self._to):
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # it is gone already, which is all that closing is for

    def wait(self) -> None:
        os.waitpid(self._pid, 0)

    def forget(self) -> None:
        """In a later worker: drop this one's pipes, or it would never see them close."""
        for pipe in (self._from, self._to):
            os.close(pipe.fileno())


def _widen(pipe: int) -> None:
    """Let a pipe hold a megabyte: the default of 64 kB means a switch of processes for every hundred memories."""
    with contextlib.suppress(OSError, AttributeError, ImportError):
        import fcntl  # not everywhere

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


def _read_frame(pipe: BinaryIO) -> tuple[bool, bytes]:
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise RLMError("a worker process of the import died: was it killed, or out of memory?")
    good, size = _HEAD.unpack(head)
    body = pipe.read(size)
    if len(body) < size:
        raise RLMError("a worker process of the import died: was it killed, or out of memory?")
    return good, body


def _serve(work: Work, source: int, target: int, mine: list[int], others: list[_Worker]) -> NoReturn:
    """The life of a worker. Never returns into the caller's code."""
    try:
        for number in mine:
            os.close(number)
        for other in others:
            other.forget()
        gc.disable()
        with os.fdopen(source, "rb") as taken, os.fdopen(target, "wb") as given:
            while head := taken.read(_HEAD.size):
                frame = taken.read(_HEAD.unpack(head)[1])
                try:
                    good, body = True, work(frame)
                except Exception:
                    good, body = False, traceback.format_exc(limit=3).encode()
                given.write(_HEAD.pack(good, len(body)))
                given.write(body)
                given.flush()
    finally:
        os._exit(0)
