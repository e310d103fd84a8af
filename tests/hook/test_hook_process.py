"""The hook as a process: code 0 and valid output, whatever it finds, and within its deadline."""

from __future__ import annotations

import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import apsw
import pytest
from hook_running import Place, as_root

import rlm.hook
from rlm import MemoryItem, open_store
from rlm.retrieval.rank import RECALL_FLOOR
from rlm.service import hook_log
from rlm.store.document import ITEM_COLUMNS, ITEM_WEIGHTS
from rlm.store.sqlite import migrations, quick

ASK = "The uploader gives up after three retries, is that on purpose?"
EVENTS = ("session-start", "prompt", "stop", "session-end")


def test_it_knows_the_tables_and_numbers_of_the_store() -> None:
    """Written twice, because importing them costs a prompt 100 ms."""
    assert quick.SCHEMAS[-1] == migrations.VERSION
    assert (quick.COLUMNS, quick.WEIGHTS) == (ITEM_COLUMNS, ITEM_WEIGHTS)
    assert quick.LEAST_CONFIDENCE == RECALL_FLOOR


def test_it_loads_nothing_heavy() -> None:
    modules = "rlm.hook, rlm.service.hook_events, rlm.store.sqlite.quick"
    code = f"import sys; sys.path += {sys.path}; import {modules}; print(*sys.modules)"
    argv = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "apsw" in loaded, done.stderr
    heavy = {
        "dataclasses",
        "typing",
        "pathlib",
        "urllib",
        "logging",
        "hashlib",
        "numpy",
        "click",
        "rich",
        "orjson",
        "subprocess",
        "uuid",
        "random",
        "tomllib",
        "asyncio",
    }
    assert loaded & heavy == set()


def missing(place: Place) -> None:
    place.db.unlink()


def a_folder(place: Place) -> None:
    place.db.unlink()
    place.db.mkdir()


def empty(place: Place) -> None:
    place.db.write_bytes(b"")


def broken(place: Place) -> None:
    data = bytearray(place.db.read_bytes())
    data[100 : len(data)] = random.Random(1).randbytes(len(data) - 100)
    place.db.write_bytes(data)


def no_database(place: Place) -> None:
    place.db.write_bytes(b"these are notes\n" * 500)


def newer(place: Place) -> None:
    with contextlib.closing(apsw.Connection(str(place.db))) as connection:
        connection.pragma("user_version", migrations.VERSION + 1)


def without_index(place: Place) -> None:
    with contextlib.closing(apsw.Connection(str(place.db))) as connection:
        connection.execute("DROP TABLE memory_fts")


def damaged_rows(place: Place) -> None:
    with contextlib.closing(apsw.Connection(str(place.db))) as connection:
        connection.execute("UPDATE memory_items SET content = x'ff', provenance_json = '{'")


def a_json_store(place: Place) -> None:
    place.env["RLM_MEMORY_DB"] = f"json:{place.db}"


def bad_settings(place: Place) -> None:
    place.env["RLM_CONFIG"] = str(place.home / "no such file")


UNUSABLE = (missing, a_folder, empty, broken, no_database, newer, without_index, damaged_rows,
            a_json_store, bad_settings)  # fmt: skip


@pytest.mark.parametrize("spoil", UNUSABLE, ids=lambda spoil: spoil.__name__)
def test_a_store_that_cannot_be_used_is_no_reason_to_be_in_the_way(
    filled: Place, spoil: Callable[[Place], None]
) -> None:
    spoil(filled)
    before = filled.db.read_bytes() if filled.db.is_file() else None
    for event in EVENTS[:3]:
        answer = filled.hook(event, prompt=ASK)
        assert (answer.code, answer.out, answer.err) == (0, b"", b""), event
    assert (filled.db.read_bytes() if filled.db.is_file() else None) == before
    if spoil in (newer, broken, no_database, without_index, bad_settings):
        assert "claude prompt: " in filled.log()
    if spoil is newer:
        assert f"schema {migrations.VERSION + 1}" in filled.log()


@pytest.mark.parametrize(
    "given",
    [b"", b"{", b"[1]", b"null", b'"text"', b"\xff\xfe", b"{}", b'{"prompt": 1, "cwd": 2}',
     b'{"session_id": {"a": 1}, "cwd": "\\u0000", "prompt": "\\ud800 uploader"}', b"[" * 100_000],
    ids=lambda given: repr(given[:30]),
)  # fmt: skip
def test_input_that_is_no_input(filled: Place, given: bytes) -> None:
    for event in ("prompt", "stop"):
        answer = filled.hook(event, given)
        assert answer.code == 0 and answer.err == b""
        if answer.out:
            json.loads(answer.out)


@pytest.mark.parametrize("argv", [[], ["claude"], ["vim", "prompt"], ["claude", "x"], ["a"] * 9])
def test_arguments_of_another_version(place: Place, argv: list[str]) -> None:
    line = [sys.executable, "-I", "-S", rlm.hook.__file__, *argv]
    done = subprocess.run(line, input=b"{}", env=place.env, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_huge_prompt(filled: Place) -> None:
    assert filled.hook("prompt", prompt=f"{ASK} {'x ' * 2_000_000}").code == 0
    assert (
        filled.hook("prompt", prompt=f"{ASK} {'logs and more ' * 20_000}", session_id="s2").code
        == 0
    )
    assert filled.hook("prompt", prompt="y" * 9_000_000, session_id="s3").out == b""


def test_closed_streams(filled: Place) -> None:
    code = "import os, sys; [os.close(int(n)) for n in sys.argv[1]]; os.execv(sys.argv[2], sys.argv[2:])"
    for closed in ("0", "1", "012"):
        for event in ("session-start", "stop"):
            line = [
                sys.executable,
                "-c",
                code,
                closed,
                sys.executable,
                "-I",
                "-S",
                rlm.hook.__file__,
            ]
            done = subprocess.run(
                [*line, "claude", event], input=b"{}", env=filled.env, capture_output=True
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), (closed, event)


@pytest.mark.parametrize(("event", "deadline"), [("prompt", "120 ms"), ("stop", "800 ms")])
def test_input_that_never_ends_is_not_waited_for(place: Place, event: str, deadline: str) -> None:
    line = [sys.executable, "-I", "-S", rlm.hook.__file__, "claude", event]
    for _ in range(20):  # on a busy machine it ends before it can say so
        with subprocess.Popen(
            line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.env
        ) as process:
            assert process.wait(timeout=30) == 0
            assert process.stdout is not None and process.stdout.read() == b""
        if place.log():
            break
    assert place.log().endswith(f" claude {event} missed its deadline of {deadline}\n")


def test_a_log_that_hangs_is_not_waited_for(place: Place) -> None:
    log = place.cache / "hook" / "log"
    log.parent.mkdir(parents=True)
    os.mkfifo(log)  # nobody reads it: opening it waits
    line = [sys.executable, "-I", "-S", rlm.hook.__file__, "claude", "prompt"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, env=place.env) as process:
        try:
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()


def test_the_log_starts_anew_when_it_is_long(place: Place) -> None:
    log = place.cache / "hook" / "log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"x" * (hook_log.LOG_BYTES + 1))
    assert place.hook("prompt", b"[1]").out == b""
    assert place.log().count("\n") == 1 and "no JSON object" in place.log()


def test_a_writer_that_holds_the_lock_is_not_waited_for(filled: Place) -> None:
    with open_store(str(filled.db), embedder="none") as store, store.together():
        store.add(MemoryItem("Half written", "", "The uploader never retries."))
        text = filled.hook("prompt", prompt=ASK).text
        assert "three times" in text and "Half written" not in text


def test_a_store_that_is_locked_whole_is_not_waited_for(filled: Place) -> None:
    with contextlib.closing(apsw.Connection(str(filled.db))) as other:
        other.pragma("journal_mode", "delete")
        other.execute("BEGIN EXCLUSIVE")
        answer = filled.hook("prompt", prompt=ASK)
        assert (answer.code, answer.out) == (0, b"") and "BusyError" in filled.log()


def test_it_writes_nothing_into_the_store(filled: Place) -> None:
    before = filled.db.read_bytes()
    assert filled.hook("session-start").text and filled.hook("prompt", prompt=ASK).code == 0
    assert filled.db.read_bytes() == before


def read_only(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(0o500)


def test_a_cache_that_cannot_be_written_gives_the_start_and_no_prompt(filled: Place) -> None:
    """What was shown cannot be noted then, and might be shown twice."""
    filled.cache.write_bytes(b"a file where the folder should be")
    assert filled.hook("session-start").text != ""
    assert filled.hook("prompt", prompt=ASK).text == ""
    filled.spool.write_bytes(b"likewise")
    assert filled.hook("stop").out == b""


@pytest.mark.skipif(as_root(), reason="root may write anywhere")
def test_folders_that_cannot_be_written(filled: Place) -> None:
    for folder in (filled.cache, filled.spool, filled.db.parent):
        read_only(folder)
    try:
        assert filled.hook("session-start").text != ""
        assert filled.hook("stop").out == b""
    finally:
        for folder in (filled.db.parent, filled.cache, filled.spool):
            folder.chmod(0o700)


@pytest.mark.slow
def test_at_100_000_memories_it_takes_150_ms_at_most(place: Place) -> None:
    """On a machine that has nothing else to do."""
    words = random.Random(5)
    vocabulary = ["".join(words.choices("bcdfgklmnprstvz", k=2)) + words.choice("aeiou") * 2 + str(n % 97)
                  for n in range(20_000)]  # fmt: skip
    share = list(accumulate(1 / (n + 5) for n in range(len(vocabulary))))

    def text(count: int) -> str:
        return " ".join(words.choices(vocabulary, cum_weights=share, k=count))

    place.add(*(MemoryItem(text(6), text(14), text(60)) for _ in range(100_000)))
    place.add(MemoryItem("Parser tests", "", "Run the parser suite with pytest -n 4."))
    prompts = {
        "rare": lambda: "how do I run the parser suite in parallel?",
        "common": lambda: " ".join(words.sample(vocabulary[:60], 12)),
        "mixed": lambda: " ".join(words.sample(vocabulary, 20)),
        "long": lambda: text(3_000),
    }
    for name, make in prompts.items():
        found = p95_ms(place, make)
        print(f"{name}: p95 {found:.0f} ms")
        assert found <= 150, name
    given = {"session_id": "last", "prompt": prompts["rare"]()}
    assert "pytest -n 4" in place.hook("prompt", given).text


def p95_ms(place: Place, make: Callable[[], str]) -> float:
    """Of 40 prompts in as many sessions."""
    took = []
    for number in range(40):
        given = {"session_id": f"s{number}-{random.random()}", "prompt": make()}
        answer = place.hook("prompt", given, patient=False)
        assert answer.code == 0
        took.append(answer.seconds * 1000)
    return statistics.quantiles(took, n=20)[-1]
