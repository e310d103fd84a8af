"""MaTTS, memory-aware test-time scaling (RB-24): several attempts at one question, and the best of
them.

In parallel, each attempt is given other memories, and a model's own variety does the rest. In
sequence, each attempt is told what the last one answered and what the judge said. What the attempts
have in common and where they differ is what `learn` distils.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

from rlm.agent.attempt import Attempt, OnStep
from rlm.errors import ConfigError, RLMError
from rlm.loop import RLMIteration
from rlm.store.identity import normalize

MOST_ATTEMPTS = 16
WORKERS = 4
HINT_ANSWER_CHARS = 200
HINT_REASON_CHARS = 120
_FORM = re.compile(r"(parallel|sequential):([1-9]\d?)")


@dataclass(frozen=True, slots=True)
class Scaling:
    """How many attempts, and how."""

    parallel: bool = False
    k: int = 1

    @classmethod
    def of(cls, text: str | None) -> Self:
        """`parallel:K` or `sequential:K`; None is one attempt."""
        if text is None:
            return cls()
        match = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None or int(match[2]) > MOST_ATTEMPTS:
            raise ConfigError(
                f"scaling is {text!r}: use parallel:K or sequential:K, K from 1 to {MOST_ATTEMPTS}"
            )
        return cls(match[1] == "parallel", int(match[2]))

    def run_all(
        self,
        made: list[Attempt],
        work: Callable[[Attempt, OnStep | None], None],
        on_step: OnStep | None,
        done: list[Attempt],
    ) -> None:
        """Every attempt at once; into `done` in their order. Raises when all of them failed, or
        when a callback did."""
        stop, lock = threading.Event(), threading.Lock()

        def step(turn: RLMIteration) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            if on_step is not None:
                with lock:
                    on_step(turn)

        failed: list[Exception] = []
        raised: Exception | None = None
        with ThreadPoolExecutor(min(WORKERS, len(made))) as pool:
            waiting = [pool.submit(work, attempt, step) for attempt in made]
            while waiting:
                try:
                    waiting[0].result()
                except (
                    KeyboardInterrupt
                ):  # ours while waiting, or an attempt's own: all of them end, and are kept
                    stop.set()
                    if not waiting[0].done():
                        continue
                except RLMError as exc:  # one that fails takes none of the others with it
                    failed.append(exc)
                except Exception as exc:  # a caller's own
                    raised = raised or exc
                    stop.set()
                waiting.pop(0)
        done.extend(made)
        if raised is not None or len(failed) == len(made):
            raise raised or failed[0]


def best_of(attempts: list[Attempt]) -> list[Attempt]:
    """The best first: judged right, answered as most others did, in the fewest turns."""
    votes = Counter(_answer(attempt) for attempt in attempts if attempt.result.converged)
    return sorted(
        attempts,
        key=lambda attempt: (
            not attempt.succeeded,
            {"high": 0, "medium": 1, "low": 2}.get(
                attempt.judgment.confidence if attempt.judgment else "", 3
            ),
            -votes[_answer(attempt)],
            len(attempt.result.iterations),
        ),
    )


def _answer(attempt: Attempt) -> str:
    return normalize(attempt.result.answer)


def hint_after(attempt: Attempt) -> str:
    """What the next attempt is told of the last one. Data, not orders: both are quoted and cut."""
    answer = " ".join(attempt.result.answer.split())[:HINT_ANSWER_CHARS] or "(none)"
    reason = " ".join((attempt.judgment.reason if attempt.judgment else "not judged").split())[
        :HINT_REASON_CHARS
    ]
    return (
        f"An earlier attempt at this question answered {answer!r}; the check said {reason!r}. "
        "Look again by yourself, correct what is wrong, and answer."
    )
