"""The order of what a search found: memories, and what was said in sessions, in one ranking.

A rule is often settled piece by piece, so what was said in a session is stronger where something
else of that session fits too, and each further hit of one session counts less: it may not fill all
places. Of two sessions that fit about equally well the later comes first, because it may have
amended the earlier. All figures were measured (docs/experiments.md, "Finding the session").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import itemgetter

from rlm.retrieval.explain import Explanation
from rlm.service.memory import Memory
from rlm.store.graph import NodeHit
from rlm.store.types import Hit

POOL = 16
"""So many memories and so many turns compete, or as many as are wanted. Recall reads 64 rows for 16
hits as it does for 5."""
TURN_WEIGHT = 0.6
"""A turn beside a memory: nobody has said yet that it matters."""
QUESTION_WEIGHT = 0.5
"""What a turn that only asks counts of another: it settles nothing, though it tells its session."""
INSTEAD = 0.3
"""With such a share of the score of a turn of its session, what was settled there comes first."""
SUPPORT = 0.5
"""What the next best hit of its session adds to a hit."""
FURTHER = 0.6
"""What each further hit of a session counts of the one before."""
AMENDS = {("decision", "decision"), ("decision", "turn"), ("turn", "turn")}
"""What may pass what: a turn does not pass what was settled."""
LATER, LATER_ALONE = 0.8, 0.7
"""With such a share of the score of an earlier session the later one comes first, if it also has
such a share before anything was lent: what a session lends makes nothing an amendment."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_DONE = re.compile(r"^(?:Ran|Changed): .*\Z", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Found:
    """A hit. `turn` is its place in its session, if it was said in one."""

    memory: Memory
    hit: Hit | NodeHit | None = None
    turn: int | None = None
    settled: tuple[int, ...] = ()
    """The turns of its session that a rule puts together."""
    alone: float = 0.0
    """Its score before its session weighed in."""

    @property
    def why(self) -> Explanation:
        """The factors of its score; only where the search was asked to explain."""
        assert self.hit is not None and self.hit.why is not None
        return self.hit.why


def _asks(memory: Memory) -> bool:
    """Whether a turn asks, and says little else."""
    parts = _SENTENCE.split(_DONE.sub("", memory.content).strip())
    asks = sum(part.endswith("?") for part in parts)
    return memory.kind == "turn" and parts[-1].endswith("?") and 2 * asks >= len(parts)


def rank_found(found: Iterable[Found]) -> list[Found]:
    """Best first, with the scores that the sessions give. A turn from which a memory of these was
    taken is left out; one of several that a rule puts together only adds to its score."""
    hits = sorted((replace(hit, alone=hit.memory.score) for hit in found), key=_best_first)
    memories = [hit for hit in hits if hit.turn is not None and hit.memory.kind != "turn"]
    taken = {(hit.memory.source_session, hit.turn) for hit in memories}
    lending = {(hit.memory.source_session, turn) for hit in memories for turn in hit.settled}
    ranked: list[Found] = []
    sessions: dict[str, list[Found]] = {}
    for hit in hits:
        session = hit.memory.source_session
        if hit.turn is None or session is None:
            ranked.append(hit)
        elif hit.memory.kind != "turn" or (session, hit.turn) not in taken:
            sessions.setdefault(session, []).append(hit)
    for session, said in sessions.items():
        weighed = _weigh_session(said)
        ranked += (
            hit
            for hit in weighed
            if hit.memory.kind != "turn" or (session, hit.turn) not in lending
        )
    return sorted(ranked, key=_best_first)


def _weigh_session(said: Sequence[Found]) -> Iterable[Found]:
    scores = []
    for place, (hit, following) in enumerate(zip_longest(said, said[1:])):
        added = 0.0 if following is None else SUPPORT * following.memory.score
        scores.append((hit.memory.score + added) / (1.0 + SUPPORT) * FURTHER**place)
    least = INSTEAD * said[0].memory.score
    told = [
        (hit.memory.kind == "turn" or hit.memory.score < least, _asks(hit.memory), hit)
        for hit in said
    ]
    for (_, asks, hit), score in zip(sorted(told, key=itemgetter(0, 1)), scores, strict=True):
        score *= QUESTION_WEIGHT if asks else 1.0
        yield replace(hit, memory=replace(hit.memory, score=score))


def put_later_first(ranked: Iterable[Found]) -> list[Memory]:
    """What was found, with a later session before an earlier one of about the same score, which it
    then shares."""
    ordered: list[Found] = []
    for hit in ranked:
        place = len(ordered)
        while place and _may_amend(hit, ordered[place - 1]):
            place -= 1
        score = (ordered[place] if place < len(ordered) else hit).memory.score
        ordered.insert(place, replace(hit, memory=replace(hit.memory, score=score)))
    return [hit.memory for hit in ordered]


def _may_amend(hit: Found, before: Found) -> bool:
    memory, other = hit.memory, before.memory
    kinds = (memory.kind, other.kind) in AMENDS
    sessions = (memory.source_session, other.source_session)
    return (
        kinds
        and None not in sessions
        and sessions[0] != sessions[1]
        and memory.scope == other.scope
        and memory.created_at > other.created_at
        and memory.score >= LATER * other.score
        and hit.alone >= LATER_ALONE * before.alone
    )


def _best_first(hit: Found) -> tuple[float, str]:
    return -hit.memory.score, hit.memory.id
