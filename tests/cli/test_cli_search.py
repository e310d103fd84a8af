"""`rlm memory search`: what comes back, why, and what it does not do."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from rlm import open_store
from rlm.store.sqlite.backend import SQLiteMemoryBackend


def test_search_prints_score_id_title_and_description(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    found = add("Find the subclasses", "Start at the root.", "--description", "How to list them")
    add("Bake bread", "Knead.")
    line = rlm("memory", "search", "list", "subclasses", "--db", db).out.splitlines()[1].split("\t")
    assert float(line[0]) > 0 and line[1:] == [found, "Find the subclasses", "How to list them"]


def test_explain_says_why(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    told = rlm("memory", "search", "subclasses", "--db", db, "--explain")
    assert "similarity" in told.out and "subclasses 100%" in told.out
    why = rlm("memory", "search", "subclasses", "--db", db, "--explain", "--json").json[0]["why"]
    assert why["matched"] == {"subclasses": 1.0} and why["level"] == "project"
    assert "why" not in rlm("memory", "search", "subclasses", "--db", db, "--json").json[0]


def test_filters_and_k(rlm: Run, add: Callable[..., str], db: str) -> None:
    good = add("Find subclasses fast", "One.", "--ontology", "prov")
    bad = add("Find subclasses slowly", "Two.", "--outcome", "failure", "--ontology", "sio")

    def ids(*options: str) -> set[str]:
        return {
            hit["memory_id"]
            for hit in rlm(
                "memory", "search", "find subclasses", "--db", db, "--json", *options
            ).json
        }

    assert (
        ids() == {good, bad}
        and ids("--outcome", "failure") == {bad}
        and ids("--ontology", "prov") == {good}
    )
    assert len(ids("-k", "1")) == 1


def test_nothing_found_is_exit_1_as_with_grep(rlm: Run, add: Callable[..., str], db: str) -> None:
    add()
    empty = rlm("memory", "search", "zebra", "--db", db)
    assert (empty.code, empty.out, empty.err) == (1, "", "nothing found\n")
    told = rlm("memory", "search", "zebra", "--db", db, "--json")
    assert (told.code, told.json, told.err) == (1, [], "")


@pytest.mark.parametrize(
    "line", [("memory", "search", "x"), ("memory", "list"), ("graph", "search", "x")]
)
def test_reading_where_there_is_no_store_gives_nothing_and_makes_nothing(
    rlm: Run, db: str, line: tuple[str, ...]
) -> None:
    empty = rlm(*line, "--db", db)
    code = 1 if "search" in line else 0
    assert (empty.code, empty.out) == (code, "") and db in empty.err
    told = rlm(*line, "--db", db, "--json")
    assert (told.code, told.json, told.err) == (code, [], "")
    assert not Path(db).exists()


@pytest.mark.parametrize(
    "line", [("memory", "show", "abcd"), ("memory", "stats"), ("backup", "copy.db")]
)
def test_naming_something_in_a_store_that_is_not_there_is_exit_1(
    rlm: Run, db: str, line: tuple[str, ...]
) -> None:
    failed = rlm(*line, "--db", db)
    assert failed.code == 1 and db in failed.err and not Path(db).exists()


def test_a_search_neither_waits_nor_fails_while_another_process_writes(
    rlm: Run, add: Callable[..., str], db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLM_LOCK_TIMEOUT_S", "60")
    found = add()
    writer = open_store(db, embedder="none")
    assert isinstance(writer, SQLiteMemoryBackend)
    with writer.db.write():
        started = time.monotonic()
        assert (
            rlm("memory", "search", "subclasses", "--db", db, "--json").json[0]["memory_id"]
            == found
        )
        assert time.monotonic() - started < 30
        monkeypatch.setenv("RLM_LOCK_TIMEOUT_S", "0.05")
        locked = rlm("memory", "add", "--db", db, "--title", "T", "--content", "c")
    writer.close()
    assert locked.code == 2 and locked.err.startswith("error: another process")


def test_a_search_does_not_wait_for_another_program_either(
    rlm: Run, add: Callable[..., str], db: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLM_LOCK_TIMEOUT_S", "60")
    found = add()
    code = (
        f"import sqlite3, sys; db = sqlite3.connect({db!r}, isolation_level=None);"
        " db.execute('BEGIN IMMEDIATE')\nprint('held', flush=True); sys.stdin.readline()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        started = time.monotonic()
        assert (
            rlm("memory", "search", "subclasses", "--db", db, "--json").json[0]["memory_id"]
            == found
        )
        assert time.monotonic() - started < 5
        holder.communicate("\n")


def test_a_search_on_a_full_disk_finds(rlm: Run, add: Callable[..., str], db: str) -> None:
    """A limit on the size of files gives the same kind of error as a full disk."""
    found = add()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with open_store(db, embedder="none") as other:  # its side files are there already
        assert other.get(found)
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            searched = rlm("memory", "search", "subclasses", "--db", db, "--json")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert searched.code == 0 and searched.json[0]["memory_id"] == found
    assert rlm("memory", "show", found, "--db", db, "--json").json["access_count"] == 0


def test_a_search_counts_as_an_access(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add()
    rlm("memory", "search", "subclasses", "--db", db)
    assert rlm("memory", "show", found, "--db", db, "--json").json["access_count"] == 1


def test_a_long_task_comes_from_stdin(rlm: Run, add: Callable[..., str], db: str) -> None:
    found = add("Prune the orchard", "Cut in winter.")
    task = b"how do I prune an orchard " + b"and other words " * 20_000
    assert (
        rlm("memory", "search", "-", "--db", db, "--json", stdin=task).json[0]["memory_id"] == found
    )
