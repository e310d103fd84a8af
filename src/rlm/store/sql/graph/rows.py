"""Rows of the hypergraph's tables: how a node is read, what is pending, and how the log is kept.

`evolution_log` has what happened to nodes and edges; `confidence_signals` has every change of
confidence, of nodes as of memories (a node's id is a uuid and no memory's id is).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rlm import clock
from rlm.retrieval.embed import Embedder
from rlm.store.graph import ConfidenceChange, Evolution, Node
from rlm.store.sql import runs
from rlm.store.sql.database import COUNT_PATIENCE_S, Database, check_types, read_json
from rlm.store.sql.dialect import Connection
from rlm.store.sql.sources import NODE_KINDS, NODE_ROW, SearchIndex
from rlm.store.sql.spaces import Spaces
from rlm.store.types import NODE_TYPES, TIERS
from rlm.store.values import admit_text, choice, unit

NODE_COLUMNS = NODE_ROW
REASON_CHARS = 2_000
_EVENT_COLUMNS = "id, timestamp, operation, node_ids, from_tier, to_tier, reasoning"


class GraphRows:
    """What nodes, edges and the log share: the file, the tenant's space and pending counts."""

    def __init__(
        self, database: Database, spaces: Spaces, index: SearchIndex, embedder: Embedder | None
    ) -> None:
        self._db = database
        self._spaces = spaces
        self.index = index
        self._embedder = embedder
        self._accesses: dict[str, tuple[int, int]] = {}
        """Node → how often it was read since the last write, and when last."""

    @property
    def _space(self) -> int | None:
        return self._spaces.find("project")

    @contextmanager
    def atomic(self, *, write: bool) -> Iterator[Connection]:
        """One transaction, with pending access counts written first, or within it."""
        if not write:
            self.flush()
            with self._db.read() as connection:
                yield connection
            return
        with self._db.write() as connection:
            self._flush(connection)
            yield connection

    # -- access counts -----------------------------------------------------------------------------

    def _touch(self, node: Node) -> Node:
        """Count an access of a node that `_node` made, and let it show it."""
        count = self._accesses.get(node.id, (0, 0))[0] + 1
        self._accesses[node.id] = count, clock.now_ms()
        node.access_count += 1
        node.last_accessed = max(node.last_accessed, self._accesses[node.id][1])
        return node

    def _node(self, row: Sequence[Any]) -> Node:
        """A node with the accesses that are not written yet: reading it does not count."""
        node = node_of(row)
        count, at = self._accesses.get(node.id, (0, 0))
        node.access_count += count
        node.last_accessed = max(node.last_accessed, at)
        return node

    def flush(self) -> None:
        """Write the access counts that are pending, if the file can be written at once."""
        if self._accesses:
            self._db.offer(self._flush, wait_s=COUNT_PATIENCE_S)

    def _flush(self, connection: Connection) -> None:
        pending, self._accesses = self._accesses, {}  # other threads go on counting
        space = self._space if pending else None
        connection.executemany(
            "UPDATE nodes SET access_count = access_count + ?, last_accessed = CASE WHEN"
            " last_accessed < ? THEN ? ELSE last_accessed END WHERE id = ? AND space_id = ?",
            [(count, at, at, node_id, space) for node_id, (count, at) in pending.items()],
        )

    # -- the log -----------------------------------------------------------------------------------

    def evolution(
        self, node_id: str | None = None, limit: int = 100, *, operation: str = ""
    ) -> list[Evolution]:
        """What changed and why, newest first; of one node or memory, or of all. `operation` is how
        the name of the operation begins."""
        only, values = "AND substr(operation, 1, length(?)) = ?", [operation, operation]
        if node_id is not None:
            only += f" AND {self._db.dialect.holds.format('node_ids')}"
            values.append(node_id)
        return self._events(f"{only} ORDER BY id DESC LIMIT ?", *values, max(0, limit))

    def read_events(self, log_id: int) -> list[Evolution]:
        """The line of this number, then those that are parts of it or undo it."""
        return self._events("AND (id = ? OR operation LIKE ?) ORDER BY id", log_id, f"%:{log_id}")

    def _events(self, where: str, *values: Any) -> list[Evolution]:
        sql = f"SELECT {_EVENT_COLUMNS} FROM evolution_log WHERE space_id = ? {where}"
        return [_evolution(row) for row in self._db.rows(sql, (self._space, *values))]

    def log_event(
        self,
        operation: str,
        node_ids: Sequence[str],
        from_tier: str | None = None,
        to_tier: str | None = None,
        reasoning: str | None = None,
    ) -> int:
        """Add a line to the log; its number."""
        ids, why = json.dumps(list(node_ids)), admit_reason(reasoning)
        with self._db.write():
            space = self._spaces.ensure("project")
            number = self._db.value(
                "INSERT INTO evolution_log(space_id, timestamp, operation, node_ids, from_tier,"
                " to_tier, reasoning) VALUES (?,?,?,?,?,?,?) RETURNING id",
                (space, clock.now_ms(), operation, ids, from_tier, to_tier, why),
            )
        return int(number)

    def confidence_history(self, node_id: str | None = None) -> list[ConfidenceChange]:
        """Every change of a node's confidence, oldest first; or of all nodes."""
        only, values = ("", ()) if node_id is None else ("AND n.id = ?", (node_id,))
        rows = self._db.rows(
            "SELECT s.memory_id, s.at, s.kind, s.confidence_before, s.confidence_after, s.reason"
            " FROM confidence_signals s JOIN nodes n ON n.id = s.memory_id AND n.space_id ="
            f" s.space_id WHERE s.space_id = ? {only} ORDER BY s.signal_no",
            (self._space, *values),
        )
        return [ConfidenceChange(*row) for row in rows]

    def _log_confidence(
        self, node_id: str, kind: str, before: float, after: float, reason: str | None
    ) -> None:
        """Note a change of confidence, inside a write."""
        connection, space = self._db.connection, self._spaces.ensure("project")
        runs.save_signal(connection, space, node_id, kind, before, after, admit_reason(reason))


def admit_reason(text: str | None) -> str | None:
    """Why something was done, as it may be stored."""
    return None if text is None else admit_text(text, "reasoning", REASON_CHARS)


def node_of(row: Sequence[Any]) -> Node:
    """A node from its columns; StoreCorrupt where one cannot be read."""
    name = f"node {str(row[0])[:40]}"
    check_types("nodes", name, NODE_KINDS, row)
    id_, type_, content, subtype, tier, confidence, provenance, text, *times = row
    metadata = read_json("nodes", name, "metadata", text, dict)
    return Node(id_, type_, content, subtype, tier, confidence, provenance, metadata, *times)


def _evolution(row: Sequence[Any]) -> Evolution:
    ids = read_json("evolution_log", f"row {row[0]}", "node_ids", row[3], list)
    return Evolution(row[0], row[1], row[2], tuple(ids), row[4], row[5], row[6])


def node_filters(
    type_: str | None, tier: str | None, min_confidence: float | None
) -> tuple[str, list[Any]]:
    """SQL and values for what callers may ask of nodes; the archive only by name."""
    where, values = "AND tier <> 'archive'", list[Any]()
    if tier is not None:
        where, values = "AND tier = ?", [choice(tier, TIERS, "tier")]
    if type_ is not None:
        where += " AND type = ?"
        values.append(choice(type_, NODE_TYPES, "node type"))
    if min_confidence is not None:
        where += " AND confidence >= ?"
        values.append(unit(min_confidence, "min_confidence"))
    return where, values
