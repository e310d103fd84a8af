"""The memories of a pack, line by line, through the one gate: checked, stamped and ready to store.

Knows no database.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from rlm import clock
from rlm.errors import PackError, ValidationError
from rlm.packs.format import PackReader, Refused, item_of, parse_line, stamp
from rlm.packs.source import PackSource
from rlm.store import gate
from rlm.store.identity import memory_id as stable_id
from rlm.store.types import MemoryItem, Tenant

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
        self._seen: set[str] = set()

    def chunks(self) -> Iterator[list[MemoryItem]]:
        """The memories, some hundred at a time; the hash is checked after the last."""
        lines = self.reader.lines()
        while chunk := list(islice(lines, CHUNK)):
            first = chunk[0][0]
            admitted, keys = self.admit_lines(first, [line for _, line in chunk])
            self.claim(keys, first)
            yield admitted
        self.source.check_read(self.reader)

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

    def _check_scrubbed(self, item: MemoryItem, claimed: str, number: int) -> None:
        """The gate changed the words: the id must be that of the words in the line."""
        if claimed != stable_id(item.title, item.content, item.scope.to_dict()):
            why = f"memory_id {claimed[:40]!r} is not that of its title, content and scope"
            raise PackError(f"{why}: leave it out", path=str(self.source.path), line=number)
        self.scrubbed += 1

    def admit_lines(self, first: int, lines: list[bytes]) -> tuple[list[MemoryItem], list[str]]:
        """The memories of some raw lines, and the ids claimed. The first wrong line raises."""
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
            path, number = str(self.source.path), first + len(told)
            raise PackError(str(wrong), path=path, line=number) from wrong.__cause__
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
                    self._check_scrubbed(told[len(admitted)], claimed, first + len(admitted))
                stamp(item, self.source.name)
                keys.append(claimed or item.memory_id)
                admitted.append(item)
        except ValidationError as exc:
            number = first + len(admitted)
            raise PackError(str(exc), path=str(self.source.path), line=number) from exc
        return admitted, keys
