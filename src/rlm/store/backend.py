"""What every store can do, whatever it keeps its rows in.

A backend is opened for one tenant; no call names another. All implementations pass one contract
suite (`tests/store/test_contract.py`), which takes a further one as one more parameter. Writes pass
`gate.py`; reads have no side effect but the access count.

The protocol is written in parts, one for each thing that a store keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from rlm.retrieval.embed import Embedder
from rlm.store.learning import LearningRow
from rlm.store.types import (
    LEVELS,
    AccessToken,
    Branch,
    Check,
    Hit,
    Job,
    Judgment,
    Lessons,
    MemoryItem,
    NewPack,
    PackRow,
    Run,
    Scope,
    Tenant,
    Trajectory,
)

if TYPE_CHECKING:
    from rlm.store.qdrant.index import QdrantIndex
    from rlm.store.sql.graph import GraphStore


class ItemStore(Protocol):
    """Memories."""

    def add(self, item: MemoryItem) -> str:
        """Store one memory and return its id. The same memory twice is one row."""

    def add_many(self, items: Iterable[MemoryItem]) -> list[str]:
        """Store a stream of memories, all or none; their ids, in order."""

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
        """The best `k` memories for a task, or as many as match, best first: of these levels, and
        of these kinds, or of any. Without `count_access` it is no use of them."""

    def note_access(self, shown: Iterable[tuple[str, str]]) -> None:
        """Count a use of each of these memories: level and id."""

    def get(self, memory_id: str, *, level: str | None = None) -> MemoryItem | None:
        """One memory, archived or not; None when this tenant has no such id. The nearest, or that
        of one level."""

    def ids_starting(self, kind: str, prefix: str, limit: int = 9) -> list[str]:
        """Ids of memories (`memory`), nodes (`node`) or edges (`edge`) that begin so, in order."""

    def changed_since(self, mark: int) -> tuple[list[str], int]:
        """The ids of memories, live and not in quarantine, that were added or changed after a mark,
        in order; and the mark of now. 0 is the mark before all. A store that keeps no marks gives
        all ids, and 0."""

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
        kind: str | None = None,
        archived: bool = False,
        limit: int = 100,
        offset: int = 0,
    ) -> list[MemoryItem]:
        """Memories by what they are, newest first."""

    def update(self, memory_id: str, /, **changes: Any) -> MemoryItem:
        """Change fields of one memory. New words give it a new id."""

    def set_level(self, memory_id: str, level: str) -> MemoryItem:
        """Move a memory to another level of this tenant, with its signals. ValidationError where
        that level has it already, archived or not."""

    def approve(self, memory_id: str, *, by: str | None = None) -> MemoryItem:
        """Take a memory out of quarantine, and note who said so."""

    def delete(self, memory_id: str) -> bool:
        """Archive one memory; False when there was none to archive. `restore` brings it back."""

    def restore(self, memory_id: str) -> bool:
        """Bring an archived memory back."""

    def purge(self, memory_id: str) -> bool:
        """Remove one memory for good."""

    def adjust_confidence(
        self, memory_id: str, delta: float, *, kind: str, reason: str | None = None
    ) -> float:
        """Move a memory's confidence, clamped to [0, 1], and log why; the new confidence."""

    def signals(self, memory_id: str) -> list[dict[str, Any]]:
        """Every change of confidence, oldest first: at, kind, delta, before, after, reason."""


class RunStore(Protocol):
    """Runs, trajectories, judgments, and which memories they were given."""

    def record_usage(
        self, trajectory_id: str, retrieved: Sequence[tuple[MemoryItem, float]]
    ) -> None:
        """Note which memories a trajectory was given, with rank and score."""

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

    def recent_runs(
        self, limit: int = 20, *, trajectory_id: str | None = None
    ) -> list[tuple[Run, Trajectory]]:
        """Trajectories of this project with their runs, newest first; or that of this id."""

    def learning_rows(
        self, limit: int = 10_000, *, curriculum_id: str | None = None
    ) -> Iterator[LearningRow]:
        """A summary of every trajectory of this project, the last stored first."""

    def judged_high(self, trajectory_ids: Sequence[str]) -> set[str]:
        """Which of these trajectories have a judgment of high confidence."""


class PackLedger(Protocol):
    """Which packs were imported, and what they brought."""

    def add_pack(
        self,
        pack: NewPack,
        chunks: Iterable[Sequence[MemoryItem]],
        *,
        level: str = "project",
        on_progress: Callable[[int], None] | None = None,
    ) -> tuple[int, int]:
        """Import memories that passed the gate, all or none: the import's number, how many are new.

        Only what is absent is added. What a rollback archived comes back, and a trusted pack lifts
        what an untrusted one left in quarantine; what anybody else wrote or changed stays as it is.
        """

    def packs(self) -> list[PackRow]:
        """Every import that this tenant may see, oldest first."""

    def rollback_pack(self, pack_no: int) -> tuple[int, list[str]]:
        """Archive what an import added and nobody changed; how many, and the ids of what stays."""


class SessionQueue(Protocol):
    """Sessions of coding agents that wait to be distilled."""

    def queue_session(
        self, agent: str, session_id: str, payload: dict[str, Any], *, outcome: str = "mixed"
    ) -> int:
        """Queue a session, unique by agent and session; the job's number."""

    def lease_job(self, lease_s: float = 300.0) -> Job | None:
        """The job that waits longest, leased for so long; None when none is due."""

    def finish_job(
        self,
        job: Job,
        memories: Sequence[MemoryItem] = (),
        *,
        result: dict[str, Any] | None = None,
    ) -> list[str]:
        """Store what a session taught and end its job; StoreError without the lease. The `result`
        is kept in the job's payload."""

    def fail_job(
        self,
        job: Job,
        error: str,
        *,
        retry_at: str | None = None,
        result: dict[str, Any] | None = None,
    ) -> None:
        """Try a job again at that time, at most half a day ahead, or never: then it is a dead
        letter. StoreError without the lease. The `result` is kept in the job's payload."""

    def jobs(self, state: str | None = None, limit: int = 100) -> list[Job]:
        """Jobs, the oldest first: ready, leased, done or dead."""

    def find_job(self, agent: str, session_id: str) -> Job | None:
        """The job of a session of this project, whatever its state."""

    def retry_job(self, job_no: int) -> Job:
        """Make a job ready at once, its attempts forgotten. NotFound for another's number."""

    def drop_job(self, job_no: int) -> bool:
        """Forget a job; False when there is none. Who has it leased cannot finish it. What it has
        cost today still counts."""

    def spend_job(self, job: Job, *, calls: int = 0, tokens: int = 0, cost_usd: float = 0) -> None:
        """Note what a job has cost by now, lease or none: it counts for today."""

    def spent_today(self) -> dict[str, float]:
        """What all jobs of the organisation cost today (UTC): calls, tokens, cost_usd."""


class BranchStore(Protocol):
    """Branches of sessions (context folding)."""

    def open_branch(
        self,
        session_id: str,
        description: str,
        budget_tokens: int,
        parent_id: str | None = None,
        *,
        timeout_s: float | None = None,
    ) -> Branch:
        """Begin a branch of a session, below a parent or at its root. One that is open for longer
        than its time is expired."""

    def get_branch(self, branch_id: str) -> Branch | None:
        """One branch; None when this tenant has no such id."""

    def spend_branch(self, branch_id: str, tokens: int) -> Branch:
        """Count tokens against an open branch's budget; above it, LimitExceeded."""

    def end_branch(self, branch_id: str, state: str, result: str | None = None) -> Branch:
        """End an open branch: returned, failed or expired."""

    def branches(self, session_id: str) -> list[Branch]:
        """The branches of a session, the oldest first."""


class TokenStore(Protocol):
    """Who may speak to this store over HTTP."""

    def add_token(self, token_id: str, name: str, digest: str, *, read_only: bool) -> AccessToken:
        """Admit a bearer of the secret with this digest to this tenant. A name is given once."""

    def tokens(self) -> list[AccessToken]:
        """The tokens of this tenant's project, the oldest first."""

    def find_token(self, token_id: str) -> AccessToken | None:
        """A token of whatever tenant: the one call that looks beyond this one, because a server
        learns from it which tenant a connection has."""

    def revoke_token(self, name_or_id: str) -> AccessToken:
        """End a token of this tenant's project. NotFound where there is none."""


class ProjectStore(Protocol):
    """Other projects of the same team."""

    def other_projects(self, what: str = "memories") -> dict[str, int]:
        """How many `memories`, `trajectories`, `jobs` that wait, or `notes` for the index the other
        projects have; the most first."""

    def held_elsewhere(self, memory_ids: Sequence[str]) -> dict[str, int]:
        """How many other projects of the team hold these very memories, of those that this project
        holds itself: the same words for the same scope, live, not from a pack. Only a count leaves
        the other projects; what is only like it is not counted, because a count of likenesses would
        let one feel one's way to texts that one may not read."""

    def adopt_project(self, former: str, *, wait_s: float | None = None) -> bool:
        """Take over a project's former name, while the new one holds nothing."""


class StoreHealth(Protocol):
    """The store as a whole."""

    def together(self) -> AbstractContextManager[None]:
        """Writes inside of this happen all together or not at all."""

    def stats(self) -> dict[str, Any]:
        """Counts, and which engines are live."""

    def check(self) -> list[Check]:
        """Is everything sound? Every check, in order of how much a failure would matter."""

    def repair(self) -> list[str]:
        """Rebuild from the rows what can be: indexes, triggers, vectors; what was done."""

    def stale_vectors(self) -> int:
        """How many rows, of every tenant, have no vector of the present model."""

    def reembed(
        self,
        *,
        on_progress: Callable[[int], object] = ...,
        stopped: Callable[[], bool] = ...,
    ) -> int:
        """Give those one, in batches; how many. Killed anywhere, what is done stays done."""

    def backup(self, path: str | Path) -> Path:
        """A whole copy, made while others may write."""

    def close(self) -> None:
        """Write what is pending and let go of the file."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


@runtime_checkable
class MemoryBackend(
    ItemStore,
    RunStore,
    PackLedger,
    SessionQueue,
    BranchStore,
    TokenStore,
    ProjectStore,
    StoreHealth,
    Protocol,
):
    """One tenant's store."""

    tenant: Tenant
    origin: str
    """Where what is written comes from, unless it says so itself."""
    embedder: Embedder | None
    remote_index: QdrantIndex | None
    """The index on another server that recall goes through, where the settings name one."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""

    @property
    def graph(self) -> GraphStore:
        """The hypergraph."""


def all_items(store: ItemStore) -> Iterator[MemoryItem]:
    """Every live memory that is not in quarantine, the nearest of equal ones, by id."""
    for memory_id in store.changed_since(0)[0]:
        item = store.get(memory_id)
        if item is not None and not item.archived_at and item.trust != "quarantined":
            yield item
