"""The review loop: candidates to a file, a person edits it, the result comes back.

A candidate's line is a pack line that a person may change: it has no `sha256` and no `memory_id`,
and its comments (`_memory_id`, `_level`, `_ready`, `_score`, `_why`) are ignored by an import.
`import_pack` takes the edited file as it is and adds what is new. `apply_candidates` goes further:
a line whose memory is still in the store changes that memory, at its level, instead of adding
another beside it.

Only a command of a person may do that, never a mark in the file: ids are hashes of words that
others know too, so a pack from elsewhere could bear such marks and change what is trusted here.
`rlm pack import` therefore does not apply a file that `is_review_of` this store by itself; it
says which command does.

New words give a memory a new id, so a file that is applied a second time names an id that is gone.
The line's words, and what the store knows of edits, then identify the memory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from rlm.errors import PackError, ValidationError
from rlm.packs.format import (
    LINE_BYTES,
    LineRefused,
    PackReader,
    item_of,
    open_regular,
    parse_line,
    record_of,
    write_file,
)
from rlm.packs.manifest import manifest_path
from rlm.packs.select import EVERYTHING, THRESHOLD, candidates
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.identity import canonical_json
from rlm.store.types import LEVELS, MemoryItem, Record

EDITABLE = ("title", "description", "content", "tags", "scope", "task_query", "outcome")


@dataclass(frozen=True, slots=True)
class CandidatesReport(Record):
    """How many lines were written, and how many of them an export would take as they are."""

    path: str
    count: int
    ready: int


@dataclass(frozen=True, slots=True)
class ReviewReport(Record):
    """What came back from a review; no line is about the candidates in `not_mentioned`."""

    changed: int
    added: int
    unchanged: int
    not_mentioned: int = 0


def write_candidates(
    db: MemoryBackend,
    path: str | Path,
    *,
    ontology: str | None = None,
    threshold: float = THRESHOLD,
) -> CandidatesReport:
    """Write the candidates for a pack, the ready ones first, each with its score and reasons."""
    found, _ = candidates(db, ontology=ontology, threshold=threshold)
    found.sort(key=lambda each: (bool(each.bars), -each.score, each.item.memory_id))
    lines = []
    for candidate in found:
        record = record_of(candidate.item)
        record["_memory_id"] = record.pop("memory_id")
        record["_level"] = candidate.item.level
        record["_ready"] = not candidate.bars
        record["_score"] = candidate.score
        record["_why"] = [candidate.because, *candidate.bars]
        lines.append(f"{canonical_json(record)}\n")
    target = Path(path).expanduser()
    write_file(target, "".join(lines).encode())
    return CandidatesReport(str(target), len(found), sum(not candidate.bars for candidate in found))


def apply_candidates(path: str | Path, db: MemoryBackend) -> ReviewReport:
    """Bring a reviewed file back. A person has read it, so what is new in it is recorded as theirs.

    Every line is checked before the first change, and all changes are one transaction. A line that
    was deleted changes nothing, and `not_mentioned` counts it. Applying a file twice is harmless.
    """
    lines = list(_read(Path(path).expanduser(), db))
    targets = _LineTargets(db, lines)
    edits: list[tuple[str, dict[str, Any]]] = []
    fresh: list[MemoryItem] = []
    unchanged = 0
    left = {candidate.item.memory_id for candidate in candidates(db)[0]}
    for line in lines:
        item, current = line.item, targets.by(line)
        if current is not None:
            left.discard(current.memory_id)
        if current is None:
            item.source_type, item.trust, item.level = "human", "trusted", line.level
            fresh.append(item)
        elif changes := _changes(current, line):
            edits.append((current.memory_id, changes))
        else:
            unchanged += 1
    with db.together():
        for memory_id, changes in edits:
            db.update(memory_id, **changes)
        db.add_many(fresh)
    return ReviewReport(len(edits), len(fresh), unchanged, not_mentioned=len(left))


def is_review_of(path: Path, db: MemoryBackend) -> bool:
    """Whether a file holds candidates of this store: unsealed, and naming a memory of it."""
    if os.path.lexists(manifest_path(path)):
        return False
    named = set(_commented_ids(path))
    known = any(db.get(one) is not None for one in named)
    return bool(named) and (known or not named.isdisjoint(_find_edits(db)))


_MARK = b'"_memory_id"'


def _commented_ids(path: Path) -> Iterator[str]:
    """The ids in the comments of a file; a line that cannot be read is skipped here."""
    with open_regular(path) as file:
        for line in iter(lambda: file.readline(LINE_BYTES), b""):
            if _MARK not in line:
                continue
            with suppress(LineRefused):
                named = parse_line(line).get("_memory_id")
                if isinstance(named, str):
                    yield named


@dataclass(slots=True)
class _Line:
    """One line as it was read: the id that it names, its level, the memory that it describes."""

    record: dict[str, Any]
    named: str | None
    level: str
    item: MemoryItem


def _read(path: Path, db: MemoryBackend) -> Iterator[_Line]:
    for number, record in PackReader(path):
        try:
            named = _comment(record, "_memory_id", "memory_id")
            level = _comment(record, "_level") or "project"
            if level not in LEVELS:
                raise ValidationError(f"_level is {level[:80]!r}; use one of: {', '.join(LEVELS)}")
            item = gate.admit_item(item_of(record), db.tenant, origin="review")
            yield _Line(record, named, level, item)
        except ValidationError as exc:
            raise PackError(str(exc), path=str(path), line=number) from exc


def _comment(record: dict[str, Any], *names: str) -> str | None:
    """The first of these that the line has. Comments are not checked when a line is read."""
    value = next((record[name] for name in names if record.get(name)), None)
    if value is not None and not isinstance(value, str):
        raise ValidationError(f"{names[0]} is {value!r}, expected text")
    return value


class _LineTargets:
    """Which memory each line is about: by the id it names, by its words, or by later edits.

    A memory that a line describes word for word belongs to that line, and no memory to two: a
    reviewer may have copied a line to make two memories of one.
    """

    def __init__(self, db: MemoryBackend, lines: Sequence[_Line]) -> None:
        self._db = db
        self._taken = {line.item.memory_id for line in lines}

    def by(self, line: _Line) -> MemoryItem | None:
        """None for a memory to add. An archived one is added again at its own level."""
        found = self._free(line.named) if line.named != line.item.memory_id else None
        if found is not None:
            return found
        found = self._db.get(line.item.memory_id)
        if found is None and line.named is not None:
            return self._free(self._new_ids.get(line.named))
        if (
            found is not None
            and found.memory_id != line.named
            and (found.archived_at or found.trust == "quarantined")
        ):
            line.level = found.level
            return None
        return found

    def _free(self, memory_id: str | None) -> MemoryItem | None:
        """The memory of this id, for the first line that asks, if no line describes it."""
        if memory_id is None or memory_id in self._taken:
            return None
        self._taken.add(memory_id)
        return self._db.get(memory_id)

    @cached_property
    def _new_ids(self) -> dict[str, str]:
        """The id that an edit gave, by the one before, where only one did."""
        return {former: min(ids) for former, ids in _find_edits(self._db).items() if len(ids) == 1}


def _find_edits(db: MemoryBackend) -> dict[str, set[str]]:
    """The ids that edits gave, by the one before."""
    found: dict[str, set[str]] = {}
    for item in db.list_items(limit=EVERYTHING):
        former = item.provenance.get("edited_from")
        if isinstance(former, str) and item.trust != "quarantined":
            found.setdefault(former, set()).add(item.memory_id)
    return found


def _changes(current: MemoryItem, line: _Line) -> dict[str, Any]:
    """What differs. A line that a person wrote from nothing changes only what it says."""
    names = EDITABLE if line.named else [name for name in EDITABLE if name in line.record]
    after = {name: getattr(line.item, name) for name in names}
    return {name: value for name, value in after.items() if value != getattr(current, name)}
