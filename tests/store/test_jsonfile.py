"""The JSON store's own ways: explicit saving, atomic files, and what a broken file gets."""

from __future__ import annotations

import json

import pytest

from rlm.errors import StoreCorrupt, StoreError
from rlm.store.jsonfile import MemoryStore

pytestmark = pytest.mark.req("PM-02")


def test_add_save_load(tmp_path, make_item):
    store = MemoryStore(path=tmp_path / "memories.json")
    kept = store.add(make_item(tags=["a"]))
    assert not store.path.exists(), "nothing is written before it is asked for"
    assert store.save() == tmp_path / "memories.json"
    loaded = MemoryStore.load(tmp_path / "memories.json")
    assert [item.memory_id for item in loaded.memories] == [kept]
    assert loaded.memories[0].to_dict() == store.memories[0].to_dict()
    assert loaded.path == tmp_path / "memories.json"


def test_the_file_is_readable_json(tmp_path, make_item):
    store = MemoryStore(tmp_path / "m.json")
    store.add(make_item("Ünïcode"))
    store.save()
    data = json.loads((tmp_path / "m.json").read_text("utf-8"))
    assert data["memories"][0]["title"] == "Ünïcode"
    assert "Ünïcode" in (tmp_path / "m.json").read_text("utf-8")


def test_without_a_path_it_lives_in_memory_only(make_item):
    store = MemoryStore()
    store.add(make_item())
    assert store.retrieve("class label")
    with pytest.raises(StoreError, match="has no path"):
        store.save()


@pytest.mark.parametrize(
    "junk",
    ["", "{", "[]", '{"format": 9, "memories": []}', '{"format": 1}', '{"format": 1, "memories": [{"title": "x"}]}',
     '{"format": 1, "memories": 7}', "\udcff"],
)  # fmt: skip
def test_a_corrupt_file_is_reported_and_kept(tmp_path, junk):
    path = tmp_path / "m.json"
    raw = junk.encode("utf-8", "surrogateescape")
    path.write_bytes(raw)
    for opening in (lambda: MemoryStore.load(path), lambda: MemoryStore.open(path)):
        with pytest.raises(StoreCorrupt, match="left as it is"):
            opening()
    assert path.read_bytes() == raw


def test_a_missing_file_cannot_be_loaded_but_can_be_opened(tmp_path, make_item):
    with pytest.raises(StoreError, match="cannot be read"):
        MemoryStore.load(tmp_path / "none.json")
    with MemoryStore.open(tmp_path / "new" / "m.json") as store:
        store.add(make_item())
    assert (tmp_path / "new" / "m.json").exists()


def test_a_new_file_is_private_and_nothing_else_is_left(tmp_path, make_item):
    with MemoryStore.open(tmp_path / "m.json") as store:
        store.add(make_item())
    assert (tmp_path / "m.json").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
