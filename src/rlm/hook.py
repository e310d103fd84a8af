"""The process that a coding agent starts for its hooks, and waits for.

    PYTHON -I -S hook.py claude|codex|cursor session-start|prompt|stop|session-end

It must cost little and can never be in the way: it reads the store without the right to write, asks
no other process, and ends at its deadline whatever happens. Its exit code is 0 always, and what it
prints is one object that its host understands, or nothing. What went wrong is a line in `hook/log`
in the cache folder, which `rlm doctor` shows. What it says is in `rlm.service.hook_events`, a
module that Python keeps compiled: of this file, which it compiles each time, there is little.
Modules are imported inside of functions, because the deadline runs from the first line.
"""

from __future__ import annotations

import os
import sys
import time

DEADLINE_S = 0.12
SPOOL_DEADLINE_S = 0.8
"""For the end of a session: nobody reads on, and a slow disk should lose nothing."""
STDIN_BYTES = 8 << 20
NO_DEADLINE = "--no-deadline"


def run(host: str = "", event: str = "", *more: str) -> None:
    """Answer one event and end the process, with code 0. `--no-deadline` is for checks and tests,
    which want to see what happens on a busy machine, too."""
    import gc

    gc.disable()  # 4 ms of 50, for a process that ends at once
    try:
        if NO_DEADLINE not in more:
            _end_after(DEADLINE_S if event in ("session-start", "prompt") else SPOOL_DEADLINE_S)
        _find_packages()
        from rlm.service.hook_events import respond

        if answer := respond(host, event, _read_stdin()):
            os.write(1, answer)  # one write of less than a pipe takes whole
    except BaseException as exc:
        _log(f"{host} {event}: {type(exc).__name__}: {exc}")
    os._exit(0)


def _read_stdin() -> bytes:
    """All of it, or one part more than it may be."""
    parts, size = [], 0
    while size <= STDIN_BYTES and (part := os.read(0, 1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _end_after(seconds: float) -> None:
    """End the process then, also while it waits for a disk or for its input."""
    import _thread

    def watch() -> None:
        time.sleep(seconds)
        os._exit(0)

    _thread.start_new_thread(watch, ())


def _find_packages() -> None:
    """Put our package on the path, and the installed ones: -S leaves both out."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    if ours not in sys.path:
        sys.path.append(ours)  # last: nothing there hides a module of Python
    try:
        import apsw  # noqa: F401  # beside us, unless we run from a checkout
    except ImportError:
        import site

        site.main()


def _log(line: str) -> None:
    """A line for `rlm doctor`; nothing where that fails too."""
    try:
        from rlm.service.hook_events import log

        log(line)
    except BaseException:
        return


if __name__ == "__main__":
    run(*sys.argv[1:])
