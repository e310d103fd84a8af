"""Memories as rows of `memory_items`, and back; an error names the damaged column.

SQLite stores anything in any column, so nothing that was read is taken for what it must be.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter, itemgetter
from typing import Any

from rlm.clock import parse_iso
from rlm.errors import StoreCorrupt, ValidationError
from rlm.retrieval.recall import Document
from rlm.store.identity import canonical_json
from rlm.store.sql.database import check_types, damaged_row, read_json
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
_KINDS = {
    name: (_NUMBERS.get(name, str), *((type(None),) if name in _MAY_LACK else ())) for name in NAMES
}


def damaged_memory(row: Sequence[Any], column: str, what: str) -> StoreCorrupt:
    """The error of a memory that cannot be read."""
    return damaged_row("memory_items", _row_name(row), column, what)


def _row_name(row: Sequence[Any]) -> str:
    return f"memory {str(row[0])[:40]}"


def _json_of(row: Sequence[Any], column: str, kind: type) -> Any:
    return read_json("memory_items", _row_name(row), column, row[_PLACE[column]], kind)


def from_row(row: Sequence[Any]) -> MemoryItem:
    """A memory from the values of `COLUMNS`. StoreCorrupt names a damaged column."""
    check_types("memory_items", _row_name(row), _KINDS, row)
    tags = _json_of(row, "tags_json", list)
    if not all(type(tag) is str for tag in tags):
        raise damaged_memory(row, "tags_json", "it is no list of texts")
    stated, scope = _json_of(row, "provenance_json", dict), scope_of(row)
    fields = dict(zip(NAMES, row, strict=True))
    for name in ("tags_json", "provenance_json", "scope_json"):
        del fields[name]
    session = fields.pop("source_session")
    return MemoryItem(**fields, tags=tags, provenance=stated, scope=scope, session_id=session)


def scope_of(row: Sequence[Any]) -> Scope:
    """The scope of a row of `COLUMNS`. StoreCorrupt where it cannot be read."""
    try:
        return Scope.from_dict(_json_of(row, "scope_json", dict))
    except ValidationError as exc:
        raise damaged_memory(row, "scope_json", str(exc)) from exc


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


_RECALLED = (
    "memory_id", "title", "description", "tags_json", "task_query", "content", "confidence",
    "last_used", "level",
)  # fmt: skip
_pick_recalled = itemgetter(*(_PLACE[name] for name in _RECALLED))
_DOCUMENT_KINDS = {name: _KINDS.get(name, (str,)) for name in (*_RECALLED, "scope_words", "grams")}


def to_document(
    number: int, row: Sequence[Any], extra: Sequence[Any], vector: bytes | None
) -> Document:
    """What recall needs of a memory: `extra` are its scope's words and its grams."""
    recalled = (*_pick_recalled(row), *extra)
    check_types("memory_items", _row_name(row), _DOCUMENT_KINDS, recalled)
    id_, title, description, tags, task, content, confidence, used, level, scope_words, grams = (
        recalled
    )
    if level not in LEVELS:
        raise damaged_memory(row, "level", f"{level!r} is none")
    if used is not None:
        try:
            parse_iso(used)
        except ValueError as exc:
            raise damaged_memory(row, "last_used", str(exc)) from exc
    columns = (title, description, tags, scope_words, task or "", content, grams)
    return Document(number, id_, columns, vector, confidence, used, level, row)
