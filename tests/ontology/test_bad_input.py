"""What bad input gets, in the three places where somebody can meet it: the command line, Python,
and the REPL.

The REPL opens no files itself: a run opens its ontology first, and says what is wrong before a
model is asked anything.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from endpoint_server import HTML, BadServer, hang
from repl_running import in_the_repl

from rlm.cli import main
from rlm.errors import EndpointError, NotRDF, OntologyError, QueryRefused
from rlm.llm import ScriptedClient
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.meta.graph_meta import GraphMeta
from rlm.ontology.remote.endpoints import open_endpoint
from rlm.ontology.source import open_engine
from rlm.ontology.views.views import Views
from rlm.tools import setup_ontology_context

TURTLE = "@prefix e: <http://e.org/> .\ne:a e:b e:c .\n"
LONG = TURTLE + "".join(f"e:s{n} e:p e:o{n * 7919 % 9973} .\n" for n in range(2_000))
FILES = {
    "not RDF": ("page.ttl", HTML, "HTML page"),
    "no RDF at all": ("notes.txt", b"Buy milk, and bread.\n", "no RDF that is known here"),
    "broken RDF": ("broken.ttl", b"@prefix e: <http://e.org/> .\ne:a e:b\n", "line"),
    "truncated gzip": ("cut.ttl.gz", gzip.compress(LONG.encode(), mtime=0)[:-40], "too early"),
    "0 bytes": ("empty.ttl", b"", "0 bytes"),
}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> None:
    monkeypatch.setenv("RLM_CACHE_DIR", str(cache))
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("RLM_CONFIG", str(tmp_path / "config.toml"))
    monkeypatch.setenv("RLM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*line: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(line)
        taken = capsys.readouterr()
        assert "Traceback" not in taken.err
        return code, taken.out, taken.err

    return run


@pytest.fixture
def harbour(root: Path) -> Iterator[LocalEngine]:
    with LocalEngine(root / "ontology" / "harbour.ttl") as opened:
        yield opened


@pytest.fixture(params=FILES)
def bad(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str]:
    """A file, and what has to be said of it."""
    name, content, said = FILES[request.param]
    (tmp_path / name).write_bytes(content)
    return tmp_path / name, said


# -- files


def test_a_bad_file_on_the_command_line(cli: Any, bad: tuple[Path, str]) -> None:
    path, said = bad
    for line in (("stats",), ("describe", "e:a"), ("query", "ASK {}")):
        code, out, err = cli("ontology", line[0], path.name, *line[1:])
        assert (code, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1
        assert path.name in err and said in err
    code, out, err = cli("ontology", "stats", path.name, "--json")
    assert (code, out) == (2, "") and json.loads(err)["error"]["type"] == "NotRDF"


def test_a_bad_file_in_python(bad: tuple[Path, str]) -> None:
    path, said = bad
    space: dict[str, Any] = {}
    for open_it in (
        open_engine,
        LocalEngine,
        lambda path: setup_ontology_context(path, space, "it"),
    ):
        with pytest.raises(NotRDF, match=said) as caught:
            open_it(path)
        assert path.name in str(caught.value)
    assert space == {}


def test_a_run_over_a_bad_file_says_so_before_a_model_is_asked(
    cli: Any, bad: tuple[Path, str], tmp_path: Path
) -> None:
    from rlm import agent

    path, said = bad
    client = ScriptedClient(["FINAL(1)"])
    with pytest.raises(NotRDF, match=said):
        agent.run("What is there?", path, tmp_path / "memory.db", client=client)
    assert client.calls == []
    code, out, err = cli("run", "What is there?", "--ontology", path.name, "--model", "offline")
    assert (code, out) == (2, "") and path.name in err and said in err


@pytest.mark.parametrize("name", ["not RDF", "truncated gzip", "0 bytes"])
def test_a_file_that_turns_bad_under_a_run_is_told_in_the_repl(name: str, tmp_path: Path) -> None:
    """Its worker is gone and so is the cache: it would have to be read again, and is not what it
    was."""
    good = tmp_path / "good.ttl"
    good.write_text(TURTLE, "utf-8")
    with LocalEngine(good, cache_dir=tmp_path / "own") as opened:
        views = Views(opened)
        assert "True" in in_the_repl(
            opened, "print(sparql_query('ASK { e:a e:b e:c }')['boolean'])", views=views
        )
        good.write_bytes(FILES[name][1])
        shutil.rmtree(tmp_path / "own", ignore_errors=True)
        os.kill(opened._worker.pid, signal.SIGKILL)  # type: ignore[union-attr]
        said = in_the_repl(
            opened, "sparql_query('ASK { e:a e:b e:c }')", "print('still here')", views=views
        )
    assert "ToolError: " in said and "good.ttl" in said and "still here" in said


def test_a_wrong_extension_is_read_by_its_content_everywhere(
    cli: Any, root: Path, tmp_path: Path
) -> None:
    path = tmp_path / "harbour.rdf"
    shutil.copy(root / "ontology" / "harbour.ttl", path)
    remark = "named like RDF/XML but holds Turtle"
    code, out, err = cli("ontology", "query", path.name, "ASK { ?s ?p ?o }")
    assert (code, out) == (0, "yes\n") and remark in err
    with LocalEngine(path) as opened:
        assert any(remark in note for note in opened.notes)
        said = in_the_repl(
            opened, "print(sparql_query('ASK { harbour:Vessel a owl:Class }')['boolean'])"
        )
    assert "True" in said


def test_an_extension_that_lies_about_what_is_no_rdf_helps_nobody(cli: Any, tmp_path: Path) -> None:
    (tmp_path / "really.ttl.gz").write_text(
        TURTLE, "utf-8"
    )  # no gzip: the name is wrong, the content is Turtle
    with LocalEngine(tmp_path / "really.ttl.gz") as opened:
        assert opened.triples == 1
    (tmp_path / "zip.ttl").write_bytes(b"PK\x03\x04rest")
    assert "zip archive" in cli("ontology", "stats", "zip.ttl")[2]


# -- names

MISSING = "there is no term harbour:Vesel in this graph; did you mean harbour:Vessel?"
UNBOUND = "the prefix 'habour:' of 'habour:Vessel' is not bound: did you mean harbour: "


def test_a_name_that_is_not_there_on_the_command_line(cli: Any, root: Path) -> None:
    source = str(root / "ontology" / "harbour.ttl")
    for line in (
        ("describe", source, "harbour:Vesel"),
        ("path", source, "harbour:Vesel", "harbour:Berth"),
    ):
        assert cli("ontology", *line) == (1, "", f"error: {MISSING}\n")
    iri = "https://example.org/harbour#Vesel"
    assert "did you mean harbour:Vessel?" in cli("ontology", "describe", source, iri)[2]


def test_a_name_that_is_not_there_in_python_and_in_the_repl(harbour: LocalEngine) -> None:
    views = Views(harbour)
    for call in (
        views.describe_entity,
        views.probe_relationships,
        lambda name: views.find_path(name, "harbour:Berth"),
    ):
        with pytest.raises(OntologyError) as caught:
            call("harbour:Vesel")
        assert str(caught.value) == MISSING
        with pytest.raises(OntologyError, match="did you mean harbour:Vessel"):
            call("<https://example.org/harbour#Vesel>")
    lines = [
        "describe_entity('harbour:Vesel')",
        "probe_relationships('harbour:Vesel')",
        "find_path('harbour:Berth', 'harbour:Vesel')",
        "sparql_peek('harbour:Vesel')",
        "print(sparql_query('SELECT ?x { ?x a harbour:Vesel }', explain=True)['hints'][0])",
    ]
    said = in_the_repl(harbour, *lines, views=views)
    assert said.count(MISSING) == len(lines)


def test_a_prefix_that_is_not_bound_on_the_command_line(cli: Any, root: Path) -> None:
    source = str(root / "ontology" / "harbour.ttl")
    lines = (
        ("describe", source, "habour:Vessel"),
        ("query", source, "SELECT ?s { ?s a habour:Vessel }"),
    )
    for line in lines:
        code, out, err = cli("ontology", *line)
        assert (code, out) == (2, "") and UNBOUND in err and err.count("\n") == 1


def test_a_prefix_that_is_not_bound_in_python_and_in_the_repl(harbour: LocalEngine) -> None:
    with pytest.raises(QueryRefused) as refused:
        harbour.query("SELECT ?s { ?s a habour:Vessel }")
    assert UNBOUND in str(refused.value)
    views = Views(harbour)
    with pytest.raises(OntologyError) as caught:
        views.describe_entity("habour:Vessel")
    assert str(caught.value).startswith(UNBOUND)
    lines = [
        "sparql_query('SELECT ?s { ?s a habour:Vessel }')",
        "sparql_peek('habour:Vessel')",
        "describe_entity('habour:Vessel')",
        "find_path('habour:Vessel', 'harbour:Berth')",
    ]
    said = in_the_repl(harbour, *lines, views=views)
    assert said.count(UNBOUND) == len(lines)


# -- endpoints

PAGE = {"Content-Type": "text/html"}
ENDPOINTS = {
    "down": (None, 10.0, "cannot be reached"),
    "slow": (hang, 0.1, "did not answer within 0.1 s"),
    "HTML": (
        (200, PAGE, HTML),
        10.0,
        "answered a web page instead of results: is its URL the one for queries?",
    ),
    "HTML, 404": ((404, PAGE, HTML), 10.0, "answered 404: is its URL the one for queries?"),
}


@pytest.fixture(params=ENDPOINTS)
def ill(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The URL of an endpoint that is named `boats` in the config, and what has to be said of it."""
    answer, timeout_s, said = ENDPOINTS[request.param]
    with ExitStack() as stack:
        server = BadServer() if answer is None else BadServer(answer)
        stack.enter_context(server)
        if answer is None:
            stack.close()
        table = (
            f'[endpoints.boats]\nurl = "{server.url}"\nallow_private = true\ntimeout_s ='
            f" {timeout_s}\n"
        )
        (tmp_path / "config.toml").write_text(table, "utf-8")
        yield server.url, said
        server.over.set()


def test_an_ill_endpoint_on_the_command_line(cli: Any, ill: tuple[str, str]) -> None:
    url, said = ill
    for line in (
        ("stats", "boats"),
        ("describe", "boats", "<http://e/x>"),
        ("query", "boats", "ASK { ?s ?p ?o }"),
    ):
        code, out, err = cli("ontology", *line)
        assert (code, out) == (2, "") and err.startswith("error: ") and err.count("\n") == 1
        assert "'boats'" in err and url in err and said in err and "<html" not in err


def test_an_ill_endpoint_in_python(ill: tuple[str, str]) -> None:
    _, said = ill
    space: dict[str, Any] = {}
    with open_endpoint("boats") as opened:
        for ask in (lambda: opened.query("ASK { ?s ?p ?o }"), opened.meta, lambda: Views(opened)):
            with pytest.raises(EndpointError, match="the endpoint 'boats'") as caught:
                ask()
            assert said in str(caught.value)
    with pytest.raises(EndpointError, match="the endpoint 'boats'"):
        setup_ontology_context("boats", space, "it")
    assert space == {}


def test_a_run_over_an_ill_endpoint_says_so_before_a_model_is_asked(
    ill: tuple[str, str], tmp_path: Path
) -> None:
    from rlm import agent

    client = ScriptedClient(["FINAL(1)"])
    with pytest.raises(EndpointError, match="the endpoint 'boats'") as caught:
        agent.run("What is there?", "boats", tmp_path / "memory.db", client=client)
    assert ill[1] in str(caught.value) and client.calls == []


def test_an_endpoint_that_falls_ill_during_a_run_is_told_in_the_repl(ill: tuple[str, str]) -> None:
    _, said = ill
    lines = [
        "sparql_query('SELECT ?x { ?x a owl:Class }')",
        "sparql_schema(use_cache=False)",
        "sparql_peek('<http://example.org/Boat>')",
        "search_entity('boat')",
        "describe_entity('<http://example.org/Boat>')",
        "find_path('<http://example.org/a>', '<http://example.org/b>')",
    ]
    with open_endpoint("boats") as opened:
        opened._meta = GraphMeta(sampled=True)  # it was well when the run began
        told = in_the_repl(opened, *lines, "print('still here')", views=Views(opened))
    assert told.count("ToolError: the endpoint 'boats'") == len(lines) == told.count(said)
    assert "still here" in told and "<html" not in told
