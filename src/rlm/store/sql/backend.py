"""A store in SQL tables, whichever engine keeps them.

`SQLMemoryBackend` wires the parts of this folder together and owns every transaction; the parts do
the work. An engine adds how it is opened, its indexes, and how it is checked. Reads take one
snapshot, writes are all or nothing. Access counts are gathered in memory and written with the next
write or at close, so that a search never waits for the lock. They may be lost: nobody waits for
them, and nothing fails because of them.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Self

from rlm import clock
from rlm.errors import RLMError, ValidationError
from rlm.retrieval.embed import Embedder
from rlm.retrieval.recall import Document, recall
from rlm.store import gate
from rlm.store.sql import items, outbox, reembed, rows
from rlm.store.sql.database import COUNT_PATIENCE_S, Database
from rlm.store.sql.dialect import Connection
from rlm.store.sql.listing import Listing
from rlm.store.sql.packs import Packs
from rlm.store.sql.runs import Runs, save_signal
from rlm.store.sql.sessions import Sessions
from rlm.store.sql.sources import MEMORY, NODE, SearchIndex, Source
from rlm.store.sql.spaces import Spaces
from rlm.store.sql.tokens import Tokens
from rlm.store.types import (
    LEVELS,
    QUARANTINE_KEYS,
    Hit,
    MemoryItem,
    Scope,
    Tenant,
)
from rlm.store.values import admit_id, admit_text, choice, finite

if TYPE_CHECKING:
    from rlm.store.qdrant.index import QdrantIndex
    from rlm.store.sql.graph import GraphStore

PENDING_ACCESSES = 256
PENDING_S = 30.0
CHUNK = 1_024
"""So many memories at a time are embedded and written."""


class SQLMemoryBackend(Listing, Runs, Packs, Sessions, Tokens):
    """One tenant's view of one database, for threads and forked processes."""

    kind: str

    def __init__(
        self,
        opened: Callable[[], Database],
        *,
        tenant: Tenant,
        embedder: Embedder | None,
        origin: str,
    ) -> None:
        """`opened` is called once the tenant and the origin have passed the gate."""
        self.tenant = gate.check_tenant(tenant)
        self.origin = admit_id(origin, "origin")
        self.embedder = embedder
        self.db = opened()
        self.spaces = Spaces(self.db, tenant)
        self.remote_index: QdrantIndex | None = None
        """An index on another server, derived from the rows; set by whoever opens the store."""
        self._accesses: Counter[tuple[str, str]] = Counter()
        self._accesses_pid = os.getpid()
        self._accesses_since = time.monotonic()

    def _reembed_if_due(self) -> None:
        """Give few rows their vectors when the store is opened with another model of our own."""
        if reembed.is_due(self.db, self.embedder):
            with suppress(RLMError):  # somebody writes, or the model cannot be loaded: another time
                self.reembed()

    @cached_property
    def index(self) -> SearchIndex:
        """The indexes over memories."""
        return self._index(MEMORY)

    @cached_property
    def node_index(self) -> SearchIndex:
        """The indexes over nodes."""
        return self._index(NODE)

    @cached_property
    def graph(self) -> GraphStore:
        """The hypergraph of this tenant."""
        # Here, because a search of memories has 300 ms in all and needs none of it.
        from rlm.store.sql.graph import GraphStore

        return GraphStore(self.db, self.spaces, self.node_index, self.embedder)

    def _index(self, source: Source) -> SearchIndex:
        """The engine's indexes over one kind of row."""
        raise NotImplementedError

    # -- adding ------------------------------------------------------------------------------------

    def add(self, item: MemoryItem) -> str:
        return self.add_many([item])[0]

    def add_many(self, items_: Iterable[MemoryItem]) -> list[str]:
        ids: list[str] = []
        with self.together():
            admitted = gate.admit_items(items_, self.tenant, origin=self.origin)
            while chunk := list(islice(admitted, CHUNK)):
                self._add_admitted(self.db.connection, chunk)
                ids += [item.memory_id for item in chunk]
        return ids

    def _add_admitted(self, connection: Connection, admitted: Sequence[MemoryItem]) -> None:
        """Put memories that passed the gate into their spaces, inside `db.write()`."""
        for level in dict.fromkeys(item.level for item in admitted):
            space = self.spaces.ensure(level)
            batch = [item for item in admitted if item.level == level]
            there = items.existing_ids(connection, space, [item.memory_id for item in batch])
            for item in batch if there else ():
                if item.memory_id in there:
                    self._meet_again(connection, space, item)
            fresh = {item.memory_id: item for item in reversed(batch)}
            absent = [item for item in reversed(fresh.values()) if item.memory_id not in there]
            items.insert(connection, self.index, space, absent)

    def _meet_again(self, connection: Connection, space: int, item: MemoryItem) -> None:
        """What exists already: a person's word lifts it out of archive and quarantine."""
        if item.trust != "trusted" or item.source_type == "pack":
            return
        found = items.fetch(connection, (space,), item.memory_id)
        if found is not None and (found[2].archived_at or found[2].trust != "trusted"):
            number, _, old = found
            lifted = replace(old, archived_at=None, trust="trusted")
            self._rewrite(connection, number, space, lifted)

    # -- retrieving --------------------------------------------------------------------------------

    def retrieve(
        self,
        task: str,
        k: int = 3,
        *,
        scope: Scope | None = None,
        outcome: str | None = None,
        levels: Sequence[str] = LEVELS,
        kinds: Sequence[str] = (),
        explain: bool = False,
        count_access: bool = True,
    ) -> list[Hit]:
        gate.check_retrieve(task, outcome, k)

        def admits(document: Document) -> bool:
            if kinds and rows.from_row(document.row).kind not in kinds:
                return False
            return scope is None or rows.scope_of(document.row).admits(scope)

        where, values = ("", ()) if outcome is None else ("AND outcome = ?", (outcome,))
        hits: list[Hit] = []
        with self.db.read() as connection:
            spaces = self.spaces.visible(levels)
            source = self.index.candidates(connection, spaces, where, values)
            if self.remote_index is not None:
                source = self.remote_index.candidates(connection, source, levels)
            found = recall(source, task, k, embedder=self.embedder, now=clock.now(), admits=admits)
            for each in found.hits:
                why = partial(found.explain, each) if explain else None
                hits.append(Hit(rows.from_row(each.document.row), each.score, why))
        if count_access:
            for hit in hits:
                hit.item.access_count += 1
            self.note_access((hit.item.level, hit.item.memory_id) for hit in hits)
        return hits

    # -- access counts -----------------------------------------------------------------------------

    def note_access(self, shown: Iterable[tuple[str, str]]) -> None:
        self._forget_parents_accesses()
        self._accesses.update(shown)
        self._flush_if_due()

    def _flush_if_due(self) -> None:
        """Write the counts when there are many, unless somebody else is writing."""
        waited = time.monotonic() - self._accesses_since > PENDING_S
        if waited or len(self._accesses) >= PENDING_ACCESSES:
            self.db.offer(self._flush_accesses, wait_s=0.0)

    def _flush_accesses(self, connection: Connection) -> None:
        self._forget_parents_accesses()
        spaces = {level: self.spaces.find(level) for level in LEVELS} if self._accesses else {}
        connection.executemany(
            "UPDATE memory_items SET access_count = access_count + ? WHERE memory_id = ? AND"
            " space_id = ?",
            [
                (count, memory_id, spaces[level])
                for (level, memory_id), count in self._accesses.items()
            ],
        )
        self._accesses.clear()
        self._accesses_since = time.monotonic()

    def _forget_parents_accesses(self) -> None:
        if self._accesses_pid != os.getpid():
            self._accesses_pid = os.getpid()
            self._accesses.clear()

    # -- reading and changing one ------------------------------------------------------------------

    def get(self, memory_id: str, *, level: str | None = None) -> MemoryItem | None:
        with self.db.read() as connection:
            levels = LEVELS if level is None else (choice(level, LEVELS, "level"),)
            found = items.fetch(connection, self.spaces.visible(levels), memory_id)
        return None if found is None else found[2]

    def update(self, memory_id: str, /, **changes: Any) -> MemoryItem:
        with self.db.write() as connection:
            self._flush_accesses(connection)
            number, space, old = self._require_item(connection, memory_id)
            new = gate.amend_item(old, changes, self.tenant)
            if new.memory_id != old.memory_id:
                self._rename(connection, space, old, new)
            if new.confidence != old.confidence:
                moved = (old.confidence or 0.0, new.confidence or 0.0)
                save_signal(connection, space, new.memory_id, "edit", *moved, None)
            self._rewrite(connection, number, space, new)
            self._flush_accesses(connection)
        return new

    def _require_item(self, connection: Connection, memory_id: str) -> tuple[int, int, MemoryItem]:
        found = items.fetch(connection, self.spaces.visible(), memory_id)
        if found is None:
            raise gate.no_memory(memory_id)
        return found

    def _rename(self, connection: Connection, space: int, old: MemoryItem, new: MemoryItem) -> None:
        """New words, new id: what was known of the old id follows."""
        if items.existing_ids(connection, space, [new.memory_id]):
            why = f"with these words the memory would be the same as {new.memory_id}"
            raise ValidationError(f"{why}: change that one, or archive one")
        ids = (new.memory_id, old.memory_id)
        sql = "UPDATE confidence_signals SET memory_id = ? WHERE memory_id = ? AND space_id = ?"
        connection.execute(sql, (*ids, space))
        # Everybody who may see the memory may have used it: their notes follow too.
        seers = (
            "SELECT space_id FROM spaces WHERE org = ? AND (? = 'org' OR team = ?) AND (? <>"
            " 'project' OR project = ?)"
        )
        who = (old.org, old.level, old.team, old.level, old.project)
        with self.db.across_projects():
            connection.execute(  # where a trajectory was given both, the former's place is kept
                f"DELETE FROM memory_usage WHERE memory_id = ? AND space_id IN ({seers}) AND EXISTS"
                " (SELECT 1 FROM memory_usage former WHERE former.memory_id = ? AND former.space_id"
                " = memory_usage.space_id AND former.trajectory_id = memory_usage.trajectory_id)",
                (new.memory_id, *who, old.memory_id),
            )
            connection.execute(
                "UPDATE memory_usage SET memory_id = ? WHERE memory_id = ? AND space_id IN"
                f" ({seers})",
                (*ids, *who),
            )

    def _rewrite(self, connection: Connection, number: int, space: int, item: MemoryItem) -> int:
        return items.rewrite(connection, self.index, number, space, item)

    def adjust_confidence(
        self, memory_id: str, delta: float, *, kind: str, reason: str | None = None
    ) -> float:
        with self.db.write() as connection:
            number, space, item = self._require_item(connection, memory_id)
            before = item.confidence or 0.0
            after = min(1.0, max(0.0, before + finite(delta, "delta")))
            kind = admit_text(kind, "kind", 64)
            why = None if reason is None else admit_text(reason, "reason", 2_000)
            sql = "UPDATE memory_items SET confidence = ? WHERE item_no = ? AND space_id = ?"
            connection.execute(sql, (after, number, space))
            save_signal(connection, space, item.memory_id, kind, before, after, why)
        return after

    def delete(self, memory_id: str) -> bool:
        with self.db.write() as connection:
            found = items.locate(connection, self.spaces.visible(), memory_id)
            if found is None or found[1]:
                return False
            items.archive(connection, self.index, [found[0]], clock.now_iso())
        return True

    def restore(self, memory_id: str) -> bool:
        with self.db.write() as connection:
            found = items.fetch(connection, self.spaces.visible(), memory_id, archived_first=True)
            if found is None or not found[2].archived_at:
                return False
            self._rewrite(connection, *found[:2], replace(found[2], archived_at=None))
        return True

    def purge(self, memory_id: str) -> bool:
        with self.db.write() as connection:
            found = items.locate(connection, self.spaces.visible(), memory_id)
            if found is None:
                return False
            items.remove(connection, self.index, [found[0]])
        return True

    def set_level(self, memory_id: str, level: str) -> MemoryItem:
        choice(level, LEVELS, "level")
        with self.db.write() as connection:
            self._flush_accesses(connection)
            number, space, old = self._require_item(connection, memory_id)
            if old.level == level:
                return old
            target = self.spaces.ensure(level)
            if items.existing_ids(connection, target, [old.memory_id]):
                why = f"the level {level} has the memory {old.memory_id} already"
                raise ValidationError(f"{why}: change or archive one of the two", field="level")
            _, org, team, project = self.spaces.key(level)
            new = replace(old, level=level, org=org, team=team, project=project)
            self._rewrite(connection, number, target, new)
            sql = "UPDATE confidence_signals SET space_id = ? WHERE memory_id = ? AND space_id = ?"
            connection.execute(sql, (target, old.memory_id, space))
        return new

    def approve(self, memory_id: str, *, by: str | None = None) -> MemoryItem:
        """Take a memory out of quarantine. To its pack it is still as it was brought, so a rollback
        takes it back."""
        with self.db.write() as connection:
            number, space, old = self._require_item(connection, memory_id)
            if old.trust == "trusted":
                return old
            stated = {k: v for k, v in old.provenance.items() if k not in QUARANTINE_KEYS}
            if by:
                stated["approved_by"] = admit_text(by, "approved_by", 200)
            new = replace(old, trust="trusted", provenance=stated)
            fresh = self._rewrite(connection, number, space, new)
            sql = (
                "UPDATE pack_items SET item_no = ? WHERE item_no = ? AND pack_no IN (SELECT pack_no"
                " FROM packs WHERE space_id = ?)"
            )
            connection.execute(sql, (fresh, number, space))
        return new

    @contextmanager
    def together(self) -> Iterator[None]:
        with self.db.write() as connection:
            yield
            self._flush_accesses(connection)
        self.index.catch_up()
        if "node_index" in self.__dict__:  # else no node was written here
            self.node_index.catch_up()
        if self.remote_index is not None:
            self.remote_index.catch_up()

    # -- projects ----------------------------------------------------------------------------------

    def adopt_project(self, former: str, *, wait_s: float | None = None) -> bool:
        """Take over what was kept under a former name, while the new one holds nothing.

        Others who write are waited for as long as by any change, or for `wait_s`.
        """
        tenant = self.tenant
        sql = "SELECT space_id FROM spaces WHERE level = 'project' AND org = ? AND team = ?"
        sql += " AND project = ?"
        key = (tenant.org, tenant.team, former)
        if former == tenant.project or self.db.read_only or self.db.value(sql, key) is None:
            return False
        if self.spaces.find("project") is not None:  # looked at before the lock is waited for
            return False
        with self.db.write(wait_s=wait_s) as connection, self.db.across_projects():
            old = self.db.value(sql, key)
            if old is None or self.spaces.find("project") is not None:
                return False
            new_name = (tenant.project, old)
            connection.execute("UPDATE spaces SET project = ? WHERE space_id = ?", new_name)
            connection.execute("UPDATE memory_items SET project = ? WHERE space_id = ?", new_name)
            outbox.note_renamed(connection, old)
        return True

    # -- the whole store ---------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        return {
            **self._counts(),
            "path": self.db.name,
            "tenant": asdict(self.tenant),
            "engine": {
                "store": self.kind,
                **self._engine(),
                "lexical": self.index.lexical,
                "semantic": self.embedder.model if self.embedder else None,
                **({"index": self.remote_index.describe()} if self.remote_index else {}),
            },
        }

    def _engine(self) -> dict[str, Any]:
        """Which versions are live."""
        raise NotImplementedError

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return self.db.read_only

    @property
    def indexes(self) -> tuple[Any, Any]:
        """Those of memories and of nodes."""
        return self.index, self.node_index

    def stale_vectors(self) -> int:
        return 0 if self.embedder is None else reembed.stale_count(self.db, self.embedder)

    def reembed(
        self,
        *,
        on_progress: Callable[[int], object] = lambda done: None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> int:
        model, indexes = self.embedder, self.indexes
        return reembed.reembed(self.db, model, indexes, on_progress=on_progress, stopped=stopped)

    def close(self) -> None:
        """Let go of the database. Only access counts may be pending; everything else is written.

        Those are written within `COUNT_PATIENCE_S` or lost: closing does not fail because of them.
        """
        try:
            free = not self._accesses or self.db.offer(
                self._flush_accesses, wait_s=COUNT_PATIENCE_S
            )
            if free and "graph" in self.__dict__:
                self.graph.flush()
        finally:
            if self.remote_index is not None:
                self.remote_index.close()
            self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
