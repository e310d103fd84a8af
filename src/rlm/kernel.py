"""What a process asks of the C library, by ctypes, to shut itself in: limits, Landlock, seccomp;
and to keep its memory small. Linux only.

Each function says whether its wall stands. A caller decides what it needs. Walls are for the
process that builds them and cannot be taken down: build them in a worker, after everything is
loaded.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import struct
import sys
from collections.abc import Iterable, Mapping

_M_ARENA_MAX = -8
_PR_SET_NO_NEW_PRIVS, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_PDEATHSIG = 38, 4, 22, 1
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT, _LANDLOCK_VERSION = 444, 445, 446, 1
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3

# The same calls under the numbers of each machine; None where a machine lacks one.
CALLS: dict[str, tuple[int | None, int | None]] = {  # name: (x86_64, aarch64)
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62),
    "poll": (7, None), "ppoll": (271, 73), "mmap": (9, 222), "mprotect": (10, 226),
    "munmap": (11, 215), "mremap": (25, 216), "madvise": (28, 233), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132), "getpid": (39, 172), "gettid": (186, 178), "futex": (202, 98),
    "sched_yield": (24, 124), "clock_gettime": (228, 113), "gettimeofday": (96, 169),
    "time": (201, None), "getrusage": (98, 165), "getrandom": (318, 278), "rseq": (334, 293),
    "restart_syscall": (219, 128), "exit": (60, 93), "exit_group": (231, 94), "socket": (41, 198),
    "socketpair": (53, 199), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "sendto": (44, 206), "sendmsg": (46, 211), "sendmmsg": (307, 269), "ptrace": (101, 117),
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "io_uring_setup": (425, 425), "bpf": (321, 280), "keyctl": (250, 219), "mount": (165, 40),
    "unshare": (272, 97), "setns": (308, 268), "kill": (62, 129), "tkill": (200, 130),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "pidfd_getfd": (438, 438),
    "memfd_create": (319, 279), "userfaultfd": (323, 282),
}  # fmt: skip
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7), "arm64": (1, 0xC00000B7)}
_PROT_EXEC = 4

WORKER_CPU_S = 3_600
"""Processor time of a sandbox worker's whole life. The host sets less for every block."""

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _EPERM = 0x7FFF0000, 0x80000000, 0x00050000 | 1
_NR, _ARCH, _ARG2 = 0, 4, 32


def set_limits(values: Mapping[str, int]) -> None:
    """Limits by their names (`RLIMIT_DATA`), soft and hard, as far as this machine knows them."""
    for name, value in values.items():
        number = getattr(resource, name, None)
        if number is None:
            continue
        hard = resource.getrlimit(number)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(number, (value, value))


def no_new_privileges() -> bool:
    """Nothing started from here on gains rights; needed before the others. No core, no ptrace."""
    libc = _libc()
    if libc is None:
        return False
    libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    return bool(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)


def end_with_parent() -> bool:
    """Be killed when the thread that started us ends. A change of user undoes it."""
    libc = _libc()
    return libc is not None and bool(libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0) == 0)


def landlock(*, readable: Iterable[str] = (), writable: Iterable[str] = ()) -> bool:
    """Refuse every right on files and TCP that this kernel knows, but for what is below these."""
    libc = _libc()
    if libc is None:
        return False
    version = libc.syscall(_LANDLOCK_CREATE, None, 0, _LANDLOCK_VERSION)
    if version < 1:
        return False
    every = (1 << (13 + (version >= 2) + (version >= 3) + (version >= 5))) - 1
    rights = struct.pack("=QQQ", every, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    rights = rights[: 24 if version >= 6 else 16 if version >= 4 else 8]
    buffer = ctypes.create_string_buffer(rights, len(rights))
    ruleset = libc.syscall(_LANDLOCK_CREATE, buffer, len(rights), 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow_below(libc, ruleset, path, _READ_FILE | _READ_FOLDER)
        for path in writable:
            _allow_below(libc, ruleset, path, every & ~1)  # bit 0 is the right to execute
        return bool(libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow_below(libc: ctypes.CDLL, ruleset: int, path: str, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    try:
        rule = struct.pack("=Qi", rights, folder)
        libc.syscall(_LANDLOCK_ADD, ruleset, 1, ctypes.create_string_buffer(rule, len(rule)), 0)
    finally:
        os.close(folder)


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def seccomp(program: bytes | None) -> bool:
    """Put a filter of `allow_only` or `refuse` in place."""
    libc = _libc()
    if libc is None or program is None:
        return False
    buffer = ctypes.create_string_buffer(program, len(program))
    made = _Program(len(program) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    return bool(libc.prctl(_PR_SET_SECCOMP, 2, ctypes.byref(made), 0, 0) == 0)


def allow_only(names: Iterable[str]) -> bytes | None:
    """A filter: listed calls pass, executable memory and any other call do not. None: unknown
    machine."""
    found = _MACHINES.get(os.uname().machine)
    if found is None:
        return None
    column, arch = found
    lines = _head(arch)
    for name in names:
        number = CALLS[name][column]
        if number is None:
            continue
        if name in ("mmap", "mprotect"):
            lines += [
                _step(_JEQ, number, 0, 4),
                _step(_LD, _ARG2),
                _step(_JSET, _PROT_EXEC, 0, 1),
                _step(_RET, _EPERM),
                _step(_RET, _ALLOW),
            ]
        else:
            lines += [_step(_JEQ, number, 0, 1), _step(_RET, _ALLOW)]
    return b"".join([*lines, _step(_RET, _EPERM)])


def refuse(names: Iterable[str]) -> bytes | None:
    """A filter: listed calls are EPERM, any other passes."""
    found = _MACHINES.get(os.uname().machine)
    if found is None:
        return None
    column, arch = found
    lines = _head(arch)
    for number in (CALLS[name][column] for name in names):
        if number is not None:
            lines += [_step(_JEQ, number, 0, 1), _step(_RET, _EPERM)]
    return b"".join([*lines, _step(_RET, _ALLOW)])


def _head(arch: int) -> list[bytes]:
    """A foreign architecture, and the x32 way in, kill."""
    return [
        _step(_LD, _ARCH),
        _step(_JEQ, arch, 1, 0),
        _step(_RET, _KILL),
        _step(_LD, _NR),
        _step(_JGE, 0x40000000, 0, 1),
        _step(_RET, _KILL),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def share_arenas() -> None:
    """For a process that lives long: glibc gives every thread that comes memory of its own, and
    what it has left over when it ends is never used again. Some 5 MB at each commit of tantivy."""
    libc = _libc()
    if libc is not None and hasattr(libc, "mallopt"):  # musl has none, and needs none
        libc.mallopt(_M_ARENA_MAX, 1)


def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None
