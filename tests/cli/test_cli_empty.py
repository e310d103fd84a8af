"""Nothing there, nothing found, nothing given: one short line says so. A search that finds nothing
exits with 1, as grep does; a list that is empty is a list, and exits with 0."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run, on_a_pty

from rlm import open_store

PROV = str(Path(__file__).resolve().parents[2] / "ontology" / "prov.ttl")


@pytest.fixture
def empty(db: str) -> str:
    """A store that holds nothing."""
    open_store(db, embedder="none").close()
    return db


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (("memory", "list"), "no memories"),
        (("memory", "list", "--archived"), "the archive is empty"),
        (("memory", "list", "--tag", "x"), "no memories"),
        (
            ("memory", "search", "x"),
            "nothing found: the project local holds no memories (see --project)",
        ),
        (("memory", "review"), "nothing is in quarantine, nothing is proposed"),
        (("memory", "review", "--approve", "all"), "nothing waits for that"),
        (("memory", "review", "--reject", "all"), "nothing waits for that"),
        (("graph", "list"), "no nodes"),
        (("graph", "list", "--tier", "archive"), "no nodes"),
        (("graph", "search", "x"), "nothing found"),
        (("graph", "edges"), "no edges"),
        (("graph", "history"), "no history"),
        (("graph", "consolidate"), "consolidate: nothing to do"),
        (("graph", "promote", "--dry-run"), "promote: nothing to do"),
        (("graph", "decay"), "decay: nothing to do"),
    ],
)
def test_an_empty_store_says_so_in_one_line(
    rlm: Run, empty: str, line: tuple[str, ...], said: str
) -> None:
    code = 1 if "search" in line else 0
    done = rlm(*line, "--db", empty)
    assert (done.code, done.out, done.err) == (code, "", f"{said}\n")
    quiet = rlm(*line, "--db", empty, "--json")
    assert quiet.code == code and quiet.err == "" and quiet.out.count("\n") == 1


@pytest.mark.parametrize(
    "line",
    [
        ("memory", "list"),
        ("memory", "search", "x"),
        ("memory", "review"),
        ("memory", "review", "--approve", "all"),
        ("graph", "list"),
        ("graph", "search", "x"),
        ("graph", "edges"),
        ("graph", "history"),
    ],
)
def test_no_store_is_one_line_too_and_none_is_made(
    rlm: Run, db: str, line: tuple[str, ...]
) -> None:
    done = rlm(*line, "--db", db)
    assert (
        (done.code, done.out) == (1 if "search" in line else 0, "")
        and db in done.err
        and done.err.count("\n") == 1
    )
    assert rlm(*line, "--db", db, "--json").err == "" and not Path(db).exists()


@pytest.mark.parametrize(
    "line",
    [
        ("memory", "add", "--title", "T", "--content", "c"),
        ("memory", "list"),
        ("memory", "search", "snow"),
        ("graph", "add", "fact", "Snow is white"),
        ("pack", "import", "core_v1"),
        ("run", "How many lines?", "--context", "text.txt", "--model", "offline"),
    ],
)
@pytest.mark.parametrize("scheme", ["", "json:"])
def test_no_folder_is_made_that_db_misspells(
    rlm: Run, tmp_path: Path, line: tuple[str, ...], scheme: str
) -> None:
    (tmp_path / "text.txt").write_text("one\n", "utf-8")
    folder = tmp_path / "no where"
    for more in ((), ("--json",)):
        failed = rlm(*line, "--db", f"{scheme}{folder}/deep/x.db", *more)
        assert (failed.code, failed.out) == (2, "") and f"mkdir -p '{folder}/deep'" in failed.err
    assert not folder.exists()


def test_a_plain_path_to_json_is_no_sqlite_file(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, path = add(), tmp_path / "out.JSON"
    refused = [rlm("memory", "list", "--db", str(path)), rlm("store", "copy", db, str(path)),
               rlm("graph", "copy", str(path), "--db", db)]  # fmt: skip
    monkeypatch.setenv("RLM_MEMORY_DB", str(path))
    refused += [rlm("memory", "add", "--title", "T", "--content", "c"), rlm("doctor")]
    for each in refused:
        assert (each.code, each.out) == (2, "") and f"write json:{path}" in each.err
    assert not path.exists()
    assert rlm("store", "copy", db, f"json:{path}").code == 0
    assert rlm("memory", "list").code == 2, "that a JSON file is there changes nothing"
    path.write_bytes(Path(db).read_bytes())
    assert found in rlm("memory", "list").out, "a SQLite file of that name is still read"


def test_no_folder_is_made_that_a_setting_misspells(
    rlm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "typo"
    monkeypatch.setenv("RLM_MEMORY_DB", f"{folder}/x.db")
    failed = rlm("memory", "add", "--title", "T", "--content", "c")
    assert (failed.code, failed.out) == (2, "") and not folder.exists()
    assert "RLM_MEMORY_DB" in failed.err and f"mkdir -p {folder}" in failed.err
    assert rlm("memory", "list").code == 2 and rlm("doctor").code == 1


@pytest.mark.parametrize(
    "line",
    [
        ("backup", "copy.db"),
        ("graph", "copy", "copy.db"),
        ("graph", "copy", "json:copy.json"),
        ("pack", "export", "team.jsonl"),
        ("pack", "candidates", "review.jsonl"),
        ("pack", "keygen", "team.pem"),
        ("ontology", "query", PROV, "ASK { ?s ?p ?o }", "--out", "answer.json"),
        ("eval", "--curriculum", "c.yaml", "--html", "report.html"),
        ("run", "How many?", "--context", PROV, "--model", "offline", "--log-dir", "logs"),
    ],
)
def test_no_folder_is_made_that_a_file_to_write_misspells(
    rlm: Run, add: Callable[..., str], db: str, tmp_path: Path, line: tuple[str, ...]
) -> None:
    add()
    folder = tmp_path / "typo"
    *first, last = line
    scheme, _, name = last.rpartition(":")
    target = f"{scheme}{':' if scheme else ''}{folder}/{name}"
    failed = rlm(*first, target, "--db", db)
    assert (failed.code, failed.out) == (2, "") and not folder.exists()
    hint = f"{target}: there is no folder {folder}: `mkdir -p {folder}`, or check the spelling"
    assert hint in failed.err


def test_a_dot_folder_of_the_home_is_made(rlm: Run, home: Path) -> None:
    """As programs keep such files, and as the specification's own example names one."""
    done = rlm("memory", "add", "--title", "T", "--content", "c", "--db", "~/.rlm/memory.db")
    assert done.code == 0 and (home / ".rlm" / "memory.db").is_file()


def test_a_person_at_a_terminal_is_asked_for_the_folder(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new"
    line = ("memory", "add", "--title", "T", "--content", "c", "--db", str(folder / "x.db"))
    assert "There is no folder" in on_a_pty(*line, typed="n\n", code=2) and not folder.exists()
    on_a_pty(*line, typed="y\n")
    assert (folder / "x.db").is_file()


def test_pack_list_without_a_store_says_it_once(rlm: Run, db: str) -> None:
    done = rlm("pack", "list", "--db", db)
    assert done.code == 0 and len(done.err.splitlines()) == 2
    assert db in done.err.splitlines()[0] and done.err.splitlines()[1].startswith("shipped")


@pytest.mark.parametrize("given", [b"", b" \n\t\n"])
@pytest.mark.parametrize(
    "line",
    [
        ("memory", "add", "--title", "T", "--content", "-"),
        ("memory", "add", "--title", "T", "--file", "-"),
        ("graph", "add", "fact", "-"),
        ("memory", "edit", "{id}", "--content", "-"),
    ],
)
def test_empty_stdin_is_named_and_nothing_is_written(
    rlm: Run, add: Callable[..., str], db: str, line: tuple[str, ...], given: bytes
) -> None:
    found = add()
    failed = rlm(*(part.format(id=found) for part in line), "--db", db, stdin=given)
    assert (failed.code, failed.out, failed.err) == (
        2,
        "",
        "error: stdin is empty: nothing to store\n",
    )
    assert len(rlm("memory", "list", "--db", db, "--json").json) == 1


def test_an_empty_file_is_named(rlm: Run, db: str, tmp_path: Path) -> None:
    (tmp_path / "steps.md").write_text("\n", "utf-8")
    failed = rlm("memory", "add", "--title", "T", "--file", "steps.md", "--db", db)
    assert (failed.code, failed.err) == (
        2,
        "error: steps.md is empty: nothing to store\n",
    ) and not Path(db).exists()


def test_an_empty_task_finds_nothing_and_says_why(
    rlm: Run, add: Callable[..., str], db: str
) -> None:
    add()
    done = rlm("memory", "search", "-", "--db", db, stdin=b"")
    assert (done.code, done.out, done.err) == (1, "", "nothing found: the task is empty\n")
    assert rlm("memory", "search", "", "--db", db).err == "nothing found: the task is empty\n"


def test_an_empty_pack_says_so(rlm: Run, empty: str, tmp_path: Path) -> None:
    out = rlm("pack", "export", str(tmp_path / "out.jsonl"), "--db", empty)
    why = "no memory is fit to share: the store has none outside the archive and the quarantine"
    assert (out.code, out.err) == (2, f"error: {tmp_path / 'out.jsonl'}: not written, for {why}\n")
    assert not list(tmp_path.glob("out*"))
    candidates = rlm("pack", "candidates", str(tmp_path / "c.jsonl"), "--db", empty)
    assert (
        candidates.code == 0 and candidates.err == "the file is empty: no memory is a candidate\n"
    )
