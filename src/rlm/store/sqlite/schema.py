"""The tables, and what identity means in each.

- A **space** is one (level, org, team, project): the smallest thing that a tenant may see whole. A
  tenant sees at most three: its project's, its team's, its organisation's. Every row names its
  space.
- `runs`, `trajectories`, `judgments`, `memory_usage`: an id is unique within its space, so that no
  tenant can tell, or touch, what ids another has.
- `memory_items`: the row's identity is (space, memory_id). `item_no` is an explicit integer, because
  FTS needs one that survives VACUUM. It only grows, and a row whose words change gets a new one: so
  "everything after number n" is exactly what an index that has seen n has not seen.
- `nodes`, `hyperedges`, `membership`, `evolution_log`: seed 004's SQL, with the space and `node_no`
  added.
- `memory_fts` and `node_fts` are external-content FTS5 tables over the two `_live` views. Changes
  reach them by triggers; new rows by one INSERT … SELECT a batch (`sources.index`), because a trigger
  makes FTS5 flush after every row. Only `integrity-check` with rank 1 notices when one is stale.
- `recall_blocks` is derived: the space, length and sign code of every live row (`blocks.py`).
  Dropping it loses nothing.

- `tokens`: who may speak to the store over HTTP, for one project; an id is unique in the file, because
  it says which tenant a connection has.

- `index_spaces` and `index_outbox`: what a search index beside the file holds and has yet to be told
  (`sql/outbox.py`). Empty where there is none.

A new file is made of all parts at once. `RECALL_2` and `QUEUE_2`, then `TOKENS_3` and `OUTBOX_4`, are
what versions 2 to 4 added: a file of an earlier version gets them by migrations. They are never
edited after release: a later version adds another.
"""

from __future__ import annotations

_SPACE = "space_id INTEGER NOT NULL REFERENCES spaces(space_id)"

TABLES = f"""
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE spaces (
    space_id INTEGER PRIMARY KEY,
    level TEXT NOT NULL CHECK(level IN ('project', 'team', 'org')),
    org TEXT NOT NULL,
    team TEXT NOT NULL,
    project TEXT NOT NULL,
    UNIQUE(level, org, team, project)
);

CREATE TABLE runs (
    run_id TEXT NOT NULL,
    {_SPACE},
    created_at TEXT NOT NULL,
    model TEXT,
    ontology_name TEXT,
    ontology_path TEXT,
    notes TEXT,
    PRIMARY KEY (space_id, run_id)
);

CREATE TABLE trajectories (
    trajectory_id TEXT NOT NULL,
    {_SPACE},
    run_id TEXT NOT NULL,
    task_query TEXT NOT NULL,
    final_answer TEXT,
    iteration_count INTEGER NOT NULL CHECK(iteration_count >= 0),
    converged INTEGER NOT NULL CHECK(converged IN (0, 1)),
    artifact_json TEXT NOT NULL,
    rlm_log_path TEXT,
    created_at TEXT NOT NULL,
    PRIMARY KEY (space_id, trajectory_id),
    FOREIGN KEY (space_id, run_id) REFERENCES runs(space_id, run_id)
);
CREATE INDEX idx_trajectories_run ON trajectories(space_id, run_id);

CREATE TABLE judgments (
    trajectory_id TEXT NOT NULL,
    {_SPACE},
    is_success INTEGER NOT NULL CHECK(is_success IN (0, 1)),
    reason TEXT NOT NULL,
    confidence TEXT NOT NULL CHECK(confidence IN ('high', 'medium', 'low')),
    missing_json TEXT NOT NULL,
    PRIMARY KEY (space_id, trajectory_id),
    FOREIGN KEY (space_id, trajectory_id) REFERENCES trajectories(space_id, trajectory_id) ON DELETE CASCADE
);

CREATE TABLE memory_items (
    item_no INTEGER PRIMARY KEY,
    {_SPACE},
    memory_id TEXT NOT NULL,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    content TEXT NOT NULL,
    source_type TEXT NOT NULL CHECK(source_type IN ('success', 'failure', 'human', 'pack')),
    task_query TEXT,
    created_at TEXT NOT NULL,
    tags_json TEXT NOT NULL,
    scope_json TEXT NOT NULL,
    provenance_json TEXT NOT NULL,
    access_count INTEGER NOT NULL DEFAULT 0,
    success_count INTEGER NOT NULL DEFAULT 0,
    failure_count INTEGER NOT NULL DEFAULT 0,
    outcome TEXT NOT NULL CHECK(outcome IN ('success', 'failure', 'mixed')),
    confidence REAL NOT NULL CHECK(confidence >= 0.0 AND confidence <= 1.0),
    last_used TEXT,
    org TEXT NOT NULL,
    team TEXT NOT NULL,
    project TEXT NOT NULL,
    level TEXT NOT NULL CHECK(level IN ('project', 'team', 'org')),
    source_session TEXT,
    trust TEXT NOT NULL CHECK(trust IN ('trusted', 'unverified', 'quarantined')),
    origin TEXT NOT NULL,
    archived_at TEXT,
    scope_words TEXT NOT NULL,
    grams TEXT NOT NULL,
    embedding BLOB,
    embedding_model TEXT,
    UNIQUE(space_id, memory_id)
);
CREATE INDEX idx_items_confidence ON memory_items(space_id, confidence) WHERE confidence > 0.6;
CREATE INDEX idx_items_quarantined ON memory_items(space_id) WHERE trust = 'quarantined';

CREATE TABLE memory_usage (
    trajectory_id TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    {_SPACE},
    rank INTEGER NOT NULL CHECK(rank >= 1),
    score REAL,
    PRIMARY KEY (space_id, trajectory_id, memory_id)
);
CREATE INDEX idx_usage_memory ON memory_usage(memory_id);

CREATE TABLE confidence_signals (
    signal_no INTEGER PRIMARY KEY AUTOINCREMENT,
    {_SPACE},
    memory_id TEXT NOT NULL,
    at TEXT NOT NULL,
    kind TEXT NOT NULL,
    delta REAL NOT NULL,
    confidence_before REAL NOT NULL,
    confidence_after REAL NOT NULL,
    reason TEXT
);
CREATE INDEX idx_signals_memory ON confidence_signals(space_id, memory_id);

CREATE TABLE branches (
    branch_id TEXT PRIMARY KEY,
    {_SPACE},
    session_id TEXT NOT NULL,
    parent_id TEXT REFERENCES branches(branch_id),
    description TEXT NOT NULL,
    depth INTEGER NOT NULL CHECK(depth >= 0),
    budget_tokens INTEGER NOT NULL CHECK(budget_tokens > 0),
    used_tokens INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'open' CHECK(state IN ('open', 'returned', 'failed', 'expired')),
    result TEXT,
    created_at TEXT NOT NULL,
    ended_at TEXT
);

CREATE TABLE packs (
    pack_no INTEGER PRIMARY KEY AUTOINCREMENT,
    {_SPACE},
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source TEXT NOT NULL,
    signer TEXT,
    trust TEXT NOT NULL CHECK(trust IN ('trusted', 'unverified', 'quarantined')),
    item_count INTEGER NOT NULL,
    added_count INTEGER NOT NULL,
    imported_at TEXT NOT NULL,
    rolled_back_at TEXT
);

CREATE TABLE pack_items (
    pack_no INTEGER NOT NULL REFERENCES packs(pack_no) ON DELETE CASCADE,
    memory_id TEXT NOT NULL,
    item_no INTEGER NOT NULL,
    PRIMARY KEY (pack_no, memory_id)
) WITHOUT ROWID;
CREATE INDEX idx_pack_items_number ON pack_items(item_no);

CREATE TABLE nodes (
    node_no INTEGER PRIMARY KEY,
    {_SPACE},
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL CHECK(type IN ('entity', 'fact', 'experience', 'decision', 'snippet')),
    subtype TEXT,
    content TEXT NOT NULL,
    embedding BLOB,
    tier TEXT NOT NULL DEFAULT 'task' CHECK(tier IN ('task', 'session', 'longterm', 'archive')),
    confidence REAL NOT NULL DEFAULT 0.5 CHECK(confidence >= 0.0 AND confidence <= 1.0),
    provenance TEXT,
    created_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
    updated_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
    last_accessed INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
    access_count INTEGER NOT NULL DEFAULT 0,
    metadata JSON NOT NULL DEFAULT '{{}}',
    grams TEXT NOT NULL DEFAULT '',
    embedding_model TEXT
);
CREATE INDEX idx_nodes_tier ON nodes(tier);
CREATE INDEX idx_nodes_type ON nodes(type);
CREATE INDEX idx_nodes_confidence ON nodes(confidence);
CREATE INDEX idx_nodes_last_accessed ON nodes(last_accessed);

CREATE TABLE hyperedges (
    id TEXT PRIMARY KEY,
    {_SPACE},
    type TEXT NOT NULL CHECK(type IN ('relation', 'composition', 'causation', 'context')),
    label TEXT,
    weight REAL NOT NULL DEFAULT 1.0 CHECK(weight >= 0.0)
);

CREATE TABLE membership (
    hyperedge_id TEXT NOT NULL REFERENCES hyperedges(id) ON DELETE CASCADE,
    node_id TEXT NOT NULL REFERENCES nodes(id) ON DELETE CASCADE,
    role TEXT NOT NULL CHECK(role IN ('subject', 'object', 'context', 'participant', 'cause', 'effect')),
    position INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hyperedge_id, node_id, role)
);
CREATE INDEX idx_membership_node ON membership(node_id);
CREATE INDEX idx_membership_edge ON membership(hyperedge_id, position);

CREATE TABLE evolution_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    {_SPACE},
    timestamp INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000),
    operation TEXT NOT NULL,
    node_ids JSON NOT NULL,
    from_tier TEXT,
    to_tier TEXT,
    reasoning TEXT
);

CREATE VIEW memory_live AS
    SELECT item_no, title, description, tags_json AS tags, scope_words AS scope,
           coalesce(task_query, '') AS task_query, content, grams, 's' || space_id AS space,
           space_id, embedding, embedding_model
    FROM memory_items WHERE archived_at IS NULL AND trust <> 'quarantined';

CREATE VIEW node_live AS
    SELECT node_no, coalesce(subtype, '') AS subtype, content, grams, 's' || space_id AS space,
           space_id, embedding, embedding_model
    FROM nodes;
"""

_ITEM_COLUMNS = "title, description, tags, scope, task_query, content, grams, space"
_LIVE = "{0}.archived_at IS NULL AND {0}.trust <> 'quarantined'"


def _item_values(row: str) -> str:
    return (
        f"{row}.title, {row}.description, {row}.tags_json, {row}.scope_words, "
        f"coalesce({row}.task_query, ''), {row}.content, {row}.grams, 's' || {row}.space_id"
    )


def _node_values(row: str) -> str:
    return f"coalesce({row}.subtype, ''), {row}.content, {row}.grams, 's' || {row}.space_id"


_ITEM_WATCHED = (
    "item_no, title, description, tags_json, scope_words, task_query, content, grams, space_id,"
    " archived_at, trust"
)

DROP_1 = """
DROP TRIGGER IF EXISTS memory_fts_delete;
DROP TRIGGER IF EXISTS memory_fts_update_old;
DROP TRIGGER IF EXISTS memory_fts_update_new;
DROP TRIGGER IF EXISTS node_fts_delete;
DROP TRIGGER IF EXISTS node_fts_update_old;
DROP TRIGGER IF EXISTS node_fts_update_new;
DROP TABLE IF EXISTS memory_fts;
DROP TABLE IF EXISTS node_fts;
DROP VIEW IF EXISTS memory_tail;
DROP VIEW IF EXISTS node_tail;
DROP TABLE IF EXISTS recall_sealed;
DROP TABLE IF EXISTS recall_segments;
DROP TABLE IF EXISTS recall_postings;
DROP TABLE IF EXISTS recall_dead;
"""

ALIAS = "iif(json_valid(provenance_json), provenance_json ->> 'alias', NULL)"
"""The id that a caller gave a memory; a damaged row has none."""

RECALL_2 = f"""
CREATE TABLE recall_blocks (
    kind TEXT NOT NULL CHECK(kind IN ('memory', 'node')),
    block INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    model TEXT,
    data BLOB NOT NULL,
    PRIMARY KEY (kind, block)
);
INSERT INTO counters(name, value) VALUES ('stamp', 0);
INSERT INTO meta(key, value) VALUES ('store_id', lower(hex(randomblob(8))));
CREATE INDEX idx_items_alias ON memory_items(space_id, {ALIAS}) WHERE {ALIAS} IS NOT NULL;
"""

QUEUE_2 = f"""
CREATE TABLE distill_queue (
    job_no INTEGER PRIMARY KEY AUTOINCREMENT,
    {_SPACE},
    agent TEXT NOT NULL,
    session_id TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK(outcome IN ('success', 'failure', 'mixed')),
    payload_json TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'ready' CHECK(state IN ('ready', 'leased', 'done', 'dead')),
    attempts INTEGER NOT NULL DEFAULT 0,
    fence INTEGER NOT NULL DEFAULT 0,
    not_before TEXT NOT NULL,
    leased_until TEXT,
    last_error TEXT,
    created_at TEXT NOT NULL,
    finished_at TEXT,
    UNIQUE(space_id, agent, session_id)
);
CREATE INDEX idx_queue_ready ON distill_queue(state, not_before);
"""

SET_ASIDE_QUEUE_1 = (
    "ALTER TABLE distill_queue RENAME TO distill_queue_1; DROP INDEX idx_queue_ready"
)
COPY_QUEUE_1 = """
INSERT INTO distill_queue(job_no, space_id, agent, session_id, outcome, payload_json, state, attempts,
                          not_before, leased_until, last_error, created_at)
    SELECT job_no, space_id, '', session_id, outcome, payload_json, state, attempts, not_before,
           leased_until, last_error, created_at FROM distill_queue_1;
DROP TABLE distill_queue_1;
"""

TOKENS_3 = f"""
CREATE TABLE tokens (
    token_id TEXT PRIMARY KEY NOT NULL,
    {_SPACE},
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    read_only INTEGER NOT NULL CHECK(read_only IN (0, 1)),
    created_at TEXT NOT NULL,
    UNIQUE(space_id, name)
);
"""

OUTBOX_4 = f"""
CREATE TABLE index_spaces (
    space_id INTEGER PRIMARY KEY REFERENCES spaces(space_id),
    collection TEXT NOT NULL, token TEXT NOT NULL, model TEXT, dim INTEGER NOT NULL,
    built INTEGER NOT NULL DEFAULT 0 CHECK(built IN (0, 1)),
    change_no INTEGER NOT NULL DEFAULT 0, fence INTEGER NOT NULL DEFAULT 0, leased_until TEXT
);
CREATE TABLE index_outbox (change_no INTEGER PRIMARY KEY AUTOINCREMENT, {_SPACE}, memory_id TEXT NOT NULL);
CREATE INDEX idx_outbox_memory ON index_outbox(space_id, memory_id);
"""

FTS = f"""
CREATE VIRTUAL TABLE memory_fts USING fts5(
    {_ITEM_COLUMNS}, content='memory_live', content_rowid='item_no', tokenize='porter unicode61'
);
INSERT INTO memory_fts(memory_fts, rank) VALUES ('hashsize', 33554432);

CREATE TRIGGER memory_fts_delete AFTER DELETE ON memory_items WHEN {_LIVE.format("old")} BEGIN
    INSERT INTO memory_fts(memory_fts, rowid, {_ITEM_COLUMNS})
    VALUES ('delete', old.item_no, {_item_values("old")});
END;
CREATE TRIGGER memory_fts_update_old AFTER UPDATE OF {_ITEM_WATCHED} ON memory_items
WHEN {_LIVE.format("old")} BEGIN
    INSERT INTO memory_fts(memory_fts, rowid, {_ITEM_COLUMNS})
    VALUES ('delete', old.item_no, {_item_values("old")});
    INSERT INTO memory_fts(rowid, {_ITEM_COLUMNS})
    SELECT new.item_no, {_item_values("new")} WHERE {_LIVE.format("new")};
END;
CREATE TRIGGER memory_fts_update_new AFTER UPDATE OF {_ITEM_WATCHED} ON memory_items
WHEN NOT ({_LIVE.format("old")}) AND {_LIVE.format("new")} BEGIN
    INSERT INTO memory_fts(rowid, {_ITEM_COLUMNS}) VALUES (new.item_no, {_item_values("new")});
END;

CREATE VIRTUAL TABLE node_fts USING fts5(
    subtype, content, grams, space, content='node_live', content_rowid='node_no',
    tokenize='porter unicode61'
);
INSERT INTO node_fts(node_fts, rank) VALUES ('hashsize', 33554432);

CREATE TRIGGER node_fts_delete AFTER DELETE ON nodes BEGIN
    INSERT INTO node_fts(node_fts, rowid, subtype, content, grams, space)
    VALUES ('delete', old.node_no, {_node_values("old")});
END;
CREATE TRIGGER node_fts_update AFTER UPDATE OF node_no, subtype, content, grams, space_id ON nodes
BEGIN
    INSERT INTO node_fts(node_fts, rowid, subtype, content, grams, space)
    VALUES ('delete', old.node_no, {_node_values("old")});
    INSERT INTO node_fts(rowid, subtype, content, grams, space)
    VALUES (new.node_no, {_node_values("new")});
END;
"""
