"""How far a memory is believed, and what moves it (seed 003).

A memory starts at a number that says where it came from; the runs that followed it then move it.
One that only stood in a prompt has earned nothing. All moves are signals with a reason, kept in
order, so that the confidence of today can be computed again from the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rlm import clock
from rlm.store.types import Judgment, MemoryItem, Signal

START = {"human": 0.8, "distilled": 0.6, "failure": 0.5}
HELPFUL = 0.3
NOT_HELPFUL = -0.2
TASK_SUCCEEDED, TASK_FAILED = 0.1, -0.1
"""Half of what somebody says: a run also fails by half an answer, and lessons are not to blame."""
UNREVERTED = 0.2
DECAY = -0.05
"""A month in which it was not used."""

DAYS_A_MONTH = 30
UNREVERTED_DAYS = 7


# -- what a run said that it used


@dataclass(frozen=True, slots=True)
class Uses:
    """Numbers of the entries of the prompt, from 1: followed to the end, and left on the way."""

    followed: tuple[int, ...] = ()
    abandoned: tuple[int, ...] = ()
    said: bool = False
    unknown: tuple[str, ...] = ()
    """Numbers and ids that the prompt does not have, the first of them."""


MOST_UNKNOWN = 10
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_USES = re.compile(
    r"\s{0,3}[*_`]{0,3}uses[*_`]{0,3}\s*:\s*[*_`]{0,3}\s*(none\b|[#\[]?[\da-f].*)", re.IGNORECASE
)
_ENTRY = r"(?:#?\d{1,3}(?![\da-f])(?:\s*\[[\da-f]{16}\])?|\[?[\da-f]{16}(?![\da-f])\]?)"
"""A number, which may have its id beside it, or an id."""
_ENTRIES = re.compile(rf"({_ENTRY})(?:\s*(?:,|and|&|\+)\s*(?={_ENTRY}))?", re.IGNORECASE)
_AFTER = re.compile(r"\s*[*_`]*\s*(?:$|[.,;:()—–-])")


def uses_in(responses: Iterable[str], ids: Sequence[str] | None = None) -> Uses:
    """What replies say on lines `Uses: 1` or `Uses: none` outside of code; the last one counts.
    With the ids of the entries of the prompt, those are read as well, and what is neither one of
    them nor the number of one is `unknown`."""
    said: list[tuple[str, ...]] = []
    for response in responses:
        said += [
            names for line in _outside_code(response) if (names := _read_uses(line)) is not None
        ]
    if not said:
        return Uses()
    places = {str(number): number for number in range(1, (999 if ids is None else len(ids)) + 1)}
    places |= {memory_id: number for number, memory_id in enumerate(ids or (), 1)}
    every = dict.fromkeys(name for names in said for name in names)
    last = dict.fromkeys(places[name] for name in said[-1] if name in places)
    before = dict.fromkeys(places[name] for name in every if name in places)
    return Uses(
        tuple(last),
        tuple(number for number in before if number not in last),
        said=True,
        unknown=tuple(name for name in every if name not in places)[:MOST_UNKNOWN],
    )


def _read_uses(line: str) -> tuple[str, ...] | None:
    match = _USES.match(line)
    if match is None:
        return None
    if match[1][:4].casefold() == "none":
        return ()
    found: dict[str, None] = {}
    place = 0
    while entry := _ENTRIES.match(match[1], place):
        name = entry[1].lower().lstrip("#[").partition("[")[0].rstrip("] ")
        found[name.lstrip("0") if len(name) < 4 else name] = None
        place = entry.end()
    return tuple(found) if found and "" not in found and _AFTER.match(match[1], place) else None


def _outside_code(text: str) -> Iterable[str]:
    """The lines that are in no fenced block; a fence that is not closed lasts to the end."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield line


# -- signals


def followed_of(ids: Sequence[str], uses: Uses) -> list[str]:
    """The ids that a run says it followed to the end, in the order of the prompt."""
    return [memory_id for number, memory_id in enumerate(ids, 1) if number in uses.followed]


def signals_for(
    injected: Sequence[str], uses: Uses, judgment: Judgment | None, *, reads: bool = True
) -> list[Signal]:
    """What a judged run says about the memories of its prompt, by their ids in its order.

    One that was followed shares the fate of the run. What was not taken up moves nothing, and
    `Uses: none` costs nothing: insights say which memories are never used. One that a model named
    and left out later is charged only for a failure, as the last line may speak of the last turn
    alone; a program (`reads` False) means what it says.
    """
    if judgment is None or judgment.is_success is None:
        return []
    found = []
    for number, memory_id in enumerate(injected, 1):
        move = _move(number, uses, success=judgment.is_success, reads=reads)
        if move is not None:
            found.append(Signal(memory_id, *move))
    return found


_FOLLOWED = {
    True: (TASK_SUCCEEDED, "task_succeeded", "followed by a run that succeeded"),
    False: (TASK_FAILED, "not_helpful", "followed by a run that failed"),
}


def _move(number: int, uses: Uses, *, success: bool, reads: bool) -> tuple[float, str, str] | None:
    if number in uses.followed:
        return _FOLLOWED[success]
    if number in uses.abandoned and not (success and reads):
        return TASK_FAILED, "not_helpful", "taken up and left again"
    return None


def feedback(memory_id: str, *, helpful: bool, reason: str = "", by: str = "a person") -> Signal:
    """What somebody says of a memory."""
    why = f"{by}: {reason}" if reason else f"{by} found it {'' if helpful else 'not '}helpful"
    delta, kind = (HELPFUL, "helpful") if helpful else (NOT_HELPFUL, "not_helpful")
    return Signal(memory_id, delta, kind, why)


def stability(memory_id: str, *, reverted: bool, days: float) -> Signal | None:
    """What a week without being reverted says for a memory."""
    if reverted or days < UNREVERTED_DAYS:
        return None
    return Signal(memory_id, UNREVERTED, "unreverted", f"not reverted for {UNREVERTED_DAYS} days")


def usage(memory_id: str, *, succeeded: bool, reason: str = "") -> Signal:
    """What a task that followed a memory says of it."""
    delta, kind, why = _FOLLOWED[succeeded]
    return Signal(memory_id, delta, kind, reason or why)


_DECAYED = re.compile(r"not used for (\d+) months? since (\S+)")


def decay(
    item: MemoryItem, now: datetime | None = None, past: Iterable[Mapping[str, Any]] = ()
) -> Signal | None:
    """What the months since the last use take. `past` are the signals of the memory: their reasons
    say which months were taken before, and what a clock that was ahead took is given back."""
    used = item.last_used or item.created_at
    months = max(0, ((now or clock.now()) - clock.parse_iso(used)).days // DAYS_A_MONTH)
    found = ((_DECAYED.fullmatch(row["reason"] or ""), row) for row in past)
    taken = [(int(each[1]), row) for each, row in found if each and each[2] == used]
    early = 0.0
    while taken and taken[-1][0] > months:
        _, row = taken.pop()
        early += row["before"] - row["after"]
    already = taken[-1][0] if taken else 0
    delta = round(early + DECAY * (months - already), 6)
    if not delta:
        return None
    why = f"not used for {months} month{'' if months == 1 else 's'} since {used}"
    return Signal(item.memory_id, delta, "decay", why)


def apply_delta(confidence: float, delta: float) -> float:
    """A confidence after one signal, as every store computes it: never below 0 or above 1."""
    return min(1.0, max(0.0, confidence + delta))


def replay(start: float, signals: Iterable[Signal]) -> float:
    """The confidence that a memory has after all of these signals, in order."""
    for signal in signals:
        start = apply_delta(start, signal.delta)
    return start
