"""Consolidation: similar memories merged, weak ones pruned, strong ones promoted; all reversible.

`plan` says what is to be done and writes nothing; `consolidate` does it, a hundred changes to a
transaction. Each run has a line of its own in the evolution log (`memory_consolidate`), and each
change has one that carries the run's number: `memory_merge:17`, `memory_prune:17`,
`memory_promote_team:17`, `memory_propose_team:17`. So `undo` needs nothing but the log, and takes
back one change or a whole run.

- **Merged** is what `rlm.learning.same_lessons` finds: the best stays untouched, the others go to
  the archive and name it. Compared is what was added or changed since the last run that ended: the
  last `memory_compared` in the log says up to where (`MemoryBackend.changed_since`).
- **Pruned** to the archive is a lesson of a run that is hardly believed, never helped and has not
  been used for long. Never a decision, nor what a person, a pack or somebody's trust vouches for.
- **Promoted** from project to team and from team to organisation is what is believed and helped
  often, and proposed to the team is what other projects of the team hold too. A promotion is a
  proposal that waits in `rlm memory review`, unless the setting `promote` is `automatic`; then
  trusted memories are promoted at once. Other projects give a count of equal ids and nothing else
  (`MemoryBackend.held_elsewhere` says why).

What somebody took back or refused is not done again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from rlm import clock, config
from rlm.errors import ConfigError
from rlm.learning.dedup import is_vouched_for
from rlm.learning.same_lessons import (
    CONSOLIDATED_INTO,
    PRUNED_BECAUSE,
    BySearch,
    SameLessons,
    find_same,
    was_brought_back,
)
from rlm.retrieval.rank import RECALL_FLOOR
from rlm.store.backend import MemoryBackend, all_items
from rlm.store.graph import Evolution
from rlm.store.types import LEVELS, MemoryItem

if TYPE_CHECKING:
    from rlm.learning.lesson_index import LessonIndex

WEAK_CONFIDENCE, WEAK_DAYS = RECALL_FLOOR, 90
"""Below this confidence nothing is put into a prompt; so long unused, nobody misses it."""
STRONG_CONFIDENCE = 0.85
HELPED = {"project": 3, "team": 10}
"""How often a memory must have helped to go up from a level."""
RECURRING_CONFIDENCE = 0.5
BATCH = 100
"""So many memories are read, and changes made in a transaction, at a time."""
FEW = 0.04
"""Up to this share of all, new memories are looked up by search; for more, an index of all is made.
See docs/experiments.md."""
ALL = 2**53
RUN, MERGE, PRUNE = "memory_consolidate", "memory_merge", "memory_prune"
COMPARED = "memory_compared"
PROMOTE, PROPOSE = "memory_promote_", "memory_propose_"
REFUSE, UNDO = "memory_refuse", "memory_undo"
HELPFUL_KINDS = ("helpful", "task_succeeded", "unreverted")


@dataclass(frozen=True, slots=True)
class Change:
    """One change, planned or made; `log_id` is what `undo` takes."""

    operation: str
    """merge, prune, promote or propose."""
    memories: Mapping[str, str]
    """Those that go to the archive, or the one that goes up: id → title."""
    why: str
    into: str | None = None
    """The memory that stays, of a merge."""
    level: str | None = None
    """Where it goes, of a promotion."""
    log_id: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        named = [{"memory_id": each, "title": title} for each, title in self.memories.items()]
        return {**asdict(self), "memories": named}


@dataclass(slots=True)
class Consolidation:
    """What a run did or would do."""

    dry_run: bool
    log_id: int | None = None
    """The number of the whole run; None where nothing was written."""
    changes: list[Change] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Memories that somebody changed between the plan and its turn."""

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        changes = [change.to_dict() for change in self.changes]
        return {
            "dry_run": self.dry_run,
            "log_id": self.log_id,
            "changes": changes,
            "skipped": list(self.skipped),
        }


def consolidate(
    store: MemoryBackend,
    *,
    dry_run: bool = False,
    everything: bool = False,
    automatic: bool | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Consolidation:
    """Merge, prune and promote what a store holds; a second time there is nothing left to do, but
    where a promotion brought two together that say the same.

    Only what is new since the last run is compared, or `everything`. `automatic` promotions need no
    review; without it, the setting `promote` decides. Killed in the middle, it leaves whole
    changes, each with its line in the log, and the next run goes on.
    """
    report = Consolidation(dry_run)
    before = _compared_upto(store)
    fresh, mark = store.changed_since(0 if everything else before)
    automatic = _is_automatic() if automatic is None else automatic
    planned = plan(store, fresh, automatic=automatic, on_progress=on_progress or (lambda _: None))
    if dry_run:
        report.changes = planned
        return report
    waiting = iter(planned)
    while batch := list(islice(waiting, BATCH)):
        with store.together():
            if report.log_id is None:
                report.log_id = store.graph.log_event(RUN, [], reasoning=_summary(planned))
            done = [_apply(store, change, report) for change in batch]
        report.changes += [change for change in done if change is not None]
    if mark != before:
        store.graph.log_event(COMPARED, [], reasoning=f"up to {mark}")
    return report


def _compared_upto(store: MemoryBackend) -> int:
    """The mark of the last run that ended."""
    lines = store.graph.evolution(limit=1, operation=COMPARED)
    last = (lines[0].reasoning or "").removeprefix("up to ") if lines else ""
    return int(last) if last.isdecimal() else 0


def plan(
    store: MemoryBackend,
    fresh: Sequence[str],
    *,
    automatic: bool,
    on_progress: Callable[[int], None],
) -> list[Change]:
    """What there is to do, with the memories of these ids compared. It holds ids and titles of what
    would change, not the memories. `on_progress` gets a number of memories of all."""
    back = {each for line in _lines(store, UNDO) for each in line.node_ids}
    proposed = {(line.node_ids[0], target_level(line)) for line in _lines(store, PROPOSE)}
    index = _new_index(store) if len(fresh) > FEW * store.stats()["memories"] else None
    items, count, later = all_items(store), 0, list[Change]()
    while page := list(islice(items, BATCH)):
        if index is not None:
            for item in page:
                index.add(item)
        open_ = [item for item in page if item.memory_id not in back]
        later += filter(None, (_prune(store, item) for item in open_))
        later += _promotions(store, open_, proposed, automatic=automatic)
        count += len(page)
        on_progress(count // 2)

    def tell(share: float) -> None:
        on_progress(int(count * (1 + share) / 2))

    groups = find_same(store, index or BySearch(store, fresh), tell, keep=back)
    changes = [_merge(group) for group in groups]
    merged = set[str]().union(*(change.memories for change in changes))
    return changes + [change for change in later if merged.isdisjoint(change.memories)]


def _merge(group: SameLessons) -> Change:
    return Change(
        "merge",
        {other.memory_id: other.title for other in group.others},
        f"says what {group.kept.memory_id} says: {group.kept.title}",
        into=group.kept.memory_id,
    )


def _new_index(store: MemoryBackend) -> LessonIndex:
    from rlm.learning.lesson_index import LessonIndex  # numpy, which undo needs not

    return LessonIndex(store)


def _lines(store: MemoryBackend, operation: str) -> list[Evolution]:
    return store.graph.evolution(limit=ALL, operation=operation)


def target_level(line: Evolution) -> str:
    """`team` of `memory_propose_team:17`."""
    return line.operation.partition(":")[0].rpartition("_")[2]


def _is_automatic() -> bool:
    chosen = config.load().promote
    if chosen not in ("review", "automatic"):
        raise ConfigError(f"RLM_PROMOTE is {chosen!r}: choose review or automatic")
    return chosen == "automatic"


# -- weak and strong


def _prune(store: MemoryBackend, item: MemoryItem) -> Change | None:
    """The change for a weak lesson of this project; None for any other memory."""
    if (
        item.level != "project"
        or (item.confidence or 0.0) >= WEAK_CONFIDENCE
        or item.kind == "decision"
        or is_vouched_for(item)
        or was_brought_back(item)
    ):
        return None
    unused = (clock.now() - clock.parse_iso(item.last_used or item.created_at)).days
    if unused < WEAK_DAYS or _times_helped(store, item):
        return None
    why = f"confidence {item.confidence or 0.0:.2f}, never helped, not used for {unused} days"
    return Change("prune", {item.memory_id: item.title}, why)


def _times_helped(store: MemoryBackend, item: MemoryItem) -> int:
    said = sum(signal["kind"] in HELPFUL_KINDS for signal in store.signals(item.memory_id))
    return max(item.success_count, said)


def _promotions(
    store: MemoryBackend,
    items: Iterable[MemoryItem],
    proposed: Collection[tuple[str, str]],
    *,
    automatic: bool,
) -> Iterator[Change]:
    """What goes one level up, or is proposed to."""
    able = [
        (item, LEVELS[LEVELS.index(item.level) + 1])
        for item in items
        if item.level in HELPED
        and item.scope.transferable
        and (item.confidence or 0.0) >= RECURRING_CONFIDENCE
    ]
    able = [(item, level) for item, level in able if (item.memory_id, level) not in proposed]
    own = [item.memory_id for item, _ in able if item.level == "project"]
    elsewhere = store.held_elsewhere(own)
    for item, level in able:
        why = _reason_to_promote(store, item, elsewhere)
        if why and store.get(item.memory_id, level=level) is None:
            trusted = automatic and item.trust == "trusted"
            operation = "promote" if trusted else "propose"
            yield Change(operation, {item.memory_id: item.title}, why, level=level)


def _reason_to_promote(
    store: MemoryBackend, item: MemoryItem, elsewhere: Mapping[str, int]
) -> str | None:
    reasons = []
    if (item.confidence or 0.0) >= STRONG_CONFIDENCE:
        helped = _times_helped(store, item)
        if helped >= HELPED[item.level]:
            reasons.append(f"confidence {item.confidence:.2f}, helped {helped} times")
    if item.level == "project" and item.source_type != "pack":
        others = elsewhere.get(item.memory_id, 0)
        if others:
            projects = "another project" if others == 1 else f"{others:,} other projects"
            reasons.append(f"{projects} of the team hold{'s' * (others == 1)} the same")
    return "; ".join(reasons) or None


# -- doing it


def _apply(store: MemoryBackend, change: Change, report: Consolidation) -> Change | None:
    """Make one change, as far as nobody came before it, and log it."""
    log = store.graph.log_event
    if change.operation in ("merge", "prune"):
        done = _archive(store, change)
        report.skipped += [each for each in change.memories if each not in done]
        if not done:
            return None
        operation = MERGE if change.into else PRUNE
        ids = done if change.into is None else [change.into, *done]
        number = log(f"{operation}:{report.log_id}", ids, reasoning=change.why)
        named = {each: change.memories[each] for each in done}
        return replace(change, memories=named, log_id=number)
    (memory_id,), level = change.memories, change.level or ""
    if change.operation == "promote":
        if not promote(store, memory_id, level):
            report.skipped.append(memory_id)
            return None
        name = f"{PROMOTE}{level}"
    else:
        name = f"{PROPOSE}{level}"
    number = log(f"{name}:{report.log_id}", [memory_id], reasoning=change.why)
    return replace(change, log_id=number)


def _archive(store: MemoryBackend, change: Change) -> list[str]:
    """Put memories away with a note where they went or why; those that were still there."""
    if change.into is not None:
        kept = store.get(change.into)
        if kept is None or kept.archived_at:
            return []
    note = {CONSOLIDATED_INTO: change.into} if change.into else {PRUNED_BECAUSE: change.why}
    done = []
    for memory_id in change.memories:
        item = store.get(memory_id)
        if item is not None and not item.archived_at and not is_vouched_for(item):
            store.update(memory_id, provenance={**item.provenance, **note})
            store.delete(memory_id)
            done.append(memory_id)
    return done


def promote(store: MemoryBackend, memory_id: str, level: str) -> bool:
    """Move a memory up to the next level; False where it is not below it, or there already."""
    item = store.get(memory_id)
    below = LEVELS[LEVELS.index(level) - 1]
    if item is None or item.archived_at or item.level != below:
        return False
    if store.get(memory_id, level=level) is not None:
        return False
    store.set_level(memory_id, level)
    return True


def _summary(changes: Sequence[Change]) -> str:
    words = {"merge": "merged", "prune": "pruned", "promote": "promoted", "propose": "proposed"}
    counts = {name: sum(change.operation == name for change in changes) for name in words}
    return ", ".join(f"{count:,} {words[name]}" for name, count in counts.items() if count)
