"""Seed 001's `MemoryStore`: memories in one JSON file, or in no file at all.

For minimal environments and for small sets that one wants to read and edit by hand. It passes the
same contract suite as SQLite. The whole file is written at each save, to a temporary file that
replaces the old one, so a crash leaves either the old or the new. Two processes that save at once:
the later one wins; use SQLite for that. A file that cannot be read is never overwritten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from rlm import clock
from rlm.errors import NotFound, NotSupported
from rlm.retrieval.recall import Corpus, Document, Loan, recall
from rlm.retrieval.tokens import Query, tokens
from rlm.store import gate
from rlm.store.document import ITEM_WEIGHTS, item_columns, item_text
from rlm.store.identity import canonical_json
from rlm.store.jsondoc import JSONDocument
from rlm.store.learning import LearningRow, apply_lessons, learning_row
from rlm.store.records import Use
from rlm.store.types import (
    Check,
    Hit,
    Judgment,
    Lessons,
    MemoryItem,
    NewPack,
    PackRow,
    Run,
    Scope,
    Trajectory,
)

_LEVEL_ORDER = {"project": 0, "team": 1, "org": 2}


LACKS = {
    "graph": "no hypergraph",
    "queue": "no queue of sessions: its file has no lock that two workers could share",
    "branches": "no branches of sessions",
    "projects": "no list of other projects",
}
"""What a JSON store cannot do, and why."""


def _lacking(part: str) -> NotSupported:
    hint = "use an SQLite store, as open_store('memory.db') opens"
    return NotSupported(f"a JSON store has {LACKS[part]}: {hint}")


class _NoGraph:
    """Stands where a hypergraph would be."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise _lacking("graph")


class MemoryStore(JSONDocument):
    """Memories in a list. With `path` and `autosave`, every write is on disk before it returns."""

    lacks = frozenset(LACKS)

    @property
    def memories(self) -> list[MemoryItem]:
        """What this tenant may see and is not archived, oldest first."""
        return [item for item in self._visible() if item.archived_at is None]

    @property
    def graph(self) -> _NoGraph:
        """Not supported: whatever is asked of it raises."""
        return _NoGraph()

    def _visible(self) -> list[MemoryItem]:
        self._check_open()
        return [item for item in self._items if self._mine(item)]

    # -- adding ------------------------------------------------------------------------------------

    def add(self, item: MemoryItem) -> str:
        """Store one memory and return its id. The same memory twice is one entry."""
        return self.add_many([item])[0]

    def add_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store several, all or none; their ids, in order."""
        admitted = list(gate.admit_items(items, self.tenant, origin=self.origin))
        before = self._state()
        self._put(admitted)
        self._saved(before)
        return [item.memory_id for item in admitted]

    def _put(self, admitted: Sequence[MemoryItem]) -> None:
        there = {
            (item.memory_id, item.level): place
            for place, item in enumerate(self._items)
            if self._mine(item)
        }
        for item in admitted:
            place = there.get((item.memory_id, item.level))
            if place is None:
                there[item.memory_id, item.level] = len(self._items)
                self._items.append(item)
            elif item.trust == "trusted" and item.source_type != "pack":
                self._items[place] = replace(self._items[place], archived_at=None, trust="trusted")

    def _mine(self, item: MemoryItem) -> bool:
        tenant = self.tenant
        return (
            item.org == tenant.org
            and (item.level == "org" or item.team == tenant.team)
            and (item.level != "project" or item.project == tenant.project)
        )

    @property
    def _owner(self) -> list[str]:
        return [self.tenant.org, self.tenant.team, self.tenant.project]

    def _seen(self, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Rows about runs and confidence that this tenant may see. One of an older file names no
        owner: all see it."""
        self._check_open()
        org, team, project = self._owner
        owners = (None, [org, team, project], [org, team, ""], [org, "", ""])
        return [row for row in rows if row.get("owner") in owners]

    # -- retrieving --------------------------------------------------------------------------------

    def retrieve(
        self,
        task: str,
        k: int = 3,
        *,
        scope: Scope | None = None,
        outcome: str | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """The best `k` memories for a task, best first, fewer when fewer match. Any text is valid."""
        gate.check_retrieve(task, outcome, k)
        live = [item for item in self.memories if item.trust != "quarantined"]

        def admits(document: Document) -> bool:
            item: MemoryItem = document.row
            return outcome in (None, item.outcome) and (scope is None or item.scope.admits(scope))

        source = _Candidates(live, *self._read_words(live))
        found = recall(source, task, k, embedder=self.embedder, now=clock.now(), admits=admits)
        hits = []
        for hit in found.hits:
            hit.document.row.access_count += 1
            self._pending = True
            why = found.explain(hit) if explain else None
            hits.append(Hit(replace(hit.document.row), hit.score, why))
        return hits

    def _read_words(
        self, live: Sequence[MemoryItem]
    ) -> tuple[list[tuple[str, ...]], list[tuple[frozenset[str], bytes | None]]]:
        """The columns of every memory, with its stems and its vector, remembered by its words."""
        columns = [item_columns(item) for item in live]
        fresh = [place for place, words in enumerate(columns) if words not in self._cache]
        vectors: Sequence[bytes | None] = [None] * len(fresh)
        if fresh and self.embedder is not None:  # rounded as SQLite keeps them: the same scores
            rows = self.embedder.embed_documents([item_text(live[place]) for place in fresh])
            vectors = [row.astype(np.float16).tobytes() for row in rows]
        for place, vector in zip(fresh, vectors, strict=True):
            stems = frozenset(tokens("\n".join(columns[place])))
            self._cache[columns[place]] = stems, vector
        known = [self._cache[words] for words in columns]
        if len(self._cache) > 2 * len(known):
            self._cache = dict(zip(columns, known, strict=True))
        return columns, known

    # -- reading and changing one ------------------------------------------------------------------

    def _place(self, memory_id: str, *, archived_first: bool = False) -> int | None:
        def order(place: int) -> tuple[bool, bool, int, int]:
            item = self._items[place]
            shelved = (item.archived_at is None) == archived_first
            doubtful = item.memory_id != memory_id and item.trust == "quarantined"
            return shelved, doubtful, _LEVEL_ORDER[item.level], -place

        return min(self._places(memory_id), key=order, default=None)

    def _places(self, memory_id: str) -> list[int]:
        """Where a memory stands, on every level that this tenant sees, by its id or by the id that
        a caller gave it."""
        self._check_open()
        mine = [(place, item) for place, item in enumerate(self._items) if self._mine(item)]
        found = [place for place, item in mine if item.memory_id == memory_id]
        return found or [place for place, item in mine if item.id == memory_id]

    def get(self, memory_id: str) -> MemoryItem | None:
        """One memory, archived or not; None when this tenant has no such id."""
        place = self._place(memory_id)
        return None if place is None else replace(self._items[place])

    def ids_starting(self, kind: str, prefix: str, limit: int = 9) -> list[str]:
        """Ids of memories that begin so, in order."""
        if kind != "memory":
            raise _lacking("graph")
        ids = {item.memory_id for item in self._visible() if item.memory_id.startswith(prefix)}
        return sorted(ids)[:limit]

    def list_items(
        self,
        *,
        source_type: str | None = None,
        outcome: str | None = None,
        trust: str | None = None,
        tag: str | None = None,
        ontology: str | None = None,
        provenance: dict[str, str] | None = None,
        level: str | None = None,
        archived: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> list[MemoryItem]:
        """Memories by what they are, newest first."""
        names = {"source_type": source_type, "outcome": outcome, "trust": trust, "level": level}
        gate.check_listing(names, provenance, limit, offset)
        chosen = [
            (item.created_at, place, item)
            for place, item in enumerate(self._visible())
            if (item.archived_at is not None) == archived
            and all(value in (None, getattr(item, name)) for name, value in names.items())
            and (tag is None or tag in item.tags)
            and ontology in (None, item.scope.ontology)
            and all(item.provenance.get(key) == value for key, value in (provenance or {}).items())
        ]
        chosen.sort(key=lambda row: row[:2], reverse=True)
        return [replace(item) for _, _, item in chosen[max(0, offset) :][: max(0, limit)]]

    def update(self, memory_id: str, /, **changes: Any) -> MemoryItem:
        """Change fields of one memory. New words give a new id, which the returned memory carries."""
        place = self._place(memory_id)
        if place is None:
            raise NotFound(f"no memory {memory_id!r} here: `rlm memory list` shows what there is")
        old = self._items[place]
        new = gate.amend_item(old, changes, self.tenant)
        if new.memory_id != old.memory_id and self._place(new.memory_id) is not None:
            raise gate.same_words(new)
        before = self._state()
        self._items[place] = new
        if new.confidence != old.confidence:
            self._note_signal(new, "edit", old.confidence or 0.0, None)
        self._saved(before)
        return replace(new)

    def delete(self, memory_id: str) -> bool:
        """Archive one memory; False when there was none to archive. `restore` brings it back."""
        return self._set_archived(memory_id, clock.now_iso())

    def restore(self, memory_id: str) -> bool:
        """Bring an archived memory back."""
        return self._set_archived(memory_id, None)

    def _set_archived(self, memory_id: str, at: str | None) -> bool:
        place = self._place(memory_id, archived_first=at is None)
        if place is None or (self._items[place].archived_at is None) == (at is None):
            return False
        before = self._state()
        self._items[place] = replace(self._items[place], archived_at=at)
        self._saved(before)
        return True

    def purge(self, memory_id: str) -> bool:
        """Remove one memory for good."""
        place = self._place(memory_id)
        if place is None:
            return False
        before = self._state()
        del self._items[place]
        self._saved(before)
        return True

    def approve(self, memory_id: str, *, by: str | None = None) -> MemoryItem:
        """Take a memory out of quarantine."""
        item = self.get(memory_id)
        if item is None:
            raise NotFound(f"no memory {memory_id!r} here: `rlm memory list` shows what there is")
        if item.trust == "trusted":
            return item
        provenance = {
            key: value for key, value in item.provenance.items() if key != "quarantined_because"
        }
        if by:
            provenance["approved_by"] = gate.admit_text(by, "approved_by", 200)
        return self.update(memory_id, trust="trusted", provenance=provenance)

    # -- runs --------------------------------------------------------------------------------------

    def record_usage(
        self, trajectory_id: str, retrieved: Sequence[tuple[MemoryItem, float]]
    ) -> None:
        """Note which memories a trajectory was given, with rank and score."""
        given_to, uses = gate.admit_usage(trajectory_id, retrieved)
        before = self._state()
        self._note_usage(given_to, uses)
        self._saved(before)

    def _note_usage(self, trajectory_id: str, uses: Sequence[Use]) -> None:
        now = clock.now_iso()
        key = (trajectory_id, self._owner)
        there = {
            use["memory_id"]: place
            for place, use in enumerate(self._usage)
            if (use["trajectory_id"], use.get("owner") or self._owner) == key
        }
        for use in uses:
            place = there.setdefault(use.memory_id, len(self._usage))
            self._usage[place : place + 1] = [
                {"trajectory_id": trajectory_id, **use._asdict(), "owner": self._owner}
            ]
            for place in self._places(use.memory_id):
                self._items[place] = replace(self._items[place], last_used=now)

    def save_artifacts(
        self,
        run: Run,
        trajectory: Trajectory,
        judgment: Judgment | None = None,
        *,
        memories: Sequence[MemoryItem] = (),
        retrieved: Sequence[tuple[MemoryItem, float]] = (),
        lessons: Lessons | None = None,
    ) -> list[str]:
        """Store everything that one run produced, all or none; the ids of the new memories."""
        run, trajectory, judgment = gate.admit_artifacts(run, trajectory, judgment)
        given_to, uses = gate.admit_usage(trajectory.trajectory_id, retrieved)
        admitted = list(gate.admit_items(memories, self.tenant, origin=self.origin))
        own = self._seen(self._artifacts)
        if any(record["trajectory"]["trajectory_id"] == given_to for record in own):
            raise gate.saved_already(given_to)
        runs = (record["run"] for record in own if record["run"]["run_id"] == run.run_id)
        record = {
            "run": next(runs, asdict(run)),  # a run that is there already stays as it is
            "trajectory": asdict(trajectory),
            "judgment": None if judgment is None else asdict(judgment),
            "owner": self._owner,
        }
        with self.together():
            self._artifacts.append(record)
            self._put(admitted)
            self._note_usage(given_to, uses)
            if lessons is not None:
                self._learn(lessons, judgment)
        return [item.memory_id for item in admitted]

    def _learn(self, lessons: Lessons, judgment: Judgment | None) -> None:
        for memory_id in lessons.followed if judgment is not None else ():
            for place in self._places(gate.admit_id(memory_id, "memory_id")):
                item, success = self._items[place], judgment is not None and judgment.is_success
                self._items[place] = replace(
                    item,
                    success_count=item.success_count + success,
                    failure_count=item.failure_count + (not success),
                )
        apply_lessons(self, lessons)

    def adjust_confidence(
        self, memory_id: str, delta: float, *, kind: str, reason: str | None = None
    ) -> float:
        """Move a memory's confidence by `delta`, clamped to [0, 1], and log why; the new
        confidence."""
        place = self._place(memory_id)
        if place is None:
            raise NotFound(f"no memory {memory_id!r} here: `rlm memory list` shows what there is")
        state, item = self._state(), self._items[place]
        before = item.confidence or 0.0
        after = min(1.0, max(0.0, before + gate.finite(delta, "delta")))
        kind = gate.admit_text(kind, "kind", 64)
        text = None if reason is None else gate.admit_text(reason, "reason", 2_000)
        self._items[place] = replace(item, confidence=after)
        self._note_signal(self._items[place], kind, before, text)
        self._saved(state)
        return after

    def _note_signal(self, item: MemoryItem, kind: str, before: float, reason: str | None) -> None:
        after = item.confidence or 0.0
        moved = {"delta": after - before, "before": before, "after": after, "reason": reason}
        about = {"memory_id": item.memory_id, "owner": [item.org, item.team, item.project]}
        self._signals.append({**about, "at": clock.now_iso(), "kind": kind, **moved})

    def signals(self, memory_id: str) -> list[dict[str, Any]]:
        """Every change of a memory's confidence, oldest first: at, kind, delta, before, after,
        reason."""
        kept = [signal for signal in self._seen(self._signals) if signal["memory_id"] == memory_id]
        names = ("at", "kind", "delta", "before", "after", "reason")
        return [{name: signal[name] for name in names} for signal in kept]

    def recent_runs(
        self, limit: int = 20, *, trajectory_id: str | None = None
    ) -> list[tuple[Run, Trajectory]]:
        """The newest trajectories first, each with its run; or the one of this id."""
        records = self._seen(self._artifacts)
        kept = [(Run(**record["run"]), Trajectory(**record["trajectory"])) for record in records]
        kept = [
            pair for pair in kept if trajectory_id is None or pair[1].trajectory_id == trajectory_id
        ]
        kept.sort(key=lambda pair: pair[1].trajectory_id)
        kept.sort(key=lambda pair: pair[1].created_at, reverse=True)
        return kept[: gate.check_count(limit, "limit")]

    def learning_rows(
        self, limit: int = 10_000, *, curriculum_id: str | None = None
    ) -> Iterator[LearningRow]:
        """Every trajectory in little, the last stored first."""
        used: dict[str, list[tuple[str, int, float | None]]] = {}
        for use in self._seen(self._usage):
            used.setdefault(use["trajectory_id"], []).append(
                (use["memory_id"], use["rank"], use["score"])
            )
        rows = (_learning_row(record, used) for record in reversed(self._seen(self._artifacts)))
        wanted = (row for row in rows if curriculum_id in (None, row.curriculum_id))
        yield from islice(wanted, gate.check_count(limit, "limit"))

    def judged_high(self, trajectory_ids: Sequence[str]) -> set[str]:
        """Which of these trajectories have a judgment of high confidence."""
        wanted = set(trajectory_ids)
        return {
            record["trajectory"]["trajectory_id"]
            for record in self._seen(self._artifacts)
            if record["judgment"] and record["judgment"]["confidence"] == "high"
        } & wanted

    # -- packs -------------------------------------------------------------------------------------

    def add_pack(
        self,
        pack: NewPack,
        chunks: Iterable[Sequence[MemoryItem]],
        *,
        level: str = "project",
        on_progress: Callable[[int], None] | None = None,
    ) -> tuple[int, int]:
        """Import memories that passed the gate, all or none: the import's number, how many are new."""
        brought: dict[str, str] = {}
        with self.together():
            read = 0
            for chunk in chunks:
                for item in chunk:
                    if self._bring(item, lift=pack.trust == "trusted"):
                        brought[item.memory_id] = _digest(item)
                read += len(chunk)
                if on_progress is not None:
                    on_progress(read)
            same = [
                row
                for row in self._seen(self._packs)
                if (row["name"], row["sha256"]) == (pack.name, pack.sha256)
                and row["rolled_back_at"] is None
            ]
            if same and not brought:
                return int(same[0]["pack_no"]), 0
            number = 1 + max((row["pack_no"] for row in self._packs), default=0)
            counts = {"item_count": read, "added_count": len(brought)}
            row = {"pack_no": number, **asdict(pack), **counts, "imported_at": clock.now_iso()}
            owner = {"owner": self._owner, "level": level}
            self._packs.append({**row, "rolled_back_at": None, "brought": brought, **owner})
        return number, len(brought)

    def _bring(self, item: MemoryItem, *, lift: bool) -> bool:
        """Add one memory of a pack, or bring it back; False where it stays as it is."""
        place = next(
            (at for at in self._places(item.memory_id) if self._items[at].level == item.level), None
        )
        if place is None:
            self._items.append(item)
            return True
        old = self._items[place]
        quarantined = lift and old.trust == "quarantined" and old.source_type == "pack"
        rolled_back = old.archived_at is not None and any(
            row["rolled_back_at"] == old.archived_at and item.memory_id in row["brought"]
            for row in self._seen(self._packs)
        )
        if not (rolled_back or (quarantined and old.archived_at is None)):
            return False
        counters = ("access_count", "success_count", "failure_count", "last_used")
        kept = {name: getattr(old, name) for name in counters}
        self._items[place] = replace(item, **kept)
        return True

    def packs(self) -> list[PackRow]:
        """Every import that this tenant may see, oldest first."""
        names = PackRow.__slots__
        return [PackRow(**{name: row[name] for name in names}) for row in self._seen(self._packs)]

    def rollback_pack(self, pack_no: int) -> tuple[int, list[str]]:
        """Archive what an import added and nobody changed; how many, and the ids of what stays."""
        row = next((row for row in self._seen(self._packs) if row["pack_no"] == pack_no), None)
        if row is None or row["rolled_back_at"] is not None:
            return 0, []
        now, archived, kept = clock.now_iso(), 0, []
        with self.together():
            for place, item in enumerate(self._items):
                if not self._mine(item) or item.archived_at is not None:
                    continue
                if item.memory_id in row["brought"] and item.level == row["level"]:
                    if _digest(item) == row["brought"][item.memory_id]:
                        self._items[place] = replace(item, archived_at=now)
                        archived += 1
                    else:
                        kept.append(item.memory_id)
                elif item.provenance.get("edited_from") in row["brought"]:
                    kept.append(item.memory_id)
            at = self._packs.index(row)
            self._packs[at] = {**row, "rolled_back_at": now}
        return archived, sorted(kept)

    # -- what it lacks -----------------------------------------------------------------------------

    def queue_session(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported."""
        raise _lacking("queue")

    lease_job = finish_job = fail_job = jobs = queue_session

    def open_branch(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported."""
        raise _lacking("branches")

    get_branch = spend_branch = end_branch = branches = open_branch

    def other_projects(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Not supported."""
        raise _lacking("projects")

    adopt_project = other_projects

    # -- the whole ---------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        """Counts, and which engines are live."""
        live, records = self.memories, self._seen(self._artifacts)

        def groups(name: str) -> dict[str, int]:
            values = sorted(getattr(item, name) for item in live)
            return {value: values.count(value) for value in dict.fromkeys(values)}

        return {
            "memories": len(live),
            "archived": len(self._visible()) - len(live),
            "quarantined": sum(item.trust == "quarantined" for item in live),
            **{f"by_{name}": groups(name) for name in ("source_type", "outcome", "trust", "level")},
            "runs": len({entry["run"]["run_id"] for entry in records}),
            "trajectories": len(records),
            "path": None if self.path is None else str(self.path),
            "tenant": {
                "org": self.tenant.org,
                "team": self.tenant.team,
                "project": self.tenant.project,
            },
            "engine": {
                "store": "json",
                "lexical": "scan",
                "semantic": self.embedder.model if self.embedder else None,
            },
        }

    def check(self) -> list[Check]:
        """Every row was read and checked when the file was opened."""
        return [Check("file", True, "ok: every row was read and checked")]

    def repair(self) -> list[str]:
        """There is nothing that could be made anew: the file is its rows."""
        return []

    def backup(self, path: str | Path) -> Path:
        """A whole copy."""
        return self.save(Path(path).expanduser())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _learning_row(
    record: dict[str, Any], used: dict[str, list[tuple[str, int, float | None]]]
) -> LearningRow:
    run, made, verdict = record["run"], record["trajectory"], record["judgment"] or {}
    columns = {
        name: made[name]
        for name in ("trajectory_id", "created_at", "task_query", "iteration_count")
    }
    columns |= {"run_id": run["run_id"], "converged": bool(made["converged"]), "model": run["model"],
                "ontology_name": run["ontology_name"], "is_success": verdict.get("is_success"),
                "confidence": verdict.get("confidence")}  # fmt: skip
    return learning_row(columns, made["artifact"], used.get(made["trajectory_id"], []))


def _digest(item: MemoryItem) -> str:
    """What a pack brought of a memory: a memory of another digest was changed since."""
    said = (item.title, item.description, item.content, item.tags, item.scope.to_dict())
    text = canonical_json([*said, item.task_query, item.outcome])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What a list supplies to recall: every memory is read. A number is a place in the list."""

    items: Sequence[MemoryItem]
    columns: Sequence[tuple[str, ...]]
    known: Sequence[tuple[frozenset[str], bytes | None]]
    weights: Sequence[float] = ITEM_WEIGHTS

    def corpus(self, query: Query) -> Corpus:
        terms = (*query.terms, *query.stops)
        chars = sum(sum(map(len, words)) for words in self.columns)
        holding = {term: sum(term in stems for stems, _ in self.known) for term in terms}
        return Corpus(len(self.items), chars / max(1, len(self.items)), holding)

    def by_words(
        self, query: Query, weights: Mapping[str, float], count: int
    ) -> Mapping[int, float]:
        terms = frozenset(query.terms)
        found = ((at, terms & stems) for at, (stems, _) in enumerate(self.known))
        return {at: sum(map(weights.__getitem__, held)) for at, held in found if held}

    def by_meaning(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        size = 2 * len(vector)
        places = [at for at, (_, own) in enumerate(self.known) if own and len(own) == size]
        data = b"".join(self.known[at][1] or b"" for at in places)
        cosines = np.frombuffer(data, np.float16).reshape(len(places), -1).astype(np.float32)
        return dict(zip(places, (cosines @ vector).tolist(), strict=True)) if places else {}

    def rows(self, numbers: Sequence[int]) -> Iterator[Document]:
        for at in numbers:
            item, vector = self.items[at], self.known[at][1]
            confidence, used = float(item.confidence or 0.0), item.last_used
            yield Document(
                at, item.memory_id, self.columns[at], vector, confidence, used, item.level, item
            )

    def neighbours(self, numbers: Sequence[int]) -> Sequence[Loan]:
        return ()

    def most_confident(self) -> float:
        return max((float(item.confidence or 0.0) for item in self.items), default=0.0)
