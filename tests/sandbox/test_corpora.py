"""The corpora themselves: complete, inert, and no blanks.

A usable case prints in plain Python what it must print in the sandbox. An escape attempt works
where nothing stops it: in a bare interpreter, or, where it is about the guards, under a
RestrictedPython that checks no names. An attempt that works nowhere would prove nothing.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from corpus_escape import (
    ATTEMPTS,
    BARE,
    DESCRIPTORS,
    EXHAUSTION,
    FAMILIES,
    FRAMES,
    GUARDS,
    KERNEL,
    MODULES,
    Places,
    fill,
)
from corpus_usable import CASES

from all_cases import all_cases

SEEN_ON = (3, 11)
"""The Python whose library the attempts on modules were written for; others have lost some of these
ways."""

RUNNER = r"""
import ast, json, operator, os, select, signal, sys, time
from RestrictedPython.transformer import RestrictingNodeTransformer

def careless(code):
    # RestrictedPython's guards without its checks of names
    class Careless(RestrictingNodeTransformer):
        def check_name(self, *args, **words): pass
        def error(self, *args): pass
        def warn(self, *args): pass
        def inject_print_collector(self, *args, **words): pass
        def visit_Name(self, node): return node
        def keep(self, node): return self.node_contents_visit(node)
        visit_Global = visit_Nonlocal = visit_Match = visit_match_case = visit_AnnAssign = visit_NamedExpr = keep
        visit_MatchAs = visit_MatchClass = visit_MatchSequence = visit_MatchMapping = visit_MatchStar = keep
    tree = Careless([], [], {}).visit(ast.parse(code))
    return compile(ast.fix_missing_locations(tree), "<attempt>", "exec")

def guards():
    return {
        "_getattr_": getattr, "_getitem_": operator.getitem, "_getiter_": iter, "_write_": lambda o: o,
        "_inplacevar_": lambda op, a, b: a + b, "_apply_": lambda f, *a, **k: f(*a, **k), "__metaclass__": type,
        "_unpack_sequence_": lambda s, spec, it: s, "_iter_unpack_sequence_": lambda s, spec, it: s,
    }

def surroundings():
    class ToolError(Exception):
        pass
    class Handle:
        def __init__(self):
            self.key, self.read = "doc", lambda *a: ""
        def find(self, needle):
            return 0
    cell = []
    def echo(value):
        return value if cell else value
    def fail():
        raise ToolError("no") from ValueError("no")
    return {"__name__": "__main__", "echo": echo, "fail": fail, "ToolError": ToolError, "doc": Handle()}

def child(job):
    space = surroundings()
    if job["guards"]:
        space.update(guards())
    for block in job["blocks"]:
        code = careless(block) if job["guards"] else compile(block, "<block>", "exec")
        exec(code, space)

def run(job):
    out, into = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(into, 1)
        os.dup2(into, 2)
        os.close(into)
        os.close(out)
        try:
            child(job)
        except BaseException as error:
            sys.stdout.flush()
            os.write(2, f"{type(error).__name__}: {error}".encode("utf-8", "replace")[:300])
        try:
            sys.stdout.flush()
        finally:
            os._exit(0)
    os.close(into)
    said, end = b"", time.monotonic() + 10
    while select.select([out], [], [], max(0, end - time.monotonic()))[0]:
        part = os.read(out, 65536)
        if not part:
            break
        said += part
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
    os.close(out)
    return said.decode("utf-8", "replace")

signal.signal(signal.SIGALRM, signal.SIG_DFL)
for line in sys.stdin:
    job = json.loads(line)
    print(json.dumps([job["name"], run(job)]), flush=True)
"""


def run_bare(
    jobs: list[dict[str, object]], folder: Path, descriptors: tuple[int, ...] = ()
) -> dict[str, str]:
    """What each job prints in a process of its own, forked from an interpreter that no sandbox
    holds."""
    runner = folder / "runner.py"
    runner.write_text(RUNNER)
    told = subprocess.run(
        [sys.executable, "-I", str(runner)],
        input="".join(json.dumps(job) + "\n" for job in jobs),
        capture_output=True,
        text=True,
        pass_fds=descriptors,
        timeout=300,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return dict(json.loads(line) for line in told.stdout.splitlines())


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every usable case in plain Python."""
    jobs = [
        {"name": case.name, "blocks": case.blocks, "guards": False}
        for case in CASES
        if not case.only_sandbox
    ]
    return run_bare(jobs, tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def unstopped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Every attempt that should work where nothing stops it; `name (raw)` for the raw ones."""
    folder = tmp_path_factory.mktemp("unstopped")
    secret, canary = folder / "secret.txt", folder / "canary.txt"
    secret.write_text("SECRET")
    with (
        socket.create_server(("127.0.0.1", 0), backlog=64) as server,
        secret.open() as read,
        canary.open("a") as write,
    ):
        places = Places(str(canary), str(secret), server.getsockname()[1], os.getpid())
        jobs = []
        for attempt in ATTEMPTS:
            for name, code in (
                (attempt.name, attempt.code),
                (f"{attempt.name} (raw)", attempt.raw),
            ):
                if attempt.works and code:
                    jobs.append(
                        {
                            "name": name,
                            "blocks": [fill(code, places)],
                            "guards": attempt.works == GUARDS,
                        }
                    )
        return run_bare(jobs, folder, (read.fileno(), write.fileno()))


def test_usable_cases_are_many_and_named_once():
    assert len(CASES) >= 70
    assert [name for name, n in Counter(case.name for case in CASES).items() if n > 1] == []
    assert all(isinstance(block, str) and block.strip() for case in CASES for block in case.blocks)


@all_cases("case", [case for case in CASES if not case.only_sandbox], ids=lambda case: case.name)
def test_a_usable_case_prints_that_in_plain_python(case, plain):
    assert plain[case.name] == case.expect


def test_attempts_are_many_and_named_once():
    assert len(ATTEMPTS) >= 120
    assert [
        name for name, n in Counter(attempt.name for attempt in ATTEMPTS).items() if n > 1
    ] == []
    for attempt in ATTEMPTS:
        assert isinstance(attempt.code, str) and attempt.code.strip()
        assert attempt.raw is None or (isinstance(attempt.raw, str) and attempt.raw.strip())


def test_every_family_is_there():
    count = Counter(attempt.family for attempt in ATTEMPTS)
    assert set(count) == set(FAMILIES)
    assert min(count.values()) >= 10


def test_what_lies_below_the_language_is_attempted_without_it():
    for attempt in ATTEMPTS:
        if attempt.family in (KERNEL, FRAMES, DESCRIPTORS, EXHAUSTION):
            assert attempt.raw, attempt.name


def test_an_attempt_says_when_it_worked():
    """Exhaustion and forged frames are seen from outside: by how the run ends, and by a host that
    stands."""
    for attempt in ATTEMPTS:
        if attempt.family not in (EXHAUSTION, FRAMES):
            assert "ESCAPED" in attempt.code, attempt.name
            assert attempt.raw is None or "ESCAPED" in attempt.raw, attempt.name


DESTRUCTIVE = re.compile(
    r"rmtree|unlink|rmdir|\brm\b|\.remove\(|mkfs|\bdd\b|reboot|shutdown|truncate|SIGKILL|SIGTERM|killpg|sudo|"
    r"\bwipe|format c|O_TRUNC|,"
    r" ?['\"]w[+b]*['\"]|/etc/shadow|authorized_keys|crontab|init_module|kexec|swapoff"
)


def test_payloads_are_inert():
    for attempt in ATTEMPTS:
        for code in (attempt.code, attempt.raw or ""):
            harmless = code.replace("'{canary_file}', 'w'", "")
            assert not DESTRUCTIVE.search(harmless), (attempt.name, DESTRUCTIVE.search(harmless))
            for signal in re.findall(r"kill\([^,]*(?:\(\))?, (\S+)\)", code):
                assert signal in ("0", "19", "signal.SIGSTOP"), attempt.name


def test_all_places_are_filled():
    places = Places("/c", "/s", 1, 2)
    for attempt in ATTEMPTS:
        for code in (attempt.code, attempt.raw or ""):
            assert not re.search(r"\{(canary|secret|host)_", fill(code, places)), attempt.name


@pytest.mark.skipif(sys.platform != "linux", reason="the attempts are written for Linux")
@all_cases("attempt", [a for a in ATTEMPTS if a.works], ids=lambda attempt: attempt.name)
def test_an_attempt_works_where_nothing_stops_it(attempt, unstopped):
    assert attempt.works in (BARE, GUARDS)
    if (
        sys.version_info[:2] != SEEN_ON
        and attempt.family == MODULES
        and "ESCAPED:" not in unstopped[attempt.name]
    ):
        return  # this version of the library has no such way
    assert "ESCAPED:" in unstopped[attempt.name]
    if attempt.raw:
        assert "ESCAPED:" in unstopped[f"{attempt.name} (raw)"]
