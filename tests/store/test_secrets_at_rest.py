"""Secrets never reach the file: not rows, not the index, not the WAL, not a backup, not a pack."""

from __future__ import annotations

import pytest

from rlm.store.open import open_store
from rlm.store.types import Judgment, MemoryItem, Run, Scope, Trajectory

# Put together at run time, so that no scanner finds a secret in this repository.
SECRETS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLQ",
    "openai": "sk-" + "proj-" + "a1B2" * 12,
    "anthropic": "sk-" + "ant-api03-" + "Zz9_" * 20,
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"[:36],
    "npm": "npm_" + "k3Yq" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "url": "hunter2-" + "correct-horse",
    "key": "MIIEpAIBAAKCAQEA" + "7bq9" * 20,
}


def texts():
    return {
        **{name: f"call it with {value} and wait" for name, value in SECRETS.items() if name not in ("url", "key")},
        "url": f"connect to postgres://admin:{SECRETS['url']}@db.example.org/x first",
        "key": f"-----BEGIN RSA PRIVATE KEY-----\n{SECRETS['key']}\n-----END RSA PRIVATE KEY-----",
    }


def everything_on_disk(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def item_with(text, n):
    return MemoryItem(
        title=f"Item {n}",
        description=text,
        content=f"- {text}",
        task_query=text,
        tags=[text[:60]] if "\n" not in text else [],
        scope=Scope(tools=(text,)),
        provenance={"source": "human", "note": text},
    )


@pytest.mark.parametrize("kind", ["sqlite", "json"])
@pytest.mark.parametrize("name", SECRETS)
def test_no_write_path_lets_a_secret_through(tmp_path, kind, name):
    secret, text = SECRETS[name].encode(), texts()[name]
    where = tmp_path / "m.db" if kind == "sqlite" else f"json:{tmp_path / 'm.json'}"
    with open_store(where, embedder="none") as db:
        kept = db.add(item_with(text, 1))
        db.update(kept, description=f"again {text}")
        db.save_artifacts(
            Run(notes=text),
            Trajectory(text, final_answer=text, artifact={"steps": [{"action": text}]}),
            Judgment(False, text, "low", [text]),
            memories=[item_with(text, 2)],
        )
        if kind == "sqlite":
            node = db.graph.create_node("fact", text, provenance=text, subtype=text, metadata={"k": [text]})
            db.graph.update_node(node, content=f"more {text}", reasoning=text)
            db.graph.create_edge("relation", text, [{"node_id": node}])
            db.adjust_confidence(db.list_items()[0].memory_id, 0.1, kind="helpful", reason=text)
            db.search.recall.seal()
        assert secret not in everything_on_disk(tmp_path), "while the WAL is still there"
        db.backup(tmp_path / "copy")
        assert "[redacted:" in db.list_items()[0].description
    assert secret not in everything_on_disk(tmp_path)
