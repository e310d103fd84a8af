"""The commits of memories, against a real git."""

from __future__ import annotations

import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from rlm import MemoryItem, clock
from rlm.service import check_stability

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
MADE = clock.parse_iso("2026-03-01T12:00:00Z")
LATER = MADE + timedelta(days=8)


@pytest.fixture
def git(tmp_path, monkeypatch):
    folder = tmp_path / "repo"
    folder.mkdir()
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "ada")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ada@example.org")
        monkeypatch.setenv(f"GIT_{name}_DATE", MADE.isoformat())

    def run(*args):
        line = ["git", "-C", str(folder), *args]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout.strip()

    def commit(name):
        (folder / name).write_text(name)
        run("add", name)
        run("commit", "-q", "-m", f"Add {name}")
        return run("rev-parse", "HEAD")

    run("init", "-q")
    commit("first")
    run.commit, run.folder = commit, str(folder)
    return run


def remember(store, commits, folder, title="Upload in parts"):
    item = MemoryItem(title, "d", f"{title}.", provenance={"commits": commits, "repo": folder})
    return store.add(item)


def states(store, now=LATER):
    return {each.title: each.state for each in check_stability(store, now)}


@pytest.mark.req("CX-07")
def test_a_week_on_a_branch_is_worth_a_fifth_and_is_judged_once(shared, git):
    one = remember(shared, [git.commit("a"), git.commit("b")[:9]], git.folder)
    assert states(shared, MADE + timedelta(days=6)) == {"Upload in parts": "young"}
    assert shared.signals(one) == []
    found = check_stability(shared, LATER)
    assert [(each.state, each.confidence) for each in found] == [("stable", 1.0)]
    assert check_stability(shared, LATER) == []
    assert [row["kind"] for row in shared.signals(one)] == ["unreverted"]


def test_reverted_commits_gain_nothing_and_a_reverted_revert_counts_again(shared, git):
    gone, back = git.commit("gone"), git.commit("back")
    git("revert", "--no-edit", gone)
    git("revert", "--no-edit", back)
    git("revert", "--no-edit", "HEAD")
    one = remember(shared, [gone], git.folder, title="Gone")
    remember(shared, [back], git.folder, title="Back")
    remember(shared, [back, gone], git.folder, title="Both")
    assert states(shared) == {"Gone": "reverted", "Back": "stable", "Both": "reverted"}
    assert shared.get(one).confidence == 0.8 and states(shared) == {}


def test_what_git_does_not_know_is_unknown_and_asked_again(shared, git, tmp_path):
    lost = git.commit("lost")
    git("reset", "-q", "--hard", "HEAD~1")
    remember(shared, [lost], git.folder, title="Lost")
    remember(shared, ["f" * 40], git.folder, title="Never there")
    remember(shared, ["--output=x", "HEAD"], git.folder, title="No hash")
    remember(shared, [""], git.folder, title="Nothing")
    remember(shared, [lost], str(tmp_path / "nowhere"), title="No folder")
    assert set(states(shared).values()) == {"unknown"} and len(states(shared)) == 5


def test_a_hostile_repository_runs_nothing(shared, git, tmp_path):
    one, mark = git.commit("a"), tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\n")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "gpg.program", "diff.external"):
        git("config", name, str(script))
    git("config", "log.showSignature", "true")
    Path(git.folder, ".git/hooks/post-index-change").symlink_to(script)
    remember(shared, [one], git.folder)
    assert states(shared) == {"Upload in parts": "stable"} and not mark.exists()


@pytest.mark.parametrize("commits", [[], "abc", None, [1, None], {}])
def test_a_memory_with_odd_commits_is_left_alone(shared, git, commits):
    remember(shared, commits, git.folder)
    assert set(states(shared).values()) <= {"unknown"}
