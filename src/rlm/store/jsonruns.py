"""The part of a JSON store that keeps runs, signals of confidence, and the ledger of packs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from rlm import clock
from rlm.store import gate
from rlm.store.jsondoc import JSONDocument
from rlm.store.learning import LearningRow, apply_lessons, learning_row
from rlm.store.records import Use, admit_artifacts, admit_usage, already_saved
from rlm.store.types import Judgment, Lessons, MemoryItem, NewPack, PackRow, Run, Trajectory
from rlm.store.values import admit_id, check_count

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend


class JSONRuns(JSONDocument):
    """What runs left, why confidence moved, which packs were imported."""

    # -- runs --------------------------------------------------------------------------------------

    def record_usage(
        self, trajectory_id: str, retrieved: Sequence[tuple[MemoryItem, float]]
    ) -> None:
        given_to, uses = admit_usage(trajectory_id, retrieved)
        before = self._state()
        self._note_usage(given_to, uses)
        self._save_or_restore(before)

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
            row = {"trajectory_id": trajectory_id, **use._asdict(), "owner": self._owner}
            self._usage[place : place + 1] = [row]
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
        run, trajectory, judgment = admit_artifacts(run, trajectory, judgment)
        given_to, uses = admit_usage(trajectory.trajectory_id, retrieved)
        admitted = list(gate.admit_items(memories, self.tenant, origin=self.origin))
        own = self._own_rows(self._artifacts)
        if any(record["trajectory"]["trajectory_id"] == given_to for record in own):
            raise already_saved(given_to)
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
            for place in self._places(admit_id(memory_id, "memory_id")):
                item, success = self._items[place], judgment is not None and judgment.is_success
                name = "success_count" if success else "failure_count"
                self._items[place] = replace(item, **{name: getattr(item, name) + 1})
        apply_lessons(cast("MemoryBackend", self), lessons)

    def adjust_confidence(
        self, memory_id: str, delta: float, *, kind: str, reason: str | None = None
    ) -> float:
        place, state = self._existing(memory_id), self._state()
        item = self._items[place]
        before, after, kind, why = gate.move_confidence(item, delta, kind, reason)
        self._items[place] = replace(item, confidence=after)
        self._note_signal(self._items[place], kind, before, why)
        self._save_or_restore(state)
        return after

    def _note_signal(self, item: MemoryItem, kind: str, before: float, reason: str | None) -> None:
        after = item.confidence or 0.0
        moved = {"delta": after - before, "before": before, "after": after, "reason": reason}
        about = {"memory_id": item.memory_id, "owner": [item.org, item.team, item.project]}
        self._signals.append({**about, "at": clock.now_iso(), "kind": kind, **moved})

    def signals(self, memory_id: str) -> list[dict[str, Any]]:
        signals, place = self._own_rows(self._signals), self._place(memory_id)
        stable = memory_id if place is None else self._items[place].memory_id
        kept = [signal for signal in signals if signal["memory_id"] == stable]
        names = ("at", "kind", "delta", "before", "after", "reason")
        return [{name: signal[name] for name in names} for signal in kept]

    def recent_runs(
        self, limit: int = 20, *, trajectory_id: str | None = None
    ) -> list[tuple[Run, Trajectory]]:
        records = self._own_rows(self._artifacts)
        kept = [(Run(**record["run"]), Trajectory(**record["trajectory"])) for record in records]
        kept = [pair for pair in kept if trajectory_id in (None, pair[1].trajectory_id)]
        kept.sort(key=lambda pair: pair[1].trajectory_id)
        kept.sort(key=lambda pair: pair[1].created_at, reverse=True)
        return kept[: check_count(limit, "limit")]

    def learning_rows(
        self, limit: int = 10_000, *, curriculum_id: str | None = None
    ) -> Iterator[LearningRow]:
        used: dict[str, list[tuple[str, int, float | None]]] = {}
        for use in self._own_rows(self._usage):
            one = (use["memory_id"], use["rank"], use["score"])
            used.setdefault(use["trajectory_id"], []).append(one)
        rows = (_learning_row(record, used) for record in reversed(self._own_rows(self._artifacts)))
        wanted = (row for row in rows if curriculum_id in (None, row.curriculum_id))
        yield from islice(wanted, check_count(limit, "limit"))

    def judged_high(self, trajectory_ids: Sequence[str]) -> set[str]:
        return {
            record["trajectory"]["trajectory_id"]
            for record in self._own_rows(self._artifacts)
            if record["judgment"] and record["judgment"]["confidence"] == "high"
        }.intersection(trajectory_ids)

    # -- packs -------------------------------------------------------------------------------------

    def add_pack(
        self,
        pack: NewPack,
        chunks: Iterable[Sequence[MemoryItem]],
        *,
        level: str = "project",
        on_progress: Callable[[int], None] | None = None,
    ) -> tuple[int, int]:
        brought: dict[str, bool] = {}
        with self.together():
            read = 0
            for chunk in chunks:
                for item in chunk:
                    if self._bring(item, lift=pack.trust == "trusted"):
                        brought[item.memory_id] = True
                read += len(chunk)
                if on_progress is not None:
                    on_progress(read)
            key, rows = (pack.name, pack.sha256), self._own_rows(self._packs)
            live = (row for row in rows if row["rolled_back_at"] is None)
            same = [row for row in live if (row["name"], row["sha256"]) == key]
            if same and not brought:
                return int(same[0]["pack_no"]), 0
            number = 1 + max((row["pack_no"] for row in self._packs), default=0)
            counts = {"item_count": read, "added_count": len(brought)}
            row = {"pack_no": number, **asdict(pack), **counts, "imported_at": clock.now_iso()}
            org, team, project = self._owner
            owner = [org, team if level != "org" else "", project if level == "project" else ""]
            self._packs.append(
                {**row, "rolled_back_at": None, "brought": brought, "level": level, "owner": owner}
            )
        return number, len(brought)

    def _bring(self, item: MemoryItem, *, lift: bool) -> bool:
        """Add one memory of a pack, or bring it back; False where it stays as it is."""
        places = self._places(item.memory_id)
        place = next((at for at in places if self._items[at].level == item.level), None)
        if place is None:
            self._items.append(item)
            return True
        old = self._items[place]
        quarantined = lift and old.trust == "quarantined" and old.source_type == "pack"
        rolled_back = old.archived_at is not None and any(
            row["rolled_back_at"] == old.archived_at and item.memory_id in row["brought"]
            for row in self._own_rows(self._packs)
        )
        if not (rolled_back or (quarantined and old.archived_at is None)):
            return False
        counters = ("access_count", "success_count", "failure_count", "last_used")
        kept = {name: getattr(old, name) for name in counters}
        self._mark_changed(old)
        self._items[place] = replace(item, **kept)
        return True

    def packs(self) -> list[PackRow]:
        names = PackRow.__slots__
        rows = self._own_rows(self._packs)
        return [PackRow(**{name: row[name] for name in names}) for row in rows]

    def rollback_pack(self, pack_no: int) -> tuple[int, list[str]]:
        row = next((row for row in self._own_rows(self._packs) if row["pack_no"] == pack_no), None)
        if row is None or row["rolled_back_at"] is not None:
            return 0, []
        now, archived, kept = clock.now_iso(), 0, []
        with self.together():
            for place, item in enumerate(self._items):
                if not self._mine(item) or item.archived_at is not None:
                    continue
                if item.memory_id in row["brought"] and item.level == row["level"]:
                    if row["brought"][item.memory_id]:
                        self._items[place] = replace(item, archived_at=now)
                        archived += 1
                    else:
                        kept.append(item.memory_id)
                elif item.provenance.get("edited_from") in row["brought"]:
                    kept.append(item.memory_id)
            at = self._packs.index(row)
            self._packs[at] = {**row, "rolled_back_at": now}
        return archived, sorted(kept)


def _learning_row(
    record: dict[str, Any], used: dict[str, list[tuple[str, int, float | None]]]
) -> LearningRow:
    run, path, verdict = record["run"], record["trajectory"], record["judgment"] or {}
    own = ("trajectory_id", "created_at", "task_query", "iteration_count")
    columns = {
        **{name: path[name] for name in own},
        "converged": bool(path["converged"]),
        **{name: run[name] for name in ("run_id", "model", "ontology_name")},
        **{name: verdict.get(name) for name in ("is_success", "confidence")},
    }
    return learning_row(columns, path["artifact"], used.get(path["trajectory_id"], []))
