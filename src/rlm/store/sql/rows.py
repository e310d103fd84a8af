"""Memories as rows of `memory_items`, and back; an error names the damaged column.

SQLite stores anything in any column, so nothing that was read is taken for what it must be.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from operator import attrgetter
from typing import Any

from orjson import loads as _loads

from rlm.clock import parse_iso
from rlm.errors import StoreCorrupt
from rlm.retrieval.recall import Document
from rlm.store.identity import canonical_json
from rlm.store.sql.database import damaged_row, kind_of
from rlm.store.types import LEVELS, MemoryItem, Scope

COLUMNS = (
    "memory_id, title, description, content, source_type, task_query, created_at, tags_json,"
    " scope_json, provenance_json, access_count, success_count, failure_count, outcome, confidence,"
    " last_used, org, team, project, level, source_session, trust, origin, archived_at"
)
NAMES = tuple(COLUMNS.split(", "))
_PLACE = {name: place for place, name in enumerate(NAMES)}


_NUMBERS = {"access_count": int, "success_count": int, "failure_count": int, "confidence": float}
_MAY_LACK = ("task_query", "last_used", "source_session", "archived_at")
_KINDS = tuple(
    (_NUMBERS.get(name, str), *((type(None),) if name in _MAY_LACK else ())) for name in NAMES
)
_SHAPES = frozenset(product(*_KINDS))
"""The types that the columns of a sound row can have, of all columns at once: one look-up a row."""
_JSON = {"tags_json": list, "scope_json": dict, "provenance_json": dict}


def has_right_types(row: Sequence[Any]) -> bool:
    """Whether each value of `COLUMNS` is text, a number or nothing, as it must be."""
    return tuple(map(type, row)) in _SHAPES


def fault(row: Sequence[Any]) -> tuple[str, str] | None:
    """The first of `COLUMNS` that cannot be read, and why; None if all can."""
    for name, value, kinds in zip(NAMES, row, _KINDS, strict=True):
        if type(value) not in kinds:
            return name, f"it is {kind_of(value)}"
    for name, kind in _JSON.items():
        text = row[NAMES.index(name)]
        try:
            value = json.loads(text)
            if name == "scope_json" and type(value) is dict:
                Scope.from_dict(value)
        except (ValueError, TypeError, RecursionError) as exc:
            return name, f"{text[:40]!r}: {exc or type(exc).__name__}"
        if type(value) is not kind or (
            kind is list and not all(type(part) is str for part in value)
        ):
            return name, f"{text[:40]!r} is no {'list of texts' if kind is list else 'object'}"
    return None


def from_row(row: Sequence[Any]) -> MemoryItem:
    """A memory from the values of `COLUMNS`. StoreCorrupt names a damaged column."""
    try:
        if has_right_types(row):
            return _from_row(row)
    except (ValueError, TypeError, AttributeError, RecursionError) as exc:
        raise _damage_error(row) from exc
    raise _damage_error(row)


def _damage_error(row: Sequence[Any]) -> StoreCorrupt:
    column, what = fault(row) or ("a column", "it cannot be read")
    return damaged_row("memory_items", f"memory {str(row[0])[:40]}", column, what)


def _from_row(row: Sequence[Any]) -> MemoryItem:
    fields = dict(zip(NAMES, row, strict=True))
    tags, stated = _loads(fields.pop("tags_json")), _loads(fields.pop("provenance_json"))
    if type(tags) is not list or type(stated) is not dict or not all(type(t) is str for t in tags):
        raise TypeError("valid JSON, but of another kind")
    scope = Scope.from_dict(_loads(fields.pop("scope_json")))
    session = fields.pop("source_session")
    return MemoryItem(**fields, tags=tags, provenance=stated, scope=scope, session_id=session)


@lru_cache(maxsize=256)
def _scope_json(scope: Scope) -> str:
    return canonical_json(scope.to_dict())


_ATTRIBUTES = attrgetter(
    *({"source_session": "session_id", "tags_json": "tags", "scope_json": "scope",
       "provenance_json": "provenance"}.get(name, name) for name in NAMES)
)  # fmt: skip


def to_row(item: MemoryItem, tags_json: str) -> tuple[Any, ...]:
    """The values of `COLUMNS` for a memory that has passed the gate."""
    row = list(_ATTRIBUTES(item))
    row[_PLACE["tags_json"]] = tags_json
    row[_PLACE["scope_json"]] = _scope_json(item.scope)
    row[_PLACE["provenance_json"]] = canonical_json(item.provenance)
    return tuple(row)


_WORDS = [_PLACE[name] for name in ("title", "description", "tags_json")]
_TASK, _CONTENT = _PLACE["task_query"], _PLACE["content"]
_CONFIDENCE, _LAST_USED, _LEVEL = map(_PLACE.__getitem__, ("confidence", "last_used", "level"))


def to_document(
    number: int, row: Sequence[Any], extra: Sequence[Any], vector: bytes | None
) -> Document:
    """What recall needs of a memory: `extra` are its scope's words and its grams."""
    if not has_right_types(row) or row[_LEVEL] not in LEVELS:
        raise _damage_error(row)
    for name, text in zip(("scope_words", "grams"), extra, strict=True):
        if type(text) is not str:
            raise damaged_row("memory_items", f"memory {row[0]}", name, f"it is {kind_of(text)}")
    if (used := row[_LAST_USED]) is not None:
        try:
            parse_iso(used)
        except ValueError as exc:
            raise damaged_row("memory_items", f"memory {row[0]}", "last_used", str(exc)) from exc
    scope_words, grams = extra
    title, description, tags = (row[place] for place in _WORDS)
    columns = (title, description, tags, scope_words, row[_TASK] or "", row[_CONTENT], grams)
    return Document(number, row[0], columns, vector, row[_CONFIDENCE], used, row[_LEVEL], row)


def scope_of(row: Sequence[Any]) -> Scope:
    """The scope of a row of `COLUMNS`. StoreCorrupt where it cannot be read."""
    try:
        return Scope.from_dict(json.loads(row[_PLACE["scope_json"]]))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as exc:
        raise _damage_error(row) from exc
