"""Everything that an organisation has in a store, in an order that no engine changes.

A row is read with the name of its space in the place of the engine's number for it, and compared
without what is derived (stems, grams, vectors) or an engine's own (numbers of rows). So the same
rows have the same digest in SQLite, in a JSON file and in PostgreSQL. What is JSON is compared as
JSON. Rows come in the order in which they were written, where that order means something.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from rlm.store.sql import rows
from rlm.store.sql.dialect import Connection, fetch

PAGE = 2_000
SPACE = ("level", "org", "team", "project")
VECTORS = ("embedding", "embedding_model")
_JSON = {"metadata", "node_ids"}


@dataclass(frozen=True, slots=True)
class Table:
    """One table. `t` is its name in expressions, `s` that of the row's space."""

    name: str
    key: tuple[str, ...]
    """What names a row for people, within its space."""
    columns: tuple[str, ...]
    order: tuple[str, ...]
    """Expressions whose values are unique in an organisation, in the order of writing."""
    number: str = ""
    """The column that the engine numbers, and the row of `counters` behind it."""
    counter: str = ""
    sequence: str = ""
    """The column whose numbers are part of the row, and come from a sequence else."""
    derived: tuple[str, ...] = ()
    """Copied, so that it need not be made again; not compared."""
    joined: str = "JOIN spaces s ON s.space_id = t.space_id"
    own_space: bool = True


_BY_SPACE = ("s.team", "s.project", "s.level")
_PACKED = (
    "CASE WHEN EXISTS (SELECT 1 FROM memory_items m WHERE m.item_no = t.item_no AND"
    " m.space_id = s.space_id) THEN 1 ELSE 0 END"
)
"""Whether a memory is still as its pack brought it: its number is an engine's own."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TABLES = (
    Table("spaces", ("level",), (), _BY_SPACE, joined="JOIN spaces s USING (space_id)"),
    Table("runs", ("run_id",), _words("run_id created_at model ontology_name ontology_path notes"),
          (*_BY_SPACE, "t.run_id")),
    Table("trajectories", ("trajectory_id",),
          _words("trajectory_id run_id task_query final_answer iteration_count converged"
                 " artifact_json rlm_log_path created_at"), ("t.{arrival}",)),
    Table("judgments", ("trajectory_id",),
          _words("trajectory_id is_success reason confidence missing_json"),
          (*_BY_SPACE, "t.trajectory_id")),
    Table("memory_items", ("memory_id",), rows.NAMES, ("t.item_no", *_BY_SPACE),
          number="item_no", counter="item", derived=("scope_words", "grams", *VECTORS)),
    Table("memory_usage", ("trajectory_id", "memory_id"),
          _words("trajectory_id memory_id rank score"),
          (*_BY_SPACE, "t.trajectory_id", "t.memory_id")),
    Table("confidence_signals", ("signal_no",),
          _words("signal_no memory_id at kind delta confidence_before confidence_after reason"),
          ("t.signal_no",), sequence="signal_no"),
    Table("distill_queue", ("job_no",),
          _words("job_no agent session_id outcome payload_json state attempts fence not_before"
                 " leased_until last_error created_at finished_at"), ("t.job_no",),
          sequence="job_no"),
    Table("branches", ("branch_id",),
          _words("branch_id session_id parent_id description depth budget_tokens used_tokens"
                 " state result created_at ended_at"), ("t.depth", "t.branch_id")),
    Table("packs", ("pack_no",),
          _words("pack_no name sha256 source signer trust item_count added_count imported_at"
                 " rolled_back_at"), ("t.pack_no",), sequence="pack_no"),
    Table("pack_items", ("pack_no", "memory_id"), ("pack_no", "memory_id", _PACKED),
          ("t.pack_no", "t.memory_id"), own_space=False,
          joined="JOIN packs p ON p.pack_no = t.pack_no JOIN spaces s ON s.space_id = p.space_id"),
    Table("nodes", ("id",),
          _words("id type subtype content tier confidence provenance created_at updated_at"
                 " last_accessed access_count metadata"), ("t.node_no", *_BY_SPACE),
          number="node_no", counter="node", derived=("grams", *VECTORS)),
    Table("hyperedges", ("id",), _words("id type label weight"), ("t.{arrival}",)),
    Table("membership", ("hyperedge_id", "node_id", "role"),
          _words("hyperedge_id node_id role position"),
          ("t.hyperedge_id", "t.node_id", "t.role"), own_space=False,
          joined="JOIN hyperedges e ON e.id = t.hyperedge_id JOIN spaces s ON"
                 " s.space_id = e.space_id"),
    Table("evolution_log", ("id",),
          _words("id timestamp operation node_ids from_tier to_tier reasoning"), ("t.id",),
          sequence="id"),
    Table("tokens", ("token_id",), _words("token_id name digest read_only created_at"),
          ("t.token_id",)),
)  # fmt: skip
"""Parents before children."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """One row: its space, what is compared, what is derived, and the engine's number of it."""

    table: Table
    space: tuple[str, ...]
    values: tuple[Any, ...]
    derived: tuple[Any, ...]
    number: int

    @property
    def name(self) -> str:
        """What people call it: `memory_items 3f… (project acme/web/shop)`."""
        found = dict(zip(self.table.columns, self.values, strict=True))
        key = " ".join(str(found[name]) for name in self.table.key if name in found)
        level, *parts = self.space
        where = f"{level} {'/'.join(part for part in parts if part)}"
        return f"{self.table.name} {key} ({where})" if key else f"{self.table.name} {where}"

    def digest(self) -> bytes:
        """Equal for equal rows of any engine."""
        pairs = zip(self.table.columns, self.values, strict=True)
        values = [_comparable(column, value) for column, value in pairs]
        packed = orjson.dumps([self.space, *values], option=orjson.OPT_SORT_KEYS)
        return blake2b(packed, digest_size=16).digest()


def read_rows(connection: Connection, table: Table, org: str) -> Iterator[StoredRow]:
    """Every row of one organisation, a page at a time, in the table's order."""
    order = [each.format(arrival=connection.dialect.arrival) for each in table.order]
    columns = [each if " " in each else f"t.{each}" for each in table.columns]
    number = [f"t.{table.number}"] if table.number else []
    space = [f"s.{each}" for each in SPACE]
    derived = [f"t.{each}" for each in table.derived]
    chosen = ", ".join([*order, *number, *space, *columns, *derived])
    sql = f"SELECT {chosen} FROM {table.name} t {table.joined} WHERE s.org = ?"
    after = f" AND ({', '.join(order)}) > ({', '.join('?' * len(order))})"
    ending = f" ORDER BY {', '.join(order)} LIMIT {PAGE}"
    found = fetch(connection, sql + ending, (org,))
    starts = (len(order), len(order) + len(number))
    while found:
        for row in found:
            place = starts[1] + len(space)
            yield StoredRow(
                table,
                tuple(row[starts[1] : place]),
                tuple(row[place : place + len(columns)]),
                tuple(row[place + len(columns) :]),
                row[starts[0]] if number else 0,
            )
        last = tuple(found[-1][: len(order)])
        found = fetch(connection, sql + after + ending, (org, *last)) if len(found) == PAGE else []


def count_rows(connection: Connection, table: Table, org: str) -> int:
    """How many there are."""
    sql = f"SELECT count(*) FROM {table.name} t {table.joined} WHERE s.org = ?"
    return int(fetch(connection, sql, (org,))[0][0])


def _comparable(column: str, value: Any) -> Any:
    """JSON as what it says; what cannot be read as JSON, as the text that it is."""
    if value is not None and (column in _JSON or column.endswith("_json")):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value
