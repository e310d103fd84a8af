"""The process that a coding agent starts for its hooks, and waits for.

    PYTHON -I -S hook.py claude|codex|cursor session-start|prompt|stop|session-end

It must cost little and can never be in the way: it reads the store without the right to write, asks
no other process, and ends at its deadline whatever happens. Its exit code is 0 always, and what it
prints is one object that its host understands, or nothing. What went wrong, and a deadline that was
missed, is a line in `hook/log` in the cache folder, which `rlm doctor` shows. What it says is in
`rlm.service.hook_events`, a module that Python keeps compiled: of this file, which it compiles each
time, there is little. Most of what a hook costs are imports; those behind `respond` are as few as
they can be, and a test names those that must not be among them.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rlm.hook_settings import HookSettings

DEADLINE_S = 0.12
SPOOL_DEADLINE_S = 0.8
"""For the end of a session: nobody reads on, and a slow disk should lose nothing."""
LOG_S = 0.02
"""How much longer than its deadline a process may live to say that it missed it."""
STDIN_BYTES = 8 << 20
NO_DEADLINE = "--no-deadline"
_log_to: list[Any] = []
"""The function that adds a line, and the cache folder."""


def run(host: str = "", event: str = "", *more: str) -> None:
    """Answer one event and end the process, with code 0. `--no-deadline` is for checks and tests,
    which want to see what happens on a busy machine, too."""
    import gc

    gc.disable()  # 4 ms of 50, for a process that ends at once
    name = f"{host} {event}"
    try:
        if NO_DEADLINE not in more:
            injects = event in ("session-start", "prompt")
            _end_after(DEADLINE_S if injects else SPOOL_DEADLINE_S, name)
        settings = _load_settings()
        from rlm.service.hook_events import respond

        if answer := respond(settings, host, event, _read_stdin()):
            os.write(1, answer)  # one write of less than a pipe takes whole
    except BaseException as exc:
        _log(f"{name}: {type(exc).__name__}: {exc}")
    os._exit(0)


def _load_settings() -> HookSettings:
    """From here on it is known where to log. ConfigError where the config file is unusable."""
    _find_packages()
    from rlm import hook_settings
    from rlm.service.hook_log import add_line

    _log_to[:] = add_line, hook_settings.HookSettings({}).cache_dir  # before the file is read
    settings = hook_settings.load()
    _log_to[1] = settings.cache_dir
    return settings


def _find_packages() -> None:
    """Put our package on the path, and the installed ones: -S leaves both out."""
    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if ours not in sys.path:
        sys.path.append(ours)  # last: nothing there hides a module of Python
    if not os.path.isdir(os.path.join(ours, "apsw")):  # beside us, unless we are in a checkout
        import site

        site.main()


def _read_stdin() -> bytes:
    """All of it, or one part more than it may be."""
    parts, size = [], 0
    while size <= STDIN_BYTES and (part := os.read(0, 1 << 20)):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _end_after(seconds: float, name: str) -> None:
    """End the process then, also while it waits for a disk or for its input."""
    import _thread

    def watch() -> None:
        time.sleep(seconds)
        said = _thread.allocate_lock()
        said.acquire()
        _thread.start_new_thread(say, (said,))
        said.acquire(timeout=LOG_S)  # not longer: the disk of the log may be the one that hangs
        os._exit(0)

    def say(said: _thread.LockType) -> None:
        _log(f"{name} missed its deadline of {seconds * 1000:.0f} ms")
        said.release()

    _thread.start_new_thread(watch, ())


def _log(line: str) -> None:
    """A line for `rlm doctor`, if we came so far; nothing is imported, which might wait for a
    thread that imports."""
    try:
        add_line, cache_dir = _log_to
        add_line(cache_dir, line)
    except BaseException:
        return


if __name__ == "__main__":
    run(*sys.argv[1:])
