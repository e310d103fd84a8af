"""The review loop: candidates out, a person edits, the result comes back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pack_making import memory, state, store

from rlm.errors import PackError
from rlm.packs import apply_candidates, import_pack, seal_pack, verify_pack, write_candidates
from rlm.store.jsonfile import MemoryStore
from rlm.store.types import MemoryItem

STEPS = "- search the label\n- then describe it"


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(text) for text in path.read_text().splitlines()]


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in lines))


def fill(db: Any) -> None:
    db.add_many(
        [
            memory("Fit to ship", STEPS, source_type="success"),
            memory("Names an ontology", f"{STEPS} of prov:Activity", source_type="success"),
            MemoryItem("Plain", "A blue day.", "The sky was blue."),
        ]
    )


@pytest.mark.req("RB-11")
def test_candidates_say_why(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        fill(db)
        report = write_candidates(db, tmp_path / "c.jsonl")
    found = records(tmp_path / "c.jsonl")
    assert (report.count, report.ready) == (3, 1)
    assert [record["title"] for record in found] == ["Fit to ship", "Plain", "Names an ontology"]
    assert found[0]["_ready"] and found[0]["_score"] == 0.7 and found[0]["_why"] == ["source_type success"]
    assert "it names an IRI or a prefix: prov:Activity" in found[2]["_why"]
    assert not any("sha256" in record or "memory_id" in record for record in found)


@pytest.mark.req("RB-11")
def test_an_edited_file_imports_like_a_pack(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    with store(tmp_path / "m.db") as db:
        fill(db)
        write_candidates(db, path)
        found = records(path)
        found[2]["content"] = f"{STEPS} of the class in question"
        found[2]["title"] = "Names no ontology"
        write(path, found)
        report = import_pack(path, db, trust=True)
        assert (report.added, report.present) == (1, 2)
        (item,) = db.list_items(source_type="pack")
        assert (item.title, item.trust) == ("Names no ontology", "trusted")
        assert not any(key.startswith("_") for key in item.provenance)


@pytest.mark.req("RB-11")
@pytest.mark.parametrize("kind", ["sqlite", "json"])
def test_applying_a_review_changes_the_memories_themselves(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "reviewed.jsonl"
    db = store(tmp_path / "m.db") if kind == "sqlite" else MemoryStore.open(tmp_path / "m.json")
    with db:
        fill(db)
        write_candidates(db, path)
        found = records(path)
        found[0]["description"] = "Better said."
        found[2]["content"] = f"{STEPS} of the class in question"
        found.append({"title": "New from the reviewer", "content": STEPS})
        write(path, found)
        report = apply_candidates(path, db)
        assert (report.changed, report.added, report.unchanged) == (2, 1, 1)
        items = {item.title: item for item in db.list_items()}
        assert len(items) == 4
        assert items["Fit to ship"].description == "Better said."
        assert items["Fit to ship"].source_type == "success"
        assert "prov:" not in items["Names an ontology"].content
        assert items["Names an ontology"].provenance["edited_from"] == found[2]["_memory_id"]
        assert (items["New from the reviewer"].source_type, items["New from the reviewer"].trust) == (
            "human",
            "trusted",
        )
        again = write_candidates(db, path)
        assert (again.count, again.ready) == (4, 3)
        assert apply_candidates(path, db).unchanged == 4


@pytest.mark.req("RB-11")
def test_a_review_with_a_bad_line_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    with store(tmp_path / "m.db") as db:
        fill(db)
        write_candidates(db, path)
        found = records(path)
        found[0]["description"] = "Better said."
        found[2]["title"] = "far too many words " * 5
        write(path, found)
        before = state(db)
        with pytest.raises(PackError, match="words") as caught:
            apply_candidates(path, db)
        assert caught.value.line == 3
        assert state(db) == before


@pytest.mark.req("RB-11")
def test_a_reviewed_file_can_become_a_pack(tmp_path: Path) -> None:
    path = tmp_path / "reviewed.jsonl"
    with store(tmp_path / "m.db") as db:
        fill(db)
        write_candidates(db, path)
    manifest = seal_pack(path, name="team_v1")
    report = verify_pack(path)
    assert (report.ok, report.name, report.count, report.manifest) == (True, "team_v1", 3, True)
    assert manifest.count == 3
    path.write_text("nonsense\n")
    with pytest.raises(PackError, match="sha256"):
        seal_pack(path)
