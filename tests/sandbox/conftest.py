"""A worker takes 60 ms to start: tests that leave no trace share one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rlm.sandbox import SandboxLimits, Surroundings
from rlm.sandbox.process import ProcessRepl

Maker = Callable[..., ProcessRepl]


@pytest.fixture
def make_repl() -> Iterator[Maker]:
    """`make_repl(tools, limits=…, layers=…, language=…)`; closed at the end."""
    made: list[ProcessRepl] = []

    def make(tools: dict[str, Any] | None = None, **words: Any) -> ProcessRepl:
        limits = SandboxLimits(**words.pop("limits", {}))
        given = Surroundings(
            tools=tools or {},
            hidden=words.pop("hidden", {}),
            untimed=frozenset(words.pop("untimed", ())),
        )
        made.append(ProcessRepl(given, limits, **words))
        return made[-1]

    yield make
    for repl in made:
        repl.close()


@pytest.fixture
def repl(make_repl: Maker) -> ProcessRepl:
    return make_repl()
