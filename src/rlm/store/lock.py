"""One writer at a time, fairly; and files that appear whole or not at all.

SQLite's own busy-wait lets whoever asks at the right instant win: with eight writers somebody
waited for seconds. So writers queue on an advisory lock beside the file. Two locks make a
turnstile: whoever waits holds `-turn`, whoever writes holds `-lock`, and a writer that has just
finished must pass the turnstile again, so it cannot slip in ahead of the one that waits there. The
kernel drops both locks when a process dies, however it dies.

Readers take no lock. Where the platform has no flock, SQLite's busy timeout is all there is.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

from rlm.errors import StoreLocked, StoreReadOnly

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]

POLL_S = 0.0005
POLL_MAX_S = 0.0015


class WriteLock:
    """The turnstile beside one database file. Not reentrant; the owner guards against threads."""

    def __init__(self, database: Path) -> None:
        self._paths = (Path(f"{database}-turn"), Path(f"{database}-lock"))
        self._files: list[int] = []
        self.longest_wait_s = 0.0

    def acquire(self, timeout_s: float) -> None:
        """Wait for the lock, at most `timeout_s`; then StoreLocked."""
        if fcntl is None:  # pragma: no cover - Windows
            return
        self._open()
        started = time.monotonic()
        turn, lock = self._files
        self._take(turn, started, timeout_s)
        try:
            self._take(lock, started, timeout_s)
        finally:
            fcntl.flock(turn, fcntl.LOCK_UN)
        self.longest_wait_s = max(self.longest_wait_s, time.monotonic() - started)

    def release(self) -> None:
        """Let the next writer in."""
        if fcntl is not None and self._files:
            fcntl.flock(self._files[1], fcntl.LOCK_UN)

    def close(self) -> None:
        """Drop the descriptors; the lock files stay, since another process may hold them. Also
        after a fork, where they are shared with the parent."""
        for number in self._files:
            os.close(number)
        self._files = []

    def _open(self) -> None:
        if self._files:
            return
        try:
            self._paths[0].parent.mkdir(parents=True, exist_ok=True)
            for path in self._paths:
                self._files.append(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as exc:
            self.close()
            raise StoreReadOnly(
                f"{exc.filename} cannot be created ({exc.strerror}): a store needs a folder it can"
                " write to"
            ) from exc

    def _take(self, number: int, started: float, timeout_s: float) -> None:
        pause = POLL_S
        while True:
            try:
                fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() - started >= timeout_s:
                    raise StoreLocked(
                        f"another process has been writing to {str(self._paths[1])[:-5]} for "
                        f"{timeout_s:g} s: try again, or find it with `fuser {self._paths[1]}`"
                    ) from None
            time.sleep(pause * (0.5 + random.random()))
            pause = min(pause * 1.5, POLL_MAX_S)


@contextmanager
def part_file(target: Path) -> Iterator[Path]:
    """A new file beside `target`, its owner's alone, that replaces it when the block ends well.

    Whatever fails, nothing of it stays behind. It is locked while it is written; one that nobody
    locks was left by a process that was killed, and is removed.
    """
    import tempfile  # only here: a command-line search has 300 ms in all

    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f"{escape(target.name)}.{8 * '?'}.part") if fcntl else ():
        with suppress(OSError), left.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(left)
    while True:
        number, name = tempfile.mkstemp(".part", f"{target.name}.", target.parent)  # mode 0600
        part = Path(name)
        if fcntl:
            fcntl.flock(number, fcntl.LOCK_EX)
        if part.exists():  # else somebody took it for one that was left
            break
        os.close(number)
    try:
        yield part
        part.replace(target)
    finally:
        _remove(part)
        os.close(number)


def _remove(part: Path) -> None:
    for end in ("", "-journal", "-wal", "-shm"):
        Path(f"{part}{end}").unlink(missing_ok=True)
