"""Recall: the one way from a question to ranked documents, whatever keeps them.

A store supplies `Candidates` and nothing else: what its corpus holds, who shares words with a
query, who is near a vector, and the rows of either. Here the query is planned; the candidates that
look best by the store's own estimates are read and scored exactly, by their own words and their own
vector; the two signals are fused, neighbours lend their words, filters apply, the formula of `rank`
orders what is left, and each hit can say why it was found. Where filters leave too few, more
candidates are looked at.

So one memory and a hundred thousand take the same path, and two stores that hold the same rows give
the same scores, however they find their candidates. Nothing here knows a database.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25, fusion, rank
from rlm.retrieval.embed import Embedder
from rlm.retrieval.explain import Explanation
from rlm.retrieval.tokens import Query, parse_query

CANDIDATES = 256
"""How many of each signal get an estimate at first."""
MOST_CANDIDATES = 1_024
"""How many where even the last of those may win by its confidence; further down nobody does."""
READ = 64
"""How many of those are read; a caller that wants many hits gets more."""
ALL_ROWS = 256
ALL_CHARS = 500_000
"""A corpus of so few rows and characters is read whole: every store gives the same hits."""
WIDEN = 4
"""By how much the look is widened when too few candidates pass, or others look better."""
EQUAL = 1e-6
"""Confidences that differ by less are the same."""
FAR = 1_024
"""Beyond so many nobody is looked for who might be better than those that pass."""
LENDERS = 24
"""So many of the best candidates lend their words to their neighbours."""
SHARES = (0.3, 0.15)
"""The share of a candidate's similarity lent at distance 1, 2 … (docs/experiments.md)."""

MOST_LENT = 0.9
"""Of the best similarity: neighbours of many stay behind those who hold the words."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What one tenant can see: documents, their mean length, and how many hold each term."""

    rows: int
    mean_chars: float
    holding: Mapping[str, int]


@dataclass(slots=True)
class Document:
    """One row, as recall needs it. `row` is the store's own, for filters and for the caller."""

    number: int
    key: str
    """Its id: of the same memory on two levels only the nearest is recalled."""
    columns: Sequence[str]
    vector: bytes | None
    """16-bit floats of the present model, if it has one."""
    confidence: float
    last_used: str | None = None
    level: str = "project"
    row: Any = None


@dataclass(frozen=True, slots=True)
class Loan:
    """A neighbour in an ordered edge, and the share of the lender's similarity that it is lent."""

    lender: int
    borrower: int
    share: float


class Candidates(Protocol):
    """What a store supplies, for one tenant, inside one snapshot."""

    @property
    def weights(self) -> Sequence[float]:
        """Of each of a document's columns."""

    def corpus(self, query: Query) -> Corpus:
        """What the tenant can see, with the document frequency of the query's terms and stops."""

    def by_words(
        self, query: Query, weights: Mapping[str, float], count: int
    ) -> Mapping[int, float]:
        """The `count` best documents with a term of the query: number, estimate of its BM25."""

    def by_meaning(self, vector: Floats, count: int, others: Sequence[int]) -> Mapping[int, float]:
        """The `count` nearest to a vector, and these others: number, estimate of the cosine."""

    def rows(self, numbers: Sequence[int], above: float = -1.0) -> Iterable[Document]:
        """Those of these documents that live, that the tenant may see, and whose confidence is
        above this."""

    @property
    def lends(self) -> bool:
        """Whether documents lend their words to their neighbours: nodes do, memories do not."""
        ...

    def neighbours(self, numbers: Sequence[int]) -> Iterable[Loan]:
        """Who stands beside these documents in an ordered edge; nobody, for memories."""

    def most_confident(self) -> float:
        """At least the highest confidence of any document."""


@dataclass(slots=True)
class ScoredDocument:
    """A candidate with its scores. `lent` is what neighbours lent, by their key."""

    document: Document
    lexical: float
    cosine: float | None
    similarity: float
    score: float = 0.0
    lent: dict[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    chars: int = 0


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The hits of one question, best first, and what is needed to explain them."""

    hits: Sequence[ScoredDocument] = ()
    _search: _Search | None = None

    def explain(self, hit: ScoredDocument) -> Explanation:
        """Every factor of one hit's score, and the words that it shares with the question."""
        assert self._search is not None
        return self._search.explain(hit)


def recall(
    source: Candidates,
    text: str,
    k: int,
    *,
    embedder: Embedder | None,
    now: datetime,
    admits: Callable[[Document], bool] = lambda document: True,
    confidence_share: float = 1.0,
) -> RecallResult:
    """The best `k` documents for any text, best first; fewer when fewer fit."""
    query = parse_query(text)
    vector = None if embedder is None else _embed_query(embedder, query.text)
    if vector is not None and not vector.any():  # the model says nothing of it
        vector = None
    askable = k > 0 and (query.terms or vector is not None)
    corpus = source.corpus(query) if askable else None
    if corpus is None or not corpus.rows:
        return RecallResult()
    plan = fusion.plan(query, corpus.holding, corpus.rows, embedder.model if embedder else "")
    search = _Search(source, query, corpus, plan, vector, now, admits, confidence_share)
    return RecallResult(search.find(min(k, corpus.rows)), search)


_LAST: list[tuple[Embedder, str, Floats]] = []
"""The vector of the last question: it is asked of memories, then of nodes."""


def _embed_query(embedder: Embedder, text: str) -> Floats:
    for known, asked, vector in _LAST:
        if known is embedder and asked == text:
            return vector
    made: Floats = embedder.embed([text])[0]
    _LAST[:] = [(embedder, text, made)]
    return made


@dataclass(slots=True)
class _Search:
    """One question on its way to its hits."""

    source: Candidates
    query: Query
    corpus: Corpus
    plan: fusion.QueryWeights
    vector: Floats | None
    now: datetime
    admits: Callable[[Document], bool]
    confidence_share: float
    known: dict[int, ScoredDocument | None] = field(default_factory=dict)
    """What was read: None for what is no hit."""

    @property
    def mean_chars(self) -> float:
        return self.corpus.mean_chars or 1.0

    def find(self, k: int) -> list[ScoredDocument]:
        """The best `k`. More is read while too few pass, or others look better."""
        corpus = self.corpus
        count, read = max(CANDIDATES, 8 * k), max(READ, 4 * k)
        if corpus.rows <= ALL_ROWS and corpus.rows * corpus.mean_chars <= ALL_CHARS:
            count = read = ALL_ROWS + 1
        while True:
            numbers, rest, estimates = self._candidates(count, read)
            found = self._score(numbers)
            passed = self._rank(found)
            hits, crowded = passed[:k], len(passed) < len(found) and read <= FAR
            if not len(estimates):
                return hits
            if len(hits) == k and not (crowded and hits[-1].similarity < estimates[0]):
                break
            count, read = count * WIDEN, read * WIDEN
        wins_from = hits[-1].score / hits[-1].similarity * (1.0 + 2.0 * rank.RECENCY_GAIN)
        may_win = self._count_challengers(hits[-1], found, estimates, wins_from)
        if may_win == len(estimates) and count < MOST_CANDIDATES:
            best, rest, estimates = self._candidates(MOST_CANDIDATES, read)
            if not len(estimates):  # there are no more than can be read
                return self._rank(self._score(best))[:k]
            may_win = self._count_challengers(hits[-1], found, estimates, wins_from)
        above = rank.confidence_for(wins_from / (1.0 + rank.RECENCY_GAIN), self.confidence_share)
        if not may_win and self._has_lower(hits[-1], found):  # few of those read could win
            may_win, above = READ, hits[-1].document.confidence - EQUAL
        if not may_win:
            return hits
        return self._rank(self._score([*numbers, *rest[:may_win]], above))[:k]

    @staticmethod
    def _has_lower(last: ScoredDocument, found: list[ScoredDocument]) -> bool:
        """Whether what was read is believed less than the last hit, in part."""
        least = last.document.confidence - EQUAL
        return any(hit.document.confidence < least for hit in found)

    def _count_challengers(
        self, last: ScoredDocument, found: list[ScoredDocument], estimates: Floats, least: float
    ) -> int:
        """How many of the rest may win by their confidence: only those are read that have it. Among
        equals the estimates decide: they are too rough to tell recency apart."""
        most = rank.trust(self.source.most_confident(), self.confidence_share)
        lift = most * (1.0 + rank.RECENCY_GAIN)
        if lift <= least:
            return 0
        too_low = max(1.0, min(hit.similarity for hit in found) / max(1e-9, float(estimates[0])))
        return int(np.count_nonzero(estimates * too_low * lift > last.score))

    def _candidates(self, count: int, read: int) -> tuple[list[int], list[int], Floats]:
        """Those that look best; the others and their estimates, none where there is nobody else."""
        source, query, plan, vector = self.source, self.query, self.plan, self.vector
        by_words = source.by_words(query, plan.weights, count) if query.terms else {}
        near = {} if vector is None else source.by_meaning(vector, count, list(by_words))
        numbers = list(near.keys() | by_words.keys())
        few = len(numbers) <= max(read, ALL_ROWS)
        if few and max(len(by_words), len(near.keys() - by_words)) < count:
            return numbers, [], np.empty(0, np.float32)
        lexical = np.array([by_words.get(number, 0.0) for number in numbers], np.float32)
        cosine = np.array([near.get(number, 0.0) for number in numbers], np.float32)
        estimate = fusion.fuse(lexical / plan.ceiling, cosine, plan)
        order = np.argsort(-estimate, kind="stable")
        ordered = [numbers[place] for place in order.tolist()]
        best = ordered[:read]
        if plan.common:  # FTS5 takes such a word for nothing, so its estimates say too little
            best = list(dict.fromkeys([*best, *list(by_words)[: read // 2]]))
        rest = min(read, len(order) - 1)
        return best, ordered[rest:], estimate[order[rest:]]

    def _score(self, numbers: Sequence[int], above: float = -1.0) -> list[ScoredDocument]:
        """Those of these documents that are hits, and the neighbours that they lend to. What was
        not read yet is read only where its confidence is above this."""
        self._read(numbers, above)
        found = {number: hit for number in numbers if (hit := self.known.get(number)) is not None}
        lenders = sorted(found.values(), key=_by_similarity)[:LENDERS]
        loans = list(self.source.neighbours([hit.document.number for hit in lenders]))
        if not loans:
            return list(found.values())
        own = {hit.document.number: hit.similarity for hit in lenders}
        self._read([loan.borrower for loan in loans], keep=True)
        # Copies: the next look begins with what is each one's own.
        hits = {number: replace(hit, lent={}) for number, hit in found.items()}
        for loan in loans:
            borrower = self.known.get(loan.borrower)
            if borrower is None:
                continue
            hit = hits.setdefault(loan.borrower, replace(borrower, lent={}))
            lender = found[loan.lender].document.key
            lent = loan.share * own[loan.lender]
            hit.lent[lender] = max(lent, hit.lent.get(lender, 0.0))
        for hit in hits.values():
            lent = min(sum(hit.lent.values()), MOST_LENT * max(own.values()))
            hit.similarity = min(1.0, hit.similarity + lent)
        return list(hits.values())

    def _read(self, numbers: Sequence[int], above: float = -1.0, *, keep: bool = False) -> None:
        """Score what is unread. What is no hit is forgotten unless kept: it may borrow."""
        fresh = [
            number
            for number in dict.fromkeys(numbers)
            if number not in self.known or (keep and self.known[number] is None)
        ]
        if not fresh:
            return
        self.known.update(dict.fromkeys(fresh))
        terms = frozenset((*self.query.terms, *self.query.stops))
        documents = list(self.source.rows(fresh, above))
        if not self.source.lends:  # else what does not pass may still lend its words
            documents = [each for each in documents if self.admits(each)]
        cosines = self._cosines(documents)
        weighed = [bm25.weigh(each.columns, self.source.weights, terms) for each in documents]
        lexical = np.array(
            [
                fusion.lexical(counts, chars / self.mean_chars, self.plan)
                for counts, chars in weighed
            ],
            np.float32,
        )
        fused = fusion.fuse(lexical, cosines, self.plan)
        rows = zip(
            documents, weighed, lexical.tolist(), cosines.tolist(), fused.tolist(), strict=True
        )
        for document, (counts, chars), words, cosine, similarity in rows:
            is_hit = self.plan.keeps(similarity, words, counts)
            if is_hit or keep:
                own = (words, similarity) if is_hit else (0.0, 0.0)
                meaning = None if self.vector is None else cosine
                hit = ScoredDocument(document, own[0], meaning, own[1], counts=counts, chars=chars)
                self.known[document.number] = hit

    def _cosines(self, documents: Sequence[Document]) -> Floats:
        """The exact cosine of each document; 0 where it has no vector of the present model."""
        out = np.zeros(len(documents), np.float32)
        if self.vector is None:
            return out
        size = 2 * len(self.vector)
        places = [
            place
            for place, document in enumerate(documents)
            if document.vector is not None and len(document.vector) == size
        ]
        if places:
            data = b"".join(documents[place].vector or b"" for place in places)
            matrix = np.frombuffer(data, np.float16).reshape(len(places), -1)
            # Not `@`: there the last digits depend on which other rows are read.
            out[places] = (matrix * self.vector).sum(axis=1)
        return out

    def _rank(self, found: Sequence[ScoredDocument]) -> list[ScoredDocument]:
        """Those that pass the filter, best first; of one key only the nearest level.

        Equal scores are ordered by key: numbers differ from store to store.
        """
        nearest: dict[str, ScoredDocument] = {}
        share = self.confidence_share
        for hit in found:
            document = hit.document
            if hit.similarity <= 0.0 or not self.admits(document):
                continue
            used, level = document.last_used, document.level
            factor = rank.factor(document.confidence, used, level, self.now, share)
            hit.score = hit.similarity * factor
            other = nearest.get(document.key)
            if other is None or _level(hit) > _level(other):
                nearest[document.key] = hit
        return sorted(nearest.values(), key=lambda hit: (-hit.score, hit.document.key))

    def explain(self, hit: ScoredDocument) -> Explanation:
        """Every factor of one hit's score, and the words that it shares with the question."""
        document = hit.document
        parts = bm25.contributions(hit.counts, hit.chars / self.mean_chars, self.plan.weights)
        total = sum(parts.values()) or 1.0
        ordered = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
        return Explanation(
            score=hit.score,
            similarity=hit.similarity,
            lexical=hit.lexical,
            cosine=hit.cosine,
            confidence=document.confidence,
            confidence_share=self.confidence_share,
            recency=rank.recency_boost(document.last_used, self.now),
            level=document.level,
            level_weight=rank.LEVEL_WEIGHT[document.level],
            matched={self.query.spelled.get(term, term): part / total for term, part in ordered},
            context=dict(hit.lent),
            documents=self.corpus.rows,
        )


def _by_similarity(hit: ScoredDocument) -> tuple[float, int]:
    return -hit.similarity, hit.document.number


def _level(hit: ScoredDocument) -> float:
    return rank.LEVEL_WEIGHT[hit.document.level]
