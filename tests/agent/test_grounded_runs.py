"""An answer stands on the ontology: what a run made up itself is no evidence, however it comes to
be printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rlm import agent
from rlm.llm import ScriptedClient

pytestmark = pytest.mark.req("PM-04")

PROV = Path(__file__).parent.parent.parent / "ontology" / "prov.ttl"
LOOK = "print(graph_stats()['classes'])\n"


def judged(store, code, answer, *more, question="Which class is it?", path=PROV):
    client = ScriptedClient([f"```repl\n{code}\n```", *more, f"FINAL({answer})"])
    return agent.run(question, path, store=store, client=client, ontology_name="prov")


@pytest.mark.parametrize(
    ("code", "more"),
    [
        (LOOK + "for name in ['Unicorn']:\n    print('prov:' + name)", []),
        (LOOK + "print('prov' + ':' + 'Uni' + 'corn')", []),
        (LOOK + "print(llm_query('name a class'))", ["It is prov:Unicorn."]),
        (
            (
                "print(sparql_slice(sparql_query('SELECT ?x WHERE { VALUES ?x { prov:Unicorn }"
                " }'))['rows'])"
            ),
            [],
        ),
        (
            "print(sparql_slice(sparql_query('SELECT (\"prov:Unicorn\" AS ?x) WHERE {}'))['rows'])",
            [],
        ),
    ],
)
def test_a_term_that_the_ontology_does_not_have_is_not_found_by_making_it(store, code, more):
    result = judged(store, code, "It is prov:Unicorn.", *more)
    assert "prov:Unicorn" in result.result.iterations[0].code_blocks[0].result.stdout
    assert not result.judgment["is_success"] and "prov:Unicorn" in result.judgment["reason"]


def test_a_term_that_is_there_may_be_asked_for_by_name(store):
    code = (
        "print(sparql_slice(sparql_query('SELECT ?x WHERE { VALUES ?x { prov:Plan } ?x a ?t"
        " }'))['rows'])"
    )
    assert judged(store, code, "It is prov:Plan.").judgment["is_success"]


def test_text_of_the_ontology_names_terms_that_it_does_not_have(store, tmp_path):
    path = tmp_path / "a.ttl"
    path.write_text(
        "@prefix : <http://a.example/x#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n@prefix"
        ' rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n:A a owl:Class ; rdfs:label "A" ;'
        ' rdfs:comment "Was :Old once, in a ratio of {\\"a\\":0}." .\n'
    )
    result = agent.run("What is A?", path, store=store, model="offline")
    assert ":Old" in result.answer and result.judgment["is_success"], result.judgment
