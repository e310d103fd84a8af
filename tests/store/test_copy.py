"""A whole store into another: everything of every tenant, equal by hash and by export."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from store_opening import open_store

from rlm.cli import main
from rlm.errors import NotFound, StoreError, ValidationError
from rlm.packs.export import export_pack
from rlm.store import gate
from rlm.store.copy import compare_stores, copy_store
from rlm.store.sql.tables import TABLES
from rlm.store.types import Judgment, MemoryItem, NewPack, Run, Scope, Tenant, Trajectory

ACME, OTHER = Tenant("acme", "web", "shop"), Tenant("zeta", "core", "shop")
KINDS = ("sqlite:{}.db", "json:{}.json", "postgres")
QUERIES = ("reset a password", "mend the boat", "count rows", "schlüssel drehen", "nothing at all")


def fill(url: str, tenants=(ACME, OTHER), rows: int = 3) -> None:
    """Something in every table, for every tenant."""
    for tenant in tenants:
        with open_store(url, tenant=tenant) as store:
            fill_tenant(store, tenant, rows)


def fill_tenant(store, tenant, rows: int) -> None:
    ids = store.add_many(
        MemoryItem(
            title=f"Reset a password {n}", description="Größe 👩‍👧", content=f"1. step {n}\n2. go",
            tags=["a", 'b"c'], scope=Scope(ontology="prov", task_types=("count",)),
            provenance={"alias": f"x{n}", "é": [1.5, None]},
        )
        for n in range(rows)
    )  # fmt: skip
    store.add(MemoryItem(title="Mend the boat", description="d", content="c", level="team"))
    store.add(MemoryItem(title="Drehe den Schlüssel", description="d", content="c", level="org"))
    store.add(MemoryItem(title="Doubtful", description="d", content="c", trust="quarantined"))
    store.delete(store.add(MemoryItem(title="Old", description="d", content="c")))
    store.adjust_confidence(ids[0], 0.05, kind="helpful", reason="it was")
    lines = [MemoryItem(title=f"Packed {n}", description="d", content=f"c{n}") for n in range(3)]
    admitted = list(gate.admit_items(lines, tenant, origin="pack:x"))
    store.add_pack(NewPack("p", f"hash-{tenant.org}", "p.jsonl", None, "trusted"), [admitted])
    store.update(admitted[1].memory_id, description="edited since")
    used = [(store.get(memory_id), 0.5) for memory_id in ids[:2]]
    for number in range(2):
        trajectory = Trajectory("count", artifact={"steps": [{"z": 1, "a": "é"}]})
        judgment = Judgment(True, f"seen {number}", "high", ["x"])
        store.save_artifacts(Run(notes="n"), trajectory, judgment, retrieved=used)
    store.queue_session("claude", f"s-{tenant.org}", {"path": "x"})
    branch = store.open_branch("s", "look", 100)
    for number in range(4):  # ids are drawn: some sort before their parent's
        store.open_branch("s", f"deeper {number}", 5, branch.branch_id)
    store.add_token("tok" + tenant.org, "laptop", "0" * 64, read_only=True)
    nodes = [store.graph.create_node("fact", f"the boat has mast {n}") for n in range(rows)]
    members = [{"node_id": node, "position": n} for n, node in enumerate(nodes)]
    store.graph.create_edge("context", "session", members)
    store.graph.update_node(nodes[0], content="the boat has no mast", reasoning="it fell")


def answers(url: str, tenant: Tenant):
    with open_store(url, tenant=tenant, read_only=True) as store:
        found = [
            [
                (h.item.memory_id, round(h.score, 5))
                for h in store.retrieve(q, k=5, count_access=False)
            ]
            for q in QUERIES
        ]
        nodes = [(h.node.id, round(h.score, 5)) for h in store.graph.search("boat mast", 5)]
    return found, nodes


def exported(url: str, tenant: Tenant, path: Path) -> bytes:
    with open_store(url, tenant=tenant, read_only=True) as store:
        export_pack(store, path, name="copied", ontology="prov")
    return path.read_bytes()


def place(kind: str, path: Path, request) -> tuple[str, str]:
    """The URL that people use, and the one of who may see every tenant."""
    if kind != "postgres":
        return kind.format(path), kind.format(path)
    url = request.getfixturevalue("postgres_server").new_store()
    return url, url.replace("rlm_app@", "postgres@")


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_a_copy_is_equal_answers_alike_and_exports_alike(tmp_path, request, source, target):
    (a, first), (b, second) = (
        place(source, tmp_path / "a", request),
        place(target, tmp_path / "b", request),
    )
    fill(a)
    assert copy_store(first, second, dry_run=True).total > 40
    assert not list(tmp_path.glob("b.*")), "a trial writes nothing"
    done = copy_store(first, second)
    assert done.verified and done.there == 0
    assert set(done.rows) == {table.name for table in TABLES} and min(done.rows.values()) >= 2
    assert compare_stores(first, second) == []
    for tenant in (ACME, OTHER):
        assert answers(a, tenant) == answers(b, tenant)
        assert exported(a, tenant, tmp_path / "a.jsonl") == exported(
            b, tenant, tmp_path / "b.jsonl"
        )
    again = copy_store(first, second)
    assert again.there == again.total == done.total, "once more does nothing"
    with open_store(b, tenant=ACME) as store:
        assert [check for check in store.check() if not check.ok] == []
        fill_more(store)


def fill_more(store) -> None:
    """The copy goes on giving numbers where the original would."""
    before = {row.pack_no for row in store.packs()}
    admitted = list(
        gate.admit_items(
            [MemoryItem(title="N", description="d", content="new")], ACME, origin="pack:y"
        )
    )
    number, _ = store.add_pack(NewPack("q", "hash-2", "q.jsonl", None, "trusted"), [admitted])
    assert number not in before and store.rollback_pack(min(before))[0] == 2, "one was edited since"
    store.add(MemoryItem(title="Newer", description="d", content="c"))
    assert store.retrieve("newer", k=1)[0].item.title == "Newer"
    store.queue_session("claude", "another", {"path": "x"})
    assert [check for check in store.check() if not check.ok] == []


def test_every_column_is_copied_or_known_to_be_an_engines_own(tmp_path):
    with open_store(tmp_path / "m.db") as store:
        sql = (
            "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE"
            " t.type = 'table' AND t.name NOT GLOB 'sqlite_*' AND t.name NOT GLOB '*_fts*'"
        )
        there = {f"{table}.{column}" for table, column in store.db.rows(sql)}
    known = {f"{t.name}.{c}" for t in TABLES for c in (*t.columns, *t.derived, t.number) if c}
    missing = {c for c in there - known if not c.endswith(".space_id")}
    derived = ("meta.", "counters.", "recall_blocks.", "spaces.", "index_")
    assert {c for c in missing if not c.startswith(derived)} == {"pack_items.item_no"}


def test_a_target_that_holds_something_else_is_refused_and_left(tmp_path):
    a, b = f"sqlite:{tmp_path / 'a.db'}", f"sqlite:{tmp_path / 'b.db'}"
    fill(a)
    with open_store(b, tenant=ACME) as store:
        mine = store.add(MemoryItem(title="Mine", description="d", content="c"))
    with pytest.raises(ValidationError, match=rf"holds .*{mine}.*Nothing was written"):
        copy_store(a, b)
    with open_store(b, tenant=ACME) as store:
        assert [item.title for item in store.list_items()] == ["Mine"]
    with pytest.raises(ValidationError, match="is the store itself"):
        copy_store(a, str(tmp_path / "a.db"))
    with pytest.raises(NotFound, match="there is no store"):
        copy_store(str(tmp_path / "none.db"), b)


def test_compare_names_what_differs(tmp_path, capsys):
    a, b = f"sqlite:{tmp_path / 'a.db'}", f"json:{tmp_path / 'b.json'}"
    fill(a)
    assert main(["store", "copy", a, b, "--dry-run", "--json"]) == 0
    tried = json.loads(capsys.readouterr().out)
    assert tried["total"] == sum(tried["rows"].values()) > 40 and not tried["verified"]
    assert main(["store", "copy", a, b]) == 0
    assert "are in both, equal by their hashes" in capsys.readouterr().out
    assert main(["store", "compare", a, b]) == 0
    with open_store(b, tenant=OTHER) as store:
        gone = store.retrieve("reset a password 2", k=1)[0].item.memory_id
        store.purge(gone)
        changed = store.retrieve("mend the boat", k=1)[0].item.memory_id
        store.adjust_confidence(changed, -0.3, kind="unhelpful")
    with open_store(a, tenant=ACME) as store:
        fresh = store.add(MemoryItem(title="Fresh", description="d", content="c"))
    capsys.readouterr()
    assert main(["store", "compare", a, b]) == 1
    said = capsys.readouterr().out
    assert f"only in the first: memory_items {fresh} (project acme/web/shop)" in said
    assert f"different: memory_items {changed} (team zeta/core)" in said and gone in said
    assert "confidence_signals of zeta" in said and "nodes" not in said


KILLED = """
import os, sys
from rlm.store import copy
from rlm.store.sql import tables
copy.PAGE = tables.PAGE = 7
left = int(sys.argv[3])
def die(done):
    global left
    left -= 1
    if left < 0: os.kill(os.getpid(), 9)
copy.copy_store(sys.argv[1], sys.argv[2], on_progress=die)
"""


@pytest.mark.parametrize("target", ["sqlite:{}.db", "postgres"])
def test_killed_anywhere_it_goes_on_where_it_was(tmp_path, request, target):
    a = f"sqlite:{tmp_path / 'a.db'}"
    people, b = place(target, tmp_path / "b", request)
    fill(a, rows=30)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for left in (0, 4, 9):
        line = [sys.executable, "-c", KILLED, a, b, str(left)]
        assert subprocess.run(line, env=env, timeout=60).returncode == -9
    done = copy_store(a, b)
    assert done.verified and 0 < done.there < done.total
    assert answers(a, ACME) == answers(people, ACME)


@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    texts=st.lists(st.text(max_size=40), min_size=1, max_size=6),
    orgs=st.lists(st.sampled_from(["acme", "zeta", "beta"]), min_size=6, max_size=6),
)
def test_whatever_is_stored_goes_there_and_back(tmp_path_factory, texts, orgs):
    """Written in turns by several organisations, whose rows then lie between each other."""
    folder = tmp_path_factory.mktemp("round")
    urls = [f"sqlite:{folder / 'a.db'}", f"json:{folder / 'b.json'}", f"sqlite:{folder / 'c.db'}"]
    for text, org in zip(texts, orgs, strict=False):
        with open_store(urls[0], tenant=Tenant(org, "t", "p"), embedder="none") as store:
            store.add(MemoryItem(title="A title", description=text, content=f"do {text}"))
            store.graph.create_node("fact", f"is {text}")
    copy_store(urls[0], urls[1])
    copy_store(urls[1], urls[2])
    assert compare_stores(urls[0], urls[2]) == []
    with open_store(urls[2], embedder="none") as store:
        assert [check for check in store.check() if not check.ok] == []


def test_postgres_is_copied_by_its_owner_and_not_by_the_application(tmp_path, postgres_server):
    """The role that ran `rlm store init`, which need not be a superuser."""
    from rlm.store.postgres import migrations

    server, a = postgres_server, f"sqlite:{tmp_path / 'a.db'}"
    fill(a)
    name = server.new_database()
    for statement in (
        "CREATE ROLE boss LOGIN CREATEROLE",
        f"GRANT CREATE ON DATABASE {name} TO boss",
    ):
        server.execute(statement, name)
    owner, app = server.url(name, "boss"), server.url(name, "boss_app")
    with pytest.raises(StoreError, match="holds no store yet: `rlm store init"):
        copy_store(a, owner)
    migrations.init(owner, app="boss_app", owner="boss_owner")
    with pytest.raises(
        StoreError, match=r"role boss_app .* sees one tenant at a time.*of the owner"
    ):
        copy_store(a, app)
    assert copy_store(a, owner).verified
    assert answers(a, OTHER) == answers(app, OTHER)
    with open_store(app, tenant=Tenant("acme", "web", "another")) as store:
        assert not {item.project for item in store.list_items()} - {""}, "nothing of the shop"
