"""EXTRACT and what to STORE: from judged attempts to new memories, and to what they change in those
that are there."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rlm.agent.attempt import Attempt
from rlm.agent.parts import Graph
from rlm.agent.recall import TEXT_HASH
from rlm.errors import QueryTimeout, RLMError
from rlm.handles import expand
from rlm.learning import dedup
from rlm.learning.confidence import followed_of, signals_for
from rlm.learning.extract import extract_contrast
from rlm.learning.lesson import fill_gaps, may_run
from rlm.learning.suspicion import SENTENCE
from rlm.loop.queries import NOTED_CALLS, NOTED_CHARS
from rlm.loop.types import SubCall
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import Engine
from rlm.store.backend import MemoryBackend
from rlm.store.types import Lessons, MemoryItem

LOG = logging.getLogger("rlm.agent")
PARSE_S = 2.0
"""How long an engine may take over the query of a lesson."""
SENT_CHARS = 4_000_000
"""Of what sub-models were sent, to look for what speaks to a reader."""
FAIR_TURNS = 5
"""A run that was given fewer had no chance to find out."""


@dataclass(frozen=True)
class Learned:
    """What is to be stored. `lessons` has one entry for each attempt, in their order."""

    memories: Sequence[MemoryItem] = ()
    lessons: Sequence[Lessons] = ()
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    """For people: memory_id, title, action and why."""


def learn(
    attempts: Sequence[Attempt], store: MemoryBackend, *, extract: bool, lineage: Mapping[str, Any]
) -> Learned:
    """What the attempts at one question teach, the chosen attempt first. Writes nothing. A run that
    a person, a limit or a dead model ended says nothing of its memories, and teaches nothing; nor
    does one that nobody could judge. Without `extract` every memory stays as it was."""
    if not extract:
        return Learned(lessons=[Lessons(touches=False) for _ in attempts])
    lessons = [_credit(attempt) if _teaches(attempt) else Lessons() for attempt in attempts]
    judged = [attempt for attempt in attempts if _teaches(attempt)]
    if not judged or not _own_end(attempts[0]):
        return Learned(lessons=lessons)
    used = {hit.item.memory_id for attempt in attempts for hit in attempt.recalled.hits}
    items = [*_extract(judged, lineage), *_held(judged, lineage)]
    plan = dedup.apply(store, items, used)
    first, verified = lessons[0], _trust_followed(attempts[0])
    changes = (
        *((each, verified.pop(each, {}) | new) for each, new in plan.update),
        *verified.items(),
    )
    lessons[0] = Lessons(first.signals, changes, tuple(plan.archive), first.followed)
    return Learned(plan.add, lessons, plan.outcomes)


def _trust_followed(best: Attempt) -> dict[str, dict[str, Any]]:
    """A lesson of a run is trusted once a run that followed it passed the task's own check."""
    if best.spec.verify is None or not best.succeeded:
        return {}
    followed = followed_of(best.recalled.ids, best.uses)
    given = [item for item in best.recalled.injected if item.memory_id in followed]
    return {item.memory_id: {"trust": "trusted"} for item in given if item.trust == "unverified"}


def _credit(attempt: Attempt) -> Lessons:
    """What an attempt says of the memories in its prompt. An offline one says what it follows. A
    replay says nothing that its recording has not said."""
    recalled = attempt.recalled
    if attempt.spec.replay is not None:
        return Lessons()
    signals = signals_for(recalled.ids, attempt.uses, attempt.judgment, reads=attempt.speaks)
    return Lessons(tuple(signals), followed=tuple(followed_of(recalled.ids, attempt.uses)))


def _teaches(attempt: Attempt) -> bool:
    """Whether it ended by itself and there is a verdict on it."""
    return attempt.is_judged and _own_end(attempt)


def _held(attempts: Sequence[Attempt], lineage: Mapping[str, Any]) -> list[MemoryItem]:
    """What the model itself asked to keep: what worked only where the run succeeded."""
    items = []
    for attempt in attempts:
        for item in attempt.held:
            if attempt.succeeded or item.outcome == "failure":
                item.provenance = {**_provenance(attempt, lineage), **item.provenance}
                items.append(item)
    return items


def _own_end(attempt: Attempt) -> bool:
    """Whether it ended by itself: with an answer, in circles, or after a fair number of turns."""
    result = attempt.result
    if result.converged:
        return True
    in_circles = "max_errors" in result.reason or "max_iters" in result.reason
    return in_circles and len(result.iterations) >= FAIR_TURNS


def _provenance(attempt: Attempt, lineage: Mapping[str, Any]) -> dict[str, Any]:
    graph, task = attempt.graph, attempt.spec.task
    return {
        "trajectory_id": attempt.trajectory.trajectory_id,
        "run_id": attempt.trajectory.run_id,
        **({} if graph is None else {"ontology_name": graph.name}),
        **({TEXT_HASH: attempt.text_hash} if attempt.text_hash else {}),
        **({} if task is None else {"curriculum_id": task.curriculum_id, "task_id": task.task_id}),
        **lineage,
    }


def _extract(attempts: Sequence[Attempt], lineage: Mapping[str, Any]) -> list[MemoryItem]:
    best = attempts[0]
    if best.speaks and best.result.error is not None:
        return []  # a model that fails is not asked what it learnt
    known: dict[str, Any] = {
        "client": best.models.root if best.speaks else None,
        "question": best.query,
        "task_type": next(iter(best.spec.task_types), ""),
        "provenance": _provenance(best, lineage),
        "session": best.trajectory.trajectory_id,
        "recalled": best.repeats,
        "foreign": [text for attempt in attempts for text in attempt.meter.seen],
        "read": [text for attempt in attempts for text in _read_by_models(attempt)],
        "usage": best.result.usage,
        **({} if best.graph is None else _known_of(best, best.graph)),
    }
    verdicts = [attempt.judgment for attempt in attempts if attempt.judgment is not None]
    artifacts = [attempt.artifact() for attempt in attempts]
    return extract_contrast(
        artifacts,
        verdicts,
        traces=[attempt.trace for attempt in attempts],
        evidence=[attempt.evidence() for attempt in attempts],
        **known,
    )


def _read_by_models(attempt: Attempt) -> list[str]:
    """What models have read in a run that others wrote: the card, comments and notes, what was
    printed, what sub-models were sent and said, and what judge and extractor are shown. All that
    was fetched where nobody can tell: a helper reads for itself, and of very long prompts only the
    beginning is kept."""
    blocks = [block for turn in attempt.result.iterations for block in turn.code_blocks]
    calls = [call for block in blocks for call in block.sub_calls]
    cut = any(max(len(call.prompt), len(call.response)) >= NOTED_CHARS for call in calls)
    if cut or len(calls) >= NOTED_CALLS or any("rlm_query" in block.code for block in blocks):
        return attempt.meter.seen
    texts = [attempt.card, *attempt.rules().get("comments", ()), *attempt.remarks.told]
    texts += _put_together(attempt)
    texts += [text for each in blocks for text in (each.result.stdout, each.result.stderr)]
    texts += [call.response for call in calls]
    return texts + _sent(attempt, calls)


def _sent(attempt: Attempt, calls: Iterable[SubCall]) -> list[str]:
    """What sub-models were sent, up to `SENT_CHARS`; what failed may be too long to be sent."""
    texts: list[str] = []
    for call in calls:
        if call.error is None and sum(map(len, texts)) < SENT_CHARS:
            texts.append(expand(attempt.handles, call.prompt))
    return texts


def _put_together(attempt: Attempt) -> list[str]:
    """What judge and extractor are shown of an answer and of calls that neither the model nor who
    asked has written: code made it, of texts that nobody may have printed."""
    written = "\n".join((attempt.query, *(turn.response for turn in attempt.result.iterations)))
    shown = [attempt.result.answer]
    for call in attempt.trace.calls:
        shown += [*map(str, call.args.values()), call.error]
    return [part for text in shown for part in SENTENCE.split(text) if part not in written]


def _known_of(attempt: Attempt, graph: Graph) -> dict[str, Any]:
    """What the ontology of a run says about its queries."""
    meta = graph.meta
    query, certain = attempt.patterns.behind(attempt.result.answer)
    return {
        "ontology": graph.name,
        "shown_anyway": attempt.card,
        "prefixes": meta.prefixes,
        "terms": {*meta.classes, *meta.properties, *meta.pred_freq},
        "all_terms": not meta.sampled,
        "query": query,
        "certain": certain,
        "parses": functools.partial(_parses, graph.engine),
    }


def _parses(engine: Engine, query: str) -> bool:
    """Whether the engine of the run takes a query, with something in its gaps. An endpoint is not
    asked: the guard is enough there."""
    if not may_run(query) or not isinstance(engine, LocalEngine):
        return may_run(query)
    try:
        engine.query(fill_gaps(query), limit=1, timeout_s=PARSE_S)
    except QueryTimeout:
        return True
    except RLMError as exc:
        LOG.warning("a query of a lesson does not run: %s", exc)
        return False
    return True
