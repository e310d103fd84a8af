"""What docs/coding-agents.md and docs/team.md show is run, in their order, in an empty home."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm.cli import main

VOLATILE = re.compile(
    r"rlm_tok_\S+|\d{4}-\d\d-\d\d[ T]\d\d:\d\d\S*(?= +(?:\d|rlm|$))|\d{4}-\d\d-\d\dT\S+"
)
SCORE = re.compile(r"\b0\.\d{3}(?= +[0-9a-f]{16} )")
"""Of a hit: it fades as months go by."""
TOKEN_ID = re.compile(r"[0-9a-f]{16}(?= +(?:laptop|build-server) )")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def sessions(text: str) -> Iterator[tuple[str, str]]:
    """Each command of the page with what it shows below it."""
    for block in blocks(text, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            yield command, shown


def settled(text: str) -> str:
    """In words, however they are laid out, without what differs from day to day."""
    text = SCORE.sub("*", VOLATILE.sub("*", " ".join(text.split())))
    return TOKEN_ID.sub("*", text)


PROCESSES = ("setup", "worker")
"""These are run as a person runs them; the other commands in this process, which takes a fifth."""


def run(command: str, folder: Path, home: Path, root: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(root / "src"), "NO_COLOR": "1"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=60
    )
    return f"{done.stdout}\n{done.stderr}".replace(str(home), "~")


@pytest.mark.parametrize("page", ["coding-agents.md", "team.md"])
def test_the_commands_print_what_the_page_shows(
    root: Path,
    tmp_path: Path,
    clean_environment: Path,
    page: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (root / "docs" / page).read_text("utf-8")
    (tmp_path / "docs").symlink_to(root / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    found = list(sessions(text))
    assert len(found) >= 9
    for command, shown in found:
        name, *arguments = shlex.split(command)
        assert name == "rlm"
        if arguments[0] in PROCESSES:
            printed = run(command, tmp_path, clean_environment, root)
        else:
            main(arguments)
            printed = "\n".join(capsys.readouterr()).replace(str(clean_environment), "~")
        assert settled(printed) == settled(shown), command


def test_a_session_starts_with_what_the_page_shows(
    root: Path, tmp_path: Path, clean_environment: Path
) -> None:
    page = (root / "docs" / "coding-agents.md").read_text("utf-8")
    first = root / "docs" / "examples" / "invoice-1.jsonl"
    run(f"rlm queue add {first}; rlm worker --once", tmp_path, clean_environment, root)
    hook = root / "src" / "rlm" / "hook.py"
    argv = [sys.executable, "-I", "-S", hook, "claude", "session-start", "--no-deadline"]
    given = json.dumps({"session_id": "s", "source": "startup", "cwd": str(tmp_path)})
    done = subprocess.run(argv, input=given, cwd=tmp_path, capture_output=True, text=True)
    told = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert blocks(page, "text")[0].split() == told.split()
    assert len(told) <= 600


def test_the_pages_are_linked_and_their_links_lead_somewhere(root: Path) -> None:
    for page in ("coding-agents.md", "team.md"):
        assert f"({page})" in (root / "docs" / "README.md").read_text("utf-8")
        assert f"(docs/{page})" in (root / "README.md").read_text("utf-8")
        text = (root / "docs" / page).read_text("utf-8")
        for target, _, anchor in re.findall(r"\]\(([^)#]+)(#([^)]+))?\)", text):
            path = root / "docs" / target
            assert path.is_file(), target
            heading = anchor.replace("-", " ")
            assert f"\n## {heading}\n" in path.read_text("utf-8").casefold() or not anchor
