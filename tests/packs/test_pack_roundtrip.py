"""Out, in and out again: the same bytes."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pack_making import memories, memory, store

from rlm.errors import PackError, ValidationError
from rlm.packs import export_pack, import_pack
from rlm.store import gate
from rlm.store.types import LOCAL, MemoryItem, Scope

WORD = st.text(min_size=1, max_size=8).map(lambda text: "".join(text.split())).filter(bool)
TEXT = st.text(max_size=80)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PROVENANCE = st.dictionaries(TEXT, JSON, max_size=3) | st.fixed_dictionaries(
    {},
    optional={
        "source": st.sampled_from(["extracted", "human", "pack"]),
        "pack": st.sampled_from(["p", "other"]),
        "trajectory_id": TEXT,
        "exported_in_pack": TEXT,
        "before_pack": st.none()
        | st.dictionaries(st.sampled_from(["source", "source_type"]), TEXT),
    },
)
ITEM = st.builds(
    MemoryItem,
    title=st.lists(WORD, min_size=1, max_size=10).map(" ".join),
    description=TEXT.map(lambda text: f"{text}."),
    content=st.text(min_size=1, max_size=300),
    source_type=st.sampled_from(["success", "human", "pack"]),
    task_query=st.none() | TEXT,
    tags=st.lists(WORD, max_size=4),
    scope=st.builds(
        Scope,
        st.just("onto"),
        st.lists(WORD, max_size=3).map(tuple),
        st.lists(WORD, max_size=3).map(tuple),
        st.booleans(),
    ),
    provenance=PROVENANCE,
    outcome=st.none() | st.sampled_from(["success", "failure", "mixed"]),
    confidence=st.none() | st.floats(0, 1),
    created_at=st.datetimes().map(lambda at: at.isoformat() + "Z"),
    session_id=st.none() | WORD,
    access_count=st.integers(0, 5),
)
KEPT = (
    "title",
    "description",
    "content",
    "tags",
    "scope",
    "task_query",
    "outcome",
    "confidence",
    "created_at",
)


def admissible(item: MemoryItem) -> bool:
    try:
        return gate.admit_item(item, LOCAL, origin="test").trust != "quarantined"
    except ValidationError:
        return False


@pytest.mark.req("RB-06", "RB-12")
@settings(max_examples=15, deadline=None)
@given(st.lists(ITEM, min_size=1, max_size=5), st.sampled_from(["onto", None]))
def test_export_import_export_gives_the_same_bytes(
    items: list[MemoryItem], ontology: str | None
) -> None:
    if ontology is None:
        items = [
            replace(item, scope=replace(item.scope, ontology=None), memory_id="") for item in items
        ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "one").mkdir()
        (folder / "two").mkdir()
        with store(folder / "a.db") as first, store(folder / "b.db") as second:
            first.add_many(item for item in items if admissible(item))
            try:
                out = export_pack(
                    first, folder / "one" / "p.jsonl", ontology=ontology, threshold=0.0
                )
            except PackError:
                assert not list((folder / "one").iterdir()), "there was nothing to share"
                return
            import_pack(folder / "one" / "p.jsonl", second, trust=True)
            export_pack(second, folder / "two" / "p.jsonl", ontology=ontology, threshold=0.0)
            for item in second.list_items():
                original = first.get(item.memory_id)
                assert original is not None
                same = KEPT if ontology else tuple(name for name in KEPT if name != "task_query")
                assert [getattr(item, n) or None for n in same] == [
                    getattr(original, n) or None for n in same
                ]
            assert len(second.list_items()) == out.count
        for file in ("p.jsonl", "p.manifest.json"):
            assert (folder / "one" / file).read_bytes() == (folder / "two" / file).read_bytes()


@pytest.mark.req("RB-06")
def test_exporting_twice_gives_the_same_bytes_though_counters_moved(tmp_path: Path) -> None:
    with store(tmp_path / "m.db") as db:
        db.add_many(memories(5))
        export_pack(db, tmp_path / "p.jsonl")
        before = (tmp_path / "p.jsonl").read_bytes(), (tmp_path / "p.manifest.json").read_bytes()
        assert db.retrieve("Lesson number 3")
        db.record_usage("t-1", [(db.list_items()[0], 0.5)])
        export_pack(db, tmp_path / "p.jsonl")
    assert before == (
        (tmp_path / "p.jsonl").read_bytes(),
        (tmp_path / "p.manifest.json").read_bytes(),
    )


@pytest.mark.req("RB-12")
def test_what_an_import_replaces_comes_back(tmp_path: Path) -> None:
    provenance = {"source": "extracted", "trajectory_id": "t-1", "run_id": "r-1"}
    with store(tmp_path / "a.db") as first, store(tmp_path / "b.db") as second:
        first.add(memory(source_type="success", provenance=provenance))
        export_pack(first, tmp_path / "p.jsonl")
        import_pack(tmp_path / "p.jsonl", second, trust=True)
        item = second.list_items()[0]
        assert (item.source_type, item.provenance["source"], item.provenance["pack"]) == (
            "pack",
            "pack",
            "p",
        )
        assert item.provenance["before_pack"] == {"source_type": "success", "source": "extracted"}
        export_pack(second, tmp_path / "q.jsonl")
    assert '"source_type":"success"' in (tmp_path / "q.jsonl").read_text()
    assert "before_pack" not in (tmp_path / "q.jsonl").read_text()


@pytest.mark.req("RB-12")
def test_secrets_do_not_leave_even_if_a_row_holds_one(tmp_path: Path) -> None:
    secret = "sk-ant-" + "a1B2" * 8
    with store(tmp_path / "m.db") as db:
        db.add(memory(content="- placeholder to be replaced"))
        with db.db.write() as connection:
            connection.execute("UPDATE memory_items SET content = ?", (f"- use {secret}",))
        export_pack(db, tmp_path / "p.jsonl")
    text = (tmp_path / "p.jsonl").read_text()
    assert "- use" in text and secret not in text
