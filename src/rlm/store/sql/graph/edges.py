"""Hyperedges: statements that join any number of nodes, each in a role and a position.

An edge joins nodes of its own project only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlm import clock
from rlm.errors import NotFound, ValidationError
from rlm.store import gate
from rlm.store.graph import DIRECTIONS, Edge, Member, Node
from rlm.store.sql.dialect import Connection
from rlm.store.sql.graph.rows import NODE_COLUMNS, GraphRows
from rlm.store.types import EDGE_TYPES, ROLES
from rlm.store.values import admit_line, check_count, choice, finite

_COLUMNS = ", ".join(f"n.{name}" for name in NODE_COLUMNS.split(", "))


class EdgeTable(GraphRows):
    """The hyperedges of one tenant."""

    def create_edge(
        self,
        type: str,
        label: str | None,
        members: Sequence[Mapping[str, Any] | Member],
        *,
        weight: float = 1.0,
    ) -> str:
        """Join nodes; members are `{"node_id", "role", "position"}`, position optional."""
        edge = Edge(clock.new_uuid(), *gate.admit_edge(type, label, weight, members))
        with self.atomic(write=True) as connection:
            self._insert_edge(connection, edge)
            self.log_event("link", edge.node_ids, None, None, _name(edge))
        return edge.id

    def _insert_edge(self, connection: Connection, edge: Edge) -> None:
        space = self._spaces.ensure("project")
        self._require(connection, space, edge.node_ids)
        sql = "INSERT INTO hyperedges(id, space_id, type, label, weight) VALUES (?,?,?,?,?)"
        connection.execute(sql, (edge.id, space, edge.type, edge.label, edge.weight))
        _insert_members(connection, edge)

    def _require(self, connection: Connection, space: int, ids: Sequence[str]) -> None:
        words = connection.dialect
        sql = f"SELECT id FROM nodes WHERE space_id = ? AND id {words.among}"
        there = {row[0] for row in connection.execute(sql, (space, words.pack_list(ids)))}
        missing = [node_id for node_id in ids if node_id not in there]
        if missing:
            raise NotFound(f"no node {missing[0]!r} here: create it first; no edge was made")

    def get_edge(self, edge_id: str) -> Edge | None:
        """One edge with its members in order, or None."""
        found = self._edges("e.id = ?", [edge_id])
        return found[0] if found else None

    def list_edges(
        self,
        type: str | None = None,
        label: str | None = None,
        min_weight: float | None = None,
        limit: int = 100,
    ) -> list[Edge]:
        """Edges by what they are, the heaviest first, then the oldest."""
        where, values = _filters(type, label)
        if min_weight is not None:
            where, values = f"{where} AND e.weight >= ?", [*values, finite(min_weight, "weight")]
        arrival = f"e.{self._db.dialect.arrival}"
        best = (
            f"e.id IN (SELECT e.id FROM hyperedges e WHERE e.space_id = ? {where}"
            f" ORDER BY e.weight DESC, {arrival} LIMIT ?)"
        )
        values = [self._space, *values, check_count(limit, "limit")]
        return self._edges(best, values, order="e.weight DESC, ")

    def get_links(
        self,
        node_id: str,
        direction: str = "both",
        *,
        type: str | None = None,
        label: str | None = None,
        role: str | None = None,
    ) -> list[Edge]:
        """The edges that a node takes part in, oldest first.

        `out`: as a subject or cause. `in`: as an object or effect. `both`: in any role. `role`
        asks for one.
        """
        choice(direction, tuple(DIRECTIONS), "direction")
        roles = DIRECTIONS[direction]
        if role is not None:
            roles = tuple({choice(role, ROLES, "role")}.intersection(roles))
        where, values = _filters(type, label)
        words = self._db.dialect
        mine = (
            "e.id IN (SELECT hyperedge_id FROM membership WHERE node_id = ? AND role"
            f" {words.among}) {where}"
        )
        return self._edges(mine, [node_id, words.pack_list(roles), *values])

    def _edges(self, where: str, values: Sequence[Any], *, order: str = "") -> list[Edge]:
        rows = self._db.rows(
            "SELECT e.id, e.type, e.label, e.weight, m.node_id, m.role, m.position FROM hyperedges"
            f" e JOIN membership m ON m.hyperedge_id = e.id WHERE e.space_id = ? AND {where} ORDER"
            f" BY {order}e.{self._db.dialect.arrival}, m.position, m.node_id, m.role",
            (self._space, *values),
        )
        grouped: dict[str, tuple[list[Any], list[Member]]] = {}
        for *head, node_id, role, position in rows:
            grouped.setdefault(head[0], (head, []))[1].append(Member(node_id, role, position))
        return [Edge(*(*head, tuple(members))) for head, members in grouped.values()]

    def get_members(self, edge_id: str, role: str | None = None) -> list[Node]:
        """The nodes that an edge joins, in order, archived ones too; those in one role, or all."""
        only, values = ("", [])
        if role is not None:
            only, values = "AND m.role = ?", [choice(role, ROLES, "role")]
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM membership m JOIN nodes n ON n.id = m.node_id WHERE"
            f" m.hyperedge_id = ? AND n.space_id = ? {only} GROUP BY n.id ORDER BY"
            " min(m.position), n.id",
            (edge_id, self._space, *values),
        )
        return [self._node(row) for row in rows]

    def get_related_nodes(self, node_id: str, edge_type: str | None = None) -> list[Node]:
        """The nodes that share an edge with this one, heaviest edge first, without the archive."""
        where, values = _filters(edge_type, None)
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM membership mine JOIN hyperedges e ON e.id = mine.hyperedge_id"
            " JOIN membership other ON other.hyperedge_id = e.id AND other.node_id <>"
            " mine.node_id JOIN nodes n ON n.id = other.node_id WHERE mine.node_id = ? AND"
            f" e.space_id = ? AND n.tier <> 'archive' {where} GROUP BY n.id ORDER BY"
            f" max(e.weight) DESC, min(e.{self._db.dialect.arrival}), min(other.position), n.id",
            (node_id, self._space, *values),
        )
        return [self._node(row) for row in rows]

    def update_edge(self, edge_id: str, *, reasoning: str | None = None, **kwargs: Any) -> bool:
        """Change type, label, weight or members (all of them); False when there is no such edge."""
        known = ("type", "label", "weight", "members")
        for name in kwargs:
            if name not in known:
                why = f"unknown edge field {name!r}; known: {', '.join(known)}"
                raise ValidationError(why, field=name)
        with self.atomic(write=True) as connection:
            old = self.get_edge(edge_id)
            if old is None:
                return False
            parts = (kwargs.get(name, getattr(old, name)) for name in known)
            new = Edge(edge_id, *gate.admit_edge(*parts))
            changed = [name for name in known if getattr(new, name) != getattr(old, name)]
            if not changed:
                return True
            self._require(connection, self._spaces.ensure("project"), new.node_ids)
            sql = "UPDATE hyperedges SET type = ?, label = ?, weight = ? WHERE id = ?"
            values = (new.type, new.label, new.weight, edge_id, self._space)
            connection.execute(f"{sql} AND space_id = ?", values)
            if "members" in changed:
                connection.execute("DELETE FROM membership WHERE hyperedge_id = ?", (edge_id,))
                _insert_members(connection, new)
            why = reasoning or f"changed {', '.join(changed)} of {_name(old)}"
            ids = list(dict.fromkeys((*old.node_ids, *new.node_ids)))
            self.log_event("relink", ids, None, None, why)
        return True

    def _replace_member(self, places: Sequence[tuple[str, str]], old: str, new: str) -> None:
        """Put a node into another's place, in these (edge, role) pairs, inside a write."""
        self._db.run_many(
            "UPDATE membership SET node_id = ? WHERE hyperedge_id = ? AND role = ? AND node_id = ?"
            " AND NOT EXISTS (SELECT 1 FROM membership there WHERE there.hyperedge_id ="
            " membership.hyperedge_id AND there.role = membership.role AND there.node_id = ?)",
            [(new, edge_id, role, old, new) for edge_id, role in places],
        )

    def delete_edge(self, edge_id: str, *, reasoning: str | None = None) -> bool:
        """Remove an edge; its nodes stay. The log keeps what it joined."""
        with self.atomic(write=True) as connection:
            edge = self.get_edge(edge_id)
            if edge is None:
                return False
            sql = "DELETE FROM hyperedges WHERE id = ? AND space_id = ?"
            connection.execute(sql, (edge_id, self._space))
            self.log_event("unlink", edge.node_ids, None, None, reasoning or _name(edge))
        return True

    def unlink(
        self, first: str, second: str | None = None, *, reasoning: str | None = None
    ) -> list[str]:
        """Remove an edge by its id, or every edge that joins just these two nodes; whose ids.

        An edge with more members says more than that these two belong together: it stays.
        """
        edges = [first]
        with self.atomic(write=True):
            if second is not None:
                pair = {first, second}
                edges = [edge.id for edge in self.get_links(first) if set(edge.node_ids) == pair]
            return [each for each in edges if self.delete_edge(each, reasoning=reasoning)]


def _insert_members(connection: Connection, edge: Edge) -> None:
    connection.executemany(
        "INSERT INTO membership(hyperedge_id, node_id, role, position) VALUES (?,?,?,?)",
        [(edge.id, member.node_id, member.role, member.position) for member in edge.members],
    )


def _name(edge: Edge) -> str:
    """What the log calls an edge: a label may be longer than a line of the log."""
    return f"{edge.type} {edge.id}: {(edge.label or '')[:200]}".rstrip(": ")


def _filters(type_: str | None, label: str | None) -> tuple[str, list[Any]]:
    where, values = "", list[Any]()
    if type_ is not None:
        where, values = "AND e.type = ?", [choice(type_, EDGE_TYPES, "edge type")]
    if label is not None:
        where = f"{where} AND e.label = ?"
        values = [*values, admit_line(label, "label", gate.TASK_CHARS)]
    return where, values
