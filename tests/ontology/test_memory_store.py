"""Small graphs are answered from memory, large ones from the disk, and the cache is written beside
the work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm.errors import NotRDF, OntologyError, QueryTimeout
from rlm.ontology.engine import cache, loader, parser
from rlm.ontology.engine.cache import CacheEntry, hash_file
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import EngineLimits

pytestmark = pytest.mark.slow  # how a file comes into memory and into the cache, step by step

TEXT = "@prefix e: <http://e/> .\n" + "".join(
    f"e:n{n} e:p e:n{n + 1} ; e:no {n} .\n" for n in range(200)
)
BLANK = (
    "<http://e/a> <http://e/p> [ <http://e/q> 1 ] , [ <http://e/q> 2 ] , _:x . _:x <http://e/q> 3 ."
)
BLANKS = "SELECT ?o ?n { ?s <http://e/p> ?o . ?o <http://e/q> ?n } ORDER BY ?n"
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"
FOREVER = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
WAIT_S = 60


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def opening(tmp_path, folder) -> Iterator:
    opened = []

    def opening(text: str = TEXT, name: str = "x.ttl", **limits) -> LocalEngine:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        opened.append(LocalEngine(path, cache_dir=folder, limits=EngineLimits(**limits)))
        return opened[-1]

    yield opening
    for engine in opened:
        engine.close()


@pytest.fixture
def held(monkeypatch) -> Iterator[threading.Event]:
    """No background build begins before this is set."""
    gate, before = threading.Event(), cache.CacheWriter._build

    def build(self) -> None:
        gate.wait(WAIT_S)
        before(self)

    monkeypatch.setattr(cache.CacheWriter, "_build", build)
    yield gate
    gate.set()


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


# -- where answers come from


def test_a_small_file_is_answered_from_memory_before_the_cache_is_written(opening, folder, held):
    engine = opening()
    assert engine.in_memory and counted(engine) == 400 and not engine.loaded_from_cache
    assert entries(folder) == []
    held.set()
    assert engine._loader.settle(WAIT_S) and len(entries(folder)) == 1 and leftovers(folder) == []
    assert engine.in_memory and counted(engine) == 400, "what is served does not change"


def test_the_next_opening_finds_what_was_written_beside_the_work(opening, folder):
    assert opening()._loader.settle(WAIT_S)
    engine = opening()
    assert engine.loaded_from_cache and not engine.in_memory and counted(engine) == 400


@pytest.mark.parametrize(("most", "in_memory"), [(399, False), (400, True)])
def test_a_larger_graph_is_answered_from_the_disk(opening, folder, most, in_memory):
    engine = opening(memory_triples=most)
    assert engine.in_memory is in_memory and counted(engine) == 400
    assert engine._loader.settle(WAIT_S) and len(entries(folder)) == 1
    assert not engine.loaded_from_cache and leftovers(folder) == []


def test_a_file_that_is_too_long_is_not_even_tried_in_memory(opening, monkeypatch):
    orders: list[str] = []
    before = loader.Loader._begin

    def begun(self, order):
        orders.append(order["mode"])
        return before(self, order)

    monkeypatch.setattr(loader.Loader, "_begin", begun)
    engine = opening(memory_triples=len(TEXT) // loader.BYTES_PER_TRIPLE - 1)
    assert orders == ["build", "serve"] and counted(engine) == 400


def test_a_file_that_unpacks_to_too_much_goes_to_the_disk(tmp_path, folder):
    import gzip

    path = tmp_path / "x.ttl.gz"
    path.write_bytes(gzip.compress((TEXT + "# " + "x" * 200_000).encode()))
    with LocalEngine(path, cache_dir=folder, limits=EngineLimits(memory_triples=1000)) as engine:
        assert not engine.in_memory and counted(engine) == 400


def test_named_graphs_are_the_same_in_memory_and_in_the_cache(opening):
    text = (
        "@prefix e: <http://e/> .\ne:g1 { e:a e:p e:b }\ne:g2 { e:a e:p e:b , e:c }\n_:g { e:a e:q"
        " _:g }\n"
    )
    asked = "SELECT ?g ?o { GRAPH ?g { ?s ?p ?o } } ORDER BY ?g ?o"
    first = opening(text, "x.trig")
    rows = first.query(asked).rows
    assert first.in_memory and len(rows) == 4
    first.close()
    second = opening(text, "x.trig")
    assert second.query(asked).rows == rows and not second.in_memory
    assert counted(second) == counted(opening(text, "x.trig", memory_triples=0))


# -- names of blank nodes


@pytest.mark.parametrize("cached", [False, True])
def test_blank_nodes_keep_their_names_when_the_worker_is_replaced(opening, held, cached):
    """From memory to memory while there is no cache yet, and from memory to the disk once there is."""
    engine = opening(BLANK)
    first = engine.query(BLANKS).rows
    assert [row["o"]["v"] for row in first] == ["b0", "b1", "b2"]
    if cached:
        held.set()
        assert engine._loader.settle(WAIT_S)
    os.kill(engine._worker.pid, signal.SIGKILL)
    assert engine.query(BLANKS).rows == first and engine.in_memory is not cached


def test_blank_nodes_keep_their_names_when_a_large_file_is_parsed_again(opening):
    engine = opening(BLANK, memory_triples=0)
    first = engine.query(BLANKS).rows
    engine._loader.drop()
    os.kill(engine._worker.pid, signal.SIGKILL)
    assert engine.query(BLANKS).rows == first and not engine.in_memory


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.nt", "_:a <http://e/p> _:b .\n_:b <http://e/p> _:a .\n_:n0 <http://e/p> _:n1 .\n"),
        ("x.ttl", "_:a <http://e/p> <<( _:b <http://e/p> _:a )>> . _:n0 <http://e/p> ( 1 2 ) ."),
        ("x.trig", "_:g { _:a <http://e/p> _:g , [ ] } _:b <http://e/p> _:g ."),
        (
            "x.rdf",
            (
                '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
                ' xmlns:e="http://e/"><rdf:Description><e:p rdf:nodeID="n1"/><e:p'
                ' rdf:parseType="Resource"><e:p rdf:nodeID="n1"/></e:p></rdf:Description></rdf:RDF>'
            ),
        ),
        ("x.jsonld", '{"http://e/p": [{"http://e/p": 1}, {"@id": "_:n0", "http://e/p": 2}]}'),
    ],
)
def test_reading_a_file_twice_names_its_blank_nodes_alike(opening, name, text):
    """What memory holds and what the cache holds are read by different workers, at different times."""
    engine = opening(text, name)
    asked = "CONSTRUCT { ?s ?p ?o } WHERE { { ?s ?p ?o } UNION { GRAPH ?o { ?a ?b ?c } ?s ?p ?o } }"
    assert engine.in_memory
    first = sorted(engine.query(asked).text_rows(), key=str)
    assert engine._loader.settle(WAIT_S)
    os.kill(engine._worker.pid, signal.SIGKILL)
    assert sorted(engine.query(asked).text_rows(), key=str) == first and not engine.in_memory


def test_a_file_that_is_a_little_wrong_is_read_alike_twice(opening):
    text = BLANK + '\n<http://e/a b> <http://e/r> "x"@toolongatag .'
    engine = opening(text)
    first = engine.query(BLANKS).rows
    assert (
        engine.in_memory and engine.triples == 7 and "not quite by the standard" in engine.notes[0]
    )
    assert engine._loader.settle(WAIT_S)
    os.kill(engine._worker.pid, signal.SIGKILL)
    assert engine.query(BLANKS).rows == first and counted(engine) == 7


def test_blank_nodes_are_numbered_as_they_come_over_many_chunks(tmp_path):
    text = "".join(
        f"_:a{n} <http://e/p> _:a{n + 1} .\n_:a{n} <http://e/q> {n} .\n" for n in range(3000)
    )
    path = tmp_path / "x.ttl"
    path.write_text(text, "utf-8")
    kind = {"format": "turtle", "gzipped": False, "optional": False, "convert": ""}
    order = {"files": [kind], "named": 1, "imports": {}}
    order |= {"most_triples": 6000, "most_bytes": 1 << 20}
    with path.open("rb") as file:
        store, facts = parser.parse_files([file], order)
    assert facts["triples"] == 6000 and facts["hashes"] == [hash_file(path)]
    asked = "SELECT ?s { ?s <http://e/p>/<http://e/q> 1000 }"
    assert [row["s"].value for row in store.query(asked)] == ["n999"], "numbered as they come"
    with path.open("rb") as file, pytest.raises(parser.TooMuch):
        parser.parse_files([file], {**order, "most_triples": 100})


def test_a_statement_that_is_said_twice_counts_once(opening):
    engine = opening(
        "<http://e/a> <http://e/p> 1 , 1 . <http://e/a> <http://e/p> 1 .", memory_triples=2
    )
    assert engine.triples == 1 and engine.in_memory


TYPED = (
    "_:x a <http://e/T> . <http://e/i> a <http://e/T> , [] . <http://e/T> a"
    " <http://www.w3.org/2002/07/owl#Class> ."
)
UNTYPED = '<http://e/u> <http://www.w3.org/2000/01/rdf-schema#label> "U" . ' * 2


def test_how_many_there_are_is_known_after_closing(opening):
    engine = opening(TYPED + UNTYPED)
    assert "5 triples" in repr(engine)
    meta = engine.meta()
    engine.close()
    assert (engine.triples, meta.triple_count, meta.subject_count) == (5, 5, 4)


# -- what goes wrong


def test_closing_early_leaves_nothing_half_and_nobody_behind(opening, folder, held, monkeypatch):
    monkeypatch.setattr(loader, "CLOSE_S", 0.0)
    started: list[int] = []
    before = loader.Worker.__init__

    def init(self, *args, **more):
        before(self, *args, **more)
        started.append(self.pid)

    monkeypatch.setattr(loader.Worker, "__init__", init)
    engine = opening()
    assert counted(engine) == 400
    held.set()
    engine.close()
    assert entries(folder) == [] or (entries(folder)[0] / "entry.json").exists()
    assert leftovers(folder) == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in started)
    assert not any(thread.name.startswith("rlm-cache") for thread in threading.enumerate())


def test_a_build_that_is_cut_short_is_begun_anew_next_time(opening, folder, monkeypatch):
    """The worker that builds is killed in the middle: nothing is kept, and the engine goes on."""
    before = cache.CacheWriter._start_worker

    def begun(self):
        worker = before(self)
        os.kill(worker.pid, signal.SIGKILL)
        return worker

    with monkeypatch.context() as patched:
        patched.setattr(cache.CacheWriter, "_start_worker", begun)
        engine = opening()
        assert not engine._loader.settle(WAIT_S) and counted(engine) == 400
        assert entries(folder) == [] and leftovers(folder) == []
        assert "cannot be used" in engine.notes[0]
        engine.close()
    again = opening()
    assert (
        not again.loaded_from_cache and again._loader.settle(WAIT_S) and len(entries(folder)) == 1
    )


def test_closing_gives_a_build_time_to_end(opening, folder):
    opening().close()
    assert len(entries(folder)) == 1 and leftovers(folder) == []


SCRIPT = """
import sys
from pathlib import Path
from rlm.ontology.engine.local import LocalEngine
engine = LocalEngine(sys.argv[1], cache_dir=Path(sys.argv[2]))
print(engine.triples)
"""


def test_a_program_that_ends_without_closing_leaves_nothing_half(tmp_path, folder):
    path = tmp_path / "x.ttl"
    path.write_text(TEXT, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(path), str(folder)],
        capture_output=True,
        text=True,
        timeout=WAIT_S,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("400\n", "", 0)
    assert leftovers(folder) == []


def test_a_file_that_changes_before_the_cache_is_written_is_not_kept(
    opening, folder, held, tmp_path
):
    engine = opening()
    (tmp_path / "x.ttl").write_text("<http://e/a> <http://e/b> 1 .", "utf-8")
    held.set()
    assert not engine._loader.settle(WAIT_S)
    assert entries(folder) == [] and leftovers(folder) == [] and counted(engine) == 400
    os.kill(engine._worker.pid, signal.SIGKILL)
    with pytest.raises(OntologyError, match="has changed since it was opened: open it again"):
        engine.query(COUNT)


def test_a_query_over_its_time_ends_the_worker_and_the_next_one_is_answered(opening, held):
    engine = opening()
    pid = engine._worker.pid
    for cached in (False, True):
        if cached:
            held.set()
            assert engine._loader.settle(WAIT_S)
        with pytest.raises(QueryTimeout, match="took more than"):
            engine.query(FOREVER, timeout_s=0.3)
        assert not Path(f"/proc/{pid}").exists()
        assert counted(engine) == 400


def test_a_timeout_in_memory_says_nothing_of_the_cache(opening, folder, monkeypatch):
    """The entry may be damaged by then: what was asked had nothing to do with it."""
    engine = opening()
    assert engine._loader.settle(WAIT_S)
    monkeypatch.setattr(
        CacheEntry, "whole", lambda self: pytest.fail("nobody reads the entry for that")
    )
    with pytest.raises(QueryTimeout, match="took more than"):
        engine.query(FOREVER, timeout_s=0.2)
    assert counted(engine) == 400


def test_the_walls_are_the_same_around_every_worker(opening):
    walls = opening().walls
    assert "rlimits" in walls and "no_new_privs" in walls
    opening().close()
    assert opening().walls == walls


def test_meta_that_was_gathered_before_the_cache_was_there_is_kept(opening, folder, held):
    engine = opening()
    assert engine.meta().triple_count == 400 and entries(folder) == []
    held.set()
    assert engine._loader.settle(WAIT_S)
    (entry,) = entries(folder)
    assert (entry / "meta.json").exists()


def test_what_is_no_rdf_is_told_from_memory_too(opening, folder):
    with pytest.raises(NotRDF) as caught:
        opening("<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> foo .\n")
    assert caught.value.line == 2 and not folder.exists()


def test_peak_memory_of_a_small_graph_is_bounded(opening):
    lines = "".join(
        f"<http://e/n{n}> <http://e/p{n % 7}> <http://e/n{n * 7 % 20_000}> .\n"
        for n in range(20_000)
    )
    engine = opening(lines, "x.nt")
    assert engine.in_memory and counted(engine) == 20_000
    status = Path(f"/proc/{engine._worker.pid}/status").read_text()
    peak_kb = int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
    assert peak_kb < 100_000, "about 1 KB a triple, and Python"
