"""Other processes that do the thinking of a large import while this one writes.

A worker takes frames of bytes, hands each to one function and sends back what it returns. It holds
no database and no file of ours but its two pipes, and ends when they close: however this process
dies, no worker outlives it. Each worker has at most one frame, and results come back in the order
of the frames.

A fork is the fastest worker, but safe only where no other thread of ours runs, and is made only on
Linux. Elsewhere, in a notebook for one, a worker is a Python of its own (`grind.py`), which takes
longer to start. `workers_for` says how many are worth it; with none, the caller does the work
itself.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import struct
import subprocess
import sys
import threading
import traceback
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import BinaryIO, NoReturn, Self

from rlm.errors import RLMError

Work = Callable[[bytes], bytes]
WORTH_BYTES = 3 << 18
"""From a file of this size on, forking workers pays."""
SPAWN_BYTES = 8 << 20
"""The same for workers that have to be started."""
_HEAD = struct.Struct("<?Q")
_READY = b"ready"
START_S = 20.0
"""So long a worker may take to start."""
_START = """
import json, os, sys
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # each worker has a core of its own
sys.path[:] = json.loads(sys.argv[1])
from rlm.packs.grind import main
main()
"""


def can_fork() -> bool:
    """Whether a fork is safe here and now."""
    return sys.platform.startswith("linux") and threading.active_count() == 1


def workers_for(size: int) -> int:
    """How many workers an input of `size` bytes deserves here."""
    if size < (WORTH_BYTES if can_fork() else SPAWN_BYTES):
        return 0
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(cores, 4) if cores > 1 else 0


class Mill:
    """A `with` block around some workers."""

    def __init__(self, workers: Sequence[_Worker]) -> None:
        self._all = [*workers]

    @classmethod
    def forked(cls, work: Work, workers: int) -> Self:
        """Workers that know all that this process knows."""
        made: list[_Fork] = []
        try:
            for _ in range(workers):
                made.append(_Fork(work, [*made]))
        except OSError:
            if not made:
                raise
        return cls(made)

    @classmethod
    def spawned(cls, job: bytes, workers: int) -> Self | None:
        """Workers that know what `job` tells them; None where one of them does not start."""
        if not sys.executable or getattr(
            sys, "frozen", False
        ):  # an application, which is no Python to start
            return None
        made: list[_Process] = []

        def give_up() -> None:
            for worker in made:
                worker.kill()

        late = threading.Timer(START_S, give_up)
        late.daemon = True
        late.start()
        try:
            with contextlib.suppress(OSError, RLMError):  # the caller does without
                for _ in range(workers):
                    made.append(_Process())
                for worker in made:
                    worker.send(job)
                if all(worker.receive() == _READY for worker in made):
                    return cls(made)
        finally:
            late.cancel()
        give_up()
        cls(made).__exit__(None, None, None)
        return None

    def map(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """What the function returns for each frame, in order. What it raises is raised here as
        RLMError."""
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._all:
            worker.close()
        for worker in self._all:
            worker.wait()


class _Worker:
    """Another process and the two pipes to it."""

    def __init__(self, to: BinaryIO, source: BinaryIO) -> None:
        self._to, self._from = to, source

    def send(self, frame: bytes) -> None:
        try:
            write_frame(self._to, True, frame)
        except BrokenPipeError as exc:
            raise RLMError("a worker process of the import died: was it killed?") from exc

    def receive(self) -> bytes:
        good, body = _read_frame(self._from)
        if not good:
            raise RLMError(
                f"a worker process of the import failed: {body.decode('utf-8', 'replace')}"
            )
        return body

    def close(self) -> None:
        for pipe in (self._from, self._to):
            try:
                pipe.close()
            except BrokenPipeError:
                continue  # it is gone already, which is all that closing is for

    def wait(self) -> None:
        raise NotImplementedError


class _Fork(_Worker):
    def __init__(self, work: Work, others: list[_Fork]) -> None:
        taken, given = os.pipe(), os.pipe()
        for pipe in (taken, given):
            _widen(pipe[1])
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # threads of numpy's; they take no lock of ours
            self._pid = os.fork()
        if self._pid == 0:
            _serve(work, taken[0], given[1], [taken[1], given[0]], others)
        os.close(taken[0])
        os.close(given[1])
        super().__init__(os.fdopen(taken[1], "wb"), os.fdopen(given[0], "rb"))

    def wait(self) -> None:
        os.waitpid(self._pid, 0)

    def forget(self) -> None:
        """In a later worker: drop this one's pipes, or it would never see them close."""
        for pipe in (self._from, self._to):
            os.close(pipe.fileno())


class _Process(_Worker):
    """Says that it is ready before it takes its first frame."""

    def __init__(self) -> None:
        args = [sys.executable, "-I", "-c", _START, json.dumps([*map(str, sys.path)])]
        self._process = subprocess.Popen(
            args, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        super().__init__(self._process.stdin, self._process.stdout)  # type: ignore[arg-type]

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> None:
        self._process.wait()


def _widen(pipe: int) -> None:
    """Let a pipe hold a megabyte: the default of 64 kB means a switch of processes for every
    hundred memories."""
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


def write_frame(pipe: BinaryIO, good: bool, body: bytes) -> None:
    pipe.write(_HEAD.pack(good, len(body)))
    pipe.write(body)
    pipe.flush()


def grind(work: Work, taken: BinaryIO, given: BinaryIO) -> None:
    """In a worker: frame after frame until there are no more."""
    while head := taken.read(_HEAD.size):
        frame = taken.read(_HEAD.unpack(head)[1])
        try:
            good, body = True, work(frame)
        except Exception:
            good, body = False, traceback.format_exc(limit=3).encode()
        write_frame(given, good, body)


def be_ready(make: Callable[[bytes], Work], taken: BinaryIO, given: BinaryIO) -> None:
    """The life of a worker that was started: the first frame is its job."""
    work = make(_read_frame(taken)[1])
    write_frame(given, True, _READY)
    grind(work, taken, given)


def _serve(work: Work, source: int, target: int, mine: list[int], others: list[_Fork]) -> NoReturn:
    """The life of a worker that was forked. Never returns into the caller's code."""
    try:
        for number in mine:
            os.close(number)
        for other in others:
            other.forget()
        gc.disable()
        with os.fdopen(source, "rb") as taken, os.fdopen(target, "wb") as given:
            grind(work, taken, given)
    finally:
        os._exit(0)
