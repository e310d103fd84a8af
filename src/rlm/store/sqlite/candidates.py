"""What SQLite supplies to recall: FTS5 and the word index find by words, sign codes by meaning.

Bound to one kind of row. The spaces that the tenant sees come with each question.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.embed import Embedder
from rlm.retrieval.recall import SHARES, Corpus, Document, Loan
from rlm.retrieval.tokens import Query, fts5_match, tokens
from rlm.store.sqlite import blocks
from rlm.store.sqlite.blocks import Blocks
from rlm.store.sqlite.connection import Database, Value, fetch
from rlm.store.sqlite.sources import Source
from rlm.store.sqlite.spaces import in_spaces
from rlm.store.sqlite.wordindex import WordIndex

Floats = NDArray[np.float32]


class Index:
    """What one process knows of the indexes of one kind of row."""

    def __init__(
        self,
        database: Database,
        source: Source,
        embedder: Embedder | None,
        *,
        fts5: bool,
        cache: Path,
    ) -> None:
        self._db = database
        self.source = source
        self._embedder = embedder
        self.fts5 = fts5
        self.blocks = Blocks(database, source)
        self._unsure = False
        self.words = WordIndex(database, source, cache)

    def candidates(
        self,
        connection: apsw.Connection,
        spaces: tuple[int, ...],
        where: str = "",
        values: tuple[Value, ...] = (),
    ) -> SQLiteCandidates:
        """What this transaction sees; `where` is a further condition of ours on the rows."""
        return SQLiteCandidates(self, connection, spaces, where, values)

    def sync(self, connection: apsw.Connection) -> None:
        """Bring the sign codes up to date with this transaction. What was read inside a write may
        have been rolled back, and its numbers given again: it is not kept."""
        if self._unsure:
            self.blocks.forget()
        self._unsure = self._db.in_write
        embedder = self._embedder
        self.blocks.sync(
            connection, embedder.model if embedder else None, embedder.dim if embedder else 0
        )

    @property
    def model(self) -> str | None:
        """The model whose vectors count."""
        return self._embedder.model if self._embedder else None

    @property
    def lexical(self) -> str:
        """What finds rows by words: `tantivy` (and FTS5 for the newest), `fts5` or `scan`."""
        if not self.fts5:
            return "scan"
        return "tantivy" if self.words.upto() else "fts5"

    def catch_up(self, *, force: bool = False) -> bool:
        """Bring the word index up to date, where the store is large and it lags; whether it was."""
        if self._db.in_write or self._db.read_only or not self.fts5:
            return False
        return self.words.catch_up(self.live, force=force)

    def rebuild(self) -> None:
        """Rebuild every index of this kind from the rows."""
        with self._db.write() as connection:
            self.source.reindex(connection)
            blocks.rebuild(connection, self.source, self.model)
        self.blocks.forget()
        if self.fts5:
            self.words.rebuild(self.live)

    def live(self) -> int:
        """The live rows of the whole file, from the sign codes: no row is read."""
        with self._db.read() as connection:
            self.sync(connection)
        return self.blocks.live()


@dataclass(slots=True)
class SQLiteCandidates:
    """One question's view of one kind of row."""

    _index: Index
    _connection: apsw.Connection
    _spaces: tuple[int, ...]
    _where: str = ""
    _values: tuple[Value, ...] = ()
    _upto: int = -1
    _tail: dict[str, list[int]] = field(default_factory=dict)
    """Rows that the word index does not know yet, by term; some hundreds at most."""

    @property
    def lends(self) -> bool:
        return self._index.source.kind == "node"

    @property
    def weights(self) -> Sequence[float]:
        return self._index.source.weights

    def corpus(self, query: Query) -> Corpus:
        """Rows and lengths from the blocks, document frequencies from the indexes."""
        index = self._index
        index.sync(self._connection)
        _, rows, mean_chars = index.blocks.visible(self._spaces)
        terms = (*query.terms, *query.stops)
        if not rows or not terms:
            return Corpus(rows, mean_chars, {})
        if not index.fts5:
            return Corpus(rows, mean_chars, self._scan(terms, {})[1])
        self._upto = index.words.upto()
        live = index.blocks.live_upto(self._spaces, self._upto)
        holding = index.words.holding(live, terms) if self._upto else {}
        if holding is None:
            self._upto, holding = 0, {}
        for term in terms if self._has_tail() else ():
            word, more = query.spelled.get(term, term), 0
            if self._upto:
                self._tail[term] = self._newer(word)
                more = len(self._tail[term])
            else:
                sql = f"SELECT count(*) FROM {index.source.fts} WHERE {index.source.fts} MATCH ?"
                more = next(iter(self._connection.execute(sql, (self._match([word]),))))[0]
            holding[term] = holding.get(term, 0) + more
        return Corpus(rows, mean_chars, holding)

    def _newer(self, word: str) -> list[int]:
        """Rows behind the word index that hold this word. The blocks say whose they are: to ask
        FTS5 for that too takes it three times as long."""
        fts = self._index.source.fts
        sql = f"SELECT rowid FROM {fts} WHERE {fts} MATCH ? AND rowid > ?"
        match = fts5_match([word], columns=self._index.source.columns)
        numbers = [row[0] for row in self._connection.execute(sql, (match, self._upto))]
        return self._index.blocks.living(numbers, self._spaces)

    def by_words(
        self, query: Query, weights: Mapping[str, float], count: int
    ) -> Mapping[int, float]:
        """From the word index, and from FTS5 what came after it."""
        index = self._index
        if not index.fts5:
            return self._scan(query.terms, weights)[0]
        wanted = {term: weights[term] for term in query.terms}
        found = index.words.find(self._spaces, wanted, count) if self._upto else {}
        if found is None:
            self._upto, found = 0, {}
        if self._upto:  # not bm25(): FTS5 would count each word in the whole table, 7 ms
            for term, weight in wanted.items():
                for number in self._tail.get(term, ()):
                    found[number] = found.get(number, 0.0) + weight
            return found
        fts = index.source.fts
        columns = ", ".join(str(weight) for weight in (*index.source.weights, 0.0))
        match = self._match([query.spelled.get(term, term) for term in query.terms])
        sql = (
            f"SELECT rowid, -bm25({fts}, {columns}) AS score FROM {fts}"
            f" WHERE {fts} MATCH ? ORDER BY score DESC LIMIT ?"
        )
        return dict(self._connection.execute(sql, (match, count)))

    def by_meaning(self, vector: Floats, count: int, others: Sequence[int]) -> Mapping[int, float]:
        """By sign codes."""
        return self._index.blocks.near(vector, count, self._spaces, others)

    def rows(self, numbers: Sequence[int], above: float = -1.0) -> Iterable[Document]:
        """Live rows of the tenant's spaces."""
        source, model = self._index.source, self._index.model
        sql = (
            f"SELECT {source.key}, embedding, embedding_model, {source.extra}, {source.row}"
            f" FROM {source.table} WHERE {source.key} IN (SELECT value FROM json_each(?))"
            f" AND +space_id {in_spaces(self._spaces)} AND {source.live} AND confidence > ?"
            f" {self._where}"
        )  # the plus: look up by number, do not walk the space
        first = 3 + source.extra.count(",") + 1
        for row in self._connection.execute(sql, (json.dumps(list(numbers)), above, *self._values)):
            vector = row[1] if row[2] == model else None
            yield source.document(row[0], row[first:], row[3:first], vector)

    def neighbours(self, numbers: Sequence[int]) -> Iterable[Loan]:
        """For nodes, those beside them in an ordered context edge."""
        return _neighbours(self._connection, numbers) if self.lends else ()

    def most_confident(self) -> float:
        """For memories one look-up a space; confidence takes little from a node."""
        if self._index.source.kind == "node":
            return 1.0
        # Only what is above the start of a distilled memory is indexed.
        sql = "SELECT max(confidence) FROM memory_items WHERE space_id = ? AND confidence > 0.6"
        found = (next(iter(self._connection.execute(sql, (space,))))[0] for space in self._spaces)
        return max((confidence or 0.6 for confidence in found), default=0.6)

    def _has_tail(self) -> bool:
        """Whether there are rows that only FTS5 knows."""
        if self._upto <= 0:
            return True
        sql = "SELECT value FROM counters WHERE name = ?"
        counter = self._index.source.counter
        return bool(next(iter(self._connection.execute(sql, (counter,))))[0] > self._upto)

    def _match(self, words: Sequence[str]) -> str:
        """Any of these words, in the tenant's spaces."""
        mine = fts5_match([f"s{space}" for space in self._spaces], columns=("space",))
        return f"{mine} AND {fts5_match(words, columns=self._index.source.columns)}"

    def _scan(
        self, terms: Sequence[str], weights: Mapping[str, float]
    ) -> tuple[dict[int, float], dict[str, int]]:
        """Without FTS5: read the words of every row."""
        source = self._index.source
        sql = (
            f"SELECT {source.key}, {source.column_list} FROM {source.view}"
            f" WHERE space_id {in_spaces(self._spaces)} ORDER BY {source.key}"
        )
        found, holding = {}, dict.fromkeys(terms, 0)
        for number, *columns in fetch(self._connection, sql):
            source.check_texts(number, columns)
            held = holding.keys() & set(tokens("\n".join(columns)))
            for term in held:
                holding[term] += 1
            if held:
                found[number] = sum(weights.get(term, 0.0) for term in held)
        return found, holding


_BESIDE = {"m.position < ?": "DESC", "m.position > ?": "ASC"}


def _neighbours(connection: apsw.Connection, numbers: Sequence[int]) -> Iterable[Loan]:
    """The neighbours of these nodes by distance; an edge's weight below 1 lends less."""
    lenders = fetch(
        connection,
        "SELECT n.node_no, mine.hyperedge_id, mine.position, min(1.0, e.weight) FROM nodes n "
        "JOIN membership mine ON mine.node_id = n.id JOIN hyperedges e ON e.id = mine.hyperedge_id "
        "WHERE e.type = 'context' AND e.weight > 0 "
        "AND n.node_no IN (SELECT value FROM json_each(?))",
        (json.dumps(list(numbers)),),
    )
    for side, order in _BESIDE.items():
        sql = (
            "SELECT n.node_no FROM membership m JOIN nodes n ON n.id = m.node_id WHERE"
            f" m.hyperedge_id = ? AND {side} ORDER BY m.position {order} LIMIT {len(SHARES)}"
        )
        for number, edge, position, weight in lenders:
            beside = fetch(connection, sql, (edge, position))
            for share, (borrower,) in zip(SHARES, beside, strict=False):
                if borrower != number:
                    yield Loan(number, borrower, share * weight)
