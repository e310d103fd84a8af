"""`make demo` on a machine that has never seen rlm: one screen, and nothing left behind."""

from __future__ import annotations

import re


def test_the_demo_shows_the_main_job_on_one_screen(run_python, root, tmp_path, clean_environment):
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    done = run_python(
        "-W", "error", root / "tools" / "demo.py", cwd=here, TMPDIR=str(temporary), NO_COLOR="1"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert 30 <= len(lines) <= 66
    assert max(map(len, lines)) <= 100

    for line in (
        r"core_v1: 7 memories, trusted",
        r"prov_v1: 19 memories, trusted",
        r"\[redacted:authorization\]",
        r"0\.\d\d  Upload big files in parts\n +why: words 0\.\d\d \(upload, files, big\)",
        r"0\.\d\d  Find Relationship Path Between Entities\n +why: ",
        (
            r"What is the Activity class\?  \([3-9] steps, judged a success\)\n +prov:Activity is a"
            r" class"
        ),
        r"learnt “Describe a term”:\n +- `search_entity\(name\)`",
        (
            r"What is the Plan class\?  \(2 steps, judged a success\)\n.*\n +followed “Describe a"
            r" term”"
        ),
        r"0\.[1-9]\d  Yes, since Tuesday\.  \(found by the words of the turn beside it\)",
        r"step 1: \d+ lines of code ran; \d+ characters came back\n +answer: line 31001: .* 48213",
        r"import socket +error: ImportError",
        r"__mro__ +refused",
        r"while True: pass +timeout",
        r"doctor: (\d+) of \1 checks passed; 27 memories, 3 nodes, 1 edges",
        r"1 session distilled: 4 turns, [12] decisions?, 0 procedures\n",
        r"0\.\d+  [0-9a-f]{16}  .*amounts are kept as integer cents",
        r"What to try next",
    ):
        assert re.search(line, done.stdout), f"{line} is not in\n{done.stdout}"
    assert "dGhpcy1pcy" not in done.stdout

    for folder in (here, temporary, clean_environment):
        assert list(folder.rglob("*")) == []


def test_the_next_steps_are_real_commands(run_python, root, tmp_path):
    source = (root / "tools" / "demo.py").read_text("utf-8")
    block = source.partition("What to try next")[2]
    commands = re.findall(r"[\"'](rlm (?:[a-z-]+ ?)+)", block)
    assert len(commands) == 3
    for command in commands:
        words = [word for word in command.split()[1:] if not word.startswith("-")]
        done = run_python("-m", "rlm", *words[:2], "--help", cwd=tmp_path)
        assert done.returncode == 0, f"{command}: {done.stderr}"
