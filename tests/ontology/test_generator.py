"""The generator of large ontologies: exact, repeatable, and sound in what it writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rdflib import Graph

PREFIXES = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX owl: <http://www.w3.org/2002/07/owl#>
"""


@pytest.fixture(scope="module")
def data(root: Path) -> Iterator[ModuleType]:
    """bench/ontology_data.py; bench lies beside the package and is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(root)
        yield import_module("bench.ontology_data")


@pytest.fixture(scope="module")
def store(data: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> ox.Store:
    path = tmp_path_factory.mktemp("generated") / "sample.nt"
    data.write_ontology(path, 20_000, 3)
    store = ox.Store()
    store.load(path=str(path))
    return store


def count(store: ox.Store, pattern: str) -> int:
    (row,) = store.query(f"{PREFIXES} SELECT (COUNT(*) AS ?n) {{ {pattern} }}")
    return int(row["n"].value)


@settings(max_examples=15)
@given(
    triples=st.integers(1_000, 6_000),
    seed=st.integers(0, 2**40),
    form=st.sampled_from(["nt", "ttl"]),
)
@example(triples=1_000, seed=563, form="nt")  # whole blocks and a single triple
def test_the_number_of_triples_is_exact_and_none_comes_twice(
    data, tmp_path_factory, triples, seed, form
):
    path = tmp_path_factory.mktemp("generated") / f"sample.{form}"
    made = data.write_ontology(path, triples, seed)
    assert made.triples == triples
    parsed = list(ox.parse(path=str(path)))
    assert len(parsed) == triples
    assert len(set(parsed)) == triples
    typed, labelled = (
        {
            quad.subject
            for quad in parsed
            if quad.predicate.value.endswith(name) and "/data#" in quad.subject.value
        }
        for name in ("#type", "#label")
    )
    assert typed == labelled
    assert len(typed) == made.individuals


def test_rdflib_reads_the_same_from_both_formats(data, tmp_path):
    graphs = []
    for form in ("nt", "ttl"):
        made = data.write_ontology(tmp_path / f"sample.{form}", 2_500, 11)
        graphs.append(set(Graph().parse(made.path)))
    assert len(graphs[0]) == 2_500
    assert graphs[0] == graphs[1]


@pytest.mark.parametrize("form", ["nt", "ttl"])
def test_the_same_seed_gives_the_same_bytes(data, tmp_path, form):
    first = data.write_ontology(tmp_path / f"a.{form}", 10_000, 7)
    again = data.write_ontology(tmp_path / f"b.{form}", 10_000, 7)
    other = data.write_ontology(tmp_path / f"c.{form}", 10_000, 8)
    assert first.sha256 == again.sha256 == sha256(again.path.read_bytes()).hexdigest()
    assert first.size_bytes == first.path.stat().st_size
    assert other.sha256 != first.sha256


def test_the_bytes_stay_the_same_from_version_to_version(data, tmp_path):
    """Numbers in the benchmarks are compared over time. Who changes the generator on purpose
    changes this line."""
    made = data.write_ontology(tmp_path / "pinned.nt", 10_000, 7)
    assert made.sha256 == "0b9695de2287f57494d2d1b1b0bb6b0032f94e9b0323c33b5ce1e1cf0af5eb07"


def test_the_summary_tells_what_is_there(data, tmp_path):
    made = data.write_ontology(tmp_path / "sample.nt", 30_000, 5)
    store = ox.Store()
    store.load(path=str(made.path))
    assert len(store) == made.triples == 30_000
    assert count(store, "?c a owl:Class") == made.classes > 40
    assert count(store, "?c a owl:Class FILTER NOT EXISTS { ?c rdfs:subClassOf ?d }") == made.roots
    assert count(store, "?p a owl:ObjectProperty") == made.object_properties
    assert count(store, "?p a owl:DatatypeProperty") == made.datatype_properties
    assert count(store, "?i a ?c . ?c a owl:Class") == made.individuals
    hops = f"?a a/rdfs:subClassOf* <{made.root}> ; <{made.link}>/<{made.link}>/<{made.link}> ?b"
    assert count(store, hops) > 100


def test_everything_has_a_label_and_nothing_leads_nowhere(store):
    assert count(store, "?s a ?kind FILTER NOT EXISTS { ?s rdfs:label ?l }") == 0
    assert (
        count(
            store,
            "?s ?p ?o FILTER(STRSTARTS(STR(?o), 'https://example.org/')) MINUS { ?o a ?kind }",
        )
        == 0
    )
    assert (
        count(
            store,
            "?s ?p ?o FILTER(STRSTARTS(STR(?p), 'https://example.org/')) MINUS { ?p a ?kind }",
        )
        == 0
    )
    labels = "{ SELECT ?l { ?c a owl:Class ; rdfs:label ?l } GROUP BY ?l HAVING(COUNT(?c) > 1) }"
    assert count(store, labels) == 0


def test_the_tree_is_deep_and_has_no_cycle(store):
    assert count(store, "?c rdfs:subClassOf+ ?c") == 0
    assert count(store, "?c rdfs:subPropertyOf+ ?c") == 0
    assert count(store, "?p rdfs:subPropertyOf ?q") > 0
    assert count(store, "?a rdfs:subClassOf/rdfs:subClassOf/rdfs:subClassOf ?d") > 0


def test_links_keep_domains_and_ranges(store):
    assert count(store, "?p rdfs:domain ?d . ?s ?p ?o") > 1_000
    assert (
        count(store, "?p rdfs:domain ?d . ?s ?p ?o FILTER NOT EXISTS { ?s a/rdfs:subClassOf* ?d }")
        == 0
    )
    linked = "?p a owl:ObjectProperty ; rdfs:range ?r . ?s ?p ?o"
    assert count(store, linked) > 1_000
    assert count(store, f"{linked} FILTER NOT EXISTS {{ ?o a/rdfs:subClassOf* ?r }}") == 0
    valued = "?p a owl:DatatypeProperty ; rdfs:range ?r . ?s ?p ?o"
    assert count(store, f"{valued} FILTER(DATATYPE(?o) != ?r)") == 0


@pytest.mark.parametrize(
    ("triples", "name"), [(999, "a.nt"), (60_000_000, "a.nt"), (10_000, "a.rdf"), (10_000, "a")]
)
def test_what_cannot_be_written_is_refused(data, tmp_path, triples, name):
    with pytest.raises(ValueError, match="cannot write"):
        data.write_ontology(tmp_path / name, triples, 7)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_no_rest(data, tmp_path, monkeypatch):
    path = tmp_path / "a.nt"
    path.write_text("old")

    def broken(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="no space"):
        data.write_ontology(path, 1_000, 7)
    assert [each.name for each in tmp_path.iterdir()] == ["a.nt"]
    assert path.read_text() == "old"


def test_the_tool_writes_the_file_and_says_what_it_wrote(root, tmp_path):
    tool = root / "tools" / "make_ontology.py"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-W", "error", str(tool), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )

    done = run("--triples", "5000", "--seed", "7", "--out", "big.nt")
    assert done.returncode == 0, done.stderr
    assert "big.nt: 5000 triples" in done.stdout
    assert sha256((tmp_path / "big.nt").read_bytes()).hexdigest() in done.stdout
    assert len((tmp_path / "big.nt").read_text("utf-8").splitlines()) == 5000
    wrong = run("--triples", "5", "--out", "small.nt")
    assert wrong.returncode == 1
    assert "ask for 1000 to" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    nowhere = run("--out", "missing/folder/big.nt")
    assert nowhere.returncode == 1
    assert "Traceback" not in nowhere.stderr


@pytest.mark.slow
def test_a_million_triples_are_exact_too(data, tmp_path):
    made = data.write_ontology(tmp_path / "big.nt", 1_000_000, 7)
    store = ox.Store()
    store.bulk_load(path=str(made.path))
    assert len(store) == 1_000_000
