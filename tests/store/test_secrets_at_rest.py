"""Secrets never reach the file: not rows, not the index, not the WAL, not a backup, not a pack."""

from __future__ import annotations

import pytest

from rlm.errors import ValidationError
from rlm.store.open import open_store
from rlm.store.types import Judgment, MemoryItem, Run, Scope, Tenant, Trajectory

# Put together at run time, so that no scanner finds a secret in this repository.
SECRETS = {
    "aws": "AKIA" + "IOSFODNN7EXAMPLQ",
    "openai": "sk-" + "proj-" + "a1B2" * 12,
    "anthropic": "sk-" + "ant-api03-" + "Zz9_" * 20,
    "github": "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"[:36],
    "npm": "npm_" + "k3Yq" * 9,
    "jwt": "eyJhbGciOiJIUzI1NiJ9."
    + "eyJzdWIiOiIxMjM0NTY3ODkwIn0."
    + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
    "url": "hunter2-" + "correct-horse",
    "key": "MIIEpAIBAAKCAQEA" + "7bq9" * 20,
    "deepseek": "sk-" + "0a1b2c3d" * 4,
    "bedrock": "ABSK" + "QmVkcm9ja0FQSUtleS" + "a1B2/c3D4+" * 10,
    "alibaba": "LTAI" + "a1B2c3D4e5F6",
    "user": "0a1b2c3d4e" * 4,
    "env": "7f6e5d4c3b2a1908" * 2,
}
PLACED = ("url", "key", "user", "env")  # known by where they stand


def texts():
    return {
        **{
            name: f"call it with {value} and wait"
            for name, value in SECRETS.items()
            if name not in PLACED
        },
        "url": f"connect to postgres://admin:{SECRETS['url']}@db.example.org/x first",
        "user": f"git clone https://{SECRETS['user']}@git.example.org/x first",
        "env": f"set AZURE_OPENAI_KEY={SECRETS['env']} first",
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
            node = db.graph.create_node(
                "fact", text, provenance=text, subtype=text, metadata={"k": [text]}
            )
            db.graph.update_node(node, content=f"more {text}", reasoning=text)
            db.graph.create_edge("relation", text, [{"node_id": node}])
            db.adjust_confidence(db.list_items()[0].memory_id, 0.1, kind="helpful", reason=text)
            db.queue_session("claude", "s1", {"text": text})
            db.open_branch("s1", text, 100)
        assert secret not in everything_on_disk(tmp_path), "while the WAL is still there"
        db.backup(tmp_path / "copy")
        assert "[redacted:" in db.list_items()[0].description
    assert secret not in everything_on_disk(tmp_path)


REFUSED = {
    "a long tag": lambda text: MemoryItem("t", "d", "c", tags=[text]),
    "tags that are no list": lambda text: MemoryItem("t", "d", "c", tags=text),
    "tools that are no list": lambda text: MemoryItem(
        "t", "d", "c", scope=Scope.from_dict({"tools": text})
    ),
    "an unknown key": lambda text: MemoryItem("t", "d", "c", scope=Scope.from_dict({text: 1})),
    "a time": lambda text: MemoryItem("t", "d", "c", created_at=text),
    "a kind": lambda text: MemoryItem("t", "d", "c", source_type=text),
    "a tenant": lambda text: Tenant(org=text + "x" * 200),
}


@pytest.mark.parametrize("name", ["user", "github", "deepseek"])
@pytest.mark.parametrize("place", REFUSED)
def test_no_refusal_shows_a_secret(tmp_path, place, name):
    text = texts()[name] + " and so on" * 6
    with (
        open_store(tmp_path / "m.db", embedder="none") as db,
        pytest.raises(ValidationError) as caught,
    ):
        db.add(REFUSED[place](text))
    assert SECRETS[name] not in str(caught.value)
    assert "[redacted:" in str(caught.value)


def test_a_long_tag_is_refused_by_its_length_even_if_little_of_it_can_be_shown(tmp_path):
    tag = f"https://{SECRETS['user']}{SECRETS['user']}@git.example.org"
    with (
        open_store(tmp_path / "m.db", embedder="none") as db,
        pytest.raises(ValidationError) as caught,
    ):
        db.add(MemoryItem("t", "d", "c", tags=[tag]))
    message = (
        f"tag 'https://[redacted:url-token]@git.example.org' has {len(tag)} characters, at most 64"
    )
    assert str(caught.value) == message


def test_what_the_graph_and_the_runs_refuse_shows_no_secret(tmp_path):
    text = texts()["user"]
    with open_store(tmp_path / "m.db", embedder="none") as db:
        node = db.graph.create_node("fact", "one")
        for call in (
            lambda: db.graph.create_nodes([{"type": text}]),
            lambda: db.graph.create_node(text, "one"),
            lambda: db.graph.create_edge(text, "edge", [{"node_id": node}]),
            lambda: db.graph.create_edge("relation", "edge", [{"node_id": node, "position": text}]),
            lambda: db.graph.create_edge("relation", "edge", [{"node_id": node, text: 1}]),
            lambda: db.save_artifacts(
                Run(), Trajectory("t", iteration_count=text), Judgment(True, "r", "low", [])
            ),
            lambda: db.save_artifacts(Run(), Trajectory("t"), Judgment(True, "r", text, [])),
        ):
            with pytest.raises(ValidationError) as caught:
                call()
            assert SECRETS["user"] not in str(caught.value) and "[redacted:url-token]" in str(
                caught.value
            )
