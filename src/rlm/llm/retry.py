"""When to try a model server again, and how long a call may take in all."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rlm import clock

MAX_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Retry:
    """Exponential back-off with jitter: `first_s`, twice that, …, each between half and all of it.

    What a server asks for with Retry-After is waited for, up to `max_wait_s`. `sleep`, `random` and
    `now` are parameters so that a test need not wait.
    """

    tries: int = 4
    first_s: float = 0.5
    max_wait_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = random.random
    now: Callable[[], float] = time.monotonic

    def wait_s(self, attempt: int, asked_s: float | None) -> float:
        """How long to wait after the attempt of this number, counted from 1."""
        if asked_s is not None:
            return min(asked_s, self.max_wait_s)
        whole_s: float = self.first_s * 2 ** (attempt - 1)
        return min(whole_s * (0.5 + self.random() / 2), self.max_wait_s)

    def deadline(self, seconds: float) -> Deadline:
        """The moment so many seconds from now. A socket and a timer take no more than `MAX_S` of
        them."""
        return Deadline(seconds, self.now() + min(seconds, MAX_S), self.now)


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment that a call may not outlast, whatever it does. `seconds` is what was given for it."""

    seconds: float
    at: float
    now: Callable[[], float]

    def left_s(self) -> float:
        return self.at - self.now()


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """The seconds that a server asks to wait, as milliseconds, as a number or as a date; never
    negative."""
    if not {"retry-after", "retry-after-ms"} & {name.lower() for name in headers}:
        return None
    try:
        seconds = float(headers.get("retry-after-ms", "")) / 1000
    except ValueError:
        from email.utils import (
            parsedate_to_datetime,
        )  # only where there is a header: it takes a while to import

        header = headers.get("retry-after", "")
        try:
            seconds = float(header)
        except ValueError:
            try:
                seconds = (parsedate_to_datetime(header) - clock.now()).total_seconds()
            except (TypeError, ValueError):  # a date without a zone is naive: TypeError
                return None
    return max(0.0, seconds) if seconds == seconds else None
