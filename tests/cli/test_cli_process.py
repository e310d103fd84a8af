"""The command line as a process: pipes, signals, permissions, the default store, what it imports."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-W", "error", "-m", "rlm"]


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RLM_")}
    return {**kept, "PYTHONPATH": str(SOURCE), "RLM_EMBEDDER": "none", **more}


def run(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *args], env=environment(**more), capture_output=True, text=True, timeout=60
    )


@pytest.mark.req("SPEC-02.02")
def test_the_default_store_is_below_home(home: Path) -> None:
    made = run("memory", "add", "--title", "T", "--content", "c", HOME=str(home))
    assert made.returncode == 0, made.stderr
    assert (home / ".claude" / "rlm-memory.db").is_file()


@pytest.mark.req("SPEC-02.03")
def test_rlm_memory_db_names_the_store_and_db_beats_it(home: Path, tmp_path: Path) -> None:
    named, nearer = tmp_path / "named.db", tmp_path / "nearer.db"
    more = {"HOME": str(home), "RLM_MEMORY_DB": str(named)}
    assert run("memory", "add", "--title", "T", "--content", "c", **more).returncode == 0
    assert named.is_file() and not (home / ".claude").exists()
    assert (
        run(
            "memory", "add", "--title", "T", "--content", "c", "--db", str(nearer), **more
        ).returncode
        == 0
    )
    assert nearer.is_file()


def test_a_reader_that_went_away_ends_it_quietly(add: Callable[..., str], db: str) -> None:
    add("Long", "word " * 19_000)
    for line in (("memory", "list", "--json"), ("memory", "list"), ("--help",)):
        reading, writing = os.pipe()
        os.close(reading)
        db_option = [] if line == ("--help",) else ["--db", db]
        done = subprocess.run(
            [*COMMAND, *line, *db_option],
            env=environment(),
            stdout=writing,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_ends_with_130_and_no_traceback(db: str, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    # without -W error: an interrupt between open() and `with` leaves the file to the collector,
    # rightly
    line = [
        sys.executable,
        "-m",
        "rlm",
        "memory",
        "add",
        "--title",
        "T",
        "--file",
        str(fifo),
        "--db",
        db,
    ]
    with (
        subprocess.Popen(
            line, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process,
        fifo.open("wb"),  # opens once the command has it open for reading: it waits there now
    ):
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == b""
    assert err.startswith(b"error: interrupted") and err.count(b"\n") == 1
    assert not Path(db).exists()


AS_NOBODY = """
import contextlib, io, os, pkgutil, sys
from importlib import import_module
import rlm
from rlm.cli import main
for room in ("cli", "store", "retrieval", "packs"):
    for module in pkgutil.walk_packages([f"{rlm.__path__[0]}/{room}"], f"rlm.{room}."):
        import_module(module.name)
args = sys.argv[1:]
with contextlib.redirect_stdout(io.StringIO()):
    main(["memory", "search", "subclasses", *args[-2:]]), main(["doctor", *args[-2:]])
os.setgroups([]), os.setgid(65534), os.setuid(65534)
sys.exit(main(args))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_a_store_that_may_only_be_read_can_be_searched_and_not_written(open_folder: Path) -> None:
    db = open_folder / "store.db"
    shutil.copytree(SOURCE, open_folder / "src")
    home = {
        "HOME": str(open_folder / "home"),
        "RLM_PROJECT": "p",
        "PYTHONPATH": str(open_folder / "src"),
    }
    assert (
        run(
            "memory",
            "add",
            "--title",
            "Find subclasses",
            "--content",
            "Go.",
            "--db",
            str(db),
            **home,
        ).returncode
        == 0
    )
    db.chmod(0o444)

    def as_nobody(*args: str) -> subprocess.CompletedProcess[str]:
        """Load every module as root, whose interpreter it is, and only then become somebody else."""
        line = [sys.executable, "-c", AS_NOBODY, *args, "--db", str(db)]
        return subprocess.run(
            line, env=environment(**home), capture_output=True, text=True, timeout=60, cwd="/"
        )

    found = as_nobody("memory", "search", "subclasses")
    assert found.returncode == 0 and "Find subclasses" in found.stdout, found.stderr
    refused = as_nobody("memory", "add", "--title", "T", "--content", "c")
    assert (
        refused.returncode == 2
        and refused.stderr.startswith("error: ")
        and "read-only" in refused.stderr
    )
    assert as_nobody("doctor").returncode == 0


def imported(*args: str) -> set[str]:
    """The modules that are loaded when a command has run."""
    code = (
        "import sys; from rlm.cli import main; main(sys.argv[1:]); print(*sys.modules,"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


HEAVY = {
    "rich",
    "typer",
    "pydantic",
    "httpx",
    "cryptography",
    "yaml",
    "wordllama",
    "tomllib",
    "rlm.learning",
    "rlm.loop",
    "rlm.ontology",
    "rlm.packs",
}


@pytest.mark.parametrize(
    "line",
    [
        ("memory", "search", "subclasses", "--json"),
        ("memory", "search", "subclasses"),
        ("memory", "list"),
    ],
)
def test_a_search_loads_nothing_that_it_does_not_need(
    add: Callable[..., str], db: str, line: tuple[str, ...]
) -> None:
    add()
    assert not HEAVY & imported(*line, "--db", db)


@pytest.mark.parametrize("called", ["/usr/bin/rlm-agent", "C:\\\\bin\\\\rlm-agent.exe"])
def test_the_agent_is_called_by_its_own_name(called: str) -> None:
    start = (
        f"import sys; sys.argv = ['{called}', 'run', '--nope']; from rlm.cli import main;"
        " sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", start], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2 and done.stderr.endswith("ee `rlm-agent run --help`\n"), done.stderr


def test_help_loads_no_store() -> None:
    loaded = imported("memory", "--help")
    assert not loaded & (HEAVY | {"numpy", "apsw", "rlm.store.open"})


def test_with_the_static_model_a_search_finds_by_meaning(db: str, home: Path) -> None:
    more = {"RLM_EMBEDDER": "static", "HOME": str(home)}
    line = (
        "memory",
        "add",
        "--title",
        "Repair a bicycle",
        "--content",
        "Patch the tyre.",
        "--db",
        db,
    )
    assert run(*line, **more).returncode == 0
    found = run("memory", "search", "fixing bikes", "--db", db, "--json", **more)
    assert found.returncode == 0 and "Repair a bicycle" in found.stdout
