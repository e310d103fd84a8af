"""The JSON store's own ways: explicit saving, atomic files, and what a broken file gets."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlm.errors import StoreCorrupt, StoreError, StoreFull
from rlm.store.jsonfile import MemoryStore
from rlm.store.types import Judgment, MemoryItem, Run, Tenant, Trajectory

pytestmark = pytest.mark.req("PM-02")


def names_in(folder):
    """What lies in a folder, but for the two lock files of a store."""
    names = sorted(path.name for path in folder.iterdir())
    return [name for name in names if not name.endswith((".json-lock", ".json-turn"))]


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
    assert names_in(tmp_path) == ["m.json"]


def _edited(path, change):
    """Write a file as the store does, let a hand change it, and give back its bytes."""
    with MemoryStore.open(path) as store:
        kept = MemoryItem("Find a class", "By its label.", "1. search")
        store.add_many([MemoryItem("Count rows", "All of them.", "1. count"), kept])
        store.save_artifacts(Run(), Trajectory("q"), Judgment(True, "ok"), retrieved=[(kept, 0.5)])
        store.adjust_confidence(kept.memory_id, 0.1, kind="not_helpful")
        store.graph.create_node("fact", "Tea is hot")
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
    data["memories"].append(data["memories"][0] | {"title": " count ROWS"})


BY_HAND = [
    (
        _set("memories", 1, "confidence", to=7),
        r"memories\[1\]: CHECK constraint failed: confidence >= 0.0 AND confidence <= 1.0",
    ),
    (_set("memories", 1, "confidence", to="1"), r"memories\[1\]: confidence is '1': use a finite"),
    (
        _set("memories", 1, "confidence", to=None),
        r"memories\[1\]: NOT NULL constraint failed: memory_items.confidence",
    ),
    (
        _set("memories", 0, "outcome", to="great"),
        r"memories\[0\]: CHECK constraint failed: outcome IN \('success', 'failure', 'mixed'\)",
    ),
    (_set("memories", 0, "trust", to=[]), r"memories\[0\]: trust is \[\]: use text"),
    (_set("memories", 0, "title", to=5), r"memories\[0\]: title and content must be text"),
    (_set("memories", 0, "tags", to="x"), r"memories\[0\]: tags is 'x': use a list of text"),
    (_set("memories", 0, "tags", to=["x", 1]), r"memories\[0\]: tags is 1: use text"),
    (_set("memories", 0, "provenance", to=[]), r"memories\[0\]: provenance is \[\]: use an obj"),
    (_set("memories", 0, "scope", to=[1]), r"memories\[0\]: scope is no Scope"),
    (_set("memories", 0, "scope", to={"world": 1}), r"memories\[0\]: unknown scope key 'world'"),
    (_set("memories", 0, "access_count", to=-1), r"memories\[0\]: access_count is -1"),
    (
        _set("memories", 0, "last_used", to="soon"),
        r"memories\[0\]: last_used is 'soon': use ISO 8601",
    ),
    (_set("memories", 0, "zork", to=1), r"memories\[0\]: unknown memory field 'zork'"),
    (_set("memories", 0, to=3), r"memories\[0\] is 3: use an object"),
    (_twice, r"memories\[2\]: UNIQUE constraint failed: .* memory_items.memory_id"),
    (_set("memory_usage", to=[1]), r"memory_usage\[0\] is 1: use an object"),
    (_set("memory_usage", to={}), r"memory_usage is {}: use a list"),
    (
        _set("memory_usage", 0, "score", to=1e301),
        r"memory_usage\[0\]: score is 1e\+301: use a finite number",
    ),
    (_set("memory_usage", 0, "score", to=float("nan")), r"unexpected character, .*: line 1"),
    (_set("memory_usage", 0, to={"rank": 1}), r"memory_usage\[0\]: trajectory_id is missing"),
    (_set("memory_usage", 0, "rank", to=0), r"memory_usage\[0\]: CHECK constraint failed: rank"),
    (_set("runs", 0, "created_at", to=None), r"runs\[0\]: NOT NULL constraint failed"),
    (_set("runs", 0, "created_at", to="soon"), r"runs\[0\]: created_at is 'soon': use ISO 8601"),
    (_set("runs", 0, "zork", to=1), r"runs\[0\]: unknown field 'zork'; known: run_id"),
    (_set("runs", to=[]), r"row 1 of trajectories refers to a row that runs lacks"),
    (_set("trajectories", 0, "iteration_count", to="x"), r"trajectories\[0\]: iteration_count is"),
    (_set("judgments", 0, "confidence", to="sure"), r"judgments\[0\]: CHECK constraint failed"),
    (_set("confidence_signals", 0, "delta", to="1"), r"confidence_signals\[0\]: delta is '1'"),
    (_set("nodes", 0, "content", to=5), r"nodes\[0\]: content is 5: use text"),
    (_set("zork", to=[]), r"unknown part 'zork'; known: memories, spaces, runs"),
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
    _edited(path, lambda data: (_set("memories", 0, "confidence", to=1)(data), data.pop("nodes")))
    with MemoryStore.open(path) as store:
        assert [item.confidence for item in store.memories] == [1, 0.9]


def test_new_words_of_a_hand_give_a_memory_its_new_id(tmp_path):
    path = tmp_path / "m.json"
    _edited(path, _set("memories", 0, "title", to="Count all rows"))
    with MemoryStore.open(path) as store:
        found = store.retrieve("count all rows", k=1)[0].item
        assert found.memory_id == MemoryItem("Count all rows", "d", "1. count").memory_id
        assert all(check.ok for check in store.check())


def test_a_hand_may_share_a_memory_with_the_team(tmp_path):
    path = tmp_path / "m.json"
    _edited(path, _set("memories", 0, "level", to="team"))
    with MemoryStore.open(path, tenant=Tenant("local", "local", "other")) as store:
        assert [(item.title, item.project) for item in store.memories] == [("Count rows", "")]


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


def test_a_closed_store_without_a_file_says_so_too(tmp_path, make_item):
    store = MemoryStore()
    store.add(make_item())
    store.close()
    with pytest.raises(StoreError, match="in memory was closed: open it again"):
        store.save(tmp_path / "never.json")
    assert list(tmp_path.iterdir()) == []


# -- more than one process, and a kill ---------------------------------------------------------------

WRITER = """
import sys
from rlm.store.open import open_store
from rlm.store.types import MemoryItem
with open_store(f"json:{sys.argv[1]}", embedder="none") as store:
    for n in range(int(sys.argv[3])):
        store.add(MemoryItem(f"Writer {sys.argv[2]} item {n}", "d", f"step {n} of {sys.argv[2]}"))
        print(n, flush=True)
"""


def start_writer(path, name, count):
    args = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(args, stdout=subprocess.PIPE, env=env, text=True)


def test_processes_that_write_at_once_lose_nothing(tmp_path):
    path = tmp_path / "m.json"
    with MemoryStore.open(path) as first:
        writers = [start_writer(path, name, 15) for name in "abc"]
        assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0]
        assert len(first.memories) == 45, "who has it open sees what others wrote"
        first.add(MemoryItem("My own", "d", "c"))
    assert len(MemoryStore.load(path).memories) == 46
    for writer in writers:
        writer.stdout.close()


KILLED = """
import os, pathlib, sys
from rlm.store.open import open_store
from rlm.store.types import MemoryItem
store = open_store(f"json:{sys.argv[1]}", embedder="none")
replace = pathlib.Path.replace
def die(*args):
    if sys.argv[2] == "after":
        replace(*args)
    os.kill(os.getpid(), 9)
if sys.argv[2] == "flush":
    os.fsync = die
pathlib.Path.replace = die
store.add(MemoryItem("New", "d", "c"))
"""


@pytest.mark.parametrize(("when", "titles"), [("flush", 1), ("before", 1), ("after", 2)])
def test_a_kill_in_a_write_leaves_the_old_or_the_new_file(tmp_path, make_item, when, titles):
    path = tmp_path / "m.json"
    with MemoryStore.open(path) as store:
        store.add(make_item())
    raw = path.read_bytes()
    args = [sys.executable, "-c", KILLED, str(path), when]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(args, env=env, check=False, timeout=60).returncode == -9
    assert (path.read_bytes() == raw) == (titles == 1)
    with MemoryStore.open(path) as store:
        assert len(store.memories) == titles
        store.add(make_item("Other"))
    assert names_in(tmp_path) == ["m.json"], "what the killed writer left is gone"


def test_two_that_have_it_open_see_each_others_changes(tmp_path, make_item):
    path = tmp_path / "m.json"
    with MemoryStore.open(path) as one, MemoryStore.open(path) as two:
        kept = one.add(make_item())
        assert two.get(kept) is not None and two.retrieve("class label")
        node = two.graph.create_node("fact", "Tea is hot")
        two.delete(kept)
        assert one.get(kept).archived_at and one.retrieve("class label") == []
        assert one.graph.search("tea")[0].node.id == node
        with pytest.raises(ZeroDivisionError), one.together():
            one.add(make_item("Never"))
            raise ZeroDivisionError
        path.write_text("{")
        with pytest.raises(StoreCorrupt, match="left as it is"):
            two.add(make_item("Other"))
        assert path.read_text() == "{"


def test_a_file_that_was_removed_is_written_again(tmp_path, make_item):
    path = tmp_path / "m.json"
    with MemoryStore.open(path) as store:
        store.add(make_item())
        path.unlink()
        store.retrieve("class label")
        assert len(store.memories) == 1
        store.add(make_item("Other"))
    assert len(MemoryStore.load(path).memories) == 2


def test_the_file_keeps_all_that_a_store_holds(tmp_path, make_item):
    path = tmp_path / "m.json"
    with MemoryStore.open(path) as store:
        node = store.graph.create_node("fact", "Tea is hot", metadata={"from": ["a", 1]})
        other = store.graph.create_node("entity", "Tea")
        store.graph.create_edge("relation", "about", [{"node_id": node}, {"node_id": other}])
        store.queue_session("claude", "s1", {"turns": 3})
        branch = store.open_branch("s1", "try", 10)
        store.save_artifacts(Run(), Trajectory("q", artifact={"a": [1]}), Judgment(True, "ok"))
        store.adjust_confidence(store.add(make_item()), -0.1, kind="not_helpful")
    data = json.loads(path.read_text("utf-8"))
    assert data["format"] == 2 and data["nodes"][0]["metadata"] == {"from": ["a", 1]}
    assert data["distill_queue"][0]["payload_json"] == {"turns": 3}
    assert not {"memory_items", "packs", "meta", "counters", "recall_blocks"} & data.keys()
    before = path.read_bytes()
    with MemoryStore.open(path) as store:
        assert store.graph.get_links(node) and store.graph.search("hot tea")
        assert store.get_branch(branch.branch_id) == branch and store.lease_job().payload
        assert all(check.ok for check in store.check()) and store.repair() == []
        assert store.stats()["engine"]["store"] == "json"
        copy = MemoryStore.load(store.backup(tmp_path / "copy.json"))
        assert copy.stats()["nodes"] == 2
    assert json.loads(before)["nodes"] == data["nodes"]


# -- format 1: lists of artifacts, usage, signals and packs beside the memories --------------------


@pytest.fixture
def format1(tmp_path):
    return Path(shutil.copyfile(Path(__file__).parent / "format1.json", tmp_path / "m.json"))


def test_a_file_of_format_1_is_read_whole_and_kept_when_it_is_written(format1, tmp_path):
    raw = format1.read_bytes()
    with MemoryStore.open(format1) as store:
        check_format_1(store)
    assert format1.read_bytes() == raw, "reading changes nothing"
    with MemoryStore.open(format1) as store:
        store.add(MemoryItem("New", "d", "c"))
    assert (tmp_path / "m.json.bak").read_bytes() == raw
    with MemoryStore.open(format1) as store:
        check_format_1(store, added=1)
    with MemoryStore.open(format1, tenant=Tenant("acme", "red", "web")) as theirs:
        assert [item.title for item in theirs.memories] == ["Ask first"]
        assert [row.task_query for row in theirs.learning_rows()] == ["Theirs?"]


def check_format_1(store, added=0):
    assert (len(store.memories), len(store.list_items(archived=True))) == (6 + added, 2)
    assert store.get("mem-1").level == "team" and len(store.signals("mem-1")) == 1
    two, one = store.learning_rows()
    assert (one.trajectory_id, one.curriculum_id, one.is_success) == ("t1", "c1", True)
    assert [use.score for use in one.given] == [0.75] and len(two.given) == 2
    (signal,) = store.signals(one.given[0].memory_id)
    assert (signal["kind"], signal["reason"]) == ("not_helpful", "too long")
    assert signal["after"] == store.get(one.given[0].memory_id).confidence
    assert store.judged_high(["t1", "t2"]) == {"t1"}
    p, q = store.packs()
    assert (p.name, p.added_count, p.rolled_back_at) == ("p", 4, None) and q.rolled_back_at
    assert store.retrieve("find a class by its label")[0].item.tags == ["ä"]


def test_a_rollback_of_what_format_1_noted_leaves_what_was_changed(format1):
    with MemoryStore.open(format1) as store:
        archived, kept = store.rollback_pack(store.packs()[0].pack_no)
        assert archived == 3
        assert [store.get(one).description for one in kept] == ["edited by hand"]


def test_a_file_of_before_rows_had_an_owner_is_still_read(format1):
    data = json.loads(format1.read_text("utf-8"))
    data["artifacts"].pop()
    for part in ("artifacts", "usage", "signals"):
        for row in data[part]:
            del row["owner"]
    format1.write_text(json.dumps(data), "utf-8")
    with MemoryStore.open(format1) as store:
        row = list(store.learning_rows())[1]
        assert len(row.given) == 1 and len(store.signals(row.given[0].memory_id)) == 1
        store.record_usage(row.trajectory_id, [(store.get(row.given[0].memory_id), 0.25)])
        row = list(store.learning_rows())[1]
        assert [use.score for use in row.given] == [0.25]


@pytest.mark.parametrize(
    ("way", "to", "message"),
    [
        (("usage", 0), 1, r"usage\[0\] is 1: use an object"),
        (("usage", 0, "owner"), ["acme"], r"usage\[0\]: not enough values to unpack"),
        (("usage", 0, "score"), "x", r"memory_usage\[0\]: score is 'x'"),
        (("artifacts", 0), {}, r"artifacts\[0\]: run is missing"),
        (("artifacts", 0, "run"), None, r"artifacts\[0\]: 'NoneType'"),
        (("signals", 0, "zork"), 1, r"confidence_signals\[0\]: unknown field 'zork'"),
        (("packs", 0, "brought"), [], r"packs\[0\]: brought is \[\]: use an object"),
    ],
)
def test_a_slip_in_format_1_is_named_too(format1, way, to, message):
    data = json.loads(format1.read_text("utf-8"))
    _set(*way, to=to)(data)
    format1.write_text(json.dumps(data), "utf-8")
    with pytest.raises(StoreCorrupt, match=f"{message}.*left as it is"):
        MemoryStore.open(format1)


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
    assert names_in(tmp_path) == ["memories.json", "memories.json.bak"]
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
