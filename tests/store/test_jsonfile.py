"""The JSON store's own ways: explicit saving, atomic files, and what a broken file gets."""

from __future__ import annotations

import json

import pytest

from rlm.errors import NotSupported, StoreCorrupt, StoreError, StoreFull
from rlm.store.jsonfile import MemoryStore
from rlm.store.types import Judgment, MemoryItem, Run, Trajectory

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
    ["", "{", "7", "[7]", '[{"title": "x"}]', '{"format": 9, "memories": []}', '{"format": 1}', '{"format": 1, "memories": [{"title": "x"}]}',
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


def _edited(path, change):
    """Write a file as the store does, let a hand change it, and give back its bytes."""
    with MemoryStore.open(path) as store:
        kept = MemoryItem("Find a class", "By its label.", "1. search")
        store.add_many([MemoryItem("Count rows", "All of them.", "1. count"), kept])
        store.save_artifacts(Run(), Trajectory("q"), Judgment(True, "ok"), retrieved=[(kept, 0.5)])
        store.adjust_confidence(kept.memory_id, 0.1, kind="not_helpful")
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), "utf-8")
    return path.read_bytes()


def _set(*way, to):
    def change(data):
        for step in way[:-1]:
            data = data[step]
        data[way[-1]] = to

    return change


def _twice(data):
    data["memories"].append(data["memories"][0] | {"title": "Another"})


BY_HAND = [
    (
        _set("memories", 1, "confidence", to=7),
        r"memories\[1\]: confidence is 7: use a number from 0 to 1",
    ),
    (_set("memories", 1, "confidence", to=None), r"memories\[1\]: confidence is None"),
    (
        _set("memories", 0, "outcome", to="great"),
        r"memories\[0\]: unknown outcome 'great'; use one of: success",
    ),
    (_set("memories", 0, "trust", to=[]), r"memories\[0\]: unknown trust \[\]"),
    (_set("memories", 0, "title", to=5), r"memories\[0\]: title is 5: use text"),
    (_set("memories", 0, "tags", to="x"), r"memories\[0\]: tags is 'x': use a list of text"),
    (_set("memories", 0, "scope", to=[1]), r"memories\[0\]: scope is \[1\]: use an object"),
    (_set("memories", 0, "scope", to={"world": 1}), r"memories\[0\]: unknown scope key 'world'"),
    (_set("memories", 0, "access_count", to=-1), r"memories\[0\]: access_count is -1"),
    (
        _set("memories", 0, "last_used", to="soon"),
        r"memories\[0\]: last_used is 'soon': use ISO 8601",
    ),
    (_set("memories", 0, "zork", to=1), r"memories\[0\]: unknown memory field 'zork'"),
    (_set("memories", 0, to=3), r"memories\[0\] is 3: use an object"),
    (_twice, r"memories\[2\]: memory_id '\w+' is that of memories\[0\] too: remove one"),
    (_set("usage", to=[1]), r"usage\[0\] is 1: use an object"),
    (_set("usage", to={}), r"usage is {}: use a list"),
    (_set("usage", 0, "score", to=float("nan")), r"usage\[0\]: score is nan: use a finite number"),
    (_set("usage", 0, to={"rank": 1}), r"usage\[0\]: trajectory_id is missing"),
    (
        _set("usage", 0, "owner", to=["acme"]),
        r"usage\[0\]: owner is \['acme'\]: use \[org, team, project\]",
    ),
    (_set("artifacts", 0, "run", to=None), r"artifacts\[0\]: run is None: use an object"),
    (
        _set("artifacts", 0, "run", "zork", to=1),
        r"artifacts\[0\].run: unknown field 'zork'; known: run_id",
    ),
    (
        _set("artifacts", 0, "trajectory", "iteration_count", to="x"),
        r"artifacts\[0\].trajectory: iteration_count is",
    ),
    (
        _set("artifacts", 0, "judgment", "confidence", to="sure"),
        r"artifacts\[0\].judgment: confidence is 'sure'",
    ),
    (_set("signals", 0, "after", to="1"), r"signals\[0\]: after is '1': use a finite number"),
]


@pytest.mark.parametrize(("change", "message"), BY_HAND, ids=[m for _, m in BY_HAND])
def test_a_slip_of_the_hand_is_named_by_row_and_value_and_nothing_is_lost(
    tmp_path, change, message
):
    path = tmp_path / "m.json"
    raw = _edited(path, change)
    for opening in (lambda: MemoryStore.load(path), lambda: MemoryStore.open(path)):
        with pytest.raises(StoreCorrupt, match=f"{message}.*left as it is"):
            opening()
    assert path.read_bytes() == raw


def test_what_a_hand_may_change_is_taken(tmp_path):
    path = tmp_path / "m.json"
    _edited(path, lambda data: (_set("memories", 0, "confidence", to=1)(data), data.pop("signals")))
    with MemoryStore.open(path) as store:
        assert [item.confidence for item in store.memories] == [1, 0.9]


def test_a_file_of_before_rows_had_an_owner_is_still_read(tmp_path):
    path = tmp_path / "m.json"
    parts = ("artifacts", "usage", "signals")
    _edited(path, lambda data: [row.pop("owner") for part in parts for row in data[part]])
    with MemoryStore.open(path) as store:
        (row,) = store.learning_rows()
        assert len(row.given) == 1 and len(store.signals(row.given[0].memory_id)) == 1
        store.record_usage(row.trajectory_id, [(store.get(row.given[0].memory_id), 0.25)])
        (row,) = store.learning_rows()
        assert [use.score for use in row.given] == [0.25]


def test_a_memory_that_a_hand_wrote_is_the_tenants_and_passes_the_gate(tmp_path):
    path = tmp_path / "m.json"
    written = {
        "title": "  Ask first ",
        "description": "Before all.",
        "content": "1. ask " + "ghp_" + "Xy7Z" * 9,
    }
    _edited(path, lambda data: data["memories"].append(written))
    with MemoryStore.open(path) as store:
        found = store.retrieve("ask first")[0].item
        assert (found.title, found.trust, found.confidence, found.org) == (
            "Ask first",
            "trusted",
            0.8,
            "local",
        )
        assert found.content.startswith("1. ask [redacted:")
    _edited(path, lambda data: data["memories"].append(written | {"title": "word " * 50}))
    with pytest.raises(StoreCorrupt, match=r"memories\[\d\]: title has 50 words"):
        MemoryStore.open(path)


def test_opening_and_closing_leaves_the_file_as_it_is(tmp_path):
    path = tmp_path / "m.json"
    raw = _edited(path, lambda data: None)
    with MemoryStore.open(path) as store:
        store.list_items()
    assert path.read_bytes() == raw
    with MemoryStore.open(path) as store:
        store.retrieve("find a class", k=1)
        store.backup(tmp_path / "copy.json")
    assert max(item.access_count for item in MemoryStore.load(path).memories) == 1, (
        "counted when it was closed"
    )


def test_it_has_no_graph_and_says_what_has():
    store = MemoryStore()
    assert "graph" in store.lacks
    with pytest.raises(NotSupported, match=r"a JSON store has no hypergraph: use an SQLite store"):
        store.graph.create_node("fact", "x")


def test_a_closed_store_without_a_file_says_so_too(tmp_path, make_item):
    store = MemoryStore()
    store.add(make_item())
    store.close()
    with pytest.raises(StoreError, match="this MemoryStore is closed: open it again"):
        store.save(tmp_path / "never.json")
    assert list(tmp_path.iterdir()) == []


# -- seed 001's own form: a plain list ---------------------------------------------------------------

OLD = [
    {
        "id": "6f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "title": "SPARQL query pattern for entity search",
        "description": "Use rdfs:label with FILTER for case-insensitive search.",
        "content": "- Step 1\n- Step 2",
        "source_type": "success",
        "task_query": "Find entities by name",
        "created_at": "2026-01-19T10:11:12.131415",
        "access_count": 3,
        "tags": ["sparql", "search", "entity"],
        "session_id": None,
    },
    {
        "id": "7f9619ff-8b86-4d01-b42d-00cf4fc964ff",
        "title": "Debugging failed SPARQL queries",
        "description": "Check syntax, namespaces, and endpoint first.",
        "content": "- Check 1\n- Check 2",
        "source_type": "failure",
        "task_query": "Query failed with error",
        "created_at": "2026-01-19T10:11:13.131415+00:00",
        "access_count": 0,
        "tags": ["sparql", "debugging", "error"],
        "session_id": "s-1",
    },
]


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "memories.json"
    path.write_text(json.dumps(OLD, indent=2), "utf-8")
    path.chmod(0o640)
    return path


def test_a_plain_list_is_read_with_all_that_it_says(old):
    for opening in (MemoryStore.load, MemoryStore.open):
        store = opening(old)
        first, second = store.memories
        assert first.title == OLD[0]["title"] and first.access_count == 3
        assert (first.created_at, first.trust) == ("2026-01-19T10:11:12.131415Z", "unverified")
        assert (second.outcome, second.session_id) == ("failure", "s-1")
        assert store.get(OLD[1]["id"]) == second
    assert json.loads(old.read_text()) == OLD, "reading changes nothing"


def test_a_search_alone_does_not_rewrite_it(old, tmp_path):
    raw = old.read_bytes()
    with MemoryStore.open(old) as store:
        assert store.retrieve("search for an entity")
        store.backup(tmp_path / "copy.json")
    assert old.read_bytes() == raw and not (tmp_path / "memories.json.bak").exists()
    assert len(MemoryStore.load(tmp_path / "copy.json").memories) == 2


def test_the_first_save_keeps_the_old_form_beside_the_new(old, tmp_path, make_item):
    raw = old.read_bytes()
    with MemoryStore.open(old) as store:
        store.add(make_item())
        store.add(make_item("Another one"))
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "memories.json",
        "memories.json.bak",
    ]
    kept = tmp_path / "memories.json.bak"
    assert kept.read_bytes() == raw and kept.stat().st_mode & 0o777 == 0o640
    store = MemoryStore.load(old)
    assert len(store.memories) == 4 and store.get(OLD[0]["id"]).title == OLD[0]["title"]


def test_a_backup_that_is_there_is_not_written_over(old, tmp_path, make_item):
    (tmp_path / "memories.json.bak").write_text("somebody's own")
    store = MemoryStore.load(old)
    store.save()
    assert (tmp_path / "memories.json.bak").read_text() == "somebody's own"
    assert json.loads((tmp_path / "memories.json.bak1").read_text()) == OLD


def test_a_file_that_nobody_read_is_kept_too(old, tmp_path, make_item):
    raw = old.read_bytes()
    store = MemoryStore(old)
    store.add(make_item())
    store.save()
    store.save()
    assert (tmp_path / "memories.json.bak").read_bytes() == raw
    assert len(list(tmp_path.iterdir())) == 2
    assert len(MemoryStore.load(old).memories) == 1


def test_a_list_that_cannot_be_kept_is_not_written_over(old, tmp_path):
    raw = old.read_bytes()
    (tmp_path / "memories.json.bak").mkdir()
    with pytest.raises(StoreFull, match=r"cannot be written .*: the old file is intact"):
        MemoryStore.load(old).save()
    assert old.read_bytes() == raw


def test_the_same_words_twice_are_one_and_an_empty_list_is_a_store(tmp_path, old):
    old.write_text(json.dumps([*OLD, OLD[0] | {"id": "another"}]), "utf-8")
    assert len(MemoryStore.load(old).memories) == 2
    old.write_text("[]", "utf-8")
    assert MemoryStore.load(old).memories == []


def test_a_list_with_a_slip_says_where_and_what_takes_the_rest(old):
    old.write_text(json.dumps([OLD[0], OLD[1] | {"title": "word " * 11}]), "utf-8")
    message = (
        r"memories\[1\]: title has 11 words.*`rlm memory import` takes the others.*left as it is"
    )
    with pytest.raises(StoreCorrupt, match=message):
        MemoryStore.open(old)
