"""Requirements over ontologies, shown by whole runs: only exported names and real servers."""

from __future__ import annotations

import re
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from endpoint_server import oxigraph

import rlm
from rlm import agent

SAMPLES = sorted((Path(__file__).parents[2] / "ontology").glob("*.ttl"))
HARBOUR = Path(__file__).parents[2] / "ontology" / "harbour.ttl"
MOORED = "SELECT ?v WHERE { ?v harbour:mooredAt harbour:Berth4 }"


def repl(*lines: str) -> str:
    return "\n".join(["```repl", *lines, "```"])


def outputs(client: rlm.ScriptedClient) -> str:
    """What the model saw last: every output so far."""
    return "\n".join(message["content"] for message in client.calls[-1])


@pytest.mark.req("RB-21")
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_what_a_prompt_holds_of_an_ontology_is_bounded_and_no_triples(path, tmp_path):
    question = "Which classes are there, and how are they joined?"
    client = rlm.ScriptedClient(
        [repl("print('<' * 3, context[0:4000], '>' * 3, sep='')"), "FINAL(many)"]
    )
    with rlm.open_store(tmp_path / "m.db", embedder="none") as store:
        for number in range(5):
            title, steps = f"Join the classes {number}", f"- join the classes {number}\n" * 40
            store.add(rlm.MemoryItem(title=title, description=question, content=steps))
        agent.run(question, path, store=store, client=client)
    assert "Context: the ontology above" in client.calls[0][-1]["content"]
    [injected] = re.findall(r"<<<(.*?)>>>", outputs(client), re.DOTALL)
    assert 200 < len(injected) <= 2_000
    assert "Join the classes" in injected and injected.count("- join the classes") <= 40
    assert not re.search(r"^\s*\S+ \S+ \S+.* [.;]$", injected, re.MULTILINE), "a line of Turtle"


@pytest.mark.req("PM-05")
@pytest.mark.parametrize("right", [True, False], ids=["success", "failure"])
def test_a_run_leaves_at_most_three_procedures_and_a_failure_none_that_worked(right, tmp_path):
    query = "SELECT ?c WHERE { ?c rdfs:subClassOf harbour:Vessel }"
    answer = "harbour:CargoVessel" if right else "harbour:Berth"
    client = rlm.ScriptedClient(
        [repl(f"r = sparql_query({query!r})", "print(sparql_slice(r))"), f"FINAL({answer})"]
    )
    question = "Which classes are direct subclasses of Vessel?"
    with rlm.open_store(tmp_path / "m.db", embedder="none") as store:
        done = agent.run(question, HARBOUR, store=store, client=client)
        learnt = [store.get(each["memory_id"]) for each in done.new_memories]
    assert right <= len(learnt) <= 3
    for item in learnt:
        assert re.search(r"^(-|\d+\.) ", item.content, re.MULTILINE), "steps"
        assert "CargoVessel" not in item.content and question not in item.content
    assert {item.outcome for item in learnt} <= {"success" if right else "failure"}


@pytest.mark.req("UT-05")
def test_the_pattern_of_a_query_that_worked_is_recalled_as_a_procedure(tmp_path):
    client = rlm.ScriptedClient([repl(f"print(sparql_query({MOORED!r}))"), "FINAL(one)"])
    with rlm.open_store(tmp_path / "m.db", embedder="none") as store:
        agent.run("What lies at berth 4?", HARBOUR, store=store, client=client)
        [hit] = [hit for hit in store.retrieve("Query mooredAt") if "pattern" in hit.item.tags]
    assert "SELECT ?v WHERE { ?v harbour:mooredAt $ENTITY_1 }" in hit.item.content
    assert "Berth4" not in hit.item.content and hit.item.outcome == "success"


@pytest.fixture
def quay(tmp_path, monkeypatch) -> Iterator[str]:
    """An endpoint that the config names `quay`; the URL of its data."""
    config = tmp_path / "config.toml"
    monkeypatch.setenv("RLM_CONFIG", str(config))
    with oxigraph(tmp_path) as url:
        config.write_text(f'[endpoints.quay]\nurl = "{url}"\nallow_private = true\n', "utf-8")
        yield url.replace("/query", "/store?default")


def replace_data(url: str, turtle: str) -> None:
    put = urllib.request.Request(url, turtle.encode(), method="PUT")
    put.add_header("Content-Type", "text/turtle")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(put, timeout=20):
        pass


@pytest.mark.req("UT-10", "UT-12")
def test_the_schema_of_an_endpoint_is_cached_until_it_is_asked_for_anew(quay, tmp_path):
    def after_a_change(messages):
        replace_data(quay, "@prefix e: <http://example.org/> . e:a a e:Raft .")
        return repl("print(2, sparql_schema('classes'))")

    client = rlm.ScriptedClient(
        [
            repl("print(1, sparql_schema('classes'))"),
            after_a_change,
            repl("print(3, sparql_schema('classes', use_cache=False))"),
            "FINAL(done)",
        ]
    )
    agent.run("Which classes are there?", "quay", db_path=tmp_path / "m.db", client=client)
    first, second, third = re.findall(r"^\d (\{.*)$", outputs(client), re.MULTILINE)
    assert "Sloop" in first and second == first
    assert "Raft" in third and "Sloop" not in third


@pytest.mark.req("UT-10")
def test_the_schema_of_a_file_is_that_of_its_content(tmp_path):
    path = tmp_path / "x.ttl"
    for name in ("First", "Second", "First"):
        path.write_text(f"@prefix e: <http://example.org/> . e:a a e:{name} .", "utf-8")
        client = rlm.ScriptedClient([repl("print(sparql_schema('classes'))"), "FINAL(one)"])
        agent.run("Which classes?", path, db_path=tmp_path / "m.db", client=client)
        assert re.findall(r"'uri': '\w+:(\w+)'", outputs(client)) == [name]


@pytest.mark.req("UT-12")
def test_the_same_tools_answer_over_an_endpoint_and_over_a_file(quay, tmp_path):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(quay) as got:
        (tmp_path / "boats.nt").write_bytes(got.read())
    found = []
    for source in ("quay", tmp_path / "boats.nt"):
        lines = (
            "q = 'SELECT ?x WHERE { ?x a <http://example.org/Sloop> } ORDER BY ?x'",
            "print(sparql_slice(sparql_query(q))['rows'])",
            "print(len(search_entity('boat')))",
        )
        client = rlm.ScriptedClient([repl(*lines), "FINAL(two)"])
        agent.run("Which sloops?", source, db_path=tmp_path / "m.db", client=client)
        found.append(re.findall(r"^(\[.*\]|\d+)$", outputs(client), re.MULTILINE))
    assert found[0] == found[1] and "gull" in found[0][0] and "tern" in found[0][0]
