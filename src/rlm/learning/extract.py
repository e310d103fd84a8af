"""From a judged run to memories: 1 to 3 procedures, or none when there is nothing to learn
(ReasoningBank).

A model writes them where there is one; where there is none, or it fails, they are read from the
calls of the run. All of them pass the gates: what does not is kept, in quarantine, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlm.learning.calls import LINKING
from rlm.learning.evidence import Evidence
from rlm.learning.extract_calls import CallReading
from rlm.learning.extract_llm import extract_llm
from rlm.learning.gates import TOOLS, Gate, RecalledLike
from rlm.learning.grounding import iris_in
from rlm.llm import Client, Usage, is_language_model, is_unanswered
from rlm.loop.trace import Trace
from rlm.ontology.terms import Prefixes, local_name
from rlm.store.types import Judgment, MemoryItem

MOST_ITEMS = 3
_CALL = re.compile(r"`([^`]*)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What is known when lessons are drawn from the runs of one task."""

    client: Client | None = None
    question: str = ""
    task_type: str = ""
    """The kind of task, where a caller or a curriculum said it."""
    ontology: str | None = None
    prefixes: Mapping[str, str] = field(default_factory=dict)
    """Those of the ontology."""
    provenance: Mapping[str, Any] = field(default_factory=dict)
    """Added to that of every item: trajectory_id, run_id, …"""
    session: str | None = None
    recalled: RecalledLike | None = None
    """What the runs were given from memory."""
    tools: frozenset[str] = TOOLS
    """Those that a procedure may name."""
    usage: Usage | None = None
    """What the model used is added to it."""

    def lessons(
        self,
        artifacts: Sequence[Mapping[str, Any]],
        judgments: Sequence[Judgment],
        traces: Sequence[Trace | None],
        evidence: Sequence[Evidence] = (),
    ) -> list[MemoryItem]:
        """A model's lessons; where there is none, or none that can be used, those of the calls."""
        readings = [
            CallReading.of_run(
                artifact,
                trace,
                question=self.question,
                ontology=self.ontology,
                prefixes=self.prefixes,
                said=self.task_type,
            )
            for artifact, trace in zip(artifacts, traces, strict=True)
        ]
        specifics = frozenset[str]().union(*map(_specifics, artifacts, readings))
        gate = Gate(self.tools, specifics, self.prefixes, self.recalled)
        shown = evidence or [
            Evidence.of_artifact(artifact, calls=reading.calls)
            for artifact, reading in zip(artifacts, readings, strict=True)
        ]
        found = gate.admit(self._ask(shown, judgments, readings) or [])
        if not any(item.trust == "unverified" for item in found):
            # Our own words hold nothing of the run, and may say what is known already.
            own = Gate(self.tools, prefixes=self.prefixes)
            found = [*own.admit(_lessons_of_calls(readings, judgments)), *found]
        for item in found:
            item.provenance = {"source": "extracted", **self.provenance, **item.provenance}
            item.session_id = self.session
        return found[:MOST_ITEMS]

    def _ask(
        self,
        evidence: Sequence[Evidence],
        judgments: Sequence[Judgment],
        readings: Sequence[CallReading],
    ) -> list[MemoryItem] | None:
        client = self.client
        if client is None or not is_language_model(client):
            return None
        if not any(map(_is_worth_asking, evidence, readings)):
            return None
        return extract_llm(evidence, judgments, readings, client=client, usage=self.usage)


def extract_memories(
    artifact: Mapping[str, Any], judgment: Judgment, *, trace: Trace | None = None, **known: Any
) -> list[MemoryItem]:
    """What one judged run taught, ready for `dedup`; each item is unverified or quarantined, never
    trusted. `known` are fields of `Extraction`. Never raises for what a model does."""
    return Extraction(**known).lessons([artifact], [judgment], [trace])


def extract_contrast(
    artifacts: Sequence[Mapping[str, Any]],
    judgments: Sequence[Judgment],
    *,
    traces: Sequence[Trace | None],
    evidence: Sequence[Evidence] = (),
    **known: Any,
) -> list[MemoryItem]:
    """What several runs of one task taught (MaTTS): what successes did and failures did not.
    Without a model: the procedure of the shortest success, and a lesson of a failure."""
    if not artifacts or not len(artifacts) == len(judgments) == len(traces):
        raise ValueError("as many artifacts as judgments and traces are needed, and at least one")
    return Extraction(**known).lessons(artifacts, judgments, traces, evidence)


def _lessons_of_calls(
    readings: Sequence[CallReading], judgments: Sequence[Judgment]
) -> list[MemoryItem]:
    """The lessons of the shortest success, and of a failure that did what no success did."""
    order = sorted(
        range(len(readings)),
        key=lambda place: (not judgments[place].is_success, len(readings[place].calls), place),
    )
    found: list[MemoryItem] = []
    for place in order:
        found += [
            item
            for item in readings[place].lessons(judgments[place])
            if not any(old.outcome == item.outcome or _took(old, item) for old in found)
        ]
    return found


def _took(success: MemoryItem, failure: MemoryItem) -> bool:
    """Whether a success did what a failure says to avoid, or that is unclear."""
    calls = [span for span in _CALL.findall(failure.content) if "(" in span]
    if not calls:
        return set(failure.scope.tools) <= set(success.scope.tools)
    return any(call in success.content for call in calls)


def _is_worth_asking(evidence: Evidence, reading: CallReading) -> bool:
    """Whether anything was done that a model could say something about."""
    return bool(reading.calls or evidence.steps) and not is_unanswered(reading.answer)


def _specifics(artifact: Mapping[str, Any], reading: CallReading) -> frozenset[str]:
    """What is of this run alone: the names in its question and in its answer."""
    bound: Prefixes = reading.prefixes
    answer = str(artifact.get("final_answer") or "")
    named = iris_in(f"{artifact.get('task') or ''}\n{answer}", bound) | reading.form.asked
    found = {*named, *map(bound.shrink, named), *map(local_name, named)}
    question = reading.question.casefold()
    looked_for = [step.asked_for for step in reading.steps if step.tool in LINKING]
    found |= {name for name in looked_for if name.casefold() in question}
    if 20 < len(answer) <= 200:
        found.add(answer)
    return frozenset(name for name in found if name)
