"""Seed 001's `MemoryStore`: memories in one JSON file, or in no file at all.

For minimal environments and for small sets that one wants to read and edit by hand. It passes the
same contract suite as SQLite. The whole file is written at each save, to a temporary file that
replaces the old one, so a crash leaves either the old or the new. Two processes that save at once:
the later one wins; use SQLite for that. A file that cannot be read is never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from rlm import clock
from rlm.errors import NotFound, NotSupported
from rlm.retrieval import bm25, rank
from rlm.retrieval.scan import Found, scan
from rlm.retrieval.tokens import parse_query
from rlm.store import gate
from rlm.store.document import ITEM_WEIGHTS, item_columns, item_text, why
from rlm.store.graph import NO_GRAPH
from rlm.store.jsondoc import JSONDocument
from rlm.store.learning import LearningRow, apply_lessons, learning_row
from rlm.store.records import Use
from rlm.store.types import (
    Hit,
    Judgment,
    Lessons,
    MemoryItem,
    Run,
    Scope,
    Trajectory,
)

_LEVEL_ORDER = {"project": 0, "team": 1, "org": 2}


class MemoryStore(JSONDocument):
    """Memories in a list. With `path` and `autosave`, every write is on disk before it returns."""

    @property
    def memories(self) -> list[MemoryItem]:
        """What this tenant may see and is not archived, oldest first."""
        return [item for item in self._visible() if item.archived_at is None]

    @property
    def graph(self) -> NoReturn:
        """NotSupported, which is an AttributeError, so that `hasattr` says so too."""
        raise NotSupported(NO_GRAPH)

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
        """The best `k` memories for a task, best first, fewer when fewer match. Any string is a
        valid task."""
        gate.check_retrieve(task, outcome, k)
        live = [item for item in self.memories if item.trust != "quarantined"]
        query = parse_query(task)
        vector = None if self.embedder is None else self.embedder.embed([query.text])[0]
        if k <= 0 or not live or (not query.terms and (vector is None or not vector.any())):
            return []
        weighed, vectors = self._analysed(live)
        found = scan(
            query, weighed, vectors, vector if vector is not None and vector.any() else None
        )
        now = clock.now()
        best: dict[str, tuple[float, MemoryItem, Found]] = {}
        for hit in sorted(
            found, key=lambda f: (_LEVEL_ORDER[live[f.place].level], -f.similarity, f.place)
        ):
            item = live[hit.place]
            if (outcome and item.outcome != outcome) or (scope and not item.scope.admits(scope)):
                continue
            factor = rank.factor(float(item.confidence or 0.0), item.last_used, item.level, now)
            best.setdefault(item.memory_id, (hit.similarity * factor, item, hit))
        chosen = sorted(best.values(), key=lambda row: (-row[0], row[2].place))[:k]
        for _, item, _ in chosen:
            item.access_count += 1
            self._pending = True
        return [
            Hit(replace(item), score, why(item, score, hit, hit.matched, now) if explain else None)
            for score, item, hit in chosen
        ]

    def _analysed(
        self, live: Sequence[MemoryItem]
    ) -> tuple[list[tuple[dict[str, float], int]], Any]:
        """Word counts and vectors of every memory, remembered by its words."""
        columns = [item_columns(item) for item in live]
        fresh = [place for place, words in enumerate(columns) if words not in self._cache]
        if fresh:
            texts = [item_text(live[place]) for place in fresh]
            vectors = None
            if (
                self.embedder is not None
            ):  # rounded as SQLite keeps them, so that both give the same scores
                vectors = self.embedder.embed_documents(texts).astype(np.float16).astype(np.float32)
            for index, place in enumerate(fresh):
                weighed = bm25.weigh(columns[place], ITEM_WEIGHTS)
                self._cache[columns[place]] = (weighed, None if vectors is None else vectors[index])
        rows = [self._cache[words] for words in columns]
        if len(self._cache) > 2 * len(rows):
            self._cache = dict(zip(columns, rows, strict=True))
        return [row[0] for row in rows], (
            None if self.embedder is None else np.stack([row[1] for row in rows])
        )

    # -- reading and changing one ------------------------------------------------------------------

    def _place(self, memory_id: str, *, archived_first: bool = False) -> int | None:
        def order(place: int) -> tuple[bool, int, int]:
            item = self._items[place]
            return (item.archived_at is None) == archived_first, _LEVEL_ORDER[item.level], place

        return min(self._places(memory_id), key=order, default=None)

    def _places(self, memory_id: str) -> list[int]:
        """Where a memory stands, on every level that this tenant sees."""
        self._check_open()
        return [
            place
            for place, item in enumerate(self._items)
            if item.memory_id == memory_id and self._mine(item)
        ]

    def get(self, memory_id: str) -> MemoryItem | None:
        """One memory, archived or not; None when this tenant has no such id."""
        place = self._place(memory_id)
        return None if place is None else replace(self._items[place])

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
