"""Whatever a model does, the run is kept, with a reason that a person understands."""

from __future__ import annotations

import json
import resource
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import rlm
from rlm import agent, open_store
from rlm.errors import ConfigError, ModelError, ModelUnavailable, OntologyError
from rlm.http import Retry
from rlm.llm import ScriptedClient
from rlm.llm.chat import Wire
from rlm.llm.openai import OpenAIClient
from rlm.loop import Limits, read_log
from rlm.sandbox import SandboxLimits

TEXT = "The grey cat sat.\n" * 2_000 + "The magic number is 4711.\n" + "The dog slept.\n" * 2_000


def stored(store, result):
    """The trajectory as it lies in the file."""
    sql = (
        "SELECT t.task_query, t.final_answer, t.iteration_count, t.converged, t.artifact_json,"
        " t.rlm_log_path, r.model FROM trajectories t JOIN runs r USING (run_id) WHERE"
        " t.trajectory_id = ?"
    )
    row = store.db.row(sql, (result.trajectory_id,))
    assert row is not None
    names = ("query", "answer", "iterations", "converged", "artifact", "log", "model")
    found = dict(zip(names, row, strict=True))
    found["artifact"] = json.loads(found["artifact"])
    return found


def scripted(*replies, **words):
    return ScriptedClient(list(replies), **words)


def test_a_run_is_answered_logged_and_stored(store, tmp_path):
    client = scripted(
        "```repl\nat = context.find('magic')\nprint(context[at:at + 23])\n```", "FINAL(4711)"
    )
    result = agent.run(
        "What is the magic number?",
        context=TEXT,
        client=client,
        store=store,
        log_dir=tmp_path / "logs",
    )
    assert (result.answer, result.iterations, result.converged) == ("4711", 2, True)
    kept = stored(store, result)
    assert (kept["query"], kept["answer"], kept["iterations"], kept["converged"], kept["model"]) == (
        "What is the magic number?", "4711", 2, 1, "scripted",
    )  # fmt: skip
    assert kept["artifact"]["key_steps"][0]["outcome"] == "magic number is 4711.\nT".replace(
        "\n", " "
    )
    assert kept["log"] == result.log_path
    metadata, turns = read_log(result.log_path)
    assert metadata["run_id"] == result.run_id and len(turns) == 2
    assert set(result.to_dict()) >= {
        "answer", "iterations", "run_id", "trajectory_id", "log_path", "memories_used", "converged", "leakage", "usage",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "reason"),
    [
        (["I would rather talk."] * 9, "in a row"),
        (["```repl\n1 / 0\n```"] * 9, "in a row"),
        (["```repl\nprint('x' * 200_000_000)\n```"] * 3, "ran out of iterations"),
        (["```repl\nwhile True: pass\n```"] * 3, "ran out of iterations"),
        (["FINAL_VAR(nothing)"] * 9, "in a row"),
        (["```repl\n" + "print(1)\n```\n```repl\n" * 10_000] * 3, "ran out of iterations"),
        (["```repl\nprint('never closed')"] * 3, "ran out of iterations"),
        (["\ud800\udfff ```repl\nprint('\ud800')\n```"] * 3, "ran out of iterations"),
    ],
    ids=["no code", "errors", "200 MB print", "endless loop", "missing variable", "10,000 blocks", "unclosed fence",
         "no UTF-8"],
)  # fmt: skip
def test_a_run_that_goes_nowhere_is_kept_with_its_reason(store, replies, reason):
    result = agent.run(
        "What?", context=TEXT, client=scripted(*replies, repeat_last=True), store=store,
        limits=Limits(max_iters=3, max_errors=9) if len(replies) == 3 else Limits(max_errors=3),
        sandbox=SandboxLimits(block_s=0.3),
    )  # fmt: skip
    assert not result.converged and reason in result.reason
    kept = stored(store, result)
    assert kept["converged"] == 0 and kept["artifact"]["reason"] == result.reason


class Endpoint(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    answer = b""


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline().strip():
            pass
        if self.server.answer is None:
            self.server.over.wait(20)  # it hangs
            return
        self.wfile.write(self.server.answer)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(("127.0.0.1", 0), Handler) as server:
        server.over = threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.over.set()
        server.shutdown()


HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 15\r\n\r\n<html>hi</html>"
DROPPED = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"id": 1'
)


@pytest.mark.parametrize(
    "answer", [HTML, DROPPED, b"", None], ids=["HTML", "dropped", "nothing", "hangs"]
)
def test_an_endpoint_that_fails_ends_in_a_stored_run(store, endpoint, answer):
    endpoint.answer = answer
    url = f"http://127.0.0.1:{endpoint.server_address[1]}/v1"
    client = OpenAIClient("m", base_url=url, wire=Wire(retry=Retry(tries=2, sleep=lambda s: None)))
    result = agent.run("What?", context=TEXT, client=client, store=store, limits=Limits(wall_s=0.8))
    client.close()
    assert not result.converged and result.iterations == 0 and result.reason
    assert "127.0.0.1" in result.reason or "time" in result.reason
    assert stored(store, result)["artifact"]["reason"] == result.reason


@pytest.mark.parametrize("status", [b"404 Not Found", b"401 Unauthorized"])
@pytest.mark.parametrize("how", [None, "parallel:2"])
def test_a_model_that_the_server_does_not_have_is_an_error_and_no_run(
    tmp_path, endpoint, status, how
):
    said = b'{"error": {"message": "the model m does not exist"}}'
    endpoint.answer = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        status, len(said), said,
    )  # fmt: skip
    client = OpenAIClient("m", base_url=f"http://127.0.0.1:{endpoint.server_address[1]}/v1")
    with open_store(tmp_path / "mem.db", embedder="none") as kept:
        with pytest.raises(ModelError, match="the model m does not exist"):
            agent.run("What?", context=TEXT, client=client, store=kept, log_dir=tmp_path / "logs",
                      scaling=how)  # fmt: skip
        assert kept.stats()["trajectories"] == 0 and list((tmp_path / "logs").iterdir()) == []
    client.close()


def test_logs_that_cannot_be_written_are_found_before_a_store_is_made(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    client, made = scripted("never"), []
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, before[1]))
    try:
        with pytest.raises(ConfigError, match="logs cannot be written"):
            agent.run(
                "What?",
                context=TEXT,
                client=client,
                store=lambda: made.append(1),
                log_dir=tmp_path / "logs",
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not client.calls and not made and not list((tmp_path / "logs").iterdir())


def test_ctrl_c_keeps_what_there_is(store):
    def stop(messages):
        raise KeyboardInterrupt

    client = scripted('```repl\nanswer["content"] = "half"\n```', stop)
    result = agent.run("What?", context=TEXT, client=client, store=store)
    assert result.result.interrupted and result.answer == "half"
    assert stored(store, result)["artifact"]["reason"] == "interrupted"


def test_ctrl_c_before_there_is_a_repl_leaves_nothing(store, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("subprocess.Popen", stop)
    with pytest.raises(KeyboardInterrupt):
        agent.run(
            "What?", context=TEXT, client=scripted("never"), store=store, log_dir=tmp_path / "logs"
        )
    assert store.stats()["trajectories"] == 0 and list((tmp_path / "logs").iterdir()) == []


@pytest.mark.req("SPEC-02.32", "SPEC-02.37")
def test_the_memory_tools_work_in_the_repl(store):
    store.add(
        rlm.MemoryItem(
            title="Count with code", description="Let code count.", content="- count in the REPL"
        )
    )
    code = """
fact = memory_add_fact("the magic number is 4711", 0.9)
seen = memory_add_experience("searched for the number", "found it at once", True)
print(memory_relate("supports", seen, fact) != "")
print(memory_query("magic number")[0]["content"])
print(len(memory_get_context(5)))
hit = mem_search("how to count")[0]
print(hit["title"])
print(mem_quote(hit["id"]))
print(mem_get([hit["id"]])[0]["content"])
new = mem_add("Search before reading", "A text is searched first.", "- find the place\\n- read around it")
print(new != hit["id"])
"""
    result = agent.run(
        "What?", context=TEXT, client=scripted(f"```repl\n{code}```", "FINAL(done)"), store=store
    )
    output = result.result.iterations[0].code_blocks[0].result
    assert output.error is None, output.stderr
    assert output.stdout.splitlines() == [
        "True",
        "the magic number is 4711",
        "2",
        "Count with code",
        "- count in the REPL",
        "- count in the REPL",
        "True",
    ]
    added = [item for item in store.list_items(limit=10) if item.title == "Search before reading"]
    assert added[0].trust == "unverified"


def test_a_json_store_keeps_runs_too(tmp_path):
    result = agent.run(
        "What?",
        None,
        f"json:{tmp_path / 'm.json'}",
        context="abc",
        client=scripted("FINAL(a)", "FINAL(a)"),
    )
    assert result.converged and result.trajectory_id in (tmp_path / "m.json").read_text()


def test_secrets_in_a_text_do_not_reach_the_log_or_the_store(store, tmp_path):
    secret = "sk-ant-api03-" + "Ab3dEf6hIj9kLm2nOp5q" * 4
    client = scripted("```repl\nprint(context)\n```", f"FINAL(the key is {secret})")
    result = agent.run(
        "Which key?", context=f"key: {secret}", client=client, store=store, log_dir=tmp_path
    )
    with open(result.log_path) as log:  # noqa: PTH123
        assert secret not in log.read()
    assert secret not in json.dumps(stored(store, result))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"query": " "}, "the question is empty"),
        ({"context": None}, "nothing to ask about"),
        ({"client": "offline"}, "client is a str"),
        ({"context": Path("nowhere.txt")}, "nowhere.txt cannot be read"),
        ({"record": "a", "replay": "b"}, "not both"),
        ({"engine": "magic"}, "unknown engine 'magic'"),
    ],
)
def test_what_cannot_be_run_is_told_before_anything_is_asked(store, words, message):
    with pytest.raises(ConfigError, match=message):
        agent.run(
            **{
                "query": "q",
                "context": "c",
                "client": scripted("FINAL(1)"),
                "store": store,
                **words,
            }
        )
    assert store.db.value("SELECT count(*) FROM runs") == 0


def test_a_run_over_a_text_counts_what_it_was_given_beforehand_and_not_the_system_prompt(store):
    plain = agent.run("q", context=TEXT, client=scripted("FINAL(x)"), store=store, recall=False)
    assert plain.leakage["context_size"] == 0
    note = "Look at the end first. " * 20
    given = {"context": TEXT, "store": store, "recall": False, "guidance": note}
    guided = agent.run("q", client=scripted("FINAL(x)"), **given)
    assert guided.leakage["context_size"] == len(note) and not guided.leakage["flags"]


def test_a_run_is_recorded_and_replayed(store, tmp_path):
    tape = tmp_path / "run.cassette"
    client = scripted("```repl\nprint(llm_query('Say hi: ' + context[:5]))\n```", "hi", "FINAL(hi)")
    first = agent.run("q", context=TEXT, client=client, store=store, record=tape)
    again = agent.run("q", context=TEXT, store=store, replay=tape)
    assert (again.answer, again.iterations, again.usage["calls"]) == (first.answer, 2, 3)
    other = agent.run("another", context=TEXT, store=store, replay=tape)
    assert not other.converged and "another" in other.reason and "call 1" in other.reason


@pytest.fixture
def prov(root):
    return root / "ontology" / "prov.ttl"


ASKED = "Which classes are direct subclasses of Activity?"


def test_the_same_command_replays_although_the_run_changed_its_store(store, prov, tmp_path):
    tape = tmp_path / "run.cassette"
    first = agent.run(ASKED, prov, store=store, model="offline", record=tape)
    assert first.new_memories
    for _ in range(2):
        again = agent.run(ASKED, prov, store=store, replay=tape)
        assert (again.answer, again.iterations) == (first.answer, first.iterations), again.reason
        assert again.memories_used == first.memories_used == []
    live = agent.run(ASKED, prov, store=store, model="offline")
    assert live.memories_used, "without a cassette the store is asked"


def test_a_replay_is_given_what_was_recalled_and_what_memory_tools_found(store, prov, tmp_path):
    ask = "```repl\nprint(mem_search('subclasses'), sparql_peek('prov:Activity', limit=1))\n```"
    store.add(rlm.MemoryItem("List subclasses", "Of a class.", "Query rdfs:subClassOf."))
    tape = tmp_path / "run.cassette"
    client = scripted(ask, "FINAL(none)", is_language_model=False)
    first = agent.run(ASKED, prov, store=store, client=client, record=tape)
    assert [each["title"] for each in first.memories_used] == ["List subclasses"]
    store.add(rlm.MemoryItem("Subclasses of a class", "Find them.", "Look at subclasses first."))
    again = agent.run(ASKED, prov, store=store, replay=tape)
    assert (again.answer, again.converged) == ("none", True), again.reason
    assert again.leakage == first.leakage and again.memories_used == first.memories_used
    with open_store(tmp_path / "empty.db") as empty:
        elsewhere = agent.run(ASKED, prov, store=empty, replay=tape)
    assert (elsewhere.answer, elsewhere.converged) == ("none", True), elsewhere.reason
    without = agent.run(ASKED, prov, store=store, replay=tape, recall=False)
    assert not without.converged and "looked up anew: what memory gave for memory_k 0" in (
        without.reason
    )


def test_a_replay_that_diverges_names_the_memory_that_differs(store, prov, tmp_path):
    tape = tmp_path / "run.cassette"
    old = rlm.MemoryItem("List subclasses", "Of a class.", "Query rdfs:subClassOf.")
    memory_id = store.add(old)
    client = scripted("FINAL(none)", is_language_model=False)
    agent.run(ASKED, prov, store=store, client=client, record=tape)
    lines = tape.read_text().splitlines(keepends=True)
    tape.write_text("".join(line for line in lines if '"kept"' not in line))  # an older version's
    store.delete(memory_id)
    store.add(rlm.MemoryItem("Ask for subclasses", "Of a class.", "Query rdfs:subClassOf."))
    other = agent.run(ASKED, prov, store=store, replay=tape)
    assert "below '## Relevant Prior Experience'" in other.reason
    assert "List subclasses" in other.reason and "Ask for subclasses" in other.reason
    assert "looked up anew: what memory gave" in other.reason


def test_a_cassette_with_a_damaged_memory_is_refused(store, prov, tmp_path):
    tape = tmp_path / "run.cassette"
    agent.run(ASKED, prov, store=store, model="offline", record=tape)
    tape.write_text(tape.read_text().replace('"hits": []', '"hits": [3]'))
    with pytest.raises(ModelError, match=r"what memory gave.*record it again"):
        agent.run(ASKED, prov, store=store, replay=tape)


def test_a_first_call_that_is_refused_is_an_error(store):
    client = scripted(ModelUnavailable("no connection to nowhere"))
    result = agent.run("q", context="c", client=client, store=store)
    assert not result.converged and "no connection to nowhere" in result.reason


def test_a_path_is_read(store, tmp_path):
    (tmp_path / "a.txt").write_text("hello", "utf-8")
    client = scripted("```repl\nFINAL(context[:])\n```")
    assert agent.run("q", context=tmp_path / "a.txt", client=client, store=store).answer == "hello"


def test_an_ontology_is_asked_through_handles(store, root, tmp_path, monkeypatch):
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "cache"))
    code = """
print(search_entity("activity")[0]["uri"])
print(describe_entity("prov:Activity")["label"])
found = sparql_query("SELECT ?c WHERE { ?c rdfs:subClassOf prov:Agent }")
print(found)
print(len(sparql_slice(found)["rows"]), len(sparql_schema()) > 1)
"""
    client = scripted(f"```repl\n{code}```", "FINAL(three)")
    result = agent.run(
        "Which agents are there?", root / "ontology" / "prov.ttl", client=client, store=store
    )
    output = result.result.iterations[0].code_blocks[0].result
    assert output.error is None, output.stderr
    lines = output.stdout.splitlines()
    assert (
        lines[0].endswith("prov#Activity")
        and lines[2] == "results_0: 3 rows × 1 column (?c)"
        and "{'c': 'prov:Organization'}" in lines[3:6]
        and lines[-1] == "3 True"
    )
    system = client.calls[0][0]["content"]
    assert (
        "prov:" in system and "sparql_query" in system and len(result.result.leakage["flags"]) <= 1
    )
    row = store.db.row(
        "SELECT ontology_name, ontology_path FROM runs WHERE run_id = ?", (result.run_id,)
    )
    assert row[0] == "prov" and row[1].endswith("prov.ttl")


def test_what_a_run_learns_carries_the_name_that_was_given(store, root, tmp_path, monkeypatch):
    monkeypatch.setenv("RLM_CACHE_DIR", str(tmp_path / "cache"))
    query = "SELECT ?c WHERE { ?c rdfs:subClassOf prov:Agent }"
    client = scripted(
        f"```repl\nsparql_query({query!r})\nprint(sparql_schema()['ontology'])\n```", "FINAL(three)"
    )
    result = agent.run(
        "q", root / "ontology" / "prov.ttl", client=client, store=store, ontology_name="lineage"
    )
    assert result.result.iterations[0].code_blocks[0].result.stdout == "lineage\n"
    [item] = [item for item in store.list_items() if "pattern" in item.tags]
    assert item.scope.ontology == "lineage"
    assert store.db.value("SELECT ontology_name FROM runs") == "lineage"


def test_an_ontology_that_is_none_is_told(store, tmp_path):
    (tmp_path / "x.ttl").write_text("<html>", "utf-8")
    with pytest.raises(OntologyError, match=r"x\.ttl"):
        agent.run("q", tmp_path / "x.ttl", client=scripted("FINAL(1)"), store=store)
