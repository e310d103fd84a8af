"""Seed 004, the hypergraph: its SQL, its calls and its REPL functions.

`create_node` and the others are methods of a store's `graph`; the names and arguments are the seed's.

Where it differs:
- SPEC-02.32: memory functions run on the host, and the code that calls them in the sealed REPL, of
  which RestrictedPython is one layer (DESIGN §6).
- The tables have the seed's columns and checks, and a few of ours: the tenant, and what search needs.
- SPEC-02.15: a member's position that is left out is its place in the list, not 0.
"""

from __future__ import annotations

import inspect
import re
import uuid

import apsw
import pytest

from rlm import Node, ScriptedClient, agent, open_store
from rlm.errors import NotFound, RLMError, ValidationError

SCHEMA = """
CREATE TABLE nodes (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL CHECK(type IN ('entity', 'fact', 'experience', 'decision', 'snippet')),
    subtype TEXT,
    content TEXT NOT NULL,
    embedding BLOB,
    tier TEXT DEFAULT 'task' CHECK(tier IN ('task', 'session', 'longterm', 'archive')),
    confidence REAL DEFAULT 0.5 CHECK(confidence >= 0.0 AND confidence <= 1.0),
    provenance TEXT,
    created_at INTEGER DEFAULT (strftime('%s', 'now') * 1000),
    updated_at INTEGER DEFAULT (strftime('%s', 'now') * 1000),
    last_accessed INTEGER DEFAULT (strftime('%s', 'now') * 1000),
    access_count INTEGER DEFAULT 0,
    metadata JSON DEFAULT '{}'
);

CREATE TABLE hyperedges (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL CHECK(type IN ('relation', 'composition', 'causation', 'context')),
    label TEXT,
    weight REAL DEFAULT 1.0 CHECK(weight >= 0.0)
);

CREATE TABLE membership (
    hyperedge_id TEXT NOT NULL REFERENCES hyperedges(id) ON DELETE CASCADE,
    node_id TEXT NOT NULL REFERENCES nodes(id) ON DELETE CASCADE,
    role TEXT NOT NULL,
    position INTEGER DEFAULT 0,
    PRIMARY KEY (hyperedge_id, node_id, role)
);

CREATE TABLE evolution_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    timestamp INTEGER DEFAULT (strftime('%s', 'now') * 1000),
    operation TEXT NOT NULL,
    node_ids JSON NOT NULL,
    from_tier TEXT,
    to_tier TEXT,
    reasoning TEXT
);

-- Indexes
CREATE INDEX idx_nodes_tier ON nodes(tier);
CREATE INDEX idx_nodes_type ON nodes(type);
CREATE INDEX idx_nodes_confidence ON nodes(confidence);
CREATE INDEX idx_nodes_last_accessed ON nodes(last_accessed);
CREATE INDEX idx_membership_node ON membership(node_id);
CREATE INDEX idx_membership_edge ON membership(hyperedge_id);
"""
TABLES = re.findall(r"CREATE TABLE (\w+)", SCHEMA)


@pytest.fixture
def store(workspace):
    with open_store("memory.db") as opened:
        yield opened


@pytest.fixture
def graph(store):
    return store.graph


# -- the storage layer and the schema ----------------------------------------------------------------


@pytest.mark.req("SPEC-02.01", "SPEC-02.02", "SPEC-02.03", "SPEC-02.04")
def test_where_the_database_lies(clean_environment, workspace, monkeypatch):
    with open_store() as store:
        assert store.db.path == clean_environment / ".claude" / "rlm-memory.db"
        assert store.db.value("PRAGMA journal_mode") == "wal"
    monkeypatch.setenv("RLM_MEMORY_DB", str(workspace / "elsewhere.db"))
    with open_store() as store:
        assert store.db.path == workspace / "elsewhere.db"


@pytest.mark.req("SPEC-02.06", "SPEC-02.07", "SPEC-02.08", "SPEC-02.12", "SPEC-02.15")
@pytest.mark.parametrize("table", TABLES)
def test_the_tables_hold_what_the_seeds_sql_does(store, table):
    seed = apsw.Connection(":memory:")
    seed.execute(SCHEMA)
    wanted = {row[1]: row[2] for row in seed.execute(f"PRAGMA table_info({table})")}
    found = {row[1]: row[2] for row in store.db.rows(f"PRAGMA table_info({table})")}
    assert wanted.items() <= found.items()


# -- CRUD --------------------------------------------------------------------------------------------


@pytest.mark.req("SPEC-02.20", "SPEC-02.22", "SPEC-02.24", "SPEC-02.25", "SPEC-02.26")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("create_node", ["type", "content"]),
        ("get_node", ["node_id"]),
        ("update_node", ["node_id"]),
        ("delete_node", ["node_id"]),
        ("query_nodes", ["type", "tier", "min_confidence", "limit"]),
        ("create_edge", ["type", "label", "members"]),
        ("get_related_nodes", ["node_id", "edge_type"]),
    ],
)
def test_the_calls_have_the_seeds_names_and_arguments(graph, name, arguments):
    given = inspect.signature(getattr(graph, name)).parameters
    assert list(given)[: len(arguments)] == arguments


@pytest.mark.req("SPEC-02.05", "SPEC-02.09", "SPEC-02.18", "SPEC-02.20", "SPEC-02.21")
@pytest.mark.parametrize("type", ["entity", "fact", "experience", "decision", "snippet"])
def test_create_and_get(graph, type):
    node_id = graph.create_node(type, "Water boils at 100 degrees.", confidence=0.9)
    assert uuid.UUID(node_id).version == 4
    node = graph.get_node(node_id)
    assert isinstance(node, Node)
    assert (node.id, node.type, node.tier, node.confidence) == (node_id, type, "task", 0.9)
    assert graph.get_node("nobody") is None


@pytest.mark.req("SPEC-02.10", "SPEC-02.22", "SPEC-02.36")
def test_update(graph):
    node_id = graph.create_node("fact", "Water boils.")
    assert graph.update_node(node_id, content="Water boils at 100 degrees.", confidence=1.0) is True
    assert graph.get_node(node_id).content == "Water boils at 100 degrees."
    assert graph.update_node("nobody", content="x") is False
    for confidence in (-0.1, 1.1):
        with pytest.raises(ValidationError, match="use a number from 0 to 1"):
            graph.update_node(node_id, confidence=confidence)
    with pytest.raises(ValidationError, match="unknown tier"):
        graph.update_node(node_id, tier="forever")


@pytest.mark.req("SPEC-02.17", "SPEC-02.19", "SPEC-02.23")
def test_delete_archives_and_is_logged(graph):
    node_id = graph.create_node("fact", "Water boils.")
    graph.update_node(node_id, tier="session")
    assert graph.delete_node(node_id) is True
    assert graph.get_node(node_id).tier == "archive"
    moves = [(line.from_tier, line.to_tier) for line in graph.evolution(node_id) if line.from_tier]
    assert sorted(moves) == [("session", "archive"), ("task", "session")]
    assert graph.delete_node("nobody") is False


@pytest.mark.req("SPEC-02.24")
def test_query(graph):
    sure = graph.create_node("fact", "Water boils.", confidence=0.9, tier="longterm")
    graph.create_node("fact", "Water may freeze.", confidence=0.2, tier="longterm")
    graph.create_node("entity", "Water", confidence=0.9)
    found = graph.query_nodes(type="fact", tier="longterm", min_confidence=0.5, limit=10)
    assert [node.id for node in found] == [sure]
    assert len(graph.query_nodes("fact", "longterm", None, 1)) == 1


@pytest.mark.req("SPEC-02.11", "SPEC-02.13", "SPEC-02.14", "SPEC-02.16", "SPEC-02.25", "SPEC-02.26")
@pytest.mark.parametrize("type", ["relation", "composition", "causation", "context"])
def test_edges(graph, type):
    heat, water, steam = (graph.create_node("entity", name) for name in ("Heat", "Water", "Steam"))
    members = [
        {"node_id": heat, "role": "cause", "position": 0},
        {"node_id": water, "role": "participant", "position": 1},
        {"node_id": steam, "role": "effect", "position": 2},
    ]
    edge_id = graph.create_edge(type, "boiling", members)
    assert graph.get_edge(edge_id).to_dict()["members"] == members
    assert {node.id for node in graph.get_related_nodes(heat, type)} == {water, steam}
    assert {node.id for node in graph.get_related_nodes(heat)} == {water, steam}
    with pytest.raises(ValidationError, match="use a number from 0 up"):
        graph.create_edge(type, "boiling", members, weight=-1.0)
    with pytest.raises(NotFound, match="no edge was made"):
        graph.create_edge(type, "boiling", [{"node_id": "nobody", "role": "subject"}])


# -- the REPL and security ---------------------------------------------------------------------------


@pytest.mark.req("SPEC-02.27", "SPEC-02.28", "SPEC-02.29", "SPEC-02.30", "SPEC-02.31", "SPEC-02.37")
def test_repl_functions(workspace):
    code = """```repl
fact = memory_add_fact("Water boils at 100 degrees", confidence=0.9)
tried = memory_add_experience("Boiled water on a mountain", outcome="It took less heat", success=True)
memory_relate("observed in", fact, tried)
print([hit["content"] for hit in memory_query("boiling water", limit=5)])
print([entry["id"] in (fact, tried) for entry in memory_get_context(limit=10)])
```"""
    client = ScriptedClient([code, "FINAL(done)"])
    result = agent.run("What boils?", None, "memory.db", context="Water boils.", client=client)
    (block,) = result.result.iterations[0].code_blocks
    assert block.result.error is None, block.result.stderr
    with open_store("memory.db") as store:
        (fact,) = store.graph.query_nodes("fact")
        (tried,) = store.graph.get_related_nodes(fact.id, "relation")
        assert (fact.confidence, tried.type) == (0.9, "experience")
        assert tried.metadata == {"outcome": "It took less heat", "success": True}
        assert {fact.content, tried.content} <= set(re.findall(r"'([^']+)'", block.result.stdout))
    assert block.result.stdout.splitlines()[1] == "[True, True]"


@pytest.mark.req("SPEC-02.33", "SPEC-02.34", "SPEC-02.38")
def test_content_is_data(graph, store):
    hostile = "Robert'); DROP TABLE nodes;--"
    node_id = graph.create_node("entity", hostile + "\x00\x1b[2J")
    assert graph.get_node(node_id).content == hostile
    assert graph.get_node("' OR 1=1 --") is None
    assert graph.query_nodes("entity")[0].id == node_id
    ids = {graph.create_node("fact", "The same words") for _ in range(20)}
    assert len(ids) == 20
    with pytest.raises(RLMError):
        graph.query_nodes("entity' OR 'a'='a")
    with pytest.raises(RLMError, match="FOREIGN KEY"), store.db.write() as connection:
        connection.execute(
            "INSERT INTO membership(hyperedge_id, node_id, role) VALUES ('none', 'none', 'subject')"
        )
