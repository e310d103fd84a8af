"""Seed 001's `MemoryStore`: memories in one JSON file, or in no file at all.

For minimal environments and for small sets that one wants to read and edit by hand. It passes the
same contract suite as SQLite. The whole file is written at each save, to a temporary file that
replaces the old one, so a crash leaves either the old or the new. Two processes that save at once:
the later one wins; use SQLite for that. A file that cannot be read is never overwritten.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from rlm import clock
from rlm.errors import NotSupported
from rlm.retrieval import bm25
from rlm.retrieval.recall import Corpus, Document, Loan, recall
from rlm.retrieval.tokens import Query, tokens
from rlm.store import gate
from rlm.store.document import ITEM_WEIGHTS, item_columns, item_text
from rlm.store.jsondoc import Words
from rlm.store.jsonruns import JSONRuns
from rlm.store.records import ID_KINDS, check_listing
from rlm.store.types import Check, Hit, MemoryItem, Scope
from rlm.store.values import check_count, choice

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


class MemoryStore(JSONRuns):
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

    # -- adding ------------------------------------------------------------------------------------

    def add(self, item: MemoryItem) -> str:
        return self.add_many([item])[0]

    def add_many(self, items: Iterable[MemoryItem]) -> list[str]:
        admitted = list(gate.admit_items(items, self.tenant, origin=self.origin))
        before = self._state()
        self._put(admitted)
        self._save_or_restore(before)
        return [item.memory_id for item in admitted]

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
        gate.check_retrieve(task, outcome, k)
        live = [item for item in self.memories if item.trust != "quarantined"]

        def admits(document: Document) -> bool:
            item: MemoryItem = document.row
            return outcome in (None, item.outcome) and (scope is None or item.scope.admits(scope))

        source = _Candidates(live, self._read_words(live))
        found = recall(source, task, k, embedder=self.embedder, now=clock.now(), admits=admits)
        hits = []
        for hit in found.hits:
            hit.document.row.access_count += 1
            self._pending = True
            why = found.explain(hit) if explain else None
            hits.append(Hit(replace(hit.document.row), hit.score, why))
        return hits

    def _read_words(self, live: Sequence[MemoryItem]) -> list[Words]:
        """What is searched of every memory; what is known of the same text is not read again."""
        texts = [_searched(item) for item in live]
        fresh = {text: item for text, item in zip(texts, live, strict=True)
                 if text not in self._cache}  # fmt: skip
        vectors: Sequence[bytes | None] = [None] * len(fresh)
        if fresh and self.embedder is not None:  # rounded as SQLite keeps them: the same scores
            rows = self.embedder.embed_documents([item_text(item) for item in fresh.values()])
            vectors = [row.astype(np.float16).tobytes() for row in rows]
        for (text, item), vector in zip(fresh.items(), vectors, strict=True):
            columns = item_columns(item)
            stems = frozenset(tokens("\n".join(columns)))
            self._cache[text] = columns, *bm25.weigh(columns, ITEM_WEIGHTS, stems), vector
        known = [self._cache[text] for text in texts]
        if len(self._cache) > 2 * len(known):
            self._cache = dict(zip(texts, known, strict=True))
        return known

    # -- reading and changing one ------------------------------------------------------------------

    def get(self, memory_id: str) -> MemoryItem | None:
        place = self._place(memory_id)
        return None if place is None else replace(self._items[place])

    def ids_starting(self, kind: str, prefix: str, limit: int = 9) -> list[str]:
        if choice(kind, ID_KINDS, "kind") != "memory":
            raise _lacking("graph")
        ids = {item.memory_id for item in self._visible() if item.memory_id.startswith(prefix)}
        return sorted(ids)[: check_count(limit, "limit")]

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
        names = {"source_type": source_type, "outcome": outcome, "trust": trust, "level": level}
        check_listing(names, provenance, limit, offset)
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
        place = self._existing(memory_id)
        old = self._items[place]
        new = gate.amend_item(old, changes, self.tenant)
        if new.memory_id != old.memory_id and self._place(new.memory_id) is not None:
            raise gate.same_words(new)
        before = self._state()
        self._mark_changed(old)
        self._items[place] = new
        if new.confidence != old.confidence:
            self._note_signal(new, "edit", old.confidence or 0.0, None)
        self._save_or_restore(before)
        return replace(new)

    def delete(self, memory_id: str) -> bool:
        return self._set_archived(memory_id, clock.now_iso())

    def restore(self, memory_id: str) -> bool:
        return self._set_archived(memory_id, None)

    def _set_archived(self, memory_id: str, at: str | None) -> bool:
        place = self._place(memory_id, archived_first=at is None)
        if place is None or (self._items[place].archived_at is None) == (at is None):
            return False
        before = self._state()
        if at is None:
            self._mark_changed(self._items[place])
        self._items[place] = replace(self._items[place], archived_at=at)
        self._save_or_restore(before)
        return True

    def purge(self, memory_id: str) -> bool:
        place = self._place(memory_id)
        if place is None:
            return False
        before = self._state()
        self._mark_changed(self._items[place])
        del self._items[place]
        self._save_or_restore(before)
        return True

    def approve(self, memory_id: str, *, by: str | None = None) -> MemoryItem:
        place = self._existing(memory_id)
        if self._items[place].trust != "trusted":
            before = self._state()
            self._items[place] = gate.approve_item(self._items[place], by)
            self._save_or_restore(before)
        return replace(self._items[place])

    # -- what it lacks -----------------------------------------------------------------------------

    def queue_session(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _lacking("queue")

    lease_job = finish_job = fail_job = jobs = queue_session

    def open_branch(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _lacking("branches")

    get_branch = spend_branch = end_branch = branches = open_branch

    def other_projects(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise _lacking("projects")

    adopt_project = other_projects

    # -- the whole ---------------------------------------------------------------------------------

    def stats(self) -> dict[str, Any]:
        live, records = self.memories, self._own_rows(self._artifacts)

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
            "tenant": asdict(self.tenant),
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
        """Nothing is derived that could be rebuilt: the file is its rows."""
        return []

    def backup(self, path: str | Path) -> Path:
        return self.save(Path(path).expanduser())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _searched(item: MemoryItem) -> tuple[Hashable, ...]:
    """All that the words and the vector of a memory are made of."""
    words = (item.title, item.description, item.task_query, item.content)
    return (*words, tuple(item.tags), item.scope)


@dataclass(frozen=True, slots=True)
class _Candidates:
    """What a list supplies to recall: every memory is read. A number is a place in the list."""

    items: Sequence[MemoryItem]
    known: Sequence[Words]
    weights: Sequence[float] = ITEM_WEIGHTS
    lends: bool = False

    @property
    def _mean_chars(self) -> float:
        return sum(chars for _, _, chars, _ in self.known) / max(1, len(self.known))

    def corpus(self, query: Query) -> Corpus:
        terms = (*query.terms, *query.stops)
        holding = {term: sum(term in counts for _, counts, _, _ in self.known) for term in terms}
        return Corpus(len(self.items), self._mean_chars, holding)

    def by_words(
        self, query: Query, weights: Mapping[str, float], count: int
    ) -> Mapping[int, float]:
        wanted = {term: weights[term] for term in query.terms}
        mean, found = self._mean_chars, {}
        for at, (_, counts, chars, _) in enumerate(self.known):
            if parts := bm25.contributions(counts, chars / mean, wanted):
                found[at] = sum(parts.values())
        return found

    def by_meaning(self, vector: Any, count: int, others: Sequence[int]) -> Mapping[int, float]:
        size = 2 * len(vector)
        places = [at for at, (*_, own) in enumerate(self.known) if own and len(own) == size]
        data = b"".join(self.known[at][-1] or b"" for at in places)
        cosines = np.frombuffer(data, np.float16).reshape(len(places), -1).astype(np.float32)
        return dict(zip(places, (cosines @ vector).tolist(), strict=True)) if places else {}

    def rows(self, numbers: Sequence[int]) -> Iterator[Document]:
        for at in numbers:
            item, (columns, _, _, vector) = self.items[at], self.known[at]
            confidence, used = float(item.confidence or 0.0), item.last_used
            yield Document(at, item.memory_id, columns, vector, confidence, used, item.level, item)

    def neighbours(self, numbers: Sequence[int]) -> Sequence[Loan]:
        return ()

    def most_confident(self) -> float:
        return max((float(item.confidence or 0.0) for item in self.items), default=0.0)
