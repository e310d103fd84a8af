"""What Qdrant supplies to recall: candidates by words and by meaning, of spaces that it has seen.

Everything else is the truth store's: what the corpus holds, the rows, and the candidates of what
the index has not seen yet. A space is asked of Qdrant only if it was built whole; its seal must be
the one of that build, no older than what was fed since and no newer than this snapshot. Else, as
where a note waits in the outbox, the truth store finds the rows. A point whose row has died or
changed leads to no row, so the index may fall behind and never answers for the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rlm.errors import IndexUnavailable
from rlm.retrieval.recall import Candidates, Corpus, Document, Floats, Loan
from rlm.retrieval.tokens import Query
from rlm.store.qdrant import points
from rlm.store.qdrant.points import Body
from rlm.store.sql.dialect import Connection
from rlm.store.sql.outbox import IndexedSpace

if TYPE_CHECKING:
    from rlm.store.qdrant.index import QdrantIndex

Estimates = Mapping[int, float]


@dataclass(slots=True)
class QdrantCandidates:
    """One question's view of the tenant's memories. `asked` are spaces that Qdrant answers for."""

    _index: QdrantIndex
    _truth: Candidates
    _connection: Connection
    _asked: list[IndexedSpace]
    _apart: set[int]
    """Spaces that the truth store answers for."""
    _words: Body | None = field(default=None)

    @property
    def lends(self) -> bool:
        return self._truth.lends

    @property
    def weights(self) -> Sequence[float]:
        return self._truth.weights

    def corpus(self, query: Query) -> Corpus:
        """The truth store's: exact, and of this tenant alone."""
        return self._truth.corpus(query)

    def rows(self, numbers: Sequence[int], above: float = -1.0) -> Iterable[Document]:
        return self._truth.rows(numbers, above)

    def neighbours(self, numbers: Sequence[int]) -> Iterable[Loan]:
        return self._truth.neighbours(numbers)

    def most_confident(self) -> float:
        return self._truth.most_confident()

    def by_words(self, query: Query, weights: Mapping[str, float], count: int) -> Estimates:
        words = points.sparse((term, weights[term]) for term in query.terms)
        self._words = words
        found = self._ask(lambda tenant: [points.words_query(tenant, words, count)])[0]
        if self._has_unseen:
            found |= self._only_unseen(self._truth.by_words(query, weights, count))
        return dict(sorted(found.items(), key=lambda each: (-each[1], each[0]))[:count])

    def by_meaning(self, vector: Floats, count: int, others: Sequence[int]) -> Estimates:
        words = self._words

        def searches(tenant: str) -> list[Body]:
            near = points.meaning_query(tenant, vector, count)
            if words is None:
                return [near]
            return [near, points.words_by_meaning_query(tenant, words, vector, count)]

        near, *again = self._ask(searches, 1 if words is None else 2)
        wanted = set(others)
        for cosines in again:
            near |= {number: cosine for number, cosine in cosines.items() if number in wanted}
        if self._has_unseen:
            near |= self._only_unseen(self._truth.by_meaning(vector, count, others))
        return near

    @property
    def _has_unseen(self) -> bool:
        return bool(self._apart or any(space.waiting for space in self._asked))

    def _only_unseen(self, found: Estimates) -> dict[int, float]:
        """Those that the index cannot know: the best of all that are not in it are among them."""
        unseen = self._index.outbox.unseen(self._connection, found, self._apart)
        return {number: score for number, score in found.items() if number in unseen}

    def _ask(self, searches: Callable[[str], list[Body]], many: int = 1) -> list[dict[int, float]]:
        """The answers of each search, of all spaces together. A space whose collection is missing,
        or is not the one that was built, is left to the truth store from here on."""
        merged: list[dict[int, float]] = [{} for _ in range(many)]
        for space in list(self._asked):
            assert space.build is not None
            bodies = [*searches(space.tenant), points.seal_query(space.tenant)]
            try:
                answers = self._index.client.query(space.build.collection, bodies)
            except IndexUnavailable as exc:
                if not self._index.fallback:
                    raise
                self._index.note_problem(f"{exc}: the store itself is searched")
                self._leave(self._asked)
                return [{} for _ in range(many)]
            problem = points.seal_fault(answers, space)
            if answers is None or problem:
                if problem != points.AHEAD:  # else the next question may find it as it should be
                    where = f"collection {space.build.collection!r}"
                    self._index.note_problem(f"{where} {problem}: the store itself is searched")
                self._leave([space])
                continue
            for found, answer in zip(merged, answers, strict=False):
                found |= points.revisions(answer)
        return merged

    def _leave(self, spaces: Iterable[IndexedSpace]) -> None:
        self._apart |= {space.number for space in spaces}
        self._asked = [space for space in self._asked if space.number not in self._apart]
