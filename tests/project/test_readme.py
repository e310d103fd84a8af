"""What the README shows is run: its Python session and its three commands."""

from __future__ import annotations

import re
import shlex

import pytest

from rlm.cli import main


@pytest.fixture(scope="module")
def readme(root):
    return (root / "README.md").read_text("utf-8")


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_python_sessions_print_what_they_say(readme, run_python, root, tmp_path, number):
    session, shown = blocks(readme, "python")[number], blocks(readme, "text")[number]
    (tmp_path / "ontology").symlink_to(root / "ontology")
    if number == 2:
        session = f"from rlm import agent\n\n{session}"
    done = run_python("-W", "error", "-c", session, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown
    assert done.stderr == ""
    assert len(session.splitlines()) <= 12


def test_the_commands_work_one_after_another(
    readme, root, tmp_path, clean_environment, monkeypatch, capsys
):
    scripts = [block for block in blocks(readme, "sh") if "rlm " in block and "pip " not in block]
    first, *more = [[line for line in script.splitlines() if line.strip()] for script in scripts]
    assert len(first) == 3
    slow = ("rlm eval", "rlm memory train")  # tests of their own run them
    lines = [*first, *(line for script in more for line in script if not line.startswith(slow))]
    (tmp_path / "ontology").symlink_to(root / "ontology")
    outputs = []
    (tmp_path / "README.md").write_text(readme, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    for line in lines:
        command, *arguments = shlex.split(line, comments=True)
        assert command == "rlm"
        code, done = main(arguments), capsys.readouterr()
        assert code == 0, f"{line}\n{done.err}"
        outputs.append(done.out)
    assert "SECURITY.md" not in outputs[0] and "sandbox" in outputs[0]
    assert "Find Subclasses Using GraphMeta" in outputs[2].splitlines()[0]
    assert outputs[3].startswith("prov:Activity is a class")
    assert (clean_environment / ".claude" / "rlm-memory.db").is_file()


def test_it_promises_nothing_that_is_not_there(readme, root):
    rooms = {path.name for path in (root / "src" / "rlm").iterdir()}
    coming = readme.partition("## What comes next")[2]
    for room, words in {
        "sandbox": "sandbox",
        "mcp_server": "MCP",
        "ontology": "ontology",
        "learning": "learning",
    }.items():
        assert (room in rooms) != (words in coming), f"{room}: is it there, or does it come next?"
