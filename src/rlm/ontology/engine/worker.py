"""The host's end of a worker (`rlm.ontology.engine.child`): start it, speak with it, end it.

Time is kept here. A worker that does not answer in time, says what is no message, or ends, is
`Gone`; whoever started it decides what that means.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from rlm.errors import OntologyError
from rlm.frames import HEAD, BrokenFrame, encode

SEND_BYTES = 16 << 20
SEND_S = 5.0
_SIGNALS = frozenset(map(int, signal.Signals))
_NO_MEMORY = ("memory allocation", "MemoryError", "bad_alloc")
LARGE_PIECES_MB = 1024
_ENVIRONMENT = {"GLIBC_TUNABLES": f"glibc.malloc.hugetlb=1:glibc.malloc.top_pad={16 << 20}"}
"""Memory in large pieces: a store in memory is made of many small ones, and half a second of
loading is a tenth less. Only for a worker that may take `LARGE_PIECES_MB`: what is not used of a
piece counts too. To another C library than this one it says nothing."""
_START = """
import sys
sys.flags.isolated or sys.exit(3)
sys.path[:0] = [{ours!r}]
sys.path.append({theirs!r})
from rlm.ontology.engine.child import main
main()
"""


class Gone(Exception):
    """The worker is no more. `late`: its time was over. `memory`: it had none left. `outside`:
    somebody killed it."""

    def __init__(
        self, how: str, *, late: bool = False, memory: bool = False, outside: bool = False
    ) -> None:
        super().__init__(how)
        self.how, self.late, self.memory, self.outside = how, late, memory, outside


class Worker:
    """One worker process; what it is to do is sent to it first. After `Gone` there is nothing left
    to clean up."""

    def __init__(
        self, first: dict[str, Any] | None = None, *, frame_bytes: int, memory_mb: int = 0
    ) -> None:
        """`memory_mb` is what it will be allowed to take, where that is known."""
        self._frame_bytes = frame_bytes
        self._process = _spawn(_ENVIRONMENT if memory_mb >= LARGE_PIECES_MB else {})
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._given, self._taken = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._said = self._process.stderr.fileno()
        self._owner = os.getpid()
        os.set_blocking(self._given, False)
        os.set_blocking(self._said, False)
        self._incoming, self._room = select.poll(), select.poll()
        self._incoming.register(self._taken, select.POLLIN | select.POLLHUP)
        self._room.register(self._given, select.POLLOUT | select.POLLERR)
        self._buffer = bytearray()
        self._ending: tuple[int | None, str] | None = None
        try:
            if first is not None:
                self.send(first)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether it runs and is ours: a process that was forked from this one needs a worker of
        its own."""
        return self._ending is None and self._owner == os.getpid() and self._process.poll() is None

    def send(self, message: dict[str, Any]) -> None:
        """Gone when nobody reads; OntologyError when it is too long."""
        try:
            view = memoryview(encode(message, SEND_BYTES))
        except BrokenFrame as exc:
            raise OntologyError(f"too much for one query: {exc}") from exc
        while view:
            try:
                view = view[os.write(self._given, view) :]
            except BlockingIOError:
                if not self._room.poll(int(SEND_S * 1000)):
                    raise self._ended(late=True) from None
            except OSError:
                raise self._ended() from None

    def receive(self, until: float) -> dict[str, Any]:
        """One message, before `until` (time.monotonic())."""
        while True:
            if len(self._buffer) >= HEAD.size:
                (size,) = HEAD.unpack_from(self._buffer)
                if size > self._frame_bytes:
                    raise self._ended(how=f"it sent a message of {size:,} bytes")
                if len(self._buffer) >= HEAD.size + size:
                    return self._message(size)
            left = until - time.monotonic()
            if left <= 0 or not self._incoming.poll(max(1, int(min(left, 1e6) * 1000))):
                if time.monotonic() < until:
                    continue
                raise self._ended(late=True)
            data = os.read(self._taken, 1 << 18)
            if not data:
                raise self._ended()
            self._buffer += data

    def _message(self, size: int) -> dict[str, Any]:
        body = bytes(self._buffer[HEAD.size : HEAD.size + size])
        del self._buffer[: HEAD.size + size]
        try:
            message = orjson.loads(body)
        except orjson.JSONDecodeError:
            message = None
        if not isinstance(message, dict) or not isinstance(message.get("op"), str):
            raise self._ended(how="it sent something that is no message")
        return message

    def _ended(self, *, late: bool = False, how: str | None = None) -> Gone:
        if (
            not late and how is None
        ):  # it ended by itself: let it finish, so that its own exit code is seen
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=SEND_S)
        code, said = self.kill()
        if late:
            return Gone("it took too long", late=True)
        if how is not None:
            return Gone(how)
        lines = said.strip().splitlines()
        how = (
            signal.Signals(-code).name if code is not None and -code in _SIGNALS else f"code {code}"
        )
        return Gone(
            f"ended by {how}" + (f": {lines[-1][:200]}" if lines else ""),
            memory=code == -signal.SIGABRT or any(word in said for word in _NO_MEMORY),
            outside=code in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP),
        )

    def interrupt(self) -> None:
        """End the process from another thread; the thread that speaks with it finds it `Gone` and
        cleans up."""
        if self._owner == os.getpid():
            self._process.kill()

    def kill(self) -> tuple[int | None, str]:
        """End it, whatever it does. Its exit code, and the end of what it had to say."""
        if self._ending is not None:
            return self._ending
        process, said = self._process, b""
        if self._owner == os.getpid():
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    process.kill()
            process.wait()
            with contextlib.suppress(OSError, ValueError):
                said = os.read(self._said, 1 << 16)
        else:
            process.returncode = 0  # not our child: nothing to wait for
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._ending = process.returncode, said.decode("utf-8", "replace")
        return self._ending


def _spawn(environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A Python of its own: isolated, without site, our environment, or open files but its pipes."""
    spec = importlib.util.find_spec("pyoxigraph")
    if spec is None or spec.origin is None:
        raise OntologyError("pyoxigraph is missing: pip install 'pyoxigraph>=0.5.7'")
    code = _START.format(
        ours=str(Path(__file__).parents[3]), theirs=str(Path(spec.origin).parents[1])
    )
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd="/", bufsize=0,
            close_fds=True, start_new_session=True,
        )  # fmt: skip
    except OSError as exc:
        raise OntologyError(f"the query engine's worker cannot be started: {exc}") from exc
