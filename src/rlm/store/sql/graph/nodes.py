"""Nodes: created, read, changed, archived and purged. Each change is a line of the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rlm import clock
from rlm.errors import ValidationError
from rlm.retrieval.codes import pack_vectors
from rlm.store import gate
from rlm.store.document import node_grams
from rlm.store.graph import Node
from rlm.store.sql.dialect import Connection, take_numbers
from rlm.store.sql.graph.rows import NODE_COLUMNS, GraphRows, admit_reason, node_filters
from rlm.store.sql.reembed import note_model
from rlm.store.sql.sources import LiveRow
from rlm.store.values import check_count, check_many, show

_INSERTED = (
    "node_no, space_id, id, type, subtype, content, embedding, tier, confidence, provenance,"
    " created_at, updated_at, last_accessed, access_count, metadata, grams, embedding_model"
)


class NodeTable(GraphRows):
    """The nodes of one tenant."""

    def create_node(self, type: str, content: str, **kwargs: Any) -> str:
        """Add a node; its id. Keywords: subtype, tier, confidence, provenance, metadata."""
        return self.create_nodes([{"type": type, "content": content, **kwargs}])[0]

    def create_nodes(self, nodes: Iterable[Mapping[str, Any]]) -> list[str]:
        """Add several nodes, all or none; their ids, in order."""
        given = enumerate(check_many(nodes, "nodes", "objects"))
        rows = [_admit(node, index) for index, node in given]
        if not rows:
            return []
        now = clock.now_ms()
        times = {"created_at": now, "updated_at": now, "last_accessed": now}
        made = [Node(**{"id": clock.new_uuid(), **row, **times}) for row in rows]
        with self.atomic(write=True) as connection:
            self._insert(connection, made)
            for tier in dict.fromkeys(node.tier for node in made):
                ids = [node.id for node in made if node.tier == tier]
                self.log_event("create", ids, None, tier)
        self.index.catch_up()
        return [node.id for node in made]

    def _insert(self, connection: Connection, nodes: Sequence[Node]) -> None:
        """Put in nodes that passed the gate and are absent, and index them."""
        space = self._spaces.ensure("project")
        vectors = self._vectors([node.content for node in nodes])
        note_model(connection, self._model)
        first = take_numbers(connection, "node", len(nodes))
        connection.executemany(
            f"INSERT INTO nodes({_INSERTED}) VALUES ({','.join('?' * 17)})",
            (
                (first + i, space, node.id, node.type, node.subtype, node.content, vectors[i],
                 node.tier, node.confidence, node.provenance, node.created_at, node.updated_at,
                 node.last_accessed, node.access_count, _json(node.metadata),
                 node_grams(node.subtype, node.content), self._model)
                for i, node in enumerate(nodes)
            ),
        )  # fmt: skip
        rows = enumerate(zip(nodes, vectors, strict=True), first)
        self.index.add(
            connection,
            [self._live(number, node.subtype, node.content, vec) for number, (node, vec) in rows],
        )

    def _live(
        self, number: int, subtype: str | None, content: str, vector: bytes | None
    ) -> LiveRow:
        words = (subtype or "", content, node_grams(subtype, content))
        return LiveRow(number, self._spaces.ensure("project"), words, vector)

    def _vectors(self, texts: Sequence[str]) -> list[bytes] | list[None]:
        if self._embedder is None:
            return [None] * len(texts)
        return pack_vectors(self._embedder.embed_documents([("", text) for text in texts]))

    @property
    def _model(self) -> str | None:
        return self._embedder.model if self._embedder else None

    def get_node(self, node_id: str) -> Node | None:
        """One node, archived or not; None when this tenant has none such. Counts as an access."""
        found = self._find(node_id)
        return None if found is None else self._touch(found[1])

    def read_nodes(self, node_ids: Iterable[str]) -> dict[str, Node]:
        """Those that exist, by id; no access is counted."""
        rows = self._db.rows(
            f"SELECT {NODE_COLUMNS} FROM nodes WHERE space_id = ? AND id {self._db.dialect.among}",
            (self._space, self._db.dialect.pack_list(node_ids)),
        )
        return {row[0]: self._node(row) for row in rows}

    def _find(self, node_id: str) -> tuple[int, Node] | None:
        sql = f"SELECT node_no, {NODE_COLUMNS} FROM nodes WHERE id = ? AND space_id = ?"
        row = self._db.row(sql, (node_id, self._space))
        return None if row is None else (row[0], self._node(row[1:]))

    def _locate(self, node_id: str) -> tuple[int, str] | None:
        """Number and tier of a node, read no further: it may be damaged."""
        sql = "SELECT node_no, tier FROM nodes WHERE id = ? AND space_id = ?"
        return self._db.row(sql, (node_id, self._space))

    def update_node(self, node_id: str, *, reasoning: str | None = None, **kwargs: Any) -> bool:
        """Change fields of a node; False when there is no such node."""
        why = admit_reason(reasoning)
        with self.atomic(write=True) as connection:
            found = self._find(node_id)
            if found is None:
                return False
            number, node = found
            words = (kwargs.get("type", node.type), kwargs.get("content", node.content))
            row = gate.admit_node(*words, kwargs)
            changed = {key: value for key, value in row.items() if value != getattr(node, key)}
            if not changed:
                return True
            self._rewrite(connection, number, node, changed)
            if "tier" in changed:
                self.log_event("tier", [node_id], node.tier, changed["tier"], why)
            if "confidence" in changed:
                after = changed["confidence"]
                self._log_confidence(node_id, "edit", node.confidence, after, why)
            if names := ", ".join(sorted(set(changed) - {"tier"})):
                self.log_event("update", [node_id], None, None, why or f"changed {names}")
        return True

    def _rewrite(
        self, connection: Connection, number: int, node: Node, changed: dict[str, Any]
    ) -> None:
        values: dict[str, Any] = {**changed, "updated_at": clock.now_ms()}
        if "content" in changed or "subtype" in changed:  # new words, new number: see schema.py
            content = changed.get("content", node.content)
            subtype = changed.get("subtype", node.subtype)
            vectors = self._vectors([content])
            values["grams"] = node_grams(subtype, content)
            values["embedding"], values["embedding_model"] = vectors[0], self._model
            values["node_no"] = take_numbers(connection, "node", 1)
            self._put_fields(node.id, **values)
            row = self._live(values["node_no"], subtype, content, vectors[0])
            self.index.replace(connection, number, row)
            return
        self._put_fields(node.id, **values)

    def _put_fields(self, node_id: str, **values: Any) -> None:
        """Set columns of a node, inside a write; nothing is logged."""
        if "metadata" in values:
            values["metadata"] = _json(values["metadata"])
        sets = ", ".join(f"{name} = ?" for name in values)
        sql = f"UPDATE nodes SET {sets} WHERE id = ? AND space_id = ?"
        self._db.connection.execute(sql, (*values.values(), node_id, self._space))

    def delete_node(self, node_id: str, *, reasoning: str | None = None) -> bool:
        """Move a node to the archive tier; False when it is missing, or archived already."""
        why = admit_reason(reasoning or "deleted")
        with self.atomic(write=True):
            found = self._locate(node_id)
            if found is None or found[1] == "archive":
                return False
            self._put_fields(node_id, tier="archive", updated_at=clock.now_ms())
            self.log_event("tier", [node_id], found[1], "archive", why)
        return True

    def purge_node(self, node_id: str, *, reasoning: str | None = None) -> bool:
        """Remove a node for good, with its memberships; edges left without members go too."""
        why = admit_reason(reasoning)
        with self.atomic(write=True) as connection:
            found = self._locate(node_id)
            if found is None:
                return False
            sql = "SELECT hyperedge_id FROM membership WHERE node_id = ?"
            edges = connection.execute(sql, (node_id,)).fetchall()
            sql = "DELETE FROM nodes WHERE id = ? AND space_id = ?"
            connection.execute(sql, (node_id, self._space))
            connection.executemany(
                "DELETE FROM hyperedges WHERE id = ? AND NOT EXISTS "
                "(SELECT 1 FROM membership m WHERE m.hyperedge_id = hyperedges.id)",
                edges,
            )
            connection.execute(
                "DELETE FROM confidence_signals WHERE memory_id = ? AND space_id = ?",
                (node_id, self._space),
            )
            self.index.remove(connection, [found[0]])
            self.log_event("purge", [node_id], found[1], None, why)
        return True

    def query_nodes(
        self,
        type: str | None = None,
        tier: str | None = None,
        min_confidence: float | None = None,
        limit: int = 100,
    ) -> list[Node]:
        """Nodes by fields, most recently changed first, without the archive by default."""
        where, values = node_filters(type, tier, min_confidence)
        rows = self._db.rows(
            f"SELECT {NODE_COLUMNS} FROM nodes WHERE space_id = ? {where} "
            "ORDER BY updated_at DESC, node_no DESC LIMIT ?",
            (self._space, *values, check_count(limit, "limit")),
        )
        return [self._node(row) for row in rows]


def _admit(node: Mapping[str, Any], index: int) -> dict[str, Any]:
    if not isinstance(node, Mapping) or "type" not in node or "content" not in node:
        raise ValidationError(f"node {index} needs a type and a content: {show(node)}")
    rest = {key: value for key, value in node.items() if key not in ("type", "content")}
    return gate.admit_node(node["type"], node["content"], rest)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
