"""Whether a lesson is new: add, merge, skip or replace (PM-12).

Two memories are about the same when they are for the same kinds of questions and the same ontology,
and their titles are alike: the ratio of `difflib.SequenceMatcher` over the normalised titles is at
least 0.7. To merge or to skip, what they say must be alike too: the same query where both have one,
and half of their words in common (Dice). Nothing is written here: `plan` says what to do, and who
calls it does all of it in one transaction.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any, Literal

from rlm.context import STEPS, bullets, is_shown_whole, list_steps
from rlm.learning.gates import REPEATS
from rlm.learning.kinds import COUNTED
from rlm.store.backend import MemoryBackend
from rlm.store.identity import normalize
from rlm.store.types import MemoryItem

THERE_ALREADY = "it is there already"
TITLE_ALIKE = 0.7
CONTENT_ALIKE = 0.5
LOOKED_AT = 500
"""Stored memories that a new one is compared with: the newest of its kind."""
TAGS = 32
_QUERY = re.compile(r"sparql_query\(\"(.*?)\"\s*[,)]")
_WORD = re.compile(r"[\w$]+")

Kind = Literal["add", "merge", "skip", "replace"]


@dataclass(frozen=True, slots=True)
class Action:
    """What to do with a new memory; `merged` is what `target`, a stored one, becomes. To add with a
    target: both have the same words for different calls, and the new one is to say so."""

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


def title_similarity(one: str, other: str) -> float:
    """From 0 to 1: the ratio of difflib over normalised titles."""
    return SequenceMatcher(None, normalize(one), normalize(other), autojunk=False).ratio()


def content_similarity(one: str, other: str) -> float:
    """From 0 to 1: Dice over the sets of words; 0 when both hold a query and none is the same."""
    queries = [{normalize(query) for query in _QUERY.findall(text)} for text in (one, other)]
    if all(queries) and not queries[0] & queries[1]:
        return 0.0
    words = [set(_WORD.findall(normalize(text))) for text in (one, other)]
    total = len(words[0]) + len(words[1])
    return 2 * len(words[0] & words[1]) / total if total else 1.0


def decide(new: MemoryItem, existing: Iterable[MemoryItem]) -> Action:
    """What to do with a new memory beside those that are there."""
    known = list(existing)
    same = next((old for old in known if old.memory_id == new.memory_id), None)
    if same is not None:
        archived = " and was archived" if same.archived_at else ""
        return Action("skip", same, THERE_ALREADY + archived)
    if new.quarantine_reason == REPEATS:
        return Action("skip", None, REPEATS)
    near = [old for old in known if not old.archived_at and _comparable(new, old)]
    near.sort(key=lambda old: (-title_similarity(new.title, old.title), old.memory_id))
    for old in near:
        found = _against(new, old)
        if found is not None:
            return found
    words = normalize(new.title), normalize(new.description)
    twin = next(
        (old for old in near if (normalize(old.title), normalize(old.description)) == words), None
    )
    return Action("add", twin, "one does it by other calls" if twin else "nothing like it is there")


def _distinguish(new: MemoryItem, old: MemoryItem) -> MemoryItem:
    """The new one with a description that says which other it is not; its id stays."""
    return replace(
        new, description=f"{new.description.rstrip('. ')}; other calls than {old.memory_id[:8]}."
    )


def _comparable(new: MemoryItem, old: MemoryItem) -> bool:
    """Of the same kind, ontology and trust; what is in quarantine meets only what is there too."""
    if (new.trust == "quarantined") != (old.trust == "quarantined"):
        return False
    if set(new.scope.task_types) != set(old.scope.task_types):
        return False
    if (new.scope.ontology or "").casefold() != (old.scope.ontology or "").casefold():
        return False
    if set(new.tags) & COUNTED != set(old.tags) & COUNTED:
        return False
    return title_similarity(new.title, old.title) >= TITLE_ALIKE


def _against(new: MemoryItem, old: MemoryItem) -> Action | None:
    """What a memory about the same means for a new one; None when both can stand."""
    if new.trust == "quarantined":
        return Action("skip", old, "one like it is in quarantine already")
    of_a_person = old.source_type in ("human", "pack") or old.trust == "trusted"
    of_others = old.level != new.level  # one project does not rewrite what a team or org shares
    if not _is_failure(new) and _is_failure(old):
        kept = of_a_person or of_others
        return None if kept else Action("replace", old, "a success takes the place of a failure")
    if _is_failure(new) != _is_failure(old):
        return None
    if content_similarity(new.content, old.content) < CONTENT_ALIKE:
        return None
    if of_a_person:
        return Action("skip", old, "a person or a pack says the same")
    if of_others:
        return Action("skip", old, f"one of the {old.level} says the same")
    if old.access_count > 0 and new.access_count == 0:
        return Action("skip", old, "one that is in use says the same")
    return Action("merge", old, "one says nearly the same", merge(old, new))


def _is_failure(item: MemoryItem) -> bool:
    return item.outcome == "failure" or item.source_type == "failure"


def merge(old: MemoryItem, new: MemoryItem) -> MemoryItem:
    """The old memory with the steps that a prompt has room for, tags and sources of the new."""
    steps = bullets(old.content)[:STEPS]
    content = old.content
    seen = {normalize(step) for step in steps}
    calls = set(_QUERY.findall(old.content))
    for step in bullets(new.content)[:STEPS]:
        if normalize(step) in seen or len(steps) >= STEPS or (calls and _QUERY.search(step)):
            continue
        longer = list_steps([*steps, step])
        if is_shown_whole(replace(old, content=longer)):
            steps, content = [*steps, step], longer
            seen.add(normalize(step))
    tags = list(dict.fromkeys([*old.tags, *new.tags]))[:TAGS]
    tools = tuple(dict.fromkeys([*old.scope.tools, *new.scope.tools]))
    scope = replace(old.scope, tools=tools) if content != old.content else old.scope
    merged = replace(old, content=content, tags=tags, scope=scope, provenance=_both(old, new))
    merged.rekey()
    return merged


def _both(old: MemoryItem, new: MemoryItem) -> dict[str, Any]:
    """The older one's provenance, with the runs of the others under `merged_from`."""
    before = old.provenance.get("merged_from")
    known = [part for part in before if isinstance(part, str)] if isinstance(before, list) else []
    source = new.provenance.get("trajectory_id") or new.memory_id
    return {**old.provenance, "merged_from": list(dict.fromkeys([*known, str(source)]))[-20:]}


# -- all of a run


def apply(
    store: MemoryBackend, items: Sequence[MemoryItem], used: Collection[str] = ()
) -> DedupPlan:
    """The plan for these items beside a store and beside one another. Writes nothing. `used` are
    ids that a run has just been given, whether or not the store has counted it yet."""
    plan = DedupPlan()
    changed: dict[str, MemoryItem] = {}
    for item in items:
        known = {old.memory_id: old for old in _find_candidates(store, item)}
        for memory_id in known.keys() & used:
            known[memory_id] = replace(
                known[memory_id], access_count=max(1, known[memory_id].access_count)
            )
        known |= {old.memory_id: old for old in plan.add} | changed
        for gone in plan.archive:
            known.pop(gone, None)
        _note(plan, changed, item, decide(item, known.values()))
    return plan


def _note(plan: DedupPlan, changed: dict[str, MemoryItem], item: MemoryItem, found: Action) -> None:
    memory_id = item.memory_id
    target = found.target
    if found.action == "add":
        plan.add.append(item if found.target is None else _distinguish(item, found.target))
    elif target is not None and found.action == "replace":
        plan.add.append(item)
        if target in plan.add:
            plan.add.remove(target)
        else:
            plan.archive.append(target.memory_id)
    elif target is not None and found.action == "merge" and found.merged is not None:
        merged = found.merged
        memory_id = merged.memory_id
        if target in plan.add:
            plan.add[plan.add.index(target)] = merged
        elif target.memory_id not in changed:
            plan.update.append((target.memory_id, _changes(target, merged)))
            changed[target.memory_id] = replace(merged, memory_id=target.memory_id)
    elif target is not None:
        memory_id = target.memory_id
    plan.outcomes.append(
        {"memory_id": memory_id, "title": item.title, "action": found.action, "why": found.why}
    )


def _changes(old: MemoryItem, new: MemoryItem) -> dict[str, Any]:
    names = ("content", "tags", "scope", "provenance")
    return {name: getattr(new, name) for name in names if getattr(new, name) != getattr(old, name)}


def _find_candidates(store: MemoryBackend, item: MemoryItem) -> list[MemoryItem]:
    """The memories that an item could be like. Of those with a kind, the ones with its tag."""
    tag = item.tags[0] if item.tags and item.scope.task_types else None
    found = store.list_items(tag=tag, limit=LOOKED_AT)
    same = store.get(item.memory_id)
    return found if same is None else [*found, same]
