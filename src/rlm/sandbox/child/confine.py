"""The operating system's part: after `confine` this process can compute, read and write its pipes, and nothing else.

In order: limits on memory, files and processes; another user where we are root; no new privileges; Landlock with no
rule at all; a seccomp filter that lets some thirty system calls through. Each is done by ctypes on the C library, no
package needed. `confine` returns the names of the layers that took hold; the host decides whether they are enough.

Nothing can be imported or opened afterwards: what the worker needs is loaded before.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
import sys

NOBODY = 65534
LAYERS = ("rlimits", "no_new_privs", "landlock", "seccomp")
_PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 38, 4, 22
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF, _LANDLOCK_VERSION = 444, 446, 1

# The same calls under the numbers of each machine; None where a machine lacks one.
_CALLS: dict[str, tuple[int | None, int | None]] = {  # name: (x86_64, aarch64)
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62), "poll": (7, None),
    "ppoll": (271, 73), "munmap": (11, 215), "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139), "sigaltstack": (131, 132),
    "getpid": (39, 172), "gettid": (186, 178), "futex": (202, 98), "sched_yield": (24, 124),
    "clock_gettime": (228, 113), "gettimeofday": (96, 169), "time": (201, None), "getrusage": (98, 165),
    "getrandom": (318, 278), "rseq": (334, 293), "restart_syscall": (219, 128), "exit": (60, 93),
    "exit_group": (231, 94),
}  # fmt: skip
_MAPPING = {"mmap": (9, 222), "mprotect": (10, 226)}
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "arm64": (1, 0xC00000B7)}
_PROT_EXEC = 4

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM = 0x7FFF0000, 0x80000000, 0x00050000 | 1
_NR, _ARCH, _ARG2 = 0, 4, 32


def confine(memory_mb: int, *, drop_uid: bool = True, only: frozenset[str] = frozenset(LAYERS)) -> list[str]:
    """Shut this process in; the layers that took hold. `only` leaves some out, for tests of a single one."""
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    held = []
    if "rlimits" in only:
        _limit(memory_mb)
        held.append("rlimits")
    if drop_uid and os.geteuid() == 0:
        with contextlib.suppress(OSError):
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            held.append("uid")
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    if "no_new_privs" in only and libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0:
        held.append("no_new_privs")
    if "landlock" in only and _landlock(libc):
        held.append("landlock")
    if "rlimits" in only:
        _set_limit("RLIMIT_NOFILE", 0)  # what is open stays open; nothing more can be, from here on
    if "seccomp" in only and _seccomp(libc):
        held.append("seccomp")
    return held


def _limit(memory_mb: int) -> None:
    for name, value in (
        ("RLIMIT_DATA", memory_mb << 20),
        ("RLIMIT_AS", (memory_mb + 512) << 20),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_NPROC", 0),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_MEMLOCK", 0),
        ("RLIMIT_MSGQUEUE", 0),
    ):
        _set_limit(name, value)


def _set_limit(name: str, value: int) -> None:
    number = getattr(resource, name, None)
    if number is None:
        return
    hard = resource.getrlimit(number)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(number, (value, value))


def _landlock(libc: ctypes.CDLL) -> bool:
    """Deny every right that this kernel knows: handle all, allow none."""
    version = libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    if version < 1:
        return False
    files = (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1
    rights = struct.pack("=QQQ", files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    rights = rights[: 24 if version >= 6 else 16 if version >= 4 else 8]
    buffer = ctypes.create_string_buffer(rights, len(rights))
    ruleset = libc.syscall(_LANDLOCK_CREATE_RULESET, buffer, len(rights), 0)
    if ruleset < 0:
        return False
    held: bool = libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0) == 0
    os.close(ruleset)
    return held


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def _seccomp(libc: ctypes.CDLL) -> bool:
    code = filter_program(os.uname().machine)
    if code is None:
        return False
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(program), 0, 0) == 0)


def filter_program(machine: str) -> bytes | None:
    """The seccomp filter for a machine: a wrong architecture kills, a listed call passes, any other is EPERM."""
    if machine not in _MACHINES:
        return None
    column, arch = _MACHINES[machine]
    allowed = [numbers[column] for numbers in _CALLS.values() if numbers[column] is not None]
    lines = [
        _step(_LD, _ARCH),
        _step(_JEQ, arch, 1, 0),
        _step(_RET, _KILL),
        _step(_LD, _NR),
        _step(_JGE, 0x40000000, 0, 1),  # the x32 way in
        _step(_RET, _KILL),
    ]
    for number in allowed:
        lines += [_step(_JEQ, number or 0, 0, 1), _step(_RET, _ALLOW)]
    for numbers in _MAPPING.values():  # memory, but none that can be run
        lines += [
            _step(_JEQ, numbers[column], 0, 4),
            _step(_LD, _ARG2),
            _step(_JSET, _PROT_EXEC, 0, 1),
            _step(_RET, _EPERM),
            _step(_RET, _ALLOW),
        ]
    lines.append(_step(_RET, _EPERM))
    return b"".join(lines)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
