"""What the rows of a JSON store may hold, checked on reading: people edit such files.

The gate checks what comes in, and SQLite's schema what is there. This is the latter for JSON: the
type and the range of every field. Texts are not cleaned again, so a file costs little to open and
is not changed by it. Every refusal is a ValidationError that begins with the row: `memories[2]:
confidence is 7: …`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from rlm.errors import ValidationError
from rlm.store import gate
from rlm.store.records import verdict
from rlm.store.types import (
    ITEM_FIELDS,
    LEVELS,
    OUTCOMES,
    SOURCE_TYPES,
    TRUSTS,
    MemoryItem,
    Scope,
    Tenant,
)
from rlm.store.values import admit_time, choice, finite, natural, show, unit

Check = Callable[[Any, str], object]
Row = dict[str, Any]


def memories(rows: Any, tenant: Tenant, origin: str) -> list[MemoryItem]:
    """The memories of a file. One without an owner, written by hand, passes the gate."""
    places: dict[tuple[str, ...], str] = {}
    found = []
    for where, row in _each(rows, "memories"):
        with _at(where):
            item = MemoryItem.from_dict(row)
            if not item.org:
                item = gate.admit_item(item, tenant, origin=origin)
            _check({name: getattr(item, name) for name in ITEM_FIELDS}, MEMORY)
            key = (item.memory_id, item.level, item.org, item.team, item.project)
            if places.setdefault(key, where) != where:
                hint = "remove one, or the memory_id of the one that is new"
                why = f"memory_id {item.memory_id!r} is that of {places[key]} too: {hint}"
                raise ValidationError(why)
        found.append(item)
    return found


def plain_list(rows: list[Any], tenant: Tenant, origin: str) -> list[MemoryItem]:
    """The memories of seed 001's own form. Each passes the gate; the same words twice are one."""
    found: dict[tuple[str, str], MemoryItem] = {}
    for where, row in _each(rows, "memories"):
        with _at(where):
            item = gate.admit_item(MemoryItem.from_dict(row), tenant, origin=origin)
        found.setdefault((item.memory_id, item.level), item)
    return list(found.values())


def artifacts(rows: Any) -> list[Row]:
    """What runs left, as `save_artifacts` wrote it."""
    found = []
    for where, row in _each(rows, "artifacts"):
        with _at(where):
            _check({"owner": None} | row, ARTIFACT)
        for part, checks in (("run", RUN), ("trajectory", TRAJECTORY), ("judgment", JUDGMENT)):
            if row[part] is not None:
                with _at(f"{where}.{part}"):
                    _check(row[part], checks)
        found.append(row)
    return found


def plain(rows: Any, name: str) -> list[Row]:
    """The rows of `usage`, `signals` or `packs`."""
    checks = {"usage": USE, "signals": SIGNAL, "packs": PACK}[name]
    found = []
    for where, row in _each(rows, name):
        with _at(where):
            _check({"owner": None} | row, checks)
        found.append(row)
    return found


def _each(rows: Any, name: str) -> Iterator[tuple[str, Row]]:
    """Every row with where it stands."""
    _list(rows, name)
    for place, row in enumerate(rows):
        _object(row, f"{name}[{place}]")
        yield f"{name}[{place}]", row


@contextmanager
def _at(where: str) -> Iterator[None]:
    try:
        yield
    except ValidationError as exc:
        raise ValidationError(f"{where}: {exc}", field=exc.field) from exc


def _check(row: Row, checks: Mapping[str, Check]) -> None:
    """Every field is there, is known, and holds what it may hold."""
    for name in row:
        if name not in checks:
            why = f"unknown field {show(name)}; known: {', '.join(checks)}"
            raise ValidationError(why, field=name)
    for name, check in checks.items():
        if name not in row:
            raise ValidationError(f"{name} is missing", field=name)
        check(row[name], name)


def _kind(kind: type, expected: str, value: Any, name: str) -> None:
    if not isinstance(value, kind):
        raise ValidationError(f"{name} is {show(value)}: use {expected}", field=name)


def _texts(value: Any, name: str) -> None:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValidationError(f"{name} is {show(value)}: use a list of text", field=name)


def _owner(value: Any, name: str) -> None:
    """Organisation, team and project; a row of an older file names none."""
    if value is not None:
        _texts(value, name)
        if len(value) != 3:
            raise ValidationError(f"{name} is {show(value)}: use [org, team, project]", field=name)


def _nullable(check: Check) -> Check:
    return lambda value, name: None if value is None else check(value, name)


def _one_of(allowed: tuple[str, ...]) -> Check:
    return lambda value, name: choice(value, allowed, name)


_text, _object = partial(_kind, str, "text"), partial(_kind, dict, "an object")
_list = partial(_kind, list, "a list")
_flag = partial(_kind, bool, "true or false")
_maybe = _nullable(_text)

MEMORY: dict[str, Check] = {
    **dict.fromkeys(
        ("title", "description", "content", "memory_id", "org", "team", "project"), _text
    ),
    **dict.fromkeys(("task_query", "session_id", "origin"), _maybe),
    **dict.fromkeys(("access_count", "success_count", "failure_count"), natural),
    **dict.fromkeys(("last_used", "archived_at"), _nullable(admit_time)),
    "created_at": admit_time,
    "source_type": _one_of(SOURCE_TYPES),
    "outcome": _one_of(OUTCOMES),
    "trust": _one_of(TRUSTS),
    "level": _one_of(LEVELS),
    "confidence": unit,
    "tags": _texts,
    "scope": partial(_kind, Scope, "an object"),
    "provenance": _object,
}
ARTIFACT: dict[str, Check] = {
    **dict.fromkeys(("run", "trajectory"), _object),
    "judgment": _nullable(_object),
    "owner": _owner,
}
RUN: dict[str, Check] = {
    "run_id": _text,
    "created_at": admit_time,
    **dict.fromkeys(("model", "ontology_name", "ontology_path", "notes"), _maybe),
}
TRAJECTORY: dict[str, Check] = {
    **dict.fromkeys(("task_query", "run_id", "trajectory_id"), _text),
    **dict.fromkeys(("final_answer", "rlm_log_path"), _maybe),
    "iteration_count": natural,
    "converged": _flag,
    "artifact": _object,
    "created_at": admit_time,
}
JUDGMENT: dict[str, Check] = {
    "is_success": _flag,
    "reason": _text,
    "confidence": verdict,
    "missing": _texts,
}
USE: dict[str, Check] = {
    **dict.fromkeys(("trajectory_id", "memory_id"), _text),
    "rank": natural,
    "score": _nullable(finite),
    "owner": _owner,
}
SIGNAL: dict[str, Check] = {
    **dict.fromkeys(("memory_id", "kind"), _text),
    **dict.fromkeys(("delta", "before", "after"), finite),
    "at": admit_time,
    "reason": _maybe,
    "owner": _owner,
}
PACK: dict[str, Check] = {
    **dict.fromkeys(("name", "sha256", "source"), _text),
    **dict.fromkeys(("pack_no", "item_count", "added_count"), natural),
    "signer": _maybe,
    "trust": _one_of(TRUSTS),
    "level": _one_of(LEVELS),
    "imported_at": admit_time,
    "rolled_back_at": _nullable(admit_time),
    "brought": _object,
    "owner": _owner,
}
