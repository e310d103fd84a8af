"""The operating system's part: after `confine` a process can compute, use its pipes, no more.

In order: limits on memory, files and processes; another user where we are root; no new privileges;
Landlock with no rule at all; a seccomp filter that lets some thirty system calls through
(`rlm.kernel`). `confine` returns the names of the layers that took hold; the host decides whether
they are enough.

Nothing can be imported or opened afterwards: what the worker needs is loaded before.
"""

from __future__ import annotations

import contextlib
import os
import sys

from rlm import kernel

NOBODY = 65534
_CALLS = """
    read write close fstat lseek poll ppoll mmap mprotect munmap mremap madvise brk rt_sigaction
    rt_sigprocmask rt_sigreturn sigaltstack getpid gettid futex sched_yield clock_gettime
    gettimeofday time getrusage getrandom rseq restart_syscall exit exit_group
"""
CALLS = tuple(_CALLS.split())
"""What Python needs to compute, and to read and write what is open."""


def confine(memory_mb: int, *, tied: bool = False, only: frozenset[str]) -> list[str]:
    """Confine this process; the layers that took effect. `only` leaves some out, for tests. `tied`:
    end with the thread that started us, where that lives as long as its process."""
    if not sys.platform.startswith("linux"):
        return []
    held = []
    if "rlimits" in only:
        memory = {"RLIMIT_DATA": memory_mb << 20, "RLIMIT_AS": (memory_mb + 256) << 20}
        nothing = ("FSIZE", "NPROC", "CORE", "MEMLOCK", "MSGQUEUE")
        kernel.set_limits({**memory, **{f"RLIMIT_{name}": 0 for name in nothing}})
        held.append("rlimits")
    if "uid" in only and os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            held.append("uid")
    if tied:
        kernel.end_with_parent()
    if "no_new_privs" in only and kernel.no_new_privileges():
        held.append("no_new_privs")
    if "landlock" in only and kernel.landlock():
        held.append("landlock")
    if "rlimits" in only:
        # What is open stays open; nothing more can be. poll() needs the 1.
        kernel.set_limits({"RLIMIT_NOFILE": 1})
    if "seccomp" in only and kernel.seccomp(kernel.allow_only(CALLS)):
        held.append("seccomp")
    return held
