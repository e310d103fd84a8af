"""What moves the confidence of a memory, with the numbers of seed 003.

Each signal is a row of the store, with its reason: `recompute` adds them up again. Deltas and words
are those of `learning.confidence`; here they are applied, each at most once where it may come
twice. A memory that the tenant does not have is NotFound.
"""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from rlm import clock
from rlm.errors import ValidationError
from rlm.learning.confidence import (
    UNREVERTED_DAYS,
    decay,
    feedback,
    replay,
    stability,
    usage,
)
from rlm.store.backend import all_items
from rlm.store.gate import no_memory
from rlm.store.types import Signal
from rlm.store.values import show

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend
    from rlm.store.types import MemoryItem

PAGE = 500
"""So many memories are decayed in one transaction: others can write in between."""
REVERTED = "reverted"
PERSONS_FLOOR = 0.5
"""Below that no agent brings what a person said: a red test says nothing about a rule."""


def is_persons(item: MemoryItem) -> bool:
    """Whether a person said it, or it is told as settled by one."""
    return item.source_type == "human" or item.kind == "decision"


class ConfidenceEvaluator:
    """Applies signals to the memories of one store. `person`: a person gives them, no agent."""

    def __init__(self, store: MemoryBackend, *, person: bool = False) -> None:
        self._store = store
        self._person = person

    def on_feedback(self, memory_id: str, helpful: bool, comment: str = "") -> float:
        """What somebody says of a memory: +0.3 or -0.2. What helped counts as used now."""
        _check_bool(helpful, "helpful")
        by = "a person" if self._person else "an agent"
        with self._store.together():
            after = self._apply(feedback(memory_id, helpful=helpful, reason=comment, by=by))
            if helpful:
                self._store.update(memory_id, last_used=clock.now_iso())
        return after

    def on_usage(self, memory_id: str, task_succeeded: bool, session: str | None = None) -> float:
        """What a task that followed a memory says of it: +0.1, or -0.2 where it failed. A task of a
        named session counts once, by the first word on it."""
        _check_bool(task_succeeded, "task_succeeded")
        done = "succeeded" if task_succeeded else "failed"
        told = "" if session is None else f"followed in session {session}, which "
        why = told and told + done
        signal = usage(memory_id, succeeded=task_succeeded, reason=why)
        with self._store.together():
            item = self._get(memory_id)
            reasons = (each["reason"] or "" for each in self._store.signals(memory_id))
            if told and any(reason.startswith(told) for reason in reasons):
                return item.confidence or 0.0
            after = self._apply(signal)
            counter = "success_count" if task_succeeded else "failure_count"
            counts = {counter: getattr(item, counter) + 1, "last_used": clock.now_iso()}
            self._store.update(memory_id, **counts)
        return after

    def on_code_stability(self, memory_id: str, reverted: bool) -> float:
        """What became of a memory's commits: +0.2, once, for a week without being reverted. That
        they were reverted is noted, and takes nothing."""
        _check_bool(reverted, "reverted")
        signal = stability(memory_id, reverted=reverted, days=UNREVERTED_DAYS)
        signal = signal or Signal(memory_id, 0.0, REVERTED, "its commits were reverted")
        with self._store.together():
            item = self._get(memory_id)
            if any(each["kind"] == signal.kind for each in self._store.signals(memory_id)):
                return item.confidence or 0.0
            return self._apply(signal)

    def decay_all(self, now: datetime | None = None) -> list[Signal]:
        """-0.05 for each month without use. How often it is run makes no difference, nor by how
        many processes, nor whether the clock was wrong in between: what was taken stands in the
        reason of the signal."""
        at = now or clock.now()
        applied, items = [], all_items(self._store)
        while page := list(islice(items, PAGE)):
            due = [
                item.memory_id
                for item in page
                if decay(item, at, self._store.signals(item.memory_id))
            ]
            if not due:
                continue
            with self._store.together():
                applied += [signal for each in due if (signal := self._decay(each, at))]
        return applied

    def _decay(self, memory_id: str, at: datetime) -> Signal | None:
        item = self._store.get(memory_id)
        if item is None:
            return None
        signal = decay(item, at, self._store.signals(memory_id))
        if signal is not None:
            self._apply(signal)
        return signal

    def recompute(self, memory_id: str) -> float:
        """The confidence that the signals of a memory give, from the first to the last."""
        item, rows = self._get(memory_id), self._store.signals(memory_id)
        if not rows:
            return item.confidence or 0.0
        signals = (Signal(memory_id, row["delta"], row["kind"]) for row in rows)
        return replay(rows[0]["before"], signals)

    def _get(self, memory_id: str) -> MemoryItem:
        item = self._store.get(memory_id)
        if item is None:
            raise no_memory(memory_id)
        return item

    def _apply(self, signal: Signal) -> float:
        delta, kind, reason = signal.delta, signal.kind, signal.reason or None
        if kind == "not_helpful" and not self._person:
            item = self._get(signal.memory_id)
            room = max(0.0, (item.confidence or 0.0) - PERSONS_FLOOR)
            delta = max(delta, -room) if is_persons(item) else delta
        return self._store.adjust_confidence(signal.memory_id, delta, kind=kind, reason=reason)


def _check_bool(value: Any, name: str) -> None:
    """A text like "no" is true to Python, and would count as praise."""
    if not isinstance(value, bool):
        raise ValidationError(f"{name} is {show(value)}: use true or false", field=name)
