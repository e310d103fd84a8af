"""Whether a lesson is new: add, merge, skip or replace (PM-12); and which two lessons are one.

Two memories are one lesson when they do the same for the same ontology with the same outcome,
whatever their titles. Where both hold a query, the query decides: the same one, names of variables
and placeholders aside, or nearly the same under the same title. Elsewhere their words decide, by
stems (Dice) and by their vectors. The thresholds and what they were measured on are in
docs/experiments.md. Of two that are one, the better survives whole: one with a query, that is
believed more, whose steps say more. No words are mixed.

Candidates are what the store's own search returns for a lesson, so the cost of one does not grow
with the store. Nothing is written here: `apply` says what to do, and who calls it does all of it in
one transaction.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Literal

from rlm.context import bullets
from rlm.learning.gates import REPEATS
from rlm.learning.kinds import COUNTED
from rlm.learning.lesson import FENCED, find_queries, shape_words
from rlm.retrieval.embed import Embedder
from rlm.retrieval.tokens import tokens
from rlm.store.backend import MemoryBackend
from rlm.store.document import item_text
from rlm.store.identity import normalize
from rlm.store.types import QUARANTINE_REASON, MemoryItem

THERE_ALREADY = "it is there already"
NEW = "nothing like it is there"
OTHER = "one of this title does something else, or is for something else"
TITLE_ALIKE = 0.7
SHARED_BESIDE_TITLE = 0.6
SHARED_WORDS, ALIKE_VECTORS = 0.7, 0.8
SHARED_WORDS_ALONE = 0.8
"""Of all words, where there is no embedder."""
SAME_TITLE_WORDS, SAME_TITLE_QUERY = 0.3, 0.5
CANDIDATES = 20
QUARANTINED = 200
"""Those in quarantine that one in quarantine is compared with: search does not find them."""
ASKED_CHARS = 500
TAGS = 32
MERGED_FROM = "merged_from"
_STOP = frozenset(
    tokens(
        "a an and are as at be by does do for from given how in into is it its of on or over that"
        " the their there these this through to what when where which who whose with"
    )
)
_CALL = re.compile(r"`[^`]+`|\$[A-Z]+_\d")

Kind = Literal["add", "merge", "skip", "replace"]


@dataclass(frozen=True, slots=True)
class Action:
    """What to do with a new memory; `merged` is what `target`, a stored one, becomes, or the new
    one that takes its place."""

    action: Kind
    target: MemoryItem | None = None
    why: str = ""
    merged: MemoryItem | None = None


@dataclass(slots=True)
class DedupPlan:
    """What a store is to do, all or nothing."""

    add: list[MemoryItem] = field(default_factory=list)
    update: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    archive: list[str] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    """One for each new item: memory_id, title, action, why."""


# -- whether two are one


def title_similarity(one: str, other: str) -> float:
    """From 0 to 1: the ratio of difflib over normalised titles."""
    return SequenceMatcher(None, normalize(one), normalize(other), autojunk=False).ratio()


def query_similarity(one: str, other: str) -> float | None:
    """From 0 to 1: the nearest two queries of two contents, 1 for the same but for its names; None
    when either has none."""
    first, second = (
        [shape_words(query.text) for query in find_queries(text)] for text in (one, other)
    )
    pairs = [(left, right) for left in first for right in second]
    return max((_dice(_pairs(left), _pairs(right)) for left, right in pairs), default=None)


def word_similarity(one: MemoryItem, other: MemoryItem) -> float:
    """From 0 to 1: Dice over the stems of all that two memories say beside their queries."""
    return _dice(Counter(stems_of(one)), Counter(stems_of(other)))


def is_same_lesson(one: MemoryItem, other: MemoryItem, embedder: Embedder | None = None) -> bool:
    """Whether two memories do the same, for the same, with the same outcome."""
    if _is_failure(one) != _is_failure(other) or not _same_place(one, other):
        return False
    queries = query_similarity(one.content, other.content)
    if queries == 1.0:
        return True
    if not _same_kind(one, other):
        return False
    words = word_similarity(one, other)
    if normalize(one.title) == normalize(other.title):
        return words >= SAME_TITLE_WORDS if queries is None else queries >= SAME_TITLE_QUERY
    if queries is not None or _differ_by_a_word(one, other):
        return False
    if title_similarity(one.title, other.title) >= TITLE_ALIKE and words >= SHARED_BESIDE_TITLE:
        return True
    if embedder is None:
        return words >= SHARED_WORDS_ALONE
    return words >= SHARED_WORDS and _cosine(one, other, embedder) >= ALIKE_VECTORS


def _pairs(words: Sequence[str]) -> Counter[tuple[str, str]]:
    return Counter(zip(["", *words], [*words, ""], strict=True))


def _dice(one: Counter[Any], other: Counter[Any]) -> float:
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def stems_of(item: MemoryItem) -> set[str]:
    """The stems of all that a memory says beside its queries."""
    text = f"{item.title}\n{item.description}\n{FENCED.sub('', item.content)}"
    return set(tokens(text)) - _STOP


def title_stems(item: MemoryItem) -> list[str]:
    """The stems of a title, each once, in order."""
    return [stem for stem in dict.fromkeys(tokens(item.title)) if stem not in _STOP]


def _differ_by_a_word(one: MemoryItem, other: MemoryItem) -> bool:
    """Whether each title says something that the other memory nowhere says, as domain and range, or
    the same in another order, as the parts of a supplier and the supplier of a part."""
    titles = [title_stems(item) for item in (one, other)]
    if set(titles[0]) - stems_of(other) and set(titles[1]) - stems_of(one):
        return True
    shared = [
        [stem for stem in title if stem in titles[0] and stem in titles[1]] for title in titles
    ]
    return shared[0] != shared[1]


def _cosine(one: MemoryItem, other: MemoryItem, embedder: Embedder) -> float:
    plain = [replace(item, content=FENCED.sub("", item.content)) for item in (one, other)]
    left, right = embedder.embed_documents([item_text(item) for item in plain])
    return float(left @ right)


def _is_failure(item: MemoryItem) -> bool:
    return item.outcome == "failure" or item.source_type == "failure"


def _same_place(one: MemoryItem, other: MemoryItem) -> bool:
    """Of the same ontology and trust; what is in quarantine meets only what is there too."""
    if (one.trust == "quarantined") != (other.trust == "quarantined"):
        return False
    return (one.scope.ontology or "").casefold() == (other.scope.ontology or "").casefold()


def _same_kind(one: MemoryItem, other: MemoryItem) -> bool:
    """Not for different kinds of task, as far as both say; nor counts of different things."""
    kinds, others = set(one.scope.task_types), set(other.scope.task_types)
    if kinds and others and not kinds & others:
        return False
    counted, counts = set(one.tags) & COUNTED, set(other.tags) & COUNTED
    return not (counted and counts) or counted == counts


# -- which of two survives


def quality(item: MemoryItem) -> tuple[bool, float, int]:
    """What makes one of two lessons the better: a query, how far it is believed, and how much its
    steps say (calls and placeholders, then a few words more or less do not count)."""
    steps = bullets(FENCED.sub("", item.content))
    calls = sum(len(_CALL.findall(step)) for step in steps)
    words = sum(len(step.split()) for step in steps)
    return bool(find_queries(item.content)), round(item.confidence or 0.0, 1), calls + words // 8


def decide(
    new: MemoryItem, existing: Iterable[MemoryItem], embedder: Embedder | None = None
) -> Action:
    """What to do with a new memory beside those that are there."""
    known = list(existing)
    same = next((old for old in known if old.memory_id == new.memory_id), None)
    if same is not None:
        archived = " and was archived" if same.archived_at else ""
        return Action("skip", same, THERE_ALREADY + archived)
    if new.quarantine_reason == REPEATS:
        return Action("skip", None, REPEATS)
    live = [old for old in known if not old.archived_at]
    live.sort(key=lambda old: (-title_similarity(new.title, old.title), old.memory_id))
    for old in live:
        if is_same_lesson(new, old, embedder):
            return _against(new, old)
    for old in live:
        if _overcomes(new, old):
            return Action("replace", old, "a success takes the place of a failure", new)
    if any(normalize(old.title) == normalize(new.title) for old in live):
        return Action("add", None, OTHER)
    return Action("add", None, NEW)


def _overcomes(new: MemoryItem, old: MemoryItem) -> bool:
    """Whether a success is about what an own failure says to avoid."""
    if _is_failure(new) or not _is_failure(old) or new.trust == "quarantined":
        return False
    alike = title_similarity(new.title, old.title) >= TITLE_ALIKE
    return alike and is_own(new, old) and _same_place(new, old) and _same_kind(new, old)


def is_own(new: MemoryItem, old: MemoryItem) -> bool:
    """Whether a run may change it: not what a person or a pack says, nor what others share."""
    return not is_vouched_for(old) and old.level == new.level


def is_vouched_for(item: MemoryItem) -> bool:
    """Whether a person or a pack says it, or somebody trusted it."""
    return item.source_type in ("human", "pack") or item.trust == "trusted"


def _against(new: MemoryItem, old: MemoryItem) -> Action:
    """What is done with a new lesson where one is there already."""
    if new.trust == "quarantined":
        return Action("skip", old, "one like it is in quarantine already")
    if not is_own(new, old):
        shared = old.level if old.level != new.level else "a person or a pack"
        return Action("skip", old, f"one of {shared} says the same")
    has_query = quality(new)[0] and not quality(old)[0]
    if old.access_count > 0 and new.access_count == 0 and not has_query:
        return Action("skip", old, "one that is in use says the same")
    if quality(new) > quality(old):
        return Action("replace", old, "it says the same, and more", merge(new, old))
    return Action("merge", old, "one says the same", merge(old, new))


def merge(better: MemoryItem, other: MemoryItem) -> MemoryItem:
    """The better memory whole, with the tags and the sources of the other."""
    return replace(
        better,
        tags=list(dict.fromkeys([*better.tags, *other.tags]))[:TAGS],
        provenance=_both(better, other),
        confidence=max(better.confidence or 0.0, other.confidence or 0.0),
    )


def _both(better: MemoryItem, other: MemoryItem) -> dict[str, Any]:
    """A memory's provenance, with the run of the other."""
    before = better.provenance.get(MERGED_FROM)
    known = [part for part in before if isinstance(part, str)] if isinstance(before, list) else []
    source = str(other.provenance.get("trajectory_id") or other.memory_id)
    return {**better.provenance, MERGED_FROM: list(dict.fromkeys([*known, source]))[-20:]}


# -- all of a run


def apply(
    store: MemoryBackend, items: Sequence[MemoryItem], used: Collection[str] = ()
) -> DedupPlan:
    """The plan for these items beside a store and beside one another. Writes nothing. `used` are
    ids that a run has just been given, whether or not the store has counted it yet."""
    plan = DedupPlan()
    changed: dict[str, MemoryItem] = {}
    for item in items:
        known = {old.memory_id: old for old in find_candidates(store, item)}
        for memory_id in known.keys() & used:
            known[memory_id] = replace(
                known[memory_id], access_count=max(1, known[memory_id].access_count)
            )
        known |= {old.memory_id: old for old in plan.add} | changed
        for gone in plan.archive:
            known.pop(gone, None)
        _note(plan, changed, item, decide(item, known.values(), store.embedder))
    return plan


def _note(plan: DedupPlan, changed: dict[str, MemoryItem], item: MemoryItem, found: Action) -> None:
    memory_id = item.memory_id
    target, merged = found.target, found.merged
    if found.action == "add":
        plan.add.append(item)
    elif target is not None and merged is not None and target in plan.add:
        plan.add[plan.add.index(target)] = merged
        memory_id = merged.memory_id
    elif target is not None and merged is not None and found.action == "replace":
        plan.add.append(merged)
        plan.archive.append(target.memory_id)
    elif target is not None:
        memory_id = target.memory_id
        if merged is not None and memory_id not in changed:
            plan.update.append((memory_id, _changes(target, merged)))
            changed[memory_id] = merged
    plan.outcomes.append(
        {
            "memory_id": memory_id,
            "title": item.title,
            "action": found.action,
            "why": found.why,
        }
        | ({QUARANTINE_REASON: item.quarantine_reason} if item.trust == "quarantined" else {})
    )


def _changes(old: MemoryItem, new: MemoryItem) -> dict[str, Any]:
    names = ("tags", "provenance")
    return {name: getattr(new, name) for name in names if getattr(new, name) != getattr(old, name)}


def find_candidates(
    store: MemoryBackend, item: MemoryItem, count: int = CANDIDATES
) -> list[MemoryItem]:
    """The memories that an item could be one with: what search finds for its words."""
    if item.trust == "quarantined":
        found = store.list_items(trust="quarantined", limit=QUARANTINED)
    else:
        queries = " ".join(query.text for query in find_queries(item.content))
        text = f"{item.title} {item.description} {queries or item.content}"[:ASKED_CHARS]
        found = [hit.item for hit in store.retrieve(text, count, count_access=False)]
    same = store.get(item.memory_id)
    return found if same is None else [*found, same]
