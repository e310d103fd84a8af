"""What a line of a pack is, and which lines a person may write."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from pack_making import AT, line, memory, pack_bytes, seal, state, store, write_pack

from rlm.errors import PackError
from rlm.packs import export_pack, import_pack, seal_pack, verify_pack
from rlm.packs.format import PackReader, record_of
from rlm.packs.manifest import manifest_path
from rlm.store.identity import canonical_json, memory_id
from rlm.store.types import MemoryItem

SEED_KEYS = {"memory_id", "title", "description", "content", "tags", "scope", "provenance"}


def exported(folder: Path, **fields: Any) -> str:
    """The one line of a pack that holds one memory."""
    with store(folder / "m.db") as db:
        db.add(memory(**fields))
        export_pack(db, folder / "p.jsonl")
    return (folder / "p.jsonl").read_text("utf-8")


@pytest.mark.req("RB-12")
def test_a_line_has_the_seeds_keys_and_is_canonical(tmp_path: Path) -> None:
    text = exported(tmp_path, tags=["b", "a"], session_id="s-1", task_query="ask: ünïcode?")
    record = json.loads(text)
    assert record.keys() >= SEED_KEYS
    assert text == canonical_json(record) + "\n"
    assert "ünïcode" in text
    assert record["created_at"] == AT and record["session_id"] == "s-1"


@pytest.mark.req("RB-12")
def test_no_counter_trust_or_tenant_leaves_the_store(tmp_path: Path) -> None:
    record = json.loads(exported(tmp_path, access_count=7, last_used=AT, trust="trusted"))
    counters = {"access_count", "success_count", "failure_count", "last_used"}
    assert not (counters | {"trust", "origin", "org", "level"}) & record.keys()


@pytest.mark.req("RB-12")
def test_the_hash_is_that_of_the_line_without_it(tmp_path: Path) -> None:
    record = json.loads(exported(tmp_path))
    claimed = record.pop("sha256")
    assert claimed == sha256(canonical_json(record).encode()).hexdigest()


@pytest.mark.req("RB-06")
def test_lines_are_sorted_by_id(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add_many(memory(f"Title {i}") for i in range(20))
        export_pack(db, tmp_path / "p.jsonl")
    ids = [
        json.loads(text)["memory_id"] for text in (tmp_path / "p.jsonl").read_text().splitlines()
    ]
    assert len(ids) == 20
    assert ids == sorted(ids)


@pytest.mark.req("RB-12")
def test_a_line_with_only_the_seeds_keys_is_accepted(tmp_path: Path) -> None:
    scope = {"ontology": None, "task_types": ["entity_description"], "transferable": True}
    provenance = {"source": "pack", "pack": "core_v1"}
    path = tmp_path / "hand.jsonl"
    path.write_bytes(
        line(title="By hand", description="d", tags=["x"], scope=scope, provenance=provenance)
    )
    with store(tmp_path / "m.db") as db:
        assert import_pack(path, db, trust=True).added == 1
        item = db.list_items()[0]
    expected = memory_id("By hand", "- do it", {**scope, "tools": []})
    assert (item.memory_id, item.tags, item.scope.task_types) == (
        expected,
        ["x"],
        ("entity_description",),
    )


@pytest.mark.req("RB-12")
def test_spaces_and_key_order_do_not_break_the_hash(tmp_path: Path) -> None:
    record = json.loads(pack_bytes([memory()]))
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps(dict(reversed(record.items())), indent=None) + "\n")
    with store(tmp_path / "m.db") as db:
        assert import_pack(path, db).added == 1


@pytest.mark.req("RB-06", "RB-12")
def test_an_id_that_is_not_the_texts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(line(memory_id="0123456789abcdef"))
    with store(tmp_path / "m.db") as db, pytest.raises(PackError, match="memory_id") as caught:
        import_pack(path, db)
    assert (caught.value.path, caught.value.line) == (str(path), 1)


@pytest.mark.req("RB-12")
def test_comment_keys_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(line(_why=["because"], _score=0.7))
    with store(tmp_path / "m.db") as db:
        import_pack(path, db)
        assert "because" not in str(db.list_items())


@pytest.mark.req("RB-12")
def test_a_name_may_differ_from_the_files(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add(memory())
        report = export_pack(db, tmp_path / "file.jsonl", name="another")
    assert report.name == "another"
    with store(tmp_path / "n.db") as db:
        assert import_pack(tmp_path / "file.jsonl", db).name == "another"
        assert db.list_items()[0].provenance["pack"] == "another"


@pytest.mark.req("RB-12")
@pytest.mark.parametrize("name", ["", "..", "a/b", "a..b", "-x", "a b", "x" * 65, ".hidden", "a\n"])
def test_a_name_is_a_plain_name(tmp_path: Path, name: str) -> None:
    with store(tmp_path / "m.db") as db, pytest.raises(PackError, match="cannot name a pack"):
        export_pack(db, tmp_path / "p.jsonl", name=name)


TOKEN = "ghp_" + "aB3dE6gH9jK2" * 3


@pytest.mark.parametrize("call", ["file", "name", "ontology", "seal", "seal kind"])
def test_no_secret_becomes_a_name_in_an_export(tmp_path: Path, call: str) -> None:
    hand = tmp_path / "hand.jsonl"
    hand.write_bytes(line())
    with store(tmp_path / "m.db") as db:
        db.add(memory())
        calls: dict[str, Callable[[], object]] = {
            "file": lambda: export_pack(db, tmp_path / f"{TOKEN}.jsonl"),
            "name": lambda: export_pack(db, tmp_path / "p.jsonl", name=TOKEN),
            "ontology": lambda: export_pack(db, tmp_path / "p.jsonl", ontology=TOKEN),
            "seal": lambda: seal_pack(hand, name=TOKEN),
            "seal kind": lambda: seal_pack(hand, kind=TOKEN),
        }
        with pytest.raises(PackError, match="looks like a secret") as caught:
            calls[call]()
    assert "ghp_" not in str(caught.value)
    assert [path.name for path in tmp_path.glob("*.js*")] == ["hand.jsonl"]


@pytest.mark.parametrize("how", ["file", "manifest", "name", "kind", "bare"])
def test_no_secret_in_a_name_is_imported(tmp_path: Path, how: str) -> None:
    path = tmp_path / (f"{TOKEN}.jsonl" if how in ("file", "manifest") else "p.jsonl")
    path.write_bytes(line())
    if how != "file":
        seal(path, **{how: TOKEN} if how in ("name", "kind") else {})
    given: Path | str = {"manifest": manifest_path(path), "bare": TOKEN}.get(how, path)
    with store(tmp_path / "m.db") as db:
        before = state(db)
        with pytest.raises(PackError, match="looks like a secret") as caught:
            import_pack(given, db, trust=True)
        assert state(db) == before
    assert "ghp_" not in str(caught.value)
    assert not verify_pack(given).ok


@pytest.mark.req("RB-12")
def test_a_pack_is_named_by_its_manifest_too(tmp_path: Path) -> None:
    path = write_pack(tmp_path / "p.jsonl", [memory()])
    with store(tmp_path / "m.db") as db:
        assert import_pack(path.with_name("p.manifest.json"), db).added == 1


def test_lines_are_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    path.write_bytes(b"".join(b'{"title": "%d %s"}\n' % (n, b"x" * (n % 7)) for n in range(2_000)))
    reader = PackReader(path)
    found = list(reader)
    assert [record["title"].split()[0] for _, record in found] == list(map(str, range(2_000)))
    assert [number for number, _ in found] == list(range(1, 2_001))
    assert reader.count == 2_000 and reader.sha256 == sha256(path.read_bytes()).hexdigest()


def test_a_line_names_the_commits_of_a_memory_and_not_where_they_lie() -> None:
    stated = {"commits": ["1a2b3c4"], "repo": "/home/ada/shop"}
    record = record_of(MemoryItem("One", "", "Do it.", provenance=stated))
    assert record["provenance"] == {"commits": ["1a2b3c4"]}
