"""Memories in a plain file: a JSON list, as seed 001's `MemoryStore` wrote it, or JSON lines.

Every memory passes the gate. A file is nobody's word: its memories wait in quarantine unless a
person vouches for it, what it says about trust counts only where it lowers it, and whose a memory
is, the store says. A file that cannot be read is an error, and
nothing of it is stored; a record that is no memory is refused by itself, with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from rlm.errors import ValidationError
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.types import QUARANTINE_REASON, MemoryItem, Tenant
from rlm.store.values import show

MOST_BYTES = 64 << 20
ORIGIN = "import"
TITLE_CHARS = 80
UNSEEN = "came in a file that nobody has vouched for"


class FileRecord(NamedTuple):
    """One entry of a file, and where it stands: `item 3` or `line 7`."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record that is no memory."""

    place: str
    title: str
    reason: str


@dataclass(slots=True)
class ItemsReport:
    """What became of a file's records."""

    memories: dict[str, str] = field(default_factory=dict)
    """Place → memory id, of every record that is a memory."""
    added: int = 0
    refused: list[RefusedRecord] = field(default_factory=list)

    @property
    def present(self) -> int:
        """How many were there already, or stood in the file before."""
        return len(self.memories) - self.added

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON types."""
        return {
            "added": self.added,
            "present": self.present,
            "refused": [asdict(each) for each in self.refused],
            "memories": [{"place": p, "memory_id": each} for p, each in self.memories.items()],
        }


def read_records(data: bytes, name: str) -> list[FileRecord]:
    """The records of a file. ValidationError, with the line, when it is neither form."""
    if len(data) > MOST_BYTES:
        raise ValidationError(f"{name} has {len(data):,} bytes, at most {MOST_BYTES:,}: split it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        raise ValidationError(f"{name} is not UTF-8 text (byte {exc.start + 1})") from exc
    if not text.strip():
        raise ValidationError(f"{name} is empty: there is nothing to import")
    if text.lstrip().startswith("["):
        values = _parse(text, name, 1)
        return [FileRecord(f"item {number}", value) for number, value in enumerate(values, 1)]
    lines = enumerate(text.split("\n"), 1)
    found = [FileRecord(f"line {n}", _parse(line, name, n)) for n, line in lines if line.strip()]
    if len(found) == 1 and isinstance(found[0].value, dict) and "memories" in found[0].value:
        raise _no_list(name)
    return found


def _parse(text: str, name: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        if line == 1 and text.strip() == "{":  # an object over several lines: our own JSON store?
            raise _no_list(name) from exc
        where = f"line {line + exc.lineno - 1}, column {exc.colno}"
        hint = "write a JSON list of memories, or one memory a line"
        raise ValidationError(f"{name}, {where}: {exc.msg}; {hint}") from exc
    except (ValueError, RecursionError) as exc:
        why = "it is nested too deeply" if isinstance(exc, RecursionError) else str(exc)
        raise ValidationError(f"{name}, line {line}: {why}") from exc


def _no_list(name: str) -> ValidationError:
    return ValidationError(
        f"{name} is one JSON object, no list of memories: if it is a JSON store of rlm, use it with"
        f" --db json:{name}"
    )


def import_records(
    records: Sequence[FileRecord],
    store: MemoryBackend,
    *,
    level: str = "project",
    trust: bool = False,
) -> ItemsReport:
    """Store those that are memories and are not there yet, all of these or none. `trust` is a
    person's word for the file."""
    report = ItemsReport()
    fresh: dict[str, MemoryItem] = {}
    for record in records:
        try:
            item = admit_record(record.value, store.tenant, level=level, trust=trust)
        except ValidationError as exc:
            report.refused.append(RefusedRecord(record.place, _title(record.value), str(exc)))
            continue
        report.memories[record.place] = item.memory_id
        known = store.get(item.memory_id)
        if known is None or known.level != level:
            fresh.setdefault(item.memory_id, item)
    report.added = len(store.add_many(fresh.values()))
    return report


def admit_record(value: Any, tenant: Tenant, *, level: str, trust: bool = False) -> MemoryItem:
    """A record as a memory that has passed the gate. ValidationError when it is not one."""
    if not isinstance(value, dict):
        raise ValidationError(f"it is {show(value)}: use an object")
    if value.get("archived_at"):
        raise ValidationError("it is in the archive of the store that it comes from")
    item = MemoryItem.from_dict({"description": "", **value})  # the gate takes it from the content
    vouched = trust and item.trust != "quarantined"
    standing = "trusted" if vouched else "quarantined"
    item = replace(item, trust=standing, level=level, origin=ORIGIN)
    made = gate.admit_item(item, tenant, origin=ORIGIN)
    if not vouched:
        made.provenance.setdefault(QUARANTINE_REASON, UNSEEN)
    return made


def _title(value: Any) -> str:
    title = value.get("title", "") if isinstance(value, dict) else ""
    return title[:TITLE_CHARS] if isinstance(title, str) else ""
