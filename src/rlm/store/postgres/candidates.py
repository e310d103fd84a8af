"""What PostgreSQL supplies to recall: GIN over stems finds by words, sign codes by meaning.

All of it lies in the `recall_*` tables, changes in the transaction of the rows, and can be rebuilt
from them. Only the rarest words of a question find candidates, by how many rows of the tenant hold
each; the common ones then add to the estimates of those that were found. An OR of eight common
words reads most of a tenant's rows, and what only they would find ranks low.

The server compares every sign code of a small space; those of a large one each process keeps
(`codes.py`). An HNSW index of pgvector over the codes was measured (docs/experiments.md): for the
1,024 that recall asks for, of 100,000, it takes longer than comparing all, and it answers with too
few where a tenant holds a small share of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rlm.retrieval.bm25 import count_terms
from rlm.retrieval.embed import Embedder
from rlm.retrieval.recall import Corpus
from rlm.retrieval.tokens import Query
from rlm.store.postgres.codes import CodeSet, CodeTable, SpaceTotals, current_table
from rlm.store.postgres.connection import PostgresDatabase
from rlm.store.postgres.schema import CHANGED
from rlm.store.sql.candidates import SQLCandidates
from rlm.store.sql.dialect import Connection, Value, fetch
from rlm.store.sql.sources import LiveRow, Source
from rlm.store.sql.spaces import in_spaces

TERM_CHARS = 200
RARE_ROWS = 4_000
"""So many rows are looked at for the rarest words; at least those of the very rarest."""
PAGE = 2_000

Floats = NDArray[np.float32]


class PostgresIndex:
    """The indexes over one kind of row."""

    def __init__(
        self, database: PostgresDatabase, source: Source, embedder: Embedder | None
    ) -> None:
        self._db = database
        self.source = source
        self.embedder = embedder

    @property
    def model(self) -> str | None:
        return self.embedder.model if self.embedder else None

    @property
    def database(self) -> str:
        return self._db.conninfo

    @property
    def in_write(self) -> bool:
        return self._db.in_write

    @property
    def lexical(self) -> str:
        return "gin"

    # -- changes, inside the write of the rows -----------------------------------------------------

    def add(self, connection: Connection, rows: Sequence[LiveRow]) -> None:
        kind = self.source.kind
        held = [self._terms(row) for row in rows]
        codes = _codes([row.vector for row in rows])
        connection.executemany(
            "INSERT INTO recall_rows(kind, space_id, number, chars, code)"
            " VALUES (?, ?, ?, ?, ?::varbit)",
            [
                (kind, row.space, row.number, row.chars, code)
                for row, code in zip(rows, codes, strict=True)
            ],
        )
        connection.executemany(
            "INSERT INTO recall_words(kind, space_id, number, chars, stems, counts)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [
                (kind, row.space, row.number, row.chars, list(terms), list(terms.values()))
                for row, terms in zip(rows, held, strict=True)
            ],
        )
        for space in dict.fromkeys(row.space for row in rows):
            mine = [n for n, row in enumerate(rows) if row.space == space]
            many = Counter(term for n in mine for term in held[n])
            self._count(connection, space, len(mine), sum(rows[n].chars for n in mine), many)

    def _terms(self, row: LiveRow) -> dict[str, float]:
        """The weighted count of each stem of a row, under the name that the index has for it."""
        prefix, made = _prefix(self.source.kind, row.space), dict[str, float]()
        for stem, count in count_terms(row.columns, self.source.weights).items():
            term = f"{prefix}{stem[:TERM_CHARS]}"
            made[term] = made.get(term, 0.0) + count
        return made

    def replace(self, connection: Connection, number: int, row: LiveRow | None) -> None:
        self.remove(connection, [number])
        self.add(connection, [row] if row else [])

    def remove(self, connection: Connection, numbers: Sequence[int]) -> None:
        which = "kind = ? AND number = ANY(?) AND space_id IN (SELECT space_id FROM spaces)"
        values = (self.source.kind, list(numbers))
        sql = f"DELETE FROM recall_words WHERE {which} RETURNING space_id, stems"
        words = fetch(connection, sql, values) if numbers else []
        sql = f"DELETE FROM recall_rows WHERE {which} RETURNING space_id, chars, number"
        rows = fetch(connection, sql, values) if numbers else []
        for space in dict.fromkeys(row[0] for row in rows):
            held = Counter(stem for owner, stems in words if owner == space for stem in stems)
            chars = -sum(row[1] for row in rows if row[0] == space)
            gone = [row[2] for row in rows if row[0] == space]
            less = {stem: -many for stem, many in held.items()}
            self._count(connection, space, -len(gone), chars, less, gone)

    def _count(
        self,
        connection: Connection,
        space: int,
        rows: int,
        chars: int,
        held: Mapping[str, int],
        changed: Sequence[int] = (),
    ) -> None:
        """Add to the totals and to how many rows hold each stem. `changed` are the rows that were
        removed or got another code."""
        ordered = sorted(held.items())
        connection.execute(
            "INSERT INTO recall_terms(term, space_id, holding) SELECT term, ?, many"
            " FROM unnest(?::text[], ?::bigint[]) AS new(term, many) ON CONFLICT (term)"
            " DO UPDATE SET holding = recall_terms.holding + excluded.holding",
            (space, [term for term, _ in ordered], [many for _, many in ordered]),
        )
        connection.execute(
            "INSERT INTO recall_totals AS t (kind, space_id, documents, chars, changes, changed)"
            " VALUES (?, ?, ?, ?, ?, ?::bigint[]) ON CONFLICT (space_id, kind) DO UPDATE SET"
            " documents = t.documents + excluded.documents, chars = t.chars + excluded.chars,"
            " changes = t.changes + excluded.changes, changed = (t.changed || excluded.changed)"
            f"[greatest(1, cardinality(t.changed) + excluded.changes - {CHANGED - 1}):]",
            (self.source.kind, space, rows, chars, len(changed), list(changed)),
        )

    def rebuild_codes(self, connection: Connection) -> None:
        self.rebuild(connection)

    def refresh_codes(self, connection: Connection, first: int, last: int) -> None:
        source = self.source
        found = fetch(
            connection,
            f"SELECT {source.key}, space_id, embedding FROM {source.view} WHERE {source.key} >= ?"
            f" AND {source.key} <= ? AND embedding_model = ? AND space_id IN ({_TENANTS_SPACES})",
            (first, last, self.model),
        )
        codes = _codes([row[2] for row in found])
        connection.executemany(
            "UPDATE recall_rows SET code = ?::varbit"
            " WHERE kind = ? AND space_id = ? AND number = ?",
            [(code, source.kind, row[1], row[0]) for code, row in zip(codes, found, strict=True)],
        )
        for space in dict.fromkeys(row[1] for row in found):
            changed = [row[0] for row in found if row[1] == space]
            self._count(connection, space, 0, 0, {}, changed)

    def rebuild(self, connection: Connection) -> None:
        """Index the rows of this tenant again. Inside `write()`."""
        source = self.source
        spaces = in_spaces(tuple(row[0] for row in fetch(connection, _TENANTS_SPACES)))
        for table in ("recall_rows", "recall_words"):
            sql = f"DELETE FROM {table} WHERE kind = ? AND space_id {spaces}"
            connection.execute(sql, (source.kind,))
        connection.execute(  # more changes than are listed: all codes are read anew
            f"UPDATE recall_totals SET documents = 0, chars = 0, changes = changes + {CHANGED + 1}"
            f" WHERE kind = ? AND space_id {spaces}",
            (source.kind,),
        )
        prefix = f"{source.kind[0]}%"
        sql = f"DELETE FROM recall_terms WHERE term LIKE ? AND space_id {spaces}"
        connection.execute(sql, (prefix,))
        last = 0
        while page := fetch(
            connection,
            f"SELECT {source.key}, space_id, embedding, embedding_model, {source.column_list}"
            f" FROM {source.view} WHERE {source.key} > ? AND space_id {spaces}"
            f" ORDER BY {source.key} LIMIT {PAGE}",
            (last,),
        ):
            rows = [
                LiveRow(row[0], row[1], row[4:], row[2] if row[3] == self.model else None)
                for row in page
            ]
            self.add(connection, rows)
            last = page[-1][0]

    # -- searching ---------------------------------------------------------------------------------

    def candidates(
        self,
        connection: Connection,
        spaces: tuple[int, ...],
        where: str = "",
        values: tuple[Value, ...] = (),
    ) -> PostgresCandidates:
        return PostgresCandidates(self, connection, spaces, where, values)

    def catch_up(self, *, force: bool = False) -> bool:
        """Nothing lags: the indexes change with the rows."""
        return False


_TENANTS_SPACES = (
    "SELECT space_id FROM spaces WHERE org = current_setting('rlm.org') AND (level = 'org' OR"
    " (team = current_setting('rlm.team') AND (level = 'team' OR project ="
    " current_setting('rlm.project'))))"
)


def _prefix(kind: str, space: int) -> str:
    return f"{kind[0]}{space}_"


def _codes(vectors: Sequence[bytes | None]) -> list[str | None]:
    """The sign of every dimension as a text of 0 and 1."""
    return [None if not vector else _bits(np.frombuffer(vector, np.float16)) for vector in vectors]


def _bits(vector: NDArray[np.float16] | Floats) -> str:
    return ((vector > 0).astype(np.uint8) + ord("0")).tobytes().decode("ascii")


@dataclass(slots=True)
class PostgresCandidates(SQLCandidates):
    """One question's view of one kind of row."""

    _index: PostgresIndex
    _holding: dict[str, int] = field(default_factory=dict)
    _totals: dict[int, SpaceTotals] = field(default_factory=dict)
    _mean: float = 1.0

    def corpus(self, query: Query) -> Corpus:
        kind = self._index.source.kind
        sql = (
            "SELECT space_id, documents, chars, changes, changed FROM recall_totals"
            f" WHERE kind = ? AND space_id {in_spaces(self._spaces)}"
        )
        found = fetch(self._connection, sql, (kind,))
        self._totals = {space: SpaceTotals(*totals) for space, *totals in found}
        rows = sum(totals.documents for totals in self._totals.values())
        chars = sum(totals.chars for totals in self._totals.values())
        terms = {
            f"{_prefix(kind, space)}{term[:TERM_CHARS]}": term
            for space in self._spaces
            for term in (*query.terms, *query.stops)
        }
        sql = (
            "SELECT term, holding FROM recall_terms WHERE term = ANY(?) AND space_id"
            f" {in_spaces(self._spaces)}"
        )
        holding = dict.fromkeys(terms.values(), 0)
        for term, many in fetch(self._connection, sql, (list(terms),)) if rows and terms else ():
            holding[terms[term]] += many
        self._holding, self._mean = holding, chars / max(1, rows) or 1.0
        return Corpus(rows, self._mean, holding)

    def by_words(
        self, query: Query, weights: Mapping[str, float], count: int
    ) -> Mapping[int, float]:
        rare, common = self._split([term for term in query.terms if self._holding.get(term)])
        if not rare:
            return {}

        def bound(terms: Sequence[str]) -> tuple[list[str], list[float]]:
            return [term[:TERM_CHARS] for term in terms], [float(weights[term]) for term in terms]

        sql = (
            "SELECT number, score FROM find_words(?, ?::bigint[], ?::text[], ?::float8[],"
            " ?::text[], ?::float8[], ?::float8, ?::integer)"
        )
        kind = self._index.source.kind
        values = (kind, list(self._spaces), *bound(rare), *bound(common), self._mean, count)
        return dict(fetch(self._connection, sql, values))

    def _split(self, terms: Sequence[str]) -> tuple[list[str], list[str]]:
        """The rarest, which find candidates, and the others."""
        ordered = sorted(terms, key=lambda term: self._holding[term])
        total = several = 0
        for term in ordered:
            total += self._holding[term]
            if several and total > RARE_ROWS:
                break
            several += 1
        return ordered[:several], ordered[several:]

    def by_meaning(self, vector: Floats, count: int, others: Sequence[int]) -> Mapping[int, float]:
        """By sign codes: so many of each large space, and of all the others together."""
        tables = {space: self._table(space, len(vector)) for space in self._spaces}
        small = tuple(space for space, table in tables.items() if table is None)
        differing = self._compare_there(vector, count, others, small) if small else {}
        for table in tables.values():
            differing |= table.near(vector, count, others) if table else {}
        distances = np.array(list(differing.values()), np.float32)
        cosines = np.cos(np.pi * np.minimum(1.0, distances / len(vector)))
        return dict(zip(differing, cosines.tolist(), strict=True))

    def _table(self, space: int, dim: int) -> CodeTable | None:
        totals = self._totals.get(space)
        if totals is None or self._index.in_write:  # what is read now may be rolled back
            return None
        wanted = CodeSet(self._index.database, self._index.source.kind, space, dim)
        return current_table(self._connection, wanted, totals)

    def _compare_there(
        self, vector: Floats, count: int, others: Sequence[int], spaces: tuple[int, ...]
    ) -> dict[int, int]:
        """The rows of these spaces that are nearest, as the server finds them, and these others:
        how many signs differ."""
        bits, kind = _bits(vector), self._index.source.kind
        which = (
            "SELECT number, bit_count(code # ?::varbit) AS distance FROM recall_rows"
            f" WHERE kind = ? AND space_id {in_spaces(spaces)} AND length(code) = ?"
        )
        values = (bits, kind, len(bits))
        near = dict(fetch(self._connection, f"{which} ORDER BY distance LIMIT ?", (*values, count)))
        missing = sorted(set(others) - near.keys())
        if missing:
            near |= fetch(self._connection, f"{which} AND number = ANY(?)", (*values, missing))
        return near
