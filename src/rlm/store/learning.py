"""What insights and evaluation read of a stored run: one small row a trajectory, whatever keeps it.

The artifact of a trajectory is JSON that older versions, other programs and tests have written, so
nothing of its form is taken for granted: a field that is missing or of another type is None, and no
row is lost for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlm.errors import NotFound
from rlm.store.types import Lessons

if TYPE_CHECKING:
    from rlm.store.backend import MemoryBackend

TEXT_CHARS = 500
TEXTS = ("kind", "curriculum_id", "task_id", "task_hash", "reason")
FIELDS = (*TEXTS, "injected", "uses", "usage", "terms")
"""The keys of an artifact that are read."""


@dataclass(frozen=True, slots=True)
class Given:
    """One memory that a trajectory was given.

    `injected`: it stood in the prompt; a memory may be retrieved and then left out. `followed` is
    None when the run did not say what it used. `left`: it was taken up, and left again.
    """

    memory_id: str
    rank: int
    score: float | None
    injected: bool = True
    followed: bool | None = None
    left: bool = False


@dataclass(frozen=True, slots=True)
class LearningRow:
    """A summary of one trajectory; `is_success` is None unless judged, `kind` unless known."""

    trajectory_id: str
    run_id: str
    created_at: str
    task_query: str
    iteration_count: int
    converged: bool
    is_success: bool | None = None
    confidence: str | None = None
    model: str | None = None
    ontology_name: str | None = None
    kind: str | None = None
    curriculum_id: str | None = None
    task_id: str | None = None
    task_hash: str | None = None
    reason: str | None = None
    tokens: int | None = None
    given: tuple[Given, ...] = ()
    terms: tuple[str, ...] = ()
    """The classes and properties that its queries needed."""

    @property
    def injected(self) -> tuple[Given, ...]:
        """Those that stood in the prompt."""
        return tuple(each for each in self.given if each.injected)


def learning_row(
    trajectory: Mapping[str, Any],
    artifact: Mapping[str, Any],
    used: Sequence[tuple[str, int, float | None]],
) -> LearningRow:
    """A row from its columns, the artifact's fields, and its usage in any order."""
    texts: dict[str, Any] = {name: _text(artifact.get(name)) for name in TEXTS}
    tokens = _tokens(artifact.get("usage"))
    given = _given_memories(artifact, sorted(used, key=lambda use: (use[1], use[0])))
    named = artifact.get("terms")
    terms = tuple(t for t in named if isinstance(t, str)) if isinstance(named, list) else ()
    return LearningRow(**trajectory, **texts, tokens=tokens, given=given, terms=terms)


def _text(value: Any) -> str | None:
    return value[:TEXT_CHARS] if isinstance(value, str) and value else None


def _tokens(usage: Any) -> int | None:
    if not isinstance(usage, Mapping):
        return None
    counts = [usage.get("input_tokens"), usage.get("output_tokens")]
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    return sum(known) if known else None


def _given_memories(
    artifact: Mapping[str, Any], used: Sequence[tuple[str, int, float | None]]
) -> tuple[Given, ...]:
    shown = artifact.get("injected")
    if not isinstance(shown, list):
        return tuple(Given(*each) for each in used)
    uses = artifact.get("uses")
    said = isinstance(uses, Mapping) and bool(uses.get("said"))
    numbers, left = _numbers(uses, "followed"), _numbers(uses, "abandoned")
    found = []
    ids = {memory_id for memory_id, _, _ in used}
    for memory_id, rank, score in used:
        place = _place(memory_id, rank, shown, ids)
        say = place in numbers if said and place else None
        gone = say is False and place in left
        found.append(Given(memory_id, rank, score, place is not None, say, gone))
    return tuple(found)


def _numbers(uses: Any, name: str) -> set[int]:
    listed = uses.get(name) if isinstance(uses, Mapping) else None
    if not isinstance(listed, list) or not all(isinstance(number, int) for number in listed):
        return set()
    return set(listed)


def _place(memory_id: str, rank: int, shown: list[Any], ids: set[str]) -> int | None:
    """Where it stood in the prompt, from 1. An id that changed since is found by its rank."""
    if memory_id in shown:
        return shown.index(memory_id) + 1
    return rank if rank <= len(shown) and shown[rank - 1] not in ids else None


def apply_lessons(store: MemoryBackend, lessons: Lessons) -> None:
    """What a run changes in existing memories. One that is gone by now is left out."""
    for signal in lessons.signals:
        with suppress(NotFound):
            one, why = signal.memory_id, signal.reason or None
            store.adjust_confidence(one, signal.delta, kind=signal.kind, reason=why)
    for memory_id, changes in lessons.changes:
        with suppress(NotFound):
            store.update(memory_id, **changes)
    for memory_id in lessons.archived:
        store.delete(memory_id)
