"""What successful runs needed of a graph comes first in the card of the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm import agent
from rlm.learning.calls import learnt_terms
from rlm.llm import ScriptedClient
from rlm.ontology.source import open_engine

HARBOUR = Path(__file__).parent.parent.parent / "ontology" / "harbour.ttl"
QUERY = "SELECT ?x ?b WHERE { ?x harbour:mooredAt ?b . ?x harbour:builtIn ?y } ORDER BY ?y LIMIT 1"
GOOD = '{"reason": "r", "missing": [], "confidence": "high", "is_success": true}'
BAD = GOOD.replace("true", "false")


def run(store, verdict=GOOD, **choices):
    """One run of the query above; the system message that it got."""
    code = f'```repl\nr = sparql_query("""{QUERY}""")\nprint(sparql_slice(r))\n```'
    replies = [code, "FINAL(The oldest one lies at a berth.)", verdict, '{"items": []}', verdict]
    client = ScriptedClient(replies, is_language_model=True)
    agent.run("Which is the oldest vessel?", HARBOUR, store=store, client=client, **choices)
    return client.calls[0][0]["content"]


def craft(prompt):
    (line,) = (line for line in prompt.splitlines() if line.startswith("WaterCraft 15"))
    return line.partition(": ")[2].split(", ")


def test_what_a_success_needed_comes_first_in_the_next_card(store):
    assert craft(run(store))[0] == "homePort → Harbour"
    assert craft(run(store))[:2] == ["mooredAt → Berth 33 %", "builtIn gYear 20 %"]
    with open_engine(HARBOUR) as engine:
        meta = engine.meta()
    space = "https://example.org/harbour#"
    assert learnt_terms(store, "harbour", meta) == {f"{space}mooredAt": 2, f"{space}builtIn": 2}
    assert not learnt_terms(store, "prov", meta)
    del meta.properties[f"{space}builtIn"]  # the file has changed since
    assert learnt_terms(store, "harbour", meta) == {f"{space}mooredAt": 2}


def test_what_found_nothing_is_not_needed_also_behind_a_handle(store):
    empty = 'sparql_query("SELECT ?b WHERE { ?b a harbour:Lighthouse ; harbour:remark ?z }")'
    code = f'```repl\n{empty}\nr = sparql_query("""{QUERY}""")\nprint(r)\n```'
    replies = [code, "FINAL(The oldest one lies at a berth.)", GOOD, '{"items": []}']
    client = ScriptedClient(replies, is_language_model=True)
    agent.run("Which is the oldest vessel?", HARBOUR, store=store, client=client)
    shown = craft(run(store))
    assert shown[:2] == ["mooredAt → Berth 33 %", "builtIn gYear 20 %"] and not any(
        "remark" in each for each in shown
    )


LESSON = (
    '{"items": [{"title": "Rank ships by a value", "description": "For ships of a kind.",'
    ' "query": 1, "general": false, "steps": ["Run the query below with `sparql_query`."]}]}'
)


@pytest.mark.parametrize(
    ("query", "answer", "kind"),
    [
        ("?s harbour:lengthOverall ?l } ORDER BY DESC(?l) LIMIT 1", "harbour:WideHorizon", "superlative"),
        ("?s harbour:lengthOverall ?l } ORDER BY DESC(?l)", "Wide Horizon, 301.5 m", "superlative"),
        ("?s harbour:lengthOverall ?l } ORDER BY DESC(?l)",
         "harbour:WideHorizon and harbour:LongHorizon", "listing"),
        ("VALUES ?s { harbour:WideHorizon harbour:LongHorizon } ?s harbour:lengthOverall ?l }",
         "harbour:WideHorizon is longer than harbour:LongHorizon.", "comparison"),
    ],
)  # fmt: skip
def test_a_lesson_has_the_kind_of_a_query_whose_rows_nobody_read(store, query, answer, kind):
    code = f'```repl\nr = sparql_query("SELECT ?s ?l WHERE {{ {query}")\nprint(r)\n```'
    client = ScriptedClient([code, f"FINAL({answer})", GOOD, LESSON], is_language_model=True)
    agent.run("Which craft is it?", HARBOUR, store=store, client=client)
    (item,) = store.list_items()
    assert item.scope.task_types == (kind,)


@pytest.mark.parametrize("choices", [{"verdict": BAD}, {"enable_extraction": False}])
def test_what_failed_or_was_not_to_teach_changes_nothing(store, choices):
    run(store, **choices)
    assert craft(run(store))[0] == "homePort → Harbour"


def test_without_recall_nothing_that_was_learnt_is_told(store):
    run(store)
    assert craft(run(store, recall=False))[0] == "homePort → Harbour"
