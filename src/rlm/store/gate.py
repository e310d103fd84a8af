"""The one gate that every write passes: validate, clean, scrub, stamp.

Nothing reaches a store but through `admit_item`, `admit_items`, `admit_node`, `admit_edge` or
`values.admit_text`, and what belongs to a run through `records.admit_artifacts` and `admit_usage`.
The order is fixed: clean the text (SPEC-02.34), scrub secrets, check every bound, compute the id
from what is left, then stamp origin, trust, outcome and confidence. So an id never depends on a
secret, and a rejected value never touches a file. Dedup by id is the store's own last step.

The gate knows no database and keeps no state.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rlm.errors import NotFound, ValidationError
from rlm.store.graph import Member
from rlm.store.identity import memory_id as stable_id
from rlm.store.identity import normalize_scope
from rlm.store.sanitize import clean_text, clean_value
from rlm.store.secrets import scrub, scrub_value
from rlm.store.types import (
    DEFAULT_SCOPE,
    EDGE_TYPES,
    ITEM_FIELDS,
    LEVELS,
    NODE_TYPES,
    OUTCOMES,
    QUARANTINE_REASON,
    ROLES,
    SOURCE_TYPES,
    TIERS,
    TRUSTS,
    MemoryItem,
    Scope,
    Tenant,
    alias_of,
)
from rlm.store.values import (
    admit_id,
    admit_line,
    admit_object,
    admit_text,
    admit_time,
    check_count,
    check_many,
    check_text,
    choice,
    is_clean,
    natural,
    show,
    unit,
)

TITLE_WORDS = 10
TITLE_CHARS = 200
DESCRIPTION_CHARS = 2_000
CONTENT_CHARS = 100_000
TASK_CHARS = 20_000
TAG_COUNT = 32
TAG_CHARS = 64
NODE_CHARS = 1_000_000
MEMBER_COUNT = 100_000
SCOPES_KEPT = 256

START_CONFIDENCE = {"human": 0.8, "success": 0.6, "pack": 0.6, "failure": 0.5}
"""Seed 003: recorded by a person 0.8, distilled 0.6, from failure 0.5."""

RECALLED_HEADING = "## Relevant Prior Experience"
"""What the prompt says above recalled memories. Text under it is a memory already."""


def admit_item(item: MemoryItem, tenant: Tenant, *, origin: str) -> MemoryItem:
    """A checked and stamped copy of `item`, ready to store. ValidationError; changes nothing."""
    if not isinstance(item, MemoryItem):
        raise ValidationError(f"expected a MemoryItem, got {type(item).__name__}")
    title, description, content, task, tags = _item_texts(item)
    _check_title(title)
    content = _trim(content)
    if not content:
        raise ValidationError("content is empty: write the steps to take", field="content")
    source_type = choice(item.source_type, SOURCE_TYPES, "source_type")
    level = choice(item.level, LEVELS, "level")
    provenance = admit_object(item.provenance, "provenance") if item.provenance else {}
    trust, reason = _trust(item, source_type, content)
    if reason:
        provenance[QUARANTINE_REASON] = reason
    scope, scope_in_id = _scope(item.scope)
    for name in ("access_count", "success_count", "failure_count"):
        natural(getattr(item, name), name)
    implied = "failure" if source_type == "failure" else "success"
    org, team, project = tenant.at_level(level)
    made = replace(
        item,
        title=title,
        description=description or first_sentence(content),
        content=content,
        source_type=source_type,
        task_query=task if task.strip() else None,
        tags=tags,
        scope=scope,
        provenance=provenance,
        outcome=choice(item.outcome or implied, OUTCOMES, "outcome"),
        confidence=(
            START_CONFIDENCE[source_type] if item.confidence is None else unit(item.confidence)
        ),
        level=level,
        created_at=admit_time(item.created_at, "created_at"),
        memory_id=stable_id(title, content, scope_in_id),
        session_id=admit_line(item.session_id, "session_id", 200) if item.session_id else None,
        last_used=admit_time(item.last_used, "last_used") if item.last_used else None,
        trust=trust,
        origin=admit_line(item.origin, "origin", 200) if item.origin else origin,
        org=org,
        team=team,
        project=project,
        archived_at=None,
    )
    made.id = alias_of(provenance) or made.memory_id
    return made


def admit_items(
    items: Iterable[MemoryItem], tenant: Tenant, *, origin: str
) -> Iterator[MemoryItem]:
    """The same for many, in order. Raises at the first that is refused."""
    for item in check_many(items, "memories", "MemoryItem"):
        yield admit_item(item, tenant, origin=origin)


def _item_texts(item: MemoryItem) -> tuple[str, str, str, str, list[str]]:
    """Title, description, content, task and tags, admitted; all but content on one line."""
    parts = (item.title, item.description, item.content, item.task_query or "")
    for value, name, limit in zip(parts, _TEXT_NAMES, _TEXT_LIMITS, strict=True):
        check_text(value, name, limit)
    tags = _check_tags(item.tags)
    title, description, content, task = parts
    if not is_clean("\n".join((*parts, *tags))):  # rare: only then is each looked at by itself
        title, description, content, task = (
            admit_text(part, name, limit)
            for part, name, limit in zip(parts, _TEXT_NAMES, _TEXT_LIMITS, strict=True)
        )
        tags = [scrub(clean_text(tag))[0] for tag in tags]
    tags = list(dict.fromkeys(tidy for tag in tags if (tidy := " ".join(tag.split()))))
    return " ".join(title.split()), " ".join(description.split()), content, task, tags


_TEXT_NAMES = ("title", "description", "content", "task_query")
_TEXT_LIMITS = (CONTENT_CHARS, DESCRIPTION_CHARS, CONTENT_CHARS, TASK_CHARS)


def _check_title(title: str) -> None:
    if not title:
        raise ValidationError("title is empty: give it up to 10 words", field="title")
    count = title.count(" ") + 1
    if count > TITLE_WORDS:
        why = f"title has {count} words, at most {TITLE_WORDS}: {title[:60]!r}…"
        raise ValidationError(f"{why}; move the rest to the description", field="title")
    if len(title) > TITLE_CHARS:
        why = f"title has {len(title)} characters, at most {TITLE_CHARS}"
        raise ValidationError(why, field="title")


FIXED_FIELDS = frozenset(
    {"memory_id", "org", "team", "project", "level", "created_at", "archived_at", "origin"}
)
"""What `update` may not change: identity, owner and history."""


def amend_item(old: MemoryItem, changes: Mapping[str, Any], tenant: Tenant) -> MemoryItem:
    """A checked copy of a stored memory with some fields changed. New words give it a new id."""
    for name in changes:
        if name not in ITEM_FIELDS or name in FIXED_FIELDS:
            allowed = ", ".join(n for n in ITEM_FIELDS if n not in FIXED_FIELDS)
            raise ValidationError(f"{name!r} cannot be changed; these can: {allowed}", field=name)
    values = dict(changes)
    if isinstance(values.get("scope"), Mapping):
        values["scope"] = Scope.from_dict(values["scope"])
    new = admit_item(replace(old, **values), tenant, origin=old.origin or "python")
    if new.memory_id != old.memory_id:
        new.provenance["edited_from"] = old.memory_id
    return replace(new, archived_at=old.archived_at)


def no_memory(memory_id: str) -> NotFound:
    """The error for an id that this tenant does not have."""
    return NotFound(f"no memory {memory_id!r} here: `rlm memory list` shows what there is")


def check_tenant(tenant: Any) -> Tenant:
    """A store is opened for a `Tenant`, nothing else."""
    if not isinstance(tenant, Tenant):
        why = f"tenant is {show(tenant)}: use Tenant(org, team, project)"
        raise ValidationError(why, field="tenant")
    for name in ("org", "team", "project"):
        admit_id(getattr(tenant, name), f"tenant {name}")
    return tenant


def check_retrieve(task: Any, outcome: str | None, k: Any = 0) -> None:
    """The arguments of `retrieve`: any text, an outcome that exists, and how many."""
    check_count(k, "k")
    if not isinstance(task, str):
        raise ValidationError(f"task is {type(task).__name__}, expected text", field="task")
    if outcome is not None:
        choice(outcome, OUTCOMES, "outcome")


def _trust(item: MemoryItem, source_type: str, content: str) -> tuple[str, str | None]:
    """Trust, and why the gate itself quarantines. A caller may lower it, a person raise it."""
    if RECALLED_HEADING in content:
        return "quarantined", "holds text that was recalled from memory"
    if item.trust is not None:
        return choice(item.trust, TRUSTS, "trust"), None
    return ("trusted" if source_type == "human" else "unverified"), None


_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


def _trim(content: str) -> str:
    """Without blank lines at either end; the indentation of the first line stays."""
    return _BLANK_LINES.sub("", content).rstrip()


def admit_node(kind: str, content: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Checked columns of a new or changed node; only the keys that were given."""
    known = {"subtype", "tier", "confidence", "provenance", "metadata", "type", "content"}
    for key in values:
        if key not in known:
            why = f"unknown node field {key!r}; known: {', '.join(sorted(known))}"
            raise ValidationError(why, field=key)
    row: dict[str, Any] = {"type": choice(kind, NODE_TYPES, "node type")}
    row["content"] = _trim(admit_text(content, "content", NODE_CHARS))
    if not row["content"]:
        raise ValidationError("node content is empty", field="content")
    if "tier" in values:
        row["tier"] = choice(values["tier"], TIERS, "tier")
    if "confidence" in values:
        row["confidence"] = unit(values["confidence"])
    for name in ("subtype", "provenance"):
        if name in values:
            row[name] = None if values[name] is None else admit_text(values[name], name, TASK_CHARS)
    if "metadata" in values:
        row["metadata"] = admit_object(values["metadata"], "metadata")
    return row


def admit_edge(
    kind: str, label: str | None, weight: float, members: Sequence[Any]
) -> tuple[str, str | None, float, tuple[Member, ...]]:
    """Checked parts of a hyperedge, as `Edge` orders them. Which nodes exist the store knows."""
    choice(kind, EDGE_TYPES, "edge type")
    clean_label = None if label is None else admit_line(label, "label", TASK_CHARS)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < 1e300:
        why = f"edge weight is {show(weight)}: use a number from 0 up"
        raise ValidationError(why, field="weight")
    if not members:
        raise ValidationError("an edge needs at least one member", field="members")
    if len(members) > MEMBER_COUNT:
        why = f"an edge of {len(members)} members; at most {MEMBER_COUNT}"
        raise ValidationError(why, field="members")
    checked = tuple(_member(m, i) for i, m in enumerate(members))
    seen: set[tuple[str, str]] = set()
    for member in checked:
        if (member.node_id, member.role) in seen:
            why = f"node {member.node_id} is twice in the role {member.role!r} of one edge"
            raise ValidationError(why, field="members")
        seen.add((member.node_id, member.role))
    return kind, clean_label, float(weight), checked


def _member(value: Any, index: int) -> Member:
    if isinstance(value, Member):
        value = {"node_id": value.node_id, "role": value.role, "position": value.position}
    if not isinstance(value, Mapping) or not isinstance(value.get("node_id"), str):
        why = f"member {index} is {show(value)}: use {{'node_id': …, 'role': …, 'position': …}}"
        raise ValidationError(why, field="members")
    for key in value:
        if key not in ("node_id", "role", "position"):
            why = f"member {index} has the unknown key {show(key)}"
            raise ValidationError(why, field="members")
    position = value.get("position", index)
    if isinstance(position, bool) or not isinstance(position, int) or abs(position) >= 2**63:
        why = f"member {index} has position {show(position)}: use an integer"
        raise ValidationError(why, field="members")
    role = choice(value.get("role", "participant"), ROLES, "role")
    return Member(value["node_id"], role, position)


def first_sentence(text: str, limit: int = 160) -> str:
    """A description for a memory that came without one: its first line, cut at a word."""
    first = next((part for part in text.splitlines() if part.strip()), "")
    line = " ".join(first.split()).strip(" -*#>")
    if len(line) <= limit:
        return line
    return line[:limit].rsplit(" ", 1)[0] + "…"


def _check_tags(tags: Any) -> list[str]:
    if not tags:
        return []
    if type(tags) is not list and (isinstance(tags, str) or not isinstance(tags, Sequence)):
        raise ValidationError(f"tags is {show(tags)}: use a list of text", field="tags")
    if len(tags) > TAG_COUNT:
        raise ValidationError(f"{len(tags)} tags, at most {TAG_COUNT}", field="tags")
    for tag in tags:
        if not isinstance(tag, str):
            why = f"tag {show(tag)}: use text of at most {TAG_CHARS} characters"
            raise ValidationError(why, field="tags")
        if len(tag) > TAG_CHARS:  # of a tag that held a secret less is shown than was given
            why = f"tag {show(tag)} has {len(tag):,} characters, at most {TAG_CHARS}"
            raise ValidationError(why, field="tags")
    return list(tags)


def _scope(scope: Any) -> tuple[Scope, str]:
    """A scope as stored, and as it stands in an id. Most memories share theirs."""
    if not isinstance(scope, Scope):
        raise ValidationError(f"scope is {show(scope)}: use a Scope", field="scope")
    if type(scope.transferable) is not bool:
        raise _odd_scope()
    # The cache takes nothing that defines equality by itself.
    if type(scope) is Scope and type(scope.task_types) is type(scope.tools) is tuple:
        with suppress(TypeError):  # something in it is no key
            return _known_scope(scope)
    return _check_scope(scope)


def _check_scope(scope: Scope) -> tuple[Scope, str]:
    lists = (scope.task_types, scope.tools)
    if not all(isinstance(names, tuple | list) for names in lists):
        raise _odd_scope()
    parts = ("" if scope.ontology is None else scope.ontology, *scope.task_types, *scope.tools)
    if not all(isinstance(part, str) for part in parts):
        raise ValidationError(f"scope is {show(parts)}: use text", field="scope")
    if sum(map(len, parts)) > TASK_CHARS:
        raise ValidationError("scope is too large", field="scope")
    kept = Scope(scope.ontology, tuple(scope.task_types), tuple(scope.tools), scope.transferable)
    if not is_clean("\n".join(parts)):
        value, _ = scrub_value(clean_value(kept.to_dict()))
        kept = Scope.from_dict(value)
    return DEFAULT_SCOPE if kept == DEFAULT_SCOPE else kept, normalize_scope(kept.to_dict())


_known_scope = lru_cache(maxsize=SCOPES_KEPT)(_check_scope)


def _odd_scope() -> ValidationError:
    why = "scope: task_types and tools are lists, transferable is true or false"
    return ValidationError(why, field="scope")
