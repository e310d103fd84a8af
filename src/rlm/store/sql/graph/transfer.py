"""A whole hypergraph out of one store and into another, with its ids, times and history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rlm.errors import StoreError
from rlm.store import gate
from rlm.store.graph import ConfidenceChange, Edge, Evolution, GraphDump, Node
from rlm.store.sql.dialect import Connection, fetch
from rlm.store.sql.graph.edges import EdgeTable
from rlm.store.sql.graph.nodes import NodeTable
from rlm.store.sql.graph.rows import NODE_COLUMNS, admit_reason
from rlm.store.types import TIERS
from rlm.store.values import admit_id, admit_line, admit_time, choice, natural, unit

_TIMES = ("created_at", "updated_at", "last_accessed", "access_count")


class GraphTransfer(NodeTable, EdgeTable):
    """Dumping and loading one tenant's graph."""

    def dump(self) -> GraphDump:
        """Everything, the archive and the history too, as of one moment."""
        with self._db.read():
            sql = f"SELECT {NODE_COLUMNS} FROM nodes WHERE space_id = ? ORDER BY node_no"
            rows = self._db.rows(sql, (self._space,))
            nodes, edges = [self._node(row) for row in rows], self._edges("TRUE", ())
            return GraphDump(nodes, edges, self._events("ORDER BY id"), self.confidence_history())

    def load(self, dump: GraphDump) -> dict[str, int]:
        """Add what is absent, all or none, through the gate; how many of each were new."""
        with self.atomic(write=True) as connection:
            nodes = [_admit_copy(node) for node in self._absent(connection, "nodes", dump.nodes)]
            if nodes:
                self._insert(connection, nodes)
            edges = self._absent(connection, "hyperedges", dump.edges)
            for edge in edges:
                admitted = gate.admit_edge(edge.type, edge.label, edge.weight, edge.members)
                self._insert_edge(connection, Edge(edge.id, *admitted))
            numbers, events = self._load_events(connection, dump.events)
            known = {node.id for node in dump.nodes}
            changes = [change for change in dump.changes if change.node_id in known]
            count = self._load_changes(connection, changes, numbers)
        self.index.catch_up()
        return {"nodes": len(nodes), "edges": len(edges), "events": events, "changes": count}

    def _absent(self, connection: Connection, table: str, given: Sequence[Any]) -> list[Any]:
        """Those of the given rows that are not there. StoreError where one is another project's."""
        words = connection.dialect
        ids = words.pack_list([admit_id(row.id, "id") for row in given])
        sql = f"SELECT id, space_id FROM {table} WHERE id {words.among}"
        with self._db.across_projects():
            there: dict[str, int] = {row[0]: row[1] for row in fetch(connection, sql, (ids,))}
        if any(space != self._space for space in there.values()):
            raise StoreError(
                f"{self._db.name} holds these {table} for another project already, and ids are"
                " kept: copy into another file"
            )
        return [row for row in given if row.id not in there]

    def _load_events(
        self, connection: Connection, events: Sequence[Evolution]
    ) -> tuple[dict[str, str], int]:
        """Log lines get new numbers, and so do their parts: old number → new number, how many."""
        there = {_key(event): event.id for event in self._events("ORDER BY id")}
        numbers: dict[str, str] = {}
        count = 0
        for event in events:
            new_id = there.get(_key(event))
            if new_id is None:
                natural(event.timestamp, "timestamp")
                tiers = (event.from_tier, event.to_tier)
                for tier in filter(None, tiers):
                    choice(tier, TIERS, "tier")
                name = _renumber(admit_line(event.operation, "operation", 200), numbers)
                new_id = self.log_event(name, event.node_ids, *tiers, event.reasoning)
                sql = "UPDATE evolution_log SET timestamp = ? WHERE id = ? AND space_id = ?"
                connection.execute(sql, (event.timestamp, new_id, self._space))
                count += 1
            numbers[str(event.id)] = str(new_id)
        return numbers, count

    def _load_changes(
        self,
        connection: Connection,
        changes: Sequence[ConfidenceChange],
        numbers: dict[str, str],
    ) -> int:
        there = {_moment(change) for change in self.confidence_history()}
        fresh = [change for change in changes if _moment(change) not in there]
        space = self._spaces.ensure("project")
        connection.executemany(
            "INSERT INTO confidence_signals(space_id, memory_id, at, kind, delta,"
            " confidence_before, confidence_after, reason) VALUES (?,?,?,?,?,?,?,?)",
            [
                (space, one.node_id, admit_time(one.at, "at"),
                 _renumber(admit_line(one.kind, "kind", 64), numbers),
                 one.after - one.before, unit(one.before), unit(one.after),
                 admit_reason(one.reason))
                for one in fresh
            ],
        )  # fmt: skip
        return len(fresh)


def _admit_copy(node: Node) -> Node:
    """A node of another store, through the gate."""
    names = ("subtype", "tier", "confidence", "provenance", "metadata")
    values = {name: getattr(node, name) for name in names}
    for name in _TIMES:
        natural(getattr(node, name), name)
    return replace(node, **gate.admit_node(node.type, node.content, values))


def _key(event: Evolution) -> tuple[Any, ...]:
    """What makes two log lines the same, whatever their numbers."""
    name = event.operation.partition(":")[0]
    return event.timestamp, name, event.node_ids, event.from_tier, event.to_tier, event.reasoning


def _moment(change: ConfidenceChange) -> tuple[Any, ...]:
    return change.node_id, change.at, change.before, change.after


def _renumber(name: str, numbers: dict[str, str]) -> str:
    """`merge:17` under the number that line 17 has here."""
    head, colon, number = name.partition(":")
    return f"{head}{colon}{numbers.get(number, number)}"
