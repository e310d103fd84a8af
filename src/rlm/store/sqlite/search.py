"""Search: candidates from the sealed segments and the live tail, one similarity for each.

Three steps. Lexical candidates come from the postings (sealed) and from FTS5 (tail; every row when
FTS5 is missing), semantic ones from a scan over vector codes (sealed) and over full vectors (tail).
The best of them by a first estimate are then read closely: their own words give the exact BM25,
with stopwords, and their own vector the exact cosine. `fusion` makes one number of the two. So it
does not matter where a document lies, and nothing of another tenant enters: not a document, not a
count.

The result is a `Field`: the caller asks it for the best so many, filters and ranks them as it
likes, and asks for more when too few are left.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass

import apsw
import numpy as np
from numpy.typing import NDArray

from rlm.retrieval import bm25, fusion, postings
from rlm.retrieval.codes import hamming, nearest, sign_codes
from rlm.retrieval.embed import Embedder
from rlm.retrieval.scan import shares
from rlm.retrieval.tokens import Query, fts5_match, parse_query
from rlm.store.sqlite.connection import Database
from rlm.store.sqlite.recall import Recall, Sealed, Tail
from rlm.store.sqlite.sources import Source

CANDIDATES = 96
"""How many of each signal get a first estimate."""
READ_CLOSELY = 48
"""How many of those are read closely; a caller that asks for more than `CANDIDATES` gets all read.
"""
LONG_TAIL = 4_096
"""Of a tail longer than this, FTS5 chooses whom to read; else everyone with a word of the query is
read."""
WEIGHED_DOCUMENTS = 8_192
"""How many documents' word counts one process remembers."""

Floats = NDArray[np.float32]
Weighed = tuple[dict[str, float], int]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One document, by number, with both signals and their fusion."""

    number: int
    lexical: float
    cosine: float | None
    similarity: float


@dataclass(slots=True)
class Field:
    """What one query found, inside the transaction that asked."""

    query: Query
    plan: fusion.Plan
    total: int
    _search: Search
    _connection: apsw.Connection
    _sealed: Sealed
    _tail: Tail
    _scores: Floats
    _vector: Floats | None
    _tail_matches: list[int]
    _distances: NDArray[np.uint8] | NDArray[np.uint16] | None = None

    def best(self, count: int) -> tuple[list[Candidate], float]:
        """The best candidates, best first, from the `count` best of each signal; and a bound for
        the rest."""
        numbers, cosine, rest = self._sealed_candidates(count)
        tail_numbers, tail_cosine = self._tail_candidates(count)
        numbers += tail_numbers
        cosine = np.concatenate([cosine, tail_cosine])
        weighed = self._search.weigh(self._connection, numbers)
        average = self.average_length
        lexical = np.array(
            [
                fusion.lexical(weighed[n][0], weighed[n][1] / average, self.plan)
                if n in weighed
                else 0.0
                for n in numbers
            ],
            np.float32,
        )
        similarity = fusion.fuse(lexical, cosine, self.plan.damp)
        plain = self._vector is None
        found = [
            Candidate(number, words, None if plain else meaning, score)
            for number, words, meaning, score in zip(
                numbers, lexical.tolist(), cosine.tolist(), similarity.tolist(), strict=True
            )
            if self.plan.keeps(score, words, weighed[number][0] if number in weighed else {})
        ]
        found.sort(key=lambda c: (-c.similarity, c.number))
        return found, rest

    @property
    def average_length(self) -> float:
        """Mean length in characters of what the tenant may see."""
        return ((self._sealed.visible_chars + self._tail.chars) / self.total) or 1.0

    def _sealed_candidates(self, count: int) -> tuple[list[int], Floats, float]:
        """Numbers and cosines of those worth reading, and the estimate of the best one left out."""
        if not len(self._sealed.numbers):
            return [], np.empty(0, np.float32), 0.0
        places = postings.top(self._scores, count)
        if self._vector is not None:
            places = np.union1d(places, self._near(count))
        numbers = self._sealed.numbers[places]
        cosine = self._search.cosines(self._connection, numbers, self._vector)
        estimate = fusion.fuse(self._scores[places], cosine, self.plan.damp)
        order = np.argsort(-estimate, kind="stable")
        read = order[: max(READ_CLOSELY, 2 * (count - CANDIDATES))]
        rest = float(estimate[order[len(read)]]) if len(order) > len(read) else 0.0
        return numbers[read].tolist(), cosine[read], rest

    def _near(self, count: int) -> NDArray[np.intp]:
        assert self._vector is not None
        if self._distances is None:
            distances = hamming(self._sealed.codes, sign_codes(self._vector[None, :])[0])
            if self._sealed.visible is not None:
                distances[~self._sealed.visible] = np.iinfo(distances.dtype).max
            self._distances = distances
        near = nearest(self._distances, count)
        return near[self._distances[near] < np.iinfo(self._distances.dtype).max]

    def _tail_candidates(self, count: int) -> tuple[list[int], Floats]:
        numbers = self._tail.numbers
        if not len(numbers):
            return [], np.empty(0, np.float32)
        cosine = np.zeros(len(numbers), np.float32)
        chosen = np.isin(numbers, np.array(self._tail_matches, np.int64))
        if self._vector is not None:
            cosine = self._tail.vectors @ self._vector
            chosen[np.argsort(-cosine, kind="stable")[:count]] = True
        places = np.flatnonzero(chosen)
        return numbers[places].tolist(), cosine[places]

    def matched(self, number: int) -> dict[str, float]:
        """The query's words that one document holds, as typed, each with its share of the
        document's score."""
        weighed = self._search.weigh(self._connection, [number]).get(number)
        if weighed is None:
            return {}
        counts, length = weighed
        return shares(
            self.query, bm25.contributions(counts, length / self.average_length, self.plan.weights)
        )


class Search:
    """Search over one kind of row. Bound to a database; the spaces to see come with each call."""

    def __init__(
        self, database: Database, source: Source, embedder: Embedder | None, *, fts5: bool
    ) -> None:
        self._db = database
        self._source = source
        self._embedder = embedder
        self._fts5 = fts5
        self._weighed: OrderedDict[int, Weighed] = OrderedDict()
        self.recall = Recall(database, source, embedder)

    def field(
        self, connection: apsw.Connection, text: str, spaces: tuple[int, ...]
    ) -> Field | None:
        """Everything that answers `text`, inside the caller's read transaction. None when nothing
        can."""
        query = parse_query(text)
        vector = self._embed(query.text)
        if not spaces or (not query.terms and vector is None):
            return None
        sealed, tail = self.recall.sync(connection, spaces)
        total = sealed.visible_count + len(tail.numbers)
        if not total:
            return None
        lists = self.recall.postings(connection, sealed, query.terms)
        matches, holding = self._tail_words(connection, query, sealed, tail, spaces)
        for term, parts in lists.items():
            holding[term] = holding.get(term, 0) + sum(
                _visible(sealed, base, docs) for base, docs, _ in parts
            )
        for term, held in self.recall.holding(connection, sealed, query.stops).items():
            holding[term] = holding.get(term, 0) + held
        plan = fusion.plan(query, holding, total)
        scores = np.zeros(len(sealed.numbers), np.float32)
        for term, parts in lists.items():
            unit = np.float32(plan.weights[term] * postings.STEP / plan.ceiling)
            for base, docs, impacts in parts:
                scores[base : base + postings.MAX_DOCUMENTS][docs] += impacts * unit
        if sealed.visible is not None:
            scores[~sealed.visible] = 0.0
        return Field(query, plan, total, self, connection, sealed, tail, scores, vector, matches)

    def _embed(self, text: str) -> Floats | None:
        if self._embedder is None:
            return None
        vector = self._embedder.embed([text])[0]
        return vector if np.any(vector) else None

    # -- the tail ----------------------------------------------------------------------------------

    def _tail_words(
        self,
        connection: apsw.Connection,
        query: Query,
        sealed: Sealed,
        tail: Tail,
        spaces: tuple[int, ...],
    ) -> tuple[list[int], dict[str, int]]:
        """Tail documents that hold a query word, and in how many each word is."""
        if not len(tail.numbers) or not query.terms:
            return [], {}
        if not self._fts5:
            return self._tail_scan(connection, query, tail)
        mine = fts5_match([f"s{space}" for space in spaces], columns=("space",))
        guard = f"{mine} AND " if tail.foreign else ""
        fts, after = self._source.fts, sealed.watermark
        count_sql = f"SELECT count(*) FROM {fts} WHERE {fts} MATCH ? AND rowid > ?"
        held = {}
        for term in (*query.terms, *query.stops):
            match = fts5_match((query.spelled.get(term, term),), columns=self._source.columns)
            held[term] = next(iter(connection.execute(count_sql, (f"{guard}{match}", after))))[0]
        match = fts5_match(
            [query.spelled.get(t, t) for t in query.terms], columns=self._source.columns
        )
        sql = f"SELECT rowid FROM {fts} WHERE {fts} MATCH ? AND rowid > ?"
        if len(tail.numbers) > LONG_TAIL:  # somebody is loading in bulk: the seal has yet to come
            sql += f" ORDER BY {self._fts_rank()} LIMIT {LONG_TAIL // 4}"
        values = (f"{guard}{match}", after)
        return [row[0] for row in connection.execute(sql, values)], held

    def _fts_rank(self) -> str:
        weights = ", ".join(str(weight) for weight in (*self._source.weights, 0.0))
        return f"bm25({self._source.fts}, {weights})"

    def _tail_scan(
        self, connection: apsw.Connection, query: Query, tail: Tail
    ) -> tuple[list[int], dict[str, int]]:
        """Without FTS5: read the words of every tail document."""
        weighed = self.weigh(connection, tail.numbers.tolist())
        matches = [
            n for n, (counts, _) in weighed.items() if any(term in counts for term in query.terms)
        ]
        terms = (*query.terms, *query.stops)
        held = {term: sum(term in counts for counts, _ in weighed.values()) for term in terms}
        return matches, held

    # -- reading documents -------------------------------------------------------------------------

    def weigh(self, connection: apsw.Connection, numbers: list[int]) -> dict[int, Weighed]:
        """The word counts of these documents. A number's words never change, so they are
        remembered."""
        known = {number: self._weighed[number] for number in numbers if number in self._weighed}
        missing = [number for number in numbers if number not in known]
        if missing:
            sql = (
                f"SELECT {self._source.key}, {self._source.column_list} FROM {self._source.view} "
                f"WHERE {self._source.key} IN (SELECT value FROM json_each(?))"
            )
            for number, *columns in connection.execute(sql, (json.dumps(missing),)):
                self._source.check_texts(number, columns)
                known[number] = bm25.weigh(columns, self._source.weights)
                if not self._db.in_write:  # else the number may be rolled back and given to another
                    self._weighed[number] = known[number]
            while len(self._weighed) > WEIGHED_DOCUMENTS:
                self._weighed.popitem(last=False)
        return known

    def cosines(
        self, connection: apsw.Connection, numbers: NDArray[np.int64], vector: Floats | None
    ) -> Floats:
        """The exact cosine of each document; 0 where it has no vector of the present model."""
        out = np.zeros(len(numbers), np.float32)
        if vector is None or not len(numbers):
            return out
        sql = (
            f"SELECT {self._source.key}, embedding FROM {self._source.table} "
            f"WHERE {self._source.key} IN (SELECT value FROM json_each(?)) AND embedding_model = ?"
        )
        place = {number: i for i, number in enumerate(numbers.tolist())}
        size = 2 * len(vector)
        found, places = [], []
        for number, data in connection.execute(
            sql, (json.dumps(numbers.tolist()), self.recall.model)
        ):
            if data is not None and len(data) == size:
                found.append(data)
                places.append(place[number])
        if found:
            matrix = np.frombuffer(b"".join(found), np.float16).reshape(len(found), len(vector))
            out[places] = matrix.astype(np.float32) @ vector
        return out


def _visible(sealed: Sealed, base: int, documents: NDArray[np.uint16]) -> int:
    if sealed.visible is None:
        return len(documents)
    return int(np.count_nonzero(sealed.visible[base : base + postings.MAX_DOCUMENTS][documents]))
