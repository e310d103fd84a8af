"""What a person decides: proposals accepted or refused, changes of consolidation taken back.

Promotions are read from the evolution log: one is open until a line carries its number. That a
decision may supersede an older one is noted in the newer's provenance until somebody has decided. A
change is undone field by field: only what is still as the change left it goes back, and the rest is
named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from rlm import clock
from rlm.errors import NotFound, ValidationError
from rlm.learning.same_lessons import CONSOLIDATED_INTO, PRUNED_BECAUSE
from rlm.service.amendment import (
    CHANGES,
    SUPERSEDES,
    mark_changed,
    may_supersede,
    supersede,
    withdraw,
)
from rlm.service.consolidation import (
    ALL,
    BATCH,
    MERGE,
    PROMOTE,
    PROPOSE,
    PRUNE,
    REFUSE,
    RUN,
    UNDO,
    promote,
    target_level,
)
from rlm.store.backend import MemoryBackend
from rlm.store.graph import Evolution
from rlm.store.types import LEVELS, MemoryItem
from rlm.store.values import natural

SEVERAL = 3
"""So many failures, and more than successes, are put before a person."""
TAKEN_BACK_BY = {SUPERSEDES: "memory restore", CHANGES: "memory review --refuse"}
"""By how one decision is linked to an older one, the command that the older one's id is given."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What becomes of a memory if somebody agrees: it goes up to a level, or to the archive,
    because a newer decision supersedes it or tasks that followed it failed."""

    item: MemoryItem
    why: str
    level: str | None = None
    log_id: int | None = None
    """The line of the log that proposes to promote it."""
    newer: MemoryItem | None = None


def proposals(store: MemoryBackend) -> list[Proposal]:
    """The open proposals about live memories: promotions, amendments, failures, oldest first."""
    return [*_promotions(store), *_amendments(store), *_failures(store)]


def _promotions(store: MemoryBackend) -> Iterator[Proposal]:
    closed = _parents(store, PROMOTE) | _parents(store, UNDO)
    undone = _parents(store, UNDO)
    refused = store.graph.evolution(limit=ALL, operation=REFUSE)
    closed |= {_parent(line) for line in refused if line.id not in undone}
    for line in reversed(store.graph.evolution(limit=ALL, operation=PROPOSE)):
        item, level = store.get(line.node_ids[0]), target_level(line)
        if line.id in closed or item is None or item.archived_at:
            continue
        if item.level == LEVELS[LEVELS.index(level) - 1]:
            yield Proposal(item, line.reasoning or "", level, line.id)


def _amendments(store: MemoryBackend) -> Iterator[Proposal]:
    for newer in reversed(store.list_items(provenance={"kind": "decision"}, limit=ALL)):
        if newer.trust == "quarantined":
            continue  # it changes nothing before it is approved
        for older_id, why in may_supersede(newer).items():
            older = store.get(older_id)
            if older is not None and not older.archived_at:
                yield Proposal(older, why, newer=newer)


def _failures(store: MemoryBackend) -> Iterator[Proposal]:
    """What a person said and no failure takes away: the person decides."""
    filters: tuple[dict[str, Any], ...]
    filters = ({"source_type": "human"}, {"provenance": {"kind": "decision"}})
    listed = (store.list_items(limit=ALL, **each) for each in filters)
    for item in {item.memory_id: item for found in listed for item in reversed(found)}.values():
        if item.failure_count >= max(SEVERAL, item.success_count + 1):
            yield Proposal(item, f"failed {item.failure_count} times")


def accept(store: MemoryBackend, proposal: Proposal, *, by: str | None = None) -> bool:
    """Do what was proposed; False where it is done already or the memory is gone."""
    memory_id, why = proposal.item.memory_id, f"accepted{f' by {by}' if by else ''}: {proposal.why}"
    with store.together():
        if proposal.newer is not None:
            newer_id = proposal.newer.memory_id
            return withdraw(store, newer_id, memory_id) and supersede(
                store, newer_id, memory_id, why
            )
        if proposal.level is None:
            return store.delete(memory_id)
        level = proposal.level
        if not promote(store, memory_id, level):
            return False
        store.graph.log_event(f"{PROMOTE}{level}:{proposal.log_id}", [memory_id], reasoning=why)
    return True


def accept_in_part(store: MemoryBackend, proposal: Proposal, *, by: str | None = None) -> bool:
    """Keep both decisions: the newer one changes a part of the older. ValidationError for what is
    no proposal about two decisions."""
    memory_id, newer = proposal.item.memory_id, proposal.newer
    if newer is None:
        what = f"nothing says that a newer decision changes {memory_id}"
        raise ValidationError(f"{what}: accept or refuse what is proposed", field="id")
    why = f"changed in part{f', says {by}' if by else ''}: {proposal.why}"
    with store.together():
        if not withdraw(store, newer.memory_id, memory_id):
            return False
        mark_changed(store, newer.memory_id, memory_id, why)
    return True


def refuse(store: MemoryBackend, proposal: Proposal, *, by: str | None = None) -> None:
    """Close a proposal; it is not made again."""
    if proposal.newer is not None:
        withdraw(store, proposal.newer.memory_id, proposal.item.memory_id)
        return
    if proposal.level is None:
        store.update(proposal.item.memory_id, failure_count=0)
        return
    why = f"refused{f' by {by}' if by else ''}"
    name = f"{REFUSE}:{proposal.log_id}"
    store.graph.log_event(name, [proposal.item.memory_id], reasoning=why)


# -- taking back


@dataclass(slots=True)
class Undone:
    """What `undo` took back, and what it left alone because somebody changed it since."""

    log_id: int
    restored: list[str] = field(default_factory=list)
    """Memories that are back from the archive."""
    moved: dict[str, str] = field(default_factory=dict)
    """Memories that are back at a level."""
    withdrawn: list[str] = field(default_factory=list)
    """Memories whose proposal is closed, or open again after a refusal."""
    skipped: dict[str, str] = field(default_factory=dict)
    """Memory → why it was left alone."""

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        rows = [{"memory_id": each, "status": "restored"} for each in self.restored]
        rows += [
            {"memory_id": each, "status": "moved", "level": level}
            for each, level in self.moved.items()
        ]
        rows += [{"memory_id": each, "status": "withdrawn"} for each in self.withdrawn]
        rows += [
            {"memory_id": each, "status": "skipped", "why": why}
            for each, why in self.skipped.items()
        ]
        return {"log_id": self.log_id, "memories": rows}


def undo(store: MemoryBackend, log_id: int) -> Undone:
    """Take back one change of a consolidation, an accepted or refused proposal, or a whole run.

    NotFound for a number that this project's log does not have, ValidationError for what is no
    change of memories or was undone already. What somebody changed since is left alone and named.
    """
    natural(log_id, "log_id")
    lines = store.graph.read_events(log_id)
    done = _parents(store, UNDO)
    _check(store, log_id, lines, done)
    report = Undone(log_id)
    parts = lines[:1]
    if lines[0].operation == RUN:
        parts = [line for line in reversed(lines[1:]) if line.id not in done]
    waiting = iter(parts)
    while batch := list(islice(waiting, BATCH)):
        with store.together():
            for line in batch:
                _take_back(store, line, report)
    if lines[0].operation == RUN:
        store.graph.log_event(f"{UNDO}:{log_id}", [], reasoning=f"undid run {log_id}")
    return report


def _check(store: MemoryBackend, log_id: int, lines: list[Evolution], done: set[int]) -> None:
    if not lines or lines[0].id != log_id:
        hint = "`rlm graph history` lists them"
        raise NotFound(f"no line {log_id} in the evolution log: {hint}")
    name = lines[0].operation
    if name.startswith(UNDO):
        why = f"line {log_id} undid {_parent(lines[0])}"
        raise ValidationError(f"{why}: it cannot be undone itself", field="log_id")
    if not name.startswith((RUN, MERGE, PRUNE, PROMOTE, PROPOSE, REFUSE)):
        why = f"line {log_id} is {name!r}, no change that this takes back"
        raise ValidationError(f"{why}: {_hint(store, lines[0])}", field="log_id")
    if log_id in done:
        raise ValidationError(f"line {log_id} was undone already", field="log_id")


def _hint(store: MemoryBackend, line: Evolution) -> str:
    """What takes back a line that is none of ours."""
    if line.operation != "link":
        return "`rlm graph undo` takes back changes of tiers"
    edge, _, label = (line.reasoning or "").partition(": ")
    node = store.graph.get_node(line.node_ids[-1])
    older = None if node is None else node.metadata.get("memory_id")
    if older and label in TAKEN_BACK_BY:
        return f"`rlm {TAKEN_BACK_BY[label]} {older}` takes it back"
    return f"`rlm graph unlink {edge.partition(' ')[2]}` takes it back"


def _take_back(store: MemoryBackend, line: Evolution, report: Undone) -> None:
    """Reverse one change as far as nobody changed it since, and log it."""
    if line.operation.startswith((MERGE, PRUNE)):
        back = list(_restore(store, line, report))
        report.restored += back
    elif line.operation.startswith(PROMOTE):
        back = list(_demote(store, line, report))
        report.moved |= dict.fromkeys(back, _below(line))
    elif line.operation.startswith(PROPOSE) and store.graph.read_events(line.id)[1:]:
        back = []
        report.skipped |= dict.fromkeys(line.node_ids, "somebody decided on the proposal since")
    else:
        back = list(line.node_ids)
        report.withdrawn += back
    if back:
        name = line.operation.partition(":")[0]
        store.graph.log_event(f"{UNDO}:{line.id}", back, reasoning=f"undid {name} {line.id}")


def _restore(store: MemoryBackend, line: Evolution, report: Undone) -> Iterator[str]:
    """Bring back what a merge or a pruning put into the archive, without its note."""
    merged = line.operation.startswith(MERGE)
    key = CONSOLIDATED_INTO if merged else PRUNED_BECAUSE
    left = line.node_ids[0] if merged else line.reasoning
    for memory_id in line.node_ids[1:] if merged else line.node_ids:
        copies = (store.get(memory_id, level=level) for level in LEVELS)
        noted = (each for each in copies if each is not None and each.provenance.get(key) == left)
        item = next(noted, None)
        if item is None:
            report.skipped[memory_id] = "it is gone, or somebody changed it since"
        elif item.archived_at is None:
            report.skipped[memory_id] = "somebody brought it back already"
        elif _archived_after(item, line):
            report.skipped[memory_id] = "somebody archived it again since"
        else:
            store.restore(memory_id)
            stated = {name: value for name, value in item.provenance.items() if name != key}
            store.update(memory_id, provenance=stated)
            yield memory_id


def _archived_after(item: MemoryItem, line: Evolution) -> bool:
    at = clock.parse_iso(item.archived_at or item.created_at)
    return int(at.timestamp() * 1000) > line.timestamp


def _demote(store: MemoryBackend, line: Evolution, report: Undone) -> Iterator[str]:
    """Bring a promoted memory back to where it came from."""
    level = target_level(line)
    for memory_id in line.node_ids:
        item = store.get(memory_id, level=level)
        if item is None:
            report.skipped[memory_id] = f"the {level} has it no more, or its words were changed"
        elif item.archived_at:
            report.skipped[memory_id] = f"somebody archived it in the {level}"
        elif store.get(memory_id, level=_below(line)) is not None:
            report.skipped[memory_id] = f"the {_below(line)} has one with the same words again"
        else:
            store.set_level(memory_id, _below(line))
            yield memory_id


def _below(line: Evolution) -> str:
    return LEVELS[LEVELS.index(target_level(line)) - 1]


def _parent(line: Evolution) -> int:
    """17 of `memory_undo:17`."""
    return int(line.operation.rpartition(":")[2])


def _parents(store: MemoryBackend, operation: str) -> set[int]:
    return {_parent(line) for line in store.graph.evolution(limit=ALL, operation=operation)}
