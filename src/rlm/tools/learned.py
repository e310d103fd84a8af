"""`mem_extract` and `mem_learn_from_failure`: a model writes down what a result of its own taught
(seed 002).

What is stored is read from the calls that made the result, not from what the model says about them:
its task only says what kind of question it was, its error only what kind of failure. It is stored
as a model's own word, unverified, and passes the same gates as what is learnt after a run. In a run
of the agent it waits for the verdict (`held`).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rlm.errors import HandleError, LimitExceeded, ValidationError
from rlm.handles import Meter, Ref, Store, View
from rlm.learning import dedup
from rlm.learning.extract_calls import CallReading
from rlm.learning.gates import Gate, RecalledTexts
from rlm.loop.trace import ToolCall, Trace
from rlm.store.backend import MemoryBackend
from rlm.store.types import QUARANTINE_REASON, Judgment, MemoryItem
from rlm.tools.memory import ORIGIN
from rlm.tools.toolbox import Toolbox, check_text, clip, result_handle

LEARNT_PER_RUN = 5
TASK_CHARS = 2_000
ERROR_CHARS = 2_000
SHOWN_CHARS = 600
"""What of a memory's content comes back: a model that wrote it knows the rest."""

Handle = Ref | View | str | Mapping[str, Any]


def learned_tools(
    store: MemoryBackend,
    handles: Store,
    meter: Meter,
    *,
    session: str | None,
    recalled: RecalledTexts | None,
    ontology: str | None = None,
    trace: Trace | None = None,
    prefixes: Mapping[str, str] | None = None,
    held: list[MemoryItem] | None = None,
) -> Toolbox:
    """The tools of one run; `trace` has the calls that made its results. With `held`, nothing is
    stored: lessons are put there until the run is judged."""
    known = {"ontology": ontology, "prefixes": prefixes or {}}
    gate = Gate(prefixes=prefixes or {}, recalled=recalled)
    tools = _Learned(store, handles, session, trace, known, gate, held)
    return Toolbox.of(meter, tools.mem_extract, tools.mem_learn_from_failure)


@dataclass(eq=False, slots=True)
class _Learned:
    _store: MemoryBackend
    _handles: Store
    _session: str | None
    _trace: Trace | None
    _known: Mapping[str, Any]
    _gate: Gate
    _held: list[MemoryItem] | None
    _learnt: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def mem_extract(
        self, result: Handle, task: str, judgment: dict[str, Any], auto_store: bool = True
    ) -> dict[str, Any]:
        """The procedure behind a result of sparql_query that answered the task: {id, title,
        content, action, why}. judgment: {'is_success': True, 'reason': …}. auto_store=False only
        shows it."""
        check_text(task, "task", TASK_CHARS)
        if not isinstance(judgment, Mapping) or not isinstance(judgment.get("is_success"), bool):
            raise ValidationError(
                "judgment has no is_success: use {'is_success': True, 'reason': …}",
                field="judgment",
            )
        if not judgment["is_success"]:
            raise ValidationError(
                "this was judged a failure: use mem_learn_from_failure(result, task, error)",
                field="judgment",
            )
        calls, last = self._calls_behind(result)
        item = CallReading(calls, task, **self._known).procedure_by(last)
        return self._keep(item, store=bool(auto_store))

    def mem_learn_from_failure(
        self, result: Handle | None, task: str, error: str
    ) -> dict[str, Any]:
        """Store what to avoid after a result that was wrong, or (result=None) after the last call
        that failed. error: what was wrong with it. Returns {id, title, content, action, why}."""
        check_text(task, "task", TASK_CHARS)
        check_text(error, "error", ERROR_CHARS)
        if result is None:
            calls, last = self._calls(), None
        else:
            calls, last = self._calls_behind(result)
        item = CallReading(calls, task, **self._known).pitfall_by(last, Judgment(False, error))
        return self._keep(item, store=True)

    def _calls(self) -> list[ToolCall]:
        return list(self._trace.calls) if self._trace is not None else []

    def _calls_behind(self, result: Any) -> tuple[list[ToolCall], ToolCall]:
        """The calls up to the one that made a result, and that one."""
        key = self._handles.ref(result_handle(result)).key
        calls = self._calls()
        for place, call in enumerate(calls):
            if call.ok and call.tool == "sparql_query" and call.key == key:
                pages = [later for later in calls[place + 1 :] if later.key == key]
                return [*calls[: place + 1], *pages], call
        raise HandleError(
            f"no query of this run made {key!r}: give a handle that sparql_query returned"
        )

    def _keep(self, item: MemoryItem | None, *, store: bool) -> dict[str, Any]:
        if item is None:
            return {
                "id": None,
                "action": "none",
                "why": "there is nothing in these calls that could be used again",
            }
        item.origin, item.session_id = ORIGIN, self._session
        item.provenance = {"source": "extracted", **item.provenance}
        self._gate.admit([item])
        if not store:
            return _report(item, item.memory_id, "shown", "not stored: auto_store is False")
        with self._lock:
            if self._learnt >= LEARNT_PER_RUN:
                raise LimitExceeded(
                    f"{LEARNT_PER_RUN} lessons were stored in this run, which is the most"
                )
            if self._held is not None:
                self._held.append(item)
                self._learnt += 1
                return _report(item, item.memory_id, "held", "kept once the run is judged")
            plan = dedup.apply(self._store, [item])
            self._store.add_many(plan.add)
            for memory_id, changes in plan.update:
                self._store.update(memory_id, **changes)
            for memory_id in plan.archive:
                self._store.delete(memory_id)
            self._learnt += bool(plan.add or plan.update)
        done = plan.outcomes[0]
        return _report(item, done["memory_id"], done["action"], done["why"])


def _report(item: MemoryItem, memory_id: str, action: str, why: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": memory_id,
        "title": item.title,
        "content": clip(item.content, SHOWN_CHARS),
        "action": action,
        "why": why,
        "trust": item.trust,
    }
    reason = item.quarantine_reason
    return {**found, QUARANTINE_REASON: clip(reason, 200)} if reason else found
