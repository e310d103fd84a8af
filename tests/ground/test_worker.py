"""A child process that is not believed: started bare, spoken to in frames, ended whatever it does."""

from __future__ import annotations

import os
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rlm.frames import BrokenFrame
from rlm.worker import Gone, Pipe, WorkerProcess, package_folder, parse_message

ECHO = """
import os
from rlm import frames
def read():
    (size,) = frames.HEAD.unpack(frames.read_exactly(0, 4))
    import json
    return json.loads(frames.read_exactly(0, size))
def say(message):
    frames.write_all(1, frames.encode(message, 1 << 20))
"""


@pytest.fixture
def start() -> Iterator[Callable[..., WorkerProcess]]:
    started: list[WorkerProcess] = []

    def make(code: str, **options: Any) -> WorkerProcess:
        started.append(WorkerProcess(ECHO + code, **{"frame_bytes": 1 << 20, **options}))
        return started[-1]

    yield make
    for worker in started:
        worker.kill()


def soon() -> float:
    return time.monotonic() + 20


def exists(pid: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


# -- life ------------------------------------------------------------------------------------------


def test_messages_go_both_ways(start):
    worker = start("while True: say({'op': 'echo', 'got': read()})")
    for value in ("é😀", [1, None, {"a": 2.5}], "x" * 300_000):
        worker.send({"op": "say", "value": value})
        got = worker.receive(soon())
        assert got == {"op": "echo", "got": {"op": "say", "value": value}}
    assert worker.alive() and not worker.waiting


def test_a_worker_starts_bare(start, monkeypatch):
    """No environment, no site packages, no open file but its pipes, a group of its own."""
    monkeypatch.setenv("SECRET_OF_THE_HOST", "hunter2")
    inherited, other = os.pipe()
    os.set_inheritable(inherited, True)
    worker = start(
        "say({'op': 'am', 'env': dict(os.environ), 'path': sys.path, 'cwd': os.getcwd(),"
        " 'files': sorted(map(int, os.listdir('/proc/self/fd'))), 'group': os.getpgid(0)})\nread()"
    )
    found = worker.receive(soon())
    os.close(inherited)
    os.close(other)
    assert "SECRET_OF_THE_HOST" not in found["env"] and "hunter2" not in str(found["env"])
    assert set(found["env"]) <= {"LC_CTYPE"}  # which Python sets for itself
    assert not [place for place in found["path"] if "site-packages" in place]
    assert found["cwd"] == "/" and found["files"] == [0, 1, 2, 3]  # the last one is the listing
    assert found["group"] == worker.pid != os.getpgid(0)


def test_killing_ends_the_whole_group_and_reaps_it(start):
    worker = start(
        "import subprocess\n"
        f"child = subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(600)'],"
        " stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "say({'op': 'have', 'child': child.pid})\nread()"
    )
    child = worker.receive(soon())["child"]
    assert exists(child)
    code, _ = worker.kill()
    assert code == -signal.SIGKILL and not worker.alive() and worker.kill()[0] == code
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)
    until = soon()
    while exists(child) and time.monotonic() < until:
        threading.Event().wait(0.01)
    assert not exists(child)


def test_another_thread_can_end_it(start):
    worker = start("say({'op': 'ready'})\nread()")
    worker.receive(soon())
    threading.Thread(target=worker.interrupt).start()
    with pytest.raises(Gone) as caught:
        worker.receive(soon())
    assert not caught.value.late and not worker.alive()


# -- ends ------------------------------------------------------------------------------------------


def test_one_that_is_late_is_killed(start):
    worker = start("say({'op': 'ready'})\nwhile True: pass")
    worker.receive(soon())
    with pytest.raises(Gone) as caught:
        worker.receive(time.monotonic() + 0.05)
    assert caught.value.late
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def test_one_that_is_late_may_be_given_more_time_once(start):
    worker = start("say({'op': 'ready'})\nread(); say({'op': 'done'}); read()")
    worker.receive(soon())

    def wake() -> float:
        worker.send({"op": "go"})
        return soon()

    assert worker.receive(time.monotonic() + 0.01, wake) == {"op": "done"}
    with pytest.raises(Gone):
        worker.receive(time.monotonic() + 0.01, lambda: time.monotonic() + 0.01)


@pytest.mark.parametrize(
    ("code", "how", "memory", "outside"),
    [
        ("sys.exit(7)", "code 7", False, False),
        ("raise ValueError('odd')", "ValueError: odd", False, False),
        ("raise MemoryError", "MemoryError", True, False),
        ("os.kill(os.getpid(), 9)", "SIGKILL", False, True),
        ("os.abort()", "SIGABRT", True, False),
    ],
)
def test_one_that_ends_says_how(start, code, how, memory, outside):
    with pytest.raises(Gone) as caught:
        start(code, keep_stderr=True).receive(soon())
    gone = caught.value
    assert how in gone.how and (gone.memory, gone.outside, gone.late) == (memory, outside, False)


def test_what_it_prints_as_an_error_is_not_kept_unless_asked_for(start):
    with pytest.raises(Gone) as caught:
        start("raise ValueError('odd')").receive(soon())
    assert "odd" not in caught.value.how


@pytest.mark.parametrize(
    "data", [b"\xff" * 8, struct.pack(">I", 3) + b"abc", struct.pack(">I", 4) + b"[{}]"]
)
def test_one_that_sends_what_is_no_message_is_killed(start, data):
    worker = start(f"os.write(1, {data!r})\nread()")
    with pytest.raises(Gone):
        worker.receive(soon())
    assert not worker.alive()


def test_a_message_to_one_that_ended(start):
    worker = start("sys.exit(0)", keep_stderr=True)
    worker._process.wait()
    with pytest.raises(Gone, match="code 0"):
        worker.send({"op": "go"})


# -- pipes -----------------------------------------------------------------------------------------


@pytest.fixture
def pipes() -> Iterator[tuple[int, int, int, int]]:
    (taken, fed), (back, given) = os.pipe(), os.pipe()
    yield taken, fed, back, given
    for number in (taken, fed, back, given):
        os.close(number)


def test_an_oversize_message_is_refused_before_it_is_read(pipes):
    taken, fed, _, given = pipes
    os.write(fed, struct.pack(">I", 1_000_001))
    with pytest.raises(Gone, match="1,000,001 bytes"):
        Pipe(taken, given, frame_bytes=1_000_000).receive(soon())


def test_too_much_is_not_sent(pipes):
    taken, _, _, given = pipes
    with pytest.raises(BrokenFrame, match="over the limit of 100"):
        Pipe(taken, given, frame_bytes=1_000, send_bytes=100).send({"op": "x" * 200})


def test_a_worker_that_does_not_read_cannot_hold_the_host(pipes, monkeypatch):
    monkeypatch.setattr("rlm.worker.SEND_S", 0.05)
    taken, _, _, given = pipes
    with pytest.raises(Gone, match="does not read"):
        Pipe(taken, given, frame_bytes=1 << 24).send({"op": "result", "value": "x" * 2_000_000})


@pytest.mark.parametrize("body", [b"", b"1", b"[]", b"{}", b'{"op": 1}', b"\xff", b"[" * 9_000])
def test_a_message_is_an_object_with_an_op(body):
    with pytest.raises(BrokenFrame):
        parse_message(body)


def test_where_a_package_lies():
    assert package_folder("orjson").name == "orjson" and package_folder("no_such_package") is None
