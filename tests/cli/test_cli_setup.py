"""`rlm setup`: as a diff, for real, checked by running it, and out again; and what doctor says."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_running import Run

from rlm import open_store


@pytest.fixture(autouse=True)
def cache_of_its_own(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hooks keep their state in the cache: it lies below HOME here."""
    monkeypatch.delenv("RLM_CACHE_DIR")


@pytest.fixture
def claude(home: Path) -> tuple[Path, Path]:
    """The two files of Claude Code, the first of them in use."""
    settings, servers = home / ".claude" / "settings.json", home / ".claude.json"
    settings.parent.mkdir()
    settings.write_text('{\n  "theme": "dark" // mine\n}\n', "utf-8")
    return settings, servers


def test_a_dry_run_is_a_diff_and_changes_nothing(rlm: Run, claude: tuple[Path, Path]) -> None:
    settings, servers = claude
    before = settings.read_bytes()
    result = rlm("setup", "claude", "--dry-run")
    assert result.code == 0 and '-  "theme": "dark" // mine' in result.out
    assert '+  "theme": "dark", // mine' in result.out and "UserPromptSubmit" in result.out
    assert settings.read_bytes() == before and not servers.exists()
    files = rlm("setup", "claude", "--dry-run", "--json").json["files"]
    assert [file["done"] for file in files] == ["would be changed", "would be made"]


def test_set_up_twice_and_removed(rlm: Run, claude: tuple[Path, Path]) -> None:
    settings, servers = claude
    before = settings.read_bytes()
    first = rlm("setup", "claude")
    assert first.code == 0 and "MEMORY.md" in first.err and "RLM_DISABLED" in first.err
    assert "hook.py" in settings.read_text("utf-8") and "mcp" in servers.read_text("utf-8")
    again = rlm("setup", "claude", "--json").json
    assert [file["done"] for file in again["files"]] == ["as it should be"] * 2
    removed = rlm("setup", "claude", "--remove")
    assert removed.code == 0 and "deleted" in removed.out
    assert settings.read_bytes() == before and not servers.exists()
    assert rlm("setup", "claude", "--remove").code == 0


def test_codex_is_told_to_trust_and_a_project_not_to_commit(rlm: Run) -> None:
    assert "run /hooks and trust" in rlm("setup", "codex").err
    assert "do not commit" in rlm("setup", "cursor", "--scope", "project").err
    assert Path(".cursor/hooks.json").exists()


def test_the_home_folder_is_no_project(
    rlm: Run, claude: tuple[Path, Path], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = claude[0].read_bytes()
    below = home / "notes"
    below.mkdir()
    for folder, code in ((home, 2), (below, 0)):
        monkeypatch.chdir(folder)
        assert rlm("setup", "claude", "--scope", "project").code == code
    (home / ".git").mkdir()  # who keeps their dotfiles in a repository has it around all folders
    refused = rlm("setup", "claude", "--scope", "project", "--dry-run")
    assert refused.code == 2 and "this is your home folder" in refused.err
    assert claude[0].read_bytes() == before and not (home / ".mcp.json").exists()
    assert rlm("setup", "claude", "--scope", "project", "--remove").code == 0


def test_without_the_extra_it_says_what_to_install(
    rlm: Run, claude: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "pip install 'mcp>="
    assert line not in rlm("setup", "claude").err
    monkeypatch.setitem(sys.modules, "mcp", None)  # as where it is not installed
    assert line in rlm("setup", "claude").err


def test_a_broken_file_is_one_line(rlm: Run, claude: tuple[Path, Path]) -> None:
    claude[0].write_text('{"a": 1,\n', "utf-8")
    result = rlm("setup", "claude")
    assert result.code == 2 and str(claude[0]) in result.err and "line 2" in result.err
    assert claude[0].read_text("utf-8") == '{"a": 1,\n' and not claude[1].exists()
    assert rlm("setup", "claude", "--check", "--remove").code == 2


@pytest.mark.parametrize(
    ("option", "setting", "variable"),
    [("--db", "memory_db", "RLM_MEMORY_DB"), ("--project", "project", "RLM_PROJECT")],
)
def test_what_the_files_do_not_keep_is_refused(
    rlm: Run, claude: tuple[Path, Path], option: str, setting: str, variable: str
) -> None:
    before = claude[0].read_bytes()
    for more in ((), ("--dry-run",), ("--check",)):
        refused = rlm("setup", "claude", option, "x", *more)
        assert refused.code == 2 and claude[0].read_bytes() == before and not claude[1].exists()
        assert f"{option} " in refused.err and f"set {setting} in " in refused.err
        assert "config.toml" in refused.err and variable in refused.err


@pytest.mark.parametrize(
    "host",
    ("claude", *(pytest.param(each, marks=pytest.mark.slow) for each in ("codex", "cursor"))),
)
def test_check_runs_the_hooks_that_were_installed(
    rlm: Run,
    add: Callable[..., str],
    db: str,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
) -> None:
    add("Parser tests", "Which tests are there? Those in tests/.")
    monkeypatch.setenv("RLM_MEMORY_DB", db)
    absent = rlm("setup", host, "--check")
    assert (
        absent.code == 1 and absent.out.count("FAILED") == 5 and f"rlm setup {host}" in absent.out
    )
    rlm("setup", host)
    checks = rlm("setup", host, "--check", "--json").json["checks"]
    assert [check["ok"] for check in checks[:4]] == [True] * 4, checks
    assert not (home / ".claude" / "rlm-spool").exists() and not (home / ".cache").exists()


def test_check_of_a_project_that_is_switched_off_says_so(
    rlm: Run, claude: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rlm("setup", "claude")
    (tmp_path / ".rlm-off").touch()
    monkeypatch.chdir(tmp_path)
    checks = rlm("setup", "claude", "--check", "--json").json["checks"][:4]
    assert all(each["ok"] and "switched off here" in each["detail"] for each in checks), checks


def test_check_says_what_is_wrong(
    rlm: Run, claude: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rlm("setup", "claude")
    text = claude[0].read_text("utf-8")
    data = json.loads(text.replace("// mine", ""))
    data["hooks"]["Stop"][0]["hooks"][0]["command"] = "/nowhere/python"
    data["hooks"]["SessionEnd"][0]["hooks"][0]["args"][2] = "/nowhere/rlm/hook.py"
    claude[0].write_text(json.dumps(data), "utf-8")
    (tmp_path / "notes.db").write_bytes(b"no database at all\n" * 400)
    monkeypatch.setenv("RLM_MEMORY_DB", str(tmp_path / "notes.db"))
    server = {
        "mcpServers": {"rlm": {"command": "sh", "args": ["-c", "echo rlm mcp: no such; exit 3"]}}
    }
    claude[1].write_text(json.dumps(server), "utf-8")
    result = rlm("setup", "claude", "--check", "--json")
    said = {check["name"]: check["detail"] for check in result.json["checks"]}
    assert result.code == 1 and not any(check["ok"] for check in result.json["checks"])
    assert "NotADBError" in said["claude SessionStart"]
    assert "/nowhere/python" in said["claude Stop"] and "No such file" in said["claude Stop"]
    assert "code 2" in said["claude SessionEnd"]
    assert "no such" in said["claude server"]


@pytest.mark.parametrize("instead", ["", "env_vars = 5", 'env_vars = "RLM_CONFIG"'])
def test_check_says_that_the_server_of_codex_lacks_variables(
    rlm: Run, home: Path, instead: str
) -> None:
    rlm("setup", "codex")
    config = home / ".codex" / "config.toml"
    config.write_text(re.sub("env_vars.*", instead, config.read_text("utf-8")), "utf-8")
    server = rlm("setup", "codex", "--check", "--json").json["checks"][-1]
    assert not server["ok"] and "RLM_MEMORY_DB" in server["detail"]
    assert server["fix"] == "rlm setup codex --scope user"
    rlm("setup", "codex")
    assert rlm("setup", "codex", "--check", "--json").json["checks"][-1]["ok"]


def test_doctor_says_what_is_installed_and_what_waits(
    rlm: Run, add: Callable[..., str], db: str, home: Path
) -> None:
    add()
    rlm("setup", "codex")
    spool, state = home / ".claude" / "rlm-spool", home / ".cache" / "rlm" / "hook"
    spool.mkdir(parents=True)
    (spool / "claude-1.json").write_text("{}", "utf-8")
    state.mkdir(parents=True)
    (state / "claude-1.json").write_text('{"shown": ["a", "b"]}', "utf-8")
    os.utime(state / "claude-1.json", (1_760_000_000, 1_760_000_000))
    slow = "2026-01-01T00:00:00Z claude prompt missed its deadline of 120 ms\n"
    fault = "2026-01-01T00:00:00Z claude prompt: BusyError: locked\n"
    (state / "log").write_text(slow + slow + fault, "utf-8")
    with open_store(db, embedder="none") as store:
        store.queue_session("claude", "s1", {"unknown": {"mystery-line": 3}})
        store.queue_session("claude", "s2", {})
        job = store.lease_job()
        assert job is not None
        store.finish_job(job)
    report = rlm("doctor", "--db", db)
    assert report.code == 0, report.out
    assert (
        "hooks    claude: none, codex: user, cursor: none; last injection: 2025-10-09" in report.out
    )
    assert "2 memories" in report.out and "BusyError" in report.out and "1 waiting" in report.out
    assert "queue    1 ready, 0 leased, 1 done, 0 dead; last distillation: 20" in report.out
    assert "mystery-line 3" in report.out
    assert "hooks that missed their deadline and said nothing: 2\n" in report.out
    document = rlm("doctor", "--db", db, "--json").json
    assert document["hosts"]["spool"]["waiting"] == 1 and document["queue"]["done"] == 1
