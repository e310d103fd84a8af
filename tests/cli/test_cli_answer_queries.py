"""The query behind an answer: printed, stored, and the same rows when it is pasted."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from rlm import MemoryItem, Scope, open_store
from rlm.agent import run
from rlm.cli.run import query_lines
from rlm.learning.calls import CallRecorder
from rlm.llm import ScriptedClient
from rlm.loop.trace import ToolCall
from rlm.ontology.engine.local import LocalEngine
from rlm.ontology.views.resolve import resolve

QUESTIONS = (
    "What are the subclasses of Vessel?",
    "Is Ferry a kind of Vessel?",
    "How many classes are there?",
    "What is the Vessel class?",
    "Which properties have the domain Vessel?",
)
LONG = (
    "SELECT ?c ?l WHERE {\n  # "
    + "all that have a name, " * 150
    + "\n  ?c a owl:Class ; rdfs:label ?l\n} ORDER BY ?c"
)


@pytest.fixture
def harbour(root: Path) -> str:
    return str(root / "ontology" / "harbour.ttl")


def decisive(document: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for call in document["calls"] if call["decisive"]]


def printed(text: str) -> list[str]:
    """The queries of a terminal, without their indentation."""
    parts = re.findall(r"^Query[^\n]*:\n((?:  [^\n]*\n)+)", text, re.MULTILINE)
    return [re.sub(r"(?m)^  ", "", part).strip() for part in parts]


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_is_printed_can_be_pasted_and_gives_the_same_rows(rlm, db, harbour, question):
    line = ("run", question, "--ontology", harbour, "--db", db, "--model", "offline", "--no-memory")
    document = rlm(*line, "--json").json
    calls = decisive(document)
    assert calls and all(call["query"] and call["tool"] for call in calls)
    assert printed(rlm(*line).err) == [call["query"] for call in calls]
    for call in calls:
        found = rlm("ontology", "query", harbour, call["query"], "--json", "--limit", "1000").json
        if "boolean" in found:
            assert found["boolean"] == call["boolean"] == document["answer"].startswith("Yes")
        elif call["rows"] is None:
            ((number,),) = [row.values() for row in found["results"]["bindings"]]
            assert re.search(rf"\b{number['value']}\b", document["answer"])
        else:
            assert len(found["results"]["bindings"]) == call["rows"]
        lines = call["query"].splitlines()
        assert any(each.startswith("PREFIX") for each in lines), "it declares what it uses"


def scripted(text: str) -> ScriptedClient:
    code = f"r = sparql_query({text!r}, limit=3)\nnames = [row['c'] for row in r]\nprint(names)"
    return ScriptedClient([f"```repl\n{code}\n```", "FINAL_VAR(names)"])


def test_a_long_query_that_was_cut_is_whole_and_has_its_limit(harbour, tmp_path, rlm):
    db, logs = str(tmp_path / "m.db"), tmp_path / "logs"
    client = scripted(LONG)
    result = run("Which have names?", harbour, db, client=client, log_dir=logs, recall=False)
    (call,) = [call for call in result.calls if call["decisive"]]
    assert len(call["query"]) > 3_000 and call["rows"] == 3 and call["tool"] == "sparql_query"
    assert call["query"].endswith("LIMIT 3") and "query" not in call["arguments"]
    found = rlm("ontology", "query", harbour, call["query"], "--db", db).out.splitlines()[1:]
    assert [line.split("\t")[0] for line in found] == json.loads(result.answer.replace("'", '"')), (
        "the rows that the answer was made of"
    )
    for shown in (result.trajectory_id, result.log_path):
        document = rlm("logs", "show", shown, "--db", db, "--json").json
        assert document["calls"] == result.calls
        assert printed(rlm("logs", "show", shown, "--db", db).out + "\n") == [call["query"]]


def test_a_long_question_of_yes_or_no_is_whole(harbour, tmp_path):
    text = f"ASK {{ # {'is there one? ' * 200}\n harbour:Ferry a owl:Class }}"
    code = f"r = sparql_query({text!r})\nprint(r)"
    client = ScriptedClient([f"```repl\n{code}\n```", "FINAL(Yes, it is a class.)"])
    result = run("Is Ferry a class?", harbour, str(tmp_path / "m.db"), client=client, recall=False)
    (call,) = result.calls
    assert call["query"].endswith(text) and call["boolean"] is True and call["decisive"]


def test_a_query_that_finds_something_else_than_a_view_is_not_shown(harbour):
    with LocalEngine(harbour) as engine:
        meta = engine.meta()
        recorder = CallRecorder(engine, meta.prefixes, partial(resolve, engine, meta))
        given = {"view": "related", "relation": "subclasses", "term": "harbour:Vessel"}
        shown = [
            recorder.record(ToolCall("ontology_view", given, rows=rows), decisive=True)["query"]
            for rows in (len(meta.subs[meta.prefixes.expand("harbour:Vessel")]), 99)
        ]
    assert "rdfs:subClassOf harbour:Vessel" in shown[0] and shown[1] == ""


def test_a_query_that_was_asked_in_batches_is_printed_once(rlm, db, harbour, tmp_path):
    code = (
        "berths = [f'harbour:Berth{n}' for n in range(1, 5)]\n"
        "found = []\n"
        "for some in (berths[:2], berths[2:]):\n"
        "    values = ' '.join(some)\n"
        "    r = sparql_query(f'SELECT ?b ?l {{ VALUES ?b {{ {values} }} ?b harbour:berthOf ?l }}')\n"
        "    found += [row['b'] for row in r]\n"
        "text = f'These: {found}'\nprint(text)"
    )
    script = tmp_path / "script.json"
    script.write_text(json.dumps([f"```repl\n{code}\n```", "FINAL_VAR(text)"]))
    line = ("run", "Which berths are there?", "--ontology", harbour, "--db", db)
    result = rlm(*line, "--model", f"scripted:{script}", "--no-memory")
    (query,) = printed(result.err)
    assert "VALUES ?b { harbour:Berth1 harbour:Berth2 }" in query
    assert "\nQuery (2 rows): the same with other VALUES; --json has it whole\n" in result.err


def test_a_query_that_was_asked_twice_is_said_to_be_the_same():
    call = {"tool": "sparql_query", "query": "SELECT ?s { ?s a ?t }", "arguments": {}, "rows": 1}
    asked = [{**call, "decisive": decisive} for decisive in (True, False, True)]
    for every in (False, True):
        (_, query, *again) = query_lines(asked, every=every)
        assert call["query"] in query and len(again) == 1 + every
        assert all(line.startswith("Query (1 row)") and "the same again" in line for line in again)


def test_the_store_keeps_it_without_a_log(rlm, db, harbour):
    line = ("run", QUESTIONS[0], "--ontology", harbour, "--db", db, "--model", "offline")
    document = rlm(*line, "--json").json
    stored = rlm("logs", "show", document["trajectory_id"], "--db", db, "--json").json
    assert stored["trajectory"]["artifact"]["calls"] == document["calls"] != []


def test_a_run_without_a_log_is_shown_with_all_that_the_store_has(rlm, db, harbour):
    item = MemoryItem("Count vessels", "For how many vessels.", "- Count with `COUNT(?v)`.",
                      scope=Scope("harbour"), trust="trusted")  # fmt: skip
    with open_store(db) as store:
        store.add(item)
    queries = [
        f"SELECT (COUNT(?v) AS ?{name}) WHERE {{ {'?v a ?kind . ' * 30} ?v a harbour:{name} }}"
        for name in ("Vessel", "Berth")
    ]
    code = "".join(f"print(sparql_query({text!r}))\n" for text in queries)
    asked = "FINAL(There are 4,711 vessels, https://example.org/none.)"
    replies = [
        f"```repl\n{code}print(llm_query('Say x'))\n```",
        "x",
        asked,
        "Uses: 1\nFINAL(None.)",
    ]
    client = ScriptedClient([*replies, "no", "no", "no"], is_language_model=True)
    made = run("How many vessels are there?", harbour, db, client=client)
    shown = rlm("logs", "show", made.trajectory_id, "--db", db).out
    full = rlm("logs", "show", made.trajectory_id, "--db", db, "--full").out
    for text in (shown, full):
        assert f"memory    1. Count vessels ({item.memory_id}), followed" in text
        assert "sub-calls llm_query ×1, 1 characters came back" in text
        assert "step 2  not taken: FINAL(There are 4,711 vessels" in text and "told: " in text
    assert not all(text in shown for text in queries) and "Also asked:" in shown
    assert all(text in full for text in queries)


def test_what_was_not_answered_rests_on_nothing(rlm, db, harbour):
    line = ("run", "Why is the sea salt?", "--ontology", harbour, "--db", db, "--model", "offline")
    result = rlm(*line)
    assert result.code == 1 and "Query" not in result.err


def test_a_view_without_an_equal_query_is_shown_as_a_call(rlm, db, harbour):
    ask = "How are Ferry and Berth connected?"
    result = rlm("run", ask, "--ontology", harbour, "--db", db, "--model", "offline")
    assert "Call: find_path(" in result.err and printed(result.err) == []
