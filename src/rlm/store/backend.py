"""What every store can do, whatever it keeps its rows in.

A backend is opened for one tenant; no call names another. All implementations pass one contract
suite (`tests/store/test_contract.py`). Writes pass `gate.py`; reads have no side effect but the
access count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from rlm.store.learning import LearningRow
from rlm.store.types import Hit, Judgment, Lessons, MemoryItem, Run, Scope, Tenant, Trajectory


@runtime_checkable
class MemoryBackend(Protocol):
    """One tenant's memories."""

    tenant: Tenant

    def add(self, item: MemoryItem) -> str:
        """Store one memory and return its id. The same memory twice is one row."""
        ...

    def add_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store several, all or none; their ids, in order."""
        ...

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
        ...

    def get(self, memory_id: str) -> MemoryItem | None:
        """One memory, archived or not; None when this tenant has no such id."""
        ...

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
        ...

    def update(self, memory_id: str, /, **changes: Any) -> MemoryItem:
        """Change fields of one memory. New words give a new id, which the returned memory carries."""
        ...

    def approve(self, memory_id: str, *, by: str | None = None) -> MemoryItem:
        """Take a memory out of quarantine, and note who said so."""
        ...

    def delete(self, memory_id: str) -> bool:
        """Archive one memory; False when there was none to archive. `restore` brings it back."""
        ...

    def restore(self, memory_id: str) -> bool:
        """Bring an archived memory back."""
        ...

    def purge(self, memory_id: str) -> bool:
        """Remove one memory for good."""
        ...

    def record_usage(
        self, trajectory_id: str, retrieved: Sequence[tuple[MemoryItem, float]]
    ) -> None:
        """Note which memories a trajectory was given, with rank and score."""
        ...

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
        """Store everything that one run produced, all or none; the ids of the new memories.

        A lesson about a memory that is gone by now is left out.
        """
        ...

    def together(self) -> AbstractContextManager[None]:
        """Writes inside of this happen all together or not at all."""
        ...

    def adjust_confidence(
        self, memory_id: str, delta: float, *, kind: str, reason: str | None = None
    ) -> float:
        """Move a memory's confidence by `delta`, clamped to [0, 1], and log why; the new
        confidence."""
        ...

    def signals(self, memory_id: str) -> list[dict[str, Any]]:
        """Every change of a memory's confidence, oldest first: at, kind, delta, before, after,
        reason."""
        ...

    def recent_runs(
        self, limit: int = 20, *, trajectory_id: str | None = None
    ) -> list[tuple[Run, Trajectory]]:
        """The newest trajectories of this project first, each with its run; or the one of this id."""
        ...

    def learning_rows(
        self, limit: int = 10_000, *, curriculum_id: str | None = None
    ) -> Iterator[LearningRow]:
        """Every trajectory of this project in little, the last stored first; of one curriculum, or
        of all."""
        ...

    def pack_names(self) -> list[str]:
        """The packs that were imported and not rolled back, sorted; none where no record is kept."""
        ...

    def stats(self) -> dict[str, Any]:
        """Counts, and which engines are live."""
        ...

    def backup(self, path: str | Path) -> Path:
        """A whole copy, made while others may write."""
        ...

    def close(self) -> None:
        """Write what is pending and let go of the file."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
