"""`rlm ontology`: what a person sees of a file and of an endpoint, what goes to a file, and what
bad input gets."""

from __future__ import annotations

import csv
import gzip
import json
import os
import pty
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from cli_running import Run, on_a_terminal
from hypothesis import given
from hypothesis import strategies as st

from rlm import ontology
from rlm.cli import output
from rlm.cli.ontology_query import exact

VESSELS = (
    "SELECT ?s ?l WHERE { ?s rdfs:subClassOf harbour:Vessel ; rdfs:label ?l FILTER(lang(?l) = 'en')"
    " } ORDER BY ?s"
)
HOSTILE = "X\x1b]0;pwned\x07\x1b[2J \x9b31m \u202etxet\u2066 \x7f [bold red]"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def shared_cache(home: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing is done once for all tests here. After `home`, which clears the settings."""
    monkeypatch.setenv("RLM_CACHE_DIR", str(cache))


@pytest.fixture
def harbour(root: Path) -> str:
    return str(root / "ontology" / "harbour.ttl")


@pytest.fixture
def prov(root: Path) -> str:
    return str(root / "ontology" / "prov.ttl")


def harmless(text: str) -> bool:
    return not any(mark in text for mark in ("\x1b", "\x07", "\x9b", "\u202e", "\u2066", "\x7f"))


# -- what is in it
# ---------------------------------------------------------------------------------------


def test_stats_tells_sizes_roots_languages_and_prefixes(rlm: Run, harbour: str) -> None:
    shown = rlm("ontology", "stats", harbour)
    assert shown.code == 0 and shown.err == ""
    fields = {line[:22].strip(): line[22:].strip() for line in shown.out.splitlines()[:18]}
    there = ox.Store()
    there.load(path=harbour, format=ox.RdfFormat.TURTLE)
    assert fields["triples"] == f"{len(there):,}"
    assert fields["title"] == "Harbour" and "harbour:WaterCraft" in fields["roots"]
    assert fields["labels"].startswith("en ") and ", de " in fields["labels"]
    assert fields["imports, not fetched"] == "https://example.org/units"
    assert "<https://example.org/harbour#>" in shown.out
    found = rlm("ontology", "stats", harbour, "--json").json
    assert found["triples"] == len(there) and found["name"] == "harbour"
    assert found["predicate_frequency"][0]["predicate"] == "rdfs:label"


def test_search_says_how_each_hit_matched(rlm: Run, harbour: str) -> None:
    shown = rlm("ontology", "search", harbour, "container", "ship")
    assert shown.out.splitlines()[1] == "exact\tharbour:ContainerShip\tclass\tcontainer ship\t"
    german = rlm("ontology", "search", harbour, "Frachter", "--lang", "de", "--json").json[0]
    assert (german["curie"], german["label"]) == ("harbour:CargoVessel", "Frachtschiff")
    old = rlm("ontology", "search", harbour, "hulk", "--in", "localname", "--limit", "1")
    assert "deprecated" in old.out and old.err == "the best 1: more with --limit\n"


def test_what_is_not_found_exits_with_1(rlm: Run, harbour: str) -> None:
    for line in (
        ("search", harbour, "zeppelin"),
        ("path", harbour, "Vessel", "Berth", "--depth", "1"),
    ):
        nothing = rlm("ontology", *line)
        assert nothing.code == 1 and nothing.out == "" and nothing.err
        assert "max_depth" not in nothing.err and "probe_" not in nothing.err, (
            "the words of the command line"
        )
    assert rlm("ontology", "search", harbour, "zeppelin", "--json").json == []


def test_describe_shows_true_totals_and_whole_definitions(rlm: Run, tmp_path: Path) -> None:
    some = tmp_path / "some.nt"
    schema, ex = "<http://www.w3.org/2000/01/rdf-schema#", "<http://ex.example/"
    lines = [f"{ex}p{n}> {schema}range> {ex}C> ." for n in range(15)]
    lines.append(f"{ex}C> {schema}subClassOf> {ex}D> .")
    some.write_text("\n".join([*lines, f'{ex}C> {schema}comment> "{"word " * 200}end" .']))
    shown = rlm("ontology", "describe", str(some), f"{ex}C>").out
    assert " and 3 more\n" in shown and "word end" in shown and "\nlabel" not in shown


def test_describe_in_the_language_asked_for(rlm: Run, harbour: str) -> None:
    shown = rlm("ontology", "describe", harbour, "harbour:H_0031", "--lang", "de").out
    assert "befördert Gefahrgut" in shown
    assert "harbour:Vessel (Schiff) or harbour:Voyage (Reise)" in shown, "a union of domains"
    by_label = rlm("ontology", "describe", harbour, "cargo vessel", "--json").json
    assert by_label["curie"] == "harbour:CargoVessel" and by_label["superclasses"] == [
        "harbour:Vessel"
    ]


def test_relations_each_way_and_by_predicate(rlm: Run, prov: str) -> None:
    both = rlm("ontology", "relations", prov, "prov:Activity", "--limit", "5")
    assert {line.split("\t")[0] for line in both.out.splitlines()} == {"way", "out", "in"}
    assert "in: 5 of " in both.err
    line = (
        "ontology",
        "relations",
        prov,
        "prov:Activity",
        "--predicate",
        "rdfs:domain",
        "--direction",
        "in",
    )
    rows = [row.split("\t")[:3] for row in rlm(*line).out.splitlines()[1:]]
    assert ["in", "rdfs:domain", "prov:used"] in rows and {row[1] for row in rows} == {
        "rdfs:domain"
    }
    found = rlm(*line, "--json").json
    assert found["incoming_count"] >= len(found["incoming"]) and "outgoing" not in found
    none = rlm(*line[:-1], "out")
    assert none.code == 1 and none.err == "nothing found\n"


def test_individuals_are_found_by_their_names(rlm: Run, harbour: str) -> None:
    by_label = rlm("ontology", "describe", harbour, "the surveyor of shift 2", "--json").json
    assert by_label["curie"] == "harbour:SurveyorShift2"
    assert "harbour:stationedAt" in rlm("ontology", "relations", harbour, "PilotShift1").out
    way = rlm("ontology", "path", harbour, "Grauwik", "SurveyorShift2", "--lang", "ja")
    assert (
        way.out.startswith("harbour:Grauwik -harbour:governedBy-> ")
        and "no label is in 'ja': there are " in way.err
    )
    missing = rlm("ontology", "describe", harbour, "Grauwick")
    assert missing.code == 1 and "did you mean harbour:Grauwik?" in missing.err
    odd = rlm("ontology", "describe", harbour, "Grauwik", "--lang", "xx$$")
    assert odd.code == 2 and "lang is 'xx$$': write a language tag, as en" in odd.err


def test_path_follows_statements_both_ways(rlm: Run, harbour: str) -> None:
    shown = rlm("ontology", "path", harbour, "Vessel", "harbour:Berth", "--depth", "3")
    assert shown.code == 0
    assert (
        "harbour:Vessel -rdfs:subClassOf-> harbour:WaterCraft <-rdfs:domain- harbour:mooredAt"
        " -rdfs:range-> harbour:Berth\n" in shown.out
    )
    document = rlm(
        "ontology", "path", harbour, "Vessel", "harbour:Berth", "--depth", "3", "--json"
    ).json
    assert [each["length"] for each in document["paths"]] == [3, 3]


def test_card_is_what_a_model_gets(rlm: Run, prov: str) -> None:
    found = rlm("ontology", "card", prov, "--json").json
    assert len(found["sense_card"]) <= 600 and "prov:Activity" in found["sense_card"]
    assert (
        len(found["schema_constraints"]) <= 400 and "Domain → range" in found["schema_constraints"]
    )
    assert (
        rlm("ontology", "card", prov).out
        == f"{found['sense_card']}\n{found['schema_constraints']}\n"
    )


# -- query
# -----------------------------------------------------------------------------------------------


def test_a_pipe_gets_one_line_a_row_and_is_told_what_was_cut(rlm: Run, harbour: str) -> None:
    whole = rlm("ontology", "query", harbour, VESSELS)
    assert whole.code == 0 and whole.err == ""
    assert (
        whole.out.splitlines()[0] == "s\tl"
        and whole.out.splitlines()[1] == 'harbour:CargoVessel\t"cargo vessel"@en'
    )
    cut = rlm("ontology", "query", harbour, VESSELS, "--limit", "2")
    assert cut.out.splitlines() == whole.out.splitlines()[:3]
    assert "the first 2 rows" in cut.err and "--limit" in cut.err and "--out" in cut.err


def test_json_is_sparql_results_and_says_whether_it_was_cut(rlm: Run, harbour: str) -> None:
    found = rlm("ontology", "query", harbour, VESSELS, "--limit", "1", "--json").json
    assert found == {
        "head": {"vars": ["s", "l"]},
        "results": {
            "bindings": [
                {
                    "s": {"type": "uri", "value": "https://example.org/harbour#CargoVessel"},
                    "l": {"type": "literal", "value": "cargo vessel", "xml:lang": "en"},
                }
            ]
        },
        "truncated": True,
    }


def test_the_query_may_be_in_a_file_or_on_standard_input(
    rlm: Run, harbour: str, tmp_path: Path
) -> None:
    text = "ASK { harbour:Vessel a owl:Class }"
    (tmp_path / "q.rq").write_text(text, "utf-8-sig")
    assert rlm("ontology", "query", harbour, "@q.rq").out == "yes\n"
    assert (
        rlm("ontology", "query", harbour, "-", stdin=text.replace("Vessel", "Nothing").encode()).out
        == "no\n"
    )
    for name in ("@missing.rq", f"@{tmp_path}"):
        failed = rlm("ontology", "query", harbour, name)
        assert failed.code == 2 and name in failed.err and "Traceback" not in failed.err
    failed = rlm("ontology", "query", harbour, "-", stdin=b"ASK { ?s ?p '\xff' }")
    assert failed.code == 2 and "UTF-8" in failed.err


def test_an_answer_without_rows_is_an_answer(rlm: Run, harbour: str) -> None:
    empty = rlm(
        "ontology", "query", harbour, "SELECT ?s WHERE { ?s a harbour:Harbour, harbour:Berth }"
    )
    assert (empty.code, empty.out, empty.err) == (0, "", "no rows\n")


def test_names_that_other_commands_show_work_in_a_query(rlm: Run, tmp_path: Path) -> None:
    """N-Triples has no prefixes; stats, search and describe show some all the same."""
    (tmp_path / "boats.nt").write_text(
        "<http://example.org/boats/gull> <http://example.org/boats/near>"
        " <http://example.org/boats/tern> .\n",
        "utf-8",
    )
    name = rlm("ontology", "search", "boats.nt", "gull", "--json").json[0]["curie"]
    assert name == "boats:gull"
    asked = rlm("ontology", "query", "boats.nt", f"SELECT ?o WHERE {{ {name} boats:near ?o }}")
    assert asked.code == 0 and "tern" in asked.out


def test_on_a_terminal_rows_are_a_table_with_its_header(harbour: str) -> None:
    shown = on_a_terminal("ontology", "query", harbour, VESSELS).splitlines()
    assert "s" in shown[0] and "l" in shown[0] and "\t" not in shown[1]
    assert shown[1].split("  ")[0] == "harbour:CargoVessel"


# -- files
# -----------------------------------------------------------------------------------------------


def test_rows_go_to_csv_tsv_and_json(rlm: Run, harbour: str, tmp_path: Path) -> None:
    asked = (
        "SELECT ?s ?o WHERE { VALUES (?s ?o) { (harbour:a 'x, \"y\"\\n'@en) (harbour:b 7)"
        " (harbour:c UNDEF) } }"
    )
    written = rlm("ontology", "query", harbour, asked, "--out", "rows.csv")
    assert (written.code, written.out, written.err) == (0, "rows.csv\n", "3 rows\n")
    with (tmp_path / "rows.csv").open(newline="", encoding="utf-8") as file:
        space = "https://example.org/harbour#"
        assert list(csv.reader(file)) == [
            ["s", "o"], [f"{space}a", 'x, "y"\n'], [f"{space}b", "7"], [f"{space}c", ""]
        ]  # fmt: skip
    told = rlm("ontology", "query", harbour, asked, "--out", "rows.json", "--json").json
    assert told == {"path": "rows.json", "rows": 3, "truncated": False}
    rlm("ontology", "query", harbour, asked, "--out", "rows.TSV")
    formats = {"rows.json": ox.QueryResultsFormat.JSON, "rows.TSV": ox.QueryResultsFormat.TSV}
    read = [_solutions(tmp_path / name, kind) for name, kind in formats.items()]
    assert (
        read[0] == read[1]
        and len(read[0]) == 3
        and read[0][0][1] == ox.Literal('x, "y"\n', language="en")
    )


def _solutions(path: Path, kind: ox.QueryResultsFormat) -> list[list[Any]]:
    found = ox.parse_query_results(path.read_bytes(), format=kind)
    assert isinstance(found, ox.QuerySolutions)
    return [list(row) for row in found]


def test_triples_go_to_n_triples_and_none_is_lost(rlm: Run, harbour: str, tmp_path: Path) -> None:
    asked = "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }"
    assert rlm("ontology", "query", harbour, asked, "--out", "all.nt").code == 0
    graphs = []
    for path, kind in (
        (tmp_path / "all.nt", ox.RdfFormat.N_TRIPLES),
        (Path(harbour), ox.RdfFormat.TURTLE),
    ):
        store = ox.Store()  # which writes 145.0 as 145
        store.load(path=str(path), format=kind)
        graphs.append(ox.Dataset(store))
        graphs[-1].canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert graphs[0] == graphs[1] and len(graphs[0]) > 1000
    cut = rlm("ontology", "query", harbour, asked, "--out", "all.nt", "--force", "--limit", "5")
    assert cut.code == 0 and "the first 5 triples" in cut.err
    assert len((tmp_path / "all.nt").read_text("utf-8").splitlines()) == 5


@pytest.mark.parametrize(
    ("asked", "out", "says"),
    [
        (
            "SELECT ?s WHERE { ?s ?p ?o }",
            "x.nt",
            "the answer of SELECT goes to .csv or .tsv or .json",
        ),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "x.csv", "the answer of CONSTRUCT goes to .nt"),
        ("ASK { ?s ?p ?o }", "x.csv", "the answer of ASK goes to .json"),
        ("ASK { ?s ?p ?o }", "x.xlsx", ".csv, .tsv, .json, .nt"),
        ("ASK { ?s ?p ?o }", "nowhere/x.json", "no folder nowhere"),
        ("ASK { ?s ?p ?o }", "old.json", "--force"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_anything_is_asked(
    rlm: Run, tmp_path: Path, asked: str, out: str, says: str
) -> None:
    (tmp_path / "old.json").write_text("mine", "utf-8")
    failed = rlm("ontology", "query", "there-is-no-such.ttl", asked, "--out", out)
    assert failed.code == 2 and says in failed.err
    assert (tmp_path / "old.json").read_text("utf-8") == "mine"


def test_a_query_that_fails_leaves_the_old_file_and_nothing_else(
    rlm: Run, harbour: str, tmp_path: Path
) -> None:
    (tmp_path / "old.csv").write_text("mine", "utf-8")
    line = (
        "ontology",
        "query",
        harbour,
        "SELECT ?s WHERE { ?s a none:Such }",
        "--out",
        "old.csv",
        "--force",
    )
    assert rlm(*line).code == 2
    assert (tmp_path / "old.csv").read_text("utf-8") == "mine"
    assert rlm(*(part.replace("none:Such", "owl:Class") for part in line)).code == 0
    assert (tmp_path / "old.csv").read_text("utf-8").startswith("s\n")
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@given(st.text(), st.sampled_from(["plain", "lang", "dt"]))
def test_a_literal_is_one_token_of_one_line_and_reads_back(text: str, how: str) -> None:
    term = {"t": "lit", "v": text}
    term |= {"lang": {"lang": "en-gb"}, "dt": {"dt": "http://e.org/t"}, "plain": {}}[how]
    line = f"<http://e.org/s> <http://e.org/p> {exact(term)} ."
    assert line.splitlines() == [line] and "\t" not in line
    (read,) = ox.parse(line, format=ox.RdfFormat.N_TRIPLES)
    assert isinstance(read.object, ox.Literal) and read.object.value == text


def test_an_iri_of_a_stranger_cannot_end_its_token() -> None:
    assert (
        exact({"t": "iri", "v": "http://e.org/> .\n<x"})
        == "<http://e.org/\\u003E\\u0020.\\u000A\\u003Cx>"
    )


# -- what bad input gets
# ---------------------------------------------------------------------------------

BAD = {
    "empty.ttl": (b"", "NotRDF", "0 bytes"),
    "page.ttl": (b"<!DOCTYPE html><html><body>404</body></html>", "NotRDF", "HTML"),
    "broken.ttl": (b"@prefix ex: <http://e.org/> .\nex:a ex:b\n", "NotRDF", "broken.ttl"),
    "cut.ttl.gz": (
        gzip.compress(b"<http://e.org/a> <http://e.org/b> <http://e.org/c> .\n" * 5000, mtime=0)[
            :60
        ],
        "NotRDF",
        "gzip",
    ),
    "notes.txt": (b"Buy milk, and bread.\n", "NotRDF", "no RDF"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_rdf_is_one_clear_line(rlm: Run, tmp_path: Path, name: str) -> None:
    content, kind, says = BAD[name]
    (tmp_path / name).write_bytes(content)
    failed = rlm("ontology", "stats", name, "--json")
    assert failed.code == 2 and failed.out == ""
    error = json.loads(failed.err)["error"]
    assert error["type"] == kind and says in error["message"] and "Traceback" not in failed.err


@pytest.mark.parametrize(
    ("line", "code", "says"),
    [
        (("stats", "nowhere.ttl"), 2, "no file nowhere.ttl"),
        (("stats", "museum"), 2, "no endpoint 'museum'"),
        (("stats", "."), 2, "folder"),
        (("stats", "https://example.org/sparql"), 2, "config"),
        (("stats", "{harbour}", "--format", "word"), 2, "turtle, n-triples"),
        (("describe", "{harbour}", "Vesel"), 1, "did you mean harbour:Vessel?"),
        (("describe", "{harbour}", "harbour:Vesel"), 1, "did you mean harbour:Vessel?"),
        (("describe", "{harbour}", "zzzzqqq"), 1, "`rlm ontology search`"),
        (("describe", "{harbour}", "habour:Vessel"), 2, "did you mean harbour:"),
        (("describe", "{harbour}", " "), 2, "no name given"),
        (("related", "{harbour}"), 2, "Missing argument 'TERM'"),
        (("instances", "{harbour}"), 2, "Missing argument 'TERM'"),
        (("compare", "{harbour}", "Vessel"), 2, "Missing argument 'OTHER'"),
        (("path", "{harbour}", "Vessel", "Birth"), 1, "harbour:Berth"),
        (("relations", "{harbour}", "Vessel", "--predicate", "harbour:sail"), 1, "harbour:sails"),
        (("query", "{harbour}", "SELECT ?s WHERE { ?s a habour:Vessel }"), 2, "did you mean harbour:"),
        (("query", "{harbour}", "DELETE WHERE { ?s ?p ?o }"), 2, "read-only"),
        (("query", "{harbour}", "SELECT ?s WHERE { SERVICE <http://e.org/> { ?s ?p ?o } }"), 2, "SERVICE"),
        (("query", "{harbour}", "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?c", "--timeout", "0.2"), 2,
         "--timeout"),
    ],
)  # fmt: skip
def test_bad_input_exits_with_2_and_what_is_not_there_with_1(
    rlm: Run, harbour: str, line: tuple[str, ...], code: int, says: str
) -> None:
    failed = rlm("ontology", *(harbour if part == "{harbour}" else part for part in line))
    assert failed.code == code and failed.out == "" and says in failed.err
    assert failed.err.startswith("error: ") and failed.err.count("\n") == 1


def test_a_wrong_extension_is_a_remark(rlm: Run, harbour: str, tmp_path: Path) -> None:
    shutil.copy(harbour, tmp_path / "harbour.rdf")
    read = rlm("ontology", "query", "harbour.rdf", "ASK { ?s ?p ?o }")
    assert (read.code, read.out) == (0, "yes\n")
    assert "named like RDF/XML but holds Turtle" in read.err
    assert rlm("ontology", "query", "harbour.rdf", "ASK { ?s ?p ?o }", "--json").err == ""
    shutil.copy(harbour, tmp_path / "harbour")
    assert rlm("ontology", "query", "harbour", "ASK { ?s ?p ?o }", "--format", "ttl").code == 0


EVIL = """
@prefix e: <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<http://e.org/> a owl:Ontology ; rdfs:label "LABEL" .
e:a a owl:Class ; rdfs:label "LABEL" ; rdfs:comment "LABEL" ; rdfs:subClassOf e:b . e:b rdfs:label "LABEL" .
"""


@pytest.mark.parametrize(
    "line",
    [("stats",), ("search", "pwned"), ("describe", "e:a"), ("relations", "e:a"), ("path", "e:a", "e:b"), ("card",),
     ("query", "SELECT * { ?s ?p ?o }"), ("query", "CONSTRUCT WHERE { ?s ?p ?o }", "--json"), ("describe", "\x1b[2J")],
)  # fmt: skip
def test_text_of_an_ontology_does_not_steer_the_terminal(
    rlm: Run, tmp_path: Path, line: tuple[str, ...]
) -> None:
    label = "".join(f"\\u{ord(char):04X}" for char in HOSTILE)
    (tmp_path / "evil.ttl").write_text(EVIL.replace("LABEL", label), "utf-8")
    done = rlm("ontology", line[0], "evil.ttl", *line[1:])
    assert harmless(done.out + done.err)
    assert done.code == (1 if "\x1b" in line[-1] else 0)


# -- time
# ------------------------------------------------------------------------------------------------


def test_the_second_question_parses_nothing(
    rlm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "own"))
    (tmp_path / "a.ttl").write_text(
        "<http://e.org/a> <http://e.org/b> <http://e.org/c> .\n", "utf-8"
    )
    first = rlm("ontology", "stats", "a.ttl", "--json").json
    (store,) = (tmp_path / "own" / "ontologies").glob("*/store")
    before = {
        path.name: path.stat().st_mtime_ns for path in store.iterdir() if path.suffix == ".sst"
    }
    made = store.stat().st_ino
    assert rlm("ontology", "stats", "a.ttl", "--json").json == first
    assert (store.stat().st_ino, before) == (
        made, {path.name: path.stat().st_mtime_ns for path in store.iterdir() if path.suffix == ".sst"}
    )  # fmt: skip


def test_what_takes_long_says_so_on_a_terminal(
    rlm: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow[red].ttl").write_text(
        "<http://e.org/a> <http://e.org/b> <http://e.org/new> .\n", "utf-8"
    )
    monkeypatch.setattr(output, "PATIENCE_S", 0.0)
    outer, inner = pty.openpty()
    os.set_blocking(outer, False)  # silence is a failure, not a wait
    with os.fdopen(inner, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("COLUMNS", "120")
        done = rlm("ontology", "query", "slow[red].ttl", "ASK { ?s ?p ?o }")
        terminal.flush()
        sent = os.read(outer, 1 << 16).decode()
    os.close(outer)
    assert done.out == "yes\n"
    assert "loading slow[red].ttl (the next time it is cached)" in sent


# -- an endpoint
# -----------------------------------------------------------------------------------------


@contextmanager
def serving(folder: Path, data: Path) -> Iterator[str]:
    """The query URL of a real server that holds a Turtle file."""
    binary = shutil.which(
        "oxigraph", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    )
    if binary is None:
        pytest.skip("the oxigraph wheel is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [binary, "serve", "--location", str(folder), "--bind", address]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None and "Listening" in server.stderr.readline()
            put = urllib.request.Request(
                f"http://{address}/store?default", data.read_bytes(), method="PUT"
            )
            put.add_header("Content-Type", "text/turtle")
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                put, timeout=20
            ).close()
            yield f"http://{address}/query"
        finally:
            server.kill()


@pytest.mark.req("UT-12")
def test_an_endpoint_of_the_config_is_asked_like_a_file(
    rlm: Run, harbour: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    monkeypatch.setenv("RLM_CONFIG", str(config))
    text = (
        "PREFIX harbour: <https://example.org/harbour#> PREFIX rdfs:"
        f" <http://www.w3.org/2000/01/rdf-schema#> {VESSELS}"
    )
    with serving(tmp_path / "store", Path(harbour)) as url:
        config.write_text(f'[endpoints.quay]\nurl = "{url}"\nallow_private = true\n', "utf-8")
        near, far = (
            rlm("ontology", "query", source, text, "--json").json for source in (harbour, "quay")
        )
        assert near == far and near["results"]["bindings"]
        cut = rlm("ontology", "query", "quay", text, "--limit", "1", "--out", "rows.csv")
        assert cut.code == 0 and "the first 1 rows" in cut.err
        assert (
            (tmp_path / "rows.csv")
            .read_text("utf-8")
            .splitlines()[1]
            .endswith("#CargoVessel,cargo vessel")
        )
        sizes = rlm("ontology", "stats", "quay", "--json").json
        assert sizes["triples"] == rlm("ontology", "stats", harbour, "--json").json["triples"]
        told = rlm("ontology", "describe", "quay", "https://example.org/harbour#Vessel")
        assert told.code == 0 and "vessel" in told.out and "endpoint" in told.err
        assert rlm("ontology", "search", "quay", "ContainerShip").out.count("ContainerShip") == 1
    down = rlm("ontology", "query", "quay", text, "--timeout", "1")
    assert down.code == 2 and down.out == "" and "'quay'" in down.err and down.err.count("\n") == 1
    unknown = rlm("ontology", "stats", "key", "--json")
    assert unknown.code == 2 and "'key'" in unknown.err


# -- views of the catalogue

RELEASE_1 = """
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix obo: <http://purl.obolibrary.org/obo/> .
ex:Boat a owl:Class ; rdfs:label "boat"@en ; rdfs:comment "Floats." .
ex:Sloop a owl:Class ; rdfs:label "sloop"@en ; rdfs:subClassOf ex:Boat ,
  [ a owl:Restriction ; owl:onProperty ex:has ; owl:someValuesFrom ex:Mast ] .
ex:Mast a owl:Class ; rdfs:label "mast"@en . ex:Spar a owl:Class ; rdfs:label "spar"@en .
ex:Raft a owl:Class ; rdfs:label "raft"@en . ex:Punt a owl:Class ; rdfs:label "punt"@en .
ex:has a owl:ObjectProperty . ex:Oar a owl:Class ; rdfs:label "oar"@en . ex:Yard a owl:Class .
"""
RELEASE_2 = """
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix obo: <http://purl.obolibrary.org/obo/> .
@prefix dcterms: <http://purl.org/dc/terms/> .
ex:Boat a owl:Class ; rdfs:label "vessel"@en ; rdfs:comment "Floats." .
ex:Sloop a owl:Class ; rdfs:label "sloop"@en ; rdfs:subClassOf ex:Boat ,
  [ a owl:Restriction ; owl:onProperty ex:has ; owl:allValuesFrom ex:Mast ] .
ex:Mast a owl:Class ; rdfs:label "mast"@en ; rdfs:subClassOf ex:Pole . ex:Pole a owl:Class ; rdfs:label "spar"@en .
ex:Raft a owl:Class ; rdfs:label "raft"@en ; owl:deprecated true .
ex:Punt a owl:Class ; rdfs:label "punt"@en ; owl:deprecated true ; obo:IAO_0100001 ex:Pram .
ex:Pram a owl:Class ; rdfs:label "pram"@en . ex:Dory a owl:Class ; rdfs:label "dory"@en .
ex:has a owl:ObjectProperty . ex:Scull a owl:Class ; rdfs:label "scull"@en .
ex:Oar owl:deprecated true ; obo:IAO_0100001 ex:Scull .
ex:Gaff a owl:Class ; dcterms:replaces ex:Yard .
"""


@pytest.fixture
def releases(tmp_path: Path) -> tuple[str, str]:
    for name, text in (("one.ttl", RELEASE_1), ("two.ttl", RELEASE_2)):
        (tmp_path / name).write_text(text, "utf-8")
    return str(tmp_path / "one.ttl"), str(tmp_path / "two.ttl")


def test_a_diff_tells_renamed_from_deprecated(rlm: Run, releases: tuple[str, str]) -> None:
    found = rlm("ontology", "diff", *releases, "--json").json
    assert [row["name"] for row in found["added"]] == ["ex:Dory", "ex:Pram"]
    assert not found["removed"]
    assert found["renamed"] == [
        {"from": "ex:Oar", "to": "ex:Scull", "by": "replaced by"},
        {"from": "ex:Spar", "to": "ex:Pole", "by": "label"},
        {"from": "ex:Yard", "to": "ex:Gaff", "by": "replaced by"},
    ]
    assert found["deprecated"] == [  # and still there: not renamed
        {"name": "ex:Punt", "use": ["ex:Pram"], "deprecated": True},
        {"name": "ex:Raft", "deprecated": True},
    ]
    boat = {"name": "ex:Boat", "lang": "en", "before": "boat", "after": "vessel"}
    assert found["labels"] == [boat]
    (edge,) = found["hierarchy"]
    assert edge == {"name": "ex:Mast", "change": "added", "above": "ex:Pole", "above_label": "spar"}
    sloop = [row for row in found["axioms"] if row["name"] == "ex:Sloop"]
    assert [(row["change"], row["text"]) for row in sloop] == [
        ("added", "rdfs:subClassOf ex:has only ex:Mast"),
        ("removed", "rdfs:subClassOf ex:has some ex:Mast"),
    ]
    shown = rlm("ontology", "diff", *releases).out
    assert "## Renamed (3)" in shown and "- `ex:Oar` → `ex:Scull` (by replaced by)" in shown
    assert '- `ex:Boat`@en: "boat" → "vessel"' in shown
    assert rlm("ontology", "diff", *releases, "--exit-code").code == 1
    assert rlm("ontology", "diff", releases[0], releases[0], "--exit-code").code == 0


def test_a_summary_of_a_diff_counts_and_shows_a_few(rlm: Run, tmp_path: Path) -> None:
    head = "@prefix e: <http://e/> . @prefix owl: <http://www.w3.org/2002/07/owl#> ."
    head += "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . e:O a owl:Class ; rdfs:label "
    terms = " ".join(f"e:N{n} a owl:Class ." for n in range(12))
    paths = [str(tmp_path / name) for name in ("one.ttl", "two.ttl")]
    for path, text in zip(paths, (f'{head} "o" .', f'{head} "p", "q"@en . {terms}'), strict=True):
        Path(path).write_text(text)
    found = rlm("ontology", "diff", *paths, "--summary", "--json").json
    assert found["counts"]["added"] == 12 and len(found["added"]) == 5
    assert found["changes"] == {"labels": {"changed": 1, "added": 1}}
    shown = rlm("ontology", "diff", *paths, "--summary").out
    assert "## Added (12)\n\n- `e:N0`, class\n" in shown and "- … and 7 more\n" in shown
    assert "## Labels (2: 1 added, 1 changed)" in shown and "need not add up" in shown
    with ontology.open(paths[0]) as onto:
        assert onto.diff(paths[1], summary=True)["counts"] == found["counts"]


def test_the_statements_of_a_diff_are_the_differences_of_sets(
    rlm: Run, releases: tuple[str, str]
) -> None:
    sides = []
    for path in releases:
        store = ox.Store()
        store.load(path=path, format=ox.RdfFormat.TURTLE)
        named = {q.triple for q in store if not isinstance(q.subject, ox.BlankNode)}
        sides.append({t for t in named if not isinstance(t.object, ox.BlankNode)})
    triples = rlm("ontology", "diff", *releases, "--json").json["triples"]
    assert triples["added"] == len(sides[1] - sides[0]) + 1, "and one restriction"
    assert triples["removed"] == len(sides[0] - sides[1]) + 1


ONE_WAY = """
@prefix old: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
old:A a owl:Class ; owl:unionOf ( old:B old:C ) . old:B a owl:Class . old:C a owl:Class . old:p a owl:ObjectProperty . old:q a owl:ObjectProperty .
old:D a owl:Class ; owl:equivalentClass [ owl:intersectionOf ( old:B
  [ a owl:Restriction ; owl:onProperty old:p ; owl:someValuesFrom [ owl:oneOf ( old:x old:y old:z ) ] ] ) ] .
[] a owl:AllDisjointClasses ; owl:members ( old:A old:B old:C ) .
"""
OTHER_WAY = """
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
ex:A a owl:Class ; owl:unionOf ( ex:C ex:B ex:C ) . ex:B a owl:Class . ex:C a owl:Class . ex:p a owl:ObjectProperty . ex:q a owl:ObjectProperty .
ex:D a owl:Class ; owl:equivalentClass [ owl:intersectionOf (
  [ a owl:Restriction ; owl:onProperty ex:p ; owl:someValuesFrom [ owl:oneOf ( ex:z ex:x ex:y ) ] ] ex:B ) ] .
[] a owl:AllDisjointClasses ; owl:members ( ex:C ex:A ex:B ) .
"""


def test_the_order_of_what_has_none_is_no_change(rlm: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.ttl", tmp_path / "two.ttl"
    one.write_text(ONE_WAY, "utf-8")
    two.write_text(OTHER_WAY, "utf-8")
    done = rlm("ontology", "diff", str(one), str(two), "--exit-code")
    assert done.code == 0 and "0 statements added, 0 removed" in done.out
    two.write_text(OTHER_WAY.replace("( ex:z ex:x ex:y )", "( ex:z ex:x )"), "utf-8")
    texts = {
        r["text"] for r in rlm("ontology", "diff", str(one), str(two), "--json").json["axioms"]
    }
    assert texts == {
        "owl:equivalentClass ex:B and (ex:p some {ex:x, ex:y, ex:z})",
        "owl:equivalentClass (ex:p some {ex:z, ex:x}) and ex:B",
    }
    for name, order in ((one, "ex:p ex:q"), (two, "ex:q ex:p")):  # a chain has an order
        name.write_text(f"{OTHER_WAY} ex:q owl:propertyChainAxiom ( {order} ) .", "utf-8")
    assert rlm("ontology", "diff", str(one), str(two), "--exit-code").code == 1


def test_a_diff_is_told_in_short_names_and_each_change_once(rlm: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.ttl", tmp_path / "two.ttl"
    axiom = "[ owl:intersectionOf ( ex:B [ a owl:Restriction ; owl:onProperty ex:p ; owl:maxCardinality %s ] ) ]"
    old = f"{axiom % 1} rdfs:subClassOf ex:C . ex:x ex:q 1 , 'so'@de .".replace("ex:", "old:")
    one.write_text(ONE_WAY + old, "utf-8")
    two.write_text(
        f"{OTHER_WAY} @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . {axiom % 2} rdfs:subClassOf ex:C ."
        " ex:C owl:deprecated true . ex:x a ex:B ; ex:q 2 , 'so'@fr . ex:x ex:q '2020-01-01'^^<http://www.w3.org/2001/XMLSchema#date> .",
        "utf-8",
    )
    found = rlm("ontology", "diff", str(one), str(two), "--json").json
    assert [row["name"] for row in found["deprecated"]] == ["ex:C"]
    assert [(row["name"], row["change"], row["text"]) for row in found["axioms"]] == [
        ("[]", "added", "ex:B and (ex:p max 2) rdfs:subClassOf ex:C"),
        ("[]", "removed", "ex:B and (ex:p max 1) rdfs:subClassOf ex:C"),
    ]
    typed = one.read_text("utf-8") + " old:x a old:B ."
    one.write_text(typed, "utf-8")
    found = rlm("ontology", "diff", str(one), str(two), "--json").json
    assert [
        f"{row['change']} {row['text']}" for row in found["axioms"] if row["name"] == "ex:x"
    ] == [
        'added ex:q "2020-01-01"^^xsd:date',
        'added ex:q "so"@fr',
        "added ex:q 2",
        'removed ex:q "so"@de',
        "removed ex:q 1",
    ]


def test_a_diff_sees_how_a_literal_is_written(rlm: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one.ttl", tmp_path / "two.ttl"
    rest = "old:B rdfs:subClassOf [ a owl:Restriction ; owl:onProperty old:p ; owl:maxCardinality %s ] ."
    one.write_text(f"{ONE_WAY} {rest % 1} old:B old:q 7 , 17.5 , true .", "utf-8")
    other = rest % "'1'^^xsd:int"
    two.write_text(f"{ONE_WAY} {other} old:B old:q '007'^^xsd:int , 17.50 , true .", "utf-8")
    for _ in ("read", "from the cache"):
        found = rlm("ontology", "diff", str(one), str(two), "--json").json
        assert [f"{row['change']} {row['text']}" for row in found["axioms"]] == [
            'added old:q "007"^^xsd:int',
            "added old:q 17.50",
            "changed rdfs:subClassOf old:p max 1 (in what is not shown, as the type of a number)",
            "removed old:q 17.5",
            "removed old:q 7",
        ]
    for name in ("one.nt", "one.nq.gz"):  # the same statements, in other files
        store = ox.parse(path=one, format=ox.RdfFormat.TURTLE)
        path, data = tmp_path / name, ox.serialize(store, format=ox.RdfFormat.N_QUADS)
        assert data is not None
        path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        assert rlm("ontology", "diff", str(one), str(path), "--exit-code").code == 0


FAULTY = """
@prefix ex: <http://example.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:A a owl:Class ; rdfs:label "a"@en , "ä"@de ; rdfs:comment "x" ; rdfs:subClassOf ex:B .
ex:B a owl:Class ; rdfs:label "b"@en , "b"@de ; rdfs:comment "x" ; rdfs:subClassOf ex:A , ex:Old .
ex:C a owl:Class ; rdfs:label "A"@en ; rdfs:comment "x" ; rdfs:subClassOf ex:Typo .
ex:D a owl:Class ; owl:disjointWith ex:C ; rdfs:label "d"@en , "d"@de .
ex:Old a owl:Class ; owl:deprecated true .
ex:Kind a owl:Class ; rdfs:subClassOf rdfs:Class ; rdfs:label "k"@en , "k"@de ; rdfs:comment "x" .
ex:Kin a ex:Kind ; rdfs:label "i"@en , "i"@de ; rdfs:comment "x" . ex:B rdfs:subClassOf ex:Kin .
ex:p a owl:ObjectProperty ; rdfs:domain ex:C , ex:D ; rdfs:comment "x" .
"""


def test_lint_finds_each_fault_once_and_nothing_else(rlm: Run, tmp_path: Path) -> None:
    (tmp_path / "faulty.ttl").write_text(FAULTY, "utf-8")
    done = rlm("ontology", "lint", str(tmp_path / "faulty.ttl"), "--json")
    found = {(row["rule"], row["term"]) for row in done.json["rows"]}
    assert done.code == 1 and found == {
        ("cycle", "ex:A"), ("empty-domain", "ex:p"), ("deprecated-used", "ex:Old"),
        ("undeclared", "ex:Typo"), ("missing-label", "ex:p"), ("duplicate-label", "ex:A"),
        ("missing-definition", "ex:D"), ("language-gap", "ex:C"),
    }  # fmt: skip
    log = rlm("ontology", "lint", str(tmp_path / "faulty.ttl"), "--sarif", "--fail-on", "never")
    run = log.json["runs"][0]
    assert log.code == 0 and len(run["results"]) == len(found)
    assert {each["ruleId"] for each in run["results"]} <= {
        rule["id"] for rule in run["tool"]["driver"]["rules"]
    }
    assert rlm("ontology", "lint", str(tmp_path / "faulty.ttl"), "--rule", "cycle").code == 1


def test_a_sarif_log_has_every_finding(rlm: Run, tmp_path: Path) -> None:
    many = "".join(f"ex:C{n} a owl:Class .\n" for n in range(700))
    (tmp_path / "many.ttl").write_text(FAULTY + many, "utf-8")
    done = rlm("ontology", "lint", str(tmp_path / "many.ttl"), "--sarif")
    results = done.json["runs"][0]["results"]
    assert sum(each["ruleId"] == "missing-definition" for each in results) == 701


def test_lint_of_a_clean_file_is_silent(rlm: Run, tmp_path: Path) -> None:
    clean = "@prefix ex: <http://example.org/> . ex:A a <http://www.w3.org/2002/07/owl#Class> ; "
    clean += '<http://www.w3.org/2000/01/rdf-schema#label> "a" , "b" ; '
    clean += '<http://www.w3.org/2000/01/rdf-schema#comment> "x" .'
    (tmp_path / "clean.ttl").write_text(clean, "utf-8")
    done = rlm("ontology", "lint", str(tmp_path / "clean.ttl"))
    assert (done.code, done.out) == (0, "")


def test_a_tree_is_drawn(rlm: Run, harbour: str) -> None:
    shown = rlm("ontology", "tree", harbour, "CargoVessel").out.splitlines()
    assert shown[0].startswith("harbour:CargoVessel  (")
    assert shown[1].startswith("├─ ") and shown[-1].lstrip("│ ").startswith("└─ ")
    assert rlm("ontology", "tree", harbour, "harbour:Nothing").code == 1


def test_every_view_says_what_is_left_and_how_to_go_on(rlm: Run, harbour: str) -> None:
    done = rlm("ontology", "terms", harbour, "--limit", "5")
    assert "5 of 45: more with --offset 5" in done.err
    assert rlm("ontology", "terms", harbour, "--kind", "nonsense").code == 2
