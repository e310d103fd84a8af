"""Which memories are fit to ship, and why the others are not (seed 000, section 4.3).

A memory ships when it came from a success, a person or a pack, or when its run was judged with high
confidence; when it is general enough, unless the pack is about one ontology; and never when it is
quarantined or archived. A universal pack names no IRI and no ontology's prefix, and none a place in
a home folder. What an agent recorded ships when a person has said that it helped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlm.store.backend import MemoryBackend
from rlm.store.generality import hardcoded_name, score_generalization
from rlm.store.types import LEVELS, MemoryItem

THRESHOLD = 0.6
"""Above the plain 0.5: it must also read as a procedure, or be tagged universal."""
SHIPPED_SOURCES = ("success", "human", "pack")
EVERYTHING = 2**31
UNCONFIRMED = "an agent recorded it, and no person said that it helped"
_CHANGED = re.compile(r"\n(?=Then changed: ).*\Z")
"""The files that an agent changed after a decision, in its words' last line."""
_HOME = re.compile(r"(?:/home/|/Users/|/root/|[A-Za-z]:\\Users\\)[^\s\"'`”,;)]+")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory with its score, its reasons, and what bars it; without `bars` it ships."""

    item: MemoryItem
    score: float
    because: str
    bars: tuple[str, ...]


def candidates(
    db: MemoryBackend, *, ontology: str | None = None, threshold: float = THRESHOLD
) -> tuple[list[Candidate], list[MemoryItem]]:
    """Every candidate by id, and the other live memories."""
    live = [item for item in db.list_items(limit=EVERYTHING) if item.trust != "quarantined"]
    live.sort(key=lambda item: LEVELS.index(item.level))
    nearest: dict[str, MemoryItem] = {}
    for item in live:
        nearest.setdefault(item.memory_id, item)
    judged = _judged_high(db, list(nearest.values()))
    found, others = [], []
    for item in nearest.values():
        if item.source_type in SHIPPED_SOURCES:
            because = f"source_type {item.source_type}"
        elif item.memory_id in judged:
            because = "its run was judged with high confidence"
        else:
            others.append(item)
            continue
        score = score_generalization(item)
        bars = (*_bars_anywhere(db, item), *_bars(item, score, ontology, threshold))
        found.append(Candidate(item, score, because, bars))
    found.sort(key=lambda candidate: candidate.item.memory_id)
    return found, others


def shared_content(item: MemoryItem) -> str:
    """What of a content leaves the machine: of what a session taught, not which files were changed
    in it."""
    return _CHANGED.sub("", item.content) if item.origin == "distiller" else item.content


def _judged_high(db: MemoryBackend, items: Sequence[MemoryItem]) -> set[str]:
    """Ids of memories whose trajectory has a judgment of high confidence."""
    high = db.judged_high([_run_of(item) for item in items])
    return {item.memory_id for item in items if _run_of(item) in high}


def _run_of(item: MemoryItem) -> str:
    """The trajectory that a memory came from, or nothing; provenance may hold anything."""
    named = item.provenance.get("trajectory_id")
    return named if isinstance(named, str) else ""


def _bars_anywhere(db: MemoryBackend, item: MemoryItem) -> list[str]:
    """What bars a memory from every pack."""
    text, bars = "\n".join((item.title, item.description, shared_content(item), *item.tags)), []
    if (place := _home_path(text)) is not None:
        bars.append(f"it names a path of this machine: {place[:80]}")
    by_agent = (item.origin or "").partition(":")[0] == "mcp" and item.trust == "unverified"
    if by_agent and not _is_confirmed(db, item):
        bars.append(UNCONFIRMED)
    return bars


def _home_path(text: str) -> str | None:
    """The first path in somebody's home folder."""
    home = str(Path.home())
    found = _HOME.search(text)
    return home if len(home) > 1 and f"{home}/" in text else found and found[0]


def _is_confirmed(db: MemoryBackend, item: MemoryItem) -> bool:
    said = (each for each in db.signals(item.memory_id) if each["delta"] > 0)
    return any(str(each["reason"]).startswith("a person") for each in said)


def _bars(
    item: MemoryItem, score: float, ontology: str | None, threshold: float
) -> tuple[str, ...]:
    own = (item.scope.ontology or "").casefold()
    if ontology is not None:
        return () if own == ontology.casefold() else (f"it is not about the ontology {ontology}",)
    bars = []
    if own:
        bars.append(f"it is about one ontology: {item.scope.ontology}")
    if not item.scope.transferable:
        bars.append("its scope says that it is not transferable")
    if (name := hardcoded_name(item)) is not None:
        bars.append(f"it names an IRI or a prefix: {name[:80]}")
    if score < threshold:
        bars.append(f"it is not general enough: {score:.2f}, at least {threshold:.2f}")
    return tuple(bars)
