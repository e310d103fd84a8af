"""Packs in: verify, import, take back.

An import is one write transaction that reads the pack as it goes: a line that is refused, a hash
that does not fit or a full disk rolls everything back, and a large pack never has to fit into
memory. It adds only what is absent. Every memory passes the same gate as any other write, so
secrets are scrubbed and bounds are kept; its id is checked against the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rlm import clock
from rlm.errors import NotFound, PackError, ValidationError
from rlm.packs.format import PackReader, item_of, stamp
from rlm.packs.source import PackSource, decide_trust, open_pack
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.identity import memory_id as stable_id
from rlm.store.types import LEVELS, LOCAL, MemoryItem, NewPack, PackRow, Record, Tenant
from rlm.store.values import admit_text, choice

CHUNK = 1_024
"""So many lines at a time are read, embedded and written."""


class Intake:
    """The memories of one pack, line by line, checked and ready to store."""

    def __init__(self, source: PackSource, tenant: Tenant, *, trust: str, level: str) -> None:
        self.source = source
        self.reader = PackReader(source.path)
        self.scrubbed = 0
        self.tenant = tenant
        self.trust = trust
        self.level = level
        self._now = clock.now_iso()
        self._seen: set[str] = set()

    def chunks(self) -> Iterator[list[MemoryItem]]:
        """The memories, some hundred at a time; the hash is checked after the last."""
        memories = self._memories()
        while chunk := list(islice(memories, CHUNK)):
            yield chunk
        self.source.check_read(self.reader)

    def _memories(self) -> Iterator[MemoryItem]:
        for number, record in self.reader:
            try:
                item = self._admit(record)
            except ValidationError as exc:
                raise PackError(str(exc), path=str(self.source.path), line=number) from exc
            yield item

    def _admit(self, record: Mapping[str, Any]) -> MemoryItem:
        """The memory of a line, as the gate lets it in. ValidationError."""
        stated = item_of(record, self._now)
        stated.trust, stated.level = self.trust, self.level
        item = gate.admit_item(stated, self.tenant, origin=f"pack:{self.source.name}")
        claimed = record.get("memory_id")
        claimed = item.memory_id if claimed is None else claimed
        if claimed != item.memory_id:  # the gate changed the words: it must be that of the line's
            if claimed != stable_id(stated.title, stated.content, stated.scope.to_dict()):
                why = f"memory_id {claimed[:40]!r} is not that of its title, content and scope"
                raise ValidationError(f"{why}: leave it out")
            self.scrubbed += 1
        if claimed in self._seen:
            raise ValidationError(
                f"memory_id {claimed} is there twice: delete one of the two lines"
            )
        self._seen.add(claimed)
        stamp(item, self.source.name)
        return item


@dataclass(frozen=True, slots=True)
class ImportReport(Record):
    """What an import did. `pack_no` is what `rollback_pack` takes."""

    name: str
    sha256: str
    trust: str
    signer: str | None
    count: int
    added: int
    present: int
    scrubbed: int
    pack_no: int


@dataclass(frozen=True, slots=True)
class VerifyReport(Record):
    """What a pack is and whether it would import. `trust` is what its memories would get."""

    path: str
    ok: bool
    problem: str | None = None
    name: str | None = None
    kind: str | None = None
    count: int = 0
    sha256: str | None = None
    manifest: bool = False
    signer: str | None = None
    shipped: str | None = None
    trust: str = "quarantined"


@dataclass(frozen=True, slots=True)
class RollbackReport(Record):
    """`kept` are memories that were changed since the import, under the ids they have now."""

    name: str
    pack_nos: tuple[int, ...]
    archived: int
    kept: tuple[str, ...]


def import_pack(
    pack_path: str | Path,
    db: MemoryBackend,
    *,
    level: str = "project",
    trust: bool = False,
    trust_shipped: bool = True,
    trusted_keys: str | Path | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Add what a pack holds and the store lacks, all or nothing.

    The memories are quarantined unless a trusted key signed the pack, or it is one that ships with
    the package, or a person says `trust`. Importing again with better trust lifts
    what the first import left in quarantine; importing after a rollback brings the memories back.
    What anybody else wrote, changed or archived stays as it is. `on_progress` gets the number of
    lines done.
    """
    choice(level, LEVELS, "level")
    source = open_pack(pack_path)
    trusts = {"trust": trust, "trust_shipped": trust_shipped}
    given, signer = decide_trust(source, **trusts, keys_file=trusted_keys)
    intake = Intake(source, db.tenant, trust=given, level=level)
    label = admit_text(source.label, "source")
    pack = NewPack(source.name, source.sha256, label, signer, given)
    pack_no, added = db.add_pack(pack, intake.chunks(), level=level, on_progress=on_progress)
    count = intake.reader.count
    return ImportReport(
        name=source.name,
        sha256=source.sha256,
        trust=given,
        signer=signer,
        count=count,
        added=added,
        present=count - added,
        scrubbed=intake.scrubbed,
        pack_no=pack_no,
    )


def verify_pack(pack_path: str | Path, *, trusted_keys: str | Path | None = None) -> VerifyReport:
    """Read a pack as an import would, without a store. What is wrong is reported, not raised."""
    try:
        source = open_pack(pack_path)
        trust, signer = decide_trust(
            source, trust=False, trust_shipped=True, keys_file=trusted_keys
        )
        intake = Intake(source, LOCAL, trust=trust, level="project")
        for _ in intake.chunks():
            pass
    except PackError as exc:
        return VerifyReport(path=str(pack_path), ok=False, problem=str(exc))
    return VerifyReport(
        path=str(source.path),
        ok=True,
        name=source.name,
        kind=source.manifest.kind if source.manifest else None,
        count=intake.reader.count,
        sha256=source.sha256,
        manifest=source.manifest is not None,
        signer=signer,
        shipped=source.shipped,
        trust=trust,
    )


def list_packs(db: MemoryBackend) -> list[PackRow]:
    """Every import that this tenant may see, oldest first."""
    return db.packs()


def rollback_pack(db: MemoryBackend, name_or_no: str | int) -> RollbackReport:
    """Archive what a pack, or every import of that name, added and that was not changed since.

    Rolling back twice does nothing the second time. An unknown pack raises NotFound.
    """
    wanted = _find_imports(db.packs(), name_or_no)
    archived, kept = 0, list[str]()
    with db.together():
        for row in reversed(wanted):
            count, changed = db.rollback_pack(row.pack_no)
            archived += count
            kept += changed
    numbers = tuple(row.pack_no for row in wanted)
    return RollbackReport(wanted[0].name, numbers, archived, tuple(dict.fromkeys(kept)))


def _find_imports(rows: list[PackRow], name_or_no: str | int) -> list[PackRow]:
    found = [row for row in rows if row.name == name_or_no]
    if not found and str(name_or_no).isdecimal():
        found = [row for row in rows if row.pack_no == int(name_or_no)]
    if not found:
        known = ", ".join(dict.fromkeys(row.name for row in rows)) or "none was imported"
        raise NotFound(f"no import of a pack {str(name_or_no)[:80]!r} here; known: {known}")
    return found
