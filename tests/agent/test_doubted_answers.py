"""An answer with something that no result shows is told to the model once, and it may repair; a run
that nobody could judge is kept and teaches nothing."""

from __future__ import annotations

import json

import pytest

from rlm import agent
from rlm.llm import ScriptedClient

pytestmark = pytest.mark.req("PM-04")

TEXT = "one line\n" * 30 + "The harbour master signed the last page in Rostock.\n"
COUNT = "```repl\nprint(context.count('line'))\n```"


def verdict(is_success=True, confidence="high"):
    return json.dumps(
        {"reason": "r", "missing": [], "confidence": confidence, "is_success": is_success}
    )


def ask(store, *replies, question="How many lines are there?", path=None, context=TEXT, **more):
    client = ScriptedClient([*replies], is_language_model=True)
    result = agent.run(
        question, path, context=None if path else context, store=store, client=client, **more
    )
    return result, client


def told(client, place):
    return client.calls[place][-1]["content"]


@pytest.fixture
def prov(root):
    return root / "ontology" / "prov.ttl"


def test_a_number_that_was_not_seen_is_told_once_and_repaired(store):
    result, client = ask(store, COUNT, "FINAL(31)", "FINAL(30)", verdict(), enable_extraction=False)
    assert (result.answer, result.iterations) == ("30", 3) and result.judgment["is_success"]
    assert "31 was in no result" in told(client, 2)


def test_the_judge_sees_the_value_that_a_count_gave(store, prov):
    """Its output may be left out of a long run; a number that stands elsewhere is no proof."""
    query = "SELECT (COUNT(DISTINCT ?p) AS ?n) WHERE { ?p a owl:ObjectProperty }"
    code = f"```repl\nr = sparql_query('{query}')\nprint(26)\n```"
    replies = (code, "FINAL(There are 26.)", verdict(False))
    _, client = ask(store, *replies, path=prov, enable_extraction=False)
    shown = told(client, 2)
    assert '"value": 59' in shown and shown.index(query) < shown.index('"value": 59')


def test_rows_that_were_printed_may_be_counted_by_eye(store):
    code = "```repl\nprint('ships:')\nfor name in ('a', 'b', 'c'):\n    print(name)\n```"
    result, _ = ask(store, code, "FINAL(There are 3.)", verdict(), enable_extraction=False)
    assert result.iterations == 2


def test_the_next_answer_is_taken_as_it_is_and_the_judge_knows(store):
    result, client = ask(
        store, COUNT, "FINAL(31)", "FINAL(31)", verdict(False), enable_extraction=False
    )
    assert result.answer == "31" and result.converged and not result.judgment["is_success"]
    assert '"not_found"' in told(client, 3) and "unsupported" in told(client, 3)


def test_an_answer_before_any_look_is_not_taken(store):
    result, client = ask(store, "FINAL(30)", COUNT, "FINAL(30)", verdict(), enable_extraction=False)
    assert result.iterations == 3 and "nothing was looked at" in told(client, 1)


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("n = context.count('line')\n```\nFINAL_VAR(n)", "30"),
        ("at = context.find('harbour')\n```\nFINAL_VAR(at)", "274"),
        ("last = context[-9:-2]\n```\nFINAL_VAR(last)", "Rostock"),
        (
            "best = llm_query('Where? ' + context[:99])\n```\nFINAL_VAR(best)",
            "In Rostock, on 7 May.",
        ),
        ("SUBMIT(answer=llm_query('Where? ' + context[:99]))\n```", "In Rostock, on 7 May."),
        ("SUBMIT(answer=llm_query('See ' + context[:99]))\n```", "See http://x.example/a7"),
    ],
)
def test_what_the_code_read_or_asked_is_a_look_without_being_printed(store, code, answer):
    sub = [answer] if "llm_query" in code else []
    result, client = ask(
        store, f"```repl\n{code}", *sub, verdict(), enable_extraction=False, question="Where?"
    )
    assert (result.answer, result.iterations) == (answer, 1) and result.judgment["is_success"]
    assert len(client.calls) == 2 + len(sub)  # the judge was asked


def test_an_answer_that_was_submitted_before_any_look_is_not_taken(store):
    end = "```repl\nSUBMIT(answer='Rostock')\n```"
    result, client = ask(store, end, end, verdict(), enable_extraction=False)
    assert "nothing was looked at" in told(client, 1) and not result.judgment["is_success"]


@pytest.mark.parametrize("invented", ["31m", "-31.5", "31-37", "2017-03-24"])
def test_an_invented_number_is_told_in_whatever_form(store, invented):
    _, client = ask(
        store, COUNT, f"FINAL({invented})", "FINAL(30)", verdict(), enable_extraction=False
    )
    assert f"{invented.lstrip('-')} was in no result" in told(client, 2)
    assert "came out of the code; not compared were" in told(client, 3)


@pytest.mark.parametrize(
    "end",
    ['answer["content"] = "31"; answer["ready"] = True', "FINAL('31')", "SUBMIT(answer='31')"],
)
def test_every_way_to_finish_can_be_taken_back(store, end):
    result, _ = ask(
        store, COUNT, f"```repl\n{end}\n```", "FINAL(30)", verdict(), enable_extraction=False
    )
    assert (result.answer, result.submitted) == ("30", None)


def test_an_invented_term_is_told_and_a_vocabulary_term_is_not(store, prov):
    look = "```repl\nprint(sparql_slice(sparql_query('SELECT ?x { ?x a owl:Class }'))['rows'])\n```"
    result, client = ask(
        store, look, "FINAL(prov:Unicorn)", "FINAL(prov:Agent, by owl:inverseOf)", verdict(),
        question="Which class is it?", path=prov, enable_extraction=False,
    )  # fmt: skip
    assert "prov:Unicorn was in no result" in told(client, 2)
    assert result.iterations == 3 and result.judgment["is_success"]


def test_a_term_of_the_graph_that_a_query_was_about_is_grounded(store, prov):
    """Also when nobody printed it, and the question names it by its label."""
    look = (
        "```repl\nr = sparql_query('SELECT ?x { ?x rdfs:subClassOf prov:Derivation }')\n"
        "print(r)\n```"
    )
    result, _ = ask(
        store, look, "FINAL(prov:Derivation has some.)", verdict(),
        question="Has Derivation subclasses?", path=prov, enable_extraction=False,
    )  # fmt: skip
    assert result.iterations == 2 and result.judgment["is_success"], result.judgment


def test_an_empty_result_grounds_a_denial(store, prov):
    look = (
        "```repl\nprint(sparql_slice(sparql_query('SELECT ?x { prov:Agent owl:equivalentClass ?x"
        " ; prov:unheardOf ?y }')))\n```"
    )
    result, _ = ask(
        store, look, "FINAL(There is none: prov:unheardOf has no value, nor owl:equivalentClass.)",
        verdict(), question="Is there an equivalent of prov:Agent?", path=prov,
        enable_extraction=False,
    )  # fmt: skip
    assert result.iterations == 2 and result.judgment["is_success"], result.judgment


def test_a_made_up_quotation_is_told(store):
    quote = '"The harbour master burned the last page in Wismar"'
    result, client = ask(
        store,
        COUNT,
        f"FINAL(It says {quote}.)",
        "FINAL(He signed it.)",
        verdict(),
        enable_extraction=False,
    )
    assert "burned the last page" in told(client, 2) and result.answer == "He signed it."


@pytest.mark.parametrize("reply", [verdict(None), verdict(True, "low"), "Hm, I think so."])
def test_a_run_that_nobody_could_judge_is_kept_and_teaches_nothing(store, reply):
    before = len(store.list_items())
    result, client = ask(store, COUNT, "FINAL(30)", reply, reply)
    assert result.judgment["is_success"] is None and not result.success
    assert not result.new_memories and len(store.list_items()) == before
    ((_, kept),) = store.recent_runs(trajectory_id=result.trajectory_id)
    assert kept.artifact["unjudged"] == result.judgment["reason"]
    (row,) = store.learning_rows()
    assert row.is_success is None
    assert len(client.calls) <= 4  # nobody was asked for lessons
