"""Everyday Python runs in the sandbox as it runs anywhere."""

from __future__ import annotations

import pytest
from corpus_usable import CASES, Case

from all_cases import all_cases

ENOUGH = 0.95


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str]:
    """What each case printed, with its error if it had one."""
    from rlm.sandbox.process import ProcessRepl

    seen = {}
    with ProcessRepl() as repl:
        for case in CASES:
            said = ""
            for block in case.blocks:
                result = repl.run(block)
                said += result.stdout + (
                    f"[{result.error}] {result.stderr}" if result.error else ""
                )
            seen[case.name] = said
    return seen


def test_there_are_enough_cases():
    assert len(CASES) >= 50


@all_cases("case", CASES, ids=lambda case: case.name)
def test_a_construct_works(case: Case, outcomes: dict[str, str]):
    assert outcomes[case.name] == case.expect


def test_nearly_all_of_them_work(outcomes: dict[str, str]):
    """The bar that holds when a single case above has to be given up."""
    working = sum(outcomes[case.name] == case.expect for case in CASES)
    assert working / len(CASES) >= ENOUGH
