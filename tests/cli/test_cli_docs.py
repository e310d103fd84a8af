"""docs/cli.md says what `--help` says: metavars whole, a default once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cli_running import Run


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "cli.md").read_text("utf-8")


def test_no_default_is_told_twice(page: str) -> None:
    twice = [line for line in page.splitlines() if re.search(r"\[[^\]]+\]\.?\s.*\(default: ", line)]
    assert twice == []
    assert "How many, at most [50]." in page and "Who sees it [project]." in page


def test_every_bracket_of_a_metavar_is_closed(page: str) -> None:
    usages = re.findall(r"^Usage: (.*)$", page, re.MULTILINE)
    assert len(usages) > 20
    assert [usage for usage in usages if usage.count("[") != usage.count("]")] == []
    assert "Usage: rlm graph link [OPTIONS] EDGE_TYPE LABEL NODE[:ROLE]…\n" in page
    assert "Usage: rlm memory rm [OPTIONS] ID…\n" in page


def test_an_argument_is_called_what_help_calls_it(rlm: Run, page: str) -> None:
    for line in (
        ("graph", "link"),
        ("memory", "rm"),
        ("graph", "unlink"),
        ("pack", "rollback"),
        ("memory", "search"),
    ):
        help_usage = rlm(*line, "--help").out.splitlines()[0].removeprefix("Usage: ")
        written = re.search(rf"^Usage: (rlm {' '.join(line)} .*)$", page, re.MULTILINE)
        assert written is not None
        assert written[1].replace("…", "...") == help_usage
