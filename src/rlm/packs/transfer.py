"""Packs in: verify, import, take back.

An import is one write transaction that reads the pack as it goes: a line that is refused, a hash
that does not fit or a full disk rolls everything back, and a large pack never has to fit into
memory. It adds only what is absent. Every memory passes the same gate as any other write, so
secrets are scrubbed and bounds are kept; its id is checked against the text.

On a store without a table of imports (JSON) the memories go in through `add_many`; there is nothing
to list or to roll back there.
"""

from __future__ import annotations

import marshal
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import apsw

from rlm import clock
from rlm.errors import PackError, RLMError, ValidationError
from rlm.packs.grind import Job
from rlm.packs.intake import Intake
from rlm.packs.mill import WORTH_BYTES, Mill, can_fork, workers_for
from rlm.packs.source import PackSource, open_pack, standing
from rlm.retrieval.embed import ReadingEmbedder, kind_of
from rlm.store import gate
from rlm.store.backend import MemoryBackend
from rlm.store.sqlite import items
from rlm.store.sqlite import packs as ledger
from rlm.store.sqlite.backend import SQLiteMemoryBackend
from rlm.store.sqlite.bulk import Batch, BatchMaker, Bulk, paused_collector
from rlm.store.sqlite.packs import PackRow
from rlm.store.types import LEVELS, LOCAL, MemoryItem


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did. `pack_no` is what `rollback_pack` takes; None where the store keeps no
    record."""

    name: str
    sha256: str
    trust: str
    signer: str | None
    count: int
    added: int
    present: int
    scrubbed: int
    pack_no: int | None

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class VerifyReport:
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

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RollbackReport:
    """`kept` are memories that somebody changed since the import, under the ids they have now."""

    name: str
    pack_nos: tuple[int, ...]
    archived: int
    kept: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Every field as JSON types."""
        return {**asdict(self), "pack_nos": list(self.pack_nos), "kept": list(self.kept)}


def import_pack(
    pack_path: str | Path,
    db: MemoryBackend,
    *,
    level: str = "project",
    trust: bool = False,
    trust_shipped: bool = True,
    trusted_keys: str | Path | None = None,
    workers: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Add what a pack holds and the store lacks, all or nothing.

    The memories are quarantined unless a trusted key signed the pack, or it is one that ships with
    the package, or a person vouches for it with `trust`. Importing again with better trust lifts
    what the first import left in quarantine; importing after a rollback brings the memories back.
    What anybody else wrote, changed or archived stays as it is. A large pack is read by several
    processes (`mill.py`) where that pays; `workers` sets how many, 0 for none. `on_progress` is
    told how many lines are done.
    """
    if level not in LEVELS:
        raise ValidationError(
            f"unknown level {level!r}; use one of: {', '.join(LEVELS)}", field="level"
        )
    with _readied(db, pack_path):
        source = open_pack(pack_path)
    given, signer = standing(
        source, trust=trust, trust_shipped=trust_shipped, keys_file=trusted_keys
    )
    intake = Intake(source, db.tenant, trust=given, level=level)
    if isinstance(db, SQLiteMemoryBackend):
        added, pack_no = _into_sqlite(db, intake, level, (given, signer), workers, on_progress)
    else:
        added, pack_no = _into_other(db, intake), None
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


@contextmanager
def _readied(db: MemoryBackend, pack: str | Path) -> Iterator[None]:
    """Load what a large pack will need while its bytes are hashed, which needs another core."""
    embedder = db.embedder if isinstance(db, SQLiteMemoryBackend) else None
    try:
        large = Path(pack).expanduser().stat().st_size >= WORTH_BYTES
    except (OSError, ValueError, RuntimeError):
        large = False  # who opens it says what is wrong
    if not large or not isinstance(embedder, ReadingEmbedder) or not can_fork():
        yield
        return

    def load() -> None:
        with suppress(RLMError):  # said again when it is needed
            embedder.prepare()

    thread = threading.Thread(target=load)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _into_sqlite(
    db: SQLiteMemoryBackend,
    intake: Intake,
    level: str,
    standing_: tuple[str, str | None],
    workers: int | None,
    on_progress: Callable[[int], None] | None,
) -> tuple[int, int]:
    trust, signer = standing_
    added: list[str] = []
    done = 0
    db.db.settle()
    size = intake.source.path.stat().st_size
    source = intake.source
    row = {
        "name": source.name,
        "sha256": source.sha256,
        "source": gate.admit_text(source.label, "source"),
        "signer": signer,
        "trust": trust,
        "item_count": 0,
        "added_count": 0,
        "imported_at": clock.now_iso(),
    }
    with db.db.write(large=size >= WORTH_BYTES) as connection:
        space = db.spaces.ensure(level)
        record = ledger.Record(connection, space)
        with db.bulk(connection) as bulk, paused_collector():
            mill = _mill(db, intake, space, workers, size)
            steps = (
                _plain(connection, bulk, space, intake, trust)
                if mill is None
                else _milled(connection, bulk, space, intake, trust, mill)
            )
            for read, ids in steps:
                added += ids
                done += read
                if ids:
                    record.note(row)
                if on_progress is not None:
                    on_progress(done)
        if not added and (known := _live(ledger.rows(connection, (space,)), source)):
            return 0, known.pack_no
        pack_no = record.close(
            {**row, "item_count": intake.reader.count, "added_count": len(added)}
        )
    db.search.recall.seal_if_due()
    return len(added), pack_no


def _plain(
    connection: apsw.Connection, bulk: Bulk, space: int, intake: Intake, trust: str
) -> Iterator[tuple[int, list[str]]]:
    """Take a pack in, step by step: how many lines were read, and what was new."""
    for chunk in intake.chunks():
        fresh = _absent(connection, space, chunk, lift=trust == "trusted")
        yield len(chunk), [item.memory_id for item in bulk.add(space, fresh)]


def _mill(
    db: SQLiteMemoryBackend, intake: Intake, space: int, workers: int | None, size: int
) -> Mill | None:
    """Workers for a pack of this size; None where they do not pay or cannot be had."""
    forks = can_fork() if workers is None else hasattr(os, "fork")
    count = workers_for(size) if workers is None else workers
    if not count:
        return None
    if forks:
        maker = BatchMaker(db.embedder)
        maker.prepare()
        return Mill.forked(lambda frame: intake.batch_of(frame, space, maker), count)
    kind = kind_of(db.embedder)
    return None if kind is None else Mill.spawned(Job.of(intake, space, kind).to_bytes(), count)


def _milled(
    connection: apsw.Connection, bulk: Bulk, space: int, intake: Intake, trust: str, mill: Mill
) -> Iterator[tuple[int, list[str]]]:
    """The same, with the thinking done by workers. A bundle that holds known memories is taken in
    plainly."""
    with mill:
        empty = items.is_empty(connection, space)  # then `bulk` knows all that is there
        sent: deque[tuple[int, bytes]] = deque()

        def frames() -> Iterator[bytes]:
            for bundle in intake.bundles():
                sent.append(bundle)
                yield bundle[0].to_bytes(8, "little") + bundle[1]

        for result in mill.map(frames()):
            first, block = sent.popleft()
            parts = marshal.loads(result)
            if len(parts) == 2:
                raise PackError.located(*parts)
            keys, scrubbed, made = parts
            intake.claim(keys, first)
            intake.scrubbed += scrubbed
            batch = None if made is None else Batch(*made)
            ids = batch.ids if batch else []
            if (
                batch is None
                or not bulk.lacks(space, ids)
                or (not empty and items.existing(connection, space, ids))
            ):
                again, _ = intake.admit_lines(first, block.split(b"\n")[:-1])
                intake.scrubbed -= scrubbed  # they were counted by the worker
                fresh = _absent(connection, space, again, lift=trust == "trusted")
                yield len(keys), [item.memory_id for item in bulk.add(space, fresh)]
                continue
            bulk.add_batch(batch)
            bulk.note(space, ids)
            # now, while we wait for the workers, rather than at the end when nobody does
            connection.cache_flush()
            yield len(keys), ids


def _absent(
    connection: apsw.Connection, space: int, chunk: list[MemoryItem], *, lift: bool
) -> list[MemoryItem]:
    """Those of a chunk that the space lacks. What may be put anew is taken out first and keeps its
    counters."""
    there = items.existing(connection, space, [item.memory_id for item in chunk])
    if not there:
        return chunk
    again = ledger.replaceable(connection, space, list(there), lift=lift)
    ledger.remove(connection, [number for number, _ in again.values()])
    return [
        replace(item, **again[item.memory_id][1]) if item.memory_id in again else item
        for item in chunk
        if item.memory_id in again or item.memory_id not in there
    ]


def _live(rows: list[PackRow], source: PackSource) -> PackRow | None:
    """An import of these very bytes that was not rolled back."""
    same = (row for row in rows if row.sha256 == source.sha256 and row.name == source.name)
    return next((row for row in same if row.rolled_back_at is None), None)


def _into_other(db: MemoryBackend, intake: Intake) -> int:
    fresh: dict[str, MemoryItem] = {}
    for item in intake:
        if item.memory_id not in fresh and db.get(item.memory_id) is None:
            fresh[item.memory_id] = item
    db.add_many(fresh.values())
    return len(fresh)


def verify_pack(pack_path: str | Path, *, trusted_keys: str | Path | None = None) -> VerifyReport:
    """Read a pack as an import would, without a store. What is wrong is reported, not raised."""
    try:
        source = open_pack(pack_path)
        trust, signer = standing(source, trust=False, trust_shipped=True, keys_file=trusted_keys)
        intake = Intake(source, LOCAL, trust=trust, level="project")
        for _ in intake:
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
    """Every import that this tenant may see, oldest first; none where the store keeps no record."""
    if not isinstance(db, SQLiteMemoryBackend):
        return []
    with db.db.read() as connection:
        return ledger.rows(connection, db.spaces.visible())


def rollback_pack(db: MemoryBackend, name_or_no: str | int) -> RollbackReport:
    """Archive what a pack added and nobody has changed since. A name means every import of that
    name.

    Rolling back twice does nothing the second time. An unknown pack raises PackError.
    """
    if not isinstance(db, SQLiteMemoryBackend):
        raise PackError(
            "this store keeps no record of imports, so none can be rolled back: use an SQLite store"
        )
    with db.db.write() as connection:
        rows = ledger.rows(connection, db.spaces.visible())
        wanted = _wanted(rows, name_or_no)
        archived, kept = 0, []
        now = clock.now_iso()
        for row in reversed(wanted):
            if row.rolled_back_at is None:
                count, changed = ledger.take_back(connection, row, now)
                archived += count
                kept += changed
    return RollbackReport(
        wanted[0].name, tuple(row.pack_no for row in wanted), archived, tuple(dict.fromkeys(kept))
    )


def _wanted(rows: list[PackRow], name_or_no: str | int) -> list[PackRow]:
    found = [row for row in rows if row.name == name_or_no]
    if not found and str(name_or_no).isdecimal():
        found = [row for row in rows if row.pack_no == int(name_or_no)]
    if not found:
        known = ", ".join(dict.fromkeys(row.name for row in rows)) or "none was imported"
        raise PackError(f"no import of a pack {str(name_or_no)[:80]!r} here; known: {known}")
    return found
