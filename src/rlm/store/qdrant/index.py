"""The index of one tenant's memories in Qdrant: asking it, feeding it, building it, mending it.

All of it is derived from the truth store and may be thrown away. A space goes through three states:
unknown (its changes are not noted), being built (they are, and the truth store answers), built. A
process that is killed at any point leaves a lease that runs out and notes that wait; whoever comes
next does the same again, with the same ids.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from rlm import clock
from rlm.errors import IndexUnavailable, RLMError
from rlm.retrieval.embed import Embedder
from rlm.retrieval.recall import Candidates
from rlm.store.qdrant import points
from rlm.store.qdrant.candidates import QdrantCandidates
from rlm.store.qdrant.client import REBUILD, Qdrant
from rlm.store.qdrant.names import collection_name, point_id, seal_id
from rlm.store.sql.database import Database
from rlm.store.sql.dialect import Connection
from rlm.store.sql.outbox import Build, IndexedRow, IndexedSpace, Outbox
from rlm.store.sql.spaces import Spaces
from rlm.store.types import LEVELS, Check

log = logging.getLogger("rlm.index")

BATCH = 256
"""Memories in one request: some hundred kilobytes."""
LAG = 64
"""So many notes are left to the next worker before a writer drains them itself."""


@dataclass(slots=True)
class Fed:
    """What was done to the index: memories written and removed, spaces built, left to others."""

    written: int = 0
    removed: int = 0
    built: int = 0
    busy: int = 0


@dataclass(slots=True)
class Mended:
    """What `reconcile` found wrong before it put it right; `busy` are spaces left to others."""

    missing: int = 0
    stale: int = 0
    extra: int = 0
    busy: int = 0


@dataclass(frozen=True, slots=True)
class SpaceStatus:
    """One level of the tenant. `points` is None where the collection is missing or unreachable."""

    level: str
    collection: str
    state: str
    memories: int
    points: int | None
    waiting: int
    problem: str | None = None


class QdrantIndex:
    """Qdrant beside one tenant's view of a store."""

    def __init__(
        self,
        client: Qdrant,
        database: Database,
        spaces: Spaces,
        embedder: Embedder | None,
        *,
        layout: str = "collections",
        fallback: bool = False,
    ) -> None:
        self.client, self.fallback = client, fallback
        self.outbox = Outbox(database, spaces)
        self._db, self._embedder, self._layout = database, embedder, layout
        self.problem: str | None = None
        """Why the store itself answered the last question, if it did."""
        self._told: str | None = None

    # -- asking ------------------------------------------------------------------------------------

    def candidates(
        self, connection: Connection, truth: Candidates, levels: Sequence[str]
    ) -> Candidates:
        """What this transaction sees, from Qdrant as far as it has seen it."""
        if self.problem is None:
            self._told = None
        self.problem = None
        spaces = self.outbox.spaces(connection, levels)
        asked = [space for space in spaces if space.build is not None and space.build.is_done]
        for space in asked:
            try:
                self._check_model(space)
            except IndexUnavailable as exc:
                if not self.fallback:
                    raise
                self.note_problem(f"{exc}: the store itself is searched")
                return truth
        if not asked:
            return truth
        apart = {space.number for space in spaces if space not in asked}
        return QdrantCandidates(self, truth, connection, asked, apart)

    def _check_model(self, space: IndexedSpace) -> None:
        """Vectors of two models cannot be compared; words alone can always be asked."""
        model = None if self._embedder is None else self._embedder.model
        if model is not None and space.build is not None and space.build.model != model:
            why = f"the index of the {space.level} was built for {space.build.model or 'words'}"
            raise IndexUnavailable(f"{why}, and {model} is used now: {REBUILD}")

    def note_problem(self, problem: str) -> None:
        """Say, once while it lasts, that the store itself is searched."""
        if problem != self._told:
            log.warning("%s", problem)
        self.problem = self._told = problem

    # -- feeding -----------------------------------------------------------------------------------

    def catch_up(self) -> None:
        """Drain what a writer has left, if it is much. The write is done, whatever comes of this:
        what cannot be told now waits."""
        if self._db.in_write or self._db.read_only:
            return
        try:
            if sum(space.waiting for space in self._spaces()) >= LAG:
                self.drain(build=False)
        except RLMError as exc:
            log.info("the index was not fed: %s", exc)

    def drain(self, *, build: bool = True) -> Fed:
        """Tell the index every change that waits; `build` what it has never seen, too."""
        fed = Fed()
        self.outbox.name_store()
        for space in self._spaces():
            if space.build is None or not space.build.is_done:
                if build:
                    self._build(space, fed)
            else:
                self._drain(space, fed, build=build)
        return fed

    def rebuild(self) -> Fed:
        """Build every space of the tenant anew, from the rows."""
        fed = Fed()
        self.outbox.name_store()
        for space in self._spaces():
            self._build(space, fed)
        return fed

    def reconcile(self) -> Mended:
        """Compare each memory with its point and mend what differs."""
        mended = Mended()
        self.drain()
        for space in self._spaces():
            if space.build is not None and space.build.is_done:
                self._compare(space, space.build, mended)
        mended.busy = self.drain().busy
        return mended

    def status(self) -> list[SpaceStatus]:
        """What the index holds of each level, and what it has yet to be told."""
        return [self._status(space) for space in self._spaces()]

    def describe(self) -> str:
        """Which index is live, and why the store itself was searched last, if it was."""
        return f"qdrant {self.client.shown}{f' ({self.problem})' if self.problem else ''}"

    def check(self) -> list[Check]:
        """Whether the index of each level can be used, for `rlm doctor`."""
        return [
            Check(
                f"index of the {each.level}",
                each.problem is None,
                each.problem or f"{each.state}: {each.points or 0:,} of {each.memories:,} memories",
                "rlm index rebuild" if each.problem else None,
            )
            for each in self.status()
        ]

    def close(self) -> None:
        self.client.close()

    def _spaces(self) -> list[IndexedSpace]:
        with self._db.read() as connection:
            return self.outbox.spaces(connection, LEVELS)

    @contextmanager
    def _lease(self, space: IndexedSpace, fed: Fed) -> Iterator[int | None]:
        """A fence, None where another process feeds this space."""
        fence = self.outbox.claim(space.number)
        if fence is None:
            fed.busy += 1
            yield None
            return
        try:
            yield fence
        finally:
            self.outbox.release(space.number, fence)

    def _drain(self, space: IndexedSpace, fed: Fed, *, build: bool) -> None:
        if not (space.waiting or build):
            return
        if self._seal_fault(space):
            if build:
                self._build(space, fed)
        elif space.waiting:
            with self._lease(space, fed) as fence:
                if fence is not None:
                    self._tell(space, fence, fed)

    def _seal_fault(self, space: IndexedSpace) -> str | None:
        assert space.build is not None
        name = space.build.collection
        answers = self.client.query(name, [points.seal_query(space.tenant)])
        now = next(each for each in self._spaces() if each.number == space.number)
        if now.build is None or now.build.token != space.build.token:
            return None  # somebody builds it anew
        return points.seal_fault(answers, replace(now, build=space.build))

    def _tell(self, space: IndexedSpace, fence: int, fed: Fed) -> None:
        """Every note of a space, in batches."""
        assert space.build is not None
        build, tenant = space.build, space.tenant
        while notes := self.outbox.notes(space.number, BATCH):
            ids = dict.fromkeys(memory_id for _, memory_id in notes)
            rows = self.outbox.live(space.number, list(ids))
            gone = list(ids.keys() - {row.item.memory_id for row in rows})
            if gone:
                chosen = {"points": [point_id(tenant, memory_id) for memory_id in gone]}
                self.client.delete(build.collection, chosen)
            seal = points.seal_point(tenant, build.token, max(build.change, notes[-1][0]))
            self.client.upsert(build.collection, [*self._points(space, build, rows), seal])
            if not self.outbox.settle(space.number, fence, notes):
                return
            fed.written, fed.removed = fed.written + len(rows), fed.removed + len(gone)
            if not self.outbox.renew(space.number, fence):
                return

    def _points(
        self, space: IndexedSpace, build: Build, rows: Sequence[IndexedRow]
    ) -> list[points.Body]:
        return [
            points.memory_point(
                space.tenant, row.number, row.item, row.vector if _counts(row, build) else None
            )
            for row in rows
        ]

    # -- building ----------------------------------------------------------------------------------

    def _build(self, space: IndexedSpace, fed: Fed) -> None:
        """All of a space from its rows. Changes meanwhile are noted, and told at the end."""
        with self._lease(space, fed) as fence:
            if fence is None or not self.outbox.distrust(space.number, fence):
                return
            build = self._new_build(space)
            mine = {"filter": points.only(space.tenant)}
            if space.build is not None and space.build.collection not in ("", build.collection):
                self.client.delete(space.build.collection, mine)
            self._prepare(build)
            self.client.delete(build.collection, mine)
            self.outbox.begin(space.number, fence, build)
            last = 0
            while rows := self.outbox.live_after(space.number, last, BATCH):
                self.client.upsert(build.collection, self._points(space, build, rows))
                last, fed.written = rows[-1].number, fed.written + len(rows)
                if not self.outbox.renew(space.number, fence):
                    return
            seal = points.seal_point(space.tenant, build.token, 0)
            self.client.upsert(build.collection, [seal])
            if not self.outbox.complete(space.number, fence):
                return
            fed.built += 1
            self._tell(replace(space, build=build), fence, fed)

    def _new_build(self, space: IndexedSpace) -> Build:
        embedder, dim = self._embedder, 0
        if embedder is not None:  # an endpoint says how long its vectors are when it answers
            dim = embedder.dim or int(embedder.embed(["memory"]).shape[1])
        name = collection_name(self._layout, space.level, space.parts, dim)
        model = None if embedder is None else embedder.model
        return Build(name, clock.new_uuid(), model, dim, True, 0)

    def _prepare(self, build: Build) -> None:
        """The collection, made if need be, and made anew where its vectors are of another length:
        in this layout it is one space's own; of the shared ones each dimension has its own."""
        shared = self._layout == "shared"
        dim = self.client.dimension(build.collection)
        if dim is not None and dim != build.dim and not shared:
            self.client.drop(build.collection)
            dim = None
        if dim is None:
            self.client.create(build.collection, build.dim, shared=shared)

    # -- mending -----------------------------------------------------------------------------------

    def _compare(self, space: IndexedSpace, build: Build, mended: Mended) -> None:
        """Note each memory that differs from its point; remove points that are no memory's."""
        truth, strays, wrong = self.outbox.revisions(space.number), [], set()
        fields = ("memory_id", "revision", "has_vector")
        found = set()
        for point in self.client.scroll(build.collection, points.only(space.tenant), fields):
            payload = point.get("payload") or {}
            memory_id = str(payload.get("memory_id", ""))
            if point["id"] == seal_id(space.tenant):
                continue
            if point["id"] != point_id(space.tenant, memory_id):
                strays.append(point["id"])
                continue
            found.add(memory_id)
            if memory_id not in truth:
                mended.extra += 1
                wrong.add(memory_id)
                continue
            number, model = truth[memory_id]
            if (payload.get("revision"), payload.get("has_vector")) != (
                number,
                build.model is not None and model == build.model,
            ):
                mended.stale += 1
                wrong.add(memory_id)
        mended.missing += len(truth.keys() - found)
        mended.extra += len(strays)
        if strays:
            self.client.delete(build.collection, {"points": strays})
        self.outbox.note(space.number, wrong | (truth.keys() - found))

    def _status(self, space: IndexedSpace) -> SpaceStatus:
        build = space.build
        memories = len(self.outbox.revisions(space.number))
        if build is None or not build.is_done:
            state = "not built" if build is None else "being built"
            name = "" if build is None else build.collection
            return SpaceStatus(space.level, name, state, memories, None, 0)
        waiting, count, problem = space.waiting, None, None
        try:
            self._check_model(space)
            count = self.client.count(build.collection, points.memories_only(space.tenant))
            fault = self._seal_fault(space)
            problem = f"the collection {fault}: {REBUILD}" if fault else None
        except IndexUnavailable as exc:
            problem = str(exc)
        if not problem and count != memories and not waiting:
            problem = "it holds other memories than the store: `rlm index reconcile` mends it"
        state = "behind" if waiting else "ok"
        state = "unusable" if problem else state
        return SpaceStatus(space.level, build.collection, state, memories, count, waiting, problem)


def _counts(row: IndexedRow, build: Build) -> bool:
    """Whether a row's vector is one of the index's model."""
    return row.vector is not None and row.model is not None and row.model == build.model
