"""What CONTRIBUTING.md says is so: its targets, its paths, and the test that it shows."""

from __future__ import annotations

import re

import pytest


@pytest.fixture(scope="module")
def page(root):
    return (root / "CONTRIBUTING.md").read_text("utf-8")


def test_its_targets_are_in_the_makefile(page, root):
    makefile = (root / "Makefile").read_text("utf-8")
    named = set(re.findall(r"\bmake ([a-z-]+)", page)) - {"you"}
    assert {"demo", "test", "check", "docs"} <= named
    assert [name for name in sorted(named) if f"\n{name}:" not in makefile] == []


def test_its_paths_are_there(page, root):
    named = set(re.findall(r"`((?:src|docs|tests|tools)/[\w./]+)`", page)) - {"tests/ROOM/"}
    assert len(named) > 5
    assert [name for name in sorted(named) if not (root / name).exists()] == []


def test_the_house_it_draws_is_the_house(page, root):
    drawn = re.search(r"```text\n(.*?)```", page, re.DOTALL)
    assert drawn is not None
    rooms = {word for line in drawn[1].splitlines() for word in re.split(r" {3,}", line)[0].split()}
    there = {path.stem for path in (root / "src" / "rlm").iterdir() if path.stem in rooms}
    assert there == rooms


def test_the_test_that_it_shows_passes_and_can_fail(page, root, run_python, tmp_path):
    block = re.search(r"```python\n(.*?)```", page, re.DOTALL)
    assert block is not None
    path = f"{root / 'src'}:{root / 'tests' / 'cli'}"
    for name, text in (("passes", block[1]), ("fails", block[1].replace("(1,", "(0,"))):
        (tmp_path / f"test_{name}.py").write_text(text, "utf-8")
        done = run_python(
            *("-m", "pytest", "-q", "-p", "conftest", "-p", "no:cacheprovider"),
            f"test_{name}.py",
            cwd=tmp_path,
            PYTHONPATH=path,
        )
        assert (done.returncode == 0) is (name == "passes"), done.stdout
