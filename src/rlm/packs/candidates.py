"""The review loop: candidates to a file, a person edits it, the result comes back.

A candidate's line is a pack line that a person may change: it has no `sha256` and no `memory_id`, and its
comments (`_memory_id`, `_ready`, `_score`, `_why`) are ignored by an import. `import_pack` takes the edited
file as it is and adds what is new. `apply_candidates` goes further: a line whose `_memory_id` is still in the
store changes that memory instead of adding another beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rlm.errors import PackError, ValidationError
from rlm.packs.format import PackReader, dumps, item_of, record_of, write_atomically
from rlm.packs.select import THRESHOLD, candidates
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.types import MemoryItem

EDITABLE = ("title", "description", "content", "tags", "scope", "task_query", "outcome")


@dataclass(frozen=True, slots=True)
class CandidatesReport:
    """How many lines were written, and how many of them an export would take as they are."""

    path: str
    count: int
    ready: int

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReviewReport:
    """What came back from a review."""

    changed: int
    added: int
    unchanged: int

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return asdict(self)


def write_candidates(
    db: MemoryBackend, path: str | Path, *, ontology: str | None = None, threshold: float = THRESHOLD
) -> CandidatesReport:
    """Write what comes into question for a pack, the ready ones first, each with its score and reasons."""
    found, _ = candidates(db, ontology=ontology, threshold=threshold)
    found.sort(key=lambda candidate: (bool(candidate.bars), -candidate.score, candidate.item.memory_id))
    lines = []
    for candidate in found:
        record = record_of(candidate.item)
        record["_memory_id"] = record.pop("memory_id")
        record["_ready"] = not candidate.bars
        record["_score"] = candidate.score
        record["_why"] = [candidate.because, *candidate.bars]
        lines.append(f"{dumps(record)}\n")
    target = Path(path).expanduser()
    write_atomically(target, "".join(lines).encode())
    return CandidatesReport(str(target), len(found), sum(not candidate.bars for candidate in found))


def apply_candidates(path: str | Path, db: MemoryBackend) -> ReviewReport:
    """Bring a reviewed file back. A person has read it, so what is new in it is recorded as theirs.

    Every line is checked before the first change, and on SQLite all changes are one transaction. A line that
    was deleted from the file changes nothing: archive a memory to be rid of it.
    """
    reader = PackReader(Path(path).expanduser())
    edits: list[tuple[str, dict[str, Any]]] = []
    fresh: list[MemoryItem] = []
    unchanged = 0
    for number, record in reader:
        try:
            item = gate.admit_item(item_of(record), db.tenant, origin="review")
            current = _current(record, db)
            changes = None if current is None else _changes(current, item)
        except ValidationError as exc:
            raise PackError(str(exc), path=str(reader.path), line=number) from exc
        if current is None:
            item.source_type, item.trust = "human", "trusted"
            fresh.append(item)
        elif changes:
            edits.append((current.memory_id, changes))
        else:
            unchanged += 1
    with _together(db):
        for memory_id, changes in edits:
            db.update(memory_id, **changes)
        db.add_many(fresh)
    return ReviewReport(changed=len(edits), added=len(fresh), unchanged=unchanged)


def _current(record: dict[str, Any], db: MemoryBackend) -> MemoryItem | None:
    named = record.get("_memory_id") or record.get("memory_id")
    if named is not None and not isinstance(named, str):
        raise ValidationError(f"_memory_id is {named!r}, expected text")
    return None if named is None else db.get(named)


def _changes(current: MemoryItem, item: MemoryItem) -> dict[str, Any]:
    return {name: getattr(item, name) for name in EDITABLE if getattr(item, name) != getattr(current, name)}


@contextmanager
def _together(db: MemoryBackend) -> Iterator[None]:
    if isinstance(db, SQLiteMemoryBackend):
        with db.db.write():
            yield
    else:
        yield
