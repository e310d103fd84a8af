"""From a judged run to memories: 1 to 3 procedures, or none when there is nothing to learn
(ReasoningBank).

A model writes them where there is one; where there is none, or it fails, they are read from the
calls of the run. All of them pass the gates: what does not is kept, in quarantine, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.learning.calls import LINKING
from rlm.learning.extract_calls import CallReading
from rlm.learning.extract_llm import contrast_llm, extract_llm
from rlm.learning.gates import TOOLS, Gate, RecalledLike
from rlm.learning.grounding import iris_in
from rlm.llm import OFFLINE_UNANSWERED, Client, Usage, is_language_model
from rlm.loop.trace import Trace
from rlm.ontology.terms import Prefixes, local_name
from rlm.store.types import Judgment, MemoryItem

MOST_ITEMS = 3
_CALL = re.compile(r"`([^`]*)`")


def extract_memories(
    artifact: Mapping[str, Any],
    judgment: Judgment,
    *,
    client: Client | None = None,
    trace: Trace | None = None,
    question: str = "",
    task_type: str = "",
    ontology: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any] | None = None,
    session: str | None = None,
    recalled: RecalledLike | None = None,
    tools: frozenset[str] = TOOLS,
    usage: Usage | None = None,
) -> list[MemoryItem]:
    """What one judged run taught, ready for `dedup`; each item is unverified or quarantined, never
    trusted.

    `task_type` is the kind of task, where a caller or a curriculum said it; `prefixes` are those of
    the ontology; `provenance` is added to that of every item (trajectory_id, run_id, …); `recalled`
    knows what the run was given from memory; `tools` are those that a procedure may name. What the
    model used is added to `usage`. Never raises for what a model does.
    """
    reading = CallReading.of_run(
        artifact, trace, question=question, ontology=ontology, prefixes=prefixes, said=task_type
    )
    gate = Gate(tools, _specifics(artifact, reading), prefixes or {}, recalled)
    found: list[MemoryItem] | None = None
    if client is not None and is_language_model(client) and _is_worth_asking(artifact, reading):
        found = extract_llm(artifact, judgment, client=client, reading=reading, usage=usage)
    admitted = gate.admit(found or [])
    if not any(item.trust == "unverified" for item in admitted):
        # Nothing that can be used: the calls themselves speak.
        admitted = [*_own_gate(gate).admit(reading.lessons(judgment)), *admitted]
    return _stamp(admitted, provenance, session)


def extract_contrast(
    artifacts: Sequence[Mapping[str, Any]],
    judgments: Sequence[Judgment],
    *,
    client: Client | None = None,
    traces: Sequence[Trace | None],
    question: str = "",
    task_type: str = "",
    ontology: str | None = None,
    prefixes: Mapping[str, str] | None = None,
    provenance: Mapping[str, Any] | None = None,
    session: str | None = None,
    recalled: RecalledLike | None = None,
    tools: frozenset[str] = TOOLS,
    usage: Usage | None = None,
) -> list[MemoryItem]:
    """What several runs of one task taught (MaTTS): what the successful ones did and the failed
    ones did not.

    Without a model, or where nothing that it says passes: the procedure of the success with the
    fewest calls, and a lesson of a failure whose way no success took.
    """
    if not artifacts or not len(artifacts) == len(judgments) == len(traces):
        raise ValueError("as many artifacts as judgments and traces are needed, and at least one")
    question = question or str(artifacts[0].get("task") or "")
    known: dict[str, Any] = {"question": question, "ontology": ontology, "prefixes": prefixes}
    readings = [
        CallReading.of_run(*each, said=task_type, **known)
        for each in zip(artifacts, traces, strict=True)
    ]
    specifics = frozenset[str]().union(*map(_specifics, artifacts, readings))
    gate = Gate(tools, specifics, prefixes or {}, recalled)
    found: list[MemoryItem] | None = None
    asked = any(reading.calls for reading in readings)
    if client is not None and is_language_model(client) and asked:
        found = contrast_llm(artifacts, judgments, client=client, readings=readings, usage=usage)
    admitted = gate.admit(found or [])
    if not any(item.trust == "unverified" for item in admitted):
        lessons = _contrast_lessons(readings, judgments)
        admitted = [*_own_gate(gate).admit(lessons), *admitted]
    return _stamp(admitted, provenance, session)


def _contrast_lessons(
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


def _own_gate(gate: Gate) -> Gate:
    """The gate for our own words: they hold nothing of the run, and may say what is known."""
    return Gate(gate.tools, prefixes=gate.prefixes)


def _took(success: MemoryItem, failure: MemoryItem) -> bool:
    """Whether a success did what a failure says to avoid, or that cannot be told."""
    calls = [span for span in _CALL.findall(failure.content) if "(" in span]
    if not calls:
        return set(failure.scope.tools) <= set(success.scope.tools)
    return any(call in success.content for call in calls)


def _is_worth_asking(artifact: Mapping[str, Any], reading: CallReading) -> bool:
    """Whether anything was done that a model could say something about."""
    done = bool(reading.calls or artifact.get("key_steps"))
    return done and not reading.answer.startswith(OFFLINE_UNANSWERED)


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


def _stamp(
    items: Sequence[MemoryItem], provenance: Mapping[str, Any] | None, session: str | None
) -> list[MemoryItem]:
    for item in items:
        item.provenance = {"source": "extracted", **(provenance or {}), **item.provenance}
        item.session_id = session
    return list(items)[:MOST_ITEMS]
