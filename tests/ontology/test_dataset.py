"""The small working data of a session: graphs, provenance, bounds, and queries that cannot hurt the
host."""

from __future__ import annotations

import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rlm import clock
from rlm.errors import NotRDF, OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.datasets import dataset as dataset_module
from rlm.ontology.datasets import dataset as datasets
from rlm.ontology.datasets import graphs as graphs_module
from rlm.ontology.datasets.dataset import DatasetMeta
from rlm.ontology.terms import iri, literal

A, P, B = "http://e/a", "http://e/p", "http://e/b"
PROV = "http://www.w3.org/ns/prov#"
BAD_NAMES = [
    "",
    "a b",
    "a>b",
    "a/b",
    "../x",
    "a:b",
    "a\n",
    "é",
    ".x",
    "x" * 65,
    "a<b",
    'a"',
    "%20",
    "mem\x00",
]
FOREVER = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"


@pytest.fixture
def data():
    with DatasetMeta("demo", session_id="s-1") as dataset:
        yield dataset


def said_of(dataset: DatasetMeta) -> dict[str, str]:
    """The one provenance record that there is: property to value."""
    return {fact.p["v"]: fact.o["v"] for fact in dataset.quads("prov")}


def test_a_fact_is_kept_with_who_said_it_when_and_in_which_session(data):
    with clock.frozen(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)):
        assert data.mem_add(A, "rdfs:label", literal("Ä", lang="de"), who="a reader <x>")
    (fact,) = data.quads("mem")
    assert fact == (
        iri(A),
        iri("http://www.w3.org/2000/01/rdf-schema#label"),
        literal("Ä", lang="de"),
        "mem",
    )
    said = said_of(data)
    assert said[PROV + "generatedAtTime"] == "2026-01-02T03:04:05Z"
    assert said[PROV + "wasAttributedTo"] == "urn:rlm:demo:agent/a%20reader%20%3Cx%3E"
    assert said[PROV + "wasGeneratedBy"] == "urn:rlm:demo:session/s-1"
    assert (
        said["http://www.w3.org/1999/02/22-rdf-syntax-ns#subject"],
        len(data.quads("prov")),
    ) == (A, 7)


def test_a_known_fact_changes_nothing(data):
    assert data.mem_add(A, P, 1)
    before = data.version, len(data)
    assert not data.mem_add(
        A, P, literal("01", datatype="http://www.w3.org/2001/XMLSchema#integer"), who="other"
    )
    assert (data.version, len(data)) == before


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("http://e/b", literal("http://e/b")),
        (iri(B), iri(B)),
        (True, literal("true", datatype="http://www.w3.org/2001/XMLSchema#boolean")),
        (10**30, literal(str(10**30), datatype="http://www.w3.org/2001/XMLSchema#integer")),
        (0.5, literal("0.5", datatype="http://www.w3.org/2001/XMLSchema#double")),
        ('"} <urn:x> {\n', literal('"} <urn:x> {\n')),
        (
            {"t": "lit", "v": "x", "lang": "ar", "dir": "rtl"},
            {"t": "lit", "v": "x", "lang": "ar", "dir": "rtl"},
        ),
    ],
)
def test_objects_are_what_they_are_given_as(data, given, kept):
    data.mem_add(A, P, given)
    assert data.quads("mem", o=given)[0].o == kept


@pytest.mark.parametrize(
    ("s", "p", "o"),
    [
        ("no iri", P, 1),
        ("http://e/a> <x", P, 1),
        (A, "nope:x", 1),
        (literal("x"), P, 1),
        (A, literal("x"), 1),
        (A, {"t": "bnode", "v": "n1"}, 1),
        (A, P, iri("http://e/ x")),
        (A, P, {"t": "bnode", "v": "b0"}),
        (A, P, {"t": "bnode", "v": "n1"}),
        (A, P, {"t": "triple", "v": []}),
        (A, P, {"t": "lit", "v": "x", "lang": "not a tag"}),
        (
            A,
            P,
            {"t": "lit", "v": "x", "dt": "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString"},
        ),
        (A, P, {"t": "lit", "v": "x", "dt": 7}),
        (A, P, {}),
        (A, P, None),
        (A, P, b"x"),
        (A, P, "\ud800"),
        ("http://e/\ud800", P, 1),
        (A, P, 10**5000),
        (A, P, "x" * 64_001),
        ("http://e/" + "x" * 64_000, P, 1),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_statement_is_refused_and_changes_nothing(data, s, p, o):
    with pytest.raises(OntologyError):
        data.mem_add(s, p, o)
    assert (len(data), data.version, data.changed) == (0, 0, False)


@pytest.mark.parametrize("who", ["", "x" * 201, "a\nb", "\u202e"])
def test_who_and_session_are_short_and_can_be_shown(data, who):
    with pytest.raises(OntologyError, match="who"):
        data.mem_add(A, P, 1, who=who)
    with pytest.raises(OntologyError, match="session id"):
        DatasetMeta("demo", session_id=who)
    assert len(data) == 0


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_cannot_leave_their_iri(data, name, tmp_path):
    for make in (
        DatasetMeta,
        data.work_create,
        data.work_clear,
        lambda name: data.onto_mount(name, tmp_path / "x.ttl"),
    ):
        with pytest.raises(OntologyError, match="cannot name"):
            make(name)
    for graph in (name, f"work/{name}"):
        with pytest.raises(OntologyError):
            data.quads(graph)


def test_every_new_dataset_has_a_session_of_its_own():
    assert DatasetMeta("a").session_id != DatasetMeta("a").session_id


def test_work_graphs_come_and_go(data):
    assert data.work_create("t1") == "urn:rlm:demo:work/t1" == data.iri("work/t1")
    assert data.changed
    version = data.version
    data.work_create("t1")
    assert data.version == version
    assert data.work_add("t1", A, P, 1)
    assert not data.work_add("t1", A, P, 1)
    assert data.graphs() == {"mem": 0, "prov": 0, "work/t1": 1}
    assert data.work_clear("t1") == 1
    assert data.graphs() == {"mem": 0, "prov": 0}
    assert data.stats()["bytes"] == 0
    for ask in (data.work_clear, lambda task: data.work_add(task, A, P, 1)):
        with pytest.raises(OntologyError, match="has no graph work/t1: it has mem, prov"):
            ask("t1")


def test_patterns_are_answered_up_to_a_limit(data):
    for number in range(5):
        data.mem_add(A, P, number)
    assert [fact.o["v"] for fact in data.quads("mem", A, P, 3)] == ["3"]
    assert len(data.quads("mem", limit=2)) == 2
    assert data.quads("mem", limit=-1) == data.quads("mem", s=B) == []
    assert len(data.quads(p=P)) == 5


def test_the_size_is_bounded_and_a_change_too_many_changes_nothing(data, monkeypatch):
    data.mem_add(A, P, 1)
    before = data.image()
    monkeypatch.setattr(graphs_module, "MAX_STATEMENTS", 12)
    with pytest.raises(OntologyError, match="at most 12 statements"):
        data.mem_add(A, P, 2)
    monkeypatch.undo()
    monkeypatch.setattr(graphs_module, "MAX_BYTES", data.stats()["bytes"] + 50)
    with pytest.raises(OntologyError, match="bytes"):
        data.mem_add(A, P, 2)
    monkeypatch.undo()
    monkeypatch.setattr(graphs_module, "MAX_GRAPHS", 2)
    with pytest.raises(OntologyError, match="at most 2 graphs"):
        data.work_create("t")
    assert data.image() == before


def test_the_size_is_that_of_what_the_store_makes_of_a_number(data):
    data.work_create("t")
    data.work_add("t", A, P, literal("1e300", datatype="http://www.w3.org/2001/XMLSchema#double"))
    line = data.image()[1].splitlines()[-2]
    assert len(line) > 300
    assert data.stats()["bytes"] == len(line) + 1


def test_stats_without_data(data):
    data.mem_add(A, P, "a secret")
    data.work_create("t")
    assert data.stats()["graphs"] == {"mem": 1, "prov": 7, "work/t": 0}
    assert "secret" not in repr(data) + str(data.stats())


def test_a_query_sees_all_graphs_or_one_and_every_change(data):
    data.mem_add(A, P, "one")
    data.work_create("t")
    data.work_add("t", A, P, data.blank())
    found = data.query(f"SELECT ?o {{ <{A}> <{P}> ?o }} ORDER BY ?o")
    assert [row["o"]["t"] for row in found.rows] == ["bnode", "lit"]
    graph = data.query("SELECT ?o { GRAPH ?g { ?s ?p ?o } }", limit=1)
    assert (len(graph), graph.truncated) == (1, True)
    mine = f"SELECT ?o {{ GRAPH <{data.iri('mem')}> {{ ?s ?p ?o }} }}"
    assert [row["o"]["v"] for row in data.query(mine).rows] == ["one"]
    data.mem_add(A, P, "two")
    assert sorted(row["o"]["v"] for row in data.query(mine).rows) == ["one", "two"]


def test_a_query_counts_facts_and_not_who_said_them(data):
    data.mem_add(A, P, "one")
    data.mem_add(A, P, "two")
    assert data.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows[0]["n"]["v"] == "2"
    said = f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{data.iri('prov')}> {{ ?s ?p ?o }} }}"
    assert data.query(said).rows[0]["n"]["v"] == "14"
    assert not data.query(f"ASK {{ ?s <{PROV}wasAttributedTo> ?o }}").boolean


def test_a_hostile_query_is_refused_or_ended_and_the_dataset_lives(data, monkeypatch):
    for number in range(60):
        data.mem_add(f"{A}{number}", P, number)
    for query in (
        "DELETE WHERE { ?s ?p ?o }",
        "SELECT * { SERVICE <http://e/> { ?s ?p ?o } }",
        "{" * 10_000,
    ):
        with pytest.raises(QueryRefused):
            data.query(query)
    assert data._handed is None  # nothing was started for them
    with pytest.raises(QueryTimeout):
        data.query(FOREVER, timeout_s=0.3)
    assert data.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").rows[0]["n"]["v"] == "60"
    monkeypatch.setattr(dataset_module, "QUERY_S", 0.3)
    with pytest.raises(QueryTimeout):
        data.query(FOREVER, timeout_s=1e9)
    monkeypatch.setattr(dataset_module, "MAX_ROWS", 3)
    assert len(data.query("SELECT * { ?s ?p ?o }", limit=10**9)) == 3
    assert len(data.quads(limit=10**9)) == 3


def test_what_a_worker_is_given_is_private_and_goes_away(data, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    data.mem_add(A, P, 1)
    data.query("ASK { ?s ?p ?o }")
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [path.name for path in folder.iterdir()] == ["demo.trig"]
    data.mem_add(A, P, 2)
    data.query("ASK { ?s ?p ?o }")
    assert folder not in list(tmp_path.iterdir())
    data.close()
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(OntologyError, match="temporary"):
        data.query("ASK { ?s ?p ?o }")


def test_an_empty_dataset_can_be_asked(data):
    assert data.query("SELECT * { ?s ?p ?o }").rows == []


def test_an_ontology_is_mounted_as_a_copy(data, tmp_path):
    path = tmp_path / "x.ttl"
    path.write_text('<http://e/a> <http://e/p> [ <http://e/q> 1 ], "x"@en .')
    assert data.onto_mount("x", path) == 3
    assert said_of(data)["urn:rlm:vocab#source"] == str(path)
    nodes = {fact.s["v"] for fact in data.quads("onto/x")} | {
        fact.o["v"] for fact in data.quads("onto/x")
    }
    assert {"n1", A} <= nodes
    version = data.version
    assert (data.onto_mount("x", path), data.version) == (3, version)
    path.write_text("<http://e/b> <http://e/p> 1 .")
    assert data.onto_mount("x", path) == 1
    assert [fact.s["v"] for fact in data.quads("onto/x")] == [B]
    assert len(data.quads("prov")) == 5


def test_blank_nodes_of_two_files_stay_apart(data, tmp_path):
    (tmp_path / "x.nt").write_text("_:b <http://e/p> _:c .")
    data.onto_mount("x", tmp_path / "x.nt")
    data.onto_mount("y", tmp_path / "x.nt")
    assert {fact.s["v"] for fact in data.quads("onto/x")}.isdisjoint(
        fact.s["v"] for fact in data.quads("onto/y")
    )


def test_a_file_that_cannot_be_mounted_changes_nothing(data, tmp_path, monkeypatch):
    (tmp_path / "x.ttl").write_text("<http://e/a> <http://e/p> 1, 2, 3 .")
    data.onto_mount("x", tmp_path / "x.ttl")
    before = data.image()
    (tmp_path / "bad.ttl").write_text("<http://e/a> <http://e/p> ")
    with pytest.raises(NotRDF):
        data.onto_mount("x", tmp_path / "bad.ttl")
    with pytest.raises(OntologyError, match="there is no file"):
        data.onto_mount("x", tmp_path / "none.ttl")
    (tmp_path / "said.ttl").write_text(
        "<http://e/a> <http://e/p> <<( <http://e/a> <http://e/p> 1 )>> ."
    )
    with pytest.raises(OntologyError, match="cannot be mounted"):
        data.onto_mount("x", tmp_path / "said.ttl")
    (tmp_path / "many.ttl").write_text("<http://e/a> <http://e/p> 1, 2, 3, 4 .")
    monkeypatch.setattr(datasets, "MAX_STATEMENTS", 3)
    with pytest.raises(OntologyError, match="has 4 statements"):
        data.onto_mount("x", tmp_path / "many.ttl")
    monkeypatch.setattr(datasets, "MAX_MOUNT_BYTES", 10)
    with pytest.raises(OntologyError, match="at most 10 can be mounted"):
        data.onto_mount("x", tmp_path / "x.ttl")
    assert data.image() == before


def test_a_real_ontology_is_mounted(data, shared_dir):
    path = next(iter(sorted(Path(shared_dir, "ontologies").glob("*.ttl"))))
    assert data.onto_mount("real", path) > 100
