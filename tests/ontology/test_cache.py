"""The second opening parses nothing, and nothing that happens to the cache can break an engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm.errors import OntologyError, QueryTimeout
from rlm.ontology.engine.cache import Cache
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.worker import Worker

TEXT = "@prefix e: <http://e/> .\n" + "".join(
    f"e:n{n} e:p e:n{n + 1} ; e:no {n} .\n" for n in range(200)
)
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "x.ttl"
    path.write_text(TEXT, "utf-8")
    return path


@pytest.fixture
def opening(file, folder) -> Iterator:
    opened = []

    def opening(path: Path = file, cache_dir: Path = folder) -> LocalEngine:
        opened.append(LocalEngine(path, cache_dir=cache_dir))
        settled(opened[-1])
        return opened[-1]

    yield opening
    for engine in opened:
        engine.close()


def settled(engine: LocalEngine) -> None:
    """A small file is answered from memory at once, and the cache is written beside that."""
    engine._loader.settle(60)


def counted(engine: LocalEngine) -> int:
    return int(engine.query(COUNT).rows[0]["n"]["v"])


def entries(folder: Path) -> list[Path]:
    return sorted(
        path for path in (folder / "ontologies").iterdir() if not path.name.startswith(".")
    )


def leftovers(folder: Path) -> list[str]:
    return [
        path.name
        for path in (folder / "ontologies").iterdir()
        if path.name.startswith((".building", ".dropped"))
    ]


def test_the_second_opening_comes_from_the_cache(opening, folder):
    first = opening()
    assert not first.loaded_from_cache and counted(first) == 400
    (entry,) = entries(folder)
    facts = json.loads((entry / "entry.json").read_text())
    assert (
        facts["triples"] == 400
        and facts["prefixes"] == {"e": "http://e/"}
        and facts["hashes"] == [first.content_hash]
    )
    before = {path.name: path.stat().st_mtime_ns for path in (entry / "store").iterdir()}
    (entry / "entry.json").write_text(json.dumps({**facts, "triples": 4242}))
    second = opening()
    assert second.loaded_from_cache and second.triples == 4242, "it was parsed again"
    assert counted(second) == 400 and second.prefixes["e"] == "http://e/"
    assert {path.name: path.stat().st_mtime_ns for path in (entry / "store").iterdir()} == before
    assert entries(folder) == [entry] and leftovers(folder) == []


@pytest.mark.parametrize("damage", [None, b"", b"no zlib"])
def test_the_statements_are_kept_and_read_again_where_they_are_damaged(opening, folder, damage):
    first = set(opening().dump())
    (kept,) = [entry / "dump.z" for entry in entries(folder)]
    assert first and kept.is_file()
    if damage is not None:
        kept.write_bytes(damage)
    assert set(opening().dump()) == first and kept.read_bytes() not in (b"", b"no zlib")


def test_the_same_content_elsewhere_is_the_same_entry(opening, folder, tmp_path):
    opening()
    other = tmp_path / "other.turtle"
    shutil.copy(tmp_path / "x.ttl", other)
    assert opening(other).loaded_from_cache
    third = tmp_path / "x.trig"
    shutil.copy(other, third)
    assert not opening(third).loaded_from_cache, "another format may mean something else"
    assert len(entries(folder)) == 2


def test_a_file_that_changed_is_read_anew(opening, file):
    first = opening()
    file.write_text(TEXT + "e:a e:b e:c .", "utf-8")
    second = opening()
    assert not second.loaded_from_cache and counted(second) == 401 and counted(first) == 400


def test_several_engines_share_an_entry(opening):
    engines = [opening(), opening(), opening()]
    assert [counted(engine) for engine in engines] == [400] * 3


OPEN = """
import sys
from pathlib import Path
from rlm.ontology.engine.local import LocalEngine
sys.stdin.readline()
with LocalEngine(sys.argv[1], cache_dir=Path(sys.argv[2])) as engine:
    print(engine.query(sys.argv[3]).rows[0]["n"]["v"])
"""


def test_processes_that_build_the_same_entry_do_not_harm_each_other(file, folder):
    started = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(file), str(folder), COUNT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(4)
    ]  # fmt: skip
    for process in started:
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate(timeout=60) for process in started]
    assert told == [("400\n", "")] * 4
    assert len(entries(folder)) == 1 and leftovers(folder) == []


def test_who_comes_second_takes_what_is_there(folder):
    cache = Cache(folder)
    mine, theirs = cache.begin(), cache.begin()
    for place in (mine, theirs):
        (place / "store").mkdir()
        (place / "store" / "CURRENT").write_text(place.name)
    first = cache.keep(theirs, "k", {})
    second = cache.keep(mine, "k", {})
    assert first.folder == second.folder and (second.store / "CURRENT").read_text() == theirs.name
    assert leftovers(folder) == []


# -- damage


def _no_manifest(entry: Path) -> None:
    next((entry / "store").glob("MANIFEST*")).write_bytes(b"garbage")


def _flipped(entry: Path) -> None:
    for path in (entry / "store").glob("*.sst"):
        data = bytearray(path.read_bytes())
        for at in range(0, len(data), 7):
            data[at] ^= 0xFF
        path.write_bytes(data)


DAMAGE = {
    "no entry.json": lambda entry: (entry / "entry.json").unlink(),
    "entry.json cut": lambda entry: (entry / "entry.json").write_text('{"key": '),
    "entry.json a list": lambda entry: (entry / "entry.json").write_text("[]"),
    "no CURRENT": lambda entry: (entry / "store" / "CURRENT").unlink(),
    "CURRENT wrong": lambda entry: (entry / "store" / "CURRENT").write_text("x"),
    "manifest garbage": _no_manifest,
    "tables gone": lambda entry: [path.unlink() for path in (entry / "store").glob("*.sst")],
    "tables flipped": _flipped,
    "tables cut": lambda entry: [os.truncate(path, 20) for path in (entry / "store").glob("*.sst")],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A cache with one sound entry, to be copied."""
    place = tmp_path_factory.mktemp("whole")
    (place / "x.ttl").write_text(TEXT, "utf-8")
    with LocalEngine(place / "x.ttl", cache_dir=place / "cache") as engine:
        settled(engine)
    return place / "cache"


def test_a_copy_of_a_cache_is_a_cache(opening, folder, whole):
    shutil.copytree(whole, folder)
    assert opening().loaded_from_cache


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_built_again(opening, folder, whole, damage):
    shutil.copytree(whole, folder)
    (entry,) = entries(folder)
    DAMAGE[damage](entry)
    engine = opening()
    assert counted(engine) == 400
    assert len(engine.query("SELECT * { ?s <http://e/no> ?o }")) == 200
    assert entries(folder) == [entry] and leftovers(folder) == []
    assert (entry / "entry.json").exists() and (entry / "store" / "CURRENT").exists()


def _damaged_late(folder: Path) -> None:
    """Damage that is met by queries only: the smallest table is read when the store is opened."""
    (entry,) = entries(folder)
    tables = sorted((entry / "store").glob("*.sst"), key=lambda path: path.stat().st_size)
    for path in tables[1:]:
        data = path.read_bytes()
        path.write_bytes(
            bytes(byte ^ 0xFF for byte in data[: len(data) // 4]) + data[len(data) // 4 :]
        )


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?s { ?s <http://e/no> 7 }",
        COUNT.replace("COUNT(*)", "COUNT(?o)"),  # over damage this one goes round in circles
    ],
)
def test_damage_that_is_found_late_is_mended(opening, folder, query):
    with opening() as engine:
        right = engine.query(query).rows
    _damaged_late(folder)
    engine = opening()
    assert engine.loaded_from_cache, "the damage was found too early for this test"
    assert engine.query(query, timeout_s=1).rows == right
    settled(engine)
    assert not engine.loaded_from_cache and len(entries(folder)) == 1


def test_a_timeout_over_a_whole_store_rebuilds_nothing(opening):
    opening().close()
    engine = opening()
    with pytest.raises(QueryTimeout):
        engine.query(
            "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }", timeout_s=0.2
        )
    assert engine.loaded_from_cache and counted(engine) == 400


def test_a_cache_that_vanishes_under_an_engine_is_built_again(opening, folder):
    engine = opening()
    shutil.rmtree(folder)
    engine._worker.kill()
    assert counted(engine) == 400
    settled(engine)
    assert len(entries(folder)) == 1


def test_a_file_that_changed_under_an_engine_is_not_taken_for_the_old_one(opening, file, folder):
    engine = opening()
    shutil.rmtree(folder)
    file.write_text("<http://e/a> <http://e/b> 1 .", "utf-8")
    engine._worker.kill()
    with pytest.raises(OntologyError, match="has changed since it was opened: open it again"):
        engine.query(COUNT)
    assert not folder.exists() or (leftovers(folder) == [] and entries(folder) == [])


# -- nowhere to write


def test_without_a_cache_the_file_is_loaded_into_memory(opening, tmp_path):
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    engine = opening(cache_dir=blocked / "cache")
    assert "cannot be used" in engine.notes[0] and "loaded into memory" in engine.notes[0]
    assert (
        not engine.loaded_from_cache
        and counted(engine) == 400
        and engine.prefixes["e"] == "http://e/"
    )
    assert engine.meta().triple_count == 400
    engine._worker.kill()
    assert counted(engine) == 400 and len(engine.notes) == 1


def test_in_memory_blank_nodes_keep_their_names_over_a_restart(opening, tmp_path):
    path = tmp_path / "b.ttl"
    path.write_text(
        "<http://e/a> <http://e/p> [ <http://e/q> 1 ] , [ <http://e/q> 2 ] , _:x . _:x"
        " <http://e/q> 3 ."
    )
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    engine = opening(path, blocked / "cache")
    query = "SELECT ?o ?n { ?s <http://e/p> ?o . ?o <http://e/q> ?n } ORDER BY ?n"
    first = engine.query(query).rows
    engine._worker.kill()
    assert engine.query(query).rows == first and [row["o"]["v"] for row in first] == [
        "b0",
        "b1",
        "b2",
    ]


# -- what is gathered


def test_the_meta_is_gathered_once(opening, folder):
    first = opening().meta()
    (entry,) = entries(folder)
    kept = json.loads((entry / "meta.json").read_text())
    kept["meta"]["triple_count"] = 4242
    (entry / "meta.json").write_text(json.dumps(kept))
    engine = opening()
    assert engine.meta().triple_count == 4242 and first.triple_count == 400
    assert engine.meta() is engine.meta()


@pytest.mark.parametrize("text", ["", '{"rlm": "0.0.0", "meta": {"triple_count": 1}}'])
def test_a_meta_that_cannot_be_used_is_gathered_again(opening, folder, text):
    opening().meta()
    (entry,) = entries(folder)
    (entry / "meta.json").write_text(text)
    assert opening().meta().triple_count == 400
    assert json.loads((entry / "meta.json").read_text())["meta"]["triple_count"] == 400


# -- keeping house


def _entry(cache: Cache, key: str, size: int, used: float) -> None:
    place = cache.begin()
    (place / "store").mkdir()
    (place / "store" / "CURRENT").write_bytes(b"x" * size)
    cache.keep(place, key, {})
    os.utime(cache.folder / key / "entry.json", (used, used))


def test_what_was_not_used_for_longest_goes_first(folder):
    cache = Cache(folder, max_bytes=10_000)
    now = time.time()
    for number, key in enumerate("abc"):
        _entry(cache, key, 3000, now - 100 + number)
    assert cache.find("a") is not None  # used now
    _entry(cache, "d", 3000, now)
    assert [path.name for path in entries(folder)] == ["a", "c", "d"]
    _entry(cache, "huge", 50_000, now)
    assert [path.name for path in entries(folder)] == ["huge"], "the newest stays, however large"


def test_what_a_dead_process_left_is_swept(folder):
    cache = Cache(folder)
    old, young = cache.begin(), cache.begin()
    os.utime(old, (1, 1))
    cache.begin()
    assert not old.exists() and young.exists()


def test_the_folder_is_the_owners_alone(opening, folder):
    opening()
    assert (folder / "ontologies").stat().st_mode & 0o077 == 0
    (entry,) = entries(folder)
    assert entry.stat().st_mode & 0o077 == 0


def test_the_default_folder_is_under_home(file, clean_environment, monkeypatch, tmp_path):
    with LocalEngine(file) as engine:
        settled(engine)
        assert len(entries(clean_environment / ".cache" / "rlm")) == 1
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "elsewhere"))
    with LocalEngine(file) as engine:
        settled(engine)
        assert not engine.loaded_from_cache and len(entries(tmp_path / "elsewhere")) == 1
    assert isinstance(engine._worker, Worker | None)
