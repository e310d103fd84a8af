"""Every confined child process: how it is started, spoken to and ended.

A worker is a Python of its own: isolated, without site packages, environment or open files but its
pipes, in a process group of its own. It shuts itself in (`rlm.kernel`) before it does anything.

Messages are frames (`rlm.frames`) on its pipes, and time is kept here. Nothing that comes from a
worker is believed: one that is late, ends, or sends what is no message is `Gone`, and there is
nothing left to clean up then.
"""

from __future__ import annotations

import importlib.util
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import orjson

from rlm.frames import HEAD, BrokenFrame, encode, read_now, read_soon

SEND_S = 5.0
"""How long a worker may leave a message unread, and take to end after it closed its pipe."""
CANCELLED: ContextVar[threading.Event | None] = ContextVar("CANCELLED", default=None)
"""Set when nobody wants the work of this context any more; waiting for a worker ends then."""
CANCEL_CHECK_S = 0.1
NICE = 10
_SIGNALS = frozenset(map(int, signal.Signals))
_NO_MEMORY = ("memory allocation", "MemoryError", "bad_alloc")
_START = """
import sys
sys.flags.isolated or sys.exit(3)
sys.path[:0] = [{ours!r}]
"""


class Gone(Exception):
    """The worker is no more. `late`: its time was over. `memory`: it had none left. `outside`:
    somebody killed it."""

    def __init__(
        self, how: str, *, late: bool = False, memory: bool = False, outside: bool = False
    ) -> None:
        super().__init__(how)
        self.how, self.late, self.memory, self.outside = how, late, memory, outside


class Cancelled(BaseException):
    """Nobody waits for the work that this thread does. Nobody is told of it either: as an interrupt
    it passes by whoever catches errors."""


def check_cancelled() -> None:
    """Raises Cancelled where the work of this context was cancelled."""
    if (cancelled := CANCELLED.get()) is not None and cancelled.is_set():
        raise Cancelled


def parse_message(body: bytes) -> dict[str, Any]:
    """An object with an `op`. BrokenFrame for anything else."""
    try:
        message = orjson.loads(body)
    except orjson.JSONDecodeError:
        message = None
    if not isinstance(message, dict) or not isinstance(message.get("op"), str):
        raise BrokenFrame("it sent something that is no message")
    return message


class Pipe:
    """Messages to and from a worker, over two descriptors of ours."""

    def __init__(
        self,
        taken: int,
        given: int,
        *,
        frame_bytes: int,
        send_bytes: int | None = None,
        parse: Callable[[bytes], dict[str, Any]] = parse_message,
    ) -> None:
        """`frame_bytes` is the longest message to take, `send_bytes` the longest to give."""
        self._taken, self._given, self._parse = taken, given, parse
        self._frame_bytes, self._send_bytes = frame_bytes, send_bytes or frame_bytes
        self._buffer = bytearray()
        self._incoming, self._room = select.poll(), select.poll()
        self._incoming.register(taken, select.POLLIN | select.POLLHUP)
        self._room.register(given, select.POLLOUT | select.POLLERR)
        os.set_blocking(given, False)
        os.set_blocking(taken, False)

    def send(self, message: dict[str, Any]) -> None:
        """BrokenFrame when it is too long, Gone when nobody reads (any more)."""
        view = memoryview(encode(message, self._send_bytes))
        while view:
            try:
                view = view[os.write(self._given, view) :]
            except BlockingIOError:
                if not self._room.poll(int(SEND_S * 1000)):
                    raise self._gone("it does not read", late=True) from None
            except OSError:
                raise self._gone() from None

    def receive(self, until: float, on_late: Callable[[], float] | None = None) -> dict[str, Any]:
        """One message before `until` (time.monotonic()). `on_late` may give more time, once.
        Cancelled where that happens while it waits: the worker must be ended then."""
        most_s = math.inf if CANCELLED.get() is None else CANCEL_CHECK_S
        while True:
            try:
                message = self._take()
            except BrokenFrame as exc:
                raise self._gone(str(exc)) from None
            if message is not None:
                return message
            check_cancelled()
            left_s = until - time.monotonic()
            if (left_s <= 0 or not self._more(min(left_s, most_s))) and left_s <= most_s:
                if on_late is None:
                    raise self._gone("it took too long", late=True)
                until, on_late = on_late(), None

    @property
    def waiting(self) -> bool:
        """Whether something came after the last message."""
        return bool(self._buffer)

    def _more(self, wait_s: float) -> bool:
        """Read what there is; False when nothing came in time."""
        data = read_soon(self._taken)
        if data is None:
            if not self._incoming.poll(max(1, int(min(wait_s, 1e6) * 1000))):
                return False
            data = read_now(self._taken)
        if data == b"":
            raise self._gone()
        self._buffer += data or b""
        return True

    def _take(self) -> dict[str, Any] | None:
        """The first message of the buffer, once it is whole. What is too long is not waited for."""
        if len(self._buffer) < HEAD.size:
            return None
        (size,) = HEAD.unpack_from(self._buffer)
        if size > self._frame_bytes:
            raise BrokenFrame(f"it sent a message of {size:,} bytes")
        if len(self._buffer) < HEAD.size + size:
            return None
        body = bytes(self._buffer[HEAD.size : HEAD.size + size])
        del self._buffer[: HEAD.size + size]
        return self._parse(body)

    def _gone(self, how: str | None = None, *, late: bool = False) -> Gone:
        return Gone(how or "it ended", late=late)


class WorkerProcess(Pipe):
    """A worker and the pipes to it. After `Gone` it is killed and reaped."""

    def __init__(
        self,
        code: str,
        *,
        frame_bytes: int,
        send_bytes: int | None = None,
        parse: Callable[[bytes], dict[str, Any]] = parse_message,
        keep_stderr: bool = False,
    ) -> None:
        """`code` is run with our own package on the path and nothing else. With `keep_stderr` the
        reason of an end is read from its last words. Raises OSError when it cannot be started."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _prologue() + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if keep_stderr else subprocess.DEVNULL,
            env={},
            cwd="/",
            bufsize=0,
            close_fds=True,
            start_new_session=True,
        )
        self._owner = os.getpid()
        self._ending: tuple[int | None, str] | None = None
        assert self._process.stdin and self._process.stdout
        taken, given = self._process.stdout.fileno(), self._process.stdin.fileno()
        super().__init__(taken, given, frame_bytes=frame_bytes, send_bytes=send_bytes, parse=parse)
        if self._process.stderr:
            os.set_blocking(self._process.stderr.fileno(), False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether it runs and is ours: after a fork a process needs a worker of its own."""
        return self._ending is None and self._owner == os.getpid() and self._process.poll() is None

    def signal(self, number: int) -> None:
        """Send a signal to the worker alone."""
        if self._owner == os.getpid():
            with suppress(ProcessLookupError, PermissionError):
                self._process.send_signal(number)

    def interrupt(self) -> None:
        """End it from another thread; the one that speaks with it finds it `Gone` and cleans up."""
        self.signal(signal.SIGKILL)

    def kill(self) -> tuple[int | None, str]:
        """End it and its group, whatever they do. Its exit code, and the end of what it said."""
        if self._ending is not None:
            return self._ending
        process, said = self._process, b""
        if self._owner == os.getpid():
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if process.stderr:
                with suppress(OSError, ValueError):
                    said = os.read(process.stderr.fileno(), 1 << 16)
        else:
            process.returncode = 0  # not our child: nothing to wait for
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            with suppress(OSError):
                pipe.close()
        self._ending = process.returncode, said.decode("utf-8", "replace")
        return self._ending

    def _gone(self, how: str | None = None, *, late: bool = False) -> Gone:
        if how is None and self._process.stderr:  # let it end by itself: its exit code says why
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=SEND_S)
        code, said = self.kill()
        if how is not None:
            return Gone(how, late=late)
        lines = said.strip().splitlines()
        killed_by = -(code or 0)
        named = signal.Signals(killed_by).name if killed_by in _SIGNALS else f"code {code}"
        return Gone(
            f"ended by {named}" + (f": {lines[-1][:200]}" if lines else ""),
            memory=code == -signal.SIGABRT or any(word in said for word in _NO_MEMORY),
            outside=code in (-signal.SIGKILL, -signal.SIGTERM, -signal.SIGHUP),
        )


def exchange(
    argv: Sequence[str],
    given: bytes,
    *,
    timeout_s: float,
    env: Mapping[str, str],
    cwd: Path,
    until_line: bool = False,
) -> tuple[int | None, bytes, bytes]:
    """Run a program of a person's choice once: its exit code, and the ends of what it printed.

    With `until_line` its input stays open until it has answered a line, as a server wants it. The
    code is None where it was late and was killed, with its group. OSError if it cannot be started.
    """
    process = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(env),
        cwd=cwd,
        start_new_session=True,
    )
    assert process.stdin and process.stdout
    late = threading.Timer(timeout_s, _kill_group, (process.pid,))
    late.start()
    first = b""
    try:
        if until_line:
            with suppress(BrokenPipeError):
                process.stdin.write(given)
                process.stdin.flush()
            first = process.stdout.readline()
        out, err = process.communicate(None if until_line else given)
    finally:
        late.cancel()
    code = None if process.returncode == -signal.SIGKILL else process.returncode
    return code, first + out, err


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def run_program(name: str, *args: str, timeout_s: float) -> str | None:
    """What a program of this machine prints, started without an environment; None where it is
    missing, fails or takes too long."""
    path = shutil.which(name)
    if path is None:
        return None
    try:
        done = subprocess.run(
            [path, *args],
            env={"PATH": str(Path(path).parent)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "replace")


Aside = subprocess.Popen[bytes]


def start_aside(*args: str) -> Aside:
    """Start this Python with our environment, at low priority, without a terminal. OSError."""
    nothing = subprocess.DEVNULL
    process = subprocess.Popen(
        [sys.executable, *args], stdin=nothing, stdout=nothing, stderr=nothing
    )
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    return process


def _prologue() -> str:
    return _START.format(ours=str(Path(__file__).parents[1]))


def package_folder(name: str) -> Path | None:
    """Where a package lies, for a worker that has no site packages; None when it is missing."""
    spec = importlib.util.find_spec(name)
    return None if spec is None or spec.origin is None else Path(spec.origin).parent
