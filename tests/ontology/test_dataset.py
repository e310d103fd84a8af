"""The small working data of a session: graphs, provenance, bounds, and queries that cannot hurt the
host."""

from __future__ import annotations

import stat
import tempfile
from datetime import UTC, datetime

import pytest

from rlm import clock
from rlm.errors import OntologyError, QueryRefused, QueryTimeout
from rlm.ontology.datasets import dataset as dataset_module
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


def rows(dataset: DatasetMeta, graph: str = "mem") -> list[dict]:
    """The statements of a graph, asked of the engine."""
    asked = f"SELECT ?s ?p ?o {{ GRAPH <{dataset.iri(graph)}> {{ ?s ?p ?o }} }}"
    return dataset.query(asked, limit=1000).rows


def test_a_fact_is_kept_with_who_said_it_when_and_in_which_session(data):
    with clock.frozen(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)):
        assert data.mem_add(A, "rdfs:label", literal("Ä", lang="de"), who="a reader <x>")
    label = iri("http://www.w3.org/2000/01/rdf-schema#label")
    assert rows(data) == [{"s": iri(A), "p": label, "o": literal("Ä", lang="de")}]
    said = {row["p"]["v"]: row["o"]["v"] for row in rows(data, "prov")}
    assert said[PROV + "generatedAtTime"] == "2026-01-02T03:04:05Z"
    assert said[PROV + "wasAttributedTo"] == "urn:rlm:demo:agent/a%20reader%20%3Cx%3E"
    assert said[PROV + "wasGeneratedBy"] == "urn:rlm:demo:session/s-1"
    assert (said["http://www.w3.org/1999/02/22-rdf-syntax-ns#subject"], len(said)) == (A, 7)


def test_a_known_fact_changes_nothing(data):
    assert data.mem_add(A, P, 1)
    before = data.version, len(data)
    assert not data.mem_add(A, P, 1, who="other")
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
    assert [row["o"] for row in rows(data)] == [kept]


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
        (A, P, "x" * (1 << 20)),
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
def test_names_cannot_leave_their_iri(name):
    with pytest.raises(OntologyError, match="cannot name"):
        DatasetMeta(name)


def test_every_new_dataset_has_a_session_of_its_own():
    assert DatasetMeta("a").session_id != DatasetMeta("a").session_id


def test_the_size_is_bounded_and_a_change_too_many_changes_nothing(data, monkeypatch):
    data.mem_add(A, P, 1)
    before = data.image()
    monkeypatch.setattr(dataset_module, "MAX_STATEMENTS", 12)
    with pytest.raises(OntologyError, match="at most 12 statements"):
        data.mem_add(A, P, 2)
    monkeypatch.undo()
    monkeypatch.setattr(dataset_module, "MAX_BYTES", data.stats()["bytes"] + 50)
    with pytest.raises(OntologyError, match="bytes"):
        data.mem_add(A, P, 2)
    assert data.image() == before


def test_stats_without_data(data):
    data.mem_add(A, P, "a secret")
    assert data.stats()["graphs"] == {"mem": 1, "prov": 7}
    assert "secret" not in repr(data) + str(data.stats())


def test_a_query_sees_every_change(data):
    data.mem_add(A, P, "one")
    assert [row["o"]["v"] for row in rows(data)] == ["one"]
    graph = data.query("SELECT ?o { GRAPH ?g { ?s ?p ?o } }", limit=1)
    assert (len(graph), graph.truncated) == (1, True)
    data.mem_add(A, P, "two")
    assert sorted(row["o"]["v"] for row in rows(data)) == ["one", "two"]


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
