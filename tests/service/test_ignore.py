"""`.rlmignore` means what git's own ignore file means."""

from __future__ import annotations

import subprocess

import pytest

from rlm.service.ignore import IgnoreRules

RULES = """\
# comment
*.log
!keep.log
/top.txt
build/
docs/*.md
**/cache
a/**/z
secret[0-9].txt
sp\\ ace
[!x]y.c
deep/**
q?.txt
"""
PATHS = (
    "x.log", "sub/x.log", "keep.log", "sub/keep.log", "top.txt", "sub/top.txt", "build/x",
    "sub/build/y", "docs/a.md", "docs/sub/a.md", "x/docs/a.md", "cache/z", "x/y/cache", "a/z",
    "a/b/c/z", "a/b", "secret1.txt", "secretx.txt", "sp ace", "zy.c", "xy.c", "deep/1/2", "deeper",
    "q1.txt", "q12.txt", "plain.py",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_ignored_as_git_ignores_them(tmp_path, path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(RULES)
    (tmp_path / ".rlmignore").write_text(RULES)
    git = subprocess.run(["git", "-C", str(tmp_path), "check-ignore", "-q", path], check=False)
    assert IgnoreRules(tmp_path).ignores(path) == (git.returncode == 0)


def test_sessions_of_a_folder_are_ignored_from_above_and_from_within(tmp_path):
    inner = tmp_path / "client" / "app"
    inner.mkdir(parents=True)
    assert not IgnoreRules(inner).ignores_session()
    (tmp_path / ".rlmignore").write_text("client/\n")
    assert IgnoreRules(inner).ignores_session()
    (tmp_path / ".rlmignore").write_text("")
    (inner / ".rlmignore").write_text("*\n")
    assert IgnoreRules(inner).ignores_session()
    assert not IgnoreRules("").ignores_session()


def test_a_nearer_file_wins_and_a_broken_line_is_passed_over(tmp_path):
    inner = tmp_path / "app"
    inner.mkdir()
    (tmp_path / ".rlmignore").write_text("*.pem\n")
    (inner / ".rlmignore").write_text("!\n///\n!public.pem\n\\\n")
    rules = IgnoreRules(inner)
    assert rules.ignores("a.pem") and not rules.ignores("public.pem")
    assert not rules.ignores("/elsewhere/a.pem")


def test_a_command_that_names_an_ignored_path_is_noticed(tmp_path):
    (tmp_path / ".rlmignore").write_text("*.pem\n")
    rules = IgnoreRules(tmp_path)
    assert rules.mentions("ssh -i 'keys/a.pem' host") and not rules.mentions("cat a.py --x=pem")


def test_a_path_through_another_folder_is_the_path_that_it_leads_to(tmp_path):
    shop = tmp_path / "shop"
    (shop / "app").mkdir(parents=True)
    (shop / "secrets").mkdir()
    (shop / ".rlmignore").write_text("/secrets/\nconfig/prod.env\n")
    rules = IgnoreRules(shop / "app")
    assert rules.ignores("../secrets/prod.env") and rules.ignores("../config/prod.env")
    assert rules.ignores(shop / "app" / ".." / "secrets" / "prod.env")
    assert rules.mentions("cat ../secrets/prod.env") and not rules.ignores("../secret.env")
    assert IgnoreRules(shop).mentions("cat app/../secrets/prod.env")
    assert IgnoreRules(shop / "app" / ".." / "secrets").ignores_session()
    assert not rules.ignores("../../secrets/prod.env")
