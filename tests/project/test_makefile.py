"""Every `make` target that a page or a tool names exists, and the two commands need nothing first."""

from __future__ import annotations

import re


def test_every_target_that_is_named_exists(root):
    makefile = (root / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert {"demo", "test", "docs"} <= targets
    pages = [
        root / "README.md",
        root / "CHANGELOG.md",
        *(root / "docs").glob("*.md"),
        *(root / "tools").glob("*.py"),
    ]
    named = {
        (page.name, target)
        for page in pages
        for target in re.findall(
            r"(?:`|^)make ([a-z-]+)(?:`|  )", page.read_text("utf-8"), re.MULTILINE
        )
    }
    assert {target for _, target in named} >= {"demo", "test", "docs"}
    assert {(name, target) for name, target in named if target not in targets} == set()


def test_every_target_says_what_it_does(root):
    makefile = (root / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE).group(1).split()
    for target in phony:
        assert re.search(rf"^{target}:.*## \S", makefile, re.MULTILINE), target


def test_the_tools_that_targets_run_are_there(root):
    makefile = (root / "Makefile").read_text("utf-8")
    for tool in set(re.findall(r"tools/\w+\.py", makefile)):
        assert (root / tool).is_file()
