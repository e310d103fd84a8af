"""The memories of a pack, line by line, through the one gate: checked, stamped and ready to store.

Knows no database. The same code runs in this process and, for large packs, in workers (`mill.py`),
which get bundles of lines and give back batches.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator
from itertools import islice

from rlm import clock
from rlm.errors import PackError, ValidationError
from rlm.packs.format import PackReader, Refused, item_of, parse_line, stamp
from rlm.packs.source import PackSource
from rlm.store import gate
from rlm.store.identity import memory_id as stable_id
from rlm.store.sqlite.bulk import GROUP, BatchMaker
from rlm.store.types import MemoryItem, Tenant

CHUNK = 2_000
LEAST_BUNDLE, MOST_BUNDLE = 1_024, 8_192
"""So many lines a worker gets at a time; they become one sealed segment."""
TAPER = 3
"""The last bundles are a third of what is left, so that no worker is alone for long."""
LINE_GUESS = 700


class Intake:
    """The memories of one pack, line by line, checked and ready to store."""

    def __init__(self, source: PackSource, tenant: Tenant, *, trust: str, level: str) -> None:
        self.source = source
        self.reader = PackReader(source.path)
        self.scrubbed = 0
        self.tenant = tenant
        self.trust = trust
        self.level = level
        self._seen: set[str] = set()

    def __iter__(self) -> Iterator[MemoryItem]:
        for first, block in self.bundles(CHUNK):
            admitted, keys = self.admit_lines(first, block.split(b"\n")[:-1])
            self.claim(keys, first)
            yield from admitted

    def claim(self, keys: list[str], first: int) -> None:
        """Refuse an id that an earlier line had; `first` is the number of the first line."""
        fresh = set(keys)
        if len(fresh) == len(keys) and self._seen.isdisjoint(fresh):
            self._seen |= fresh
            return
        for number, key in enumerate(keys, first):
            if key in self._seen:
                why = f"memory_id {key} is there twice: delete one of the two lines"
                raise PackError(why, path=str(self.source.path), line=number)
            self._seen.add(key)

    def _scrubbed(self, item: MemoryItem, claimed: str, number: int) -> None:
        """The gate changed the words: the id must then be that of the words as they stand in the
        line."""
        if claimed != stable_id(item.title, item.content, item.scope.to_dict()):
            raise PackError(
                f"memory_id {claimed[:40]!r} is not that of its title, content and scope: leave"
                " it out",
                path=str(self.source.path),
                line=number,
            )
        self.scrubbed += 1

    def chunks(self) -> Iterator[list[MemoryItem]]:
        """The same in lists of at most `CHUNK`."""
        stream = iter(self)
        while chunk := list(islice(stream, CHUNK)):
            yield chunk

    def bundles(self, size: int | None = None) -> Iterator[tuple[int, bytes]]:
        """Whole lines in bundles of about `size`, each with the number of its first line."""
        if size is None:
            guess = self.source.path.stat().st_size // LINE_GUESS // 8
            yield from self.reader.blocks(min(MOST_BUNDLE, max(LEAST_BUNDLE, guess)), TAPER)
        else:
            yield from self.reader.blocks(size)
        self.source.check_read(self.reader)

    def admit_lines(self, first: int, lines: list[bytes]) -> tuple[list[MemoryItem], list[str]]:
        """The memories of some raw lines, and their ids as claimed. The first line that is wrong
        raises."""
        told: list[MemoryItem] = []
        claims: list[str | None] = []
        wrong: Exception | None = None
        now = clock.now_iso()
        for line in lines:
            try:
                record = parse_line(line)
                item = item_of(record, now)
            except (Refused, ValidationError) as exc:
                wrong = exc
                break
            item.trust, item.level = self.trust, self.level
            told.append(item)
            claims.append(record.get("memory_id"))
        admitted, keys = self._admit(first, told, claims)
        if wrong is not None:
            raise PackError(
                str(wrong), path=str(self.source.path), line=first + len(told)
            ) from wrong.__cause__
        return admitted, keys

    def _admit(
        self, first: int, told: list[MemoryItem], claims: list[str | None]
    ) -> tuple[list[MemoryItem], list[str]]:
        """The memories as the gate lets them in, and the ids that no other line may have."""
        admitted: list[MemoryItem] = []
        keys: list[str] = []
        try:
            for item in gate.admit_items(told, self.tenant, origin=f"pack:{self.source.name}"):
                claimed = claims[len(admitted)]
                if claimed != item.memory_id and claimed is not None:
                    self._scrubbed(told[len(admitted)], claimed, first + len(admitted))
                stamp(item, self.source.name)
                keys.append(claimed or item.memory_id)
                admitted.append(item)
        except ValidationError as exc:
            raise PackError(
                str(exc), path=str(self.source.path), line=first + len(admitted)
            ) from exc
        return admitted, keys

    def batch_of(self, frame: bytes, space: int, maker: BatchMaker) -> bytes:
        """In a worker: everything about a bundle that needs no database. What is wrong comes back
        as data."""
        first, lines = int.from_bytes(frame[:8], "little"), frame[8:].split(b"\n")[:-1]
        self.scrubbed = 0
        maker.start()
        keys: list[str] = []
        trusts: set[str | None] = set()
        try:
            for start in range(0, len(lines), GROUP):
                admitted, claimed = self.admit_lines(first + start, lines[start : start + GROUP])
                keys += claimed
                trusts.update([item.trust for item in admitted])
                if len(trusts) == 1:
                    maker.add(space, admitted)
        except PackError as exc:
            return marshal.dumps((str(exc), exc.line))
        if len(trusts) > 1:  # the gate held some back: the caller sorts them
            return marshal.dumps((keys, self.scrubbed, None))
        return marshal.dumps((keys, self.scrubbed, maker.finish().parts()))
