"""A home of its own for every test, and the command line as a function."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Result, Run

from rlm.cli import main


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty HOME and working folder, no settings, no git repository, words only."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USER", "ada")
    monkeypatch.setenv("RLM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def db(home: Path, tmp_path: Path) -> str:
    """The path of a store that is not there yet."""
    return str(tmp_path / "store.db")


@pytest.fixture
def rlm(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`rlm("memory", "list")` runs that line in this process."""

    def run(*args: str, stdin: bytes | None = None) -> Result:
        capsys.readouterr()
        if stdin is not None:
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(args)
        taken = capsys.readouterr()
        return Result(code, taken.out, taken.err)

    return run


@pytest.fixture
def add(rlm: Run, db: str) -> Callable[..., str]:
    """Store one memory in `db`; its id."""

    def store(
        title: str = "Find the subclasses", content: str = "Start at the root.", *more: str
    ) -> str:
        result = rlm("memory", "add", "--db", db, "--title", title, "--content", content, *more)
        assert result.code == 0, result.err
        return result.out.strip()

    return store
