"""The hypergraph of seed 004: nodes, hyperedges of any arity, tiers, and a log of every change.

A node belongs to the tenant's project and so does an edge; an edge joins nodes of its own project
only. Nothing is lost without `purge_node`: `delete_node` moves a node to the archive tier. Every
creation, change of tier, edit, link and archiving is a line of `evolution_log`.

Search knows one thing more than words: a node in an ordered `context` edge (a turn of a
conversation, a part of a file) is also found by the words of its neighbours there, at a lower
weight.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import apsw

from rlm import clock
from rlm.errors import NotFound, ValidationError
from rlm.retrieval import rank
from rlm.retrieval.embed import Embedder
from rlm.retrieval.explain import Explanation
from rlm.retrieval.recall import Document, recall
from rlm.retrieval.tokens import grams
from rlm.store import gate
from rlm.store.sqlite import blocks
from rlm.store.sqlite.blocks import Entry
from rlm.store.sqlite.candidates import Index
from rlm.store.sqlite.connection import COUNT_PATIENCE_S, Database, damaged_row, kind_of
from rlm.store.sqlite.reembed import note_model
from rlm.store.sqlite.sources import NODE, NODE_ROW
from rlm.store.sqlite.spaces import Spaces, take_numbers
from rlm.store.types import EDGE_TYPES, NODE_TYPES, TIERS, Edge, Evolution, Member, Node
from rlm.store.values import shown

NODE_COLUMNS = NODE_ROW


class NodeHit(tuple[Node, float]):
    """A found node and its score; unpacks as `(node, score)`. `why` is filled when asked to
    explain."""

    why: Explanation | None

    def __new__(cls, node: Node, score: float, why: Explanation | None = None) -> NodeHit:
        self = super().__new__(cls, (node, score))
        self.why = why
        return self

    @property
    def node(self) -> Node:
        return self[0]

    @property
    def score(self) -> float:
        return self[1]


class Graph:
    """One tenant's hypergraph. Get it as `store.graph`."""

    def __init__(
        self, database: Database, spaces: Spaces, index: Index, embedder: Embedder | None
    ) -> None:
        self._db = database
        self._spaces = spaces
        self.index = index
        self._embedder = embedder
        self._accesses: Counter[str] = Counter()

    # -- nodes -------------------------------------------------------------------------------------

    def create_node(self, type: str, content: str, **kwargs: Any) -> str:
        """Add one node and return its id. Keywords: subtype, tier, confidence, provenance,
        metadata."""
        return self.create_nodes([{"type": type, "content": content, **kwargs}])[0]

    def create_nodes(self, nodes: Iterable[Mapping[str, Any]]) -> list[str]:
        """Add several nodes, all or none; their ids, in order."""
        rows = [
            self._admit(node, index)
            for index, node in enumerate(gate.check_many(nodes, "nodes", "objects"))
        ]
        if not rows:
            return []
        ids = [clock.new_uuid() for _ in rows]
        vectors = self._vectors([row["content"] for row in rows])
        now = clock.now_ms()
        with self._db.write() as connection:
            space = self._spaces.ensure("project")
            note_model(connection, self._model)
            first = take_numbers(connection, "node", len(rows))
            connection.executemany(
                "INSERT INTO nodes(node_no, space_id, id, type, subtype, content, embedding, tier, confidence, "
                "provenance, created_at, updated_at, last_accessed, metadata, grams, embedding_model) "
                "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                (
                    (first + i, space, ids[i], row["type"], row.get("subtype"), row["content"], vectors[i],
                     row.get("tier", "task"), row.get("confidence", 0.5), row.get("provenance"), now, now, now,
                     json.dumps(row.get("metadata", {}), ensure_ascii=False), _grams(row), self._model)
                    for i, row in enumerate(rows)
                ),
            )  # fmt: skip
            NODE.index(connection, first, first + len(rows) - 1)
            self._note(connection, space, rows, first, vectors)
            for tier in dict.fromkeys(row.get("tier", "task") for row in rows):
                made = [ids[i] for i, row in enumerate(rows) if row.get("tier", "task") == tier]
                self._log(connection, space, "create", made, None, tier, None)
            self._flush(connection)
        self.index.catch_up()
        return ids

    def _note(
        self,
        connection: apsw.Connection,
        space: int,
        rows: Sequence[Mapping[str, Any]],
        first: int,
        vectors: Sequence[bytes | None],
    ) -> None:
        """Tell the sign codes of rows that were added or changed."""
        entries = [
            Entry(first + place, space, sum(map(len, _columns(row))), vectors[place])
            for place, row in enumerate(rows)
        ]
        blocks.put(connection, NODE, entries, self._model)

    def _admit(self, node: Mapping[str, Any], index: int) -> dict[str, Any]:
        if not isinstance(node, Mapping) or "type" not in node or "content" not in node:
            raise ValidationError(f"node {index} needs a type and a content: {shown(node)}")
        rest = {key: value for key, value in node.items() if key not in ("type", "content")}
        return gate.admit_node(node["type"], node["content"], rest)

    def _vectors(self, texts: Sequence[str]) -> list[bytes] | list[None]:
        if self._embedder is None:
            return [None] * len(texts)
        return blocks.pack_vectors(self._embedder.embed_documents([("", text) for text in texts]))

    @property
    def _model(self) -> str | None:
        return self._embedder.model if self._embedder else None

    def get_node(self, node_id: str) -> Node | None:
        """One node, archived or not; None when this tenant has no such node. Counts as an access."""
        found = self._find(node_id)
        if found is None:
            return None
        self._accesses[node_id] += 1
        found[1].access_count += self._accesses[node_id]
        return found[1]

    def _find(self, node_id: str) -> tuple[int, Node] | None:
        row = self._db.row(
            f"SELECT node_no, {NODE_COLUMNS} FROM nodes WHERE id = ? AND space_id = ?",
            (node_id, self._spaces.find("project")),
        )
        return None if row is None else (row[0], _node(row[1:]))

    def _locate(self, node_id: str) -> tuple[int, str] | None:
        """Number and tier of a node, read no further: it may be damaged."""
        sql = "SELECT node_no, tier FROM nodes WHERE id = ? AND space_id = ?"
        return self._db.row(sql, (node_id, self._spaces.find("project")))

    def update_node(self, node_id: str, *, reasoning: str | None = None, **kwargs: Any) -> bool:
        """Change type, content, subtype, tier, confidence, provenance or metadata; False when there
        is no such node."""
        with self._db.write() as connection:
            found = self._find(node_id)
            if found is None:
                return False
            number, node = found
            if not kwargs:
                return True
            row = gate.admit_node(
                kwargs.get("type", node.type), kwargs.get("content", node.content), kwargs
            )
            changed = {key: value for key, value in row.items() if value != getattr(node, key)}
            if not changed:
                return True
            self._write_node(connection, number, node, changed)
            space = self._spaces.ensure("project")
            why = None if reasoning is None else gate.admit_text(reasoning, "reasoning", 2_000)
            if "tier" in changed:
                self._log(connection, space, "tier", [node_id], node.tier, changed["tier"], why)
            if set(changed) - {"tier"}:
                names = ", ".join(sorted(set(changed) - {"tier"}))
                self._log(
                    connection, space, "update", [node_id], None, None, why or f"changed {names}"
                )
            self._flush(connection)
        return True

    def _write_node(
        self, connection: apsw.Connection, number: int, node: Node, changed: dict[str, Any]
    ) -> None:
        values: dict[str, Any] = {**changed, "updated_at": clock.now_ms()}
        if "metadata" in values:
            values["metadata"] = json.dumps(values["metadata"], ensure_ascii=False)
        if "content" in changed or "subtype" in changed:  # new words, new number: see schema.py
            content = changed.get("content", node.content)
            values["grams"] = _grams(
                {"content": content, "subtype": changed.get("subtype", node.subtype)}
            )
            vectors = self._vectors([content])
            values["embedding"], values["embedding_model"] = vectors[0], self._model
            values["node_no"] = take_numbers(connection, "node", 1)
            blocks.erase(connection, NODE, [number])
            words = {"content": content, "subtype": changed.get("subtype", node.subtype)}
            space = self._spaces.ensure("project")
            self._note(connection, space, [words], values["node_no"], vectors)
        sets = ", ".join(f"{name} = ?" for name in values)
        connection.execute(f"UPDATE nodes SET {sets} WHERE node_no = ?", (*values.values(), number))

    def delete_node(self, node_id: str, *, reasoning: str | None = None) -> bool:
        """Move a node to the archive tier; False when there is none, or it is there already."""
        why = gate.admit_text(reasoning or "deleted", "reasoning", 2_000)
        with self._db.write() as connection:
            found = self._locate(node_id)
            if found is None or found[1] == "archive":
                return False
            number, tier = found
            sql = "UPDATE nodes SET tier = 'archive', updated_at = ? WHERE node_no = ?"
            connection.execute(sql, (clock.now_ms(), number))
            self._log(
                connection, self._spaces.ensure("project"), "tier", [node_id], tier, "archive", why
            )
            self._flush(connection)
        return True

    def purge_node(self, node_id: str, *, reasoning: str | None = None) -> bool:
        """Remove a node for good, with its memberships; edges left without members go too."""
        with self._db.write() as connection:
            found = self._locate(node_id)
            if found is None:
                return False
            edges = [
                row[0]
                for row in connection.execute(
                    "SELECT hyperedge_id FROM membership WHERE node_id = ?", (node_id,)
                )
            ]
            connection.execute("DELETE FROM nodes WHERE node_no = ?", (found[0],))
            connection.executemany(
                "DELETE FROM hyperedges WHERE id = ?1 AND NOT EXISTS "
                "(SELECT 1 FROM membership WHERE hyperedge_id = ?1)",
                [(edge,) for edge in edges],
            )
            blocks.erase(connection, NODE, [found[0]])
            why = None if reasoning is None else gate.admit_text(reasoning, "reasoning", 2_000)
            self._log(
                connection, self._spaces.ensure("project"), "purge", [node_id], found[1], None, why
            )
            self._accesses.pop(node_id, None)
        return True

    def query_nodes(
        self,
        type: str | None = None,
        tier: str | None = None,
        min_confidence: float | None = None,
        limit: int = 100,
    ) -> list[Node]:
        """Nodes by what they are, most recently changed first. The archive is left out unless asked
        for."""
        where, values = _filters(type, tier, min_confidence)
        rows = self._db.rows(
            f"SELECT {NODE_COLUMNS} FROM nodes WHERE space_id = ? {where} "
            "ORDER BY updated_at DESC, node_no DESC LIMIT ?",
            (self._spaces.find("project"), *values, gate.check_count(limit, "limit")),
        )
        return [_node(row) for row in rows]

    # -- edges -------------------------------------------------------------------------------------

    def create_edge(
        self,
        type: str,
        label: str | None,
        members: Sequence[Mapping[str, Any] | Member],
        *,
        weight: float = 1.0,
    ) -> str:
        """Join nodes: members are `{"node_id", "role", "position"}`; a position left out is the
        place in the list."""
        kind, text, checked, weight = gate.admit_edge(type, label, members, weight)
        edge_id = clock.new_uuid()
        with self._db.write() as connection:
            space = self._spaces.ensure("project")
            self._require(connection, space, [member.node_id for member in checked])
            connection.execute(
                "INSERT INTO hyperedges(id, space_id, type, label, weight) VALUES (?,?,?,?,?)",
                (edge_id, space, kind, text, weight),
            )
            connection.executemany(
                "INSERT INTO membership(hyperedge_id, node_id, role, position) VALUES (?,?,?,?)",
                [(edge_id, member.node_id, member.role, member.position) for member in checked],
            )
            ids = list(dict.fromkeys(member.node_id for member in checked))
            self._log(
                connection,
                space,
                "link",
                ids,
                None,
                None,
                f"{kind} {edge_id}: {text or ''}".rstrip(": "),
            )
            self._flush(connection)
        return edge_id

    def _require(self, connection: apsw.Connection, space: int, ids: Sequence[str]) -> None:
        sql = "SELECT id FROM nodes WHERE space_id = ? AND id IN (SELECT value FROM json_each(?))"
        there = {row[0] for row in connection.execute(sql, (space, json.dumps(list(ids))))}
        missing = [node_id for node_id in ids if node_id not in there]
        if missing:
            raise NotFound(f"no node {missing[0]!r} here: create it first; no edge was made")

    def get_edge(self, edge_id: str) -> Edge | None:
        """One edge with its members in order, or None."""
        found = self._edges("e.id = ?", (edge_id,))
        return found[0] if found else None

    def edges_of(self, node_id: str, edge_type: str | None = None) -> list[Edge]:
        """The edges that a node takes part in."""
        where, values = "e.id IN (SELECT hyperedge_id FROM membership WHERE node_id = ?)", [node_id]
        if edge_type is not None:
            where, values = f"{where} AND e.type = ?", [node_id, _edge_type(edge_type)]
        return self._edges(where, values)

    def _edges(self, where: str, values: Sequence[Any]) -> list[Edge]:
        rows = self._db.rows(
            "SELECT e.id, e.type, e.label, e.weight, m.node_id, m.role, m.position FROM hyperedges"
            f" e JOIN membership m ON m.hyperedge_id = e.id WHERE e.space_id = ? AND {where} ORDER"
            " BY e.rowid, m.position, m.node_id, m.role",
            (self._spaces.find("project"), *values),
        )
        grouped: dict[str, tuple[list[Any], list[Member]]] = {}
        for *head, node_id, role, position in rows:
            grouped.setdefault(head[0], (head, []))[1].append(Member(node_id, role, position))
        return [
            Edge(id_, kind, label, weight, tuple(members))
            for (id_, kind, label, weight), members in grouped.values()
        ]

    def delete_edge(self, edge_id: str, *, reasoning: str | None = None) -> bool:
        """Remove an edge; its nodes stay. The log keeps what it joined."""
        with self._db.write() as connection:
            edge = self.get_edge(edge_id)
            if edge is None:
                return False
            connection.execute("DELETE FROM hyperedges WHERE id = ?", (edge_id,))
            why = reasoning or f"{edge.type} {edge_id}: {edge.label or ''}".rstrip(": ")
            ids = list(dict.fromkeys(member.node_id for member in edge.members))
            space = self._spaces.ensure("project")
            self._log(
                connection,
                space,
                "unlink",
                ids,
                None,
                None,
                gate.admit_text(why, "reasoning", 2_000),
            )
        return True

    def get_related_nodes(self, node_id: str, edge_type: str | None = None) -> list[Node]:
        """The nodes that share an edge with this one, heaviest edge first, archived ones left out."""
        kind = "" if edge_type is None else "AND e.type = ?"
        columns = ", ".join(f"n.{name.strip()}" for name in NODE_COLUMNS.split(","))
        rows = self._db.rows(
            f"SELECT {columns} FROM membership mine JOIN hyperedges e ON e.id = mine.hyperedge_id"
            f" {kind} JOIN membership other ON other.hyperedge_id = e.id AND other.node_id <>"
            " mine.node_id JOIN nodes n ON n.id = other.node_id WHERE mine.node_id = ? AND"
            " e.space_id = ? AND n.tier <> 'archive' GROUP BY n.id ORDER BY max(e.weight) DESC,"
            " min(e.rowid), min(other.position), n.id",
            (
                *(() if edge_type is None else (_edge_type(edge_type),)),
                node_id,
                self._spaces.find("project"),
            ),
        )
        return [_node(row) for row in rows]

    # -- search ------------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        type: str | None = None,
        tier: str | None = None,
        min_confidence: float | None = None,
        explain: bool = False,
    ) -> list[NodeHit]:
        """The best nodes for any string, best first. The archive is left out unless `tier` asks for
        it."""
        admits = _admits(type, tier, min_confidence)
        if not isinstance(query, str):
            raise ValidationError(
                f"query is {query.__class__.__name__}, expected text", field="query"
            )
        space = self._spaces.find("project")
        if space is None or gate.check_count(limit, "limit") <= 0:
            return []
        with self._db.read() as connection:
            found = recall(
                self.index.candidates(connection, (space,)),
                query,
                limit,
                embedder=self._embedder,
                now=clock.now(),
                admits=admits,
                confidence_share=rank.NODE_CONFIDENCE_SHARE,
            )
            hits = [
                NodeHit(_node(hit.document.row), hit.score, found.explain(hit) if explain else None)
                for hit in found.hits
            ]
        for hit in hits:
            self._accesses[hit.node.id] += 1
        return hits

    # -- the log -----------------------------------------------------------------------------------

    def evolution(self, node_id: str | None = None, limit: int = 100) -> list[Evolution]:
        """What changed and why, newest first; of one node, or of all."""
        only = (
            ""
            if node_id is None
            else "AND EXISTS (SELECT 1 FROM json_each(node_ids) WHERE value = ?)"
        )
        rows = self._db.rows(
            "SELECT id, timestamp, operation, node_ids, from_tier, to_tier, reasoning FROM"
            f" evolution_log WHERE space_id = ? {only} ORDER BY id DESC LIMIT ?",
            (self._spaces.find("project"), *(() if node_id is None else (node_id,)), max(0, limit)),
        )
        return [_evolution(row) for row in rows]

    def _log(
        self,
        connection: apsw.Connection,
        space: int,
        operation: str,
        ids: Sequence[str],
        from_tier: str | None,
        to_tier: str | None,
        reasoning: str | None,
    ) -> None:
        connection.execute(
            "INSERT INTO evolution_log(space_id, timestamp, operation, node_ids, from_tier,"
            " to_tier, reasoning) VALUES (?,?,?,?,?,?,?)",
            (
                space,
                clock.now_ms(),
                operation,
                json.dumps(list(ids)),
                from_tier,
                to_tier,
                reasoning,
            ),
        )

    def flush(self) -> None:
        """Write the access counts that are pending, if the file can be written at once."""
        if self._accesses:
            self._db.offer(self._flush, wait_s=COUNT_PATIENCE_S)

    def _flush(self, connection: apsw.Connection) -> None:
        if self._accesses:
            now = clock.now_ms()
            connection.executemany(
                "UPDATE nodes SET access_count = access_count + ?, last_accessed = ? WHERE id = ?",
                [(count, now, node_id) for node_id, count in self._accesses.items()],
            )
            self._accesses.clear()


def _columns(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """The text of each of a node's searched columns."""
    return row.get("subtype") or "", row["content"], _grams(row)


def _grams(row: Mapping[str, Any]) -> str:
    return grams(f"{row.get('subtype') or ''}\n{row['content']}")


_NODE_KINDS = (
    *((str,), (str,), (str,), (str, type(None)), (str,), (float,), (str, type(None)), (str,)),
    *((int,), (int,), (int,), (int,)),
)


def node_fault(row: Sequence[Any]) -> tuple[str, str] | None:
    """The first of `NODE_COLUMNS` that cannot be read, and why; None if all can."""
    for name, value, kinds in zip(NODE_COLUMNS.split(", "), row, _NODE_KINDS, strict=True):
        if type(value) not in kinds:
            return name, f"it is {kind_of(value)}"
    text = row[7]
    try:
        return (
            None if type(json.loads(text)) is dict else ("metadata", f"{text[:40]!r} is no object")
        )
    except (ValueError, RecursionError) as exc:
        return "metadata", f"{text[:40]!r}: {exc}"


def _node(row: Sequence[Any]) -> Node:
    if (found := node_fault(row)) is not None:
        raise damaged_row("nodes", f"node {str(row[0])[:40]}", *found)
    id_, type_, content, subtype, tier, confidence, provenance, metadata, *times = row
    return Node(
        id_, type_, content, subtype, tier, confidence, provenance, json.loads(metadata), *times
    )


def _evolution(row: Sequence[Any]) -> Evolution:
    try:
        return Evolution(row[0], row[1], row[2], tuple(json.loads(row[3])), row[4], row[5], row[6])
    except (ValueError, TypeError) as exc:
        raise damaged_row("evolution_log", f"row {row[0]}", "node_ids", str(exc)) from exc


def _edge_type(value: str) -> str:
    if value not in EDGE_TYPES:
        raise ValidationError(
            f"unknown edge type {shown(value)}; use one of: {', '.join(EDGE_TYPES)}",
            field="edge_type",
        )
    return value


def _admits(
    type_: str | None, tier: str | None, min_confidence: float | None
) -> Callable[[Document], bool]:
    """The same filters for a document of recall."""
    _filters(type_, tier, min_confidence)  # they are checked there

    def admits(document: Document) -> bool:
        found = dict(zip(NODE_ROW.split(", "), document.row, strict=True))
        return (
            (found["tier"] == tier if tier is not None else found["tier"] != "archive")
            and type_ in (None, found["type"])
            and (min_confidence is None or document.confidence >= min_confidence)
        )

    return admits


def _filters(
    type_: str | None, tier: str | None, min_confidence: float | None
) -> tuple[str, list[Any]]:
    where, values = "AND tier <> 'archive'", list[Any]()
    if tier is not None:
        if tier not in TIERS:
            raise ValidationError(
                f"unknown tier {shown(tier)}; use one of: {', '.join(TIERS)}", field="tier"
            )
        where, values = "AND tier = ?", [tier]
    if type_ is not None:
        if type_ not in NODE_TYPES:
            raise ValidationError(
                f"unknown node type {shown(type_)}; use one of: {', '.join(NODE_TYPES)}",
                field="type",
            )
        where, values = f"{where} AND type = ?", [*values, type_]
    if min_confidence is not None:
        where, values = (
            f"{where} AND confidence >= ?",
            [*values, gate.unit(min_confidence, "min_confidence")],
        )
    return where, values
