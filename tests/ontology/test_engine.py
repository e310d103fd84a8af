"""Queries over files: every format, every limit, and a worker that may die at any moment."""

from __future__ import annotations

import contextlib
import gzip
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm.errors import ConfigError, NotRDF, OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.engine import child
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.engine.protocol import EngineLimits
from rlm.ontology.engine.worker import Gone
from rlm.ontology.query.guard import Checked
from rlm.ontology.source import open_engine
from rlm.ontology.terms import iri, literal

E = "http://e/"
RDF_NS = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FILES = {
    "a.ttl": '@prefix e: <http://e/> .\ne:a e:p "x"@en , 1 ; e:q [ e:r e:b ] .\n',
    "a.nt": (
        '<http://e/a> <http://e/p> "x"@en .\n'
        '<http://e/a> <http://e/p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        "<http://e/a> <http://e/q> _:z .\n_:z <http://e/r> <http://e/b> .\n"
    ),
    "a.rdf": (
        f'<rdf:RDF xmlns:rdf="{RDF_NS}" xmlns:e="http://e/"><rdf:Description'
        ' rdf:about="http://e/a"><e:p xml:lang="en">x</e:p><e:p'
        ' rdf:datatype="http://www.w3.org/2001/XMLSchema#integer">1</e:p><e:q'
        ' rdf:parseType="Resource"><e:r'
        ' rdf:resource="http://e/b"/></e:q></rdf:Description></rdf:RDF>'
    ),
    "a.jsonld": (
        '{"@context": {"@vocab": "http://e/"}, "@id": "http://e/a",'
        ' "p": [{"@value": "x", "@language": "en"}, 1], "q": {"r": {"@id": "http://e/b"}}}'
    ),
    "a.trig": (
        '@prefix e: <http://e/> .\ne:a e:p "x"@en .\ne:g1 { e:a e:p 1 . e:a e:q _:z . _:z e:r'
        " e:b }\n"
    ),
    "a.nq": (
        '<http://e/a> <http://e/p> "x"@en .\n<http://e/a> <http://e/p>'
        ' "1"^^<http://www.w3.org/2001/XMLSchema#integer> <http://e/g> .\n<http://e/a> <http://e/q>'
        " _:z <http://e/g> .\n_:z <http://e/r> <http://e/b> <http://e/g> .\n"
    ),
}
FOREVER = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def make(tmp_path, cache) -> Iterator:
    opened = []

    def make(text: str | bytes, name: str = "x.ttl", **limits) -> LocalEngine:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        opened.append(LocalEngine(path, cache_dir=cache, limits=EngineLimits(**limits)))
        return opened[-1]

    yield make
    for engine in opened:
        engine.close()


@pytest.fixture(scope="module")
def many(tmp_path_factory, cache) -> Iterator[LocalEngine]:
    """300 nodes in a ring, each with a number: small, and large enough to ask too much of."""
    path = tmp_path_factory.mktemp("many") / "many.ttl"
    lines = [
        f"<http://e/n{n}> <http://e/next> <http://e/n{(n + 1) % 300}> ; <http://e/no> {n} ."
        for n in range(300)
    ]
    path.write_text("\n".join(lines), "utf-8")
    with LocalEngine(path, cache_dir=cache, limits=EngineLimits(memory_mb=400)) as engine:
        yield engine


def past_the_guard(engine: LocalEngine, text: str, wait_s: float = 10.0):
    """What the worker does with a query that the guard would refuse."""
    order = {
        "op": "query",
        "text": text,
        "rows": 10,
        "bytes": 1 << 20,
        "timeout_s": wait_s,
        "prefixes": {},
    }
    return engine._answer(order, Checked("SELECT", text, ()), wait_s)


# -- files


@pytest.mark.parametrize(
    ("name", "packed"), [*((name, False) for name in FILES), ("a.ttl", True), ("a.rdf", True)]
)
def test_every_format_gives_the_same_graph(make, name, packed):
    data = FILES[name].encode()
    engine = make(gzip.compress(data) if packed else data, name + (".gz" if packed else ""))
    assert engine.triples == 4 and engine.name == "a"
    answer = engine.query("SELECT ?p ?o { <http://e/a> ?p ?o }", limit=10)
    assert {(row["p"], row["o"]) for row in answer.text_rows()} == {
        ("<http://e/p>", '"x"@en'), ("<http://e/p>", "1"), ("<http://e/q>", "_:b0"),
    }  # fmt: skip
    assert engine.query("SELECT ?o { <http://e/a> <http://e/q>/<http://e/r> ?o }").rows == [
        {"o": iri(E + "b")}
    ]
    assert (answer.kind, answer.truncated, answer.variables) == ("select", False, ["p", "o"])


def test_named_graphs_are_one_graph_and_can_be_told_apart(make):
    engine = make(FILES["a.trig"], "a.trig")
    assert len(engine.query("SELECT * { ?s ?p ?o }")) == 4
    assert engine.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }").rows == [
        {"g": iri(E + "g1")}
    ]


@pytest.mark.parametrize(("name", "triples"), [("prov", 1664), ("skos", None), ("void", None)])
def test_real_ontologies_load(shared_dir, cache, name, triples):
    with open_engine(shared_dir / "ontologies" / f"{name}.ttl", cache_dir=cache) as engine:
        assert isinstance(engine, LocalEngine)
        (row,) = engine.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows
        assert int(row["n"]["v"]) == engine.triples > 100
        assert triples is None or engine.triples == triples
        assert engine.meta().triple_count == engine.triples


def test_a_wrong_extension_is_read_and_noted(make):
    engine = make(FILES["a.ttl"], "a.rdf")
    assert engine.triples == 4 and "holds Turtle" in engine.notes[0]


def test_relative_names_do_not_depend_on_where_the_file_lies(make):
    engine = make("<#a> <b> </c> .")
    assert engine.query("SELECT ?s ?p { ?s ?p ?o }").rows == [
        {"s": iri("urn:rlm:base/#a"), "p": iri("urn:rlm:base/b")}
    ]


def test_a_file_that_is_a_little_wrong_is_read_and_noted(make):
    engine = make('<http://e/a b> <http://e/p> "x"@toolongatag .')
    assert (
        engine.triples == 1
        and "not quite by the standard" in engine.notes[0]
        and "line 1" in engine.notes[0]
    )


@pytest.mark.parametrize(
    ("name", "data", "said", "line"),
    [
        (
            "x.ttl",
            "<http://e/a> <http://e/b> <http://e/c> .\n<http://e/a> foo .\n",
            "foo is not a valid predicate",
            2,
        ),
        ("x.nt", "<http://e/a> <http://e/b> .\n", "", 1),
        ("x.rdf", f'<rdf:RDF xmlns:rdf="{RDF_NS}"><rdf:Description></rdf:RDF>', "", 1),
        ("x.ttl", b'<http://e/a> <http://e/b> "\xff" .', "UTF-8", 1),
        ("x.json", '{"name": "x"}', "holds no JSON-LD", None),
        (
            "x.jsonld",
            '{"@context": "http://127.0.0.1:1/c"}',
            "which would have to be fetched and never is",
            None,
        ),
        (
            "x.rdf",
            f'<!DOCTYPE r [<!ENTITY a "&b;">]><rdf:RDF xmlns:rdf="{RDF_NS}"/>',
            "DTD holds more than",
            1,
        ),
        ("x.ttl.gz", gzip.compress(FILES["a.ttl"].encode(), mtime=0)[:-9], "ends too early", None),
        ("x.html", "<html><body/></html>", "HTML page", None),
        ("x.ttl", "", "0 bytes", None),
    ],
)
def test_what_cannot_be_read_is_told_with_its_place(make, cache, name, data, said, line):
    before = sorted(cache.rglob("*"))
    with pytest.raises(NotRDF) as caught:
        make(data, name)
    assert said in str(caught.value) and caught.value.line == line
    assert str(caught.value).startswith(str(caught.value.path))
    assert [path for path in sorted(cache.rglob("*")) if "ontologies/." in str(path)] == []
    assert len(sorted(cache.rglob("*"))) <= len(before) + 1, "nothing is left behind"


def test_a_parser_that_dies_takes_nobody_with_it(make):
    deep = '{"http://e/p":' * 900 + '{"@id":"http://e/x"}' + "}" * 900
    engine = make(deep, "deep.jsonld")
    assert engine.triples == 900
    with pytest.raises(
        OntologyError, match=r"MB of memory: raise RLM_ONTOLOGY_MEMORY_MB|did not survive"
    ):
        make('<http://e/a> <http://e/b> "' + "x" * (30 << 20) + '" .', "big.ttl", memory_mb=48)


def test_the_settings_say_how_much_memory_loading_may_take(make, monkeypatch):
    """Little is enough for Python, and not for the texts."""
    text = "".join(f'<http://e/{n}> <http://e/b> "{"x" * (8 << 20)}" .\n' for n in range(6))
    monkeypatch.setenv("RLM_ONTOLOGY_MEMORY_MB", "64")
    with pytest.raises(OntologyError, match=r"64 MB of memory: raise RLM_ONT|did not survive"):
        make(text, "big.ttl")
    monkeypatch.setenv("RLM_ONTOLOGY_MEMORY_MB", "1024")
    assert make(text, "big.ttl").limits.memory_mb == 1024
    monkeypatch.setenv("RLM_ONTOLOGY_MEMORY_MB", "nan")
    with pytest.raises(ConfigError, match="it must be from 64 to"):
        make(text, "big.ttl")


def test_an_empty_graph_is_noted(make):
    engine = make("# nothing\n@prefix e: <http://e/> .\n")
    assert engine.triples == 0 and engine.notes == ["there is not one statement in it"]
    assert not engine.query("SELECT * { ?s ?p ?o }")


# -- answers


def test_each_kind_of_query_has_its_answer(many):
    assert many.query("ASK { ?s <http://e/no> 7 }").boolean is True
    assert many.query("ASK { ?s <http://e/no> 700 }").boolean is False
    graph = many.query("CONSTRUCT { ?s a <http://e/N> } WHERE { ?s <http://e/no> 7 }")
    assert graph.kind == "graph" and graph.triples == [
        (iri(E + "n7"), iri(RDF_NS + "type"), iri(E + "N"))
    ]
    assert graph.text_rows() == [{"s": "<http://e/n7>", "p": "rdf:type", "o": "<http://e/N>"}]
    assert len(many.query("DESCRIBE <http://e/n7>")) == 2
    assert many.query("SELECT ?s ?x { ?s <http://e/no> 7 }").rows == [{"s": iri(E + "n7")}]


@pytest.mark.parametrize(
    ("limit", "rows", "cut"), [(10, 10, True), (0, 0, True), (299, 299, True), (300, 300, False)]
)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s <http://e/no> ?o }",
        "CONSTRUCT WHERE { ?s <http://e/no> ?o }",
        "SELECT * { ?s <http://e/no> ?o } LIMIT 1000",
    ],
)
def test_no_more_rows_than_asked_for_and_it_is_said(many, text, limit, rows, cut):
    answer = many.query(text, limit=limit)
    assert (len(answer), answer.truncated) == (rows, cut)


def test_a_limit_of_the_querys_own_is_no_truncation(many):
    assert many.query("SELECT * { ?s <http://e/no> ?o } LIMIT 5", limit=10).truncated is False
    assert many.query("SELECT * { ?s <http://e/no> ?o } LIMIT 5", limit=5).truncated is False


def test_a_constructed_triple_that_many_solutions_give_does_not_hide_the_rest(many):
    """A LIMIT in the query would count solutions, of which most give the same triple."""
    text = (
        "CONSTRUCT { <http://e/x> <http://e/y> ?z } WHERE { ?s <http://e/no> ?o BIND(IF(?o < 290,"
        " 0, ?o) AS ?z) }"
    )
    assert len(many.query(text, limit=50)) == 11


def test_the_engines_own_limits_hold(make):
    text = "\n".join(f'<http://e/{n}> <http://e/p> "{"x" * 1000}" .' for n in range(50))
    engine = make(text, rows=20, answer_bytes=10_500)
    answer = engine.query("SELECT ?o { ?s ?p ?o }", limit=1000)
    assert answer.truncated and 5 <= len(answer) <= 10
    answer = engine.query("SELECT ?s { ?s ?p ?o }", limit=1000)
    assert answer.truncated and len(answer) == 20


def test_a_text_that_is_too_long_is_told(make):
    engine = make(f'<http://e/a> <http://e/p> "{"é" * 50_000}" .', answer_bytes=100_000)
    with pytest.raises(QueryRefused, match=r"ask for SUBSTR\(STR"):
        engine.query("SELECT ?o { ?s ?p ?o }")
    assert engine.query("SELECT (SUBSTR(?o, 1, 3) AS ?x) { ?s ?p ?o }").rows == [
        {"x": literal("ééé")}
    ]


def test_a_long_text_comes_whole(make):
    engine = make(f'<http://e/a> <http://e/p> "{"é" * 500_000}" .')
    assert engine.query("SELECT ?o { ?s ?p ?o }").rows == [{"o": literal("é" * 500_000)}]


def test_blank_nodes_have_short_names_that_last(make):
    engine = make("<http://e/a> <http://e/p> [ <http://e/q> 1 ] , [ <http://e/q> 2 ] .")
    first = engine.query(
        "SELECT ?o ?n { ?s <http://e/p> ?o . ?o <http://e/q> ?n } ORDER BY ?n"
    ).rows
    assert [row["o"]["v"] for row in first] == ["b0", "b1"]
    os.kill(engine._worker.pid, signal.SIGKILL)
    again = engine.query(
        "SELECT ?o ?n { ?s <http://e/p> ?o . ?o <http://e/q> ?n } ORDER BY ?n"
    ).rows
    assert again == first


def test_the_files_prefixes_need_not_be_declared(make):
    engine = make("@prefix shop: <http://e/shop#> .\nshop:a a shop:B .")
    assert engine.query("SELECT ?x { shop:a rdf:type ?x }").text_rows(engine.prefixes) == [
        {"x": "shop:B"}
    ]
    assert engine.query("PREFIX shop: <http://other/> ASK { shop:a ?p ?x }").boolean is False
    with pytest.raises(QueryRefused, match="'shpo:' of 'shpo:a' is not bound: did you mean shop:"):
        engine.query("SELECT ?x { shpo:a rdf:type ?x }")


@pytest.mark.parametrize(
    "text", ["SELECT * {", "SELECT ?x { ?x ?y }", "SELECT (<http://e/f>(1) AS ?x) {}", "hello", ""]
)
def test_a_query_that_cannot_be_read_is_refused_and_harms_nothing(many, text):
    with pytest.raises(QueryRefused):
        many.query(text)
    assert many.query("ASK { ?s ?p ?o }")


def test_a_limit_below_zero_is_refused(many):
    with pytest.raises(QueryRefused, match="-1 rows"):
        many.query("ASK { ?s ?p ?o }", limit=-1)


# -- what goes wrong


@pytest.mark.parametrize(
    "text",
    [
        FOREVER,
        (
            "SELECT * { ?a (<http://e/next>|!<http://e/x>)* ?b . ?b"
            " (<http://e/next>|!<http://e/x>)* ?c . ?c <http://e/none>* ?d FILTER(?d = 1) }"
        ),
        "SELECT (COUNT(DISTINCT ?l) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    ],
)
def test_a_query_that_takes_for_ever_is_ended_in_time(many, text):
    pid = many._worker.pid if many._worker else 0
    started = time.monotonic()
    with pytest.raises(QueryTimeout, match=r"took more than 0\.4 s and was ended"):
        many.query(text, timeout_s=0.4)
    assert time.monotonic() - started < 5
    assert not Path(f"/proc/{pid}").exists()
    assert len(many.query("SELECT * { ?s <http://e/no> 7 }")) == 1


def test_a_query_that_takes_all_memory_is_ended(many):
    with pytest.raises(QueryTimeout, match="MB of memory"):
        many.query("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?i ?a", timeout_s=60)
    assert many.query("ASK { ?s ?p ?o }")


def test_a_query_that_crashes_the_worker_is_told(many):
    with pytest.raises(OntologyError, match=r"crashed the engine .*SIGSEGV"):
        past_the_guard(many, "SELECT * " + "{" * 300_000 + "}" * 300_000)
    assert many.query("ASK { ?s ?p ?o }")


def test_a_worker_that_was_killed_is_replaced(many):
    many.query("ASK { ?s ?p ?o }")
    pid = many._worker.pid
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert many.query("ASK { ?s ?p ?o }") and many._worker.pid != pid


def test_a_worker_that_is_killed_whenever_it_works_is_told(many):
    """As by a system without memory: tried again once, then given up."""
    stop = threading.Event()

    def reap() -> None:
        while not stop.is_set():
            worker = many._worker
            with contextlib.suppress(OSError):
                if worker is not None and worker.alive() and _cpu_ticks(worker.pid) > 10:
                    worker._process.send_signal(signal.SIGKILL)
            os.sched_yield()

    reaper = threading.Thread(target=reap)
    reaper.start()
    try:
        with pytest.raises(QueryTimeout, match="SIGKILL"):
            many.query(FOREVER)
    finally:
        stop.set()
        reaper.join()
    assert many.query("ASK { ?s ?p ?o }")


def test_an_interrupt_leaves_no_half_answer_behind(many):
    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            many.query(FOREVER)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert many.query("SELECT ?s { ?s <http://e/no> 7 }").rows == [{"s": iri(E + "n7")}]


def test_threads_share_an_engine(many):
    found: dict[int, list] = {}

    def ask(n: int) -> None:
        found[n] = [
            many.query(f"SELECT ?s {{ ?s <http://e/no> {k} }}").rows for k in (n, n + 1, n + 2)
        ]

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {n: [[{"s": iri(f"{E}n{k}")}] for k in (n, n + 1, n + 2)] for n in range(8)}


def test_close_ends_the_worker_and_the_engine(make):
    engine = make(FILES["a.ttl"])
    pid = engine._worker.pid
    engine.close()
    engine.close()
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(OntologyError, match="closed: open it again"):
        engine.query("ASK { ?s ?p ?o }")
    engine = make(FILES["a.ttl"])
    pid = engine._worker.pid
    assert engine.loaded_from_cache


HOST = """
import sys
from pathlib import Path
from rlm.ontology.engine.local import LocalEngine
engine = LocalEngine(sys.argv[1], cache_dir=Path(sys.argv[2]))
print(engine._worker.pid, flush=True)
if sys.argv[3] == "busy":
    engine.query(sys.argv[4], timeout_s=1.0)
sys.stdin.read()
"""


@pytest.mark.parametrize("state", ["idle", "busy"])
def test_no_worker_outlives_its_host(many, cache, state):
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, many.source, str(cache), state, FOREVER],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with host:
        pid = int(host.stdout.readline())
        worker = os.pidfd_open(pid)
        if state == "busy":
            ends, before = time.monotonic() + 10, _cpu_ticks(pid)
            while (
                _cpu_ticks(pid) < before + 5 and time.monotonic() < ends
            ):  # it works on the query by now
                time.sleep(0.01)
        host.kill()
    try:
        assert select.select([worker], [], [], child.GRACE_S + 10)[0], "it still runs"
    finally:
        os.close(worker)


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


# -- no network, no files


class Canary:
    """A port on loopback. Whoever comes is in its queue, whether or not somebody listens."""

    def __init__(self, server: socket.socket) -> None:
        self._server = server
        self.port = server.getsockname()[1]

    def came(self) -> int:
        self._server.setblocking(False)
        count = 0
        with contextlib.suppress(BlockingIOError):
            while True:
                self._server.accept()[0].close()
                count += 1
        return count


@pytest.fixture
def canary() -> Iterator[Canary]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield Canary(server)


QUERIES_OUT = [
    "SELECT * {{ SERVICE <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}",
    "SELECT * {{ SERVICE SILENT <http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}",
    "SELECT * {{ VALUES ?u {{ <http://127.0.0.1:{port}/> }} SERVICE ?u {{ ?s ?p ?o }} }}",
    "SELECT * FROM <http://127.0.0.1:{port}/> {{ ?s ?p ?o }}",
    "SELECT * FROM NAMED <http://127.0.0.1:{port}/> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
    "LOAD <http://127.0.0.1:{port}/x.ttl>",
    "INSERT DATA {{ <http://e/a> <http://e/b> 1 }}",
]


@pytest.mark.parametrize("text", QUERIES_OUT)
def test_nothing_reaches_the_network_even_past_the_guard(many, canary, text):
    text = text.format(port=canary.port)
    with pytest.raises(QueryRefused):
        many.query(text)
    with contextlib.suppress(OntologyError):
        assert not past_the_guard(many, text) or "SILENT" in text
    assert canary.came() == 0
    assert many.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows[0]["n"]["v"] == "600"


def test_the_canary_would_sing(canary):
    socket.create_connection(("127.0.0.1", canary.port)).close()
    assert canary.came() == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.jsonld", '{{"@context": "http://127.0.0.1:{port}/c", "@id": "http://e/a", "p": 1}}'),
        (
            "c.rdf",
            '<!DOCTYPE r SYSTEM "http://127.0.0.1:{port}/d"><rdf:RDF xmlns:rdf="' + RDF_NS + '"/>',
        ),
        (
            "c.ttl",
            "<http://e/> <http://www.w3.org/2002/07/owl#imports> <http://127.0.0.1:{port}/> .",
        ),
    ],
)
def test_loading_fetches_nothing(make, canary, name, text):
    with contextlib.suppress(NotRDF):
        make(text.format(port=canary.port), name)
    assert canary.came() == 0


def test_every_wall_stands_here(many):
    many.query("ASK { ?s ?p ?o }")
    assert set(many.walls) == {"rlimits", "no_new_privs", "landlock", "seccomp"}


WALLED = """
import os, socket, sys
sys.path[:0] = [sys.argv[1]]
from pathlib import Path
from rlm.ontology.engine.child import confine
os.mkdir(sys.argv[2] + "/in"); Path(sys.argv[2], "in", "f").write_text("x")
print(*confine(1000, readable=[Path(sys.argv[2], "in")]), flush=True)
def tried(what, act):
    try:
        act()
        print(what, "went through", flush=True)
    except OSError:
        pass
Path(sys.argv[2], "in", "f").read_text()
tried("read", lambda: open("/etc/passwd"))
tried("write", lambda: open(sys.argv[2] + "/in/g", "w"))
tried("socket", socket.socket)
tried("run", lambda: os.execv("/bin/true", ["true"]))
tried("kill", lambda: os.kill(os.getppid(), 0))
"""


def test_the_walls_hold(tmp_path, root):
    done = subprocess.run(
        [sys.executable, "-c", WALLED, str(root / "src"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "rlimits no_new_privs landlock seccomp\n"


# -- opening


def test_what_is_neither_a_file_nor_an_endpoint_is_told(tmp_path):
    with pytest.raises(OntologyError, match="no file 'museum', and the config names no endpoint"):
        open_engine("museum")
    with pytest.raises(OntologyError, match="there is no file"):
        open_engine(tmp_path / "none.ttl")
    with pytest.raises(OntologyError, match="only endpoints of the config"):
        open_engine("https://data.example.org/sparql")
    with pytest.raises(OntologyError, match="no RDF file is in the folder"):
        open_engine(tmp_path)


def test_a_worker_that_says_nonsense_is_gone(many):
    many.query("ASK { ?s ?p ?o }")
    worker = many._worker
    worker._buffer += b"\x00\x00\x00\x03abc"
    with pytest.raises(Gone, match="no message"):
        worker.receive(time.monotonic() + 5)
    assert not worker.alive() and many.query("ASK { ?s ?p ?o }")


def test_a_statement_of_two_graphs_is_one_statement(tmp_path):
    (tmp_path / "two.trig").write_text(
        "@prefix e: <http://e/> . e:a e:p e:b . e:g { e:a e:p e:b, e:c . _:x e:p e:b } e:h { e:a"
        " e:p e:c }"
    )
    for memory_triples in (300_000, 0):
        limits = EngineLimits(memory_triples=memory_triples)
        with LocalEngine(
            tmp_path / "two.trig", cache_dir=tmp_path / f"c{memory_triples}", limits=limits
        ) as engine:
            count = engine.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows[0]["n"]["v"]
            assert count == "3" and engine.meta().triple_count == 3
            graphs = engine.query(
                "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g ORDER BY ?g"
            )
            assert [row["n"]["v"] for row in graphs.rows] == ["3", "1"]
            assert len(engine.query("SELECT ?o { <http://e/a> <http://e/p> ?o }").rows) == 2
