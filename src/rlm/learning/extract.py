"""From a judged run to memories: 1 to 3 procedures, or none when there is nothing to learn
(ReasoningBank).

A model writes them where there is one; where there is none, or it fails, they are read from the
calls of the run. All of them pass the gates: what does not is kept, in quarantine, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rlm.learning.calls import TraceLike
from rlm.learning.extract_llm import contrast_llm, extract_llm
from rlm.learning.extract_offline import extract_offline
from rlm.learning.gates import TOOLS, Gate, RecalledLike
from rlm.learning.grounding import iris_in
from rlm.llm import OFFLINE_UNANSWERED, Client, Usage
from rlm.llm.offline.asked import Asked, understand
from rlm.ontology.terms import Prefixes, local_name
from rlm.store.types import ONTOLOGY_TOOLS, Judgment, MemoryItem

MOST_ITEMS = 3
NO_MODEL = "offline"
_CALL = re.compile(r"`([^`]*)`")


def extract_memories(
    artifact: Mapping[str, Any],
    judgment: Judgment,
    *,
    client: Client | None = None,
    trace: TraceLike | None = None,
    question: str = "",
    asked: Asked | None = None,
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

    `prefixes` are those of the ontology, `provenance` is added to that of every item
    (trajectory_id, run_id, …), `recalled` knows what the run was given from memory, `tools` are
    those that a procedure may name. What the model used is added to `usage`. Never raises for what
    a model does.
    """
    question = question or str(artifact.get("task") or "")
    asked = asked or _understood(question, ontology, [trace])
    known: dict[str, Any] = {"question": question, "asked": asked, "ontology": ontology}
    calls = list(trace.calls) if trace is not None else []
    gate = Gate(tools, _specifics(artifact, asked, prefixes), prefixes or {}, recalled)
    found: list[MemoryItem] | None = None
    if client is not None and client.model != NO_MODEL and _worth_asking(artifact, calls):
        found = extract_llm(artifact, judgment, client=client, calls=calls, usage=usage, **known)
    admitted = gate.admit(found or [])
    if not any(
        item.trust == "unverified" for item in admitted
    ):  # nothing that can be used: the calls themselves speak
        read = extract_offline(artifact, judgment, trace=trace, prefixes=prefixes, **known)
        admitted = [*Gate(tools, prefixes=prefixes or {}).admit(read), *admitted]
    return _stamped(admitted, provenance, session)


def extract_contrast(
    artifacts: Sequence[Mapping[str, Any]],
    judgments: Sequence[Judgment],
    *,
    client: Client | None = None,
    traces: Sequence[TraceLike | None],
    question: str = "",
    asked: Asked | None = None,
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
    asked = asked or _understood(question, ontology, traces)
    known: dict[str, Any] = {"question": question, "asked": asked, "ontology": ontology}
    calls = [list(trace.calls) if trace is not None else [] for trace in traces]
    found: list[MemoryItem] | None = None
    if client is not None and client.model != NO_MODEL and any(calls):
        found = contrast_llm(
            artifacts, judgments, client=client, traces=calls, usage=usage, **known
        )
    specifics = frozenset[str]().union(
        *(_specifics(artifact, asked, prefixes) for artifact in artifacts)
    )
    admitted = Gate(tools, specifics, prefixes or {}, recalled).admit(found or [])
    if not any(
        item.trust == "unverified" for item in admitted
    ):  # as with one run: the calls themselves speak
        places = range(len(artifacts))
        order = sorted(
            places, key=lambda place: (not judgments[place].is_success, len(calls[place]), place)
        )
        made: list[MemoryItem] = []
        for place in order:
            items = extract_offline(
                artifacts[place], judgments[place], trace=traces[place], prefixes=prefixes, **known
            )
            made += [
                item
                for item in items
                if not any(old.outcome == item.outcome or _took(old, item) for old in made)
            ]
        admitted = [*Gate(tools, prefixes=prefixes or {}).admit(made), *admitted]
    return _stamped(admitted, provenance, session)


def _understood(
    question: str, ontology: str | None, traces: Sequence[TraceLike | None]
) -> Asked | None:
    """The kind of a question about an ontology. One that was answered from a text has none,
    whatever its words."""
    tools = {call.tool for trace in traces if trace is not None for call in trace.calls}
    over_text = ontology is None and None not in traces and not tools & ONTOLOGY_TOOLS
    return None if over_text else understand(question)


def _took(success: MemoryItem, failure: MemoryItem) -> bool:
    """Whether a success did what a failure says is to be avoided, or whether that cannot be told."""
    calls = [span for span in _CALL.findall(failure.content) if "(" in span]
    if not calls:
        return set(failure.scope.tools) <= set(success.scope.tools)
    return any(call in success.content for call in calls)


def _worth_asking(artifact: Mapping[str, Any], calls: Sequence[Any]) -> bool:
    """Whether anything was done that a model could say something about."""
    answer = str(artifact.get("final_answer") or "")
    return bool(calls or artifact.get("key_steps")) and not answer.startswith(OFFLINE_UNANSWERED)


def _specifics(
    artifact: Mapping[str, Any], asked: Asked | None, prefixes: Mapping[str, str] | None
) -> frozenset[str]:
    """What is of this run alone: the names in its question and in its answer."""
    bound = Prefixes(prefixes or {})
    answer = str(artifact.get("final_answer") or "")
    named = iris_in(f"{artifact.get('task') or ''}\n{answer}", bound)
    found = {*named, *map(bound.shrink, named), *map(local_name, named)}
    if asked is not None:
        found |= {*asked.mentions, *asked.several, asked.text}
    if 20 < len(answer) <= 200:
        found.add(answer)
    return frozenset(name for name in found if name)


def _stamped(
    items: Sequence[MemoryItem], provenance: Mapping[str, Any] | None, session: str | None
) -> list[MemoryItem]:
    for item in items:
        item.provenance = {"source": "extracted", **(provenance or {}), **item.provenance}
        item.session_id = session
    return list(items)[:MOST_ITEMS]
