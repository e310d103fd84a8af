"""What SQLite supplies to recall: FTS5 and the word index find by words, sign codes by meaning.

Bound to one kind of row. The spaces that the tenant sees come with each question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.embed import Embedder
from rlm.retrieval.recall import Corpus
from rlm.retrieval.tokens import Query, fts5_match, tokens
from rlm.store.sql.candidates import SQLCandidates
from rlm.store.sql.dialect import Connection, Value, fetch, last_number
from rlm.store.sql.sources import LiveRow, Source
from rlm.store.sql.spaces import in_spaces
from rlm.store.sqlite import blocks
from rlm.store.sqlite.blocks import Blocks
from rlm.store.sqlite.connection import SQLiteDatabase
from rlm.store.sqlite.wordindex import WordIndex

Floats = NDArray[np.float32]


class Index:
    """What one process knows of the indexes of one kind of row."""

    def __init__(
        self,
        database: SQLiteDatabase,
        source: Source,
        embedder: Embedder | None,
        *,
        fts5: bool,
        cache: Path,
    ) -> None:
        self._db = database
        self.source = source
        self.fts = fts_table(source)
        self.embedder = embedder
        self.fts5 = fts5
        self.blocks = Blocks(database, source)
        self._unsure = False
        self.words = WordIndex(database, source, cache)

    # -- changes, inside the write of the rows -----------------------------------------------------

    def add(self, connection: Connection, rows: Sequence[LiveRow]) -> None:
        """By one INSERT … SELECT: a trigger makes FTS5 flush after every row."""
        if rows:
            index_rows(connection, self.source, rows[0].number, rows[-1].number)
            blocks.put(connection, self.source, rows, self.model)

    def replace(self, connection: Connection, number: int, row: LiveRow | None) -> None:
        """FTS5 follows by triggers."""
        blocks.erase(connection, self.source, [number])
        blocks.put(connection, self.source, [row] if row else [], self.model)

    def remove(self, connection: Connection, numbers: Sequence[int]) -> None:
        blocks.erase(connection, self.source, numbers)

    def rebuild_codes(self, connection: Connection) -> None:
        blocks.rebuild(connection, self.source, self.model)

    def refresh_codes(self, connection: Connection, first: int, last: int) -> None:
        blocks.refresh(connection, self.source, self.model or "", first, last)

    # -- searching ---------------------------------------------------------------------------------

    def candidates(
        self,
        connection: Connection,
        spaces: tuple[int, ...],
        where: str = "",
        values: tuple[Value, ...] = (),
    ) -> SQLiteCandidates:
        """What this transaction sees; `where` is a further condition of ours on the rows."""
        return SQLiteCandidates(self, connection, spaces, where, values)

    def sync(self, connection: Connection) -> None:
        """Bring the sign codes up to date with this transaction. What was read inside a write may
        have been rolled back, and its numbers given again: it is not kept."""
        if self._unsure:
            self.blocks.forget()
        self._unsure = self._db.in_write
        embedder = self.embedder
        self.blocks.sync(
            connection, embedder.model if embedder else None, embedder.dim if embedder else 0
        )

    @property
    def model(self) -> str | None:
        """The model whose vectors count."""
        return self.embedder.model if self.embedder else None

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
            reindex(connection, self.source)
            self.rebuild_codes(connection)
        self.blocks.forget()
        if self.fts5:
            self.words.rebuild(self.live)

    def live(self) -> int:
        """The live rows of the whole file, from the sign codes: no row is read."""
        with self._db.read() as connection:
            self.sync(connection)
        return self.blocks.live()


@dataclass(slots=True)
class SQLiteCandidates(SQLCandidates):
    """One question's view of one kind of row."""

    _index: Index
    _upto: int = -1
    _tail: dict[str, list[int]] = field(default_factory=dict)
    """Rows that the word index does not know yet, by term; some hundreds at most."""

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
        holding = index.words.count_holding(live, terms) if self._upto else {}
        if holding is None:
            self._upto, holding = 0, {}
        for term in terms if self._has_tail() else ():
            word, more = query.spelled.get(term, term), 0
            if self._upto:
                self._tail[term] = self._newer(word)
                more = len(self._tail[term])
            else:
                sql = f"SELECT count(*) FROM {index.fts} WHERE {index.fts} MATCH ?"
                more = next(iter(self._connection.execute(sql, (self._match([word]),))))[0]
            holding[term] = holding.get(term, 0) + more
        return Corpus(rows, mean_chars, holding)

    def _newer(self, word: str) -> list[int]:
        """Rows behind the word index that hold this word. The blocks say whose they are: to ask
        FTS5 for that too takes it three times as long."""
        fts = self._index.fts
        sql = f"SELECT rowid FROM {fts} WHERE {fts} MATCH ? AND rowid > ?"
        match = fts5_match([word], columns=self._index.source.columns)
        numbers = [row[0] for row in self._connection.execute(sql, (match, self._upto))]
        return self._index.blocks.filter_live(numbers, self._spaces)

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
        fts = index.fts
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

    def _has_tail(self) -> bool:
        """Whether there are rows that only FTS5 knows."""
        if self._upto <= 0:
            return True
        return last_number(self._connection, self._index.source.counter) > self._upto

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


# -- the FTS5 table of each kind of row, where this SQLite has FTS5


def fts_table(source: Source) -> str:
    """Its name. Its columns are those of the source, followed by `space`."""
    return f"{source.kind}_fts"


def index_rows(connection: Connection, source: Source, first: int, last: int) -> None:
    """Put new rows into the full-text index, where there is one."""
    columns = f"{source.column_list}, space"
    if _has_fts(connection, source):
        connection.execute(
            f"INSERT INTO {fts_table(source)}(rowid, {columns}) SELECT {source.key}, {columns} FROM"
            f" {source.view} WHERE {source.key} BETWEEN ? AND ?",
            (first, last),
        )


def reindex(connection: Connection, source: Source) -> None:
    """Rebuild the full-text index from the rows."""
    if _has_fts(connection, source):
        table = fts_table(source)
        connection.execute(f"INSERT INTO {table}({table}) VALUES ('rebuild')")


def _has_fts(connection: Connection, source: Source) -> bool:
    sql = "SELECT 1 FROM sqlite_schema WHERE name = ?"
    return next(iter(connection.execute(sql, (fts_table(source),))), None) is not None
