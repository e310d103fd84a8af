"""Every attempt of the corpus, against every layer together and against each layer of the operating
system alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from corpus_escape import (
    ATTEMPTS,
    DESCRIPTORS,
    EXHAUSTION,
    FAMILIES,
    KERNEL,
    SHADOWING,
    Attempt,
    Places,
    fill,
)
from corpus_reviewed import REVIEWED

from all_cases import all_cases
from rlm.sandbox import SandboxLimits, Surroundings
from rlm.sandbox.process import ProcessRepl

SECRET = "the-secret-of-the-host"
LIMITS = SandboxLimits(block_s=0.25, memory_mb=192, output_chars=20_000, calls=300)
DOC = "a text on the host " * 5_000


class Outside:
    """The places that an attempt may reach for, and whether one was reached."""

    def __init__(self, folder: Path) -> None:
        self.canary, secret = folder / "canary", folder / "secret"
        self.canary.write_text("")
        secret.write_text(SECRET)
        self.port = socket.create_server(("127.0.0.1", 0))
        self.port.setblocking(False)
        folder.chmod(0o777)
        secret.chmod(0o666)
        self.canary.chmod(0o666)
        self._held = [os.open(secret, os.O_RDONLY), os.open(self.canary, os.O_WRONLY | os.O_APPEND)]
        for number in self._held:
            os.set_inheritable(number, True)
        self.places = Places(str(self.canary), str(secret), self.port.getsockname()[1], os.getpid())

    def reached(self) -> list[str]:
        """What was touched; it is put back as it was."""
        found = []
        if self.canary.read_text() != "":
            found.append("the canary file")
            self.canary.write_text("")
        try:
            self.port.accept()[0].close()
            found.append("the canary port")
        except BlockingIOError:
            pass
        return found

    def close(self) -> None:
        self.port.close()
        for number in self._held:
            os.close(number)


def open_one(**words: object) -> ProcessRepl:
    def echo(value):
        return value

    def fail():
        raise ValueError("no")

    hidden = {
        "text.read": lambda key, start, stop: DOC[int(start) : int(stop)],
        "text.find": lambda key, needle, start, stop, fold: DOC.find(needle, start, stop),
        "text.count": lambda key, needle, start, stop: DOC.count(needle, start, stop),
    }
    repl = ProcessRepl(
        Surroundings(tools={"echo": echo, "fail": fail}, hidden=hidden), LIMITS, **words
    )
    repl.set("doc", {"$ref": {"key": "doc", "dtype": "text", "sz": len(DOC), "prev": ""}})
    return repl


class Yard:
    """One REPL per arrangement of layers, shared by all attempts that need it."""

    def __init__(self, folder: Path) -> None:
        self.outside = Outside(folder)
        self._repls: dict[str, ProcessRepl] = {}
        self.fresh = False

    def attempt(self, code: str, name: str, **words: object) -> tuple[str, str | None, list[str]]:
        """What it printed, the error it ended with, what it reached. The REPL must still answer
        afterwards."""
        repl = self._repls.get(name) or self._repls.setdefault(name, open_one(**words))
        result = repl.run(fill(code, self.outside.places))
        after = repl.run("print(1)")
        if after.stdout != "1\n":
            after = repl.run("print(1)")  # the first one after a kill starts a new worker
        reached = self.outside.reached()
        if self.fresh or reached or name == "shadowing":
            repl.close()  # what an attempt left behind is then not the next one's business
        assert after.stdout == "1\n", after
        return result.stdout, result.error, reached

    def close(self) -> None:
        for repl in self._repls.values():
            repl.close()
        self.outside.close()


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yard]:
    made = Yard(tmp_path_factory.mktemp("outside"))
    yield made
    made.close()


def check(said: str, reached: list[str]) -> None:
    assert reached == []
    assert "ESCAPED" not in said
    assert SECRET not in said


RAW = [attempt for attempt in ATTEMPTS if attempt.raw is not None]
DEEP = [attempt for attempt in RAW if attempt.family in (KERNEL, DESCRIPTORS)]
UNSEEN_BY_LANDLOCK = ("connect by fast open",)
"""Connecting and sending in one call passes Landlock's check of connections; seccomp has no socket
at all."""
EXHAUSTING = [attempt for attempt in RAW if attempt.family == EXHAUSTION]
ONE_FOR_EACH_LIMIT = {
    "endless loop that catches everything", "endless generator in C", "time limit caught", "memory by doubling",
    "memory by growing, caught", "deep recursion, caught", "output by many prints", "tool calls without end",
    "deep brackets in the source", "crash by abort", "a few forks",
}  # fmt: skip
AGAIN = [one for one in EXHAUSTING if one.raw == one.code and one.name not in ONE_FOR_EACH_LIMIT]
"""Code that the language layer lets pass meets the same limits with and without it: by default once
is enough."""


def every(attempts: list[Attempt]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return all_cases("attempt", attempts, ids=lambda attempt: attempt.name)


def together(attempt: Attempt, yard: Yard) -> None:
    said, error, reached = yard.attempt(
        attempt.code, "shadowing" if attempt.family == SHADOWING else "all"
    )
    check(said, reached)
    assert not attempt.ends or error in (*attempt.ends, "timeout")


def without_language(attempt: Attempt, yard: Yard) -> None:
    said, _, reached = yard.attempt(attempt.raw or "", "no language", language=False)
    check(said, reached)


def test_there_are_enough_attempts_in_every_family():
    assert len(ATTEMPTS) >= 90
    assert {attempt.family for attempt in ATTEMPTS} == set(FAMILIES)
    assert {attempt.name for attempt in EXHAUSTING if attempt not in AGAIN} >= ONE_FOR_EACH_LIMIT
    assert len(EXHAUSTING) - len(AGAIN) >= 20


EVERY = [*ATTEMPTS, *REVIEWED]
MORE_EXHAUSTION = [
    one for one in EVERY if one.family == EXHAUSTION and one.name not in ONE_FOR_EACH_LIMIT
]


@pytest.mark.req("SPEC-02.32")
@every([attempt for attempt in EVERY if attempt not in MORE_EXHAUSTION])
def test_every_layer_together(attempt: Attempt, yard: Yard):
    together(attempt, yard)


@pytest.mark.slow
@every(MORE_EXHAUSTION)
def test_every_layer_together_stops_exhaustion(attempt: Attempt, yard: Yard):
    together(attempt, yard)


@every([attempt for attempt in RAW if attempt not in AGAIN])
def test_the_operating_system_without_the_language_layer(attempt: Attempt, yard: Yard):
    without_language(attempt, yard)


@pytest.mark.slow
@every(AGAIN)
def test_the_operating_system_stops_exhaustion_without_the_language_layer(
    attempt: Attempt, yard: Yard
):
    without_language(attempt, yard)


@every(DEEP)
def test_seccomp_alone(attempt: Attempt, yard: Yard):
    said, _, reached = yard.attempt(
        attempt.raw or "", "seccomp", language=False, layers=("no_new_privs", "seccomp")
    )
    check(said, reached)


@every([attempt for attempt in DEEP if attempt.name not in UNSEEN_BY_LANDLOCK])
def test_landlock_alone_keeps_files_and_ports(attempt: Attempt, yard: Yard):
    """It knows files and connections, not processes: what is counted is what was reached."""
    said, _, reached = yard.attempt(
        attempt.raw or "", "landlock", language=False, layers=("no_new_privs", "landlock")
    )
    assert reached == [] and SECRET not in said


@pytest.mark.slow
@every(EXHAUSTING)
def test_limits_alone_stop_exhaustion(attempt: Attempt, yard: Yard):
    said, _, reached = yard.attempt(
        attempt.raw or "", "rlimits", language=False, layers=("rlimits", "uid")
    )
    check(said, reached)


@pytest.mark.slow
@every(EVERY)
def test_every_layer_together_in_a_worker_of_its_own(attempt: Attempt, yard: Yard):
    yard.fresh = True
    together(attempt, yard)
    if attempt.raw is not None:
        without_language(attempt, yard)
    yard.fresh = False
