"""What a judge can check a rule by: what the graph says of the queried terms, and the lesson that
the model followed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm import MemoryItem, Scope, agent
from rlm.llm import ScriptedClient

HARBOUR = Path(__file__).parent.parent.parent / "ontology" / "harbour.ttl"
PROPERTY = '```repl\nprint(sparql_query("SELECT ?v WHERE { ?v harbour:mooredAt ?b }"))\n```'
CODE = '```repl\nprint(sparql_query("SELECT ?v WHERE { ?v a harbour:Vessel ; harbour:mooredAt ?b }"))\n```'
GOOD = '{"reason": "r", "missing": [], "confidence": "high", "is_success": true}'
ASKED = "Which vessels are moored at a berth?"


def prompts(store, answer, code=CODE):
    client = ScriptedClient([code, answer, GOOD, '{"items": []}'], is_language_model=True)
    agent.run(ASKED, HARBOUR, store=store, client=client)
    return client.calls


def judge_prompt(store, answer, code=CODE):
    return prompts(store, answer, code)[2][1]["content"]


def test_the_judge_sees_what_the_graph_says_of_the_queried_terms(store):
    shown = judge_prompt(store, "FINAL(None is.)")
    assert "harbour:Vessel: A watercraft that moves by its own engine or sails." in shown
    assert '"recalled"' not in shown, "nothing was followed"


def test_the_judge_sees_what_the_graph_says_of_the_classes_of_a_queried_property(store):
    """A rule stands on the class of what is counted, and a query need not name that."""
    assert "harbour:Berth: A length of quay" in judge_prompt(store, "FINAL(None is.)", PROPERTY)


def test_the_judge_sees_the_lesson_that_was_followed_and_no_other(store):
    steps = "- Query harbour:mooredAt with `sparql_query`.\n- Leave out what is out of commission."
    for title, rule in (("List moored vessels", steps), ("Cranes of a quay", "- Use `?crane`.")):
        item = MemoryItem(title, f"For: {ASKED}", rule, scope=Scope(ontology="harbour"))
        item.trust = "trusted"
        store.add(item)
    shown = judge_prompt(store, "Uses: 1\nFINAL(None is.)")
    assert "Leave out what is out of commission." in shown and "Use `?crane`" not in shown


def test_an_output_is_shown_without_fetched_memories_and_comments_that_stand_elsewhere(store):
    """They would take the room of the rows that were counted."""
    rule = '- Leave out what isn\'t "in commission", by the comment of its yard.\n- Query `?craft`.'
    item = MemoryItem("List moored vessels", "d", rule, scope=Scope(ontology="harbour"))
    item.trust = "trusted"
    found = store.add(item)
    query = (
        "SELECT ?x ?c WHERE { ?x rdfs:comment ?c FILTER(?x IN (harbour:Berth, harbour:Vessel)) }"
    )
    code = (
        f"```repl\nprint(mem_get({found!r}))\nprint(mem_get({found!r})[0]['content'])\n"
        f'for row in sparql_query("{query}"): print(row)\n'
        f'print(sparql_query("SELECT ?v WHERE {{ ?v a harbour:Vessel ; harbour:mooredAt ?b }}"))\n```'
    )
    shown = judge_prompt(store, "Uses: 1\nFINAL(None is.)", code)
    assert shown.count("in commission") == 1 and shown.count("by its own engine or sails") == 1
    assert "'id': '" in shown and "'x': 'harbour:Vessel'" in shown


def repl(*lines):
    return "```repl\n" + "\n".join(lines) + "\n```"


COUNTED = "SELECT (COUNT(?v) AS ?n) WHERE { ?v a harbour:Vessel ; rdfs:label 'Gannet'@xx }"


@pytest.mark.parametrize(
    "line", [f'print(sparql_query("{COUNTED}")[0]["n"])', 'print(bool(sparql_query("ASK { ?v a harbour:Vessel }")))']
)  # fmt: skip
def test_model_and_judge_are_told_why_a_zero_may_be_wrong(store, line):
    calls = prompts(store, "FINAL(None is.)", repl(line))
    told, judged = calls[1][-1]["content"], calls[2][1]["content"]
    said = "harbour:Vessel has no instances of its own, its subclasses have 14"
    assert f"Note: {said}" in told and '"not_as_asked": [' in judged and said in judged


def test_a_hint_that_was_printed_is_not_told_again(store):
    calls = prompts(store, "FINAL(None is.)", repl(f'print(sparql_query("{COUNTED}"))'))
    assert calls[1][-1]["content"].count("no instances of its own") == 1
    calls = prompts(store, "FINAL(None is.)", repl('print(sparql_query("ASK { ?v a harbour:X }"))'))
    assert calls[1][-1]["content"].count("no term harbour:X") == 1


def test_a_number_that_a_note_has_told_is_seen(store):
    code = repl(f'n = len(sparql_query("{COUNTED}"))')
    answers = ["FINAL(None of its own, 14 of its subclasses.)"]
    client = ScriptedClient([code, *answers, GOOD, '{"items": []}'], is_language_model=True)
    result = agent.run(ASKED, HARBOUR, store=store, client=client)
    assert result.iterations == 2 and "14" in result.answer


def test_hints_that_had_no_room_are_told_when_they_come_again(store):
    wrong = [
        f"SELECT ?v WHERE {{ ?v a harbour:Vessel ; harbour:{name} ?x }}"
        for name in ("qqqq", "wwww", "zzzz", "xxxx", "jjjj")
    ]
    lines = repl(*(f'n = len(sparql_query("{query}"))' for query in wrong))
    again = repl(f'n = len(sparql_query("{wrong[-1]}"))')
    client = ScriptedClient(
        [lines, again, "FINAL(None is.)", GOOD, '{"items": []}'], is_language_model=True
    )
    agent.run(ASKED, HARBOUR, store=store, client=client)
    first, second = (client.calls[at][-1]["content"] for at in (1, 2))
    assert "harbour:jjjj" not in first and "Note: there is no term harbour:jjjj" in second


def test_how_many_rows_a_query_has_is_not_the_number_that_it_gave(store):
    count = "SELECT (COUNT(?h) AS ?n) WHERE { ?h a harbour:Harbour ; harbour:remark ?r }"
    other = "SELECT ?c WHERE { harbour:Berth rdfs:comment ?c }"
    code = repl(f'print(sparql_query("{count}", explain=True)["ref"])',
                f'print(sparql_query("{other}", explain=True)["ref"])')  # fmt: skip
    client = ScriptedClient([code, "FINAL(1)", GOOD, '{"items": []}'], is_language_model=True)
    result = agent.run("How many harbours have a remark?", HARBOUR, store=store, client=client)
    assert [call["decisive"] for call in result.calls] == [True, False]


THINGS = "SELECT ?x WHERE { ?x rdf:type ?c }"


@pytest.mark.parametrize(
    ("line", "noted"),
    [
        (f'print(len(sparql_query("{THINGS}", limit=20)))', True),
        (f'r = sparql_query("{THINGS}", limit=20)\nprint("all:", r)', False),
        (f'print(len(sparql_query("{THINGS} LIMIT 20")))', False),
        (f'print(sparql_query("{THINGS}", limit=20, explain=True))', False),
        (f'print(sparql_slice(sparql_query("{THINGS}", limit=20), limit=1))', False),
    ],
)
def test_rows_that_were_cut_and_only_counted_are_told(store, line, noted):
    calls = prompts(store, "FINAL(20 things.)", repl(line))
    told, judged = calls[1][-1]["content"], calls[2][1]["content"]
    assert ("Note: cut at the limit: results_0 (20 rows); the query has more" in told) == noted
    assert ('"rows": "20, cut"' in judged) == ("LIMIT" not in line)


def told_by_graph(prompt):
    return [line for line in prompt[-1]["content"].splitlines() if "Note: the graph says" in line]


def test_the_model_is_told_once_what_the_graph_says_of_the_terms_it_queried(store):
    client = ScriptedClient([PROPERTY, CODE, PROPERTY, "FINAL(None is.)", GOOD, '{"items": []}'],
                            is_language_model=True)  # fmt: skip
    agent.run(ASKED, HARBOUR, store=store, client=client)
    first, second, third = map(told_by_graph, client.calls[1:4])
    assert "Note: the graph says of harbour:Berth: A length of quay" in "\n".join(first)
    assert third == [] and not set(first) & set(second)
    assert sum(map(len, first)) <= 400 + 6 * len(first)


def test_what_was_printed_or_stands_in_the_prompt_is_not_told(store):
    said = "SELECT ?c WHERE { VALUES ?x { harbour:Berth } ?x rdfs:comment ?c }"
    code = PROPERTY.replace("\n```", f"\nprint(sparql_query('{said}')[0]['c'])\n```")
    calls = prompts(store, "FINAL(None is.)", code)
    assert "A length of quay" in calls[1][-1]["content"]
    assert not any("harbour:Berth" in line for line in told_by_graph(calls[1]))
    client = ScriptedClient(
        [CODE, "FINAL(None is.)", GOOD, '{"items": []}'], is_language_model=True
    )
    told = "A berth is: A length of quay\nwhere one craft can lie."
    agent.run(ASKED, HARBOUR, store=store, client=client, guidance=told)
    shown = told_by_graph(client.calls[1])
    assert shown and not any("harbour:Berth:" in line for line in shown)
